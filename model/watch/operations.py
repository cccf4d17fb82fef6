"""The table of handlers: each operation's effect on the ancestry of tensors.

A handler runs its operation and hands its result on untouched. Operations that no entry names
follow their first tensor: what a pointwise function gives still leads where its input led, which
is how weights are found behind dropout, casts and masks.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from model.record.sentence_map import AttentionRecord
from model.watch import kernels
from model.watch.arrangement import arranged, is_features
from model.watch.attending import edit_output, extra_keys_of
from model.watch.axes import resized, tagged, together
from model.watch.call_sites import Spot
from model.watch.handler import Args, Handler, Kwargs, Recorder
from model.watch.keys import text_first
from model.watch.node import Softmax
from model.watch.propagation import (
    first_tensor,
    linear,
    other,
    pointwise,
    reshaped,
    unrelated,
    written,
)
from model.watch.scoring import added, masked_fill, multiplied, product, softmax, summed, where

_KERNELS = {
    "_native_multi_head_attention": kernels.of_native,
    "_transformer_encoder_layer_fwd": kernels.of_encoder_layer,
}
_SAME_STORAGE = ("_unsafe_view", "_reshape_alias")
_POINTWISE = (
    *("_to_copy", "copy_", "native_dropout", "cat", "constant_pad_nd", "index_copy_"),
    *("index_copy", "_fused_dropout", "tril", "triu", "tril_", "triu_"),
)
"""Operations that act like pointwise functions, but that torch does not tag as such."""
_WRITES_A_PART = ("fill_", "zero_", "index_put_", "index_fill_", "_index_put_impl_")
_WRITES_NOTHING_KNOWN = ("zero_", "fill_", "uniform_", "normal_", "bernoulli_")
_MAPS = ("linear", "addmm", "conv", "addbmm", "addmv", "mv")


@functools.cache
def handler_of(func: Any) -> Handler | None:
    """The handler of an operation; None if there is nothing to do."""
    if not isinstance(func, torch._ops.OpOverload):
        return _flex if func.name() == "flex_attention" else None
    # Visible only in inference mode; otherwise autograd has already decomposed them.
    name = func.overloadpacket.__name__
    if name == "lift_fresh":
        return None
    if func._can_decompose():
        return _WHOLE.get(name, _composite)
    if func.is_view or name in _SAME_STORAGE:
        return _viewed
    if name in _HANDLERS:
        return _HANDLERS[name]
    if name.startswith("_scaled_dot_product_") and not name.endswith("_backward"):
        return _fused
    if any(part in name for part in _MAPS):
        return linear
    if name in _WRITES_A_PART:
        return written
    if name in _WRITES_NOTHING_KNOWN:
        return unrelated
    if torch.Tag.pointwise in func.tags or name in _POINTWISE:
        return pointwise
    return other


def _viewed(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """A view says nothing, but of what comes from outside it hides the axes."""
    if mode.lineage.known(args[0]) is None:
        mode.lineage.of(args[0])
    return func(*args, **kwargs)


def _composite(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    return mode.parts_of(func.decompose, args, kwargs)


def _whole_linear(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    weight = mode.lineage.known(args[1])
    # Some models compute QKᵀ with it.
    if weight is not None and weight.made:
        return _composite(mode, func, args, kwargs)
    return linear(mode, _folded if args[1].requires_grad else func, args, kwargs)


def _folded(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A linear map as under autograd; below autograd, torch multiplies differently."""
    if x.is_contiguous() or x.dim() < 3:
        return F.linear(x, weight, bias)
    product = (x.reshape(-1, x.shape[-1]) @ weight.t()).view(*x.shape[:-1], -1)
    return product if bias is None else product + bias


def _whole_dropout(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    drops = args[2]
    return (_composite if drops else reshaped)(mode, func, args, kwargs)


def unfollowed(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Any operation on a nested, sparse or meta tensor; there, only torch's layers are followed."""
    if func.overloadpacket.__name__ in _KERNELS:
        return _fused(mode, func, args, kwargs)
    if "softmax" in str(func) or "attention" in str(func):
        reason = "it is one of a nested, sparse or meta tensor, which is not followed"
        spot = mode.places.here()
        mode.log.softmaxes.append(Softmax(spot.place, (), reason, spot.key, spot.run))
    return func(*args, **kwargs)


def _flex(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    spot = mode.places.here()
    edit = mode.edits.at(spot)
    if edit is not None:
        raise edit.hidden("flex_attention", "let the model use F.scaled_dot_product_attention")
    result = func(*args, **kwargs)
    record = kernels.of_flex(func, args, kwargs)
    query, key = (mode.lineage.of(each) for each in args[:2])
    record, doubts, splits = _of_kernel(mode, spot, args[0], args[1], record)
    mode.log.add_call(spot, record, (query, key), doubts, splits=splits)
    mode.lineage.put(
        result[0],
        mode.lineage.fresh(mode.lineage.of(args[0]).root),
        resized(result[0], mode.lineage.view(args[0])),
    )
    return result


def _fused(mode: Recorder, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """A fused kernel, whose own output is passed on."""
    result = func(*args, **kwargs)
    spot, out = mode.places.here(), first_tensor(result)
    arguments = _named_arguments(func, args, kwargs)
    source: Any = arguments.get("query", arguments.get("src"))
    edit = mode.edits.at(spot)
    if edit is None and not mode.log.wants(spot):
        _put_output(mode, source, out)
        return result
    name = func.overloadpacket.__name__
    if name not in _KERNELS and _rows_are_heads(mode, arguments["query"]):
        arguments |= _unpacked(arguments)
    of_kernel = _KERNELS.get(name, kernels.of_fused)
    if mode.log.keeping is not None and edit is None and of_kernel is kernels.of_fused:
        of_kernel = kernels.by_head
    record = of_kernel(arguments)
    nodes = None
    if name not in _KERNELS:
        nodes = mode.lineage.of(arguments["query"]), mode.lineage.of(arguments["key"])
    doubts: tuple[str, ...] = ()
    splits = False
    if name not in _KERNELS:
        if record.v is not None and out is not None and not arguments.get("dropout_p"):
            doubts = _disagreement(record, out)
        if torch.is_tensor(source) and not source.is_nested:
            key = arguments["key"]
            record, more, splits = _of_kernel(mode, spot, source, key, record)
            doubts += more
    if edit is not None:
        if name in _KERNELS or out is None:
            raise edit.hidden(
                "torch's fast path, one operation for all of it",
                "call torch.backends.mha.set_fastpath_enabled(False), and watch it anew",
            )
        if edit.of_weights:
            record = kernels.edited(edit, record, arguments)
            assert record.v is not None
            out.copy_((record.weights @ record.v).reshape(out.shape))
        if edit.of_output:
            batch, heads, n_queries = (*source.shape[:-3], 1, 1)[:1] + source.shape[-3:-1]
            edit_output(edit, out, (batch, heads, n_queries))
    if name not in _KERNELS:
        record = _with_text_first(mode, spot, arguments["query"], arguments["key"], record)
    mode.log.add_call(spot, record, nodes, doubts, splits=splits)
    _put_output(mode, source, out)
    return result


def _put_output(mode: Recorder, source: Any, out: Tensor | None) -> None:
    """Note what a kernel's output comes from."""
    if out is not None:
        known = torch.is_tensor(source) and not source.is_nested and not out.is_nested
        axes = resized(out, mode.lineage.view(source)) if known else None
        root = mode.lineage.of(source).root if known else -1
        mode.lineage.put(out, mode.lineage.fresh(root), axes)


def _rows_are_heads(mode: Recorder, query: Tensor) -> bool:
    """Whether a kernel got heads that share a key in the place of queries, as for one new token."""
    if query.dim() != 4 or query.shape[2] == 1:
        return False
    rows, width = mode.lineage.view(query).dims[2:]
    return is_features(rows) and {line.root for _, line in rows} <= {line.root for _, line in width}


def _unpacked(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a kernel with such heads where heads stand, and one query."""
    query = arguments["query"]
    packed = query.shape[1:3]

    def apart(mask: Tensor | None) -> Tensor | None:
        if mask is None or mask.dim() < 3 or mask.shape[-2] == 1:
            return mask
        return mask.expand(*mask.shape[:-3], *packed, mask.shape[-1]).flatten(-3, -2)[..., None, :]

    masks: dict[str, Any] = {
        name: apart(arguments[name]) for name in ("attn_mask", "attn_bias") if name in arguments
    }
    return {**masks, "query": query.flatten(1, 2)[:, :, None]}


_N_COMPARED = 8
"""The number of queries for which a fused kernel's output is compared with the weights."""


def _disagreement(record: AttentionRecord, out: Tensor) -> tuple[str, ...]:
    """The remark if a kernel's output differs from weights times values."""
    assert record.v is not None
    weights, out = record.weights, out.reshape(*record.weights.shape[:3], -1)
    if weights.shape[2] > _N_COMPARED:
        # Some rows of every head: the whole product would cost as much as the kernel itself.
        step = -(-weights.shape[2] // _N_COMPARED)
        weights, out = weights[:, :, ::step], out[:, :, ::step]
    expected = weights.to(record.v.dtype) @ record.v
    scale = max(1.0, float(record.v.abs().max())) if record.v.numel() else 1.0
    tolerance = scale * (1e-4 if out.dtype in (torch.float32, torch.float64) else 3e-2)
    difference = (expected - out).abs().nan_to_num(nan=0.0)
    largest = float(difference.max()) if difference.numel() else 0.0
    if largest <= tolerance:
        return ()
    return (f"the kernel gave something else than these weights times values, by {largest:.2g}",)


def _of_kernel(
    mode: Recorder, spot: Spot, query: Tensor, key: Tensor, record: AttentionRecord
) -> tuple[AttentionRecord, tuple[str, ...], bool]:
    """A kernel's record, with its axes in the usual order."""
    if query.dim() != 4:
        return record, (), False
    q, k = mode.lineage.view(query).dims, mode.lineage.view(key).dims
    leading = tuple(together(one, other) for one, other in zip(q[:2], k[:2], strict=True))
    shape = record.shape
    arrangement = arranged(
        shape,
        (*leading, tagged(q[2], 0), tagged(k[2], 1)),
        (shape[0], shape[1], shape[2], shape[3]),
        spot.n_heads,
        mode.n_heads(spot),
        q[3],
        mode.places.is_parameter,
        True,
    )
    if isinstance(arrangement, str):
        return record, (f"maybe no attention over tokens: {arrangement}",), False
    if arrangement.plain and arrangement.shape == tuple(shape):
        return record, arrangement.doubts, arrangement.splits
    moved: dict[str, Any] = {
        name: arrangement.laid_out(each, *each.shape[2:])
        for name in ("weights", "scores", "q", "k", "v")
        if (each := getattr(record, name)) is not None
    }
    if record.allowed is not None:
        allowed = record.allowed.expand(shape)
        moved["allowed"] = arrangement.laid_out(allowed, *shape[2:])
    return dataclasses.replace(record, **moved), arrangement.doubts, arrangement.splits


def _with_text_first(
    mode: Recorder, spot: Spot, query: Tensor, key: Tensor, record: AttentionRecord
) -> AttentionRecord:
    """A kernel's record with keys that are no tokens behind those of the text."""
    queries, keys = (
        (mode.lineage.of(each), mode.lineage.view(each).dims[-2]) for each in (query, key)
    )
    extra = extra_keys_of(mode, spot, queries, keys)
    if extra is None:
        return record
    before, after = extra.tokens.start, key.shape[-2] - extra.tokens.stop
    moved = {
        name: text_first(each, before, after, axis)
        for name, axis in (("weights", -1), ("scores", -1), ("k", 2), ("v", 2), ("allowed", -1))
        if (each := getattr(record, name)) is not None and each.shape[axis] > 1
    }
    return dataclasses.replace(record, **moved, extra_keys=extra.names, extra_before=before)


def _named_arguments(func: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """Arguments by name, defaults included."""
    names, defaults = _parameters(func)
    return {**defaults, **dict(zip(names, args, strict=False)), **kwargs}


@functools.cache
def _parameters(func: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The names of an operation's arguments, and their defaults."""
    arguments = func._schema.arguments
    return (
        tuple(each.name for each in arguments),
        {each.name: each.default_value for each in arguments if each.has_default_value()},
    )


_WHOLE: dict[str, Handler] = {
    "linear": _whole_linear,
    "dropout": _whole_dropout,
    "layer_norm": other,
    **dict.fromkeys(("reshape", "contiguous", "flatten", "unflatten"), reshaped),
}
"""Composed operations whose parts would show nothing more and take time."""

_HANDLERS: dict[str, Handler | None] = {
    "_softmax": softmax,
    "_safe_softmax": softmax,
    "bmm": product,
    "mm": product,
    "baddbmm": product,
    "add": added,
    "add_": added,
    "sub": added,
    "sub_": added,
    "masked_fill": masked_fill,
    "masked_fill_": masked_fill,
    "where": where,
    "mul": multiplied,
    "mul_": multiplied,
    "div": multiplied,
    "div_": multiplied,
    "sum": summed,
    "embedding": unrelated,
    **dict.fromkeys(_KERNELS, _fused),
}
