"""What heads do for a translation: all of them in one batch, and each of them run alone."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.explain import head_ablation as computing
from model.explain import passes
from model.explain.ablation_results import Effects
from model.explain.head_ablation import effects_of, removal, rewritten
from model.paper.search import Search
from model.paper.transformer import Transformer
from model.record.intervention import Intervention
from model.survey.over_texts import effects
from model.trace.attention_map import Site
from model.translate.sentences import TextError
from model.translate.translator import Translator, load

Build = Callable[..., Transformer]

TEXT, TARGET = "The cat sat on the mat.", "Die Katze saß auf der Matte."
VARIANTS: dict[str, dict[str, Any]] = {
    "post-norm, the paper's": {},
    "pre-norm": {"norm": "pre"},
    "explicit formula": {"fused_attention": False},
    "additive, one module a head": {"scoring": "additive", "head_layout": "per_head"},
    "one matrix for q, k and v": {"fused_qkv": True},
    "rotary": {"positions": "rotary"},
    "ALiBi": {"positions": "alibi"},
    "T5's relative bias": {"positions": "relative_bias"},
    "a learned temperature": {"scoring": "learned_temperature"},
    "learned positions, no bias, free widths": {
        "positions": "learned",
        "attention_bias": False,
        "d_k": 8,
        "d_v": 12,
    },
    "more layers in the decoder": {"n_encoder_layers": 1, "n_decoder_layers": 3},
}


def log_probs_without(translator: Translator, site: Site, head: int) -> Any:
    under = Intervention(heads={(site, head): 0})
    return translator.trace(TEXT, TARGET, under=under).log_probs


def assert_each_alone(translator: Translator, found: Effects) -> None:
    """Every loss is that of a pass of its own."""
    before = translator.trace(TEXT, TARGET)
    np.testing.assert_allclose(found.log_probs, before.log_probs, atol=1e-5)
    assert tuple(found.losses) == translator.sites
    for site, losses in found.losses.items():
        assert losses.shape == (translator.model.config.n_heads, len(before.predictions))
        for head, loss in enumerate(losses):
            without = log_probs_without(translator, site, head)
            np.testing.assert_allclose(loss, before.log_probs - without, atol=1e-5)
    assert max(float(np.abs(each).max()) for each in found.losses.values()) > 1e-3


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
def test_all_heads_in_one_batch_lose_what_each_loses_alone(
    build: Build, translator: Translator, variant: dict[str, Any]
) -> None:
    tokenizer = translator.tokenizer
    model = build(**{"vocab_size": translator.model.config.vocab_size, **variant})
    other = Translator(model, tokenizer)
    assert_each_alone(other, effects(other, TEXT, TARGET))


def test_a_long_sentence_goes_site_by_site_and_gives_the_same(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = effects(translator, TEXT, TARGET)
    for room in (1, 100):
        monkeypatch.setattr(passes, "_TOGETHER", room)
        monkeypatch.setattr(computing, "_OUTPUT_TOGETHER", room)
        apart = effects(translator, TEXT, TARGET)
        for site, losses in together.losses.items():
            np.testing.assert_allclose(apart.losses[site], losses, atol=1e-5)


def test_without_a_target_the_models_own_translation_is_scored(translator: Translator) -> None:
    found = effects(translator, TEXT)
    own = translator.translate(TEXT)
    assert (found.source_text, found.text) == (TEXT, own.text)
    assert found.predictions.ids == own.token_ids
    np.testing.assert_allclose(found.log_probs, own.log_probs, atol=1e-4)
    with pytest.raises(TextError, match="target is empty"):
        effects(translator, TEXT, "")


def test_the_shipped_model_loses_the_same_in_a_batch_and_alone() -> None:
    shipped = load(Path(__file__).parents[3] / "checkpoints" / "en-de", device="cpu")
    found = effects(shipped, TEXT, TARGET)
    before = shipped.trace(TEXT, TARGET).log_probs
    for site, head, loss in (*found.ranked()[:4], *found.ranked()[-2:]):
        without = log_probs_without(shipped, site, head)
        assert loss == pytest.approx(float((before - without).sum()), abs=1e-4)
        np.testing.assert_allclose(found.losses[site][head], before - without, atol=1e-5)


def test_effects_are_summed_and_ranked(translator: Translator) -> None:
    found = effects(translator, TEXT, TARGET)
    for token in (None, 0, len(found.predictions) - 1):
        ranked = found.ranked(token)
        assert len({(site, head) for site, head, _ in ranked}) == 8 * 4
        assert [abs(loss) for *_, loss in ranked] == sorted(
            (abs(loss) for *_, loss in ranked), reverse=True
        )
        for site, head, loss in ranked:
            tokens = found.losses[site][head]
            assert loss == pytest.approx(sum(tokens) if token is None else tokens[token], abs=1e-5)
            assert found.of(token)[site][head] == pytest.approx(loss)
    for wrong in (-1, len(found.predictions)):
        with pytest.raises(IndexError, match=f"no target token {wrong}"):
            found.of(wrong)


def test_effects_are_frozen_and_go_to_another_process(translator: Translator) -> None:
    found = effects(translator, TEXT, TARGET)
    site = translator.sites[0]
    with pytest.raises(ValueError, match="read-only"):
        found.losses[site][0, 0] = 0
    with pytest.raises(TypeError):
        found.losses[site] = found.losses[site]  # type: ignore[index]
    again = pickle.loads(pickle.dumps(found))
    assert (again.source, again.predictions, again.text) == (
        found.source,
        found.predictions,
        found.text,
    )
    for place, losses in found.losses.items():
        np.testing.assert_array_equal(again.losses[place], losses)
    with pytest.raises(ValueError, match="read-only"):
        again.log_probs[0] = 0
    assert found.nbytes == 4 * (1 + 8 * 4) * len(found.predictions)


def test_measuring_leaves_the_model_alone(translator: Translator) -> None:
    before = translator.trace(TEXT, TARGET)
    effects_of(translator, before)
    np.testing.assert_array_equal(translator.trace(TEXT, TARGET).log_probs, before.log_probs)


def test_each_head_of_a_site_is_left_out_in_turn_when_the_model_writes_freely(
    translator: Translator,
) -> None:
    site = translator.sites[-1]
    found = rewritten(translator, TEXT, site, search=Search(beam=1))
    assert len(found) == 4
    for head, each in enumerate(found):
        under = Intervention(heads={(site, head): 0})
        alone = translator.translate(TEXT, search=Search(beam=1), under=under)
        assert (each.token_ids, each.log_probs) == (alone.token_ids, alone.log_probs)


def test_heads_are_removed_in_order_until_none_is_left(translator: Translator) -> None:
    trace = translator.trace(TEXT, TARGET)
    found = effects_of(translator, trace)
    curve = removal(translator, trace, found, steps=4, orders=3)
    assert curve.removed == (0, 8, 16, 24, 32)
    assert (curve.least_first.shape, curve.at_random.shape) == ((5,), (3, 5))
    order = sorted(found.ranked(), key=lambda each: each[2])
    for count, left in zip(curve.removed, curve.least_first, strict=True):
        under = Intervention(heads={(site, head): 0 for site, head, _ in order[:count]})
        alone = translator.trace(TEXT, TARGET, under=under).log_probs
        assert left == pytest.approx(float(alone.sum()), abs=1e-4)
    # Every order begins with all heads and ends without any.
    for place in (0, -1):
        np.testing.assert_allclose(curve.at_random[:, place], curve.least_first[place], atol=1e-4)
    again = removal(translator, trace, found, steps=4, orders=3)
    np.testing.assert_array_equal(again.at_random, curve.at_random)
    assert len({tuple(order) for order in curve.at_random.tolist()}) == 3


def test_a_long_translation_is_removed_from_in_parts(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = translator.trace(TEXT, TARGET)
    found = effects_of(translator, trace)
    whole = removal(translator, trace, found, steps=4, orders=1)
    monkeypatch.setattr(passes, "_TOGETHER", 1)
    parts = removal(translator, trace, found, steps=4, orders=1)
    np.testing.assert_allclose(parts.least_first, whole.least_first, atol=1e-4)
    np.testing.assert_allclose(parts.at_random, whole.at_random, atol=1e-4)
