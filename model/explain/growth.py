"""The growth of heads in training, as curves of their measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from model.brief import Brief
from model.explain.label_rules import RULES
from model.explain.labels import HeadValues, Label, site_named
from model.trace.attention_map import AttentionKind, FloatArray, Site

GROWN = {rule.measure: rule for rule in RULES}
"""The measures of every step, those of the labels."""

MIN_EXAMPLES = 5
"""The fewest examples for a curve."""

_DIGITS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Growth(Brief):
    """The measures of heads at several steps of one training run, ascending.

    Means over the examples are by measure and site, (head, step); nan if they cannot tell. Labels
    are by site, for each head the one that held over the examples at each step, or None.
    """

    steps: tuple[int, ...]
    means: Mapping[str, Mapping[Site, FloatArray]]
    labels: Mapping[Site, Sequence[Sequence[str | None]]]

    def of_kind(self, measure: str, kind: AttentionKind) -> dict[Site, FloatArray]:
        """The curves of one kind of attention; empty if it lacks the measure."""
        curves = {s: each for s, each in self.means.get(measure, {}).items() if s.kind is kind}
        return curves if any(np.isfinite(each).any() for each in curves.values()) else {}

    def measured_from(self, measure: str, kind: AttentionKind) -> int:
        """The index of the first step with a value of the measure for a head of the kind."""
        curves = np.concatenate(list(self.of_kind(measure, kind).values()))
        return int(np.isfinite(curves).any(axis=0).argmax())

    def measures(self, kind: AttentionKind) -> tuple[str, ...]:
        """The measures that have curves for one kind of attention."""
        return tuple(key for key in GROWN if self.of_kind(key, kind))

    def most(self, site: Site, head: int) -> str | None:
        """The measure of the place a head looks at most in the end; None for none."""
        places = [key for key in self.measures(site.kind) if GROWN[key].place]
        ends = {key: float(self.means[key][site][head][-1]) for key in places}
        return max(places, key=lambda key: np.nan_to_num(ends[key], nan=-1.0), default=None)

    def lasting_labels(self) -> Iterator[tuple[Site, int, str, int]]:
        """Site, head, label and first step of every label that a head has in the end."""
        for site, heads in self.labels.items():
            for head, labels in enumerate(heads):
                if (last := labels[-1]) is not None:
                    since = len(labels)
                    while since and labels[since - 1] == last:
                        since -= 1
                    yield site, head, last, self.steps[since]

    def with_labels(self, earned: Mapping[Site, Sequence[Label | None]]) -> Growth:
        """The growth with only the labels that heads have earned, given by site for each head."""
        labels = {
            site: [
                [text if label and label.earned and text == label.text else None for text in head]
                for head, label in zip(heads, earned.get(site, [None] * len(heads)), strict=True)
            ]
            for site, heads in self.labels.items()
        }
        return replace(self, labels=labels)

    def to_json(self) -> dict[str, Any]:
        """The content of growth.json, with numbers to three digits."""
        texts = [rule.text for rule in RULES]
        return {
            "steps": list(self.steps),
            "means": {
                key: {
                    str(site): [
                        [None if np.isnan(x) else round(float(x), _DIGITS) for x in head]
                        for head in curves
                    ]
                    for site, curves in sites.items()
                    if np.isfinite(curves).any()
                }
                for key, sites in self.means.items()
            },
            "labels": {
                str(site): [[text and texts.index(text) for text in head] for head in heads]
                for site, heads in self.labels.items()
            },
            "texts": texts,
        }

    @classmethod
    def from_json(cls, content: Any) -> Growth:
        """The inverse of `to_json`; raises ValueError for anything else."""
        try:
            steps, texts = tuple(content["steps"]), content["texts"]
            labels = {
                site_named(name): [
                    [None if i is None else texts[i] for i in head] for head in heads
                ]
                for name, heads in content["labels"].items()
            }
            means = {
                key: {
                    site_named(name): _curves(heads)
                    for name, heads in content["means"][key].items()
                }
                for key in GROWN
            }
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
            raise ValueError("a field is missing or of another kind") from error
        if not steps or any(type(step) is not int or step < 0 for step in steps):
            raise ValueError("steps are not whole numbers")
        if list(steps) != sorted(set(steps)):
            raise ValueError("steps do not ascend")
        words = [text for heads in labels.values() for head in heads for text in head]
        if any(text is not None and not isinstance(text, str) for text in words):
            raise ValueError("a label is no text")
        shapes = {site: {len(head) for head in heads} for site, heads in labels.items()}
        if any(lengths != {len(steps)} for lengths in shapes.values()):
            raise ValueError("a head lacks labels")
        for site, curves in (pair for sites in means.values() for pair in sites.items()):
            if site not in labels or curves.shape != (len(labels[site]), len(steps)):
                raise ValueError("a head lacks curves")
        return cls(steps, means, labels)


def growth_of(learned: Mapping[int, Mapping[Site, Sequence[HeadValues]]]) -> Growth:
    """The growth from the values of every head, by step, from model.explain.labels.survey.

    A label holds at a step if its rule holds for the examples themselves.
    """
    steps = tuple(sorted(learned))
    sites = tuple(learned[steps[-1]])

    def mean(head: HeadValues, key: str) -> float:
        values = head.get(key, ())
        return float(np.mean(values)) if len(values) >= MIN_EXAMPLES else np.nan

    def label(head: HeadValues) -> str | None:
        for rule in RULES:
            values = head.get(rule.measure, ())
            if len(values) >= MIN_EXAMPLES and rule.holds(np.asarray(values)):
                return rule.text
        return None

    return Growth(
        steps,
        {
            key: {
                site: np.array(
                    [[mean(head, key) for head in learned[step][site]] for step in steps],
                    np.float32,
                ).T
                for site in sites
            }
            for key in GROWN
        },
        {
            site: [
                [label(head) for head in heads]
                for heads in zip(*(learned[step][site] for step in steps), strict=True)
            ]
            for site in sites
        },
    )


def _curves(heads: Any) -> FloatArray:
    values = np.array([[np.nan if x is None else x for x in head] for head in heads], np.float32)
    if values.ndim != 2 or np.isinf(values).any() or (np.abs(values) > 1.01).any():
        raise ValueError
    return values
