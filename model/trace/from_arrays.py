"""A trace of plain arrays of attention weights, from whatever program computed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from model.trace.attention_map import (
    AttentionKind,
    AttentionMap,
    FloatArray,
    Site,
    Tokens,
    TraceError,
    known_kind,
)
from model.trace.other_outputs import map_of, plain_array

_FORMS = (
    "Weights are (layer, head, query, key), a list of one array (head, query, key) a layer, one "
    "such layer, or one head (query, key)"
)


def fields_of_arrays(
    weights: Any,
    tokens: Sequence[str] | Tokens | None,
    target: Sequence[str] | Tokens | None,
    kind: str | None,
) -> dict[str, Any]:
    """The fields of the trace; arguments and errors as `Trace.of`."""
    if isinstance(weights, AttentionMap):
        own = zip(_sides(weights.site.kind), (weights.queries, weights.keys), strict=True)
        return _fields({weights.site: weights}, dict(own))
    by_kind = weights if isinstance(weights, Mapping) else {kind or _kind(weights, target): weights}
    layers = {known_kind(each): _layers(own) for each, own in by_kind.items()}
    if not any(layers.values()):
        raise TraceError("There are no weights of any layer.")
    sides: dict[str | None, Tokens] = {}
    for each, of_layer in layers.items():
        for axis, side in zip((-2, -1), _sides(each), strict=True):
            # A decoder alone reads the only text.
            is_target = side == "target" and (target is not None or each is AttentionKind.CROSS)
            named = target if is_target else tokens
            found = _labels(named, of_layer[0].shape[axis], side or "token")
            if sides.setdefault(side, found) != found:
                raise TraceError(f"Weights differ in the number of {side} tokens.")
    maps = {}
    for each, of_layer in layers.items():
        queries, keys = (sides[side] for side in _sides(each))
        for layer, heads in enumerate(of_layer):
            site = Site(each, layer)
            maps[site] = map_of(site, heads, queries, keys)
    return _fields(maps, sides)


def _sides(kind: AttentionKind) -> tuple[str | None, str | None]:
    return kind.query_side, kind.key_side


def _fields(
    maps: Mapping[Site, AttentionMap], sides: Mapping[str | None, Tokens]
) -> dict[str, Any]:
    sentences = {side: sides.get(side, Tokens()) for side in ("source", "target")}
    return sentences | {"predictions": Tokens(), "text": "", "source_text": "", "maps": maps}


def _kind(weights: Any, target: Sequence[str] | Tokens | None) -> AttentionKind:
    """What weights look like: of two texts, of a text read from left to right, or of a text."""
    heads = _layers(weights)[0]
    n_queries, n_keys = heads.shape[1:]
    if target is not None or n_queries != n_keys:
        return AttentionKind.CROSS
    causal = n_keys > 1 and not np.triu(heads, 1).any()
    return AttentionKind.DECODER if causal else AttentionKind.ENCODER


def _layers(weights: Any) -> list[FloatArray]:
    """Arrays (head, query, key), one a layer."""
    if isinstance(weights, list | tuple):
        arrays = [_array(each) for each in weights]
    else:
        whole = _array(weights)
        arrays = [*whole] if whole.ndim in (4, 5) else [whole[None] if whole.ndim == 2 else whole]
    layers = []
    for array in arrays:
        if array.ndim == 4 and len(array) > 1:
            raise TraceError(
                f"There are {len(array)} sentences in a batch; give one, as in "
                "[layer[:1] for layer in weights]."
            )
        layers.append(array[0] if array.ndim == 4 else array)
        if layers[-1].ndim != 3 or not layers[-1].size:
            raise TraceError(f"{_FORMS}; an array of the shape {array.shape} is none of these.")
    if len({layer.shape for layer in layers}) > 1:
        raise TraceError("Layers differ in their numbers of heads or tokens.")
    if not layers:
        raise TraceError("There are no weights of any layer.")
    return layers


def _array(value: Any) -> FloatArray:
    try:
        return plain_array(value)
    except (TypeError, ValueError):
        raise TraceError(f"{_FORMS}; a {type(value).__name__} is none of these.") from None


def _labels(named: Sequence[str] | Tokens | None, count: int, side: str) -> Tokens:
    if named is None:
        return Tokens.unnamed(range(count))
    if len(named) != count:
        raise TraceError(f"The weights have {count} {side} tokens, and {len(named)} are named.")
    # A vocabulary of just these words, in which marks of words are recognised.
    return named if isinstance(named, Tokens) else Tokens(tuple(named), tuple(range(count)))
