"""Weights meet values: one call of an attention, in the shape (batch, head, query, key)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from model.record.recording import AttentionRecord
from model.watch.call_sites import Spot
from model.watch.editing import SiteEdit
from model.watch.lineage import Candidate, Node, Product

if TYPE_CHECKING:
    from model.watch.recorder import Recorder

_N_DROPPED = 1
"""How many columns may go between softmax and values: the sink that some models add."""
_SUM_OFF = 1e-3
"""How far from 1 a row may add up to and still look like weights; half precision needs it."""


def attend(
    mode: Recorder, candidate: Candidate, weights: Tensor, values: Tensor, output: Tensor
) -> None:
    """Record a candidate that is multiplied with values, and do to the product what is asked.

    Args:
        mode: who records.
        candidate: what the softmax made.
        weights: the same as it came here, (…, query, key).
        values: (…, key, d_v).
        output: their product, (…, query, d_v), or a view of it; edited in place.

    Raises:
        CaptureError, HeadError: where heads are to be edited that cannot be.
    """
    made, edit = candidate.weights, candidate.edit
    if made is None:
        if edit is not None and edit.of_output:
            raise edit.hidden("a module that uses its weights twice", "set its weights instead")
        return
    n_keys = made.shape[-1]
    if not n_keys - _N_DROPPED <= weights.shape[-1] <= n_keys or _is_turned(weights, made):
        candidate.softmax.reason = "what is summed with its weights is not the axis it runs over"
        return
    if _is_parameter(values, candidate.spot):
        candidate.softmax.reason = "it mixes rows of a parameter, as a soft lookup does"
        return
    candidate.weights = None
    candidate.softmax.reason = None
    shape = _heads_apart(made, weights, candidate.spot.n_heads)
    if edit is not None and edit.of_output:
        _require_as_made(edit, made, weights)
        edit_output(edit, output, shape[:3])
    q, k, origins = _queries_and_keys(candidate, shape)
    v = _heads_of(values, shape)
    has_sink = weights.shape[-1] < n_keys
    if has_sink:
        # It takes a share of every row and gives nothing; it has no key either.
        k, v = None, None if v is None else F.pad(v, (0, 0, 0, 1))
    record = AttentionRecord(
        weights=_kept(made, shape),
        scores=_kept(candidate.scores, shape) if candidate.scores.shape == made.shape else None,
        q=q,
        k=k,
        v=v,
        allowed=_allowed(candidate, shape) if candidate.allowed is None else candidate.allowed,
        extra_keys=("[sink]",) if has_sink else (),
    )
    mode.found.call(candidate.spot, record, origins)


def edit_weights(candidate: Candidate, scores: Tensor) -> None:
    """Write other weights over what a softmax made.

    Args:
        candidate: what it made.
        scores: what it was given.

    Raises:
        CaptureError, HeadError, MaskError: where this cannot be done.
    """
    made, edit = candidate.weights, candidate.edit
    assert made is not None
    assert edit is not None
    shape = _heads_apart(made, made, candidate.spot.n_heads)
    unmasked = candidate.scores.reshape(*shape[:3], -1)
    weights, candidate.allowed = edit.new_weights(
        made.reshape(shape), scores.reshape(shape), unmasked, _allowed(candidate, shape)
    )
    made.copy_(weights.reshape(made.shape))


def edit_output(edit: SiteEdit, output: Tensor, shape: tuple[int, int, int]) -> None:
    """Change in place what the heads of one place give; shape is (batch, head, query)."""
    heads = output.reshape(*shape, -1)
    edit.change_output(heads)
    if heads.untyped_storage()._cdata != output.untyped_storage()._cdata:
        output.copy_(heads.reshape(output.shape))


def _require_as_made(edit: SiteEdit, made: Tensor, weights: Tensor) -> None:
    """Which rows are a head's is only known of weights that stand as the softmax made them."""
    expected = made[..., : weights.shape[-1]].to(weights.dtype)
    if expected.numel() != weights.numel() or not torch.equal(
        weights.reshape(expected.shape), expected
    ):
        raise edit.hidden(
            "a module that changes weights between softmax and values, as dropout does",
            "call model.eval() first, or set its weights instead",
        )


def suspect(mode: Recorder, left: Tensor) -> None:
    """Note a left factor that looks like weights though no softmax made it."""
    if left.shape[-1] < 2 or not left.is_floating_point() or left.numel() == 0:
        return
    # Most are told by one row.
    row = left[(0,) * (left.dim() - 1)]
    if abs(float(row.sum()) - 1) > _SUM_OFF:
        return
    sums = left.sum(dim=-1)
    if bool((left >= 0).all()) and bool((abs(sums - 1) <= _SUM_OFF).all()):
        mode.found.suspicion(mode.places.here().place, tuple(left.shape))


def _is_turned(weights: Tensor, made: Tensor) -> bool:
    """Whether the product sums over queries: its factor is the transpose of what was made."""
    if weights.untyped_storage()._cdata != made.untyped_storage()._cdata:
        return False
    rows, keys = weights.shape[-2:]
    return rows > 1 and keys > 1 and weights.stride(-1) > weights.stride(-2)


def _is_parameter(values: Tensor, spot: Spot) -> bool:
    if spot.module is None:
        return False
    storage = values.untyped_storage()._cdata
    return any(each.untyped_storage()._cdata == storage for each in spot.module.parameters())


def _heads_apart(made: Tensor, weights: Tensor, n_heads: int | None) -> tuple[int, int, int, int]:
    """(batch, head, query, key) of what a softmax made.

    With three axes the first holds batch and heads, sentence by sentence, where the module says
    how many heads it has, and else the batch alone.
    """
    *leading, n_queries, n_keys = made.shape if made.dim() > 1 else (1, *made.shape)
    match leading:
        case []:
            # One query a sentence, where the product takes them so.
            if weights.dim() == 3 and weights.shape[-2] == 1 and weights.shape[0] == n_queries:
                return n_queries, 1, 1, n_keys
            return 1, 1, n_queries, n_keys
        case [n]:
            heads = n_heads if n_heads is not None and n % n_heads == 0 else 1
            return n // heads, heads, n_queries, n_keys
        case [batch, *heads]:
            return batch, torch.Size(heads).numel(), n_queries, n_keys
    raise AssertionError(leading)


def _queries_and_keys(
    candidate: Candidate, shape: tuple[int, int, int, int]
) -> tuple[Tensor | None, Tensor | None, tuple[frozenset[int], frozenset[int]] | None]:
    origin = candidate.origin
    origins = None if origin.summed is None else _origins(*origin.summed)
    product = origin.product
    if product is None:
        return None, None, origins
    left, right = product.left, product.right.transpose(-2, -1)
    of_left, of_right = product.nodes
    if _swapped(product, candidate.scores):
        left, right, of_left, of_right = right, left, of_right, of_left
    batch, heads, n_queries, _ = shape
    if (left.shape[-2], left.numel()) != (n_queries, batch * heads * n_queries * left.shape[-1]):
        return None, None, origins
    q, k = _kept(left, (batch, heads, n_queries, left.shape[-1])), _heads_of(right, shape)
    # Scaled by some before the product and by others after it, which scores tell.
    for x, node in ((q, of_left), (k, of_right)):
        if x is not None and node.factor != 1:
            x /= node.factor
    return q, k, _origins(of_left, of_right)


def _origins(first: Node, second: Node) -> tuple[frozenset[int], frozenset[int]]:
    return first.origins, second.origins


def _swapped(product: Product, scores: Tensor) -> bool:
    """Whether the product was KQᵀ, which einsum turns round by strides."""
    if scores.dim() < 2:
        return False
    rows, columns = scores.shape[-2:]
    if rows == columns:
        return scores.stride(-1) > scores.stride(-2) and rows > 1
    return (product.left.shape[-2], product.right.shape[-1]) == (columns, rows)


def _heads_of(x: Tensor, shape: tuple[int, int, int, int]) -> Tensor | None:
    """Keys or values as (batch, head, key, width); None where they are arranged otherwise."""
    batch, heads, _, n_keys = shape
    width, found = x.shape[-1], x.shape[-2]
    if found > n_keys or x.numel() != batch * heads * found * width:
        return None
    return _kept(x, (batch, heads, found, width))


def _allowed(candidate: Candidate, shape: tuple[int, int, int, int]) -> Tensor | None:
    together: Tensor | None = None
    for allowed, met in candidate.origin.masks:
        by_head = allowed
        if len(met) != 4 or met[-1] != shape[-1]:
            # A sink is a column more, which no mask has met.
            by_head = F.pad(allowed.expand(met), (0, shape[-1] - met[-1]), value=True)
            if by_head.numel() != torch.Size(shape).numel():
                return None
            by_head = by_head.reshape(shape)
        together = by_head.clone() if together is None else together & by_head
    return together


def _kept(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A copy: what a model made may be written over by the next operation."""
    shaped = x.detach().reshape(shape)
    if shaped.untyped_storage()._cdata == x.untyped_storage()._cdata:
        return shaped.clone()
    return shaped
