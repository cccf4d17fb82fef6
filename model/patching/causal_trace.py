"""Causal tracing: which token's hidden states, after which layer, restore a translation.

Meng et al. 2022 ("Locating and Editing Factual Associations in GPT", section 2.1) run a corrupted
input and put the hidden states of the clean run back, one token after one layer at a time. Here the
corrupted run is another sentence, as in Vig et al. 2020, not a noisy one.
"""

from collections.abc import Iterable, Mapping
from typing import cast

import numpy as np
import torch
from torch import Tensor

from model.paper.layers import DecoderLayer, EncoderLayer
from model.paper.log_probs import token_log_probs
from model.paper.masks import decoder_allowed, padding_allowed
from model.paper.transformer import Transformer
from model.patching.patch import SentencePair
from model.patching.results import CausalTrace, Patched
from model.record.patches import Stage, Stream
from model.trace.attention_map import FloatArray, Tokens
from model.translate.translator import Translator

_TOGETHER = 1024
"""Tokens times rows of one batch; more would only take memory."""


def causal_trace(
    translator: Translator, sentence: str, other: str, *, target: str | None = None
) -> CausalTrace:
    """How likely a translation of `other` becomes in the run of `sentence`, token by token.

    After each stage, the hidden states of one token of `other` are put in place of those of its
    counterpart; all later layers run on. Arguments and errors as of `model.patching.patch.patch`.
    """
    pair = SentencePair(translator, sentence, other, target=target)
    rows = {each: restored(pair, each) for each in streams(translator.model)}
    return traced(pair.unpatched, pair.given.target, rows)


def streams(model: Transformer) -> list[Stream]:
    """The hidden states that are traced, first to last.

    The embeddings of the target are the same in both runs, and the encoder's output is the norm of
    its last layer's, token by token, so that neither shows anything more.
    """
    encoder: list[Stage] = ["embedding", *range(model.config.n_encoder_layers)]
    return [
        *(Stream("encoder", stage) for stage in encoder),
        *(Stream("decoder", layer) for layer in range(model.config.n_decoder_layers)),
    ]


def traced(runs: Patched, target: Tokens, rows: Mapping[Stream, FloatArray]) -> CausalTrace:
    """The trace of two runs, which read one target, from the results of `restored`."""
    return CausalTrace(
        sentence=runs.sentence,
        other=runs.other,
        source=runs.source,
        target=target,
        predictions=runs.predictions,
        log_probs=runs.log_probs,
        other_log_probs=runs.other_log_probs,
        provenance=runs.provenance,
        encoder={each.stage: row for each, row in rows.items() if each.side == "encoder"},
        decoder={each.stage: row for each, row in rows.items() if each.side == "decoder"},
    )


@torch.inference_mode()
def restored(pair: SentencePair, stream: Stream) -> FloatArray:
    """Log-probabilities with one token's hidden states put in, (token, target).

    NaN for source tokens without a counterpart. Tokens whose states are the same in both runs are
    not run again.
    """
    own, scored = pair.own_run
    states, others = own[stream][0], pair.other_run[0][stream][0]
    counterparts = {place: place for place in range(len(states))}
    if stream.side == "encoder":
        counterparts = dict(pair.pairs)
    found = np.full((len(states), len(scored)), np.nan, dtype=np.float32)
    changed = []
    for place, other in counterparts.items():
        found[place] = scored
        if not torch.equal(states[place], others[other]):
            changed.append(place)
    together = max(1, _TOGETHER // (len(states) + len(scored)))
    for start in range(0, len(changed), together):
        part = changed[start : start + together]
        rows = states.repeat(len(part), 1, 1)
        for row, place in enumerate(part):
            rows[row, place] = others[counterparts[place]]
        found[part] = _log_probs(pair, stream, rows)
    return found


def _log_probs(pair: SentencePair, stream: Stream, x: Tensor) -> FloatArray:
    """Log-probabilities of the target, (row, target), from hidden states after a stage."""
    model, (source, target, labels) = pair.translator.model, pair.ids
    source_allowed = padding_allowed(source, model.config.pad_id)
    first = 0 if stream.stage == "embedding" else cast("int", stream.stage) + 1
    if stream.side == "encoder":
        memory = _encoded(model, x, first, source_allowed)
        embedded = model.embed(model.target_embedding, target)
        x = model.decoder.positions.embed(embedded).expand(len(memory), -1, -1)
        first = 0
    else:
        memory = pair.own_run[0][Stream("encoder", "output")].expand(len(x), -1, -1)
    allowed = decoder_allowed(target, model.config.pad_id)
    relative = model.decoder.positions.relative(target.shape[1])
    for layer in list(cast("Iterable[DecoderLayer]", model.decoder.layers))[first:]:
        x = layer(x, memory, allowed, source_allowed, relative)
    logits = model.output(model.decoder.final_norm(x))
    log_probs: FloatArray = token_log_probs(logits, labels.expand(len(logits), -1)).cpu().numpy()
    return log_probs


def _encoded(model: Transformer, x: Tensor, first: int, allowed: Tensor) -> Tensor:
    relative = model.encoder.positions.relative(x.shape[1])
    for layer in list(cast("Iterable[EncoderLayer]", model.encoder.layers))[first:]:
        x = layer(x, allowed, relative)
    output: Tensor = model.encoder.final_norm(x)
    return output
