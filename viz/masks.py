"""Masks as values: who may look where and why not, what differs, and what a mask does to a head."""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.trace import AttentionKind, AttentionMap, BoolArray, FloatArray, Tokens, Trace
from viz import style
from viz.heads import allowed_cells, head_weights, side_texts
from viz.labels import axis_texts, escape_html, visible
from viz.reading import PADDING

CellArray = NDArray[np.uint8]


class Cell(IntEnum):
    """Why a query may not look at a key; the bits of FUTURE and PADDING together are BOTH."""

    ALLOWED = 0
    FUTURE = 1
    PADDING = 2
    BOTH = 3
    OTHER = 4


CELL_NAMES = {
    Cell.ALLOWED: "allowed",
    Cell.FUTURE: "forbidden: future",
    Cell.PADDING: "forbidden: padding",
    Cell.BOTH: "forbidden: future and padding",
    Cell.OTHER: "forbidden by the edit",
}
"""What a legend calls each cell of a mask."""


class Compared(IntEnum):
    """What two masks say of one cell."""

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
"""What a legend calls each cell of two compared masks."""

EVERY_QUERY = Tokens.unnamed(["every query"])
"""The query axis of a mask that is one row, the same for every query."""

LARGE_NEGATIVE = -1e9
"""What many implementations write over forbidden scores in place of minus infinity."""

LISTED_QUERIES = 5
"""So many queries without a key are named; the rest are counted."""

PLOT_HEIGHT = 260
"""Pixels of the log-probabilities, without what surrounds them."""

LABELLED_TOKENS, NARROW_LABELLED_TOKENS = 28, 10
"""Up to so many pairs of bars all have their labels."""

_EDITED = ", edited"
_PRESET = "A query may look at a key where the preset allows it."
_DRAWN = "A query may look at a key where the edited mask allows it."
_NO_TOKEN = "–"

# A recorded weight that differs by more was made of something else than the recorded scores.
_TOLERANCE = 2e-3


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


def batch_masks(padded: Sequence[Trace], sentence: int, *, layer: int = 0) -> dict[str, Mask]:
    """Every mask that one sentence of a batch meets (Vaswani et al. 2017, section 3.2.3).

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
        "encoder": Mask(
            "Encoder self-attention: not padding",
            "Encoder",
            AttentionKind.ENCODER,
            np.repeat(no_source, n_source, axis=0),
            source,
            source,
            by_key.format(batch, n_source),
            "bool",
            "A source token may look at every source token and at no padding; the model holds one "
            "row for all queries.",
        ),
        "decoder": Mask(
            "Decoder self-attention: causal and not padding",
            "Decoder",
            AttentionKind.DECODER,
            causal | no_target,
            target,
            target,
            by_query.format(batch, n_target, n_target),
            "bool",
            "A target token may look at itself and at what came before it, and at no padding.",
        ),
        "cross": Mask(
            "Cross-attention: not padding of the source",
            "Cross",
            AttentionKind.CROSS,
            np.repeat(no_source, n_target, axis=0),
            target,
            source,
            by_key.format(batch, n_source),
            "bool",
            "A target token may look at every source token and at no padding; the model holds one "
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
            "True on the diagonal and below it: each position may look at itself and at what came "
            "before, in every sentence of the batch alike.",
        ),
        **{name: _as_recorded(mask, trace, layer) for name, mask in own.items()},
    }


def preset_mask(
    name: str,
    allowed: BoolArray,
    queries: Tokens,
    keys: Tokens,
    *,
    kind: AttentionKind | None = None,
    meaning: str = _PRESET,
) -> Mask:
    """A mask that a rule makes, and no model.

    A cell counts as future or as padding only where the mask as a whole keeps to that: it allows no
    later position of the same text at all, or no padding at all. Else the rule forbids it.

    Args:
        name: of the rule.
        allowed: True = may attend, (query, key).
        queries: labels of the rows.
        keys: labels of the columns.
        kind: the attention that it is for.
        meaning: how to read it, in one line.

    Raises:
        ValueError: if the mask is not boolean, or of another shape than the labels.
    """
    _require_mask(allowed, (len(queries), len(keys)))
    cells = np.where(allowed, Cell.ALLOWED, Cell.OTHER).astype(np.uint8)
    reasons = np.zeros_like(cells)
    no_padding = np.broadcast_to(_padding_row(keys), cells.shape)
    rules = [no_padding]
    if queries == keys:
        rules.append(_future_cells(len(keys)))
    for rule in rules:
        if not allowed[rule > 0].any():
            reasons |= rule
    return Mask(
        name,
        name,
        kind,
        np.where(reasons > 0, reasons, cells),
        queries,
        keys,
        _plain_shape(cells.shape),
        str(allowed.dtype),
        meaning,
    )


def edited_mask(base: Mask, allowed: BoolArray) -> Mask:
    """A mask after an edit: what the edit alone forbids is OTHER, the rest keeps its reason.

    Args:
        base: before the edit.
        allowed: after it, True = may attend, (query, key).

    Raises:
        ValueError: if the edit is not boolean, or of another shape than the mask.
    """
    _require_mask(allowed, base.cells.shape)
    reasons = np.where(base.allowed, Cell.OTHER, base.cells)
    return replace(
        base,
        name=base.name.removesuffix(_EDITED) + _EDITED,
        cells=np.where(allowed, Cell.ALLOWED, reasons).astype(np.uint8),
        shape=_plain_shape(base.cells.shape),
        dtype=str(allowed.dtype),
        meaning=_DRAWN,
    )


def factors(masks: dict[str, Mask]) -> tuple[Mask, Mask, Mask]:
    """How the decoder's own mask is made: causal, not padding, and their logical "and".

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
    batch_shape = row.shape.split(" = (")[1].split(",")[0]
    both = replace(
        decoder,
        name=decoder.name.removesuffix(_EDITED),
        cells=causal.cells | repeated,
        shape=f"(batch, 1, query, key) = ({batch_shape}, 1, {len(causal.queries)}, "
        f"{len(causal.keys)})",
        dtype="bool",
        meaning="True where both factors are: their logical “and”, cell by cell.",
    )
    return causal, padding, both
