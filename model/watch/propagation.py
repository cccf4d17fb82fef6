"""The effect of most operations on the ancestry of tensors: it flows from inputs to outputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from model.watch.axes import (
    Axes,
    Piece,
    View,
    convolved,
    joined,
    looked_up,
    outside,
    projected,
    reduced,
    regrouped,
    repeated,
    resized,
    same,
)
from model.watch.columns import ColumnOrder, Lost, added, foreign, is_whole, padded
from model.watch.handler import Args, Kwargs, Recorder
from model.watch.node import Node, Scores

_COPIES = ("clone", "_to_copy", "copy_")
_MOVES = (*_COPIES, "cat", "constant_pad_nd", "index_copy", "index_copy_", "lift_fresh_copy")
_SUMS = (
    *("sum", "mean", "amax", "amin", "logsumexp", "var", "std", "norm", "prod", "any", "all"),
    *("argmax", "argmin", "max", "min", "median"),
)
_MOVES_ALONG = {
    **{"roll": 2, "flip": 1, "index_select": 1, "index": 1, "gather": 1, "sort": 1, "topk": 2},
    **{"scatter": 1, "scatter_": 1, "slice_scatter": 2, "select_scatter": 3, "index_put": 1},
}
"""Operations that move numbers of their first operand, and which argument names the axes."""
_COPIES_INTO = ("copy_", "index_copy_")
_NEW = ("new_", "zeros", "ones", "full", "empty")
_LOOKUPS = ("index", "gather", "take")


def tensors(values: Any) -> list[Tensor]:
    """All plain tensors among an operation's arguments or results, lists included."""
    plain: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            if value.layout is torch.strided and not value.is_nested:
                plain.append(value)
        elif type(value) is list or isinstance(value, tuple):
            plain += tensors(value)
    return plain


def first_tensor(result: Any) -> Tensor | None:
    """The first tensor of a result; None if it has none."""
    if type(result) is Tensor:
        return result if result.layout == torch.strided and not result.is_nested else None
    return next(iter(tensors((result,))), None)


def leading(nodes: Iterable[Node]) -> Node | None:
    """The operand that leads to attention, or else the first one that an operation made.

    Of two that lead there, the one whose columns stand in place: the other is its bias.
    """
    best: Node | None = None
    for node in nodes:
        if best is None or _rank(node) > _rank(best):
            best = node
    return best


def _rank(node: Node) -> int:
    if node.leads:
        return 3 if node.layout is None or node.layout.moved is None else 2
    return int(node.made)


def pointwise(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Pass the role of an operand that leads to attention on to the result."""
    name = func.overloadpacket.__name__
    operands = tensors(args)
    nodes, views = mode.lineage.read_by(operands)
    node = leading(nodes[1:] if name in _COPIES_INTO else nodes)
    columns = columns_of_pointwise(name, args, operands, nodes, node)
    protect(mode, func, args)
    result = func(*args, **kwargs)
    out = first_tensor(result)
    if out is not None and node is not None:
        put = mode.lineage.follow(node)
        if name == "cat":
            put.reads = tuple(dict.fromkeys(each for n in nodes if n.made for each in n.lineage))
        parts = [each.as_piece for each in nodes]
        mode.lineage.put(out, put, axes_of_pointwise(func, out, args, views, parts))
        set_columns(put, out, columns, name)
        if name in _COPIES:
            put.factor = node.factor
        if put.candidate is not None and name not in _MOVES:
            put.changed = "dropout" if "dropout" in name else "changed"
    return result


def columns_of_pointwise(
    name: str, args: Args, operands: list[Tensor], nodes: list[Node], lead: Node | None
) -> ColumnOrder:
    """The columns of what follows the leading operand."""
    if lead is None or not lead.leads:
        return None
    at = next(number for number, node in enumerate(nodes) if node is lead)
    x = operands[at]
    found = lead.columns(x)
    match name:
        case "constant_pad_nd":
            return padded(found, x.shape[-1], args[1])
        case "cat" | "stack":
            axis = args[1] if len(args) > 1 else 0
            last = name == "cat" and axis % x.dim() == x.dim() - 1
            if not last and all(each.leads and each.candidate is None for each in nodes):
                # Rows of several products, as of a text read in parts.
                return (
                    found
                    if all(n.columns(y) == found for n, y in zip(nodes, operands, strict=True))
                    else Lost(name)
                )
            if not last:
                return Lost(name)
            return _side_by_side(operands, nodes, lead)
        case "index_copy" | "index_copy_":
            return Lost(name)
    return found


def _side_by_side(operands: list[Tensor], nodes: list[Node], lead: Node) -> ColumnOrder:
    """The columns of tensors put beside one another."""
    numbers: tuple[int, ...] = ()
    for node, x in zip(nodes, operands, strict=True):
        n = x.shape[-1]
        if not node.leads:
            numbers += added(n)
        elif node.follows(lead):
            found = node.columns(x)
            if isinstance(found, Lost):
                return found
            numbers += tuple(range(n)) if found is None else found
        elif lead.candidate is None:
            numbers += foreign(n)
        else:
            return Lost("cat")
    return numbers


def set_columns(node: Node, out: Tensor, columns: ColumnOrder, name: str) -> None:
    """Note the columns of what an operation gave, which may be a part of what it wrote into."""
    if not node.leads:
        return
    assert node.layout is not None
    if not node.layout.made_as(out):
        # In place, on numbers whose columns stay where they are.
        columns = columns if columns == node.columns(out) else Lost(name)
        if not isinstance(columns, Lost):
            return
    elif isinstance(columns, tuple) and len(columns) != out.shape[-1]:
        columns = Lost(name)
    node.move(columns)


def axes_of_pointwise(
    func: Any, out: Tensor, args: Args, views: list[View], parts: list[Piece]
) -> Axes:
    """The axes of a pointwise function's output."""
    name = func.overloadpacket.__name__
    if name in ("cat", "stack"):
        axis = args[1] if len(args) > 1 else 0
        if name == "stack":
            axis %= out.dim()
            views = [
                View(
                    (*v.shape[:axis], 1, *v.shape[axis:]),
                    (*v.steps[:axis], 0, *v.steps[axis:]),
                    v.itemsize,
                    v.axes,
                )
                for v in views
            ]
        return joined(out, views, axis, parts)
    if func._schema.is_mutable and views:
        whole = out.numel() * out.element_size() == out.untyped_storage().nbytes()
        if name == "copy_" and whole and views[-1].shape == tuple(out.shape):
            return same(out, views[-1:])
        return views[0].axes
    if name in ("constant_pad_nd", "index_copy"):
        return resized(out, views[0])
    return same(out, views)


def reshaped(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """A view if torch can make one, otherwise a copy."""
    result: Tensor = func(*args, **kwargs)
    (node,), (view,) = mode.lineage.read_by(args[:1])
    if mode.lineage.known(result) is not node:
        columns = node.columns(args[0])
        put = mode.lineage.follow(node)
        mode.lineage.put(result, put, regrouped(result, view))
        set_columns(put, result, columns, "reshape")
        put.factor = node.factor
    return result


def protect(mode: Recorder, func: Any, args: Args) -> None:
    """Copy weights and scores that an operation is about to overwrite."""
    if not func._schema.is_mutable:
        return
    target = first_tensor(args)
    if target is None:
        return
    mode.masks.forget(target)
    node = mode.lineage.known(target)
    if node is not None and node.candidate is not None and node.candidate.weights is not None:
        node.candidate.weights = node.candidate.weights.clone()


def other(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """A norm, a sum, a lookup: it keeps its input's ancestry, but holds no weights."""
    nodes, views = mode.lineage.read_by(tensors(args))
    node = leading(nodes)
    protect(mode, func, args)
    result = func(*args, **kwargs)
    out = first_tensor(result)
    if out is not None:
        name = func.overloadpacket.__name__
        is_new = node is None or name.startswith(_NEW)
        put = mode.lineage.fresh(-1 if node is None or is_new else node.root)
        # A result of no tensor is new, like a parameter.
        put.made = node is not None
        # Rows of the same table are not computed from each other.
        table = name.startswith(_LOOKUPS)
        if node is not None and not is_new and (node.made or not table):
            put.reads = node.lineage
        if node is not None and node.leads and _moves(name, args, kwargs):
            put.scores, put.candidate, put.changed = node.scores, node.candidate, node.changed
        mode.lineage.put(out, put, _axes_of_other(func, out, args, views, nodes))
        if put.leads:
            put.move(Lost(name))
    return result


def _moves(name: str, args: Args, kwargs: Kwargs) -> bool:
    """Whether an operation may move what leads to attention along its last two axes."""
    if name not in _MOVES_ALONG or not isinstance(args[0], Tensor):
        return False
    rank = args[0].dim()
    if name == "index":
        given = [at for at, each in enumerate(args[1]) if each is not None]
        return (
            any(args[1][at].dtype == torch.bool for at in given)
            or max(given, default=0) >= rank - 2
        )
    place = _MOVES_ALONG[name]
    axes = args[place] if len(args) > place else kwargs.get("dim", -1)
    axes = [axes] if isinstance(axes, int) else axes
    return not axes or any(each % rank >= rank - 2 for each in axes)


def _axes_of_other(
    func: Any, out: Tensor, args: Args, views: list[View], nodes: list[Node]
) -> Axes | None:
    name = func.overloadpacket.__name__
    if not views:
        return outside(out)
    if func._schema.is_mutable:
        return views[0].axes
    if name in _SUMS:
        axes = args[1] if len(args) > 1 and args[1] is not None else ()
        return reduced(out, views[0], [axes] if isinstance(axes, int) else axes)
    if name == "stack":
        return axes_of_pointwise(func, out, args, views, [each.as_piece for each in nodes])
    if name == "repeat":
        return repeated(out, views[0])
    return resized(out, views[0])


def unrelated(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """An output unrelated to the input: a lookup by token, a fill."""
    protect(mode, func, args)
    result = func(*args, **kwargs)
    out = first_tensor(result)
    if out is not None:
        put, axes = mode.lineage.fresh(), None
        # Building a model fills its parameters in place.
        put.made = not func._schema.is_mutable
        put.noise = func.overloadpacket.__name__ == "bernoulli_"
        if func.overloadpacket.__name__ == "embedding":
            axes = looked_up(out, mode.lineage.view(args[1]))
            put.root = mode.lineage.of(args[1]).root
            if args[1].numel() > 1:
                put.events = mode.log.add_text(args[1])
        else:
            known = mode.lineage.known(out)
            axes = outside(out) if known is None else known.axes
        mode.lineage.put(out, put, axes)
    return result


def written(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Part of a tensor is filled: masked scores stay scores, weights change."""
    node = mode.lineage.known(args[0])
    if node is None or (node.scores is None and node.candidate is None):
        if "index_put" in func.overloadpacket.__name__:
            nodes, views = mode.lineage.read_by(tensors(args))
            put = mode.lineage.follow(nodes[-1])
            if put.scores is None and put.candidate is None:
                # Keys may be written into their cache one by one.
                protect(mode, func, args)
                result = func(*args, **kwargs)
                mode.lineage.put(args[0], put, views[0].axes)
                return result
        return unrelated(mode, func, args, kwargs)
    protect(mode, func, args)
    if node.candidate is not None:
        node.changed = "changed"
        return func(*args, **kwargs)
    scores = node.scores
    assert node.layout is not None
    if scores is not None and scores.unmasked is None and scores.product is not None:
        x = args[0].detach()
        whole = x if is_whole(x) else node.layout.whole(x)
        node.scores = replace(scores, unmasked=(whole.clone(), node.columns(whole)))
    return func(*args, **kwargs)


def linear(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """A linear map or a convolution, which reads its input."""
    result = func(*args, **kwargs)
    # In addmm the bias comes first; unlike the input, it is usually not made by an operation.
    operands = list(tensors(args))
    if str(func).startswith("aten.add"):
        operands = operands[1:]
    out = first_tensor(result)
    if out is not None and operands:
        nodes, (view, *_) = mode.lineage.read_by(operands[:2])
        made = mode.lineage.read(next((n for n in nodes if n.made), nodes[0]), operands[0])
        made.scores = additive(nodes) if out.numel() < operands[0].numel() else None
        if "conv" in str(func):
            groups = args[8] if len(args) > 8 else 1
            axes = convolved(out, view, groups)
        else:
            axes = projected(out, view) if out.dim() == len(view.shape) else outside(out)
        mode.lineage.put(out, made, axes)
    return result


def additive(nodes: Iterable[Node]) -> Scores | None:
    """A linear map of queries added to keys: the scores of additive attention."""
    for node in nodes:
        if node.scores is not None and node.scores.summed is not None:
            return Scores(summed=node.scores.summed)
    return None
