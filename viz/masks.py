"""Masks as values: who may look where and why not, what differs, and what a mask does to a head."""

from __future__ import annotations

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
    """Why a query may not look at a key; the bits of FUTURE and PADDING together are BOTH.

    OTHER is for the reason that the mask itself names.
    """

    ALLOWED = 0
    FUTURE = 1
    PADDING = 2
    BOTH = 3
    OTHER = 4


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
_BY_EDIT = "closed by the edit"
_PRESET = "A query may look at a key where the preset allows it."
_DRAWN = "A query may look at a key where the edited mask allows it."
_BY_HEAD = (
    "Heads were given different masks: a query may look at a key where that of any head allows it."
)
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
        """What is wrong with the key of a cell that is forbidden, in the order of Cell."""
        return {
            Cell.FUTURE: "future",
            Cell.PADDING: "padding",
            Cell.BOTH: "future and padding",
            Cell.OTHER: self.reason,
        }

    @property
    def cell_names(self) -> tuple[str, ...]:
        """What a legend calls each cell, in the order of Cell."""
        return "allowed", *(f"forbidden: {why}" for why in self.reasons.values())

    @property
    def said(self) -> NDArray[np.str_]:
        """The name of each cell, (query, key)."""
        return np.array(self.cell_names, dtype=np.str_)[self.cells]


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
        AttentionKind.ENCODER: Mask(
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
        AttentionKind.DECODER: Mask(
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
        AttentionKind.CROSS: Mask(
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
    """A mask that a rule makes, and no model.

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
    _require_mask(allowed, (len(queries), len(keys)))
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
        reason=_BY_EDIT,
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
        """What can be said of a cell; `said` is an index into it."""
        return tuple(self._sentence(a, b) for a in Cell for b in Cell)

    @property
    def said(self) -> CellArray:
        """Which sentence is true of each cell, (query, key)."""
        return self.a.cells * np.uint8(len(Cell)) + self.b.cells

    @property
    def texts(self) -> NDArray[np.object_]:
        """The sentence of each cell, such as "A forbids: future; B allows", (query, key)."""
        return np.array(self.sentences, dtype=object)[self.said]

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
    """Which cells two masks agree on.

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


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """What happens inside one head, step by step (equation 1 of Vaswani et al. 2017).

    Attributes:
        allowed: True = may attend, (query, key).
        scores: QKᵀ/√d_k as recorded, before masking, (query, key).
        masked: the same with NaN where the mask forbids, (query, key).
        weights: after the softmax, (query, key); zeros where forbidden and in rows of no key.
        contributions: the length of weight · v, what each key adds, (query, key).
        outputs: the length of Σ weight · v, the head's output before W_O, (query,).
    """

    allowed: BoolArray
    scores: FloatArray
    masked: FloatArray
    weights: FloatArray
    contributions: FloatArray
    outputs: FloatArray


def stages(seen: AttentionMap, head: int, allowed: BoolArray | None = None) -> Stages:
    """One head from its scores to its output, with the recorded mask or with another one.

    With another mask, only this head's own step changes: its scores stay as they were recorded, as
    if the mask were changed here and nowhere below.

    Args:
        seen: the site.
        head: counted from 0.
        allowed: True = may attend, (query, key); None takes the recorded mask.

    Raises:
        IndexError: if there is no such head.
        ValueError: if scores or values were not recorded, if the recorded weights are not made of
            the recorded scores, or if the mask is not boolean or of another shape than the weights.
    """
    recorded = head_weights(seen, head)
    if seen.scores is None or seen.v is None:
        raise ValueError(
            "The scores and values of this head were not recorded, so there is nothing to compute "
            "its weights from."
        )
    scores = seen.scores[head]
    usual = allowed_cells(seen, head)
    weights = _softmax(scores, usual)
    if not np.allclose(weights, recorded, rtol=0, atol=_TOLERANCE):
        raise ValueError(
            "The weights of this head are not the softmax of its recorded scores: keys are hidden, "
            "or something was added to the scores. Its stages cannot be computed."
        )
    if allowed is None:
        allowed = usual
    else:
        _require_mask(allowed, scores.shape)
        weights = _softmax(scores, allowed)
    values = seen.v[head]
    return Stages(
        allowed=allowed,
        scores=scores,
        masked=np.where(allowed, scores, np.float32(np.nan)),
        weights=weights,
        contributions=weights * np.linalg.norm(values, axis=-1),
        outputs=np.linalg.norm(weights @ values, axis=-1),
    )


def moved_weight(before: AttentionMap, after: AttentionMap, n_queries: int) -> FloatArray:
    """How much of each head's weight lies elsewhere in a second pass over the same tokens.

    Of one row, the larger of what left its keys and what came to them: 1 as well for a row that has
    nothing left to look at. Where both rows sum to 1, that is their total variation distance.

    Args:
        before: the site in the first pass.
        after: the site in the second.
        n_queries: how many of its first rows count; padding comes after them.

    Returns:
        the mean over these rows, 0 to 1, (head,).
    """
    change = np.float64(after.weights[:, :n_queries]) - before.weights[:, :n_queries]
    came, left = np.maximum(change, 0).sum(axis=-1), np.maximum(-change, 0).sum(axis=-1)
    shares: FloatArray = np.maximum(came, left).mean(axis=-1).astype(np.float32)
    return shares


@dataclass(frozen=True, slots=True, eq=False)
class FillLesson:
    """One row's weights, by what was written over its forbidden scores; (key,) each.

    Attributes:
        minus_infinity: −∞; NaN throughout a row without an allowed key.
        large_negative: −1e9; the same weight for every key in such a row.
        model: what this model does; zeros throughout such a row.
        explanation: what is seen, in two sentences.
    """

    minus_infinity: FloatArray
    large_negative: FloatArray
    model: FloatArray
    explanation: str

    @property
    def rows(self) -> tuple[tuple[str, FloatArray], ...]:
        """The three by name, for a table."""
        return (
            ("softmax with −∞", self.minus_infinity),
            ("softmax with −1e9", self.large_negative),
            ("this model", self.model),
        )


def fill_lesson(scores_row: FloatArray, allowed_row: BoolArray) -> FillLesson:
    """The softmax of one row in three ways, which differ when no key is allowed.

    Args:
        scores_row: (key,), before masking.
        allowed_row: True = may attend, (key,).

    Raises:
        ValueError: if there is no key, or the two are not one number and one boolean a key.
    """
    if scores_row.ndim != 1 or not scores_row.size:
        raise ValueError(
            f"A row has one score a key and at least one key; these have the shape "
            f"{scores_row.shape}."
        )
    _require_mask(allowed_row, scores_row.shape)
    minus_infinity, large_negative = (
        _plain_softmax(np.where(allowed_row, scores_row, np.float32(fill)))
        for fill in (-math.inf, LARGE_NEGATIVE)
    )
    n_keys = len(scores_row)
    if allowed_row.any():
        explanation = (
            "The row has an allowed key, so all three give the same weights: beside it, e to the "
            "power of −1e9 is 0 as well. They differ in a row without an allowed key."
        )
    else:
        explanation = (
            "No key is allowed: with −∞ the softmax divides 0 by 0, and NaN spreads through "
            "everything computed from it; with −1e9 all scores are equal, and every key gets the "
            f"weight 1/{n_keys}, as if all were allowed and scored the same. This model gives "
            "zeros: the query looks at nothing, and what it gets is no mean of anything."
        )
    model = _softmax(scores_row[None], allowed_row[None])[0]
    return FillLesson(minus_infinity, large_negative, model, explanation)


def empty_queries(mask: Mask) -> list[tuple[int, str]]:
    """The queries that may look at no key: their positions, and their labels as plain text."""
    texts = axis_texts(mask.queries)
    empty = np.flatnonzero(np.logical_not(mask.allowed.any(axis=-1)))
    return [(int(position), texts[position]) for position in empty]


Change = tuple[Literal["same", "removed", "added"], str]
"""What became of some words, and these words."""


def word_diff(before: str, after: str) -> list[Change]:
    """What changed from one text to another, word by word, with punctuation set apart.

    Runs of words come with the space before them, so that all runs in a row read as a text, and
    those that are not "removed" give the text after, its spaces made single.

    Args:
        before: a text.
        after: the text that took its place.
    """
    old, new = list(_words(before)), list(_words(after))
    changes: list[Change] = []
    for same, old_run, new_run in _runs(
        [word.lstrip(" ") for word in old], [word.lstrip(" ") for word in new]
    ):
        removed, added = "".join(old[old_run]), "".join(new[new_run])
        if same:
            changes.append(("same", added))
            continue
        if removed:
            changes.append(("removed", removed))
        if added:
            changes.append(("added", added))
    if changes:
        # No space before the first word.
        changes[0] = (changes[0][0], changes[0][1].lstrip(" "))
    return changes


def diff_html(before: str, after: str, *, dark: bool = False) -> str:
    """`word_diff` as HTML content: <del> struck through, <ins> underlined, the rest as it is.

    Args:
        before: a text; nothing in it acts as markup.
        after: likewise.
        dark: for a dark page.
    """
    theme = style.look(dark)
    removed, added = (style.change_css(theme, removed=removed) for removed in (True, False))
    tags = {"removed": ("del", removed), "added": ("ins", added)}
    parts = []
    for change, text in word_diff(before, after):
        words = text.lstrip(" ")
        shown = escape_html(visible(words))
        if change in tags:
            tag, css = tags[change]
            shown = f'<{tag} style="{css}">{shown}</{tag}>'
        parts.append(" " * (len(text) - len(words)) + shown)
    return "".join(parts)


def mask_alt_text(mask: Mask) -> str:
    """A mask in words, for those who do not see it."""
    n_queries, n_keys = mask.cells.shape
    counts = np.bincount(mask.cells.ravel(), minlength=len(Cell))
    reasons = [f"{counts[cell]} ({why})" for cell, why in mask.reasons.items() if counts[cell]]
    forbidden = f"; forbidden are {', '.join(reasons)}" if reasons else ""
    return (
        f"{mask.name}: {_count(n_queries, 'query', 'queries')} by {_count(n_keys, 'key', 'keys')}; "
        f"{counts[Cell.ALLOWED]} of {mask.cells.size} cells are allowed{forbidden}."
        f"{_empty_words(mask)}"
    )


def difference_alt_text(difference: Difference) -> str:
    """Two compared masks in words, for those who do not see them."""
    n_queries, n_keys = difference.cells.shape
    counts = np.bincount(difference.cells.ravel(), minlength=len(Compared))
    listed = ", ".join(f"{COMPARED_NAMES[answer]} {counts[answer]}" for answer in Compared)
    words = (
        f"Mask A, “{difference.a.name}”, and mask B, “{difference.b.name}”: "
        f"{_count(n_queries, 'query', 'queries')} by {_count(n_keys, 'key', 'keys')}; of "
        f"{_count(difference.cells.size, 'cell', 'cells')} {listed}."
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


def log_prob_bars(
    tokens_a: Tokens,
    log_probs_a: FloatArray,
    tokens_b: Tokens,
    log_probs_b: FloatArray,
    names: tuple[str, str],
    *,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """How probable each target token is, in two ways side by side: bars that hang from 0.

    Where the two targets differ, they are aligned: tokens that both have share a place, others
    stand under two labels, A above B, or have a place that the other leaves empty. The traces are
    the bars of A and of B, one a place, NaN where there is no token; numbers that are not finite,
    such as those of padding, have no bar.

    Args:
        tokens_a: the predicted tokens.
        log_probs_a: the natural logarithm of each one's probability, (target,).
        tokens_b: the predicted tokens of the second target.
        log_probs_b: likewise.
        names: what A and B are, such as "the model's own mask" and "no mask".
        narrow: for a width below `style.NARROW`: shorter and fewer labels.
        dark: for a dark page.

    Raises:
        ValueError: if there are not as many numbers as tokens.
    """
    theme = style.look(dark)
    places = _aligned(tokens_a, log_probs_a, tokens_b, log_probs_b)
    colors = theme.heads[:2]
    data: list[dict[str, Any]] = []
    heights: list[NDArray[np.float64]] = []
    sides = ((tokens_a, log_probs_a), (tokens_b, log_probs_b))
    for side, (tokens, log_probs) in enumerate(sides):
        taken = [place[side] for place in places]
        there = np.array([position is not None for position in taken], dtype=np.bool_)
        y = np.full(len(places), np.nan)
        y[there] = log_probs
        y[~np.isfinite(y)] = np.nan
        labels = [escape_html(text) for text in axis_texts(tokens)]
        named = np.full((len(places), 3), "", dtype=object)
        named[there, 0] = [f"{label} ({position})" for position, label in enumerate(labels)]
        named[:, 1] = escape_html(visible(names[side]))
        named[:, 2] = np.exp(y)
        heights.append(y)
        data.append(
            {
                "type": "bar",
                "name": f"{escape_html(visible(names[side]))}: sum {_sum(log_probs)}",
                "x": np.arange(len(places)),
                "y": y,
                "customdata": named,
                "marker": {"color": colors[side], "line": {"width": 0}},
                "hovertemplate": style.LOG_PROB_HOVER,
                "showlegend": True,
            }
        )
    texts = _labels(places, tokens_a, tokens_b, narrow)
    room = NARROW_LABELLED_TOKENS if narrow else LABELLED_TOKENS
    # Two lines beside each other, when they must turn, need as much as this leaves them.
    dense = narrow or len(places) > LABELLED_TOKENS // 2
    lowest = min((float(np.nanmin(y)) for y in heights if np.isfinite(y).any()), default=-1.0)
    shared = style.layout(
        theme,
        title="How probable each target token is",
        height=PLOT_HEIGHT,
        top=style.labels_height(
            # As long as the longest line and the square before it, and as many lines as there are.
            [max(label, key=len) + "  " * (len(label) - 1) for label in texts],
            style.NARROW_PLOT_WIDTH if narrow else style.PLOT_WIDTH,
        )
        + style.FONT_SIZE * max((len(label) - 1 for label in texts), default=0),
        lines=["Bars from 0 down: the longer, the less probable"] if narrow else [],
    )
    layout = shared | {
        "plot_bgcolor": style.CLEAR,
        "barmode": "group",
        "bargap": 0.3,
        "bargroupgap": 0.06,
        "legend": shared["legend"]
        | {"x": 0, "xref": "container", "xanchor": "left", "y": 0, "traceorder": "normal"},
        "xaxis": style.axis(
            "" if narrow else "Target token",
            [_tick(label, colors) for label in texts],
            style.label_step(len(places), room),
            range=[-0.5, len(places) - 0.5],
            side="top",
            autotickangles=[0, -90],
            tickfont={"size": style.DENSE_FONT_SIZE if dense else style.SMALL_FONT_SIZE},
        ),
        "yaxis": {
            "title": {"text": "log-probability (base e)", "standoff": 10},
            # Room for a bar that is nearly certain, and none above 0, where no logarithm lies.
            "range": [min(lowest * 1.06, -0.1), 0],
            "nticks": 6,
            "tickfont": {"size": style.SMALL_FONT_SIZE},
            "gridcolor": theme.grid,
            "zerolinecolor": theme.muted,
            "automargin": True,
        },
    }
    if not places:
        layout |= {
            "xaxis": {"visible": False},
            "yaxis": {"visible": False},
            "showlegend": False,
            "annotations": [
                {
                    "text": "There is no token to show.",
                    "x": 0.5,
                    "y": 0.5,
                    "xref": "paper",
                    "yref": "paper",
                    "showarrow": False,
                    "font": {"size": style.FONT_SIZE, "color": theme.muted},
                }
            ],
        }
    return go.Figure({"data": data, "layout": layout})


def log_prob_alt_text(
    tokens_a: Tokens,
    log_probs_a: FloatArray,
    tokens_b: Tokens,
    log_probs_b: FloatArray,
    names: tuple[str, str],
) -> str:
    """The bars in words, for those who do not see them; arguments and errors as in `log_prob_bars`.

    Where both have the same token in a place, the one whose log-probability moved most is named.
    """
    places = _aligned(tokens_a, log_probs_a, tokens_b, log_probs_b)
    words = "Log-probability of each target token: " + "; ".join(
        f"{visible(name)}, {_count(len(tokens), 'token', 'tokens')}, sum {_sum(log_probs)}"
        for name, tokens, log_probs in zip(
            names, (tokens_a, tokens_b), (log_probs_a, log_probs_b), strict=True
        )
    )
    both = [
        (first, float(log_probs_a[first]), float(log_probs_b[second]))
        for first, second in places
        if first is not None
        and second is not None
        and tokens_a.tokens[first] == tokens_b.tokens[second]
    ]
    finite = [entry for entry in both if math.isfinite(entry[1]) and math.isfinite(entry[2])]
    if not finite:
        return f"{words}."
    position, one, other = max(finite, key=lambda entry: abs(entry[1] - entry[2]))
    return (
        f"{words}. The largest change is at {axis_texts(tokens_a)[position]} ({position}): "
        f"{style.number(one)} and {style.number(other)}."
    )


def log_prob_caption(tokens_a: Tokens, tokens_b: Tokens) -> str:
    """How to read the bars, in plain text.

    Args:
        tokens_a: the predicted tokens.
        tokens_b: the predicted tokens of the second target.
    """
    aligned = (
        ""
        if tokens_a == tokens_b
        else " The two targets differ: what both have shares a place, else the upper label is that "
        f"of the left bar, the lower that of the right one, and {_NO_TOKEN} stands for no token."
    )
    return (
        "Each pair of bars is one target token, in the order of the legend. A bar hangs from 0, "
        "which is certainty, down to the natural logarithm of the token's probability: the longer, "
        f"the less probable. The sums are those of the whole targets.{aligned}"
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
    """The model's own mask, or what was recorded in its place."""
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


def _require_mask(allowed: BoolArray, shape: tuple[int, ...]) -> None:
    if allowed.dtype != np.bool_:
        raise ValueError(
            f"A mask is boolean, True where a query may attend; this one is of {allowed.dtype}."
        )
    _require_shape("The mask", allowed.shape, shape)


def _require_shape(name: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if found != wanted:
        raise ValueError(f"{name} has the shape {found}, and {wanted} is needed here.")


def _softmax(scores: FloatArray, allowed: BoolArray) -> FloatArray:
    """Over the allowed keys alone, (query, key); zeros in rows without one, as in the model."""
    exact = np.where(allowed, scores.astype(np.float64), -math.inf)
    largest = np.max(exact, axis=-1, keepdims=True, initial=-math.inf)
    powers = np.exp(exact - np.where(np.isfinite(largest), largest, 0))
    total = powers.sum(axis=-1, keepdims=True)
    weights: FloatArray = (powers / np.where(total > 0, total, 1)).astype(np.float32)
    return weights


def _plain_softmax(scores: NDArray[np.floating]) -> FloatArray:
    # NaN for a row of minus infinities is what is to be shown.
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - scores.max())
        weights: FloatArray = (powers / powers.sum()).astype(np.float32)
    return weights


def _empty_words(mask: Mask) -> str:
    empty = empty_queries(mask)
    if not empty:
        return ""
    listed = ", ".join(f"{label} ({position})" for position, label in empty[:LISTED_QUERIES])
    more = f" and {len(empty) - LISTED_QUERIES} more" if len(empty) > LISTED_QUERIES else ""
    subject = "1 query has" if len(empty) == 1 else f"{len(empty)} queries have"
    return f" {subject} no allowed key: {listed}{more}."


def _words(text: str) -> Iterator[str]:
    """Words and punctuation marks, each after a space unless it touched what is before it."""
    for chunk in text.split():
        space = " "
        for part in _split_punctuation(chunk):
            yield space + part
            space = ""


def _split_punctuation(chunk: str) -> Iterator[str]:
    """What stands between two spaces: each mark before the word, the word, each mark after."""
    marks = [unicodedata.category(character)[0] == "P" for character in chunk]
    if all(marks):
        yield from chunk
        return
    start, end = marks.index(False), len(marks) - marks[::-1].index(False)
    yield from chunk[:start]
    yield chunk[start:end]
    yield from chunk[end:]


Place = tuple[int | None, int | None]
"""The positions of two targets' tokens in one place of the plot."""


def _aligned(
    tokens_a: Tokens, log_probs_a: FloatArray, tokens_b: Tokens, log_probs_b: FloatArray
) -> list[Place]:
    """Both targets in order, tokens that both have in one place."""
    for tokens, log_probs in ((tokens_a, log_probs_a), (tokens_b, log_probs_b)):
        if log_probs.shape != (len(tokens),):
            raise ValueError(
                f"Each token needs one log-probability: there are {len(tokens)} tokens and the "
                f"numbers have the shape {log_probs.shape}."
            )
    if tokens_a.tokens == tokens_b.tokens:
        return [(position, position) for position in range(len(tokens_a))]
    places: list[Place] = []
    for _, run_a, run_b in _runs(tokens_a.tokens, tokens_b.tokens):
        n_a, n_b = run_a.stop - run_a.start, run_b.stop - run_b.start
        places += [
            (run_a.start + i if i < n_a else None, run_b.start + i if i < n_b else None)
            for i in range(max(n_a, n_b))
        ]
    return places


def _runs(first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[bool, slice, slice]]:
    """Two sequences in order, as runs that both share and runs in which they differ.

    What they share is a longest common subsequence. A model that is kept from looking repeats
    itself, and difflib's time grows with the cube of the length of two such texts.
    """
    left = _common_lengths(first, second)
    one = other = 0
    while one < len(first) or other < len(second):
        start, beside = one, other
        while one < len(first) and other < len(second) and first[one] == second[other]:
            one, other = one + 1, other + 1
        if one > start:
            yield True, slice(start, one), slice(beside, other)
        start, beside = one, other
        while one < len(first) and other < len(second) and first[one] != second[other]:
            if left[one + 1, other] >= left[one, other + 1]:
                one += 1
            else:
                other += 1
        if one == len(first) or other == len(second):
            one, other = len(first), len(second)
        if (one, other) != (start, beside):
            yield False, slice(start, one), slice(beside, other)


def _common_lengths(first: Sequence[str], second: Sequence[str]) -> NDArray[np.int32]:
    """How much the rest of one sequence shares with the rest of the other, by their starts."""
    lengths = np.zeros((len(first) + 1, len(second) + 1), dtype=np.int32)
    others = np.array(second, dtype=object)
    for place in range(len(first) - 1, -1, -1):
        below = lengths[place + 1]
        reached = np.maximum(below[:-1], below[1:] + (others == first[place]))
        lengths[place, :-1] = np.maximum.accumulate(reached[::-1])[::-1]
    return lengths


def _labels(
    places: Sequence[Place], tokens_a: Tokens, tokens_b: Tokens, narrow: bool
) -> list[tuple[str, ...]]:
    """What stands at each place: one text that both share, or that of A and that of B."""
    texts_a, texts_b = side_texts(tokens_a, narrow), side_texts(tokens_b, narrow)
    labels: list[tuple[str, ...]] = []
    for first, second in places:
        if first is None or second is None or tokens_a.tokens[first] != tokens_b.tokens[second]:
            one = _NO_TOKEN if first is None else texts_a[first]
            labels.append((one, _NO_TOKEN if second is None else texts_b[second]))
        else:
            labels.append((texts_a[first],))
    return labels


def _tick(label: tuple[str, ...], colors: Sequence[str]) -> str:
    """A label for Plotly; where there are two, each begins with a square in its bar's colour."""
    if len(label) == 1:
        return escape_html(label[0])
    return "<br>".join(
        f'<span style="color: {color}">■</span> {escape_html(text)}'
        for text, color in zip(label, colors, strict=True)
    )


def _sum(log_probs: FloatArray) -> str:
    return style.number(float(log_probs[np.isfinite(log_probs)].sum()))


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
