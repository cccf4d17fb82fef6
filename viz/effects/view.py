"""The effects page as it declares itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from model.explain.attribution import METHODS
from model.record.head_edits import Gate, HeadEdit, MeanAblation, ReplacedWeights
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, FloatArray, Site
from viz.effects.removal_curve import MEASURES
from viz.links.head_refs import Head, heads_parameter, read_heads
from viz.links.parameters import View, choice, flag, integer, pattern

WAYS = {
    "gate": "Fade or remove",
    "mean": "Give their mean over the examples",
    "uniform": "Look at all keys alike",
    "diagonal": "Look at their own position",
    "shuffled": "Look at shuffled keys",
    "first": "Look at the first key",
}
"""What is done to the chosen heads."""

MAPS = {
    "probability": "Log-probability",
    "words": "Words",
    "removal": "Removal",
    "maps": "Maps",
    "alignment": "Alignment",
}
"""What is shown."""

SENTENCE = "sentence"

CURVES = (SENTENCE, *MEASURES)
"""What is removed from, one curve each: this translation, and the examples by measure."""

EVERY = "all"
"""Stands for all methods, ranked, and no map."""

MAPPED = (AttentionKind.CROSS, AttentionKind.ENCODER, AttentionKind.DECODER)
"""Which attention maps can be of."""

_NUMBER = "[0-9]{1,3}"

VIEW = View(
    "effects",
    "Effects",
    ":material/toggle_off:",
    (
        choice("colored", "probability", MAPS, "what is shown"),
        integer("token", 0, low=0, high=999, meaning="the target token, from 1; 0 for all"),
        choice(
            "method", "weights", [*METHODS, EVERY], "for maps, the estimate shown beside the truth"
        ),
        choice("mapped", str(AttentionKind.CROSS), map(str, MAPPED), "for maps, the attention"),
        pattern(
            "whose",
            rf"{_NUMBER}(\.{_NUMBER})?",
            "a layer such as 2 or a head such as 2.5",
            "for maps, the part of this attention; none: the whole model",
        ),
        flag("examples", meaning="for maps, agreement with the truth over the examples too"),
        choice("curve", SENTENCE, CURVES, "for removal on stage, the curve"),
        heads_parameter("off", "heads switched off, as kind.layer.head"),
        choice("way", "gate", WAYS, "what replaces these heads"),
        integer("gate", 0, low=0, high=99, meaning="how much of their output remains, in percent"),
    ),
    without_model="Effects of heads",
)


@dataclass(frozen=True, slots=True)
class EffectsView:
    """What the effects page shows: a value for each of its parameters."""

    colored: str = "probability"
    token: int = 0
    method: str = "weights"
    mapped: str = str(AttentionKind.CROSS)
    whose: str = ""
    examples: bool = False
    curve: str = SENTENCE
    off: str = ""
    way: str = "gate"
    gate: int = 0

    @property
    def place(self) -> int | None:
        """The position of the target token, from 0; None for the whole translation."""
        return self.token - 1 if self.token else None

    @property
    def kind(self) -> AttentionKind:
        """Which attention maps are of."""
        return AttentionKind(self.mapped)

    @property
    def part(self) -> tuple[Site | None, int | None]:
        """What maps are of: a layer, and a head of it or all; None for the whole model."""
        if not self.whose:
            return None, None
        layer, _, head = self.whose.partition(".")
        return Site(self.kind, int(layer)), int(head) if head else None

    @property
    def has_token(self) -> bool:
        """Whether a target token can be chosen for what is shown."""
        if self.colored != "maps":
            return self.colored == "probability"
        return self.kind is not AttentionKind.ENCODER or (
            self.method in METHODS and METHODS[self.method].by_prediction
        )

    @property
    def heads(self) -> list[Head]:
        """Those switched off, each once."""
        return read_heads(self.off)

    def intervention(self, means: Mapping[Site, FloatArray]) -> Intervention:
        """What is done to them, for the model.

        Args:
            means: of what each head gives over the examples, by site, (head, d_v); of no use to
                other ways than "mean".
        """
        edits: dict[Head, HeadEdit] = {}
        for site, head in self.heads:
            if self.way == "gate":
                edits[site, head] = Gate(self.gate / 100)
            elif self.way == "mean":
                edits[site, head] = MeanAblation(tuple(means[site][head].tolist()))
            else:
                edits[site, head] = ReplacedWeights(self.way)  # type: ignore[arg-type]
        return Intervention(heads=edits)


def written_part(site: Site | None, head: int | None) -> str:
    """A layer, a head or the whole model as the address has them."""
    if site is None:
        return ""
    return str(site.layer) if head is None else f"{site.layer}.{head}"
