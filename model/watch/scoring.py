"""Operations that make scores, mask them, turn them into weights and mix values with these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from model.watch.attending import attend, edit_weights, suspect
from model.watch.lineage import Candidate, Node, Product, Scores, Softmax
from model.watch.masks import FORBIDDEN
from model.watch.propagation import (
    additive,
    first_tensor,
    leading,
    other,
    pointwise,
    protect,
    tensors,
)

if TYPE_CHECKING:
    from model.watch.recorder import Recorder


def softmax(mode: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A softmax: over the last axis, what it makes may be weights."""
    x, axis = args[0], args[1]
    result = func(*args, **kwargs)
    spot = mode.places.here()
    node = mode.lineage.follow(mode.lineage.of(x))
    axis %= max(x.dim(), 1)
    ran = Softmax(spot.place, tuple(x.shape), "what it made was multiplied with no values")
    mode.found.softmaxes.append(ran)
    if axis == x.dim() - 1:
        origin = node.scores or Scores()
        scores = x if origin.unmasked is None else origin.unmasked
        edit = mode.edits.at(spot.key)
        node.candidate = Candidate(result, scores, origin, spot, ran, edit)
        if edit is not None and edit.of_weights:
            edit_weights(node.candidate, x)
    else:
        ran.reason = f"it runs over axis {axis} of {x.dim()}, and not over the last"
    node.scores = None
    node.made = True
    mode.lineage.put(result, node)
    return result


def product(mode: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """bmm, mm and baddbmm: weights times values, queries times keys, or a linear map."""
    result: Tensor = func(*args, **kwargs)
    bias = args[0] if func.overloadpacket.__name__ == "baddbmm" else None
    left, right = args[-2:]
    lineage = mode.lineage
    nodes = lineage.of(left), lineage.of(right)
    for node, weights, values in (
        (nodes[0], left, right),
        (nodes[1], right.transpose(-2, -1), left.transpose(-2, -1)),
    ):
        if node.candidate is not None:
            output = result if weights is left else result.transpose(-2, -1)
            attend(mode, node.candidate, weights, values, output)
            lineage.put(result, lineage.fresh())
            return result
    suspect(mode, left)
    made = lineage.read(next((node for node in nodes if node.made), nodes[0]))
    made.scores = additive(nodes) if result.numel() < left.numel() else None
    # A map without bias has a parameter on one side alone.
    if result.dim() == 3 or nodes[0].made == nodes[1].made:
        summed = None if made.scores is None else made.scores.summed
        made.scores = Scores(Product(left, right, nodes), summed)
        if bias is not None:
            before = torch.bmm(left, right) * kwargs.get("alpha", 1)
            made.scores = _masked(mode, made.scores, before, bias)
    lineage.put(result, made)
    return result


def _masked(
    mode: Recorder, scores: Scores, before: Tensor, added: Tensor, *, subtracted: bool = False
) -> Scores:
    """Scores to which something was added: with a mask more if it forbids any key."""
    allowed = mode.masks.allowed_by(-added if subtracted else added)
    return scores if allowed is None else _with_mask(scores, before, allowed)


def _with_mask(scores: Scores, before: Tensor, allowed: Tensor) -> Scores:
    unmasked = before if scores.unmasked is None else scores.unmasked
    return Scores(scores.product, scores.summed, unmasked, (*scores.masks, (allowed, before.shape)))


def added(mode: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Sums: a mask or a bias on scores, a residual, a position."""
    lineage = mode.lineage
    operands = list(tensors(args[:2]))
    nodes = [lineage.known(x) for x in operands]
    lead = leading(mode, args[:2])
    met = None
    for node, x, term in zip(nodes, operands, reversed(operands), strict=True):
        if len(operands) == 2 and node is not None and node.scores is not None:
            # Written over by an addition in place.
            before = x.clone() if func._schema.is_mutable else x
            subtracted = func.overloadpacket.__name__.startswith("sub")
            met = _masked(mode, node.scores, before, term, subtracted=subtracted)
            break
    protect(mode, func, args)
    result = func(*args, **kwargs)
    out = first_tensor(result)
    if out is None or lead is None:
        return result
    put = lineage.follow(lead)
    if met is not None:
        put.scores = met
    elif put.candidate is None and _joins(nodes):
        put = lineage.fresh()
    if len(operands) == 2 and all(x.dim() and x.shape != out.shape for x in operands):
        # Every query with every key: additive attention begins so.
        first, second = (lineage.of(x) for x in operands)
        put.scores = Scores(summed=(first, second))
    lineage.put(out, put)
    return result


def _joins(nodes: list[Node | None]) -> bool:
    """Whether two made tensors that led elsewhere meet, as a residual and its sub-layer do."""
    made = [node for node in nodes if node is not None and node.made]
    return len(made) == 2 and not made[0].origins & made[1].origins


def masked_fill(mode: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Scores with forbidden keys filled, or weights with forbidden ones at zero."""
    x, mask, value = args[:3]
    return _filled(mode, func, args, kwargs, (x, ~mask, value))


def chosen(mode: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`torch.where`, which masks like `masked_fill` or chooses something else."""
    if len(args) < 3:
        return func(*args, **kwargs)
    condition, first, second = args[:3]
    for x, allowed, value in ((first, condition, second), (second, ~condition, first)):
        node = mode.lineage.known(x) if isinstance(x, Tensor) else None
        if node is not None and (node.scores is not None or node.candidate is not None):
            return _filled(mode, func, args, kwargs, (x, allowed, value))
    return pointwise(mode, func, args, kwargs)


def _filled(
    mode: Recorder,
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    fill: tuple[Tensor, Tensor, Any],
) -> Any:
    """Forbidden scores get a value that no softmax lets through; forbidden weights get zero."""
    x, allowed, value = fill
    node = mode.lineage.of(x)
    follow = mode.lineage.follow(node)
    forbids = bool((torch.as_tensor(value) < FORBIDDEN).all())
    if forbids and node.candidate is None:
        before = x.clone() if func._schema.is_mutable else x
        follow.scores = _with_mask(node.scores or Scores(), before, allowed)
    protect(mode, func, args)
    result: Tensor = func(*args, **kwargs)
    candidate = node.candidate
    if candidate is not None and candidate.weights is not None and _is_zero(value):
        candidate.weights = result if result.shape == candidate.weights.shape else candidate.weights
    mode.lineage.put(result, follow)
    return result


def _is_zero(value: Any) -> bool:
    return bool((torch.as_tensor(value) == 0).all())


def multiplied(mode: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A product cell by cell: a scale, or weights (…, key, 1) times values (…, key, d_v)."""
    operands = list(tensors(args[:2]))
    mixed = None
    if len(operands) == 2:
        for weights, values in (operands, operands[::-1]):
            node = mode.lineage.known(weights)
            column = weights.dim() > 1 and weights.shape[-1] == 1 and values.dim() > 1
            if node is not None and node.candidate is not None and column and values.shape[-1] > 1:
                mixed = node.candidate, weights, values
                break
    node = leading(mode, args[:1])
    factor = _number(args[1])
    result = pointwise(mode, func, args, kwargs)
    out = first_tensor(result)
    if out is not None:
        put = mode.lineage.of(out)
        put.mixed = mixed
        if node is not None and factor:
            divides = func.overloadpacket.__name__.startswith("div")
            put.factor = node.factor / factor if divides else node.factor * factor
    return result


def _number(value: Any) -> float | None:
    """What is multiplied with as a whole; None for what differs from cell to cell."""
    if isinstance(value, Tensor):
        return float(value) if value.dim() == 0 and not value.is_complex() else None
    return float(value) if isinstance(value, int | float) else None


def summed(mode: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A sum, over keys where weights were multiplied with values cell by cell."""
    x = args[0]
    node = mode.lineage.known(x)
    result = other(mode, func, args, kwargs)
    if node is not None and node.mixed is not None and len(args) > 1:
        candidate, weights, values = node.mixed
        if args[1] is not None and [axis % x.dim() for axis in args[1]] == [x.dim() - 2]:
            attend(mode, candidate, weights.transpose(-2, -1), values, result)
            mode.lineage.put(result, mode.lineage.fresh())
    return result
