"""Heads that are gated, averaged or given other weights: what a pass makes of it, to the bit."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from model.paper.beam_search import beam_search
from model.paper.decoding import greedy
from model.paper.search import Sampling, Search
from model.paper.transformer import Transformer
from model.record.head_editing import editing_heads
from model.record.head_edits import Gate, HeadEdits, HeadError, MeanAblation, ReplacedWeights
from model.record.intervention import UNCHANGED, Intervention, PositionEdit
from model.record.mask_editing import editing
from model.record.mask_presets import PRESETS
from model.record.recording import CaptureError, recording
from model.record.taps import install_taps
from model.trace.attention_map import AttentionKind, Site
from model.translate.translator import Translator, load
from tests.kit.tiny_checkpoint import PAIRS
from tests.kit.variants import some

Build = Callable[..., Transformer]

ENCODER, DECODER, CROSS = AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS
SITES = Site(ENCODER, 1), Site(DECODER, 0), Site(CROSS, 1)
TEXT, TARGET = "The cat sat on the mat.", "Die Katze saß auf der Matte."
VARIANTS = some(
    "as published",
    "explicit formula",
    "one matrix for q, k and v",
    "one module a head",
    "additive",
    "additive, one module a head",
    "without a temperature",
    "rotary positions",
    "ALiBi",
    "T5's relative bias",
    "a learned temperature",
    "pre-norm, learned positions",
    "free widths, no biases",
)
EDITS: dict[str, dict[Any, Any]] = {
    "removed": {(CROSS, 1, 2): 0, (DECODER, 0, 3): 0},
    "faded": {(CROSS, 0, 0): 0.25, (ENCODER, 1, 1): 0.5},
    "uniform": {(DECODER, 1, 0): "uniform", (CROSS, 1, 0): "uniform"},
    "diagonal": {(DECODER, 1, 1): "diagonal", (CROSS, 0, 3): "diagonal"},
    "shuffled": {(DECODER, 0, 1): "shuffled", (CROSS, 1, 3): ReplacedWeights("shuffled", 7)},
    "first": {(DECODER, 1, 2): "first", (ENCODER, 0, 2): "first", (CROSS, 0, 1): "first"},
}
each_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
each_edit = pytest.mark.parametrize("heads", EDITS.values(), ids=EDITS.keys())
each_site = pytest.mark.parametrize("site", SITES, ids=str)


@pytest.fixture(scope="module")
def shipped() -> Translator:
    return load(Path(__file__).parents[3] / "checkpoints" / "en-de", device="cpu")


def tapped(build: Build, **variant: Any) -> tuple[Transformer, Tensor, Tensor]:
    """A model, two sources of which one is padded, and two targets."""
    model = build(**variant)
    install_taps(model)
    # Biases are drawn, too: a bias of zero would hide what a head leaves behind.
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.add_(torch.linspace(-0.5, 0.5, parameter.numel()))
    return (
        model,
        torch.tensor([[4, 5, 6, 7, 3], [8, 9, 3, 0, 0]]),
        torch.tensor([[2, 11, 12, 13], [2, 14, 15, 16]]),
    )


def attention_at(model: Transformer, site: Site) -> Any:
    stack = "encoder" if site.kind is ENCODER else "decoder"
    name = "cross_attention" if site.kind is CROSS else "self_attention"
    return model.get_submodule(f"{stack}.layers.{site.layer}.{name}")


@contextmanager
def concatenated(
    model: Transformer, site: Site, change: Callable[[Tensor], Tensor]
) -> Iterator[list[Tensor]]:
    """What W_O of a site reads, (batch, query, head, d_v), changed on its way."""
    attention, read = attention_at(model, site), []

    def before(_: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
        changed = change(args[0].unflatten(-1, (attention.n_heads, -1)).clone())
        read.append(changed)
        return (changed.flatten(-2),)

    handle = attention.w_o.register_forward_pre_hook(before)
    try:
        yield read
    finally:
        handle.remove()


@contextmanager
def outputs(attention: nn.Module) -> Iterator[list[Tensor]]:
    """What an attention module gives, call by call."""
    given: list[Tensor] = []
    handle = attention.register_forward_hook(lambda _, args, output: given.append(output[0]))
    try:
        yield given
    finally:
        handle.remove()


def scaled(head: int, factor: float) -> Callable[[Tensor], Tensor]:
    def change(heads: Tensor) -> Tensor:
        heads[..., head, :] *= factor
        return heads

    return change


# Gates


@each_variant
def test_a_gate_of_zero_is_the_heads_output_zeroed_before_w_o_and_all_its_keys_forbidden(
    build: Build, variant: dict[str, Any]
) -> None:
    model, source, target = tapped(build, **variant)
    for site in SITES:
        with torch.no_grad():
            plain = model(source, target)
            with editing_heads({(site, 2): 0}):
                gated = model(source, target)
            with concatenated(model, site, scaled(2, 0.0)):
                zeroed = model(source, target)
            with recording() as seen:
                model(source, target)
            own = torch.ones_like(seen[site].weights, dtype=torch.bool) & seen[site].allowed
            allowed = [{site: each.clone()} for each in own]
            for each in allowed:
                each[site][2] = False
            with editing(allowed):
                forbidden = model(source, target)
        assert torch.equal(gated, zeroed)
        assert torch.equal(gated, forbidden)
        assert not torch.equal(gated, plain)


@each_variant
def test_a_gate_multiplies_what_a_head_gives_and_no_other_head(
    build: Build, variant: dict[str, Any]
) -> None:
    model, source, target = tapped(build, **variant)
    for site in SITES:
        with torch.no_grad():
            with editing_heads({(site, 1): 0.3}):
                gated = model(source, target)
            with concatenated(model, site, scaled(1, 0.3)):
                assert torch.equal(gated, model(source, target))


@each_variant
def test_a_gate_of_one_changes_no_bit_even_beside_others(
    build: Build, variant: dict[str, Any]
) -> None:
    model, source, target = tapped(build, **variant)
    with torch.no_grad():
        plain, alone = model(source, target), model(source[:1], target[:1])
        with editing_heads({(site, head): 1 for site in SITES for head in range(4)}):
            assert torch.equal(model(source, target), plain)
        # In a batch, the sentence that nothing is done to keeps every bit as well.
        with editing_heads([{}, {(site, 0): 0 for site in SITES}]):
            both = model(source, target)
    assert torch.equal(both[0], plain[0])
    assert not torch.equal(both[1], plain[1])
    torch.testing.assert_close(both[:1], alone, atol=1e-5, rtol=1e-5)


@each_variant
def test_without_any_head_attention_gives_its_bias_alone(
    build: Build, variant: dict[str, Any]
) -> None:
    model, source, target = tapped(build, **variant)
    for site in SITES:
        attention = attention_at(model, site)
        off = {(site, head): 0 for head in range(4)}
        with torch.no_grad(), editing_heads(off), outputs(attention) as given:
            model(source, target)
        bias = torch.zeros(32) if attention.w_o.bias is None else attention.w_o.bias.detach()
        assert torch.equal(given[0], bias.expand_as(given[0]))


# Means


@each_variant
def test_a_mean_stands_where_each_output_stood(build: Build, variant: dict[str, Any]) -> None:
    model, source, target = tapped(build, **variant)
    mean = np.linspace(-1, 1, model.config.value_width, dtype=np.float32)
    for site in SITES:
        with torch.no_grad(), concatenated(model, site, lambda heads: heads) as read:
            model(source, target)
            with editing_heads({(site, 3): mean}):
                model(source, target)
        before, after = read
        assert torch.equal(after[..., 3, :], torch.from_numpy(mean).expand_as(after[..., 3, :]))
        assert torch.equal(after[..., :3, :], before[..., :3, :])


def test_a_mean_is_taken_over_every_query_of_the_examples(translator: Translator) -> None:
    traces = [translator.trace(english, german) for english, german in PAIRS[:3]]
    maps = [trace.attention(CROSS, 1) for trace in traces]
    outputs = [
        sum(each.weights[2, query, key] * each.v[2, key] for key in range(len(each.keys)))
        for each in maps
        if each.v is not None
        for query in range(len(each.queries))
    ]
    found = MeanAblation.over(maps, 2)
    np.testing.assert_allclose(found.mean, np.mean(outputs, axis=0), atol=1e-6)
    changed = translator.trace(TEXT, TARGET, under=Intervention(heads={(CROSS, 1, 2): found}))
    assert not np.array_equal(changed.log_probs, translator.trace(TEXT, TARGET).log_probs)


# Other weights


def pattern_over(pattern: str, allowed: Any) -> Any:
    """Weights (query, key) of one head, from what a mask allows."""
    weights = np.zeros(allowed.shape, dtype=np.float32)
    for query, row in enumerate(allowed):
        keys = [key for key, may in enumerate(row) if may]
        if keys and pattern == "uniform":
            weights[query, keys] = 1 / len(keys)
        elif keys and pattern == "first":
            weights[query, keys[0]] = 1
        elif keys:
            weights[query, min(keys, key=lambda key: (abs(key - query), key))] = 1
    return weights


def narrowed(model: Transformer, source: Tensor, target: Tensor, site: Site) -> Tensor:
    """What a site may attend to, (batch, head, query, key), with holes and one empty query."""
    with torch.no_grad(), recording() as seen:
        model(source, target)
    own = seen[site]
    holes = torch.rand(own.weights.shape, generator=torch.Generator().manual_seed(5)) < 0.3
    allowed: Tensor = own.allowed & ~holes
    allowed[:, :, 2] = False
    return allowed


@each_variant
def test_replaced_weights_are_the_pattern_over_what_the_mask_allows(
    build: Build, variant: dict[str, Any]
) -> None:
    model, source, target = tapped(build, **variant)
    for site in SITES:
        allowed = narrowed(model, source, target, site)
        masks = [{site: each} for each in allowed]
        with torch.no_grad(), editing(masks), recording() as before:
            model(source, target)
        patterns = ("uniform", "first", "diagonal")
        heads = {(site, head): pattern for head, pattern in enumerate(patterns)}
        with torch.no_grad(), editing(masks), editing_heads(heads):
            silent = model(source, target)
            with recording() as seen, concatenated(model, site, lambda heads: heads) as read:
                recorded = model(source, target)
        torch.testing.assert_close(silent, recorded, atol=1e-4, rtol=1e-4)
        for sentence in range(2):
            for head, pattern in enumerate(patterns):
                wanted = pattern_over(pattern, allowed[sentence, head].numpy())
                # What is recorded is what was used.
                np.testing.assert_allclose(seen[site].weights[sentence, head], wanted, atol=1e-7)
                given = wanted @ seen[site].v[sentence, head].numpy()
                np.testing.assert_allclose(read[0][sentence, :, head], given, atol=1e-5)
        # The scores are the head's own, and the last head keeps every bit.
        assert torch.equal(seen[site].scores, before[site].scores)
        assert torch.equal(seen[site].weights[:, 3], before[site].weights[:, 3])


def weights_under(
    heads: dict[Any, Any],
    model: Transformer,
    source: Tensor,
    target: Tensor,
    site: Site,
    masks: list[dict[Any, Any]],
) -> Tensor:
    """Weights of head 1 of a site, (batch, query, key)."""
    with torch.no_grad(), editing(masks), editing_heads(heads), recording() as seen:
        model(source, target)
    return seen[site].weights[:, 1]


@each_variant
def test_shuffled_weights_are_a_rows_own_on_other_keys_that_it_may_attend_to(
    build: Build, variant: dict[str, Any]
) -> None:
    model, source, target = tapped(build, **variant)
    for site in SITES:
        allowed = narrowed(model, source, target, site)
        masks = [{site: each} for each in allowed]

        own, shuffled, again, *others = (
            weights_under(heads, model, source, target, site, masks)
            for heads in (
                {},
                *({(site, 1): ReplacedWeights("shuffled", seed)} for seed in (0, 0, 1, 2, 3, 4)),
            )
        )
        assert not shuffled[~allowed[:, 1]].any()
        assert torch.equal(shuffled.sort(dim=-1).values, own.sort(dim=-1).values)
        assert torch.equal(again, shuffled)
        # One of some seeds deals even short rows out in another way.
        assert any(not torch.equal(other, shuffled) for other in others)


@each_site
def test_what_is_recorded_of_replaced_weights_adds_up_to_the_modules_output(
    build: Build, site: Site
) -> None:
    model, source, target = tapped(build)
    attention = attention_at(model, site)
    heads = {(site, 0): "uniform", (site, 1): "shuffled", (site, 2): "diagonal"}
    with torch.no_grad(), editing_heads(heads), recording() as seen, outputs(attention) as given:
        model(source, target)
        parts = attention.head_parts(seen[site].weights @ seen[site].v)
    torch.testing.assert_close(
        parts.sum(1) + attention.w_o.bias.detach(), given[0], atol=1e-5, rtol=1e-5
    )


@each_site
def test_under_a_gate_or_a_mean_the_weights_that_are_recorded_are_those_the_head_had(
    build: Build, site: Site
) -> None:
    model, source, target = tapped(build)
    with torch.no_grad():
        with recording() as before:
            model(source, target)
        with recording() as seen, editing_heads({(site, 0): 0, (site, 1): [0.5] * 8}):
            model(source, target)
    assert torch.equal(seen[site].weights, before[site].weights)
    assert torch.equal(seen[site].scores, before[site].scores)


# Decoding


@each_variant
def test_decoding_with_a_cache_gives_what_the_whole_pass_gives(
    build: Build, variant: dict[str, Any]
) -> None:
    model, _, _ = tapped(build, **variant)
    source = torch.tensor([[4, 5, 6, 7, 3]])
    heads: dict[Any, Any] = {
        (CROSS, 0, 2): np.linspace(-1, 1, model.config.value_width),
        **{place: edit for each in EDITS.values() for place, edit in each.items()},
    }
    with editing_heads(heads):
        found = greedy(model, source, max_length=9, keep_distributions=True)[0]
        beams = beam_search(model, source, beam=3, max_length=9, keep_distributions=True)[0]
    for hypothesis in (found, *beams):
        inputs = torch.tensor([[2, *hypothesis.token_ids[:-1]]])
        with torch.no_grad(), editing_heads(heads):
            logits = model(source, inputs)[0]
        torch.testing.assert_close(
            hypothesis.distributions, logits.log_softmax(-1), atol=1e-4, rtol=0
        )


@each_edit
@pytest.mark.parametrize(
    "way", [Search(beam=1), Search(), Search(sampling=Sampling(seed=3))], ids=str
)
def test_a_translation_under_edited_heads_is_what_is_recorded_beside_masks_and_positions(
    translator: Translator, heads: dict[Any, Any], way: Search
) -> None:
    under = Intervention(
        heads=heads,
        masks={CROSS: PRESETS["window"].rule(width=3), (DECODER, 0): PRESETS["strictly_causal"]},
        positions=PositionEdit(scale=0.7),
        source_order=[1, 0, *range(2, len(translator.encode(TEXT)) - 1)],
    )
    translation = translator.translate(TEXT, search=way, under=under)
    trace = translator.trace_of(translation, under=under)
    np.testing.assert_allclose(trace.log_probs, translation.log_probs, atol=1e-4)
    without = Intervention(
        masks=under.masks, positions=under.positions, source_order=under.source_order
    )
    assert not np.array_equal(
        trace.log_probs, translator.trace_of(translation, under=without).log_probs
    )


def test_each_sentence_of_a_batch_has_its_own_heads(translator: Translator) -> None:
    each = [Intervention(heads=heads) for heads in EDITS.values()]
    texts = [english for english, _ in PAIRS[: len(each)]]
    targets = [german for _, german in PAIRS[: len(each)]]
    batch = translator.trace_batch(texts, targets, under=each)
    for text, target, under, trace in zip(texts, targets, each, batch.traces, strict=True):
        alone = translator.trace(text, target, under=under)
        np.testing.assert_allclose(trace.log_probs, alone.log_probs, atol=1e-5)
        for site, seen in alone.maps.items():
            np.testing.assert_allclose(trace.maps[site].weights, seen.weights, atol=1e-5)
    written = translator.trace_batch(texts[:2], under=each[:2])
    for text, under, trace in zip(texts, each, written.traces, strict=False):
        assert trace.text == translator.translate(text, under=under).text


def test_packed_weights_give_what_a_head_off_leaves(shipped: Translator) -> None:
    attention = attention_at(shipped.model, Site(CROSS, 1))
    assert attention.w_o.is_packed
    heads = {(CROSS, 1, head): 0 for head in range(8)}
    with outputs(attention) as given:
        shipped.trace(TEXT, TARGET, under=Intervention(heads=heads))
    assert torch.equal(given[0], attention.w_o.bias.expand_as(given[0]))


def test_the_encoder_alone_follows_its_own_heads(translator: Translator) -> None:
    both = Intervention(heads={(ENCODER, 0, 1): 0, (CROSS, 0, 1): 0})
    own = Intervention(heads={(ENCODER, 0, 1): 0})
    assert both.of_encoder == own
    np.testing.assert_array_equal(
        translator.encode(TEXT, under=both), translator.encode(TEXT, under=own)
    )
    assert not np.array_equal(translator.encode(TEXT, under=own), translator.encode(TEXT))
    parts, same = (translator.embedding_parts(TEXT, under=each) for each in (both, UNCHANGED))
    np.testing.assert_array_equal(parts.sum, same.sum)


# As values


def test_one_edit_has_several_spellings_and_is_one_key() -> None:
    mean = np.array([0.5, -1.25], dtype=np.float32)
    site = Site(CROSS, 2)
    spelled = [
        {(CROSS, 2, 3): 0, ("encoder", 0, 1): "first", (CROSS, 0, 0): mean},
        {
            (site, 3): Gate(0.0),
            (ENCODER, 0, 1): ReplacedWeights("first"),
            (CROSS, 0, 0): [0.5, -1.25],
        },
        {
            (CROSS, np.int64(0), 0): torch.tensor(mean),
            ("cross", 2, 3): np.float32(0),
            ("encoder", 0, 1): "first",
            ("decoder", 0, 0): 1,
        },
    ]
    interventions = [Intervention(heads=each) for each in spelled]
    assert len(set(interventions)) == 1
    assert pickle.loads(pickle.dumps(interventions[0])) == interventions[0]
    assert list(interventions[0].heads) == [
        (Site(ENCODER, 0), 1),
        (Site(CROSS, 0), 0),
        (Site(CROSS, 2), 3),
    ]
    mean[0] = 9
    assert interventions[0] == interventions[1]
    others = [0.5, "uniform", [0.5], ReplacedWeights("shuffled"), ReplacedWeights("shuffled", 1)]
    different = [Intervention(heads={(site, 3): each}) for each in (0, *others)]
    assert len({*different, UNCHANGED}) == len(others) + 2


def test_a_gate_of_one_is_no_intervention() -> None:
    assert Intervention(heads={(CROSS, 0, 0): 1, (ENCODER, 0, 0): Gate(1.0)}) == UNCHANGED
    assert Intervention(heads={(CROSS, 0, 0): 0.999}) != UNCHANGED


def test_an_intervention_cannot_be_changed_by_its_heads() -> None:
    under = Intervention(heads={(CROSS, 0, 0): 0})
    with pytest.raises(TypeError):
        under.heads[Site(CROSS, 0), 0] = 1  # type: ignore[index]
    assert isinstance(under.heads, HeadEdits)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        (None, "the type NoneType does not say which"),
        ([(CROSS, 0, 0)], "the type list does not say which"),
        ({"cross": 0}, "'cross' is none of these"),
        ({(CROSS, 0): 0}, "is none of these"),
        ({("sideways", 0, 0): 0}, "is none of these"),
        ({(CROSS, 0, -1): 0}, "all from 0"),
        ({(CROSS, -1, 0): 0}, "all from 0"),
        ({(CROSS, 0, 1.5): 0}, "is none of these"),
        (
            {(CROSS, 0, 0): 0, (Site(CROSS, 0), 0): 1},
            "two edits for Cross-attention, layer 0, head 0",
        ),
        ({(CROSS, 0, 0): 1.5}, "leaves it; it is 1.5"),
        ({(CROSS, 0, 0): float("nan")}, "it is nan"),
        ({(CROSS, 0, 0): -0.1}, "it is -0.1"),
        ({(CROSS, 0, 0): True}, "it is True"),
        ({(CROSS, 0, 0): None}, "None is none of these"),
        ({(CROSS, 0, 0): "sideways"}, "no pattern 'sideways' of weights; choose one of uniform"),
        ({(CROSS, 0, 0): [[1.0]]}, "along one axis"),
        ({(CROSS, 0, 0): [1.0, [2.0]]}, "along one axis"),
        ({(CROSS, 0, 0): []}, "along one axis"),
        ({(CROSS, 0, 0): [np.inf]}, "finite numbers"),
        ({(CROSS, 0, 0): ["a"]}, "finite numbers"),
    ],
)
def test_what_is_no_edit_of_a_head_is_refused_in_one_sentence(heads: Any, message: str) -> None:
    with pytest.raises(HeadError, match=message) as refusal:
        Intervention(heads=heads)
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("pattern", "seed"), [("shuffled", -1), ("shuffled", 0.5), ("first", 2)])
def test_a_seed_is_whole_and_for_shuffling(pattern: Any, seed: Any) -> None:
    with pytest.raises(HeadError, match="for shuffled weights alone"):
        ReplacedWeights(pattern, seed)


def test_a_mean_of_nothing_is_refused() -> None:
    with pytest.raises(HeadError, match="one recorded example"):
        MeanAblation.over([], 0)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ({(CROSS, 9, 0): 0}, r"This model has no cross\.9 with heads"),
        ({(CROSS, 0, 4): 0}, r"There is no head 4 at cross\.0; choose one from 0 to 3\."),
        ({(CROSS, 0, 0): [1.0] * 3}, "has 3 numbers, but the head's output has 12"),
        ({("module", 0, 0): 0}, r"This model has no module\.0"),
    ],
)
def test_an_edit_that_does_not_fit_a_model_is_refused_and_leaves_it(
    translator: Translator, heads: Any, message: str
) -> None:
    before = translator.trace(TEXT, TARGET)
    for run in (translator.trace, lambda text, _, under: translator.translate(text, under=under)):
        with pytest.raises(HeadError, match=message):
            run(TEXT, TARGET, under=Intervention(heads=heads))
    after = translator.trace(TEXT, TARGET)
    np.testing.assert_array_equal(after.log_probs, before.log_probs)


def test_heads_of_single_sentences_fit_the_batch_that_runs(build: Build) -> None:
    model, source, target = tapped(build)
    each = [{}, {(CROSS, 0, 0): 0}, {}]
    with pytest.raises(HeadError, match="there are 2 sentences and 3"), editing_heads(each):
        model(source, target)
    with pytest.raises(CaptureError, match="one at a time"), editing_heads(each[1:]):
        greedy(model, source)


def test_torchs_own_attention_refuses_an_edit_of_its_heads() -> None:
    module = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    install_taps(module)
    x = torch.zeros(1, 3, 8)
    with (
        pytest.raises(CaptureError, match=r"module\.0 is a MultiheadAttention, whose heads cannot"),
        editing_heads({("module", 0, 0): 0}),
    ):
        module(x, x, x)


def test_heads_of_a_model_without_taps_are_reported_and_not_ignored(build: Build) -> None:
    with (
        torch.no_grad(),
        pytest.raises(CaptureError, match=r"No attention ran at encoder\.0"),
        editing_heads({(ENCODER, 0, 0): 0}),
    ):
        build()(torch.tensor([[5, 6]]), torch.tensor([[2]]))
