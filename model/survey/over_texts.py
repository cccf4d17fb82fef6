"""What each head does over many texts: kept in a folder, resumed, and shared by processes.

    found = effects(translator, texts, metric="bleu", references=references, keep="runs/effects")
    found.frame()

Everything runs as a survey's parts do (model.survey.running).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack, cast, get_args, overload

import numpy as np

from model.arguments import unknown
from model.brief import brief
from model.explain.ablation_results import Effects
from model.explain.facts import facts_of
from model.explain.head_ablation import effects_of
from model.explain.head_averages import HeadAverages
from model.explain.measures import MEASURES
from model.paper.search import Search
from model.record.intervention import UNCHANGED, Intervention
from model.survey.rule_costs import log_probs_of
from model.survey.running import ANSWERED
from model.survey.text_runs import Item, Running, asked, items_of, traces
from model.survey.text_scores import TextScore, counts_of, resampled, score_of
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.translate.translator import Translator

Metric = Literal["log_probability", "bleu", "chrf"]

METRICS = get_args(Metric)


@overload
def effects(
    translator: Translator,
    sentence: str | Trace,
    target: str | None = ...,
    *,
    search: Search | None = ...,
) -> Effects: ...


@overload
def effects(
    translator: Translator,
    sentence: list[str] | tuple[str, ...],
    target: Sequence[str] | None = ...,
    *,
    search: Search | None = ...,
    under: Intervention = ...,
    metric: Metric = ...,
    references: Sequence[str] | None = ...,
    **how: Unpack[Running],
) -> HeadAverages: ...


def effects(
    translator: Translator,
    sentence: str | Trace | Sequence[str],
    target: str | Sequence[str] | None = None,
    *,
    search: Search | None = None,
    under: Intervention = UNCHANGED,
    metric: str = "log_probability",
    references: Sequence[str] | None = None,
    **how: Unpack[Running],
) -> Effects | HeadAverages:
    """The losses without each head: of a sentence's tokens, or of several texts on average.

    Args:
        sentence: a text, a trace of one without an intervention, or several texts.
        target: its translation, or one for each text; None for the model's own.
        search: the method of decoding; None for the model's own.
        under: what is changed in all runs; several texts only.
        metric: of several texts: "log_probability", what the translation's log-probability loses
            without the head, in nats; or "bleu" or "chrf", what the score of the translations that
            the model writes without the head loses, in points.
        references: of BLEU and chrF, one for each text; None for the model's own translations.
        how: of several texts, as in `Running`.

    Raises:
        TextError: as `Translator.trace`, and if there is no text, or not one target or reference
            for each.
        TraceError: if a trace is another model's.
        SurveyError: if other processes are wanted without Dask or without the model's folder.
    """
    if isinstance(sentence, str | Trace):
        if (under, metric, references, how) != (UNCHANGED, "log_probability", None, {}):
            raise TextError("One text gives losses of its tokens; for more, give a list of texts.")
        if isinstance(sentence, str):
            sentence = translator.trace(sentence, cast("str | None", target), search=search)
        return effects_of(translator, sentence)
    search = search or translator.search
    of_run = translator.provenance_of(repr(search), under)
    if metric not in METRICS:
        raise unknown("metric", metric, METRICS)
    items = items_of(translator, sentence, target)
    texts = [text for text, _ in items]
    if metric == "log_probability":
        if references is not None:
            raise TextError("Log-probabilities are of a target; give target, not references.")
        losses = asked(Losses(search, under), items, [translator], "effects", ANSWERED, how)
        return HeadAverages.over(
            metric, texts, translator.heads, np.array(losses), provenance=of_run
        )
    if target is not None:
        raise TextError(f"{metric} judges what the model writes; give references, not a target.")
    if references is not None and len(references) != len(texts):
        raise TextError("Each text needs its own reference; give as many of both.")
    # Each text is translated once for each head.
    written = asked(Translations(search, under), items, [translator], "effects", 1, how)
    whole, *without = zip(*written, strict=True)
    expected = list(whole if references is None else references)
    score = cast("TextScore", metric)
    # (head, text, count)
    counts = np.array([counts_of(score, each, expected) for each in (whole, *without)])

    def drops(sample: Any) -> list[float]:
        first, *others = (score_of(score, each) for each in counts[:, sample].sum(axis=1))
        return [first - other for other in others]

    drawn = resampled(len(texts), drops)
    error = drawn.std(axis=0, ddof=1) if len(texts) > 1 else np.full(drawn.shape[1], np.nan)
    estimates = np.array(drops(slice(None))), error, *np.quantile(drawn, [0.025, 0.975], axis=0)
    return HeadAverages.estimated(metric, texts, translator.heads, estimates, provenance=of_run)


def average(
    translator: Translator,
    texts: Sequence[str],
    measure: str | Callable[[Trace], Sequence[float]],
    *,
    search: Search | None = None,
    under: Intervention = UNCHANGED,
    **how: Unpack[Running],
) -> HeadAverages:
    """The mean of a measure over the traces of several texts, with its error, for every head.

    Args:
        measure: its name, such as "entropy", or a function of a trace that gives a number for each
            of `trace.heads`, in this process and without `keep`; NaN where it cannot be told.
        search: the method of decoding; None for the model's own.
        under: what is changed in all runs.
        how: as in `Running`.

    Raises:
        UnknownNameError: if there is no such measure.
        TextError, SurveyError: as `effects`.
    """
    known = [each.key for each in MEASURES if each.of is not None]
    if isinstance(measure, str) and measure not in known:
        raise unknown("measure", measure, known)
    if callable(measure) and {*how} - {"progress"}:
        raise TypeError(
            "A function's numbers are not kept; give the name of a measure, or no keep."
        )
    items, search = items_of(translator, texts), search or translator.search
    found = asked(Measured(measure, search, under), items, [translator], "average", ANSWERED, how)
    name = measure if isinstance(measure, str) else measure.__name__
    numbers = np.array(found, dtype=np.float64)
    of_run = translator.provenance_of(repr(search), under)
    return HeadAverages.over(name, texts, translator.heads, numbers, provenance=of_run)


@dataclass(frozen=True, slots=True)
class Losses:
    """What the log-probability of each translation loses without each head."""

    search: Search
    under: Intervention

    def __call__(self, items: Sequence[Item], translator: Translator) -> list[Any]:
        """The losses, (item, head)."""
        losses = []
        for trace in traces(items, translator, self.search, self.under):
            if self.under == UNCHANGED:
                losses.append(np.concatenate([*effects_of(translator, trace).of().values()]))
            else:
                runs = [self.under, *_without_each(self.under, translator)]
                whole, *without = log_probs_of(translator, trace, runs)
                losses.append(whole - np.array(without))
        return [each.tolist() for each in losses]


@dataclass(frozen=True, slots=True)
class Translations:
    """The translations of each text with every head, then without each."""

    search: Search
    under: Intervention

    def __call__(self, items: Sequence[Item], translator: Translator) -> list[Any]:
        """The translations, (item, 1 + head)."""
        each = [self.under, *_without_each(self.under, translator)]
        return [
            [translator.translate(text, search=self.search, under=under).text for under in each]
            for text, _ in items
        ]


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure of each head on each text."""

    measure: str | Callable[[Trace], Sequence[float]]
    search: Search
    under: Intervention

    def __call__(self, items: Sequence[Item], translator: Translator) -> list[Any]:
        """The measures, (item, head)."""
        return [
            [*map(float, self._of(trace))]
            for trace in traces(items, translator, self.search, self.under)
        ]

    def _of(self, trace: Trace) -> Iterable[float]:
        if callable(self.measure):
            given = np.atleast_1d(np.asarray(self.measure(trace), dtype=np.float64))
            if given.shape != (len(trace.heads),):
                raise TypeError(
                    f"measure must give a number for each of the {len(trace.heads)} heads of a "
                    f"trace; it gave {brief(given)}."
                )
            return given
        facts = facts_of(trace.maps)
        return np.concatenate(
            [
                facts[site].get(self.measure, np.full(attention.n_heads, np.nan))
                for site, attention in trace.maps.items()
            ]
        )


def _without_each(under: Intervention, translator: Translator) -> list[Intervention]:
    return [replace(under, heads={**under.heads, head: 0}) for head in translator.heads]
