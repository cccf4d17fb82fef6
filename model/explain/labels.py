"""Labels of heads: what new sentences earned them, by model.explain.label_rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from model.brief import Brief
from model.explain.head_numbers import telling_facts
from model.explain.head_rows import Values
from model.explain.head_rules import HeadRules, RuleFinding
from model.explain.label_rules import (
    HALF,
    MIN_PASSING,
    MIN_SENTENCES,
    OFTEN,
    PAIRS_TOKENS,
    RULE,
    RULES,
    SHARP,
    wilson,
)
from model.explain.measures import Facts
from model.explain.source_measures import ON_SOURCE, on_sources, pairing
from model.trace.attention_map import AttentionKind, AttentionMap, Site
from model.trace.head import Head
from model.trace.trace import Trace

_DIGITS = 4
"""Of stored numbers."""

HeadValues = Mapping[str, Values]
"""The values of one head by measure, one for each sentence that can tell, (sentence,)."""


NO_LABEL = f"No label: no pattern holds reliably in {MIN_PASSING:.0%} of {MIN_SENTENCES} sentences."


@dataclass(frozen=True, slots=True)
class Label:
    """A head's behaviour in words.

    Attributes:
        text: such as "looks at the previous token"; without a label the nearest one with its
            number: "often the previous token, 43%".
        reason: a sentence with the numbers.
        earned: whether it is a label.
        share: the share of sentences in which it holds, "94% of 500 sentences (92–96%)", with the
            95% interval; empty without a label.
        telling: how well the head pairs tokens, from 0 (or a little below) to 1: its weight on a
            token's source beyond chance or, if unknown, the mutual information of row and key as a
            share of its maximum.
        measure: the key of the measure that the text is about; empty if it is about none.
        is_rule: whether the text says the head's rule, as model.explain.head_rules has it.
    """

    text: str
    reason: str
    earned: bool = True
    share: str = ""
    telling: float = 0.0
    measure: str = ""
    is_rule: bool = False

    @property
    def says(self) -> bool:
        """Whether the text says what the head does, by a label or by its rule."""
        return self.earned or self.is_rule


@dataclass(frozen=True, slots=True)
class Finding(Brief):
    """The findings of a survey on one head: the means of measures that enough sentences can tell.

    The label is the measure of the earned rule, None for none. Of the sentences that can tell for
    this rule, the passing ones reach the threshold.
    """

    means: Mapping[str, float]
    label: str | None = None
    sentences: int = 0
    passing: int = 0

    @classmethod
    def of(cls, values: HeadValues) -> Self:
        """The findings from the values of each sentence."""
        means = {
            key: round(float(each.mean()), _DIGITS)
            for key, each in values.items()
            if len(each) >= MIN_SENTENCES
        }
        for rule in RULES:
            own = values.get(rule.measure, np.empty(0))
            if rule.is_earned(own):
                passing = int(np.count_nonzero(own >= rule.least))
                return cls(means, rule.measure, len(own), passing)
        return cls(means)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval around the share of sentences in which the label holds."""
        return wilson(self.passing, self.sentences)

    @property
    def share(self) -> str:
        """The share of an earned label, such as "94% of 500 sentences (92–96%)"."""
        low, high = self.interval
        share = _percent(self.passing / self.sentences)
        return f"{share} of {self.sentences:,} sentences ({100 * low:.0f}–{high:.0%})"

    @property
    def in_words(self) -> Label | None:
        """The label, or the nearest one; None if too few sentences can tell."""
        if not self.means:
            return None
        telling = max(
            (self.means[measure.key] for measure in ON_SOURCE if measure.key in self.means),
            default=self.means.get("pairing", 0.0),
        )
        if self.label is None:
            nearest, measure = _nearest(self.means)
            return Label(nearest, NO_LABEL, earned=False, telling=telling, measure=measure)
        rule = RULE[self.label]
        reason = rule.wording.format(mean=_percent(self.means[self.label]), share=self.share)
        return Label(rule.text, reason, share=self.share, telling=telling, measure=self.label)


@dataclass(frozen=True, slots=True)
class Sample:
    """The sentences of a survey, none of which is an example of the model, with their licence."""

    data: str
    licence: str
    sentences: int


@dataclass(frozen=True, slots=True)
class Survey(Brief):
    """The findings on every head of a model over new sentences, by site, as in labels.json.

    A head without a label is described by its rule, if it has one.
    """

    sample: Sample
    heads: Mapping[Site, tuple[Finding, ...]]
    rules: HeadRules | None = None

    @property
    def labels(self) -> Mapping[Site, tuple[Label | None, ...]]:
        """For each site, an entry for each head; read-only."""
        return MappingProxyType(
            {
                site: tuple(
                    self._in_words(Head(site, number), head) for number, head in enumerate(heads)
                )
                for site, heads in self.heads.items()
            }
        )

    def _in_words(self, place: Head, finding: Finding) -> Label | None:
        label = finding.in_words
        rule = None if self.rules is None else self.rules.heads.get(place)
        if rule is None or (label is not None and label.earned):
            return label
        telling = label.telling if label else 0.0
        return _by_rule(rule, telling=telling)

    @property
    def n_heads(self) -> int:
        """The number of heads of the whole model."""
        return sum(map(len, self.heads.values()))

    @property
    def earned(self) -> list[tuple[Site, int, Finding]]:
        """Site, head and finding of every head with a label, by site."""
        return [
            (site, head, finding)
            for site, heads in sorted(self.heads.items())
            for head, finding in enumerate(heads)
            if finding.label is not None
        ]

    def to_json(self) -> dict[str, Any]:
        """The content of labels.json."""
        return {
            "sample": asdict(self.sample),
            "heads": {
                str(site): [_to_json(head) for head in heads] for site, heads in self.heads.items()
            },
        }

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """The inverse of `to_json`; raises ValueError for anything else, or an unearned label."""
        try:
            sample = Sample(**content["sample"])
            heads = {
                site: tuple(_from_json(site.kind, each) for each in findings)
                for name, findings in content["heads"].items()
                for site in [site_named(name)]
            }
        except (AttributeError, KeyError, OverflowError, TypeError) as error:
            raise ValueError("a field is missing or of another kind") from error
        texts = (sample.data, sample.licence)
        if not all(isinstance(text, str) and text.strip() for text in texts):
            raise ValueError("it does not say what the sentences were")
        if type(sample.sentences) is not int or sample.sentences < MIN_SENTENCES:
            raise ValueError(f"it is of fewer than {MIN_SENTENCES} sentences")
        every = [head for findings in heads.values() for head in findings]
        if not every or any(head.sentences > sample.sentences for head in every):
            raise ValueError("its numbers of sentences disagree")
        return cls(sample, heads)


def survey(
    recorded: Iterable[tuple[Trace, Mapping[int, int]]], *, enough: int | None = None
) -> Mapping[Site, tuple[HeadValues, ...]]:
    """The values of the measures of labels, for each site an entry for each head.

    Args:
        recorded: traces of one model, of different sentences, each with its tokens' sources from
            model.explain.source_rows.token_sources. They are read one by one, so they need not fit
            into memory together.
        enough: for each measure and head, keep the first sentences that can tell, this many, and
            stop reading once all have them. None keeps all.

    Raises:
        ValueError: if the number of a site's heads differs between traces.
    """
    by_site: dict[Site, dict[str, list[Values]]] = {}
    counts: dict[tuple[Site, str], NDArray[np.intp]] = {}
    for read, (trace, sources) in enumerate(recorded, start=1):
        for site, attention in trace.maps.items():
            n_heads = attention.n_heads
            columns = by_site.setdefault(site, {key: [] for key in _SURVEYED})
            before = columns["pairing"][-1:]
            if before and len(before[0]) != n_heads:
                lowest, highest = sorted((len(before[0]), n_heads))
                raise ValueError(
                    f"{site} has {lowest} heads in one trace and {highest} in another; give traces "
                    "of one model."
                )
            facts = telling_facts(attention)
            unknown, zeros = np.full(n_heads, np.nan), np.zeros(n_heads, np.intp)
            facts = {} if facts is None else facts | on_sources(attention, sources)
            for key in _SURVEYED:
                values = facts.get(key, unknown)
                columns[key].append(values)
                counts[site, key] = ~np.isnan(values) + counts.get((site, key), zeros)
        if enough is not None and read >= enough:
            measured = [each for each in counts.values() if each.any()]
            if all((each >= enough).all() for each in measured):
                break
    return {
        site: tuple(
            {key: _known(values, head, enough) for key, values in columns.items()}
            for head in range(len(columns["pairing"][0]))
        )
        for site, columns in sorted(by_site.items())
    }


_SURVEYED = ("pairing", *RULE)
"""The measures of a survey."""


def _known(sentences: Sequence[Values], head: int, enough: int | None) -> Values:
    values = np.array([each[head] for each in sentences])
    return values[~np.isnan(values)][:enough]


def opening_heads(
    maps: Mapping[Site, AttentionMap],
    labels: Mapping[Site, tuple[Label | None, ...]],
    facts: Facts | None = None,
) -> dict[AttentionKind, tuple[int, int]]:
    """The most telling head of each kind of attention, to open first, as (layer, head).

    Heads with a label that pairs tokens come first; among these, or among all if there are none,
    the largest `Label.telling` wins. Without labels, it is the head with the largest mutual
    information of row and key, which the measure "pairing" scales: it is low both for a head that
    spreads its weight evenly and for one that rests on one token. The first of equal heads wins.

    Args:
        maps: of one trace.
        labels: of a `Survey`, by site; sites may be absent.
        facts: of model.explain.measures.facts_of, if they are known: they spare the work.

    Returns:
        for each kind, the layer's index among the trace's layers of that kind, then the head.
    """
    opening = {}
    for kind in dict.fromkeys(site.kind for site in maps):
        sites = sorted(site for site in maps if site.kind is kind)
        surveyed = {
            (place, head): (label.earned and label.text in PAIRS_TOKENS, label.telling)
            for place, site in enumerate(sites)
            for head, label in enumerate(labels.get(site, ()))
            if label is not None
        }
        opening[kind] = (
            max(surveyed, key=lambda head: surveyed[head])
            if surveyed
            else _most_telling([maps[site] for site in sites], facts or {})
        )
    return opening


def _most_telling(layers: Sequence[AttentionMap], facts: Facts) -> tuple[int, int]:
    """The layer and the head with the largest mutual information of row and key."""
    known = [facts.get(each.site, {}).get("entropy") for each in layers]
    found = [pairing(each, entropy) for each, entropy in zip(layers, known, strict=True)]
    values = [np.nan_to_num(each, nan=-1) for each in found]
    layer = int(np.argmax([each.max(initial=-1) for each in values]))
    return layer, int(np.argmax(values[layer])) if len(values[layer]) else 0


def _nearest(means: Mapping[str, float]) -> tuple[str, str]:
    """The nearest label of a head without one, "often the previous token, 43%", and its measure."""
    places = [rule for rule in RULES if rule.place and rule.measure in means]
    most = max(places, key=lambda rule: means[rule.measure], default=None)
    if most is not None and means[most.measure] >= OFTEN:
        mean = means[most.measure]
        often = "mostly" if mean >= HALF else "often"
        return f"{often} {most.place}, {_percent(mean)}", most.measure
    if "entropy_share" in means:
        spread = _percent(means["entropy_share"])
        place = "no single place" if means["entropy_share"] > SHARP else "mostly one token per row"
        return f"{place}, {spread} of the greatest entropy", "entropy_share"
    return "no single place", ""


def _percent(share: float) -> str:
    """Whole percent, except where that would round up to 100%."""
    return f"{share:.1%}" if 0.995 <= share < 1 else f"{share:.0%}"


def site_named(name: str) -> Site:
    """The site of a name such as "cross.3"; raises ValueError for other names."""
    kind, layer = name.split(".")
    return Site(AttentionKind(kind), int(layer))


def _to_json(head: Finding) -> dict[str, Any]:
    means = dict(head.means)
    if head.label is None:
        return {"means": means}
    return {
        "label": head.label,
        "sentences": head.sentences,
        "passing": head.passing,
        "interval": [round(end, _DIGITS) for end in head.interval],
        "means": means,
    }


def _from_json(kind: AttentionKind, content: Mapping[str, Any]) -> Finding:
    means = dict(content["means"])
    if not all(isinstance(mean, float | int) and -1 <= mean <= 1.01 for mean in means.values()):
        raise ValueError("a mean is out of range")
    rule = RULE.get(content["label"]) if "label" in content else None
    # A rule of another version has no words here, and so labels no head here.
    if rule is None:
        return Finding(means)
    count, passing = content["sentences"], content["passing"]
    if kind not in rule.kinds:
        raise ValueError("a label is of another kind of attention")
    if type(count) is not int or type(passing) is not int or not 0 <= passing <= count:
        raise ValueError("a number of sentences is out of range")
    finding = Finding(means, rule.measure, count, passing)
    interval = content["interval"]
    if np.shape(interval) != (2,) or not np.allclose(interval, finding.interval, atol=10**-_DIGITS):
        raise ValueError("an interval is not that of its numbers")
    if (
        count < MIN_SENTENCES
        or finding.interval[0] < MIN_PASSING
        or means.get(rule.measure, 0) < rule.least
    ):
        raise ValueError("a label in it is not earned by its own numbers")
    return finding


def labels_by_rules(rules: HeadRules) -> dict[Site, tuple[Label | None, ...]]:
    """The labels of a model whose heads have rules and no other measurements."""
    counts: dict[Site, int] = {}
    for head in rules.heads:
        counts[head.site] = max(counts.get(head.site, 0), head.number + 1)
    found = {head: _by_rule(rule) for head, rule in rules.heads.items()}
    return {
        site: tuple(found.get(Head(site, number)) for number in range(count))
        for site, count in counts.items()
    }


def _by_rule(rule: RuleFinding, telling: float = 0.0) -> Label:
    return Label(rule.text, rule.reason, earned=False, telling=telling, is_rule=True)
