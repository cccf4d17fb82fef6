"""Operations that compute scores, mask them, turn them into weights and mix values with them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from model.watch.attending import attend, edit_weights, suspect
from model.watch.axes import View, made, same
from model.watch.columns import ColumnOrder, Lost, aligned
from model.watch.handler import Args, Kwargs, Recorder
from model.watch.lineage import NO_VALUES
from model.watch.masks import FORBIDDEN, far_above, row_shift
from model.watch.node import Candidate, Node, Product, Scores, Softmax
from model.watch.propagation import (
    additive,
    columns_of_pointwise,
    first_tensor,
    leading,
    other,
    pointwise,
    protect,
    set_columns,
    tensors,
)


def softmax(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """A softmax: over the last axis, its output may be weights."""
    x, axis = args[0], args[1]
    result = func(*args, **kwargs)
    spot = mode.places.here()
    given = mode.lineage.of(x)
    node = mode.lineage.follow(given)
    axes = same(result, [mode.lineage.view(x)])
    axis %= max(x.dim(), 1)
    ran = Softmax(spot.place, tuple(x.shape), NO_VALUES, spot.key, spot.run)
    mode.log.softmaxes.append(ran)
    if axis == x.dim() - 1:
        origin = node.scores or Scores()
        columns = given.columns(x) if given.leads else None
        scores: Tensor | None = x
        if origin.unmasked is not None:
            scores = _unmasked(*origin.unmasked, x, columns)
        edit = mode.edits.at(spot)
        view = View.of(result, axes)
        node.candidate = Candidate(result, scores, columns, origin, spot, ran, view, x, edit)
        node.changed = None
        if edit is not None and edit.of_weights:
            edit_weights(node.candidate, x)
    else:
        ran.reason = f"it runs over axis {axis} of {x.dim()}, and not over the last"
    node.scores = None
    node.made = True
    mode.lineage.put(result, node, axes)
    return result


def _unmasked(unmasked: Tensor, own: ColumnOrder, x: Tensor, columns: ColumnOrder) -> Tensor | None:
    """Scores before any mask, with the columns that a softmax was given; None if not known."""
    scores = aligned(unmasked, own, columns, x)
    if scores is None or not isinstance(columns, tuple):
        return scores
    names = range(unmasked.shape[-1]) if own is None else own
    assert not isinstance(names, Lost)
    kept = torch.tensor([name in names for name in columns], device=x.device)
    # Many models subtract the largest score of each row, that of added columns included.
    shift = row_shift(x, scores, far_above(x) & kept)
    return scores if shift is None else torch.where(kept, scores, x - shift)


def product(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """bmm, mm and baddbmm: weights times values, queries times keys, or a linear map."""
    result: Tensor = func(*args, **kwargs)
    bias = args[0] if func.overloadpacket.__name__ == "baddbmm" else None
    left, right = args[-2:]
    lineage = mode.lineage
    nodes, views = lineage.read_by((left, right))
    met = Product(left, right, (nodes[0], nodes[1]), (views[0], views[1]), mode.places.is_parameter)
    axes = made(result, lambda: met.dims if result.dim() == 3 else met.dims[1:], met.views)
    for node, weights, values in (
        (nodes[0], left, right),
        (nodes[1], right.transpose(-2, -1), left.transpose(-2, -1)),
    ):
        if node.candidate is not None:
            output = result if weights is left else result.transpose(-2, -1)
            attend(mode, node, weights, values, output)
            lineage.put(result, lineage.fresh(node.root), axes)
            return result
    suspect(mode, left)
    read = lineage.read(next((node for node in nodes if node.made), nodes[0]), left)
    read.scores = additive(nodes) if result.numel() < left.numel() else None
    # A map without bias has a parameter on only one side.
    if result.dim() == 3 or nodes[0].made == nodes[1].made:
        summed = None if read.scores is None else read.scores.summed
        read.scores = Scores(met, summed)
        if bias is not None:
            before = torch.bmm(left, right) * kwargs.get("alpha", 1)
            read.scores = _masked(mode, read.scores, (before, None), bias)
    lineage.put(result, read, axes)
    return result


def _masked(
    mode: Recorder,
    scores: Scores,
    before: tuple[Tensor, ColumnOrder],
    added: Tensor,
    *,
    subtracted: bool = False,
) -> Scores:
    """Scores after an addition; if it forbids any key, it counts as a mask."""
    allowed = mode.masks.allowed_by(-added if subtracted else added)
    return scores if allowed is None else _with_mask(scores, before, allowed)


def _with_mask(scores: Scores, before: tuple[Tensor, ColumnOrder], allowed: Tensor) -> Scores:
    x, columns = before
    return Scores(
        scores.product,
        scores.summed,
        before if scores.unmasked is None else scores.unmasked,
        (*scores.masks, (allowed, x.shape, columns)),
    )


def added(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Sums: a mask or a bias on scores, a residual, a position."""
    lineage = mode.lineage
    operands = tensors(args[:2])
    nodes, views = lineage.read_by(operands)
    lead = leading(nodes)
    name = func.overloadpacket.__name__
    met = None
    for node, x, term in zip(nodes, operands, reversed(operands), strict=True):
        if len(operands) == 2 and node is lead and node.scores is not None:
            # Overwritten by an in-place addition.
            before = x.clone() if func._schema.is_mutable else x
            subtracted = name.startswith("sub")
            met = _masked(mode, node.scores, (before, node.columns(x)), term, subtracted=subtracted)
            break
    columns = columns_of_pointwise(name, args, operands, nodes, lead)
    protect(mode, func, args)
    result = func(*args, **kwargs)
    out = first_tensor(result)
    if out is None or lead is None:
        return result
    put = lineage.follow(lead)
    if put.candidate is not None:
        put.changed = "changed"
    if met is not None:
        put.scores = met
    elif put.candidate is None and _joins(nodes):
        put = lineage.fresh(lead.root)
        if all(node.mapped for node in nodes):
            # Queries by content and by position are read from both.
            put.reads = tuple(each for node in nodes for each in node.reads)
            put.mapped = True
    if len(operands) == 2 and all(x.dim() and x.shape != out.shape for x in operands):
        # Every query plus every key: the start of additive attention.
        put.scores = Scores(summed=(nodes[0], nodes[1]))
    mutable = func._schema.is_mutable
    lineage.put(out, put, views[0].axes if mutable else same(out, views))
    set_columns(put, out, columns, name)
    return result


def _joins(nodes: list[Node]) -> bool:
    """Whether two computed tensors with other roles meet, like a residual and its sub-layer."""
    return (
        len(nodes) == 2
        and all(node.made for node in nodes)
        and not (nodes[0].origins & nodes[1].origins)
    )


def masked_fill(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Scores with forbidden keys filled, or weights with forbidden ones at zero."""
    x, mask, value = args[:3]
    return _filled(mode, func, args, kwargs, (x, ~mask, value))


def where(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
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
    args: Args,
    kwargs: Kwargs,
    fill: tuple[Tensor, Tensor, Any],
) -> Any:
    """Fill forbidden scores with a value that softmax turns into zero; fill weights with zero."""
    x, allowed, value = fill
    node = mode.lineage.of(x)
    follow = mode.lineage.follow(node)
    forbids = bool((torch.as_tensor(value) < FORBIDDEN).all())
    if forbids and node.candidate is None:
        before = x.clone() if func._schema.is_mutable else x
        follow.scores = _with_mask(node.scores or Scores(), (before, node.columns(x)), allowed)
    columns = node.columns(x)
    protect(mode, func, args)
    view = mode.lineage.view(x)
    result: Tensor = func(*args, **kwargs)
    candidate = node.candidate
    if candidate is not None and not _is_zero(value):
        follow.changed = "changed"
    if candidate is not None and candidate.weights is not None and _is_zero(value):
        candidate.weights = result if result.shape == candidate.weights.shape else candidate.weights
    whole = x.shape == result.shape
    axes = view.axes if func._schema.is_mutable else same(result, [view]) if whole else None
    mode.lineage.put(result, follow, axes)
    set_columns(follow, result, columns, func.overloadpacket.__name__)
    return result


def _is_zero(value: Any) -> bool:
    return bool((torch.as_tensor(value) == 0).all())


def multiplied(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """A product cell by cell: a scale, or weights (…, key, 1) times values (…, key, d_v)."""
    operands = tensors(args[:2])
    nodes = [mode.lineage.of(x) for x in operands]
    mixed = None
    if len(operands) == 2:
        for node, weights, values in zip(nodes, operands, reversed(operands), strict=True):
            column = weights.dim() > 1 and weights.shape[-1] == 1 and values.dim() > 1
            if node.candidate is not None and column and values.shape[-1] > 1:
                mixed = node.candidate, weights, values
                break
    factor = _number(args[1])
    result = pointwise(mode, func, args, kwargs)
    out = first_tensor(result)
    if out is not None:
        put = mode.lineage.of(out)
        put.mixed = mixed
        if put.candidate is not None:
            before = next((each.changed for each in nodes if each.candidate), None)
            own = "scaled" if factor else "changed"
            if any(each.noise for each in nodes):
                own = "dropout"
            order = (None, "scaled", "dropout", "changed")
            put.changed = max(before, own, key=order.index)
        if factor and nodes:
            divides = func.overloadpacket.__name__.startswith("div")
            put.factor = nodes[0].factor / factor if divides else nodes[0].factor * factor
    return result


def _number(value: Any) -> float | None:
    """The factor of a whole tensor; None if it differs between cells."""
    if isinstance(value, Tensor):
        return float(value) if value.dim() == 0 and not value.is_complex() else None
    return float(value) if isinstance(value, int | float) else None


def summed(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """A sum; over keys, if weights were multiplied with values cell by cell."""
    x = args[0]
    node = mode.lineage.known(x)
    result = other(mode, func, args, kwargs)
    if node is not None and node.mixed is not None and len(args) > 1:
        _, weights, values = node.mixed
        if args[1] is not None and [axis % x.dim() for axis in args[1]] == [x.dim() - 2]:
            node_of_weights = mode.lineage.of(weights)
            axes = mode.lineage.of(result).axes
            attend(mode, node_of_weights, weights.transpose(-2, -1), values, result)
            mode.lineage.put(result, mode.lineage.fresh(node_of_weights.root), axes)
    return result
