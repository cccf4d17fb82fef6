"""Masks as values: allowed cells, and reasons for forbidden ones."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from model.trace.attention_map import AttentionKind, BoolArray, Tokens
from model.trace.token_schemes import PADDING
from viz.draw import style
from viz.draw.labels import axis_texts

CellArray = NDArray[np.uint8]


class Cell(IntEnum):
    """Why a query may not look at a key; the bits of FUTURE and PADDING together are BOTH.

    OTHER is a reason that the mask itself names.
    """

    ALLOWED = 0
    FUTURE = 1
    PADDING = 2
    BOTH = 3
    OTHER = 4


LISTED_QUERIES = 5
"""The most queries without a key that are named; the rest are counted."""

EDITED = ", edited"
BY_EDIT = "closed by the edit"


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """One mask, with the reason for every forbidden cell.

    Attributes:
        name: what it is, in full.
        short: the same for a menu.
        kind: the attention that it is for as it stands; None for a factor of such a mask.
        cells: (query, key), a Cell each, read-only.
        queries: labels of the rows.
        keys: labels of the columns.
        shape: as the model holds it, such as "(batch, 1, query, key) = (3, 1, 11, 11)".
        meaning: how to read it, in one line.
        reason: what the keys of cells that are OTHER are, such as "outside the window".

    Raises:
        ValueError: if the cells are none of Cell, or of another shape than the labels.
    """

    name: str
    short: str
    kind: AttentionKind | None
    cells: CellArray
    queries: Tokens
    keys: Tokens
    shape: str
    meaning: str
    reason: str = BY_EDIT

    dtype = "bool"

    def __post_init__(self) -> None:
        cells = np.asarray(self.cells, dtype=np.uint8).view()
        cells.setflags(write=False)
        object.__setattr__(self, "cells", cells)
        _require_shape(f"The mask “{self.name}”", cells.shape, (len(self.queries), len(self.keys)))
        if cells.size and cells.max() > max(Cell):
            raise ValueError(f"The mask “{self.name}” holds {cells.max()}, which is no cell.")

    @property
    def allowed(self) -> BoolArray:
        """True = may attend, (query, key)."""
        return np.equal(self.cells, Cell.ALLOWED)

    @property
    def reasons(self) -> dict[Cell, str]:
        """Why a key is forbidden, in the order of Cell."""
        return {
            Cell.FUTURE: "later word",
            Cell.PADDING: "padding",
            Cell.BOTH: "later word and padding",
            Cell.OTHER: self.reason,
        }

    @property
    def cell_names(self) -> tuple[str, ...]:
        """What files call each cell, in the order of Cell."""
        return "allowed", *(f"forbidden: {why}" for why in self.reasons.values())

    @property
    def legend(self) -> tuple[str, ...]:
        """What a picture calls each cell, in the order of Cell."""
        return "may look", "later word", "padding", "both", self.reason

    @property
    def sentences(self) -> tuple[tuple[str, str], ...]:
        """For each cell, whether {query} may look at {key}, and which mask says so."""
        alone = {
            Cell.FUTURE: "The causal mask forbids it; the padding mask would allow it.",
            Cell.PADDING: "The padding mask forbids it"
            + ("; the causal mask would allow it." if self.is_causal else "."),
            Cell.BOTH: "The causal mask and the padding mask both forbid it.",
            Cell.OTHER: "",
        }
        later = {
            Cell.FUTURE: "it comes later",
            Cell.PADDING: "it is padding",
            Cell.BOTH: "it comes later and is padding",
            Cell.OTHER: self.reason,
        }
        return ("{query} may look at {key}.", "No mask forbids it."), *(
            (f"{{query}} may not look at {{key}}: {later[cell]}.", why)
            for cell, why in alone.items()
        )

    @property
    def is_causal(self) -> bool:
        """Whether it hides what comes later."""
        return bool(np.isin(self.cells, (Cell.FUTURE, Cell.BOTH)).any())

    @property
    def scope(self) -> str:
        """Where a word may look, in a few words; "" where an edit or a rule says so."""
        if self.kind is None or np.any(self.cells == Cell.OTHER):
            return ""
        if self.is_causal:
            return "looks at itself and back"
        if self.kind is AttentionKind.CROSS:
            return "looks at the whole source"
        return "looks at every word"

    @property
    def names(self) -> NDArray[np.str_]:
        """The name of each cell, (query, key)."""
        return np.array(self.cell_names, dtype=np.str_)[self.cells]

    @property
    def empty_queries(self) -> dict[int, str]:
        """The labels, as plain text, of the queries without an allowed key, by position."""
        texts = axis_texts(self.queries)
        return {
            place: texts[place] for place in np.flatnonzero(~self.allowed.any(axis=-1)).tolist()
        }

    @property
    def alt(self) -> str:
        n_queries, n_keys = self.cells.shape
        counts = np.bincount(self.cells.ravel(), minlength=len(Cell))
        reasons = [f"{counts[cell]} ({why})" for cell, why in self.reasons.items() if counts[cell]]
        forbidden = f"; forbidden are {', '.join(reasons)}" if reasons else ""
        empty = ""
        if count := len(self.empty_queries):
            subject = "1 query has" if count == 1 else f"{count} queries have"
            empty = f" {subject} no allowed key: {self._listed('{text} ({place})')}."
        return (
            f"{self.name}: {style.count_of(n_queries, 'query', 'queries')} by "
            f"{style.count_of(n_keys, 'key')}; {counts[Cell.ALLOWED]} of "
            f"{style.count_of(self.cells.size, 'cell')} "
            f"{'is' if self.cells.size == 1 else 'are'} allowed{forbidden}.{empty}"
        )

    @property
    def empty_words(self) -> str:
        """The queries without an allowed key, and their weights; "" if there are none."""
        if not self.empty_queries:
            return ""
        return (
            f"Nothing left to look at: {self._listed('“{text}” ({place})')}. Their weights are "
            "then zeros, so this attention adds only its bias there."
        )

    def _listed(self, form: str) -> str:
        """The first queries that may look at no key, and how many more there are."""
        named = [form.format(text=text, place=place) for place, text in self.empty_queries.items()]
        more = len(named) - LISTED_QUERIES
        return ", ".join(named[:LISTED_QUERIES]) + (f" and {more} more" if more > 0 else "")


def mask_title(mask: Mask, rule: str = "") -> str:
    """What a mask hides, as its name on the page: one name a mask, wherever it stands.

    Args:
        rule: the name of the rule for what is neither future nor padding.
    """
    hidden = set(np.unique(mask.cells).tolist())
    parts = ["causal"] if hidden & {Cell.FUTURE, Cell.BOTH} else []
    if Cell.OTHER in hidden:
        parts = [rule]
    if hidden & {Cell.PADDING, Cell.BOTH}:
        parts.append("padding")
    title = " and ".join(parts) or "no mask"
    return f"{title[0].upper()}{title[1:]}"


def padding_row(tokens: Tokens) -> CellArray:
    """Which keys are padding, (1, key)."""
    is_padding = np.array([[token == PADDING for token in tokens]], dtype=np.bool_)
    return np.where(is_padding, Cell.PADDING, Cell.ALLOWED).astype(np.uint8)


def future_cells(length: int) -> CellArray:
    """Which keys come after the query, (length, length)."""
    return np.triu(np.full((length, length), Cell.FUTURE, dtype=np.uint8), k=1)


def require_mask(allowed: BoolArray, shape: tuple[int, ...]) -> None:
    """Raises ValueError unless it is a boolean matrix of that shape."""
    if allowed.dtype != np.bool_:
        raise ValueError(
            f"A mask is boolean, True where a query may attend; this one is of {allowed.dtype}."
        )
    _require_shape("The mask", allowed.shape, shape)


def _require_shape(name: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if shape != wanted:
        raise ValueError(f"{name} has the shape {shape}, and {wanted} is needed here.")
