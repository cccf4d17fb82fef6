"""Head ablation: the model runs again without a head, which shows the words that need the head.

A weight says where a head looks, not why the model wrote a word. Here each head is switched off and
the same translation scored again. Runs without different heads share the layers below: one pass
branches at each layer into a row for each of its heads, so that only the last layers are computed
for all heads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor

from model.explain.ablation_results import Effects, Removal
from model.explain.examples import example_traces, read_examples
from model.paper.attention import KeyValue, MultiHead, Relative
from model.paper.decoding import token_log_probs
from model.paper.masks import decoder_allowed, padding_allowed
from model.paper.search import AS_IN_THE_PAPER, Search
from model.paper.transformer import DecoderLayer, EncoderLayer, Transformer
from model.record.head_editing import editing_heads
from model.record.head_edits import HeadEdits, MeanAblation
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, AttentionMap, FloatArray, Site
from model.trace.trace import Trace
from model.trace.translation import Translation
from model.translate.translator import Translator

_TOGETHER = 8192
"""Target tokens times rows of one batch; more would only take memory."""

_OUTPUT_TOGETHER = 64
"""Tokens whose logits are computed together, few enough for the processor's cache."""


def effects(translator: Translator, sentence: str, target: str | None = None) -> Effects:
    """The losses without each head, for a sentence; arguments and errors as `Translator.trace`."""
    return effects_of(translator, translator.trace(sentence, target))


@torch.inference_mode()
def effects_of(translator: Translator, trace: Trace) -> Effects:
    """The losses without each head, for the translation of a trace without an intervention."""
    source, target, labels = translator.trace_ids(trace)
    n_heads = translator.model.config.n_heads
    longest = max(source.shape[1], target.shape[1])
    count = max(1, _TOGETHER // (longest * n_heads))
    losses: dict[Site, FloatArray] = {}
    log_probs = np.empty(0, dtype=np.float32)
    for start in range(0, len(translator.sites), count):
        sites = translator.sites[start : start + count]
        branches = _Branches(translator.model, sites)
        log_probs, *ablated = _log_probs(translator.model, branches.hidden(source, target), labels)
        without = np.reshape(ablated, (-1, n_heads, labels.shape[1]))
        for site, each in zip(branches.order, without, strict=True):
            losses[site] = log_probs - each
    return Effects(
        source_text=trace.source_text,
        text=trace.text,
        source=trace.source,
        predictions=trace.predictions,
        log_probs=log_probs,
        losses={site: losses[site] for site in translator.sites},
    )


class _Branches:
    """A pass whose first row has every head; each head of the sites adds a row, in their order."""

    def __init__(self, model: Transformer, sites: Sequence[Site]) -> None:
        self._model = model
        self._sites = sites
        self.order: list[Site] = []

    def hidden(self, source: Tensor, target: Tensor) -> Tensor:
        """The input of the output projection for a sentence (1, length), (row, target, d_model)."""
        model, encoder, decoder = self._model, self._model.encoder, self._model.decoder
        source_allowed = padding_allowed(source, model.config.pad_id)
        x = encoder.positions.embed(model.embed(model.source_embedding, source))
        relative = encoder.positions.relative(source.shape[1])
        for number, layer in enumerate(cast("Iterable[EncoderLayer]", encoder.layers)):
            own = Site(AttentionKind.ENCODER, number)
            x = self._self_attended(own, layer, x, source_allowed, relative)
            x = layer.feed_forward_residual(x, layer.feed_forward)
        memory = encoder.final_norm(x)
        allowed = decoder_allowed(target, model.config.pad_id)
        x = decoder.positions.embed(model.embed(model.target_embedding, target))
        x = x.expand(len(memory), -1, -1)
        relative = decoder.positions.relative(target.shape[1])
        for number, each in enumerate(cast("Iterable[DecoderLayer]", decoder.layers)):
            own, cross = (
                Site(kind, number) for kind in (AttentionKind.DECODER, AttentionKind.CROSS)
            )
            x = self._self_attended(own, each, x, allowed, relative)
            x = self._cross_attended(cross, each, x, memory, source_allowed)
            x = each.feed_forward_residual(x, each.feed_forward)
        hidden: Tensor = decoder.final_norm(x)
        return hidden

    def _self_attended(
        self,
        site: Site,
        layer: EncoderLayer | DecoderLayer,
        x: Tensor,
        allowed: Tensor,
        relative: Relative,
    ) -> Tensor:
        attention, rows = layer.self_attention, len(x)

        def sublayer(y: Tensor) -> Tensor:
            q, key_value = attention.project(y[:rows], relative.rotation)
            return self._branched(site, attention, q, key_value, allowed, relative.bias)

        return layer.self_residual(self._with_room(site, x), sublayer)

    def _cross_attended(
        self, site: Site, layer: DecoderLayer, x: Tensor, memory: Tensor, allowed: Tensor
    ) -> Tensor:
        attention, rows = layer.cross_attention, len(x)
        # Rows added in the decoder read the encoder output of the first row.
        k, v = (_grown(each, rows) for each in attention.project_key_value(memory))

        def sublayer(y: Tensor) -> Tensor:
            q = attention.project_query(y[:rows])
            return self._branched(site, attention, q, (k, v), allowed)

        return layer.cross_residual(self._with_room(site, x), sublayer)

    def _with_room(self, site: Site, x: Tensor) -> Tensor:
        """The rows, with copies of the first one for the heads of the site."""
        if site not in self._sites:
            return x
        self.order.append(site)
        return _grown(x, len(x) + self._model.config.n_heads)

    def _branched(
        self,
        site: Site,
        attention: MultiHead,
        q: Tensor,
        key_value: KeyValue,
        allowed: Tensor,
        bias: Tensor | None = None,
    ) -> Tensor:
        """The output of attention for each row, then for the first row without each head."""
        heads, _ = attention.attend_heads(q, *key_value, allowed, bias)
        if site in self._sites:
            # (removed head, head)
            gates = 1 - torch.eye(attention.n_heads, dtype=heads.dtype, device=heads.device)
            heads = torch.cat([heads, heads[:1] * gates[:, :, None, None]])
        output: Tensor = attention.w_o(heads.transpose(1, 2).flatten(2))
        return output


def _grown(x: Tensor, rows: int) -> Tensor:
    """A batch with copies of its first row at the end."""
    return torch.cat([x, x[:1].expand(rows - len(x), *x.shape[1:])])


def _log_probs(model: Transformer, hidden: Tensor, labels: Tensor) -> FloatArray:
    """Of each label, (row, target), from (row, target, d_model) and (1, target)."""
    parts = [
        token_log_probs(model.output(part), labels.expand(len(part), -1))
        for part in hidden.split(max(1, _OUTPUT_TOGETHER // hidden.shape[1]))
    ]
    log_probs: FloatArray = torch.cat(parts).cpu().numpy()
    return log_probs


def head_means(traces: Sequence[Trace]) -> dict[Site, FloatArray]:
    """The mean of what each head gives, before W_O, over all queries; by site, (head, d_v)."""
    by_site: dict[Site, list[AttentionMap]] = {}
    for trace in traces:
        for site, attention in trace.maps.items():
            by_site.setdefault(site, []).append(attention)
    return {
        site: np.array([MeanAblation.over(maps, head).mean for head in range(maps[0].n_heads)])
        for site, maps in by_site.items()
    }


def example_means(translator: Translator, folder: Path) -> dict[Site, FloatArray]:
    """The same over the examples in a checkpoint's folder; empty without any."""
    return head_means(example_traces(translator, read_examples(folder)))


def rewritten(
    translator: Translator, sentence: str, site: Site, *, search: Search = AS_IN_THE_PAPER
) -> tuple[Translation, ...]:
    """The model's translations without each head of a site, one at a time.

    Raises:
        TextError, DecodingError: as `Translator.translate`.
        HeadError: if the model has no such site.
    """
    return tuple(
        translator.translate(sentence, search=search, under=Intervention(heads={(site, head): 0}))
        for head in range(translator.model.config.n_heads)
    )


def removal(
    translator: Translator,
    trace: Trace,
    losses: Effects,
    *,
    steps: int = 12,
    orders: int = 20,
    seed: int = 0,
) -> Removal:
    """A translation's log-probability while heads are removed one after another.

    As in Michel et al. 2019, section 4, for one sentence: in the order of each head's cost alone,
    from `effects_of` the trace, and in random orders; measured at 0 removed heads and `steps` more
    numbers of them.
    """
    ranked = sorted(losses.ranked(), key=lambda each: each[2])
    heads = [(site, head) for site, head, _ in ranked]
    counts, in_order = removal_orders(heads, steps, orders, seed)
    left = np.array([_left(translator, trace, order, counts) for order in in_order])
    return Removal(tuple(counts), left[0], left[1:])


def removal_orders(
    heads: list[tuple[Site, int]], steps: int, orders: int, seed: int
) -> tuple[list[int], list[list[tuple[Site, int]]]]:
    """Numbers of heads to remove, then the heads as they are given and in random orders."""
    counts = sorted({round(len(heads) * step / steps) for step in range(steps + 1)})
    generator = np.random.default_rng(seed)
    shuffled = [[heads[i] for i in generator.permutation(len(heads))] for _ in range(orders)]
    return counts, [heads, *shuffled]


@torch.inference_mode()
def _left(
    translator: Translator, trace: Trace, order: Sequence[tuple[Site, int]], counts: Sequence[int]
) -> FloatArray:
    """The translation's log-probability without the first heads of an order, (count,)."""
    source, target, labels = translator.trace_ids(trace)
    longest = max(source.shape[1], target.shape[1])
    together = max(1, _TOGETHER // longest)
    totals = []
    for start in range(0, len(counts), together):
        off = [
            HeadEdits(dict.fromkeys(order[:count], 0)) for count in counts[start : start + together]
        ]
        with editing_heads(off):
            hidden = translator.model.hidden(
                source.expand(len(off), -1), target.expand(len(off), -1)
            )
        totals.append(_log_probs(translator.model, hidden, labels).sum(axis=1))
    return np.concatenate(totals)
