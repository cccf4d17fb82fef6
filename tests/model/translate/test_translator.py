"""Text in, Translation and Trace out, on a model that knows a few sentences by heart."""

import itertools
import random
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from model.paper.linear import multiplies_rows_apart
from model.paper.search import DecodingError, Sampling, Search, length_penalty
from model.paper.tokenizer import BOS, EOS
from model.record.intervention import Intervention, PositionEdit
from model.record.mask_presets import PRESETS
from model.translate.devices import DeviceError
from model.translate.sentences import TextError
from model.translate.translator import Translator, load
from tests.kit.packing import needs_packing, needs_rows_apart
from tests.kit.tiny_checkpoint import PAIRS


def test_what_the_model_knows_is_translated(translator):
    for english, german in PAIRS:
        translation = translator.translate(english)
        assert translation.text == german
        assert translation.finished
        assert translation.source_text == english


def test_a_translation_keeps_tokens_ids_and_log_probabilities_in_step(translator):
    translation = translator.translate("The cat eats.", keep_distributions=True)
    assert translation.tokens[-1] == "</s>"
    assert translation.token_ids[-1] == EOS
    assert len(translation.tokens) == len(translation.token_ids) == len(translation.log_probs)
    assert translation.distributions.shape == (len(translation.tokens), len(translator.tokenizer))
    np.testing.assert_allclose(np.exp(translation.distributions).sum(axis=1), 1, atol=1e-5)
    assert translation.source.tokens[-1] == "</s>"
    assert len(translation.source.tokens) == len(translation.source.ids)


def test_candidates_are_as_many_as_the_beam_and_ordered(translator):
    candidates = translator.candidates("The cat eats.", search=Search(beam=3))
    assert len(candidates) == 3
    assert [each.score for each in candidates] == sorted(
        (each.score for each in candidates), reverse=True
    )
    assert len({each.token_ids for each in candidates}) == 3


@pytest.mark.parametrize(
    "search", [Search(beam=1), Search(beam=3), Search(sampling=Sampling(seed=3))]
)
def test_a_score_is_the_log_probability_over_the_length_penalty(translator, search):
    for alpha in (0.0, 0.6):
        found = translator.translate("The cat eats.", search=replace(search, length_penalty=alpha))
        penalty = length_penalty(len(found.tokens), alpha)
        assert found.score == pytest.approx(sum(found.log_probs) / penalty, abs=1e-6)


def test_a_text_forced_at_the_beginning_is_how_the_translation_begins(translator):
    begun = Search(prefix=translator.prefix("Der Hund"))
    for search in (begun, replace(begun, beam=1), replace(begun, sampling=Sampling(seed=1))):
        found = translator.translate("The cat sat on the mat.", search=search)
        assert found.text.startswith("Der Hund")
        assert found.token_ids[: len(begun.prefix)] == begun.prefix
        assert all(
            each.text.startswith("Der Hund")
            for each in translator.candidates("The cat sat on the mat.", search=search)
        )
        trace = translator.trace("The cat sat on the mat.", search=search)
        assert trace.predictions.ids == found.token_ids
    price = translator.translate("The cat sat on the mat.").score
    assert translator.translate("The cat sat on the mat.", search=begun).score < price


def test_a_prefix_goes_with_every_intervention(translator):
    text = "The cat sat on the mat."
    prefix = translator.prefix("Eine Frau")
    for under in (
        Intervention(masks={"decoder": np.tri(4, dtype=bool), "cross": PRESETS["first_token"]}),
        Intervention(heads={("cross", 0, 1): 0, ("decoder", 1, 2): "uniform"}),
        Intervention(positions=PositionEdit(scale=0.5)),
    ):
        for search in (
            Search(beam=1, prefix=prefix),
            Search(beam=3, prefix=prefix),
            Search(sampling=Sampling(seed=2, n_samples=3), prefix=prefix),
        ):
            found = translator.translate(text, search=search, under=under)
            trace = translator.trace_of(found, under=under)
            assert found.token_ids[: len(prefix)] == prefix
            np.testing.assert_allclose(trace.log_probs, found.log_probs, atol=1e-4)
            assert found.log_probs != translator.translate(text, search=search).log_probs


def test_a_beginning_that_is_too_long_is_refused(translator):
    with pytest.raises(TextError, match="The beginning is too long"):
        translator.prefix("der " * 100)
    with pytest.raises(DecodingError, match="the whole translation may"):
        translator.translate("A man.", search=Search(prefix=(5,) * (translator.max_tokens + 1)))


def test_samples_are_as_many_as_asked_and_ordered(translator):
    search = Search(sampling=Sampling(temperature=3.0, seed=3, n_samples=5))
    samples = translator.candidates("The cat eats.", search=search)
    scores = [each.score for each in samples]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    assert bits(translator.translate("The cat eats.", search=search)) == bits(samples[0])


def test_a_trace_labels_rows_by_what_went_in_and_knows_what_came_out(translator):
    trace = translator.trace("The cat sat on the mat.")
    assert trace.text == "Die Katze saß auf der Matte."
    assert trace.source_text == "The cat sat on the mat."
    assert trace.target.ids[0] == BOS
    assert trace.predictions.ids[-1] == EOS
    assert trace.target.ids[1:] == trace.predictions.ids[:-1]
    config = translator.model.config
    assert trace.layers("encoder") == tuple(range(config.n_encoder_layers))
    assert trace.layers("decoder") == trace.layers("cross") == tuple(range(config.n_decoder_layers))
    cross = trace.attention("cross", layer=1)
    assert cross.weights.dtype == np.float32
    assert cross.weights.shape == (config.n_heads, len(trace.target), len(trace.source))
    assert cross.queries == trace.target
    assert cross.keys == trace.source


def test_the_recorded_pass_equals_step_by_step_decoding(translator):
    for english, _ in PAIRS:
        ways = (Search(), Search(beam=1), Search(sampling=Sampling(seed=1, temperature=1.3)))
        for search in ways:
            translation = translator.translate(english, keep_distributions=True, search=search)
            trace = translator.trace_of(translation)
            np.testing.assert_allclose(trace.log_probs, translation.log_probs, atol=1e-4)
            assert trace.predictions.ids == translation.token_ids


def test_a_given_target_is_recorded_instead_of_the_models_own(translator):
    trace = translator.trace("The cat eats.", target="Der Hund schläft.")
    assert trace.text == "Der Hund schläft."
    assert translator.tokenizer.decode(trace.predictions.ids) == "Der Hund schläft."
    own = translator.trace("The cat eats.")
    assert own.text == "Die Katze frisst."
    assert own.log_probs.sum() > trace.log_probs.sum()
    again = translator.trace("The cat eats.", target=own.text)
    for site, seen in own.maps.items():
        np.testing.assert_array_equal(again.maps[site].weights, seen.weights)


def test_threads_that_share_a_translator_each_get_their_own_sentence(translator):
    sentences = [english for english, _ in PAIRS] * 3
    expected = {english: translator.trace(english) for english in set(sentences)}
    with ThreadPoolExecutor(8) as pool:
        for english, trace in zip(sentences, pool.map(translator.trace, sentences), strict=True):
            assert trace.text == expected[english].text
            for site, seen in expected[english].maps.items():
                np.testing.assert_array_equal(trace.maps[site].weights, seen.weights)


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u200b\u00a0"])
def test_empty_text_is_refused_with_a_sentence(translator, text):
    with pytest.raises(TextError, match=r"^The (text is empty|model’s vocabulary lacks).*\.$"):
        translator.translate(text)


def test_text_beyond_the_limit_is_refused_with_how_much_of_it_fits(translator):
    long = "The cat sat on the mat. " * 50
    with pytest.raises(TextError, match=r"fill the 64 tokens that the model takes") as refused:
        translator.translate(long)
    fitting = int(re.search(r"first (\d+) characters", str(refused.value))[1])
    translator.require_room(long[:fitting])
    with pytest.raises(TextError):
        translator.require_room(long[: fitting + 1])
    with pytest.raises(TextError, match=r"target is too long"):
        translator.trace("The cat eats.", target="Die Katze frisst. " * 50)
    with pytest.raises(TextError, match="target is empty"):
        translator.trace("The cat eats.", target="  ")


def test_text_of_characters_the_vocabulary_lacks_is_refused_and_a_mixture_is_not(translator):
    with pytest.raises(TextError, match=r"lacks all of these characters"):
        translator.translate("猫が座った")
    assert translator.translate("The cat 猫 eats.").unseen == ("猫",)


def test_half_a_character_is_refused_wherever_it_stands(translator):
    for refused in (
        lambda: translator.translate("The cat \ud83d eats."),
        lambda: translator.trace("The cat eats.", target="Die \udcff"),
        lambda: translator.require_room("\ud83d"),
    ):
        with pytest.raises(TextError, match=r"contains half a character; write it anew\.$"):
            refused()


@pytest.mark.parametrize(
    "text", ["<s>", "<b>x</b>", "*a*", "$x$", "\u202eabc", "a\x00b", "👩‍👩‍👧 a"]
)
def test_text_that_looks_like_markup_or_control_is_translated_as_text(translator, text):
    assert isinstance(translator.translate(text).text, str)


def test_a_beam_out_of_range_is_refused(translator):
    with pytest.raises(DecodingError):
        translator.translate("The cat eats.", search=Search(beam=0))


def test_a_device_that_is_not_there_is_refused_with_a_sentence(checkpoint_folder):
    with pytest.raises(DeviceError, match=r"unknown; choose auto, cpu, cuda or mps\."):
        load(checkpoint_folder, device="toaster")
    with pytest.raises(DeviceError, match=r"has no device 'cuda:99'"):
        load(checkpoint_folder, device="cuda:99")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_a_gpu_sees_what_the_cpu_sees(checkpoint_folder, translator):
    on_gpu = load(checkpoint_folder, device="cuda")
    for english, _ in PAIRS:
        expected, found = translator.trace(english), on_gpu.trace(english)
        assert found.text == expected.text
        for site, seen in expected.maps.items():
            np.testing.assert_allclose(found.maps[site].weights, seen.weights, atol=1e-3)


@pytest.fixture(scope="module")
def packed(checkpoint_folder):
    """The model with weights of half precision, as shipped ones are."""
    model = load(checkpoint_folder, device="cpu")
    with torch.no_grad():
        for parameter in model.model.parameters():
            parameter.copy_(parameter.half().float())
    return model


def generated(pairs, count):
    """Sentences of the words of others, one to four words long."""
    words = sorted({word for source, _ in pairs for word in source.rstrip(".").split()})
    draw = random.Random(7)
    return [" ".join(draw.choices(words, k=draw.randint(1, 4))) + "." for _ in range(count)]


GREEDY = Search(beam=1)


def step_sizes(translator, monkeypatch):
    """The number of hypotheses of each step, appended while the model decodes."""
    sizes, step = [], translator.model.step

    def counted(tokens, state):
        sizes.append(len(tokens))
        return step(tokens, state)

    monkeypatch.setattr(translator.model, "step", counted)
    return sizes


def bits(translation):
    return translation.token_ids, translation.log_probs, translation.score, translation.text


@needs_rows_apart
@pytest.mark.slow
def test_hundreds_of_sentences_are_translated_alike_to_the_bit_alone_and_in_batches(
    packed, monkeypatch
):
    sentences = generated(PAIRS, 300)
    alone = {text: bits(packed.translate(text)) for text in dict.fromkeys(sentences)}
    # The first batch is translated one by one as well, and so tells nothing here.
    packed.translate_batch(sentences[:2])
    monkeypatch.setattr(packed, "translate", None)
    start = 0
    for size in itertools.cycle((2, 3, 5, 8, 16)):
        batch = sentences[start : start + size]
        assert [bits(each) for each in packed.translate_batch(batch)] == [
            alone[text] for text in batch
        ]
        start += size
        if start >= len(sentences):
            break


@needs_rows_apart
@pytest.mark.parametrize(
    "search",
    [
        Search(beam=1),
        Search(sampling=Sampling(seed=3, temperature=2.0, n_samples=2)),
        Search(beam=3, prefix=(7, 9)),
    ],
    ids=str,
)
def test_every_search_gives_in_a_batch_what_it_gives_alone(packed, search, monkeypatch):
    texts = [source for source, _ in PAIRS]
    alone = [bits(packed.translate(text, search=search)) for text in texts]
    for _ in range(2):
        sizes = step_sizes(packed, monkeypatch)
        assert [bits(each) for each in packed.translate_batch(texts, search=search)] == alone
    # Only the first batch may also have been translated one by one.
    assert max(sizes) > max(search.beam, search.sampling.n_samples if search.sampling else 1)


def test_a_batch_runs_under_an_intervention(packed):
    texts = [source for source, _ in PAIRS[2:4]]
    under = Intervention(masks={"cross": PRESETS["first_token"]})
    assert [bits(each) for each in packed.translate_batch(texts, under=under)] == [
        bits(packed.translate(text, under=under)) for text in texts
    ]


def test_a_model_whose_weights_are_not_packed_translates_one_by_one(translator, monkeypatch):
    assert not multiplies_rows_apart(translator.model)
    sizes = step_sizes(translator, monkeypatch)
    texts = [source for source, _ in PAIRS]
    translations = translator.translate_batch(texts, search=GREEDY)
    assert [each.text for each in translations] == [text for _, text in PAIRS]
    assert set(sizes) == {1}


@needs_packing
def test_where_the_processor_rounds_otherwise_for_more_rows_nothing_is_translated_together(
    packed, monkeypatch
):
    monkeypatch.setattr("model.paper.linear.packed_rows_are_apart", lambda: False)
    sizes = step_sizes(packed, monkeypatch)
    texts = [source for source, _ in PAIRS]
    alone = [bits(packed.translate(text, search=GREEDY)) for text in texts]
    assert [bits(each) for each in packed.translate_batch(texts, search=GREEDY)] == alone
    assert set(sizes) == {1}


@needs_packing
def test_where_a_batch_gives_another_bit_nothing_is_translated_together(packed, monkeypatch):
    # Whatever this processor does, the first batch is compared.
    monkeypatch.setattr("model.paper.linear.packed_rows_are_apart", lambda: True)
    # One that has translated no batch yet.
    model = Translator(packed.model, packed.tokenizer)
    step = model.model.step

    def rounded_otherwise(tokens, state):
        logits = step(tokens, state)
        return logits * 1.001 if len(tokens) > 1 else logits

    monkeypatch.setattr(model.model, "step", rounded_otherwise)
    texts = [source for source, _ in PAIRS]
    alone = [bits(model.translate(text, search=GREEDY)) for text in texts]
    for is_compared in (True, False):
        sizes = step_sizes(model, monkeypatch)
        assert [bits(each) for each in model.translate_batch(texts, search=GREEDY)] == alone
        assert (max(sizes) > 1) == is_compared


def test_a_batch_is_refused_for_any_text_that_cannot_be_translated(packed, translator):
    for model in (packed, translator):
        with pytest.raises(TextError, match="The text is empty"):
            model.translate_batch(["The cat eats.", " "])
    assert packed.translate_batch([]) == []


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_numbers_of_other_types_translate_and_say_so(checkpoint_folder: Path, dtype: str) -> None:
    coarse = load(checkpoint_folder, device="cpu", dtype=dtype)
    trace = coarse.trace("The cat eats.")
    assert (trace.text, trace.provenance.dtype) == ("Die Katze frisst.", dtype)
    exact = coarse.to("cpu", dtype="float32")
    assert exact is coarse
    assert exact.trace("The cat eats.").provenance.dtype == "float32"
    with pytest.raises(DeviceError, match="choose one of float32, bfloat16, float16"):
        coarse.to(dtype="float8")
    with pytest.raises(DeviceError, match="no device 'mps'"):
        coarse.to("mps")
