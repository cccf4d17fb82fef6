"""One trace of models whose layers differ, are shared, or write a text step by step."""

import io

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
