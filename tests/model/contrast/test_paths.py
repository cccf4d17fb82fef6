"""Edges from source tokens through heads to a word, on a model whose circuit is known."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from model.contrast.contrast import contrast_of
from model.contrast.pairs import Pair
from model.contrast.paths import MOST_EDGES, paths
from model.contrast.results import ahead
from model.explain.head_ablation import head_means
from model.paper.transformer import Transformer
from model.record.head_editing import editing_heads
from model.record.head_edits import MeanAblation
from model.trace.attention_map import AttentionKind, Site
from model.translate.translator import Translator
from tests.model.contrast.conftest import TARGET, TEXT, Case

READER, WRITER = (Site(AttentionKind.ENCODER, 0), 1), (Site(AttentionKind.CROSS, 1), 2)


def constructed(build: Callable[..., Transformer], translator: Translator) -> Case:
    """A model in which one encoder head reads the source, and one cross head writes what it read.

    Words stand in the lower half of the residual stream; the encoder head alone writes to the upper
    one, which the cross head alone reads. Everything else adds nothing.
    """
    size = translator.model.config.vocab_size
    model = build(vocab_size=size, norm="pre", attention_bias=False, n_encoder_layers=2)
    trace = Translator(model, translator.tokenizer).trace(TEXT, TARGET)
    half, width = 16, 8
    word, other = trace.predictions.ids[2], trace.predictions.ids[1]
    with torch.no_grad():
        for each in model.modules():
            if hasattr(each, "w_o"):
                each.w_o.weight.zero_()
            if hasattr(each, "w_2"):
                each.w_2.weight.zero_()
                each.w_2.bias.zero_()
        model.source_embedding.weight[:, half:] = 0
        read = model.encoder.layers[0].self_attention
        write = model.decoder.layers[1].cross_attention
        for attention, head, dims in ((read, 1, slice(half)), (write, 2, slice(half, None))):
            rows = slice(head * width, (head + 1) * width)
            values = attention.w_qkv.weight[64:] if attention.fused_qkv else attention.w_v.weight
            hidden = torch.ones(values.shape[1], dtype=torch.bool)
            hidden[dims] = False
            values[rows, hidden] = 0
        read.w_o.weight[half : half + width, width : 2 * width] = 5 * torch.eye(width)
        drawn = torch.randn(half, width, generator=torch.Generator().manual_seed(9))
        write.w_o.weight[:half, 2 * width : 3 * width] = 5 * drawn
    return Translator(model, translator.tokenizer), trace, Pair(2, (word, other), "", "")


def edges_of(case: Case, means: Any = None) -> dict[Any, float]:
    return {(each.sender, each.receiver): each.effect for each in paths(*case, means).edges}


def test_the_circuit_of_a_constructed_model_is_recovered(
    build: Callable[..., Transformer], translator: Translator
) -> None:
    found = edges_of(constructed(build, translator))
    largest = max(map(abs, found.values()))
    circuit = {edge for edge, effect in found.items() if abs(effect) > 0.05 * largest}
    assert (READER, WRITER) in circuit
    assert (WRITER, None) in circuit
    assert {receiver for _, receiver in circuit} == {READER, WRITER, None}
    assert {sender for sender, _ in circuit if not isinstance(sender, int)} == {READER, WRITER}
    assert all(receiver == READER for sender, receiver in circuit if isinstance(sender, int))


@pytest.mark.parametrize("by_mean", [False, True])
def test_the_last_heads_edge_is_its_whole_effect(
    case: Case, by_mean: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A head of the last cross-attention reaches the word by nothing but its one edge."""
    for limit in ("MOST_EDGES", "HEADS_OF_KIND"):
        monkeypatch.setattr(f"model.contrast.paths.{limit}", 999)
    translator, trace, pair = case
    means = head_means([trace]) if by_mean else None
    found = edges_of(case, means)
    effects = contrast_of(*case)
    last = translator.sites[-1]
    own = {sender: effect for (sender, to), effect in found.items() if to is None}
    heads = [each for each in own if each[0] == last]
    assert len(heads) == 4
    source, target, _ = translator.trace_ids(trace)
    for site, head in heads:
        edit: Any = MeanAblation(tuple(means[site][head].tolist())) if means else 0
        with torch.inference_mode(), editing_heads({(site, head): edit}):
            logits = translator.model(source, target)[0, pair.step].log_softmax(dim=-1)
        lost = effects.difference - ahead(logits[list(pair.ids)].numpy())
        assert own[site, head] == pytest.approx(lost, abs=1e-4)


def test_a_patched_edge_is_what_a_plain_computation_gives(
    build: Callable[..., Transformer], translator: Translator
) -> None:
    """Held against hooks: the sender removed, all else frozen, and the receiver's output put in."""
    size = translator.model.config.vocab_size
    other = Translator(build(vocab_size=size, norm="pre"), translator.tokenizer)
    trace = other.trace(TEXT, TARGET)
    pair = Pair(2, (trace.predictions.ids[2], trace.predictions.ids[1]), "", "")
    model = other.model
    source, target, _ = other.trace_ids(trace)
    sites = {
        **{
            Site(AttentionKind.ENCODER, n): x.self_attention
            for n, x in enumerate(model.encoder.layers)
        },
        **{
            Site(AttentionKind.CROSS, n): x.cross_attention
            for n, x in enumerate(model.decoder.layers)
        },
    }

    def run(change: Callable[[Site, torch.Tensor], torch.Tensor]) -> Any:
        hooks = [
            attention.attention.register_forward_hook(
                lambda _, __, output, site=site: (change(site, output[0].clone()), output[1])
            )
            for site, attention in sites.items()
        ]
        try:
            with torch.inference_mode():
                return model(source, target)[0, pair.step].log_softmax(dim=-1)[list(pair.ids)]
        finally:
            for hook in hooks:
                hook.remove()

    clean: dict[Site, torch.Tensor] = {}
    before = run(lambda site, heads: clean.setdefault(site, heads))
    measured = 0
    for (sender, receiver), effect in edges_of((other, trace, pair)).items():
        if isinstance(sender, int) or receiver is None:
            continue
        got: list[torch.Tensor] = []

        def freeze(
            site: Site,
            heads: torch.Tensor,
            sender: Any = sender,
            to: Any = receiver,
            got: Any = got,
        ) -> Any:
            if site == to[0]:
                got.append(heads[:, to[1]])
            frozen = clean[site].clone()
            if site == sender[0]:
                frozen[:, sender[1]] = 0
            return frozen

        run(freeze)

        def put(site: Site, heads: torch.Tensor, to: Any = receiver, got: Any = got) -> Any:
            if site == to[0]:
                heads[:, to[1]] = got[0]
            return heads

        after = run(put)
        assert effect == pytest.approx(
            float((before[0] - before[1]) - (after[0] - after[1])), abs=1e-4
        )
        measured += 1
    assert measured >= 3


def test_there_are_at_most_thirty_edges_strongest_first(case: Case) -> None:
    found = paths(*case)
    effects = [abs(each.effect) for each in found.edges]
    assert len(effects) == min(MOST_EDGES, found.measured)
    assert effects == sorted(effects, reverse=True)
    assert -1 <= found.correlation <= 1
    assert len(found.heads) == len(found.head_effects)


def test_a_long_sentence_is_measured_in_batches_alike(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = edges_of(case)
    monkeypatch.setattr("model.explain.passes._TOGETHER", 20)
    apart = edges_of(case)
    for edge, effect in together.items():
        assert apart[edge] == pytest.approx(effect, abs=1e-4)
    assert np.isfinite(list(apart.values())).all()
