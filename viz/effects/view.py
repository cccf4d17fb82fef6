"""The declaration of the effects page."""

from collections.abc import Mapping
from dataclasses import dataclass

from model.explain.attribution import METHODS
from model.record.head_edits import Gate, HeadEdit, MeanAblation, ReplacedWeights
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.head import Head
from viz.effects.removal_curve import MEASURES
from viz.links.head_refs import SwitchedOff, named_heads
from viz.links.parameters import View, choice, flag, integer, kept, kept_in, pattern, text

WAYS = {
    "gate": "Fade or remove",
    "mean": "Give their mean over the examples",
    "uniform": "Look at all keys alike",
    "diagonal": "Look at their own position",
    "shuffled": "Look at shuffled keys",
    "first": "Look at the first key",
}
"""The ways to switch heads off."""

MAPS = {
    "probability": "Log-probability",
    "words": "Words",
    "removal": "Removal",
    "maps": "Maps",
    "alignment": "Alignment",
}
"""The views of the page."""

AGAINST = {
    "probability": "Heads",
    "tokens": "Source words",
    "words": "Words",
    "set": "Fewest heads",
    "sum": "Sum",
    "paths": "Paths",
}
"""The views of one word against another."""

QUESTIONS = {"remove": "Heads to remove", "keep": "Heads to keep"}
"""What is asked of a set of heads."""

MOST_WORD = 60
"""The most characters of another word."""

SENTENCE = "sentence"

CURVES = (SENTENCE, *MEASURES)
"""The curves of removal: this translation, and the examples by measure."""

EVERY = "all"
"""All methods, ranked, and no map."""

MAPPED = (AttentionKind.CROSS, AttentionKind.ENCODER, AttentionKind.DECODER)
"""The kinds of attention that have maps."""

_NUMBER = "[0-9]{1,3}"


@dataclass(frozen=True, slots=True)
class EffectsView(SwitchedOff):
    """The state of the effects page."""

    show: str = kept(choice, "probability", {**MAPS, **AGAINST}, "what is shown", was="colored")
    token: int = kept(integer, 0, low=0, high=999, meaning="the target token, from 1; 0 for all")
    instead: str = kept(
        text,
        most=MOST_WORD,
        meaning="another word for this target token, against which everything is measured",
    )
    decide: str = kept(choice, "remove", QUESTIONS, "for the fewest heads, what happens to them")
    method: str = kept(
        choice, "weights", [*METHODS, EVERY], "for maps, the estimate shown beside the truth"
    )
    mapped: str = kept(
        choice, str(AttentionKind.CROSS), [*map(str, MAPPED)], "for maps, the attention"
    )
    layer_head: str = kept(
        pattern,
        rf"{_NUMBER}(\.{_NUMBER})?",
        "a layer such as 2 or a head such as 2.5",
        "for maps, the part of this attention; none: the whole model",
        was="whose",
    )
    examples: bool = kept(flag, meaning="for maps, agreement with the truth over the examples too")
    curve: str = kept(choice, SENTENCE, CURVES, "for removal on stage, the curve")
    way: str = kept(choice, "gate", WAYS, "what replaces these heads")
    gate: int = kept(
        integer, 0, low=0, high=99, meaning="how much of their output remains, in percent"
    )

    @property
    def place(self) -> int | None:
        """The position of the target token, from 0; None for the whole translation."""
        return self.token - 1 if self.token else None

    @property
    def is_against(self) -> bool:
        """Whether one word is held against another."""
        return bool(self.instead) or self.show in AGAINST.keys() - MAPS.keys()

    @property
    def kind(self) -> AttentionKind:
        """The attention of maps."""
        return AttentionKind(self.mapped)

    @property
    def part(self) -> tuple[Site | None, int | None]:
        """The layer and head of maps: None for all heads of a layer, or for the whole model."""
        if not self.layer_head:
            return None, None
        layer, _, head = self.layer_head.partition(".")
        return Site(self.kind, int(layer)), int(head) if head else None

    @property
    def has_token(self) -> bool:
        """Whether the view has a choice of target tokens."""
        if self.show != "maps":
            return self.is_against or self.show == "probability"
        return self.kind is not AttentionKind.ENCODER or (
            self.method in METHODS and METHODS[self.method].by_prediction
        )

    @property
    def changed_heads(self) -> str:
        """What a run does differently: which heads are off, or what is done to them."""
        heads = named_heads(self.off)
        if self.way != "gate":
            return f"{heads}: {WAYS[self.way].lower()}"
        return f"{heads} at {self.gate}%" if self.gate else f"Without {heads}"

    def intervention(self, means: Mapping[Site, FloatArray]) -> Intervention:
        """The edits of these heads, for the model.

        Args:
            means: the mean output of each head over the examples, by site, (head, d_v); only "mean"
                uses it.
        """
        edits: dict[Head, HeadEdit] = {}
        for head in self.off:
            if self.way == "gate":
                edits[head] = Gate(self.gate / 100)
            elif self.way == "mean":
                edits[head] = MeanAblation(tuple(means[head.site][head.number].tolist()))
            else:
                edits[head] = ReplacedWeights(self.way)  # type: ignore[arg-type]
        return Intervention(heads=edits)


def written_part(site: Site | None, head: int | None) -> str:
    """A layer, a head or the whole model as the address writes them."""
    if site is None:
        return ""
    return str(site.layer) if head is None else f"{site.layer}.{head}"


VIEW = View(
    "effects",
    "Effects",
    ":material/toggle_off:",
    kept_in(EffectsView),
    without_model="Effects of heads",
)

KEYS = VIEW.keys
