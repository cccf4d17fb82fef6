"""Painted masks, and what they do to a head."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from model.trace.attention_map import AttentionMap, BoolArray
from model.trace.trace import Trace
from viz.draw.panels import Panel
from viz.links.mask_edits import Edit, encode, write
from viz.masks.compared import NamedMask
from viz.masks.head_in_batch import MAPS, PASSES, ChangedWeights, HeadInBatch
from viz.masks.mask import Mask
from viz.masks.panels import editor_panel
from viz.save.notebook import Lines
from viz.save.numbers import Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Edits:
    """Edited masks, compared with the model's own."""

    edits: tuple[Edit, ...]

    names: ClassVar[tuple[str, str]] = ("Before", "After")

    @property
    def texts(self) -> dict[str, str]:
        return {"edited": "; ".join(map(str, self.edits)) or "none", "edit": write(self.edits)}

    def passes(self, at: HeadInBatch) -> Lines:
        """The lines of a notebook that make `passes`, one before and one after the edits."""
        return [
            *at.setup,
            f"edits = under = hs.figures.Edits(hs.figures.parse_masks({write(self.edits)!r}))",
            "edited = hs.figures.masks_intervention(edits.edits)",
            "interventions = [hs.Intervention(), edited]",
            *PASSES,
        ]


@dataclass(frozen=True, slots=True, eq=False)
class EditedWeights(ChangedWeights):
    """A painted mask and its effect on a head.

    Attributes:
        allowed: the one that holds, True = may attend, (query, key).
        maps: the head's site before and after the edits.
        named: the same as `allowed` if it has a name, with the reasons that this goes by.
    """

    edits: Edits
    own: Mask
    allowed: BoolArray
    maps: tuple[AttentionMap, AttentionMap]
    named: NamedMask | None = None

    @property
    def title(self) -> str:
        return f"{self.at.title}, before and after"

    @property
    def name(self) -> str:
        return f"mask-edit-{self.at.name}"

    @property
    def texts(self) -> Mapping[str, str]:
        return self.at.texts | self.edits.texts

    @property
    def caption(self) -> str:
        if not self.edits.edits:
            return "No mask is edited. Teacher forcing."
        return f"Teacher forcing, before and after the edit of {self.edits.texts['edited']}."

    @property
    def panels(self) -> list[Panel]:
        weights = self.changed_panels(("Weights before", "Weights after"), "→")
        shown = None if self.named is None else self.named.mask
        return [editor_panel(self.own, self.allowed, "The mask", shown=shown), *weights]

    @property
    def example(self) -> tuple[int, int, int]:
        """The mask, a query and a key: where the edit moved most weight, else where it could."""
        before, after = (np.nan_to_num(each.weights[self.at.head]) for each in self.maps)
        moved = np.where(self.own.allowed != self.allowed, np.abs(after - before), -1)
        if moved.size and moved.max() >= 0:
            cells = np.argwhere(moved == moved.max())
        else:
            cells = np.argwhere(~self.allowed)
        query, key = cells[0].tolist() if len(cells) else (0, 0)
        return 0, query, key

    def numbers(self) -> Numbers:
        return self.changed_numbers(("before", "after"))

    @property
    def setup(self) -> Lines:
        return [
            *self.edits.passes(self.at),
            *(self.named.setup("named", self.at) if self.named else []),
            f"allowed = hs.figures.decode_mask({encode(self.allowed)!r})",
            "own = hs.figures.batch_masks(batch.padded, at.number)[at.kind]",
            MAPS,
        ]


def is_unchanged(before: tuple[Trace, Trace], after: tuple[Trace, Trace]) -> bool:
    """Whether two runs, each forced and free, are equal to the last bit."""
    (forced, free), (other_forced, other_free) = before, after
    return (
        free.text == other_free.text
        and np.array_equal(np.asarray(forced.log_probs), np.asarray(other_forced.log_probs))
        and all(
            np.array_equal(seen.weights, other_forced.maps[site].weights)
            for site, seen in forced.maps.items()
        )
    )
