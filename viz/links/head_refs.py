"""Heads in an address: kind.layer.head, joined by dashes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from model.trace.attention_map import AttentionKind
from model.trace.head import Head
from viz.links.parameters import Parameter, integer, kept, pattern

KINDS = tuple(kind for kind in AttentionKind if kind is not AttentionKind.MODULE)

MOST_HEADS = 256
"""The most heads in one address; no shipped model has as many."""

USUAL = -1
"""Stands for the layer and the head that a page opens with."""


def place_parameter(name: str, meaning: str, usual: str) -> Parameter[int]:
    """A layer or a head, counted from 0; how many there are depends on the model.

    Args:
        name: "layer" or "head".
        usual: whose place it is where the address says nothing.
    """
    return replace(
        integer(name, USUAL, low=0, high=999, meaning=f"the {name} {meaning}"),
        instead=f"the {name} that the page opens with is shown",
        values=f"from 0; default: that of the {usual}",
    )


def heads_parameter(
    name: str, meaning: str, kinds: Sequence[AttentionKind] = KINDS, example: str = "encoder.0.1"
) -> Parameter[tuple[Head, ...]]:
    """A parameter that lists heads.

    Args:
        example: a head other than cross.3.5.
    """
    head = rf"({'|'.join(kinds)})\.[0-9]{{1,3}}\.[0-9]{{1,3}}"
    text = pattern(
        name, rf"{head}(-{head}){{0,{MOST_HEADS - 1}}}", f"heads such as cross.3.5-{example}"
    )

    def parse_heads(written: str) -> tuple[Head, ...]:
        return read_heads(text.parse(written))

    return Parameter(name, (), parse_heads, written_heads, meaning=meaning, values=text.values)


def read_heads(written: str) -> tuple[Head, ...]:
    """The heads in an address, without duplicates."""
    return tuple(dict.fromkeys(map(Head.of, filter(None, written.split("-")))))


def written_heads(heads: Iterable[Head]) -> str:
    """Heads as an address spells them."""
    return "-".join(str(Head(*head)) for head in heads)


ALL_HEADS = "All heads"
"""A run in which no head is switched off."""


def named_heads(heads: Sequence[Head]) -> str:
    """Heads in a sentence: the names of one or two, or how many they are."""
    if len(heads) > 2:
        return f"{len(heads)} heads"
    return " and ".join(Head(*head).short_name for head in heads)


@dataclass(frozen=True, slots=True)
class SwitchedOff:
    """What pages that switch heads off share: heads stay off on the next page."""

    off: tuple[Head, ...] = kept(heads_parameter, "heads switched off, as kind.layer.head")
