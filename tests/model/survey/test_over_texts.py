"""Effects and averages over many texts: their numbers, and runs that go on where they stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu

from model.arguments import UnknownNameError
from model.explain.facts import facts_of
from model.explain.head_ablation import effects_of
from model.paper.search import Search
from model.record.intervention import Intervention
from model.survey.over_texts import average, effects
from model.survey.part import SurveyError
from model.trace.attention_map import Site, TraceError
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.translate.translator import Translator

TEXTS = ["The cat eats.", "The dog sleeps.", "The man sees the dog."]
REFERENCES = ["Die Katze frisst.", "Ein Hund schläft.", "Der Mann sieht den Hund."]
CROSS = Site.of("cross.1")


def test_losses_are_means_over_the_texts_with_the_standard_error(translator: Translator) -> None:
    found = effects(translator, TEXTS)
    each = [effects_of(translator, translator.trace(text)).of()[CROSS] for text in TEXTS]
    np.testing.assert_allclose(found.mean[CROSS], np.mean(each, axis=0), atol=1e-5)
    error = np.std(each, axis=0, ddof=1) / 3**0.5
    np.testing.assert_allclose(found.error[CROSS], error, atol=1e-5)
    np.testing.assert_allclose(found.high[CROSS] - found.mean[CROSS], 1.96 * error, atol=1e-4)
    assert np.isnan(effects(translator, TEXTS[:1]).error[CROSS]).all()


def test_losses_are_of_the_search_the_intervention_and_the_target(translator: Translator) -> None:
    under = Intervention(heads={("encoder", 0, 1): 0, ("cross", 1, 2): 0})
    found = effects(translator, TEXTS, under=under, search=Search(beam=1))
    trace = translator.trace(TEXTS[2], search=Search(beam=1), under=under)
    both = replace(under, heads={**under.heads, ("cross", 1, 3): 0})
    without = translator.trace(TEXTS[2], trace.text, under=both)
    assert trace.log_probs is not None
    assert without.log_probs is not None
    loss = float(trace.log_probs.sum() - without.log_probs.sum())
    assert found.values[CROSS][2, 3] == pytest.approx(loss, abs=1e-4)
    # A head that is off already loses nothing.
    assert found.mean[CROSS][2] == pytest.approx(0, abs=1e-5)
    given = effects(translator, TEXTS, REFERENCES).values[CROSS][1]
    own = effects_of(translator, translator.trace(TEXTS[1], REFERENCES[1])).of()[CROSS]
    np.testing.assert_allclose(given, own, atol=1e-5)


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_scores_are_those_of_sacrebleu_without_each_head(
    translator: Translator, metric: Any, tmp_path: Path
) -> None:
    found = effects(translator, TEXTS, metric=metric, references=REFERENCES)
    score = {"bleu": sacrebleu.corpus_bleu, "chrf": sacrebleu.corpus_chrf}[metric]
    whole = [translator.translate(text).text for text in TEXTS]
    for head in (Head(CROSS, 0), Head(Site.of("encoder.0"), 2)):
        under = Intervention(heads={head: 0})
        without = [translator.translate(text, under=under).text for text in TEXTS]
        drop = score(whole, [REFERENCES]).score - score(without, [REFERENCES]).score
        assert found.mean[head.site][head.number] == pytest.approx(drop)
        low, high = (ends[head.site][head.number] for ends in (found.low, found.high))
        assert low <= high
        assert (low == high) == (whole == without)


def test_an_interrupted_run_goes_on_where_it_stopped(
    translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = effects(translator, TEXTS, metric="bleu")
    asked: list[str] = []
    stopped: list[str] = []
    translate = Translator.translate

    def stopping(self: Translator, text: str, **how: Any) -> Any:
        if text == TEXTS[2] and not stopped:
            stopped.append(text)
            raise KeyboardInterrupt
        asked.append(text)
        return translate(self, text, **how)

    monkeypatch.setattr(Translator, "translate", stopping)
    with pytest.raises(KeyboardInterrupt):
        effects(translator, TEXTS, metric="bleu", keep=tmp_path)
    assert set(asked) == {*TEXTS[:2]}
    asked.clear()
    found = effects(translator, TEXTS, metric="bleu", keep=tmp_path)
    assert set(asked) == {TEXTS[2]}
    for site, means in whole.mean.items():
        np.testing.assert_array_equal(found.mean[site], means)
    # chrF is of the same translations; another search is not.
    asked.clear()
    effects(translator, TEXTS, metric="chrf", keep=tmp_path)
    assert asked == []
    effects(translator, TEXTS[:1], metric="chrf", keep=tmp_path, search=Search(beam=1))
    assert asked != []


@pytest.mark.slow
def test_other_processes_find_the_same(translator: Translator, checkpoint_folder: Path) -> None:
    here = average(translator, TEXTS, "entropy")
    translator.folder = checkpoint_folder
    shared = average(translator, TEXTS, "entropy", workers=2)
    translator.folder = None
    np.testing.assert_array_equal(here.mean[CROSS], shared.mean[CROSS])
    with pytest.raises(SurveyError, match="leave workers and scheduler out"):
        average(translator, TEXTS, "entropy", workers=2)


def test_an_average_is_of_any_measure(translator: Translator) -> None:
    found = average(translator, TEXTS, "entropy")
    traces = [*translator.trace(TEXTS)]
    each = [facts_of(trace.maps)[CROSS]["entropy"] for trace in traces]
    np.testing.assert_allclose(found.mean[CROSS], np.mean(each, axis=0))

    def largest(trace: Trace) -> list[float]:
        weights = [trace.maps[head.site].weights[head.number] for head in trace.heads]
        # One text does not tell.
        return [float("nan") if "dog s" in trace.source_text else each.max() for each in weights]

    own = average(translator, TEXTS, largest)
    assert own.quantity == "largest"
    expected = np.mean([trace.maps[CROSS].weights[2].max() for trace in (traces[0], traces[2])])
    assert own.mean[CROSS][2] == pytest.approx(expected)
    with pytest.raises(TypeError, match="name of a measure"):
        average(translator, TEXTS, largest, keep="somewhere")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"sentence": []}, "no texts"),
        ({"sentence": ["The cat.", " "]}, "Text 2: The text is empty"),
        ({"metric": "blue"}, "There is no metric 'blue'. Did you mean bleu"),
        ({"target": ["a"]}, "as many of both"),
        ({"metric": "bleu", "references": ["a"]}, "as many of both"),
        ({"metric": "bleu", "target": REFERENCES}, "give references, not a target"),
        ({"references": REFERENCES}, "give target, not references"),
        ({"sentence": "The cat.", "metric": "bleu"}, "give a list of texts"),
    ],
)
def test_what_does_not_go_together_is_refused(
    translator: Translator, asked: dict[str, Any], said: str
) -> None:
    with pytest.raises((TextError, UnknownNameError), match=said):
        effects(translator, **({"sentence": TEXTS} | asked))


def test_a_trace_gives_its_effects_unless_it_is_another_models(translator: Translator) -> None:
    trace = translator.trace(TEXTS[0])
    np.testing.assert_allclose(
        effects(translator, trace).losses[CROSS], effects(translator, TEXTS[0]).losses[CROSS]
    )
    other = replace(trace, provenance=replace(trace.provenance, model="other", weights="f" * 64))
    known = Translator(translator.model, translator.tokenizer, name="mine")
    with pytest.raises(TraceError, match=r"^trace is of the model other \(ffffffff\), and .*mine"):
        effects(known, other)
