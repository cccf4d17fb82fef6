"""The survey of a checkpoint on disk: survey.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from model.checkpoints.checkpoint import CheckpointError, own_file, read_json
from model.explain.labels import RULE, Sample, site_named
from model.files import write_whole
from model.survey.head_profile import (
    DECILES,
    QUANTILES,
    CorpusSurvey,
    Distribution,
    Effect,
    HeadProfile,
    Held,
    WordPair,
)
from model.survey.part import KEYS, REACH

SURVEY = "survey.json"

_DIGITS = 4


def save_survey(directory: Path, survey: CorpusSurvey) -> None:
    """Write survey.json of a checkpoint folder, with numbers to four digits."""
    content = {
        "sample": asdict(survey.sample),
        "shown": survey.shown,
        "heads": {
            str(site): [_head_to_json(head) for head in heads]
            for site, heads in survey.heads.items()
        },
    }
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    write_whole(directory / SURVEY, f"{written}\n".encode())


def read_survey(directory: Path) -> CorpusSurvey | None:
    """The survey in survey.json of a checkpoint folder; None without the file.

    Raises:
        CheckpointError: if the file is damaged.
    """
    path = own_file(directory, SURVEY)
    if not path.exists():
        return None
    content = read_json(path)
    try:
        shown = tuple((str(source), str(text)) for source, text in content["shown"])
        return CorpusSurvey(
            Sample(**content["sample"]),
            shown,
            {
                site_named(name): tuple(_head_from_json(head, len(shown)) for head in heads)
                for name, heads in content["heads"].items()
            },
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise CheckpointError(
            f"{path} is damaged. Delete it, or write it anew with headscope survey."
        ) from None


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
