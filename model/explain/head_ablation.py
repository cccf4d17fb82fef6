"""Head ablation: the model runs again without a head, which shows the words that need the head.

A weight says where a head looks, not why the model wrote a word. Here each head is switched off and
the same translation scored again. Runs without different heads share the layers below: one pass
branches at each layer into a row for each of its heads, so that only the last layers are computed
for all heads.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from model.explain.ablation_results import Effects, Removal
from model.explain.examples import example_traces, read_examples
from model.explain.passes import Own, Passes, rows_together
from model.paper.log_probs import token_log_probs
from model.paper.search import Search
from model.paper.transformer import Transformer
from model.record.head_editing import editing_heads
from model.record.head_edits import HeadEdits, MeanAblation
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionMap, FloatArray, Site
from model.trace.head import Head
from model.trace.trace import Trace
from model.trace.translation import Translation
from model.translate.translator import Translator

_OUTPUT_TOGETHER, _PIECES_TOGETHER = 64, 512
"""Tokens, or pieces of the vocabulary, whose logits are computed together: few enough for the
processor's cache."""


@torch.inference_mode()
def effects_of(translator: Translator, trace: Trace) -> Effects:
    """The losses without each head, for the translation of a trace without an intervention."""
    source, target, labels = translator.trace_ids(trace)
    n_heads = translator.model.config.n_heads
    passes = Passes(translator.model, source, target)
    count = max(1, passes.together // n_heads)
    losses: dict[Site, FloatArray] = {}
    log_probs = np.empty(0, dtype=np.float32)
    for start in range(0, len(translator.sites), count):
        sites = translator.sites[start : start + count]
        hidden, order = _without_each(passes, sites)
        log_probs, *ablated = _log_probs(translator.model, hidden, labels)
        without = np.reshape(ablated, (-1, n_heads, labels.shape[1]))
        for site, each in zip(order, without, strict=True):
            losses[site] = log_probs - each
    return Effects(
        source_text=trace.source_text,
        text=trace.text,
        source=trace.source,
        predictions=trace.predictions,
        log_probs=log_probs,
        losses={site: losses[site] for site in translator.sites},
        provenance=trace.provenance,
    )


def _without_each(passes: Passes, sites: Sequence[Site]) -> tuple[Tensor, list[Site]]:
    """The output with every head, then without each head of some sites, in the order of these."""
    n_heads = passes.model.config.n_heads
    order: list[Site] = []

    def attend(site: Site, own: Own) -> Tensor:
        heads = own()
        if site not in sites:
            return heads
        order.append(site)
        # (removed head, head)
        gates = 1 - torch.eye(n_heads, dtype=heads.dtype, device=heads.device)
        return torch.cat([heads, heads[:1] * gates[:, :, None, None]])

    hidden = passes.run(attend, grows=lambda site: n_heads if site in sites else 0)
    return hidden, order


def _log_probs(model: Transformer, hidden: Tensor, labels: Tensor) -> FloatArray:
    """Of each label, (row, target), from (row, target, d_model) and (1, target)."""
    output = model.output
    if not output.is_packed:
        # All rows with a few pieces at a time take half the time of a few rows with all pieces.
        size = output.out_features
        starts = range(0, size, _PIECES_TOGETHER)
        own = (hidden * output.weight[labels]).sum(dim=-1)
        own = own if output.bias is None else own + output.bias[labels]
        totals = [
            output.rows(hidden, start, min(start + _PIECES_TOGETHER, size)).logsumexp(dim=-1)
            for start in starts
        ]
        whole: FloatArray = (own - torch.stack(totals).logsumexp(dim=0)).float().cpu().numpy()
        return whole
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
    translator: Translator, sentence: str, site: Site, *, search: Search | None = None
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
    heads = [Head(site, head) for site, head, _ in ranked]
    counts, in_order = removal_orders(heads, steps, orders, seed)
    left = np.array([_left(translator, trace, order, counts) for order in in_order])
    return Removal(tuple(counts), left[0], left[1:])


def removal_orders(
    heads: list[Head], steps: int, orders: int, seed: int
) -> tuple[list[int], list[list[Head]]]:
    """Numbers of heads to remove, then the heads as they are given and in random orders."""
    counts = sorted({round(len(heads) * step / steps) for step in range(steps + 1)})
    generator = np.random.default_rng(seed)
    shuffled = [[heads[i] for i in generator.permutation(len(heads))] for _ in range(orders)]
    return counts, [heads, *shuffled]


@torch.inference_mode()
def _left(
    translator: Translator, trace: Trace, order: Sequence[Head], counts: Sequence[int]
) -> FloatArray:
    """The translation's log-probability without the first heads of an order, (count,)."""
    source, target, labels = translator.trace_ids(trace)
    together = rows_together(source, target)
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
