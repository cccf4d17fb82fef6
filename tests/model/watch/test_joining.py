"""One trace of models whose layers differ, are shared, or write a text step by step."""

import io
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from model.record.recording import CaptureError
from model.trace.attention_map import TraceError
from model.trace.trace import Trace
from model.watch import watching
from tests.model.watch.test_edits import HUGGING_FACE, Attention
from tests.model.watch.test_families import FAMILIES, IDS, TEXT, build, pairs
from viz.heads.standalone import trace_page

BY_NAME = {family.model: family for family in FAMILIES}


class Stack(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x


class Universal(nn.Module):
    """One layer of a decoder, called several times (Dehghani et al. 2019)."""

    def __init__(self, n_layers: int) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        self.n_layers = n_layers

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        for _ in range(self.n_layers):
            x = self.layer(x, memory, tgt_mask=mask)
        return x


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(5)
    return torch.randn(2, 6, 8)


def sites(trace: Trace) -> list[str]:
    return [str(site) for site in trace.maps]


def copied(trace: Trace) -> Trace:
    """As a file would have it."""
    file = io.BytesIO()
    trace.save(file)
    return Trace.load(io.BytesIO(file.getvalue()))


def test_layers_with_different_numbers_of_heads_and_without_attention_make_one_trace(x):
    model = Stack(Attention(2), nn.Linear(8, 8), Attention(4), Attention(1)).eval()
    with torch.no_grad(), watching() as seen:
        model(x)
    trace = copied(seen.trace(1))
    assert sites(trace) == ["encoder.0", "encoder.1", "encoder.2"]
    assert [len(each.weights) for each in trace.maps.values()] == [2, 4, 1]
    assert [each.place.path for each in seen.sites] == ["layers.0", "layers.2", "layers.3"]
    assert not seen.report().joined
    with pytest.raises(TraceError, match="differ in heads or tokens"):
        trace_page(trace)


def test_each_call_of_a_shared_layer_is_a_layer_of_the_trace(x):
    shared, other = Attention(2), Attention(4)
    model = Stack(shared, other, shared).eval()
    with torch.no_grad(), watching() as seen:
        model(x)
    trace = copied(seen.trace(1))
    # In the order in which they ran, so that the other layer stands between.
    assert [len(each.weights) for each in trace.maps.values()] == [2, 4, 2]
    first, second = seen.sites[0].calls
    for layer, call in ((0, first), (2, second)):
        assert np.array_equal(trace.attention("encoder", layer).weights, call.weights[1])
    (sentence,) = seen.report().joined
    assert sentence == (
        "encoder.0 ran 2 times in one run of the model; a trace has its calls as encoder.0, "
        "encoder.2"
    )
    assert sentence in str(seen.report())


def test_a_shared_decoder_has_its_own_and_cross_attention_in_each_layer(x):
    model = Universal(3).train(False)
    with torch.enable_grad(), watching() as seen:
        model(x[:, :4], x)
    trace = seen.trace()
    assert sites(trace) == [f"{kind}.{i}" for kind in ("decoder", "cross") for i in range(3)]
    for each, site in zip(seen.sites, ("decoder", "cross"), strict=True):
        for layer, call in enumerate(each.calls):
            assert np.array_equal(trace.attention(site, layer).weights, call.weights[0])


@pytest.mark.slow
def test_albert_has_a_map_for_each_of_its_layers():
    model = build(BY_NAME["AlbertModel"], "eager")
    with torch.no_grad(), watching() as seen:
        truth = model(**TEXT, output_attentions=True).attentions
    trace = seen.trace(0)
    assert sites(trace) == ["encoder.0", "encoder.1"]
    for layer, theirs in enumerate(truth):
        mine = trace.attention("encoder", layer).weights
        np.testing.assert_allclose(mine, theirs[0], atol=1e-6, rtol=0)


WRITE = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False}


@pytest.mark.slow
@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("sentence", [0, 1])
def test_what_a_translator_writes_step_by_step_is_its_pass_over_the_whole(use_cache, sentence):
    model = build(BY_NAME["MarianMTModel"], "eager")
    with torch.no_grad(), watching() as seen:
        written = model.generate(**TEXT, **WRITE, use_cache=use_cache)
    trace = copied(seen.trace(sentence))
    with torch.no_grad():
        truth = model(**TEXT, decoder_input_ids=written[:, :-1], output_attentions=True)
    order = ["encoder.0", "encoder.1", "decoder.0", "cross.0", "decoder.1", "cross.1"]
    assert sorted(order) == sorted(sites(trace))
    found = {str(site): each for site, each in trace.maps.items()}
    for site, theirs in zip(order, pairs(truth), strict=True):
        np.testing.assert_allclose(found[site].weights, theirs[sentence], atol=1e-6, rtol=0)
    assert np.array_equal(found["decoder.0"].allowed, np.tri(4, dtype=bool))
    assert "decoder.0 ran in 4 steps; a trace has the queries of all of them" in (
        seen.report().joined
    )


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_a_text_continued_is_one_map_a_layer(cache):
    model = build(HUGGING_FACE[0][0], "sdpa")
    more = {"cache_implementation": "static"} if cache == "static" else {}
    with torch.no_grad(), watching() as seen:
        written = model.generate(IDS[:1], **WRITE, **more, pad_token_id=0)
    trace = copied(seen.trace())
    model.set_attn_implementation("eager")
    with torch.no_grad():
        truth = model(written[:, :-1], output_attentions=True).attentions
    assert len(trace.target) == 9
    for layer, theirs in enumerate(truth):
        mine = trace.attention("decoder", layer).weights
        np.testing.assert_allclose(mine, theirs[0], atol=1e-6, rtol=0)


@pytest.mark.slow
def test_beams_make_no_trace_and_say_what_does():
    model = build(BY_NAME["MarianMTModel"], "sdpa")
    with torch.no_grad(), watching() as seen:
        model.generate(**TEXT, **WRITE, num_beams=3)
    with pytest.raises(CaptureError, match=r"record (a single|one) pass"):
        seen.trace()
    (sentence,) = seen.report().joined
    assert sentence.startswith("no trace: ")


def test_two_texts_make_no_trace_though_their_lengths_grow(x):
    model = Stack(Attention(), Attention()).eval()
    with torch.no_grad(), watching() as seen:
        model(x[:, :4])
        model(-x)
    with pytest.raises(CaptureError, match="on texts that are not one continued; record a single"):
        seen.trace()


def test_a_text_read_in_parts_makes_no_trace(x):
    class InParts(Attention):
        def forward(self, x: Tensor) -> Tensor:
            q, k, v = self.qkv(x).chunk(3, -1)
            return torch.cat(
                [(part @ k.mT).softmax(dim=-1) @ v for part in q.split(3, dim=1)], dim=1
            )

    with torch.no_grad(), watching() as seen:
        InParts()(x)
    with pytest.raises(CaptureError, match="ran 2 times in this recording, on parts of one text"):
        seen.trace()


@pytest.mark.slow
def test_windows_of_an_image_make_no_trace():
    model = build(BY_NAME["SwinModel"], "sdpa")
    with torch.no_grad(), watching() as seen:
        model(**BY_NAME["SwinModel"].inputs)
    with pytest.raises(CaptureError, match=r"different sizes \(32 at encoder\.0, 8 at encoder\.2"):
        seen.trace()


class Reader(nn.Module):
    """Reads texts with the same two layers, each of them `depth` times."""

    def __init__(self, depth: int = 1) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(20, 8), nn.Embedding(9, 8)
        self.layers = nn.ModuleList([Attention(), Attention()])
        self.depth = depth

    def read(self, x: Tensor) -> Tensor:
        for step in range(self.depth):
            x = x + self.positions(torch.arange(x.shape[1])) + self.positions(torch.tensor(step))
            for layer in self.layers:
                x = x + layer(x)
        return x

    def forward(self, *texts: Tensor) -> Tensor:
        return torch.stack([self.read(self.embedding(text)).mean(1) for text in texts]).prod(0)


class Corrected(Reader):
    """Reads the tokens that it chose itself once more."""

    def forward(self, text: Tensor) -> Tensor:
        chosen = (self.read(self.embedding(text)) @ self.embedding.weight.T).argmax(-1)
        return self.read(self.embedding(chosen))


class WithMemory(Reader):
    """Reads a text in parts, each behind what it made of the part before."""

    def forward(self, text: Tensor) -> Tensor:
        memory = self.positions.weight[:2].expand(len(text), -1, -1)
        for part in text.split(2, dim=1):
            memory = self.read(torch.cat([memory, self.embedding(part)], dim=1))[:, :2]
        return memory


class Fused(Reader):
    """One more layer reads both texts."""

    def __init__(self) -> None:
        super().__init__()
        self.top = Attention()

    def forward(self, *texts: Tensor) -> Tensor:
        return self.top(torch.cat([self.read(self.embedding(text)) for text in texts], dim=1))


class Twice(Reader):
    """Reads one embedded text two times."""

    def forward(self, text: Tensor) -> Tensor:
        x = self.embedding(text) * 2
        return self.read(x) + self.read(x)


class Beside(Fused):
    """One more layer reads what is no text."""

    def forward(self, *texts: Tensor) -> Tensor:
        return Reader.forward(self, *texts) * self.top(torch.ones(2, 3, 8)).mean(1)


class TwoAnswers(nn.Module):
    """Two targets after one source."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)

    def forward(self, source: Tensor, *targets: Tensor) -> Tensor:
        memory = self.encoder(self.embedding(source))
        mask = nn.Transformer.generate_square_subsequent_mask
        return torch.stack(
            [
                self.decoder(self.embedding(each), memory, tgt_mask=mask(each.shape[1])).mean(1)
                for each in targets
            ]
        ).prod(0)


ONE, OTHER = torch.tensor([[5, 6, 7, 8], [9, 4, 3, 2]]), torch.tensor([[1, 2, 3], [2, 2, 4]])


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("texts", [(ONE, OTHER), (ONE, ONE + 1), (ONE, ONE), (ONE, OTHER, ONE)])
@pytest.mark.parametrize("depth", [1, 2])
def test_texts_read_by_the_same_modules_are_no_layers(depth, texts, context):
    model = Reader(depth).eval()
    with context(), watching() as seen:
        model(*texts)
    for number, text in enumerate(texts):
        with context(), watching() as alone:
            model(text)
        expected, found = alone.trace(1), seen.trace(1, text=number)
        assert sites(found) == [f"encoder.{layer}" for layer in range(2 * depth)]
        for site, theirs in expected.maps.items():
            assert np.array_equal(found.maps[site].weights, theirs.weights)
    last = len(texts) - 1
    assert seen.report().joined[0] == (
        f"encoder.0, encoder.1 ran on {len(texts)} texts in one run of the model; trace(text=0) to "
        f"trace(text={last}) have one each"
    )
    with pytest.raises(CaptureError, match=f"are {len(texts)} texts here, .* no text {last + 1}"):
        seen.trace(text=last + 1)


def test_a_text_that_the_model_chose_is_another_text():
    model = Corrected().eval()
    with torch.no_grad(), watching() as seen:
        model(ONE)
    assert [len(seen.trace(text=number).maps) for number in (0, 1)] == [2, 2]


def test_the_same_text_read_twice_from_one_embedding_is_two_texts():
    with torch.no_grad(), watching() as seen:
        Twice().eval()(ONE)
    one, other = (seen.trace(text=number).maps for number in (0, 1))
    assert all(np.array_equal(one[site].weights, other[site].weights) for site in one)


def test_a_text_read_behind_what_was_made_of_another_makes_no_trace():
    with torch.no_grad(), watching() as seen:
        WithMemory().eval()(ONE)
    with pytest.raises(CaptureError, match="reading another text and what it made of the one befo"):
        seen.trace()


def test_of_one_source_and_two_targets_each_trace_has_the_source():
    model = TwoAnswers().eval()
    with torch.no_grad(), watching() as seen:
        model(ONE, OTHER, ONE)
    for number, n_tokens in enumerate((3, 4)):
        trace = seen.trace(text=number)
        assert sites(trace) == ["encoder.0", "decoder.0", "cross.0"]
        assert trace.attention("cross", 0).weights.shape == (2, n_tokens, 4)


def test_a_layer_that_reads_two_texts_is_part_of_neither():
    with torch.no_grad(), watching() as seen:
        Fused().eval()(ONE, OTHER)
    with pytest.raises(
        CaptureError, match=r"encoder\.2 reads several of the 2 texts of encoder\.0"
    ):
        seen.trace()
    trace = seen.trace(text=1, sites=["encoder.0", "encoder.1"])
    assert [each.weights.shape[1] for each in trace.maps.values()] == [3, 3]


def test_what_has_nothing_to_do_with_either_text_is_part_of_neither():
    with torch.no_grad(), watching() as seen:
        Beside().eval()(ONE, OTHER)
    with pytest.raises(CaptureError, match=r"encoder\.2 has nothing to do with the 2 texts of enc"):
        seen.trace()


class Cached(nn.Module):
    """One layer that attends to the latest six tokens, with the keys that a cache keeps."""

    def __init__(self, kept: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.kept = kept
        self.cache: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Tensor, *, takes_back: int = 0) -> Tensor:
        q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        if self.cache is not None:
            end = -takes_back or None
            k, v = (
                torch.cat([old[:, :, :end], new], dim=2)
                for old, new in zip(self.cache, (k, v), strict=True)
            )
            k, v = self.kept(k), self.kept(v)
        self.cache = k, v
        back = torch.arange(x.shape[1])[:, None] + k.shape[2] - x.shape[1]
        back = back - torch.arange(k.shape[2])
        return self.mixed((q @ k.mT).masked_fill((back < 0) | (back > 5), -1e9).softmax(-1), v)

    def mixed(self, weights: Tensor, v: Tensor) -> Tensor:
        return (weights @ v).transpose(1, 2).flatten(2)


class Summed(Cached):
    """A step uses its weights in a way of its own."""

    def mixed(self, weights: Tensor, v: Tensor) -> Tensor:
        return super().mixed(weights, v) if weights.shape[2] > 1 else v.sum() * weights.sum()


def latest(x: Tensor) -> Tensor:
    return x[:, :, -6:]


def sink(x: Tensor) -> Tensor:
    return torch.cat([x[:, :, :1], x[:, :, -5:]], dim=2)


@pytest.mark.parametrize("prompt", [3, 9])
def test_a_cache_of_fixed_size_makes_the_map_of_one_pass(prompt):
    x, model = torch.randn(1, 12, 8), Cached(latest).eval()
    with torch.no_grad(), watching() as seen:
        for part in x.split([prompt] + [1] * (12 - prompt), dim=1):
            model(part)
    model.cache = None
    with torch.no_grad(), watching() as whole:
        model(x)
    found, expected = (each.trace().attention("decoder", 0) for each in (seen, whole))
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-6, rtol=0)
    assert np.array_equal(found.allowed, expected.allowed)
    np.testing.assert_allclose(found.v, expected.v, atol=1e-6, rtol=0)


def test_rows_that_are_missing_are_said():
    model = Summed(latest).eval()
    with torch.no_grad(), watching() as seen:
        for part in torch.randn(1, 12, 8).split([9, 1, 1, 1], dim=1):
            model(part)
    with pytest.raises(
        CaptureError, match="rows are missing, as 3 more of its softmaxes ran and w"
    ):
        seen.trace()
    assert "rows are missing" in str(seen.report())


@pytest.mark.parametrize(
    ("kept", "takes_back", "reason"),
    [
        (lambda x: x, 2, "and took back tokens that it had read, as assisted decoding does"),
        (sink, 0, "with a cache that keeps other keys than the latest"),
    ],
)
def test_each_cache_is_refused_for_a_reason_of_its_own(kept, takes_back, reason):
    model = Cached(kept).eval()
    with torch.no_grad(), watching() as seen:
        for part in torch.randn(1, 13, 8).split([9, 2, 2], dim=1):
            model(part, takes_back=takes_back if model.cache and model.cache[0].shape[2] > 9 else 0)
    with pytest.raises(CaptureError, match=reason):
        seen.trace()


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_a_window_of_a_published_model_makes_the_map_of_one_pass(cache):
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(3)
    sizes = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "sliding_window": 6}
    config = MistralConfig(**sizes, **heads, attn_implementation="eager")
    model = MistralForCausalLM(config).eval()
    more = {"cache_implementation": "static"} if cache == "static" else {}
    ids = torch.arange(1, 10)[None]
    with torch.no_grad(), watching() as seen:
        written = model.generate(ids, **WRITE, **more, pad_token_id=0)
    with torch.no_grad():
        truth = model(written[:, :-1], output_attentions=True).attentions
    for layer, theirs in enumerate(truth):
        mine = seen.trace().attention("decoder", layer).weights
        assert mine.shape == (2, 12, 12)
        np.testing.assert_allclose(mine, theirs[0], atol=1e-6, rtol=0)


def test_two_models_that_do_not_read_each_other_make_no_trace():
    model, other = Reader().eval(), Reader().eval()
    with torch.no_grad(), watching() as seen:
        model(ONE)
        other(ONE)
    with pytest.raises(
        CaptureError, match=r"encoder\.0 and encoder\.2 both ran in layers\.0, of tw"
    ):
        seen.trace()
    assert "both ran in layers.0" in str(seen.report())
    assert len(seen.trace(sites=["encoder.2", "encoder.3"]).maps) == 2


def test_layers_called_one_by_one_are_one_model(x):
    first, second = Stack(Attention()).eval(), Stack(Attention()).eval()
    with torch.no_grad(), watching() as seen:
        second(first(x))
    assert len(seen.trace().maps) == 2


@pytest.mark.parametrize("shorter_first", [False, True])
def test_an_unlabelled_text_is_not_cut_to_its_shortest_layer(shorter_first, x):
    one, other = Attention().eval(), Attention().eval()
    with torch.no_grad(), watching() as seen:
        for module, length in ((one, 4), (other, 6)) if shorter_first else ((one, 6), (other, 4)):
            module(x[:, :length])
    with pytest.raises(CaptureError, match="has 4 queries, but there are 6 labels"):
        seen.trace()
