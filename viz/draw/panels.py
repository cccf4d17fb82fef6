"""One matrix, for a figure or for a component that draws several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from model.numbers import count_of
from model.trace.attention_map import HeadAttention, Tokens

PAINTING_HELP = (
    "arrow keys move among cells, Space flips a cell, Shift+arrows select a rectangle for Space to "
    "flip, r flips the row, c the column, Ctrl+Z undoes, Ctrl+Y redoes."
)
"""The keys that paint a panel."""

Scale = Literal["category", "weights", "signed"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panel:
    """One matrix.

    Attributes:
        title: in sentence case.
        values: (query, key); uint8 places in `names` for categories, floats else.
        queries: labels of the rows.
        keys: labels of the columns.
        alt: what the matrix shows, in words.
        scale: "category"; "weights", one hue; or "signed", two hues about 0.
        names: of the categories, in the order of their numbers, as the pointer shows them.
        legend: of the categories, as the legend has them; several may share one. As names if empty.
        colors: of the categories, by "light" and "dark".
        low: the number that the first colour stands for.
        high: the number that the last colour stands for.
        unit: what the numbers are, such as "weight".
        digits: decimals of a number in its cell; the pointer shows two more.
        shown: (query, key), boolean; other cells are hatched, such as scores that the mask takes
            out. None shows all.
        note: a line below the title, such as shape and type.
        sign: stands before the title, such as "=".
        base: the categories of the model's own mask, for a panel that is painted; None for others.
        start: where painting begins, True = may attend, (query, key).
        by_edit: the category of a cell that only the edit forbids.
        reasons: the category of each cell once it is forbidden; None for that of `base`, or
            `by_edit` where that allows it.
        hatched: the category whose cells are hatched instead of coloured; None for none.
        reads: of the categories, what the line below the pictures says of a cell, with {query} and
            {key}: a sentence, and the reason in another. Empty for the values of all panels there.
        pointed: how a cell is named under the pointer: by the labels {query} and {key} and their
            places {row} and {column}, from 0.
        beside: a text to the right of each row, such as its norm; None for none.
        beside_title: what these are.
    """

    title: str
    values: NDArray[Any]
    queries: Tokens
    keys: Tokens
    alt: str
    scale: Scale = "category"
    names: Sequence[str] = ()
    legend: Sequence[str] = ()
    colors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    low: float = 0.0
    high: float = 1.0
    unit: str = "weight"
    digits: int = 2
    shown: NDArray[np.bool_] | None = None
    note: str = ""
    sign: str = ""
    query_title: str = "Query"
    key_title: str = "Key"
    base: NDArray[np.uint8] | None = None
    start: NDArray[np.bool_] | None = None
    by_edit: int = 0
    reasons: NDArray[np.uint8] | None = None
    hatched: int | None = None
    reads: Sequence[tuple[str, str]] = ()
    pointed: str = "{query} ({row}) to {key} ({column})"
    beside: Sequence[str] | None = None
    beside_title: str = ""


def weights_panel(title: str, one: HeadAttention, **more: Any) -> Panel:
    """A head's weights, with masked cells hatched; `more` is of the panel's attributes."""
    queries = count_of(len(one.queries), "query", "queries")
    said: dict[str, Any] = {"alt": f"{title}: {queries} by {count_of(len(one.keys), 'key')}."}
    return Panel(
        title=title,
        values=one.weights,
        queries=one.queries,
        keys=one.keys,
        scale="weights",
        shown=one.allowed,
        **{**said, **more},
    )
