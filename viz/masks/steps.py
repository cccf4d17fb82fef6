"""The steps inside a head, from scores to weights, and what a mask does there."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.trace.attention_map import AttentionMap, BoolArray, FloatArray
from viz.masks.mask import require_mask

LARGE_NEGATIVE = -1e9
"""The score that many implementations use for forbidden cells instead of minus infinity."""

# A recorded weight that differs by more was not computed from the recorded scores alone.
_TOLERANCE = 2e-3


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """What happens inside one head, step by step (equation 1 of Vaswani et al. 2017).

    Attributes:
        allowed: True = may attend, (query, key).
        scores: as recorded, before masking, (query, key).
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


def head_steps(seen: AttentionMap, head: int, allowed: BoolArray | None = None) -> Steps:
    """One head from its scores to its output, with the recorded mask or another one.

    With another mask, only this head's own step changes: its scores stay as they were recorded, as
    if the mask were changed here and nowhere below.

    Args:
        head: counted from 0.
        allowed: True = may attend, (query, key); None takes the recorded mask.

    Raises:
        IndexError: if there is no such head.
        ValueError: if scores or values were not recorded, if the recorded weights are not made of
            the recorded scores, or if the mask is not boolean or of another shape than the weights.
    """
    one = seen.head(head)
    if one.scores is None or one.v is None:
        raise ValueError(
            "The scores and values of this head were not recorded, so there is nothing to compute "
            "its weights from."
        )
    scores, usual = one.scores, one.allowed
    weights = _softmax(scores, usual)
    if not np.allclose(weights, one.weights, rtol=0, atol=_TOLERANCE):
        raise ValueError(
            "The weights of this head are not the softmax of its recorded scores: keys are hidden, "
            "or something was added to the scores. Its steps cannot be computed."
        )
    if allowed is None:
        allowed = usual
    else:
        require_mask(allowed, scores.shape)
        weights = _softmax(scores, allowed)
    values = one.v
    return Steps(
        allowed=allowed,
        scores=scores,
        masked=np.where(allowed, scores, np.float32(np.nan)),
        weights=weights,
        contributions=weights * np.linalg.norm(values, axis=-1),
        outputs=np.linalg.norm(weights @ values, axis=-1),
    )


def moved_weight(before: AttentionMap, after: AttentionMap, n_queries: int) -> FloatArray:
    """The share of each head's weight that lies elsewhere in a second pass over the same tokens.

    Of one row, the larger of what left its keys and what came to them: 1 as well for a row that has
    nothing left to look at. Where both rows sum to 1, that is their total variation distance.

    Args:
        after: the site in the second.
        n_queries: how many of its first rows count; padding comes after them.

    Returns:
        the mean over these rows, 0 to 1, (head,).
    """
    change = np.float64(after.weights[:, :n_queries]) - before.weights[:, :n_queries]
    came, left = np.maximum(change, 0).sum(axis=-1), np.maximum(-change, 0).sum(axis=-1)
    shares: FloatArray = np.maximum(came, left).mean(axis=-1).astype(np.float32)
    return shares


def most_masked(sites: Iterable[AttentionMap], lengths: tuple[int, int]) -> tuple[int, int] | None:
    """The layer and head that lose most weight to the mask, to open first.

    The rows of that head would give the largest share to forbidden keys without the mask, by the
    recorded scores; None if none was recorded or the mask forbids nothing.

    Args:
        sites: of one kind of attention.
        lengths: how many of the first queries and keys are no padding; padding comes after them.
    """
    n_queries, n_keys = lengths
    best, place = 0.0, None
    for seen in sites:
        if seen.scores is None:
            continue
        scores = seen.scores[:, :n_queries]
        everything = np.ones_like(scores, dtype=np.bool_)
        # Padding is hidden from every head alike; only between words do heads differ.
        allowed = np.broadcast_to(seen.allowed, seen.scores.shape)[:, :n_queries]
        hidden = ~allowed
        if hidden[..., :n_keys].any():
            hidden = hidden[..., :n_keys]
        weights = _softmax(scores, everything)[..., : hidden.shape[-1]]
        shares = (weights * hidden).sum(axis=-1).mean(axis=-1)
        if shares.max() > best:
            best, place = float(shares.max()), (seen.site.layer, int(shares.argmax()))
    return place


@dataclass(frozen=True, slots=True, eq=False)
class FillLesson:
    """One row's weights for three replacements of its forbidden scores; (key,) each.

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
            f"A row has one score per key and at least one key; these have the shape "
            f"{scores_row.shape}."
        )
    require_mask(allowed_row, scores_row.shape)
    minus_infinity, large_negative = (
        _plain_softmax(np.where(allowed_row, scores_row, np.float32(fill)))
        for fill in (-math.inf, LARGE_NEGATIVE)
    )
    n_keys = len(scores_row)
    if allowed_row.any():
        explanation = (
            "The row has an allowed key, so all three give the same weights: e to the power of "
            "−1e9 is 0 as well. They differ only in a row without an allowed key."
        )
    else:
        explanation = (
            "No key is allowed: with −∞ the softmax divides 0 by 0, and NaN spreads through "
            "everything computed from it; with −1e9 all scores are equal, and every key gets the "
            f"weight 1/{n_keys}, as if all were allowed and scored the same. This model uses "
            "zeros: the query looks at nothing and gets zeros."
        )
    model = _softmax(scores_row[None], allowed_row[None])[0]
    return FillLesson(minus_infinity, large_negative, model, explanation)


def _softmax(scores: FloatArray, allowed: BoolArray) -> FloatArray:
    """Softmax over the allowed keys, (query, key); zeros in rows without one, as in the model."""
    exact = np.where(allowed, scores.astype(np.float64), -math.inf)
    largest = np.max(exact, axis=-1, keepdims=True, initial=-math.inf)
    powers = np.exp(exact - np.where(np.isfinite(largest), largest, 0))
    total = powers.sum(axis=-1, keepdims=True)
    weights: FloatArray = (powers / np.where(total > 0, total, 1)).astype(np.float32)
    return weights


def _plain_softmax(scores: NDArray[np.floating]) -> FloatArray:
    # NaN for a row of minus infinities is the point of the lesson.
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - scores.max())
        weights: FloatArray = (powers / powers.sum()).astype(np.float32)
    return weights
