"""The declaration of the masks page."""

from dataclasses import dataclass

from model.trace.attention_map import AttentionKind
from viz.links import mask_edits
from viz.links.head_refs import place_parameter
from viz.links.mask_edits import EDITABLE
from viz.links.parameters import (
    MOST_CHARACTERS,
    View,
    choice,
    integer,
    kept,
    kept_in,
    pattern,
    text,
)

MOST_SENTENCES = 6
"""The most sentences in a batch, including the one in the bar."""

FURTHER = "Did you get her letter?\nHe doesn't come to work because he's ill."
"""The default further sentences of a batch."""

PARTS = {
    "see": "What may look at what",
    "compare": "Compare",
    "change": "Change",
    "inside": "Inside a head",
}

PICTURES = {
    "attentions": "The three masks",
    "decoder": "How the decoder’s is made",
}
"""What is seen of the model's own masks."""

_FIRST = "looked at", "head from which the mask hides most"

_SLOT = r"[a-z0-9_.-]{0,40}"


@dataclass(frozen=True, slots=True)
class MasksView:
    """The state of the masks page."""

    batch: str = kept(
        text,
        FURTHER,
        most=MOST_CHARACTERS,
        meaning="the other sentences",
        values="text, one per line",
    )
    number: int = kept(integer, 1, low=1, high=MOST_SENTENCES, meaning="the sentence shown")
    part: str = kept(choice, "see", PARTS, "the part of the page")
    of: str = kept(choice, "attentions", PICTURES, "what is seen of the masks")
    masked: str = kept(choice, str(AttentionKind.DECODER), [*map(str, EDITABLE)], "the attention")
    layer: int = kept(place_parameter, *_FIRST)
    head: int = kept(place_parameter, *_FIRST)
    a: str = kept(pattern, _SLOT, "a mask such as 1.decoder", "the first mask compared")
    b: str = kept(pattern, _SLOT, "a mask such as preset.window", "the second mask compared")
    edit: str = kept(
        text,
        most=mask_edits.MAX_CHARACTERS,
        meaning="painted masks",
        values="as the page writes them",
    )

    @property
    def further(self) -> list[str]:
        """The further sentences typed for the batch, even beyond the limit."""
        return [line.strip() for line in self.batch.splitlines() if line.strip()]

    @property
    def n_sentences(self) -> int:
        """The number of sentences in the batch, including the one in the bar."""
        return min(len(self.further) + 1, MOST_SENTENCES)

    @property
    def kind(self) -> AttentionKind:
        return AttentionKind(self.masked)


VIEW = View(
    "masks",
    "Masks",
    ":material/visibility_off:",
    kept_in(MasksView),
    without_model="Masks",
)

KEYS = VIEW.keys
