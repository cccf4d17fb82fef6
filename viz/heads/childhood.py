"""How heads came to be: their weights at every snapshot of the training, as a film."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from model.explain.reading import Reading, read
from model.trace.attention_map import AttentionKind
from model.trace.trace import Trace
from viz.heads.every_head import EveryHead
from viz.heads.one_head import OneHead
from viz.save.film import Series, Still
from viz.save.picture import Picture


@dataclass(frozen=True, slots=True, eq=False)
class Childhood(Picture):
    """Heads of one kind of attention at every snapshot, on one sentence with one translation.

    Attributes:
        steps: of the training, at which there are snapshots, ascending.
        trace_at: the trace of a snapshot, by its place in `steps`.
        reading: how traces are read.
        kind: of attention.
        layer: of one head; None for every head.
        head: likewise.
    """

    steps: Sequence[int]
    trace_at: Callable[[int], Trace]
    reading: Reading
    kind: AttentionKind
    layer: int | None = None
    head: int | None = None

    @property
    def title(self) -> str:
        whose = "every head" if self.head is None else f"layer {self.layer}, head {self.head}"
        return f"{self.kind.full_name}, {whose}, through the training"

    @property
    def name(self) -> str:
        one = "" if self.head is None else f"-layer{self.layer}-head{self.head}"
        return f"{self.kind}{one}-childhood"

    def film(self) -> Series:
        return Series(len(self.steps), self._at)

    def _at(self, place: int) -> Still:
        seen = read(self.trace_at(place), self.reading)
        shown: Picture
        if self.layer is None or self.head is None:
            shown = EveryHead(seen, self.kind, self.layer, self.head)
        else:
            site = next(
                each for each in seen.maps if (each.kind, each.layer) == (self.kind, self.layer)
            )
            shown = OneHead(seen, site, self.head)
        step, last = self.steps[place], self.steps[-1]
        said = f"step {step:,} of {last:,}"
        return Still(
            shown.figure, "At every step the model reads the finished model’s translation.", said
        )
