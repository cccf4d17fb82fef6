"""What most operations do to what is known of tensors: it flows from what they read on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from model.watch.lineage import Node, Scores

if TYPE_CHECKING:
    from model.watch.recorder import Recorder

_COPIES = ("clone", "_to_copy", "copy_")
_LOOKUPS = ("index", "gather", "take")


def tensors(values: Any) -> Iterator[Tensor]:
    """All plain tensors among an operation's arguments or results, lists included."""
    for value in values:
        if isinstance(value, Tensor):
            if not value.is_nested and value.layout is torch.strided:
                yield value
        elif isinstance(value, list | tuple):
            yield from tensors(value)


def first_tensor(result: Any) -> Tensor | None:
    """The first tensor of a result; None if it has none."""
    if type(result) is Tensor:
        return result if result.layout == torch.strided and not result.is_nested else None
    return next(tensors((result,)), None)


def leading(mode: Recorder, args: tuple[Any, ...]) -> Node | None:
    """Of the operands that are known, the one that leads to attention, or else the first."""
    found: Node | None = None
    for x in tensors(args):
        node = mode.lineage.known(x)
        if node is not None:
            if node.scores is not None or node.candidate is not None:
                return node
            if found is None or (node.made and not found.made):
                found = node
    if found is None:
        first = first_tensor(args)
        return None if first is None else mode.lineage.of(first)
    return found


def pointwise(mode: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What leads to attention goes on leading there."""
    source = args[1:] if func.overloadpacket.__name__ in ("copy_", "index_copy_") else args
    node = leading(mode, source)
    protect(mode, func, args)
    result = func(*args, **kwargs)
    out = first_tensor(result)
    if out is not None and node is not None:
        put = mode.lineage.put(out, mode.lineage.follow(node))
        if func.overloadpacket.__name__ in _COPIES:
            put.factor = node.factor
    return result


def reshaped(mode: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A view where torch can give one, and else a copy."""
    result: Tensor = func(*args, **kwargs)
    node = mode.lineage.of(args[0])
    if mode.lineage.known(result) is not node:
        mode.lineage.put(result, mode.lineage.follow(node)).factor = node.factor
    return result


def protect(mode: Recorder, func: Any, args: tuple[Any, ...]) -> None:
    """Copy weights and scores that an operation is about to write over."""
    if not func._schema.is_mutable:
        return
    target = first_tensor(args)
    if target is None:
        return
    mode.masks.forget(target)
    node = mode.lineage.known(target)
    if node is not None and node.candidate is not None and node.candidate.weights is not None:
        node.candidate.weights = node.candidate.weights.clone()


def other(mode: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A norm, a sum, a lookup: it reads on where its input led, and holds no weights."""
    node = leading(mode, args)
    result = func(*args, **kwargs)
    out = first_tensor(result)
    if out is not None:
        put = mode.lineage.fresh()
        # What reads no tensor is new, as a parameter is.
        put.made = node is not None
        # Rows looked up in one table are not read from one another.
        table = func.overloadpacket.__name__.startswith(_LOOKUPS)
        if node is not None and (node.made or not table):
            put.reads = node.lineage
        mode.lineage.put(out, put)
    return result


def unrelated(mode: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What it gives has nothing to do with what it was given: a lookup by token, a filling."""
    protect(mode, func, args)
    result = func(*args, **kwargs)
    out = first_tensor(result)
    if out is not None:
        # A parameter is filled, in place, when its model is built.
        mode.lineage.put(out, mode.lineage.fresh()).made = not func._schema.is_mutable
    return result


def linear(mode: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A linear map or a convolution, which reads its input."""
    result = func(*args, **kwargs)
    # The bias comes first in addmm; it was not made by an operation, and its input mostly was.
    operands = list(tensors(args))
    if str(func).startswith("aten.add"):
        operands = operands[1:]
    out = first_tensor(result)
    if out is not None and operands:
        nodes = [mode.lineage.of(x) for x in operands[:2]]
        made = mode.lineage.read(next((n for n in nodes if n.made), nodes[0]))
        made.scores = additive(nodes) if out.numel() < operands[0].numel() else None
        mode.lineage.put(out, made)
    return result


def additive(nodes: Iterable[Node]) -> Scores | None:
    """What a linear map makes of queries that were added to keys: scores of additive attention."""
    for node in nodes:
        if node.scores is not None and node.scores.summed is not None:
            return Scores(summed=node.scores.summed)
    return None
