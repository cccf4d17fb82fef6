"""The declaration of the decoding page."""

from dataclasses import dataclass

from model.trace.attention_map import AttentionKind
from model.trace.head import Head
from viz.links.head_refs import heads_parameter
from viz.links.parameters import View, choice, integer, kept, kept_in
from viz.links.searches import SearchView

SECTIONS = {
    "steps": "Steps",
    "certainty": "Certainty",
    "beams": "Beams",
    "widths": "Widths",
    "layers": "Layers",
}
"""The sections of the page."""

SEARCHES = ("beams", "widths")
"""Sections that show the model's own search, whatever the target sentence."""

STEP_KINDS = (AttentionKind.CROSS, AttentionKind.DECODER)
"""The kinds of attention that the steps show."""


@dataclass(frozen=True, slots=True)
class DecodingView(SearchView):
    """The state of the decoding page."""

    section: str = kept(choice, "steps", SECTIONS, "the section shown")
    at: int = kept(integer, 1, low=1, high=999, meaning="the step shown")
    heads: tuple[Head, ...] = kept(
        heads_parameter,
        "the heads whose attention the steps show, as kind.layer.head; none: all",
        STEP_KINDS,
        "decoder.0.1",
        was="lit",
    )

    @property
    def searches(self) -> bool:
        """Whether it shows the model's own search, whatever the target sentence."""
        return self.section in SEARCHES

    @property
    def step(self) -> int:
        """The step shown, from 0."""
        return self.at - 1


VIEW = View(
    "decoding",
    "Decoding",
    ":material/stylus_note:",
    kept_in(DecodingView),
    without_model="Decoding",
)

KEYS = VIEW.keys
