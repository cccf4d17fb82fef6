"""The masks page as it declares itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

from model.trace.attention_map import AttentionKind
from viz.links import mask_edits
from viz.links.mask_edits import EDITABLE
from viz.links.parameters import MOST_CHARACTERS, Parameter, View, choice, integer, pattern, text

MOST_SENTENCES = 6
"""In one batch, the sentence of the bar included."""

FURTHER = "Did you get her letter?\nHe doesn't come to work because he's ill."
"""The other sentences of a batch before anybody typed any."""

PARTS = {
    "see": "See",
    "inside": "Inside a head",
    "compare": "Compare",
    "change": "Change",
}

USUAL = -1
"""Stands for the layer and the head that the page opens with."""


def _place(name: str) -> Parameter[int]:
    """A layer or a head, counted from 0; how many there are depends on the model."""
    return replace(
        integer(name, USUAL, low=0, high=999, meaning=f"the {name} looked at"),
        instead=f"the {name} that the page opens with is shown",
        values="from 0; default: of the head from which the mask hides most",
    )


_SLOT = r"[a-z0-9_.-]{0,40}"

VIEW = View(
    "masks",
    "Masks",
    ":material/visibility_off:",
    (
        text(
            "batch",
            FURTHER,
            most=MOST_CHARACTERS,
            meaning="the other sentences",
            values="text, one per line",
        ),
        integer("number", 1, low=1, high=MOST_SENTENCES, meaning="the sentence shown"),
        choice("part", "see", PARTS, "the part of the page"),
        choice("masked", str(AttentionKind.DECODER), map(str, EDITABLE), "the attention"),
        _place("layer"),
        _place("head"),
        pattern("a", _SLOT, "a mask such as 1.decoder", "the first mask compared"),
        pattern("b", _SLOT, "a mask such as preset.window", "the second mask compared"),
        text(
            "edit",
            most=mask_edits.MAX_CHARACTERS,
            meaning="painted masks",
            values="as the page writes them",
        ),
    ),
    without_model="Masks",
)


@dataclass(frozen=True, slots=True)
class MasksView:
    """What the masks page shows: a value for each of its parameters."""

    batch: str = FURTHER
    number: int = 1
    part: str = "see"
    masked: str = str(AttentionKind.DECODER)
    layer: int = USUAL
    head: int = USUAL
    a: str = ""
    b: str = ""
    edit: str = ""

    @property
    def further(self) -> list[str]:
        """What was typed for the batch below the sentence of the bar, more than it takes too."""
        return [line.strip() for line in self.batch.splitlines() if line.strip()]

    @property
    def n_sentences(self) -> int:
        """How many the batch has, the sentence of the bar included."""
        return min(len(self.further) + 1, MOST_SENTENCES)

    @property
    def kind(self) -> AttentionKind:
        """Which attention."""
        return AttentionKind(self.masked)
