"""Does a head matter, and for which word: the model run again without it.

A weight says where a head looks, not why the model wrote a word. Here each head is switched off and
the same translation scored again. Heads that are switched off one at a time share what comes
before them: the rows of a batch are one pass up to a layer, which there branches into one row for
each of its heads, so that the last layers alone are computed for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor

from model.explain.ablation_results import Effects, Removal
from model.paper.attention import KeyValue, MultiHead, Relative
from model.paper.masks import decoder_allowed, padding_allowed
from model.paper.search import AS_IN_THE_PAPER, Search
from model.paper.transformer import DecoderLayer, EncoderLayer, Transformer
from model.record.head_editing import editing_heads
from model.record.head_edits import HeadEdits
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.trace import Trace
from model.trace.translation import Translation
from model.translate.translator import Translator

_TOGETHER = 8192
"""How many target tokens of how many rows together run in one batch; more only take memory."""

_OUTPUT_TOGETHER = 64
"""Tokens whose logits are computed together: so few stay in the processor's cache."""


def effects(translator: Translator, sentence: str, target: str | None = None) -> Effects:
    """What a translation loses without each head, for every head of every site.

    Args:
        translator: the model.
        sentence: the source.
        target: its translation; None lets the model translate.

    Raises:
        TextError: as `Translator.trace`.
    """
    return effects_of(translator, translator.trace(sentence, target))


@torch.inference_mode()
def effects_of(translator: Translator, trace: Trace) -> Effects:
    """The same for the translation of a trace that the model gave without an intervention."""
    source, target, labels = (
        torch.tensor([tokens.ids], device=translator.device)
        for tokens in (trace.source, trace.target, trace.predictions)
    )
    n_heads = translator.model.config.n_heads
    longest = max(source.shape[1], target.shape[1])
    count = max(1, _TOGETHER // (longest * n_heads))
    losses: dict[Site, FloatArray] = {}
    log_probs = np.empty(0, dtype=np.float32)
    for start in range(0, len(translator.sites), count):
        sites = translator.sites[start : start + count]
        branches = _Branches(translator.model, sites)
        found = _log_probs(translator.model, branches.hidden(source, target), labels)
        log_probs = found[0]
        without = found[1:].reshape(-1, n_heads, labels.shape[1])
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
    """One pass, whose first row has every head, and which gains a row for each head of some sites.

    Attributes:
        order: the sites in the order in which their rows were added.
    """

    def __init__(self, model: Transformer, sites: Sequence[Site]) -> None:
        self._model = model
        self._sites = sites
        self.order: list[Site] = []

    def hidden(self, source: Tensor, target: Tensor) -> Tensor:
        """What the output projection reads, (row, target, d_model), of one sentence (1, length)."""
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
        # Rows that branched in the decoder read what the first row's encoder wrote.
        k, v = (_grown(each, rows) for each in attention.project_key_value(memory))

        def sublayer(y: Tensor) -> Tensor:
            q = attention.project_query(y[:rows])
            return self._branched(site, attention, q, (k, v), allowed)

        return layer.cross_residual(self._with_room(site, x), sublayer)

    def _with_room(self, site: Site, x: Tensor) -> Tensor:
        """The rows, and as many more as the site has heads."""
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
        """What attention gives each row, and then the first row without each of the heads."""
        heads, _ = attention.attend_heads(q, *key_value, allowed, bias)
        if site in self._sites:
            # (removed head, head)
            kept = 1 - torch.eye(attention.n_heads, dtype=heads.dtype, device=heads.device)
            heads = torch.cat([heads, heads[:1] * kept[:, :, None, None]])
        output: Tensor = attention.w_o(heads.transpose(1, 2).flatten(2))
        return output


def _grown(x: Tensor, rows: int) -> Tensor:
    """A batch with copies of its first row at the end."""
    return torch.cat([x, x[:1].expand(rows - len(x), *x.shape[1:])])


def _log_probs(model: Transformer, hidden: Tensor, labels: Tensor) -> FloatArray:
    """Of each label, (row, target), from (row, target, d_model) and (1, target)."""
    found = []
    for part in hidden.split(max(1, _OUTPUT_TOGETHER // hidden.shape[1])):
        logits = model.output(part).float()
        chosen = labels[:, :, None].expand(len(part), -1, -1)
        found.append(logits.log_softmax(dim=-1).gather(2, chosen)[:, :, 0])
    log_probs: FloatArray = torch.cat(found).cpu().numpy()
    return log_probs


def rewritten(
    translator: Translator, sentence: str, site: Site, *, search: Search = AS_IN_THE_PAPER
) -> tuple[Translation, ...]:
    """What the model writes by itself without each head of a site, one at a time.

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
    found: Effects,
    *,
    steps: int = 12,
    orders: int = 20,
    seed: int = 0,
) -> Removal:
    """What is left of a translation while heads are removed one after another.

    As in Michel et al. 2019, section 4, for one sentence: in the order of what each costs when it
    is removed alone, and in random orders.

    Args:
        translator: the model.
        trace: the one that `found` was made of.
        found: what each head does, as `effects_of` gives it.
        steps: at how many numbers of removed heads, besides none of them, it is looked.
        orders: how many random ones.
        seed: of these.
    """
    ranked = sorted(found.ranked(), key=lambda each: each[2])
    heads = [(site, head) for site, head, _ in ranked]
    counts = sorted({round(len(heads) * step / steps) for step in range(steps + 1)})
    generator = np.random.default_rng(seed)
    shuffled = [[heads[i] for i in generator.permutation(len(heads))] for _ in range(orders)]
    left = np.array([_left(translator, trace, order, counts) for order in (heads, *shuffled)])
    return Removal(tuple(counts), left[0], left[1:])


@torch.inference_mode()
def _left(
    translator: Translator, trace: Trace, order: Sequence[tuple[Site, int]], counts: Sequence[int]
) -> FloatArray:
    """The translation's log-probability without the first heads of an order, (count,)."""
    source, target, labels = (
        torch.tensor([tokens.ids], device=translator.device)
        for tokens in (trace.source, trace.target, trace.predictions)
    )
    longest = max(source.shape[1], target.shape[1])
    together = max(1, _TOGETHER // longest)
    found = []
    for start in range(0, len(counts), together):
        off = [
            HeadEdits(dict.fromkeys(order[:count], 0)) for count in counts[start : start + together]
        ]
        with editing_heads(off):
            hidden = translator.model.hidden(
                source.expand(len(off), -1), target.expand(len(off), -1)
            )
        found.append(_log_probs(translator.model, hidden, labels).sum(axis=1))
    return np.concatenate(found)
