"""One word against another: both probabilities, each head and each source token alone."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from model.contrast.contrast import contrast, contrast_of
from model.contrast.pairs import pair_of, rivals, spelled
from model.explain.deletion import deletion_losses
from model.explain.head_ablation import effects_of
from model.paper.log_probs import unsayable
from model.paper.tokenizer import UNK
from model.record.head_editing import editing_heads
from model.translate.sentences import TextError
from model.translate.translator import Translator
from tests.model.contrast.conftest import TARGET, TEXT, Case


def judged(translator: Translator, trace: Any, pair: Any, heads: Any) -> Any:
    """The two log-probabilities in a pass of its own, and the id of the likeliest token."""
    source, target, _ = translator.trace_ids(trace)
    with torch.inference_mode(), editing_heads(heads):
        logits = translator.model(source, target)[0, pair.step]
    likeliest = logits + unsayable(translator.model.config, translator.device)
    return logits.log_softmax(dim=-1)[list(pair.ids)].numpy(), likeliest.argmax().item()


def test_each_head_alone_gives_what_a_pass_without_it_gives(case: Case) -> None:
    translator, trace, pair = case
    found = contrast_of(*case)
    whole, _ = judged(translator, trace, pair, {})
    np.testing.assert_allclose(found.log_probs, whole, atol=1e-5)
    for site, without in found.without.items():
        for head, both in enumerate(without):
            alone, likeliest = judged(translator, trace, pair, {(site, head): 0})
            np.testing.assert_allclose(both, alone, atol=1e-5)
            assert found.likeliest[site].ids[head] == likeliest


def test_the_loss_of_a_word_alone_is_that_of_the_effects(case: Case) -> None:
    translator, trace, pair = case
    found, effects = contrast_of(*case), effects_of(translator, trace)
    for site, losses in effects.losses.items():
        own = found.log_probs[0] - found.without[site][:, 0]
        np.testing.assert_allclose(own, losses[:, pair.step], atol=1e-5)


def test_swapping_the_words_turns_every_sign(case: Case) -> None:
    translator, trace, pair = case
    one = contrast_of(*case)
    other = contrast_of(translator, trace, replace(pair, ids=pair.ids[::-1]))
    assert one.difference == pytest.approx(-other.difference)
    for site, losses in one.losses.items():
        np.testing.assert_allclose(losses, -other.losses[site], atol=1e-5)


def test_a_deleted_token_costs_the_word_what_deletion_says(case: Case) -> None:
    translator, trace, pair = case
    found = contrast_of(*case)
    lost = found.log_probs[0] - found.deleted[:, 0]
    np.testing.assert_allclose(lost, deletion_losses(translator, trace)[pair.step], atol=1e-5)


def test_the_likeliest_tokens_are_those_of_the_distribution(translator: Translator) -> None:
    trace = translator.trace(TEXT, TARGET)
    found = rivals(translator, trace, 1)
    assert len(found.tokens) == 10
    assert found.tokens.ids[0] == trace.predictions.ids[1]
    assert (np.diff(found.probabilities) <= 0).all()
    assert found.probabilities[0] == pytest.approx(np.exp(trace.log_probs[1]), abs=1e-5)


def test_a_likeliest_token_is_taken_as_it_is(translator: Translator) -> None:
    trace = translator.trace(TEXT, TARGET)
    for piece in rivals(translator, trace, 1).tokens.tokens[1:]:
        pair = pair_of(translator, trace, 1, spelled(piece))
        assert pair.step == 1
        assert pair.ids[0] == trace.predictions.ids[1]
        assert spelled(translator.target_tokens([pair.ids[1]]).tokens[0]) == spelled(piece)


def test_a_typed_word_is_judged_where_it_first_differs(translator: Translator) -> None:
    trace = translator.trace(TEXT, TARGET)
    word = translator.target_ids("Katze")
    other = translator.target_ids("Kater")
    shared = next(n for n, (a, b) in enumerate(zip(word, other, strict=False)) if a != b)
    start = trace.predictions.ids.index(word[0], 1)
    pair = pair_of(translator, trace, start, "Kater")
    if shared:
        assert pair.step == start + shared
    assert pair.ids == (trace.predictions.ids[pair.step], other[pair.step - start])


def test_a_beginning_of_the_word_is_judged_against_what_would_follow(
    translator: Translator,
) -> None:
    trace = translator.trace(TEXT, "Die Katzen saß.")
    place = 1
    pair = pair_of(translator, trace, place, "Katze")
    start = translator.target_ids("Die Katze saß.")
    assert pair.ids[1] == start[pair.step]
    assert trace.predictions.ids[: pair.step] == tuple(start[: pair.step])


def test_the_end_of_the_text_has_a_name_beside_another_word(translator: Translator) -> None:
    trace = translator.trace(TEXT)
    end = len(trace.predictions) - 1
    pair = pair_of(translator, trace, end, "Katze")
    assert (pair.step, pair.word, pair.other) == (end, "</s>", "Katze")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("Katze", "is what the translation has"),
        ("猫", "vocabulary lacks"),
    ],
)
def test_what_cannot_be_another_word_is_refused(
    translator: Translator, other: str, said: str
) -> None:
    with pytest.raises(TextError, match=said):
        contrast(translator, TEXT, "Katze", other, TARGET)


def test_a_word_that_the_translation_lacks_is_refused(translator: Translator) -> None:
    with pytest.raises(TextError, match="has no word “Hund”"):
        contrast(translator, TEXT, "Hund", "Katze", TARGET)
    with pytest.raises(IndexError, match="no target token 99"):
        contrast(translator, TEXT, 99, "Hund", TARGET)


def test_the_words_are_named_as_people_write_them(translator: Translator) -> None:
    found = contrast(translator, TEXT, "Katze", "Hund", TARGET)
    assert (found.word, found.other) == ("Katze", "Hund")
    assert found.text == TARGET
    assert found.difference > 0
    assert UNK not in found.pieces.ids
