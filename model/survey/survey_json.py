"""The entries of a survey file as JSON, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from model.explain.label_rules import RULE
from model.explain.labels import site_named
from model.record.head_edits import RuleWeights
from model.rules.weight_rules import Lexicon
from model.survey.corpus_survey import (
    DECILES,
    KEYS,
    QUANTILES,
    REACH,
    Distribution,
    Effect,
    HeadProfile,
    HeadRule,
    Held,
    Rules,
    Scores,
    WordPair,
)
from model.trace.attention_map import AttentionKind
from model.trace.head import Head

Columns = Mapping[str, tuple[str, ...]]


LEAST_LIKELY = 0.05
"""Less likely sources of a token are left out of the lexicon."""


COLUMNS = {
    "probes": KEYS,
    "held": ("passing", "count"),
    "pairs": ("query", "key", "looked", "met"),
    "effect": ("mean", "error", "count"),
    "rules": ("site", "head", "rules", "shares", "table", "overlap", "cost"),
}
"""The names of the columns of each table, which a file holds too: in its order, with its own."""


_DIGITS = 4


_NUMBERS = ("fitted", "judged", "translated")


_CURVES = ("log_prob", "bleu")


def head_to_json(head: HeadProfile) -> dict[str, Any]:
    """A head as the file holds it."""
    return {
        "label": head.label,
        "held": {key: _row("held", asdict(each)) for key, each in head.held.items()},
        "measures": {
            key: {
                "count": each.count,
                "mean": rounded(each.mean),
                "quantiles": [rounded(value) for value in each.quantiles],
                "examples": each.examples,
            }
            for key, each in head.measures.items()
        },
        "distances": [rounded(share) for share in head.distances],
        "pairs": [_row("pairs", asdict(pair)) for pair in head.pairs],
        "effect": _effect_to_json(head.effect),
    }


def _effect_to_json(effect: Effect) -> list[Any]:
    values = {"mean": rounded(effect.mean), "error": rounded(effect.error), "count": effect.count}
    return _row("effect", values)


def _row(table: str, values: Mapping[str, Any]) -> list[Any]:
    return [values[name] for name in COLUMNS[table]]


def _named(columns: Columns, table: str, row: Any) -> dict[str, Any]:
    """A row of a table by the names of its columns."""
    return dict(zip(columns[table], row, strict=True))


def head_from_json(content: Mapping[str, Any], n_shown: int, columns: Columns) -> HeadProfile:
    """A head of a file; ValueError or KeyError for what no head is."""
    label = content["label"]
    held = {key: _held(_named(columns, "held", each)) for key, each in content["held"].items()}
    if label is not None and label not in {**RULE, **held}:
        raise ValueError
    distances = tuple(map(_number, content["distances"]))
    if len(distances) != 2 * REACH + 1:
        raise ValueError
    return HeadProfile(
        # A rule that has no words here labels no head here.
        label if label in RULE else None,
        held,
        {key: _distribution(each, n_shown) for key, each in content["measures"].items()},
        distances,
        tuple(_pair(_named(columns, "pairs", each)) for each in content["pairs"]),
        _effect(_named(columns, "effect", content["effect"])),
    )


def _pair(row: Mapping[str, Any]) -> WordPair:
    looked, met = count(row["looked"], row["met"]), count(row["met"])
    return WordPair(str(row["query"]), str(row["key"]), looked, met)


def _effect(row: Mapping[str, Any]) -> Effect:
    return Effect(_number(row["mean"]), _number(row["error"]), count(row["count"]))


def rules_to_json(rules: Rules) -> dict[str, Any]:
    """The rules of a survey as the file holds them."""
    return {
        **{name: getattr(rules, name) for name in _NUMBERS},
        "counts": rules.counts,
        **{name: _scores_to_json(getattr(rules, name)) for name in _CURVES},
        "lexicon": {
            word: {
                other: round(share, _DIGITS - 1)
                for other, share in likely.items()
                if share >= LEAST_LIKELY
            }
            for word, likely in rules.lexicon.likely.items()
        },
        "heads": [
            [
                *(str(site), head, rule.weights.rules, rule.weights.shares, rule.weights.table),
                *(rounded(rule.overlap), _effect_to_json(rule.cost)),
            ]
            for (site, head), rule in rules.heads.items()
        ],
    }


def rules_from_json(content: Mapping[str, Any], columns: Columns) -> Rules:
    """The rules of a file; ValueError or KeyError for what none are."""
    lexicon = Lexicon(
        {
            str(word): {str(other): _number(share) for other, share in likely.items()}
            for word, likely in content["lexicon"].items()
        }
    )
    heads = dict(_rule_from_json(each, lexicon, columns) for each in content["heads"])
    counts = tuple(count(each, len(heads)) for each in content["counts"])
    if (counts[0], counts[-1]) != (0, len(heads)) or list(counts) != sorted(set(counts)):
        raise ValueError
    return Rules(
        heads=heads,
        lexicon=lexicon,
        counts=counts,
        fitted=count(content["fitted"]),
        judged=count(content["judged"]),
        translated=count(content["translated"]),
        log_prob=_scores_from_json(content["log_prob"], len(counts)),
        bleu=_scores_from_json(content["bleu"], len(counts)),
    )


def _rule_from_json(content: Any, lexicon: Lexicon, columns: Columns) -> tuple[Head, HeadRule]:
    row = _named(columns, "rules", content)
    site = site_named(row["site"])
    weights = RuleWeights(
        tuple(map(str, row["rules"])),
        tuple(map(_number, row["shares"])),
        tuple(map(_number, row["table"])),
        lexicon if site.kind is AttentionKind.CROSS else None,
    )
    cost = _effect(_named(columns, "effect", row["cost"]))
    return Head(site, count(row["head"])), HeadRule(weights, _number(row["overlap"]), cost)


def _scores_to_json(scores: Scores) -> dict[str, Any]:
    return {
        each.name: np.round(getattr(scores, each.name), _DIGITS).tolist() for each in fields(scores)
    }


def _scores_from_json(content: Mapping[str, Any], n_counts: int) -> Scores:
    lines = {each.name: content[each.name] for each in fields(Scores)}
    # An empty list has no random orders.
    if any(line and np.shape(line)[-1:] != (n_counts,) for line in lines.values()):
        raise ValueError
    return Scores(**{name: _deep(line) for name, line in lines.items()})


def _deep(values: Any) -> Any:
    return tuple(map(_deep, values)) if isinstance(values, list) else _number(values)


def _held(row: Mapping[str, Any]) -> Held:
    return Held(count(row["passing"], row["count"]), count(row["count"]))


def _distribution(content: Mapping[str, Any], n_shown: int) -> Distribution:
    quantiles = tuple(map(_number, content["quantiles"]))
    examples = tuple(
        tuple(count(number, n_shown - 1) for number in tenth) for tenth in content["examples"]
    )
    if (len(quantiles), len(examples)) != (QUANTILES, DECILES):
        raise ValueError
    return Distribution(count(content["count"]), _number(content["mean"]), quantiles, examples)


def rounded(value: float) -> float | None:
    """A number with the digits that a file keeps; None for nan."""
    return None if math.isnan(value) else float(f"{value:.{_DIGITS}g}")


def _number(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)


def count(value: Any, most: float = math.inf) -> int:
    """A whole number from 0 to `most`; ValueError for all else."""
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError
    return value
