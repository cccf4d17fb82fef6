"""The survey of a checkpoint on disk: survey.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from model.checkpoints.checkpoint import CheckpointError, own_file, read_json
from model.explain.labels import RULE, Sample, site_named
from model.files import write_whole
from model.record.head_edits import RuleWeights
from model.record.weight_rules import Lexicon
from model.survey.corpus_survey import (
    DECILES,
    KEYS,
    QUANTILES,
    REACH,
    CorpusSurvey,
    Distribution,
    Effect,
    HeadProfile,
    HeadRule,
    Held,
    Place,
    Rules,
    Scores,
    WordPair,
)
from model.survey.probes import PROBES
from model.trace.attention_map import AttentionKind, FloatArray

SURVEY = "survey.json"

LEAST_LIKELY = 0.05
"""Less likely sources of a token are left out of the lexicon."""

_DIGITS = 4
_NUMBERS = ("fitted", "judged", "translated")
_CURVES = ("log_prob", "bleu")


def save_survey(directory: Path, survey: CorpusSurvey) -> None:
    """Write survey.json of a checkpoint folder, with numbers to four digits."""
    content = {
        "weights": _weights(directory),
        "sample": asdict(survey.sample),
        "shown": survey.shown,
        "heads": {
            str(site): [_head_to_json(head) for head in heads]
            for site, heads in survey.heads.items()
        },
        "is_german": survey.is_german,
        "probes": {
            str(site): [[list(map(_rounded, row)) for row in head] for head in heads.tolist()]
            for site, heads in survey.probes.items()
        },
        "rules": None if survey.rules is None else _rules_to_json(survey.rules),
    }
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    write_whole(directory / SURVEY, f"{written}\n".encode())


def read_survey(directory: Path) -> CorpusSurvey | None:
    """The survey in survey.json of a checkpoint folder; None without the file.

    Raises:
        CheckpointError: if the file is damaged, or the folder has other weights by now.
    """
    path = own_file(directory, SURVEY)
    if not path.exists():
        return None
    content = read_json(path)
    if content.get("weights") != _weights(directory):
        raise CheckpointError(
            f"{path} is of other weights than the model has now. Delete it, or write it anew with "
            "headscope survey."
        )
    try:
        rules = content["rules"]
        shown = tuple((str(source), str(text)) for source, text in content["shown"])
        return CorpusSurvey(
            Sample(**content["sample"]),
            shown,
            {
                site_named(name): tuple(_head_from_json(head, len(shown)) for head in heads)
                for name, heads in content["heads"].items()
            },
            {site_named(name): _probes(each) for name, each in content["probes"].items()},
            bool(content["is_german"]),
            None if rules is None else _rules_from_json(rules),
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise CheckpointError(
            f"{path} is damaged. Delete it, or write it anew with headscope survey."
        ) from None


def _weights(directory: Path) -> str:
    """What tells a model's weights from others."""
    digest = sha256()
    for file in sorted(directory.glob("**/*.safetensors")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _head_to_json(head: HeadProfile) -> dict[str, Any]:
    return {
        "label": head.label,
        "held": {key: [each.passing, each.count] for key, each in head.held.items()},
        "measures": {
            key: {
                "count": each.count,
                "mean": _rounded(each.mean),
                "quantiles": [_rounded(value) for value in each.quantiles],
                "examples": each.examples,
            }
            for key, each in head.measures.items()
        },
        "distances": [_rounded(share) for share in head.distances],
        "pairs": [[pair.query, pair.key, pair.looked, pair.met] for pair in head.pairs],
        "effect": [_rounded(head.effect.mean), _rounded(head.effect.error), head.effect.count],
    }


def _head_from_json(content: Mapping[str, Any], n_shown: int) -> HeadProfile:
    label = content["label"]
    if label is not None and label not in RULE:
        raise ValueError
    mean, error, count = content["effect"]
    distances = tuple(map(_number, content["distances"]))
    if len(distances) != 2 * REACH + 1:
        raise ValueError
    return HeadProfile(
        label,
        {key: _held(key, *each) for key, each in content["held"].items()},
        {key: _distribution(key, each, n_shown) for key, each in content["measures"].items()},
        distances,
        tuple(
            WordPair(str(query), str(key), _count(looked, met), _count(met))
            for query, key, looked, met in content["pairs"]
        ),
        Effect(_number(mean), _number(error), _count(count)),
    )


def _probes(content: Any) -> FloatArray:
    values = np.array(content, np.float32)
    if values.shape[1:] != (len(PROBES), len(KEYS)) or np.isinf(values).any():
        raise ValueError
    return values


def _rules_to_json(rules: Rules) -> dict[str, Any]:
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
                str(site),
                head,
                *(rule.weights.rules, rule.weights.shares, rule.weights.table),
                _rounded(rule.overlap),
                [_rounded(rule.cost.mean), _rounded(rule.cost.error), rule.cost.count],
            ]
            for (site, head), rule in rules.heads.items()
        ],
    }


def _rules_from_json(content: Mapping[str, Any]) -> Rules:
    lexicon = Lexicon(
        {
            str(word): {str(other): _number(share) for other, share in likely.items()}
            for word, likely in content["lexicon"].items()
        }
    )
    heads = dict(_rule_from_json(each, lexicon) for each in content["heads"])
    counts = tuple(_count(each, len(heads)) for each in content["counts"])
    if (counts[0], counts[-1]) != (0, len(heads)) or list(counts) != sorted(set(counts)):
        raise ValueError
    return Rules(
        heads=heads,
        lexicon=lexicon,
        counts=counts,
        fitted=_count(content["fitted"]),
        judged=_count(content["judged"]),
        translated=_count(content["translated"]),
        log_prob=_scores_from_json(content["log_prob"], len(counts)),
        bleu=_scores_from_json(content["bleu"], len(counts)),
    )


def _rule_from_json(content: Any, lexicon: Lexicon) -> tuple[Place, HeadRule]:
    name, head, names, shares, table, overlap, (mean, error, count) = content
    site = site_named(name)
    weights = RuleWeights(
        tuple(map(str, names)),
        tuple(map(_number, shares)),
        tuple(map(_number, table)),
        lexicon if site.kind is AttentionKind.CROSS else None,
    )
    cost = Effect(_number(mean), _number(error), _count(count))
    return (site, _count(head)), HeadRule(weights, _number(overlap), cost)


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


def _held(key: str, passing: Any, count: Any) -> Held:
    if key not in RULE:
        raise ValueError
    return Held(_count(passing, count), _count(count))


def _distribution(key: str, content: Mapping[str, Any], n_shown: int) -> Distribution:
    quantiles = tuple(map(_number, content["quantiles"]))
    examples = tuple(
        tuple(_count(number, n_shown - 1) for number in tenth) for tenth in content["examples"]
    )
    if key not in KEYS or (len(quantiles), len(examples)) != (QUANTILES, DECILES):
        raise ValueError
    return Distribution(_count(content["count"]), _number(content["mean"]), quantiles, examples)


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.{_DIGITS}g}")


def _number(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)


def _count(value: Any, most: float = math.inf) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError
    return value
