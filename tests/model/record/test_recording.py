import copy
import io
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from model.paper.config import TransformerConfig
from model.paper.multi_head import MultiHead, MultiHeadAttention, PerHeadAttention
from model.paper.transformer import Transformer
from model.record.recording import CaptureError, CaptureWarning, Recording, recording
from model.record.sentence_map import AttentionRecord
from model.record.taps import install_taps
from model.trace.attention_map import NO_ID, AttentionKind, Site, Tokens, TraceError
from model.trace.trace import Trace
from tests.kit.variants import VARIANTS

Build = Callable[..., Transformer]

PAD, BOS, EOS = 0, 2, 3
SITES = tuple(
    Site(kind, layer)
    for kind in (AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS)
    for layer in range(2)
)
each_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())


def batch(lengths: list[int], seed: int = 0) -> Tensor:
    """Sentences of these lengths, padded to the longest."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, 50, (len(lengths), max(lengths)), generator=generator)
    for row, length in enumerate(lengths):
        ids[row, length:] = PAD
    return ids


def tokens(ids: Tensor) -> Tokens:
    """The labels of one sentence, without its padding."""
    kept = [int(token_id) for token_id in ids if token_id != PAD]
    return Tokens(tuple(f"t{token_id}" for token_id in kept), tuple(kept))


def record(model: nn.Module, *inputs: Any, **named: Any) -> tuple[Any, Recording]:
    with torch.no_grad(), recording() as seen:
        output = model(*inputs, **named)
    return output, seen


def allowed_everywhere(seen: AttentionRecord) -> Tensor:
    allowed = torch.ones((), dtype=torch.bool) if seen.allowed is None else seen.allowed
    return allowed.expand(seen.weights.shape)


def attention_at(model: Transformer, site: Site) -> MultiHead:
    stack = "encoder" if site.kind is AttentionKind.ENCODER else "decoder"
    name = "cross_attention" if site.kind is AttentionKind.CROSS else "self_attention"
    attention = model.get_submodule(f"{stack}.layers.{site.layer}.{name}")
    assert isinstance(attention, MultiHead)
    return attention


# What is recorded


@each_variant
def test_every_variant_is_recorded_at_every_site_with_its_shapes(
    build: Build, variant: dict[str, Any]
) -> None:
    model = build(**variant)
    assert install_taps(model) == SITES
    source, target = batch([7, 4]), batch([5, 6], seed=1)
    _, seen = record(model, source, target)
    assert seen.sites == SITES
    assert list(seen) == list(SITES)
    d_k, d_v = model.config.key_width, model.config.value_width
    for site in SITES:
        queries = 7 if site.kind is AttentionKind.ENCODER else 6
        keys = 6 if site.kind is AttentionKind.DECODER else 7
        here = seen[site]
        assert here.weights.shape == here.scores.shape == (2, 4, queries, keys)
        assert here.q.shape == (2, 4, queries, d_k)
        assert here.k.shape == (2, 4, keys, d_k)
        assert here.v.shape == (2, 4, keys, d_v)
        assert (here.n_queries, here.n_keys) == (queries, keys)


@each_variant
@settings(max_examples=20)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8)), min_size=1, max_size=3),
    seed=st.integers(0, 99),
)
def test_rows_sum_to_one_over_allowed_keys_and_softmax_of_the_scores_is_the_weights(
    build: Build, variant: dict[str, Any], lengths: list[tuple[int, int]], seed: int
) -> None:
    model = build(**variant)
    install_taps(model)
    source = batch([source for source, _ in lengths], seed)
    target = batch([target for _, target in lengths], seed + 1)
    _, seen = record(model, source, target)
    for site in SITES:
        here = seen[site]
        allowed = allowed_everywhere(here)
        assert here.weights[~allowed].count_nonzero() == 0
        torch.testing.assert_close(here.weights.sum(-1), allowed.any(-1).float())
        rebuilt = here.scores.masked_fill(~allowed, -torch.inf).softmax(-1)
        torch.testing.assert_close(here.weights, rebuilt)


@each_variant
def test_what_all_heads_add_through_w_o_is_the_output_of_attention(
    build: Build, variant: dict[str, Any]
) -> None:
    model = build(**variant)
    install_taps(model)
    outputs: dict[Site, Tensor] = {}
    for site in SITES:
        attention_at(model, site).register_forward_hook(
            lambda _, args, output, site=site: outputs.update({site: output[0]})
        )
    _, seen = record(model, batch([7, 4]), batch([5, 6], seed=1))
    for site in SITES:
        attention = attention_at(model, site)
        parts = attention.head_parts(seen[site].weights @ seen[site].v).detach()
        bias = 0.0 if attention.w_o.bias is None else attention.w_o.bias.detach()
        torch.testing.assert_close(parts.sum(1) + bias, outputs[site])


def test_decoder_rows_see_no_later_token_and_nobody_sees_padding(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    source, target = batch([7, 4]), batch([5, 6], seed=1)
    _, seen = record(tiny_model, source, target)
    for layer in range(2):
        decoder = seen[Site(AttentionKind.DECODER, layer)]
        assert decoder.weights.triu(1).count_nonzero() == 0
        for kind, ids in (
            (AttentionKind.ENCODER, source),
            (AttentionKind.DECODER, target),
            (AttentionKind.CROSS, source),
        ):
            here = seen[Site(kind, layer)]
            padding = (ids == PAD)[:, None, None, :].expand(here.weights.shape)
            assert here.weights[padding].count_nonzero() == 0


def test_a_source_of_padding_alone_gives_zeros_and_is_flagged(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    source = torch.tensor([[5, 6, 7], [PAD, PAD, PAD]])
    target = batch([4, 4], seed=1)
    _, seen = record(tiny_model, source, target)
    positions = Tokens.unnamed(range(3))
    for row, empty in ((0, False), (1, True)):
        maps = seen.maps(row, source=positions, target=tokens(target[row]))
        for layer in range(2):
            cross = maps[Site(AttentionKind.CROSS, layer)]
            assert cross.empty_queries.tolist() == [empty] * 4
            assert np.isfinite(cross.weights).all()
            assert cross.weights.any() != empty


@each_variant
def test_recording_changes_no_logit(build: Build, variant: dict[str, Any]) -> None:
    source, target = batch([7, 4, 1]), batch([5, 6, 1], seed=1)
    model = build(**variant)
    with torch.no_grad():
        untapped = model(source, target)
        install_taps(model)
        silent = model(source, target)
    recorded, _ = record(model, source, target)
    assert torch.equal(silent, untapped)
    torch.testing.assert_close(recorded, untapped, atol=1e-5, rtol=0)


@pytest.mark.parametrize("layout", ["batched", "per_head"])
@pytest.mark.parametrize("scoring", ["scaled_dot_product", "dot_product", "additive"])
def test_recording_changes_no_bit_where_the_explicit_formula_runs_anyway(
    build: Build, layout: str, scoring: str
) -> None:
    model = build(fused_attention=False, head_layout=layout, scoring=scoring)
    source, target = batch([7, 4, 1]), batch([5, 6, 1], seed=1)
    with torch.no_grad():
        untapped = model(source, target)
    install_taps(model)
    recorded, _ = record(model, source, target)
    assert torch.equal(recorded, untapped)


def test_records_carry_no_graph_while_a_model_trains(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    tiny_model.train()
    with recording() as seen:
        loss = tiny_model(batch([4]), batch([3])).sum()
    loss.backward()
    assert tiny_model.source_embedding.weight.grad is not None
    for site in SITES:
        here = seen[site]
        assert not any(x.requires_grad for x in (here.weights, here.scores, here.q, here.k, here.v))
    assert len(seen.maps()) == len(SITES)


def test_recording_works_in_inference_mode_and_in_half_precision(build: Build) -> None:
    model = build().to(torch.bfloat16)
    install_taps(model)
    with torch.inference_mode(), recording() as seen:
        model(batch([4]), batch([3]))
    for here in seen.maps().values():
        assert here.weights.dtype == np.float32
        np.testing.assert_allclose(here.weights.sum(-1), 1, atol=0.02)


# Who records


def test_nothing_is_seen_outside_a_recording(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    with recording() as seen:
        pass
    tiny_model(batch([4]), batch([3]))
    assert seen.sites == ()
    x = torch.zeros(1, 2, 32)
    assert attention_at(tiny_model, SITES[0])(x, x)[1] is None


def test_of_nested_recordings_the_inner_one_records(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    long, short = batch([6]), batch([2])
    with torch.no_grad(), recording() as outer:
        with recording() as inner:
            tiny_model(short, short)
        tiny_model(long, long)
    assert inner[SITES[0]].n_keys == 2
    assert outer[SITES[0]].n_keys == 6


def test_an_error_inside_a_recording_leaves_no_residue(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    with pytest.raises(IndexError), recording() as seen:
        tiny_model(batch([4]), torch.full((1, 2), 50))
    before = seen.sites
    assert {site.kind for site in before} == {AttentionKind.ENCODER}
    tiny_model(batch([4]), batch([3]))
    assert seen.sites == before
    _, fresh = record(tiny_model, batch([4]), batch([3]))
    assert fresh.sites == SITES
    assert len(fresh.calls(SITES[0])) == 1


def test_heads_that_never_finished_are_not_recorded(build: Build) -> None:
    model = build(head_layout="per_head")
    install_taps(model)
    first = attention_at(model, SITES[0])
    assert isinstance(first, PerHeadAttention)

    def refuse(*_: Any) -> None:
        raise RuntimeError("out of memory")

    broken = first.get_submodule("heads.2.attention").register_forward_pre_hook(refuse)
    with torch.no_grad(), recording() as seen:
        with pytest.raises(RuntimeError, match="out of memory"):
            model(batch([4]), batch([3]))
        assert list(seen) == []
        broken.remove()
        model(batch([4]), batch([3]))
    assert seen.sites == SITES
    assert seen[SITES[0]].weights.shape == (1, 4, 4, 4)


@pytest.mark.parametrize("n_threads", [2, 8])
@pytest.mark.parametrize("layout", ["batched", "per_head"])
def test_threads_that_share_a_model_see_their_own_sentence_alone(
    build: Build, n_threads: int, layout: str
) -> None:
    model = build(head_layout=layout)
    install_taps(model)
    sentences = [
        (batch([3 + i], seed=i), batch([2 + i % 3], seed=i + 50)) for i in range(n_threads)
    ]
    expected = [record(model, *sentence)[1] for sentence in sentences]
    ready = threading.Barrier(n_threads + 1)

    def read(i: int) -> list[Recording]:
        ready.wait(timeout=60)
        return [record(model, *sentences[i])[1] for _ in range(10)]

    def run_silently() -> int:
        ready.wait(timeout=60)
        with torch.no_grad():
            for _ in range(10):
                model(*sentences[0])
        return 10

    with ThreadPoolExecutor(n_threads + 1) as pool:
        silent = pool.submit(run_silently)
        results = list(pool.map(read, range(n_threads)))
    assert silent.result() == 10
    for seen, alone in zip(results, expected, strict=True):
        for each in seen:
            assert each.sites == SITES
            for site in SITES:
                assert len(each.calls(site)) == 1
                assert torch.equal(each[site].weights, alone[site].weights)
                assert torch.equal(each[site].q, alone[site].q)


def test_a_thread_that_does_not_record_is_not_recorded(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    with recording() as seen:
        other = threading.Thread(target=lambda: tiny_model(batch([4]), batch([3])))
        other.start()
        other.join()
    assert seen.sites == ()


# Installing


def hooks(model: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_installing_twice_adds_no_hook(build: Build) -> None:
    for layout, functions in (("batched", 6), ("per_head", 24)):
        model = build(head_layout=layout)
        assert install_taps(model) == install_taps(model) == SITES
        # Two on every attention function; one on each side's positions and embeddings, on each
        # layer, and on the encoder's output.
        assert hooks(model) == 2 * functions + 2 + 2 + 4 + 1


def test_a_deep_copy_records_by_itself_and_takes_no_second_tap(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    twin = copy.deepcopy(tiny_model)
    count = hooks(twin)
    _, seen = record(twin, batch([4]), batch([3]))
    assert seen.sites == SITES
    assert install_taps(twin) == SITES
    assert hooks(twin) == count
    with torch.no_grad():
        twin.output.weight.zero_()
    _, seen = record(tiny_model, batch([4]), batch([3]))
    assert len(seen.calls(SITES[0])) == 1


def test_a_tapped_layer_in_another_model_is_recorded_at_its_new_place() -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    assert install_taps(layer) == (Site(AttentionKind.ENCODER, 0),)
    encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval()
    sites = tuple(Site(AttentionKind.ENCODER, i) for i in range(3))
    assert install_taps(encoder) == sites
    assert record(encoder, torch.randn(1, 4, 16))[1].sites == sites


def test_a_model_without_attention_is_refused() -> None:
    known = r"Headscope knows its own MultiHeadAttention .* torch's nn\.MultiheadAttention"
    with pytest.raises(CaptureError, match=rf"Linear has no attention .* recorded; {known}"):
        install_taps(nn.Linear(2, 2))


@pytest.fixture(scope="module")
def siglip() -> nn.Module:
    """Three attention modules of its own kind, in two encoders, and one of torch's."""
    # Five seconds, which only the worker that comes here shall pay.
    from transformers import SiglipConfig, SiglipModel

    shape = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
    text = {"vocab_size": 20, "num_hidden_layers": 1, "projection_size": 16}
    tokens = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    vision = {"num_hidden_layers": 2, "image_size": 8, "patch_size": 4}
    config = SiglipConfig(
        text_config={**shape, **text, **tokens}, vision_config={**shape, **vision}
    )
    return SiglipModel(config).eval()


@pytest.mark.slow
def test_what_a_model_holds_beside_known_attention_is_named(siglip) -> None:
    with pytest.warns(CaptureWarning) as warned:
        sites = install_taps(siglip)
    assert sites == (Site(AttentionKind.MODULE, 0),)
    (message,) = [str(each.message) for each in warned]
    for encoder, layer in (("text", 0), ("vision", 0), ("vision", 1)):
        assert f"{encoder}_model.encoder.layers.{layer}.self_attn (SiglipAttention)" in message
    assert "head" not in message.partition(";")[0]


@pytest.mark.slow
def test_what_a_refused_model_holds_is_named(siglip) -> None:
    with pytest.raises(
        CaptureError, match=r"recorded: layers\.0\.self_attn \(SiglipAttention\), layers\.1"
    ):
        install_taps(siglip.get_submodule("vision_model.encoder"))


def test_a_model_of_known_attention_is_tapped_without_a_warning(build: Build) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", CaptureWarning)
        install_taps(build())
        install_taps(build(head_layout="per_head"))
        install_taps(nn.Transformer(16, 2, 1, 1, 32, batch_first=True))
        install_taps(nn.MultiheadAttention(8, 2))


def test_an_attention_that_replaces_torchs_formula_is_refused_and_nothing_is_tapped() -> None:
    class Different(nn.MultiheadAttention):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return args[0], None

    model = nn.ModuleList([nn.MultiheadAttention(8, 2), Different(8, 2)])
    with pytest.raises(CaptureError, match="Different replaces the forward"):
        install_taps(model)
    assert hooks(model) == 0


def test_our_attention_alone_is_a_module_of_unknown_role() -> None:
    attention = MultiHeadAttention(TransformerConfig(vocab_size=9, d_model=8, n_heads=2)).eval()
    assert install_taps(attention) == (Site(AttentionKind.MODULE, 0),)
    (_, weights), seen = record(attention, torch.randn(1, 3, 8), torch.randn(1, 5, 8))
    assert torch.equal(weights, seen[Site(AttentionKind.MODULE, 0)].weights)


# From a batch to the trace of one sentence


def test_each_sentence_of_a_batch_has_the_maps_it_has_alone(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    source, target = batch([7, 4, 5]), batch([3, 6, 1], seed=1)
    _, together = record(tiny_model, source, target)
    for row in range(3):
        own_source, own_target = tokens(source[row]), tokens(target[row])
        _, alone = record(
            tiny_model,
            source[row : row + 1, : len(own_source)],
            target[row : row + 1, : len(own_target)],
        )
        maps = together.maps(row, source=own_source, target=own_target)
        expected = alone.maps(source=own_source, target=own_target)
        assert list(maps) == list(SITES)
        for site in SITES:
            seen, wanted = maps[site], expected[site]
            assert (seen.queries, seen.keys) == (wanted.queries, wanted.keys)
            assert np.array_equal(seen.allowed, wanted.allowed)
            for name in ("weights", "scores", "q", "k", "v"):
                np.testing.assert_allclose(getattr(seen, name), getattr(wanted, name), atol=2e-5)


def test_a_recording_becomes_a_trace_that_survives_saving(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    source, target = batch([7, 4]), batch([3, 6], seed=1)
    _, seen = record(tiny_model, source, target)
    own_source, own_target = tokens(source[1]), tokens(target[1])
    trace = seen.trace(
        1,
        source=own_source,
        target=own_target,
        predictions=own_target,
        text="zu",
        source_text="to",
        log_probs=np.zeros(6, dtype=np.float32),
    )
    assert trace.attention("cross", 1).weights.shape == (4, 6, 4)
    assert (trace.source, trace.target, trace.text) == (own_source, own_target, "zu")
    file = io.BytesIO()
    trace.save(file)
    file.seek(0)
    again = Trace.load(file)
    for site in SITES:
        np.testing.assert_array_equal(again.maps[site].weights, trace.maps[site].weights)
    with pytest.raises(TraceError, match="one prediction"):
        seen.trace(1, source=own_source, target=own_target, predictions=own_target[1:])


def test_a_recording_without_a_pass_says_what_is_missing(tiny_model: Transformer) -> None:
    _, seen = record(tiny_model, batch([4]), batch([3]))
    for asked in (seen.maps, seen.trace):
        with pytest.raises(CaptureError, match=r"call install_taps\(model\) once"):
            asked()
    with pytest.raises(CaptureError, match=r"Nothing was recorded at encoder\.0; there is no"):
        seen[SITES[0]]
    install_taps(tiny_model)
    _, seen = record(tiny_model, batch([4]), batch([3]))
    with pytest.raises(CaptureError, match=r"at module\.0; there is encoder\.0, encoder\.1, dec"):
        seen[Site(AttentionKind.MODULE, 0)]


def test_a_site_that_ran_twice_keeps_both_calls_and_makes_no_trace(
    tiny_model: Transformer,
) -> None:
    install_taps(tiny_model)
    with torch.no_grad(), recording() as seen:
        tiny_model(batch([4]), batch([3]))
        tiny_model(batch([6]), batch([3]))
    assert [call.n_keys for call in seen.calls(SITES[0])] == [4, 6]
    with pytest.raises(CaptureError, match=r"encoder\.0 ran 2 times in this recording"):
        seen.maps()
    with pytest.raises(CaptureError, match="ran 2 times"):
        seen[SITES[0]]


def test_step_by_step_decoding_is_recorded_call_by_call(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    source, target = batch([5]), batch([4], seed=1)
    with torch.no_grad(), recording() as seen:
        state = tiny_model.start(source)
        for position in range(4):
            tiny_model.step(target[:, position], state)
    _, at_once = record(tiny_model, source, target)
    for layer in range(2):
        for kind in (AttentionKind.DECODER, AttentionKind.CROSS):
            site = Site(kind, layer)
            for position, call in enumerate(seen.calls(site)):
                wanted = at_once[site].weights[:, :, position : position + 1, : call.n_keys]
                torch.testing.assert_close(call.weights, wanted)


def test_labels_that_do_not_fit_the_recording_are_refused(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    source, target = batch([7, 4]), batch([3, 6], seed=1)
    _, seen = record(tiny_model, source, target)
    with pytest.raises(CaptureError, match=r"holds 2 sentences.*no sentence 2"):
        seen.maps(2)
    with pytest.raises(CaptureError, match="no sentence -1"):
        seen.maps(-1)
    with pytest.raises(CaptureError, match=r"encoder\.0 has 7 queries, but there are 8 labels"):
        seen.maps(source=Tokens.unnamed(range(8)))
    with pytest.raises(CaptureError, match=r"attends to keys after the 5 that have labels"):
        seen.maps(source=Tokens.unnamed(range(5)))


def test_without_labels_positions_stand_in(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    _, seen = record(tiny_model, batch([3]), batch([2]))
    trace = seen.trace()
    assert trace.source == Tokens(("0", "1", "2"), (NO_ID,) * 3)
    assert trace.target == Tokens(("0", "1"), (NO_ID,) * 2)
    assert trace.attention("cross", 0).keys == trace.source


@pytest.mark.parametrize("variant", [{}, {"fused_qkv": True}, {"head_layout": "per_head"}])
def test_a_recording_of_512_tokens_holds_what_it_must_and_nothing_more(
    build: Build, variant: dict[str, Any]
) -> None:
    model = build(max_positions=512, **variant)
    install_taps(model)
    n_source, n_target, heads, width = 512, 24, 4, 8
    _, seen = record(model, batch([n_source]), batch([n_target]))
    pairs = ((n_source, n_source), (n_target, n_target), (n_target, n_source))
    cells = 2 * sum(queries * keys for queries, keys in pairs)
    rows = 2 * sum(queries + 2 * keys for queries, keys in pairs)
    expected = 4 * heads * (2 * cells + rows * width)

    def held(arrays: list[Any]) -> int:
        storages = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in arrays}
        return sum(storages.values())

    names = ("weights", "scores", "q", "k", "v")
    tensors = [getattr(seen[site], name) for site in SITES for name in names]
    assert held(tensors) == expected
    # A mask is a row of keys for the encoder's side and a square for the decoder's.
    masks = [seen[site].allowed for site in SITES]
    assert held(masks) <= 4 * n_source + 2 * n_target**2
    maps = seen.maps()
    arrays = [getattr(maps[site], name) for site in SITES for name in names]
    assert sum(array.nbytes for array in arrays) == expected
    assert seen.trace().nbytes == expected + cells


def test_a_trace_of_one_sentence_does_not_hold_its_batch(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    _, seen = record(tiny_model, batch([7, 4]), batch([3, 6], seed=1))
    for site, here in seen.maps(1).items():
        for name in ("weights", "scores", "q", "k", "v"):
            whole = getattr(seen[site], name).numpy()
            assert not np.shares_memory(getattr(here, name), whole)


# Foreign models

D, H = 16, 4


def torch_attention(**options: Any) -> nn.MultiheadAttention:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        module = nn.MultiheadAttention(D, H, **options).eval()
        for parameter in module.parameters():
            nn.init.normal_(parameter, std=0.4)
    return module


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


ONLY = Site(AttentionKind.MODULE, 0)
N, L, S = 3, 5, 6
PADDING = torch.arange(S)[None, :] >= torch.tensor([6, 4, 1])[:, None]
FORBIDDEN = noise(L, S, seed=3) > 0.8
BY_HEAD = noise(N * H, L, S, seed=4) > 0.8


def additive(forbidden: Tensor, seed: int | None = None) -> Tensor:
    base = torch.zeros(forbidden.shape) if seed is None else noise(*forbidden.shape, seed=seed)
    return base.masked_fill(forbidden, -torch.inf)


MODULES: dict[str, dict[str, Any]] = {
    "plain": {},
    "no bias": {"bias": False},
    "key and value bias": {"add_bias_kv": True},
    "a zero key": {"add_zero_attn": True},
    "both extra keys": {"add_bias_kv": True, "add_zero_attn": True},
    "other widths": {"kdim": 10, "vdim": 12},
    "other widths, no bias, both extra keys": {
        "kdim": 10,
        "vdim": 12,
        "bias": False,
        "add_bias_kv": True,
        "add_zero_attn": True,
    },
}
MASKS: dict[str, dict[str, Tensor]] = {
    "no mask": {},
    "padding": {"key_padding_mask": PADDING},
    "boolean": {"attn_mask": FORBIDDEN},
    "boolean by head": {"attn_mask": BY_HEAD},
    "padding and boolean": {"key_padding_mask": PADDING, "attn_mask": FORBIDDEN},
    "padding and boolean by head": {"key_padding_mask": PADDING, "attn_mask": BY_HEAD},
    "additive": {"attn_mask": additive(FORBIDDEN)},
    "additive, finite too": {"attn_mask": additive(FORBIDDEN, seed=5)},
    "additive by head and padding": {
        "key_padding_mask": additive(PADDING, seed=6),
        "attn_mask": additive(BY_HEAD, seed=7),
    },
}


def expected_allowed(masks: dict[str, Tensor]) -> Tensor:
    """(batch, head, query, key), told anew from torch's documentation."""
    forbidden = torch.zeros(N, H, L, S, dtype=torch.bool)
    for name, mask in masks.items():
        no = mask if mask.dtype == torch.bool else mask == -torch.inf
        if name == "key_padding_mask":
            no = no.view(N, 1, 1, S)
        else:
            no = no.view(N, H, L, S) if no.dim() == 3 else no
        forbidden = forbidden | no
    return ~forbidden


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS.keys())
@pytest.mark.parametrize("options", MODULES.values(), ids=MODULES.keys())
def test_torch_attention_is_recorded_with_the_weights_it_returns_if_asked(
    options: dict[str, Any], masks: dict[str, Tensor], batch_first: bool
) -> None:
    module = torch_attention(batch_first=batch_first, **options)
    query = noise(N, L, D)
    key = noise(N, S, options.get("kdim", D), seed=1)
    value = noise(N, S, options.get("vdim", D), seed=2)
    inputs = [query, key, value]
    if not batch_first:
        inputs = [x.transpose(0, 1) for x in inputs]
    with torch.no_grad():
        output, weights = module(*inputs, **masks, average_attn_weights=False)
        unasked = module(*inputs, **masks, need_weights=False)[0]
    install_taps(module)
    (recorded, nothing), seen = record(module, *inputs, **masks, need_weights=False)
    assert nothing is None
    torch.testing.assert_close(recorded, unasked, rtol=0, atol=0, equal_nan=True)
    here = seen[ONLY]
    extra = len(here.extra_keys)
    allowed = allowed_everywhere(here)
    assert torch.equal(allowed[..., :S], expected_allowed(masks))
    assert allowed[..., S:].all()
    # A query without a key: NaN there, zeros here.
    empty = ~allowed.any(-1, keepdim=True)
    torch.testing.assert_close(here.weights, weights.masked_fill(empty, 0.0))
    assert (extra > 0) or empty.any() == weights.isnan().any()
    # The values belong to the weights: together they make the output.
    heads = (here.weights @ here.v).transpose(1, 2).flatten(2)
    rebuilt = module.out_proj(heads).detach()
    rebuilt = rebuilt if batch_first else rebuilt.transpose(0, 1)
    finite = output.isfinite()
    torch.testing.assert_close(rebuilt[finite], output[finite])


def test_keys_that_torch_adds_are_labelled_and_stay_when_padding_goes() -> None:
    module = torch_attention(batch_first=True, add_bias_kv=True, add_zero_attn=True)
    install_taps(module)
    x = noise(N, S, D)
    _, seen = record(module, x, x, x, key_padding_mask=PADDING)
    sentence = Tokens.unnamed("abcd")
    here = seen.maps(1, axes={ONLY: (sentence, sentence)})[ONLY]
    assert list(here.queries) == list("abcd")
    assert list(here.keys) == [*"abcd", "[bias]", "[zero]"]
    assert here.allowed.all()
    np.testing.assert_allclose(here.weights.sum(-1), 1, rtol=1e-6)
    assert here.k is not None
    assert here.v is not None
    assert not here.k[:, -1].any()
    bias_v = module.bias_v
    assert bias_v is not None
    np.testing.assert_allclose(here.v[:, -2].ravel(), bias_v.detach().numpy().ravel())


CALLS: dict[str, Callable[[nn.Module, Tensor, Tensor], Any]] = {
    "by position": lambda m, x, y: m(x, y, y),
    "by name": lambda m, x, y: m(query=x, key=y, value=y),
    "weights refused by position": lambda m, x, y: m(x, y, y, None, False),
    "weights refused by name": lambda m, x, y: m(x, y, y, need_weights=False),
    "everything by position": lambda m, x, y: m(x, y, y, PADDING, True, FORBIDDEN, False, False),
    "weights averaged": lambda m, x, y: m(x, y, value=y, average_attn_weights=True),
    "weights by head": lambda m, x, y: m(x, y, y, average_attn_weights=False),
    "weights neither by head nor at all": lambda m, x, y: m(
        x, y, y, need_weights=False, average_attn_weights=False
    ),
    "self": lambda m, x, y: m(x, x, x, need_weights=False),
    "self, weights averaged": lambda m, x, y: m(y, y, y, PADDING),
    "causal, with the hint": lambda m, x, y: m(
        x, x, x, attn_mask=torch.ones(L, L, dtype=torch.bool).triu(1), is_causal=True
    ),
    "causal, no weights": lambda m, x, y: m(
        x,
        x,
        x,
        need_weights=False,
        attn_mask=nn.Transformer.generate_square_subsequent_mask(L),
        is_causal=True,
    ),
}


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_the_caller_gets_bit_for_bit_what_it_asked_for(
    call: Callable[[nn.Module, Tensor, Tensor], Any], grad: bool
) -> None:
    module = torch_attention(batch_first=True)
    x, y = noise(N, L, D), noise(N, S, D, seed=1)
    with torch.set_grad_enabled(grad):
        output, weights = call(module, x, y)
        install_taps(module)
        with recording() as seen:
            recorded_output, recorded_weights = call(module, x, y)
    torch.testing.assert_close(recorded_output, output, rtol=0, atol=0, equal_nan=True)
    assert recorded_output.requires_grad == grad
    if weights is None:
        assert recorded_weights is None
    else:
        torch.testing.assert_close(recorded_weights, weights, rtol=0, atol=0, equal_nan=True)
        here = seen[ONLY].weights
        here = here if weights.dim() == 4 else here.mean(1)
        torch.testing.assert_close(here, weights.detach().nan_to_num(0.0))


@pytest.mark.parametrize("batch_first", [True, False])
def test_input_without_a_batch_is_a_batch_of_one(batch_first: bool) -> None:
    module = torch_attention(batch_first=batch_first)
    install_taps(module)
    query, key = noise(L, D), noise(S, D, seed=1)
    (_, weights), seen = record(
        module, query, key, key, key_padding_mask=PADDING[1], average_attn_weights=False
    )
    here = seen.maps()[ONLY]
    assert here.weights.shape == (H, L, S)
    assert here.allowed.all(0).tolist() == (~PADDING[1]).tolist()
    np.testing.assert_allclose(here.weights, weights.numpy(), atol=1e-6)
    _, seen = record(module, query, key, key, attn_mask=BY_HEAD[:H])
    assert seen.maps()[ONLY].allowed.shape == (H, L, S)


def test_a_mask_that_differs_by_head_is_kept_by_head() -> None:
    module = torch_attention(batch_first=True)
    install_taps(module)
    query, key = noise(N, L, D), noise(N, S, D, seed=1)
    _, seen = record(module, query, key, key, attn_mask=BY_HEAD)
    for row in range(N):
        here = seen.maps(row)[ONLY]
        assert np.array_equal(here.allowed, ~BY_HEAD.view(N, H, L, S)[row].numpy())
    _, seen = record(module, query, key, key, attn_mask=FORBIDDEN.repeat(N * H, 1, 1))
    assert np.array_equal(seen.maps(1)[ONLY].allowed, ~FORBIDDEN.numpy())


def test_weights_in_training_are_those_before_dropout() -> None:
    module = torch_attention(batch_first=True, dropout=0.5)
    x = noise(N, S, D)
    _, evaluated = module(x, x, x, average_attn_weights=False)
    install_taps(module)
    module.train()
    with recording() as seen:
        output, dropped = module(x, x, x, average_attn_weights=False)
    assert (dropped == 0).any()
    assert output.requires_grad
    torch.testing.assert_close(seen[ONLY].weights, evaluated.detach())


def torch_transformer(**options: Any) -> nn.Transformer:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        return nn.Transformer(D, H, 2, 3, 32, **options).eval()


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_a_foreign_transformer_is_recorded_at_every_site(
    batch_first: bool, norm_first: bool
) -> None:
    model = torch_transformer(batch_first=batch_first, norm_first=norm_first)
    source, target = noise(2, 6, D), noise(2, 4, D, seed=1)
    inputs = (source, target) if batch_first else (source.transpose(0, 1), target.transpose(0, 1))
    padding = torch.tensor([[False] * 6, [False] * 3 + [True] * 3])
    masks = {
        "tgt_mask": torch.ones(4, 4, dtype=torch.bool).triu(1),
        "src_key_padding_mask": padding,
        "memory_key_padding_mask": padding,
    }
    with torch.no_grad():
        expected = model(*inputs, **masks)
    sites = install_taps(model)
    assert sites == (
        *(Site(AttentionKind.ENCODER, i) for i in range(2)),
        *(Site(AttentionKind.DECODER, i) for i in range(3)),
        *(Site(AttentionKind.CROSS, i) for i in range(3)),
    )
    with torch.no_grad():
        silent = model(*inputs, **masks)
    output, seen = record(model, *inputs, **masks)
    torch.testing.assert_close(silent, expected, atol=1e-5, rtol=0)
    assert torch.equal(output, silent)
    assert seen.sites == sites
    trace = seen.trace(1, source=Tokens.unnamed("abc"), target=Tokens.unnamed("wxyz"))
    assert trace.layers("decoder") == (0, 1, 2)
    for site, here in trace.maps.items():
        np.testing.assert_allclose(here.weights.sum(-1), 1, rtol=1e-5)
        causal = site.kind is AttentionKind.DECODER
        assert np.array_equal(here.allowed, np.tri(4) if causal else np.ones(here.allowed.shape))


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("lengths", [[6, 3], [4, 2], [6, 6]])
def test_torchs_encoder_is_recorded_in_spite_of_its_fast_path(
    nested: bool, lengths: list[int]
) -> None:
    model = torch_transformer(batch_first=True).encoder
    model.use_nested_tensor = nested
    x = noise(2, 6, D)
    padding = torch.arange(6)[None, :] >= torch.tensor(lengths)[:, None]
    with torch.no_grad():
        expected = model(x, src_key_padding_mask=padding)
    install_taps(model)
    with torch.no_grad():
        silent = model(x, src_key_padding_mask=padding)
    output, seen = record(model, x, src_key_padding_mask=padding)
    torch.testing.assert_close(silent, expected, atol=1e-5, rtol=0)
    assert torch.equal(output, silent)
    for row, length in enumerate(lengths):
        sentence = Tokens.unnamed(range(length))
        with_padding = seen.trace(row, source=sentence)
        _, alone = record(model, x[row : row + 1, :length])
        for layer in range(2):
            here = with_padding.attention("encoder", layer)
            wanted = alone.maps()[Site(AttentionKind.ENCODER, layer)]
            assert here.allowed.all()
            np.testing.assert_allclose(here.weights, wanted.weights, atol=1e-5)
            assert here.scores is not None
            assert wanted.scores is not None
            np.testing.assert_allclose(here.scores, wanted.scores, atol=1e-4)


def test_an_encoder_layer_alone_is_recorded_and_agrees_with_its_fast_path() -> None:
    layer = torch_transformer(batch_first=True).encoder.layers[0]
    x = noise(2, 6, D)
    with torch.no_grad():
        fast = layer(x, src_key_padding_mask=PADDING[:2])
    install_taps(layer)
    output, seen = record(layer, x, src_key_padding_mask=PADDING[:2])
    kept = ~PADDING[:2]
    torch.testing.assert_close(output[kept], fast[kept], atol=1e-5, rtol=0)
    assert seen.maps(1, source=Tokens.unnamed(range(4)))[Site(AttentionKind.ENCODER, 0)]


def test_torch_attention_in_a_model_of_ones_own_is_numbered_in_order() -> None:
    model = nn.ModuleDict({"first": torch_attention(), "second": torch_attention()})
    sites = install_taps(model)
    assert sites == (Site(AttentionKind.MODULE, 0), Site(AttentionKind.MODULE, 1))
    x = noise(S, N, D)
    with torch.no_grad(), recording() as seen:
        model["second"](x, x, x)
    assert seen.sites == sites[1:]
    assert list(seen.maps()[sites[1]].keys) == [str(i) for i in range(S)]
    assert len(seen.trace().source) == 0


def test_layers_that_share_one_attention_are_one_site_called_often() -> None:
    shared = torch_attention(batch_first=True)

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.ModuleList([shared])
            self.second = shared

        def forward(self, x: Tensor) -> Tensor:
            x = self.first[0](x, x, x)[0]
            return self.second(x, x, x)[0]

    model = Twice()
    assert install_taps(model) == (ONLY,)
    _, seen = record(model, noise(1, 4, D))
    assert len(seen.calls(ONLY)) == 2
