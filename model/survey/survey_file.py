"""The survey of a checkpoint on disk: survey.zip.

The archive holds survey.json, and for the search sentences.json with the sentences and does.xz with
what heads do in them.
"""

from __future__ import annotations

import json
import lzma
import math
import zlib
from collections.abc import Mapping
from dataclasses import asdict, fields
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from model.checkpoints.checkpoint import CheckpointError, own_file, snapshot_file, snapshots
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
from model.survey.sentence_index import SentenceIndex
from model.trace.attention_map import AttentionKind, FloatArray

SURVEY = "survey.zip"

_JSON, _SENTENCES, _DOES = "survey.json", "sentences.json", "does.xz"

_MOST = 1 << 26
"""Bytes of a part of the archive; one with more is damaged, or meant to fill the memory."""

LEAST_LIKELY = 0.05
"""Less likely sources of a token are left out of the lexicon."""

_DIGITS = 4
_NUMBERS = ("fitted", "judged", "translated")
_CURVES = ("log_prob", "bleu")


def save_survey(directory: Path, survey: CorpusSurvey, index: SentenceIndex | None = None) -> None:
    """Write survey.zip of a checkpoint folder, with numbers to four digits.

    Args:
        directory: the folder.
        survey: of its model.
        index: of the sentences, for the search.
    """
    content = {
        "weights": weights_digest(directory),
        "sample": asdict(survey.sample),
        "held_out": survey.held_out,
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
    written = BytesIO()
    with ZipFile(written, "w") as archive:
        _add(archive, _JSON, _written(content), ZIP_DEFLATED)
        if index is not None:
            _add(archive, _SENTENCES, _written(index.sources), ZIP_LZMA)
            _add(archive, _DOES, index.to_bytes(), ZIP_STORED)
    write_whole(directory / SURVEY, written.getvalue())


def read_survey(directory: Path) -> CorpusSurvey | None:
    """The survey in survey.zip of a checkpoint folder; None without the file.

    Raises:
        CheckpointError: if the file is damaged, or the folder has other weights by now.
    """
    path = own_file(directory, SURVEY)
    if not path.exists():
        return None
    content = _object(path)
    if content.get("weights") != weights_digest(directory):
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
            _count(content["held_out"], content["sample"]["sentences"]),
        )
    except _DAMAGED:
        raise _damaged(path) from None


def read_sentences(directory: Path) -> SentenceIndex | None:
    """The sentences of the survey in a checkpoint folder, for the search.

    None without the file, or if it was written without them.

    Raises:
        CheckpointError: if the file is damaged.
    """
    path = own_file(directory, SURVEY)
    if not path.exists():
        return None
    heads = _object(path)["heads"]
    content = _read(path, _SENTENCES)
    if content is None:
        return None
    try:
        return SentenceIndex.from_bytes(
            _read(path, _DOES) or b"",
            [str(source) for source in json.loads(content)],
            {site_named(name): len(each) for name, each in heads.items()},
        )
    except _DAMAGED:
        raise _damaged(path) from None


_DAMAGED = (AttributeError, KeyError, OverflowError, TypeError, ValueError)


def _damaged(path: Path) -> CheckpointError:
    return CheckpointError(f"{path} is damaged. Delete it, or write it anew with headscope survey.")


def _written(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _add(archive: ZipFile, name: str, content: bytes, method: int) -> None:
    # Of no time, so that the same survey is the same file.
    archive.writestr(ZipInfo(name), content, compress_type=method, compresslevel=9)


def _read(path: Path, name: str) -> bytes | None:
    """A part of the archive; None if it has no such part."""
    try:
        with ZipFile(path) as archive:
            if name not in archive.namelist():
                return None
            if archive.getinfo(name).file_size > _MOST:
                raise _damaged(path)
            return archive.read(name)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}.") from None
    except (BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError):
        raise _damaged(path) from None


def _object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_read(path, _JSON) or b"")
    except ValueError:
        raise _damaged(path) from None
    if not isinstance(content, dict) or not isinstance(content.get("heads"), dict):
        raise _damaged(path)
    return content


def weights_digest(directory: Path) -> str:
    """A digest of the weights that a survey measures.

    Where a model has only snapshots, these are the last one's.
    """
    last = [snapshot_file(directory, step) for step in snapshots(directory)[-1:]]
    digest = sha256()
    for file in sorted(directory.glob("*.safetensors")) or last:
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
