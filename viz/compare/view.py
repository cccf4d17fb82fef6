"""The declaration of the page that compares two runs."""

from collections.abc import Iterable
from dataclasses import dataclass

from model.record.patches import Activation, Stream, activation_of, side_of
from model.trace.head import Head
from viz.draw.constants import CONSTANTS
from viz.links.head_refs import KINDS, read_heads
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
from viz.links.searches import SearchView

VERSUS = {"sentence": "Two sentences", "model": "Two models", "search": "Two searches"}
"""What is compared."""

SHOWN = {"heads": "Heads", "layers": "Layers and tokens"}
"""What is shown of two sentences."""

MOST_PATCHES = 32
"""The most parts that one address puts in."""

PAIRS = (
    tuple(CONSTANTS["PAIR"]),
    ("The dog sat on the mat.", "The dogs sat on the mat."),
    ("He is buying a new car.", "He was buying a new car."),
    ("I am tired.", "I am not tired."),
    (
        "The animal did not cross the street because it was too tired.",
        "The animal did not cross the street because it was too wide.",
    ),
)
"""Pairs of sentences that differ in one thing: gender, number, tense, negation, what “it” means."""

_KIND = "|".join(map(str, KINDS))
_HEAD = rf"({_KIND})\.[0-9]{{1,3}}\.[0-9]{{1,3}}"
_STATE = r"(encoder\.([0-9]{1,3}|embedding|output)|decoder\.[0-9]{1,3})(\.at[0-9]{1,4})?"
_PART = rf"({_HEAD}|{_STATE})"

Patches = tuple[tuple[Activation, int | None], ...]
"""Parts that are put in, each at one token or at all."""


@dataclass(frozen=True, slots=True)
class CompareView(SearchView):
    """The state of the page."""

    versus: str = kept(choice, "sentence", VERSUS, "what is compared")
    other: str = kept(text, most=MOST_CHARACTERS, meaning="the second sentence", values="text")
    shown: str = kept(choice, "heads", SHOWN, "what is shown of two sentences")
    pair_head: str = kept(
        pattern,
        _HEAD,
        "a head such as cross.2.3",
        "the head that is shown large; none: the one that differs most",
    )
    traced: int = kept(
        integer,
        0,
        low=0,
        high=999,
        meaning="the word whose probability is traced, from 1; 0 for the one that differs most",
    )
    patched: str = kept(
        pattern,
        rf"{_PART}(-{_PART}){{0,{MOST_PATCHES - 1}}}",
        "parts such as cross.2.3-encoder.1.at4-encoder.output",
        "what is put from the second sentence into the first",
    )
    other_model: str = kept(
        text, most=200, meaning="the second model", values="the name of its folder"
    )

    @property
    def head(self) -> Head | None:
        return read_heads(self.pair_head)[0] if self.pair_head else None

    @property
    def patches(self) -> Patches:
        return read_patches(self.patched)


def read_patches(written: str) -> Patches:
    """Parts that are put in, as the address writes them."""
    return tuple(map(read_part, filter(None, written.split("-"))))


def read_part(written: str) -> tuple[Activation, int | None]:
    """A part and its token as the address writes them."""
    name, _, token = written.partition(".at")
    kind, *numbers = name.split(".")
    key = (kind, *(int(each) if each.isdigit() else each for each in numbers))
    return activation_of(key), int(token) if token else None


def written_part(part: Activation, token: int | None = None) -> str:
    """The same, written."""
    return str(part) if token is None else f"{part}.at{token}"


def by_part(patches: Patches) -> dict[Activation, list[int] | None]:
    """The tokens of each part, or None for all."""
    found: dict[Activation, list[int] | None] = {}
    for part, token in patches:
        places = found.setdefault(part, [])
        if token is None:
            found[part] = None
        elif places is not None and token not in places:
            places.append(token)
    return found


def part_name(part: Activation, token: int | None, source: list[str], target: list[str]) -> str:
    """A part for people, such as "encoder layer 2 at “brother”"."""
    if not isinstance(part, Stream):
        return part.short_name.lower()
    name = part.name.lower()
    if token is None:
        return name
    texts = source if side_of(part) == "encoder" else target
    return f"{name} at “{texts[token]}”" if token < len(texts) else name


def listed(names: Iterable[str]) -> str:
    """Names in a sentence."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


VIEW = View(
    "compare",
    "Compare",
    ":material/compare:",
    kept_in(CompareView),
    without_model="Comparing",
)

KEYS = VIEW.keys
