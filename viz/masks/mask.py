"""Masks as values: allowed cells, reasons for forbidden ones, and comparisons of two masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from model.trace.attention_map import AttentionKind, BoolArray, Tokens
from model.trace.trace import Trace
from model.trace.word_grouping import PADDING
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

EVERY_QUERY = Tokens.unnamed(["every query"])
"""The query axis of a mask with one row for all queries."""


LISTED_QUERIES = 5
"""The most queries without a key that are named; the rest are counted."""


_EDITED = ", edited"
_BY_EDIT = "closed by the edit"
_PRESET = "A query may look at a key where the preset allows it."
_DRAWN = "A query may look at a key where the edited mask allows it."
_BY_HEAD = (
    "Heads have different masks: here, a query may look at a key if any head's mask allows it."
)


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
        dtype: as the model holds it.
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
    dtype: str
    meaning: str
    reason: str = _BY_EDIT

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
            Cell.FUTURE: "future",
            Cell.PADDING: "padding",
            Cell.BOTH: "future and padding",
            Cell.OTHER: self.reason,
        }

    @property
    def cell_names(self) -> tuple[str, ...]:
        """The legend's name for each cell, in the order of Cell."""
        return "allowed", *(f"forbidden: {why}" for why in self.reasons.values())

    @property
    def names(self) -> NDArray[np.str_]:
        """The name of each cell, (query, key)."""
        return np.array(self.cell_names, dtype=np.str_)[self.cells]


def batch_masks(padded: Sequence[Trace], sentence: int, *, layer: int = 0) -> dict[str, Mask]:
    """Every mask that applies to one sentence of a batch (Vaswani et al. 2017, section 3.2.3).

    "decoder", "encoder" and "cross" are what the trace recorded in that layer; where that differs
    from the model's own rule it was edited, and their names say so. Where heads were given
    different masks, a cell is allowed if any head may attend. A kind that was not recorded in the
    layer follows the model's own rule.

    Args:
        padded: the traces of one batch, with rows and columns for their padding.
        sentence: index into the batch.
        layer: counted from 0, whose recorded masks are shown.

    Returns:
        "source-padding" (1, source), "target-padding" (1, target), "causal" (target, target),
        "decoder" (target, target), "encoder" (source, source) and "cross" (target, source).

    Raises:
        IndexError: if there is no such sentence in the batch.
        ValueError: if the sentences are not padded to one length.
    """
    if not 0 <= sentence < len(padded):
        raise IndexError(
            f"The batch holds {len(padded)} sentences, counted from 0; there is no sentence "
            f"{sentence}."
        )
    n_source, n_target = (_common_length(padded, side) for side in ("source", "target"))
    trace = padded[sentence]
    source, target = trace.source, trace.target
    batch = len(padded)
    no_source, no_target = (_padding_row(tokens) for tokens in (source, target))
    causal = _future_cells(n_target)
    by_key = "(batch, 1, 1, key) = ({}, 1, 1, {})"
    by_query = "(batch, 1, query, key) = ({}, 1, {}, {})"
    own = {
        AttentionKind.ENCODER: Mask(
            "Encoder self-attention: not padding",
            "Encoder",
            AttentionKind.ENCODER,
            np.repeat(no_source, n_source, axis=0),
            source,
            source,
            by_key.format(batch, n_source),
            "bool",
            "A source token may look at every source token but not at padding; the model holds one "
            "row for all queries.",
        ),
        AttentionKind.DECODER: Mask(
            "Decoder self-attention: causal and not padding",
            "Decoder",
            AttentionKind.DECODER,
            causal | no_target,
            target,
            target,
            by_query.format(batch, n_target, n_target),
            "bool",
            "A target token may look at itself and at earlier tokens, but not at padding.",
        ),
        AttentionKind.CROSS: Mask(
            "Cross-attention: not padding of the source",
            "Cross",
            AttentionKind.CROSS,
            np.repeat(no_source, n_target, axis=0),
            target,
            source,
            by_key.format(batch, n_source),
            "bool",
            "A target token may look at every source token but not at padding; the model holds one "
            "row for all queries.",
        ),
    }
    return {
        "source-padding": Mask(
            "Source padding",
            "Source padding",
            None,
            no_source,
            EVERY_QUERY,
            source,
            by_key.format(batch, n_source),
            "bool",
            "True where the source has a token and not padding: one row, the same for every query.",
        ),
        "target-padding": Mask(
            "Target padding",
            "Target padding",
            None,
            no_target,
            EVERY_QUERY,
            target,
            by_key.format(batch, n_target),
            "bool",
            "True where the target has a token and not padding: one row, the same for every query.",
        ),
        "causal": Mask(
            "Causal",
            "Causal",
            None,
            causal,
            target,
            target,
            f"(1, 1, query, key) = (1, 1, {n_target}, {n_target})",
            "bool",
            "True on the diagonal and below it: each position may look at itself and at earlier "
            "ones, in every sentence of the batch.",
        ),
        **{
            str(kind): _as_recorded(mask, _recorded(trace, kind, layer), batch)
            for kind, mask in own.items()
        },
    }


def preset_mask(
    name: str,
    allowed: BoolArray,
    queries: Tokens,
    keys: Tokens,
    *,
    kind: AttentionKind | None = None,
    reason: str = "",
    causal: bool = False,
) -> Mask:
    """A mask made by a rule instead of a model.

    A cell counts as padding only where the mask as a whole allows no padding at all, and as future
    only in the decoder and for a rule that is causal. Else it has the rule's own reason.

    Args:
        name: of the rule.
        allowed: True = may attend, (query, key).
        queries: labels of the rows.
        keys: labels of the columns.
        kind: the attention that it is for.
        reason: what a key is that the rule forbids, such as "outside the window".
        causal: whether it is the causal mask or a narrower one.

    Raises:
        ValueError: if the mask is not boolean, or of another shape than the labels.
    """
    require_mask(allowed, (len(queries), len(keys)))
    reasons = np.zeros(allowed.shape, dtype=np.uint8)
    no_padding = np.broadcast_to(_padding_row(keys), allowed.shape)
    if not allowed[no_padding > 0].any():
        reasons |= no_padding
    if causal and kind is AttentionKind.DECODER:
        reasons |= _future_cells(len(keys))
    forbidden = np.where(reasons > 0, reasons, np.uint8(Cell.OTHER))
    return Mask(
        name,
        name,
        kind,
        np.where(allowed, np.uint8(Cell.ALLOWED), forbidden),
        queries,
        keys,
        _plain_shape(allowed.shape),
        str(allowed.dtype),
        _PRESET,
        reason,
    )


def edited_mask(base: Mask, allowed: BoolArray) -> Mask:
    """A mask after an edit: cells that only the edit forbids are OTHER, the rest keep their reason.

    Args:
        base: before the edit.
        allowed: after it, True = may attend, (query, key).

    Raises:
        ValueError: if the edit is not boolean, or of another shape than the mask.
    """
    require_mask(allowed, base.cells.shape)
    reasons = np.where(base.allowed, Cell.OTHER, base.cells)
    return replace(
        base,
        name=base.name.removesuffix(_EDITED) + _EDITED,
        cells=np.where(allowed, Cell.ALLOWED, reasons).astype(np.uint8),
        shape=_plain_shape(base.cells.shape),
        dtype=str(allowed.dtype),
        meaning=_DRAWN,
        reason=_BY_EDIT,
    )


def factors(masks: dict[str, Mask]) -> tuple[Mask, Mask, Mask]:
    """The factors of the decoder's mask: causal, not padding, and their logical "and".

    All three have the shape (target, target), cell on cell; the row of the padding mask is repeated
    for every query, as broadcasting does. The third is the model's rule, also after an edit.

    Args:
        masks: as `batch_masks` gives them.
    """
    causal, row, decoder = masks["causal"], masks["target-padding"], masks["decoder"]
    repeated = np.repeat(row.cells, len(causal.queries), axis=0)
    padding = replace(
        row,
        cells=repeated,
        queries=causal.queries,
        shape=f"{row.shape}, repeated for every query",
    )
    both = replace(
        decoder,
        name=decoder.name.removesuffix(_EDITED),
        cells=causal.cells | repeated,
        meaning="True where both factors are: their logical “and”, cell by cell.",
    )
    return causal, padding, both


def token_grid(
    padded: Sequence[Trace], side: Literal["source", "target"]
) -> tuple[list[list[str]], BoolArray]:
    """The sentences of a batch as rows of tokens.

    Args:
        padded: the traces of one batch, with rows and columns for their padding.
        side: which text; "target" is what the decoder reads.

    Returns:
        plain texts, one list a sentence, and where they are padding, (batch, length).

    Raises:
        ValueError: if the sentences are not padded to one length.
    """
    length = _common_length(padded, side)
    rows: list[Tokens] = [getattr(trace, side) for trace in padded]
    is_padding = np.array([[token == PADDING for token in row] for row in rows], dtype=np.bool_)
    return [axis_texts(row) for row in rows], is_padding.reshape(len(rows), length)


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

    @property
    def texts(self) -> NDArray[np.object_]:
        """The sentence of each cell, such as "A forbids: future; B allows", (query, key)."""
        return np.array(self.sentences, dtype=object)[self.sentence_ids]

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


def empty_queries(mask: Mask) -> list[tuple[int, str]]:
    """The queries without an allowed key: their positions, and their labels as plain text."""
    texts = axis_texts(mask.queries)
    empty = np.flatnonzero(np.logical_not(mask.allowed.any(axis=-1)))
    return [(int(position), texts[position]) for position in empty]


def mask_alt_text(mask: Mask) -> str:
    """A mask's alternative text."""
    n_queries, n_keys = mask.cells.shape
    counts = np.bincount(mask.cells.ravel(), minlength=len(Cell))
    reasons = [f"{counts[cell]} ({why})" for cell, why in mask.reasons.items() if counts[cell]]
    forbidden = f"; forbidden are {', '.join(reasons)}" if reasons else ""
    return (
        f"{mask.name}: {style.count_of(n_queries, 'query', 'queries')} by "
        f"{style.count_of(n_keys, 'key')}; {counts[Cell.ALLOWED]} of "
        f"{style.count_of(mask.cells.size, 'cell')} "
        f"{'is' if mask.cells.size == 1 else 'are'} allowed{forbidden}."
        f"{_empty_words(mask)}"
    )


def difference_alt_text(difference: Difference) -> str:
    """The alternative text of two compared masks."""
    n_queries, n_keys = difference.cells.shape
    counts = np.bincount(difference.cells.ravel(), minlength=len(Compared))
    listed = ", ".join(f"{COMPARED_NAMES[answer]} {counts[answer]}" for answer in Compared)
    words = (
        f"Mask A, “{difference.a.name}”, and mask B, “{difference.b.name}”: "
        f"{style.count_of(n_queries, 'query', 'queries')} by {style.count_of(n_keys, 'key')}; of "
        f"{style.count_of(difference.cells.size, 'cell')} {listed}."
    )
    # The two codes above both say that the masks differ.
    differing = np.argwhere(difference.cells >= Compared.ONLY_A_ALLOWS)
    if not len(differing):
        return f"{words} They are the same."
    row, column = differing[0].tolist()
    query, key = axis_texts(difference.a.queries)[row], axis_texts(difference.a.keys)[column]
    return (
        f"{words} The first difference is at query {query} ({row}) and key {key} ({column}): "
        f"{difference.text(row, column)}."
    )


def _common_length(padded: Sequence[Trace], side: str) -> int:
    lengths = {len(getattr(trace, side)) for trace in padded}
    if len(lengths) > 1:
        raise ValueError(
            f"The sentences of a batch are padded to one length; these have the {side} lengths "
            f"{', '.join(map(str, sorted(lengths)))}."
        )
    return lengths.pop() if lengths else 0


def _padding_row(tokens: Tokens) -> CellArray:
    """Which keys are padding, (1, key)."""
    is_padding = np.array([[token == PADDING for token in tokens]], dtype=np.bool_)
    return np.where(is_padding, Cell.PADDING, Cell.ALLOWED).astype(np.uint8)


def _future_cells(length: int) -> CellArray:
    """Which keys come after the query, (length, length)."""
    return np.triu(np.full((length, length), Cell.FUTURE, dtype=np.uint8), k=1)


def _recorded(trace: Trace, kind: AttentionKind, layer: int) -> BoolArray | None:
    """(query, key), or (head, query, key) where heads differ; None if nothing was recorded."""
    return trace.attention(kind, layer).allowed if layer in trace.layers(kind) else None


def _as_recorded(own: Mask, recorded: BoolArray | None, batch: int) -> Mask:
    """The model's own mask, or the one recorded instead."""
    if recorded is None or bool((recorded == own.allowed).all()):
        return own
    size = f"{len(own.queries)}, {len(own.keys)}"
    if recorded.ndim == 2:
        shape = f"(batch, 1, query, key) = ({batch}, 1, {size})"
        return replace(edited_mask(own, recorded), shape=shape)
    return replace(
        edited_mask(own, np.logical_or.reduce(recorded, axis=0)),
        shape=f"(batch, head, query, key) = ({batch}, {len(recorded)}, {size})",
        meaning=_BY_HEAD,
    )


def _plain_shape(shape: tuple[int, ...]) -> str:
    return f"(query, key) = {shape}"


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


def _empty_words(mask: Mask) -> str:
    empty = empty_queries(mask)
    if not empty:
        return ""
    listed = ", ".join(f"{label} ({position})" for position, label in empty[:LISTED_QUERIES])
    more = f" and {len(empty) - LISTED_QUERIES} more" if len(empty) > LISTED_QUERIES else ""
    subject = "1 query has" if len(empty) == 1 else f"{len(empty)} queries have"
    return f" {subject} no allowed key: {listed}{more}."
