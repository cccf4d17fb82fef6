"""Attention that another library's outputs hold, as maps of one sentence; no library is imported.

transformers returns a tuple of layers from one pass. From `generate` it returns a tuple of steps,
each a tuple of layers, whose rows are all live hypotheses of all sentences.
"""

from __future__ import annotations

import re
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
)

_FIELDS = {
    AttentionKind.ENCODER: "encoder_attentions",
    AttentionKind.DECODER: "decoder_attentions",
    AttentionKind.CROSS: "cross_attentions",
}
_PATTERN = re.compile(r"blocks\.(\d+)\.attn\.hook_pattern")


def fields_of_outputs(
    outputs: Any, tokenizer: Any, source: Any, target: Any, sentence: int
) -> dict[str, Any]:
    """The fields of a Trace; arguments and errors are those of `Trace.from_transformers`."""
    alone = AttentionKind.DECODER if source is None else AttentionKind.ENCODER
    written: list[int] = []
    given = {kind: _field(outputs, name) for kind, name in _FIELDS.items()}
    given[alone] = given[alone] or _field(outputs, "attentions")
    given = {kind: each for kind, each in given.items() if each and each[0] is not None}
    if not given:
        raise TraceError(
            "These outputs hold no attention; load the model with attn_implementation='eager' and "
            "call it with output_attentions=True."
        )
    if _field(outputs, "sequences") is None:
        read, ids = _row(source, sentence), _row(target, sentence)
        weights = {kind: [plain_array(x)[sentence] for x in each] for kind, each in given.items()}
    else:
        read, ids, written, weights = _generated(outputs, given, tokenizer, source, sentence)
    pad = getattr(tokenizer, "pad_token_id", None)
    # The start token of a decoder may be its padding token.
    parts = {
        "source": _unpadded(read, pad),
        "target": slice(0, len(ids)) if read else _unpadded(ids, pad),
    }
    every = {"source": read, "target": ids}
    tokens = {side: _tokens(every[side][part], tokenizer) for side, part in parts.items()}
    maps = {}
    for kind, layers in weights.items():
        sides = kind.axes("source", "target", "")
        full = tuple(len(every[side]) for side in sides)
        for layer, whole in enumerate(layers):
            if whole.shape[1:] != full:
                raise TraceError(
                    f"The {kind} attention of layer {layer} has {whole.shape[1]} × "
                    f"{whole.shape[2]} weights, but there are {full[0]} and {full[1]} ids; give "
                    "source and target as the model read them."
                )
            queries, keys = (parts[side] for side in sides)
            site = Site(kind, layer)
            maps[site] = map_of(site, whole[:, queries, keys], *(tokens[side] for side in sides))
    return {
        **tokens,
        "predictions": _tokens(written[parts["target"]], tokenizer) if written else Tokens(),
        "text": tokenizer.decode(written or ids, skip_special_tokens=True),
        "source_text": tokenizer.decode(read, skip_special_tokens=True),
        "maps": maps,
    }


def _generated(
    outputs: Any,
    given: Mapping[AttentionKind, Any],
    tokenizer: Any,
    source: Any,
    sentence: int,
) -> tuple[list[int], list[int], list[int], dict[AttentionKind, list[FloatArray]]]:
    """Ids read and written, what each row predicts, and weights by kind, (head, query, key)."""
    sequences, indices = _field(outputs, "sequences"), _field(outputs, "beam_indices")
    steps = given[AttentionKind.DECODER]
    n_rows, prompt = len(steps[0][0]), steps[0][0].shape[-1]
    whole = _row(sequences, sentence)
    fresh = whole[prompt:]
    end = getattr(tokenizer, "eos_token_id", None)
    # After its end, a sequence is filled up to the longest.
    n_new = fresh.index(end) + 1 if end in fresh else len(fresh)
    if indices is not None:
        rows = [each for each in _row(indices, sentence) if each >= 0][:n_new]
    elif n_rows != len(sequences):
        raise TraceError(
            f"These outputs hold {n_rows} hypotheses and {len(sequences)} sequences, and not which "
            "became which; call generate with output_scores=True."
        )
    else:
        rows = [sentence] * n_new
    ids, written = whole[: prompt + n_new - 1], whole[1 : prompt + n_new]
    n_layers = len(steps[0])
    weights = {
        kind: [
            _joined([step[layer] for step in given[kind]], rows, len(ids))
            for layer in range(n_layers)
        ]
        for kind in (AttentionKind.DECODER, AttentionKind.CROSS)
        if kind in given
    }
    encoded = given.get(AttentionKind.ENCODER)
    place = 0 if encoded is None else sentence * len(encoded[0]) // len(sequences)
    if encoded is not None:
        weights[AttentionKind.ENCODER] = [plain_array(x)[place] for x in encoded]
    return _row(source, place), ids, written, weights


def _joined(steps: Sequence[Any], rows: Sequence[int], length: int) -> FloatArray:
    """One layer's weights over all steps, (head, length, key); keys not yet there weigh 0."""
    last = plain_array(steps[len(rows) - 1])
    whole = np.zeros((last.shape[1], length, last.shape[-1]), np.float32)
    first = plain_array(steps[0]).shape[2]
    for step, row in enumerate(rows):
        own = plain_array(steps[step])[row]
        # Without a cache, each step repeats the rows before.
        whole[:, first + step - own.shape[1] : first + step, : own.shape[2]] = own
    return whole


def fields_of_cache(cache: Mapping[str, Any], tokens: Tokens, sentence: int) -> dict[str, Any]:
    """The fields of a Trace; arguments and errors are those of `Trace.from_transformer_lens`."""
    layers = {int(found[1]): name for name in cache if (found := _PATTERN.fullmatch(str(name)))}
    if not layers:
        raise TraceError("The cache has no blocks.N.attn.hook_pattern; run the model with a cache.")
    maps = {}
    for layer, name in layers.items():
        site, held = Site(AttentionKind.DECODER, layer), {}
        for own, theirs in (("q", "hook_q"), ("k", "hook_k"), ("v", "hook_v")):
            value = cache.get(name.replace("hook_pattern", theirs))
            if value is not None:
                # (position, head, width) -> (head, position, width)
                held[own] = plain_array(value)[sentence].swapaxes(0, 1)
        maps[site] = map_of(site, plain_array(cache[name])[sentence], tokens, tokens, **held)
    texts = {"text": "", "source_text": "".join(tokens).replace("▁", " ").strip()}
    return {"source": Tokens(), "target": tokens, "predictions": Tokens(), "maps": maps, **texts}


def map_of(
    site: Site, weights: FloatArray, queries: Tokens, keys: Tokens, **held: FloatArray
) -> AttentionMap:
    """The map of weights (head, query, key); a decoder's is causal if nothing looks ahead."""
    allowed = np.ones(weights.shape[1:], bool)
    if site.kind is AttentionKind.DECODER and not np.triu(weights, 1).any():
        allowed = np.tril(allowed)
    return AttentionMap(site, weights=weights, allowed=allowed, queries=queries, keys=keys, **held)


def _field(outputs: Any, name: str) -> Any:
    return outputs.get(name) if isinstance(outputs, Mapping) else getattr(outputs, name, None)


def plain_array(tensor: Any) -> FloatArray:
    """An array of any library in numpy; errors as of `numpy.asarray`."""
    # A torch tensor may need a gradient, lie on a GPU or have 16 bits.
    plain = tensor.detach().float().cpu().numpy() if hasattr(tensor, "detach") else tensor
    return np.asarray(plain, dtype=np.float32)


def _row(ids: Any, sentence: int) -> list[int]:
    if ids is None:
        return []
    listed = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    own: list[int] = listed[sentence] if listed and isinstance(listed[0], list) else listed
    return own


def _unpadded(ids: Sequence[int], pad: int | None) -> slice:
    real = [place for place, each in enumerate(ids) if each != pad]
    return slice(real[0], real[-1] + 1) if real else slice(0, len(ids))


def _tokens(ids: Sequence[int], tokenizer: Any) -> Tokens:
    return Tokens(tuple(map(str, tokenizer.convert_ids_to_tokens(list(ids)))), tuple(ids))
