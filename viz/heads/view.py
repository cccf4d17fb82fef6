"""The heads page as it declares itself."""

from __future__ import annotations

from dataclasses import dataclass

from model.explain.growth import GROWN
from model.explain.measures import EFFECT, MEASURES
from model.explain.reading import Reading
from model.trace.attention_map import AttentionKind
from viz.browser.trace_payload import JOINT
from viz.draw.constants import CONSTANTS
from viz.links.head_refs import SwitchedOff, place_parameter
from viz.links.parameters import (
    View,
    choice,
    flag,
    integer,
    kept,
    kept_in,
    pattern,
)

ATTENTIONS = (*AttentionKind, JOINT)
RULE, TRAINING = "rule", "training"
"""The sections of models whose heads have rules, and whose training was measured."""

SECTIONS = {
    "facts": "Head facts",
    RULE: "Its rule",
    "numbers": "Numbers",
    "query-key": "Query and key",
    "matrices": "Weight matrices",
    TRAINING: "Over training",
}
RULED = {
    "": "None",
    "head": "This head",
    "kind": "All of its kind",
    "best": "Several",
}
"""Heads that follow their rules."""

READINGS = ("words", "specials", "renormalise", "predicted")
SELECTED = (
    *("attention", "layer", "head", "view", "cell", "range", "compare", "order", "faint", "only"),
    "off",
    *READINGS,
)
"""What the picture and the address both know."""

_NUMBER = r"[0-9]{1,3}"
_PAIR = rf"{_NUMBER}\.{_NUMBER}"
_TOKEN = r"[0-9]{1,4}"
_PAIRS = rf"{_PAIR}(-{_PAIR}){{0,{CONSTANTS['MOST_COMPARED'] - 1}}}"


_FIRST = "of the large head", "most informative head of its kind"


@dataclass(frozen=True, slots=True)
class HeadsView(SwitchedOff):
    """The state of the heads page."""

    attention: str = kept(choice, str(AttentionKind.CROSS), [*map(str, ATTENTIONS)], "which heads")
    layer: int = kept(place_parameter, *_FIRST)
    head: int = kept(place_parameter, *_FIRST)
    view: str = kept(choice, "heatmap", ("heatmap", "lines"), "how it is drawn")
    cell: str = kept(
        pattern,
        rf"{_TOKEN}\.{_TOKEN}",
        "a query and a key such as 3.5",
        "the weight to follow from query and key",
    )
    range: str = kept(
        pattern,
        rf"{_TOKEN}-{_TOKEN}\.{_TOKEN}-{_TOKEN}",
        "queries and keys such as 10-40.0-30",
        "the visible rows and columns; none: all",
    )
    compare: str = kept(
        pattern,
        _PAIRS,
        "up to eight heads such as 3.0-3.5",
        "heads compared in one picture, as layer.head, including the selected one",
    )
    order: str = kept(
        choice,
        "",
        ["", *(measure.key for measure in MEASURES), EFFECT.key],
        "sort heads by a measure or by their effect; none: by layer and head",
    )
    faint: int = kept(
        integer, 0, low=0, high=len(CONSTANTS["GAMMAS"]) - 1, meaning="bring out faint weights"
    )
    only: str = kept(
        pattern,
        rf"(layer|head)\.{_NUMBER}",
        "a layer or a head such as layer.3",
        "show one row or column of heads",
    )
    words: bool = kept(flag, meaning="whole words")
    specials: bool = kept(flag, True, "special tokens")
    renormalise: bool = kept(flag, meaning="without special tokens, rows sum to 1")
    predicted: bool = kept(flag, meaning="rows named by the token predicted")
    below: str = kept(choice, "facts", SECTIONS, "the section below", before={"figure": "facts"})
    fuller: bool = kept(
        flag, meaning="the rule with all its terms, not those of its sentence alone"
    )
    ruled: str = kept(choice, "", RULED, "heads that follow their rules; none: the model as it is")
    best: int = kept(integer, 16, low=1, high=999, meaning="how many, if several do")
    grown: str = kept(
        choice,
        "",
        ["", *GROWN],
        "the measure of the curves over training; none: what the head does",
    )

    @property
    def reading(self) -> Reading:
        """How the trace is read, everywhere on the page."""
        return Reading(
            words=self.words,
            specials=self.specials,
            renormalise=self.renormalise and not self.specials,
            predicted=self.predicted,
        )

    @property
    def selection(self) -> dict[str, str]:
        """The selection, as the address and the picture spell it."""
        return {
            each.name: each.write(getattr(self, each.name))
            for each in kept_in(HeadsView)
            if each.name in SELECTED
        }


VIEW = View("heads", "Heads", ":material/grid_on:", kept_in(HeadsView))

KEYS = VIEW.keys
