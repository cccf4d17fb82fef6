"""Two masks compared, cell by cell."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from viz.draw import style
from viz.draw.labels import axis_texts
from viz.masks.mask import Cell, CellArray, Mask


class Compared(IntEnum):
    """What two masks say about one cell."""

    BOTH_ALLOW = 0
    BOTH_FORBID = 1
    ONLY_A_ALLOWS = 2
    ONLY_B_ALLOWS = 3


COMPARED_NAMES = {
    Compared.BOTH_ALLOW: "both allow",
    Compared.BOTH_FORBID: "both forbid",
    Compared.ONLY_A_ALLOWS: "only A allows",
    Compared.ONLY_B_ALLOWS: "only B allows",
}
"""The legend's names for the cells of two compared masks."""


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Two masks, cell by cell.

    Attributes:
        a: the first mask, whose labels name the cells.
        b: the second mask.
        cells: (query, key), a Compared each, read-only.
    """

    a: Mask
    b: Mask
    cells: CellArray

    @property
    def sentences(self) -> tuple[str, ...]:
        """All sentences about cells; `sentence_ids` are indices into it."""
        return tuple(self._sentence(a, b) for a in Cell for b in Cell)

    @property
    def sentence_ids(self) -> CellArray:
        """The index of each cell's sentence, (query, key)."""
        return self.a.cells * np.uint8(len(Cell)) + self.b.cells

    def reads(self, a: Cell, b: Cell) -> tuple[str, str]:
        """Whether {query} may look at {key} under masks that have these cells, and why not."""
        why_a, why_b = self.a.reasons.get(a), self.b.reasons.get(b)
        if why_a is None and why_b is None:
            return "{query} may look at {key} under A and B.", ""
        if why_a is None:
            return "{query} may look at {key} only under A.", f"B forbids it: {why_b}."
        if why_b is None:
            return "{query} may look at {key} only under B.", f"A forbids it: {why_a}."
        why = f"both forbid it: {why_a}" if why_a == why_b else f"A: {why_a}; B: {why_b}"
        return "{query} may not look at {key} under A or B.", f"{why[0].upper()}{why[1:]}."

    def text(self, query: int, key: int) -> str:
        """The sentence of one cell.

        Raises:
            IndexError: if there is no such cell.
        """
        n_queries, n_keys = self.cells.shape
        if not (0 <= query < n_queries and 0 <= key < n_keys):
            raise IndexError(
                f"The masks are {n_queries} × {n_keys}, counted from 0; there is no cell of query "
                f"{query} and key {key}."
            )
        return self._sentence(Cell(self.a.cells[query, key]), Cell(self.b.cells[query, key]))

    @property
    def alt(self) -> str:
        """The alternative text."""
        n_queries, n_keys = self.cells.shape
        counts = np.bincount(self.cells.ravel(), minlength=len(Compared))
        listed = ", ".join(f"{COMPARED_NAMES[answer]} {counts[answer]}" for answer in Compared)
        words = (
            f"Mask A, “{self.a.name}”, and mask B, “{self.b.name}”: "
            f"{style.count_of(n_queries, 'query', 'queries')} by {style.count_of(n_keys, 'key')}; "
            f"of {style.count_of(self.cells.size, 'cell')} {listed}."
        )
        # The two codes above both say that the masks differ.
        differing = np.argwhere(self.cells >= Compared.ONLY_A_ALLOWS)
        if not len(differing):
            return f"{words} They are the same."
        row, column = differing[0].tolist()
        query, key = axis_texts(self.a.queries)[row], axis_texts(self.a.keys)[column]
        return (
            f"{words} The first difference is at query {query} ({row}) and key {key} ({column}): "
            f"{self.text(row, column)}."
        )

    @property
    def words(self) -> str:
        """The number of cells in which they differ, in words."""
        size, differing = self.cells.size, (Compared.ONLY_A_ALLOWS, Compared.ONLY_B_ALLOWS)
        counts = [np.count_nonzero(self.cells == each) for each in differing]
        if not sum(counts):
            return f"None of the {size} cells differs."
        # Parts without cells are left out.
        named = zip(differing, counts, strict=True)
        parts = [f"{COMPARED_NAMES[each]} {count}" for each, count in named if count]
        verb = "differs" if sum(counts) == 1 else "differ"
        return f"{sum(counts)} of {size} cells {verb}: {', '.join(parts)}."

    def _sentence(self, a: Cell, b: Cell) -> str:
        why_a, why_b = self.a.reasons.get(a), self.b.reasons.get(b)
        if why_a == why_b:
            return "A and B allow" if why_a is None else f"A and B forbid: {why_a}"
        one, other = ("allows" if why is None else f"forbids: {why}" for why in (why_a, why_b))
        return f"A {one}; B {other}"


def mask_difference(a: Mask, b: Mask) -> Difference:
    """The cells in which two masks agree or differ.

    Raises:
        ValueError: if the masks are not of one shape.
    """
    if a.cells.shape != b.cells.shape:
        (rows_a, columns_a), (rows_b, columns_b) = a.cells.shape, b.cells.shape
        raise ValueError(
            f"Only masks of one size can be compared: “{a.name}” is {rows_a} × {columns_a} and "
            f"“{b.name}” is {rows_b} × {columns_b}."
        )
    by_answers = np.array(
        [
            [Compared.BOTH_FORBID, Compared.ONLY_B_ALLOWS],
            [Compared.ONLY_A_ALLOWS, Compared.BOTH_ALLOW],
        ],
        dtype=np.uint8,
    )
    cells = by_answers[a.allowed.astype(np.intp), b.allowed.astype(np.intp)]
    cells.setflags(write=False)
    return Difference(a, b, cells)
