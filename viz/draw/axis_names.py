"""What rows and keys of attention are called, and what a row shows."""

from dataclasses import dataclass

from model.explain.reading import ReadTrace
from model.trace.attention_map import AttentionKind, AttentionMap

_COMPLETE = 0.999
"""Weights of a row that add up to more than this add up to 1 before rounding."""


@dataclass(frozen=True, slots=True)
class RowTitles:
    """The names of the rows of one kind of attention.

    Attributes:
        beside: what stands to the right of the rows.
    """

    query: str
    beside: str
    arrow: str


def row_titles(kind: AttentionKind, seen: ReadTrace) -> RowTitles:
    """The names of a trace's rows, given how the trace is read."""
    if kind is AttentionKind.CROSS and seen.by_prediction:
        return RowTitles("Query: target token predicted", "Token just read", "←")
    row = row_noun(kind, sides=seen.has_sides)
    return RowTitles(f"Query: {row}", "Token predicted next", "→")


def caption(attention_map: AttentionMap, *, by_prediction: bool = False, sides: bool = True) -> str:
    """How to read the heatmap, in one line of plain text, without a full stop.

    Args:
        by_prediction: whether rows are named by the token that they predict.
        sides: whether tokens are of a source and a target.
    """
    row = row_words(attention_map.site.kind, by_prediction=by_prediction, sides=sides)
    # Rows without special tokens, or of a query that may look nowhere, add up to less.
    complete = bool((attention_map.weights.sum(axis=-1) > _COMPLETE).all())
    total = "; it adds up to 1" if complete else ""
    hatched = ". Hatched: not allowed" if not attention_map.allowed.all() else ""
    return f"{row}{total}{hatched}"


def row_words(kind: AttentionKind, *, by_prediction: bool = False, sides: bool = True) -> str:
    """A description of a heatmap's rows, without a full stop; see `caption`."""
    match kind:
        case AttentionKind.ENCODER if not sides:
            return "A row shows where a token looks among all of them"
        case AttentionKind.ENCODER:
            return "A row shows where a source token looks in its own sentence"
        case AttentionKind.DECODER:
            return "A row shows where the decoder looks in what it has read so far"
        case AttentionKind.CROSS if by_prediction:
            return "A row shows where the decoder looks in the source to predict that token"
        case AttentionKind.CROSS:
            return "A row shows where the decoder looks in the source after reading that token"
        case _:
            return "A row shows where one query looks among the keys"


def nouns(kind: AttentionKind, *, sides: bool = True) -> tuple[str, str]:
    """The nouns for query and key, such as "target token"; without sides, "token"."""
    if not sides and kind is not AttentionKind.MODULE:
        return "token", "token"
    return kind.query_noun, kind.key_noun


def key_title(kind: AttentionKind, *, sides: bool = True) -> str:
    """The title of the key axis."""
    return f"Key: {nouns(kind, sides=sides)[1]} looked at"


def row_noun(kind: AttentionKind, *, sides: bool = True) -> str:
    """The name of a row's token, such as "target token just read"."""
    noun, _ = nouns(kind, sides=sides)
    return f"{noun} just read" if kind in (AttentionKind.DECODER, AttentionKind.CROSS) else noun
