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
from model.checkpoints.shipped import existing_folder
from model.explain.label_rules import RULE
from model.explain.labels import Sample, site_named
from model.explain.labels_file import read_labels
from model.files import unread, write_whole
from model.record.head_edits import RuleWeights
from model.rules.weight_rules import Lexicon
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
    Rules,
    Scores,
    WordPair,
)
from model.survey.probes import PROBES
from model.survey.sentence_index import SentenceIndex
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.head import Head

Columns = Mapping[str, tuple[str, ...]]

SURVEY = "survey.zip"

_JSON, _SENTENCES, _DOES = "survey.json", "sentences.json", "does.xz"

_MOST = 1 << 26
"""Bytes of a part of the archive; one with more is damaged, or meant to fill the memory."""

LEAST_LIKELY = 0.05
"""Less likely sources of a token are left out of the lexicon."""

_COLUMNS = {
    "probes": KEYS,
    "held": ("passing", "count"),
    "pairs": ("query", "key", "looked", "met"),
    "effect": ("mean", "error", "count"),
    "rules": ("site", "head", "rules", "shares", "table", "overlap", "cost"),
}
"""The names of the columns of each table, which a file holds too: in its order, with its own."""

_UNNAMED = {
    **_COLUMNS,
    "probes": (
        *("entropy", "entropy_share", "distance", "previous", "same", "next", "start", "end"),
        *("punctuation", "pairing", "diagonal", "predicted_source", "read_source"),
    ),
}
"""Those of older files, which do not name them."""

_UNNAMED_RULES = {
    AttentionKind.ENCODER: (
        *("previous", "same", "next", "two_before", "two_after", "first", "last", "punctuation"),
        *("again", "own_word"),
    ),
    AttentionKind.CROSS: ("first", "last", "punctuation", "aligned", "after_aligned"),
    AttentionKind.DECODER: (
        *("previous", "same", "two_before", "first", "punctuation", "again", "own_word"),
    ),
}
"""By what older files find sentences, in their order."""

FORMAT = 2
"""Of the file: 1 named neither columns nor rules, and no format."""

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
    columns = {**_COLUMNS, "probes": [*_measured(survey), *survey.further]}
    content = {
        **survey.unknown,
        "format": FORMAT,
        "weights": weights_digest(directory),
        "columns": columns,
        "probed": [english for english, _ in PROBES],
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
            for site, heads in _all_probes(survey).items()
        },
        "rules": None if survey.rules is None else _rules_to_json(survey.rules),
        "found_by": {} if index is None else dict(index.rules),
    }
    written = BytesIO()
    with ZipFile(written, "w") as archive:
        _add(archive, _JSON, _written(content), ZIP_DEFLATED)
        if index is not None:
            _add(archive, _SENTENCES, _written(index.sources), ZIP_LZMA)
            _add(archive, _DOES, index.to_bytes(), ZIP_STORED)
    write_whole(directory / SURVEY, written.getvalue())


def read_survey(directory: str | Path) -> CorpusSurvey | None:
    """The survey in survey.zip of a checkpoint folder; None without the file.

    Raises:
        CheckpointError: if the file or labels.json is damaged, lacks a part, is of a newer version,
            or is of another model than the folder has by now.
    """
    path = own_file(directory := existing_folder(directory), SURVEY)
    if not path.exists():
        return None
    content = _object(path)
    if content.get("weights") != weights_digest(directory):
        raise CheckpointError(
            f"{path} is of other weights than the model has now. Delete it, or write it anew with "
            "headscope survey."
        )
    labels = read_labels(directory)
    try:
        columns = {name: tuple(map(str, each)) for name, each in _columns(content).items()}
        rules = content["rules"]
        shown = tuple((str(source), str(text)) for source, text in content["shown"])
        probes = {site_named(name): each for name, each in _probes(content, columns).items()}
        return CorpusSurvey(
            Sample(**content["sample"]),
            shown,
            {
                site_named(name): tuple(
                    _head_from_json(head, len(shown), columns) for head in heads
                )
                for name, heads in content["heads"].items()
            },
            {
                site: np.stack([each.get(key, _nan(each)) for key in KEYS], axis=-1)
                for site, each in probes.items()
            },
            bool(content["is_german"]),
            None if rules is None else _rules_from_json(rules, columns),
            _count(content["held_out"], content["sample"]["sentences"]),
            missing=tuple(key for key in KEYS if key not in columns["probes"]),
            further={
                key: {site: each[key] for site, each in probes.items()}
                for key in columns["probes"]
                if key not in KEYS
            },
            unknown={name: each for name, each in content.items() if name not in _PARTS},
            labels={} if labels is None else labels.labels,
        )
    except KeyError as error:
        raise CheckpointError(
            f"{path} lacks {error.args[0]!r}. Delete it, or write it anew with headscope survey."
        ) from None
    except _DAMAGED:
        raise _damaged(path) from None


def read_sentences(directory: str | Path) -> SentenceIndex | None:
    """The sentences of the survey in a checkpoint folder, for the search.

    None without the file, or if it was written without them.

    Raises:
        CheckpointError: if the file is damaged.
    """
    path = own_file(existing_folder(directory), SURVEY)
    if not path.exists():
        return None
    survey = _object(path)
    content = _read(path, _SENTENCES)
    if content is None:
        return None
    try:
        return SentenceIndex.from_bytes(
            _read(path, _DOES) or b"",
            [str(source) for source in json.loads(content)],
            {site_named(name): len(each) for name, each in survey["heads"].items()},
            {
                kind: tuple(map(str, survey["found_by"][kind])) if "found_by" in survey else rules
                for kind, rules in _UNNAMED_RULES.items()
            },
        )
    except _DAMAGED:
        raise _damaged(path) from None


_PARTS = {
    *("format", "weights", "columns", "probed", "sample", "held_out", "shown", "heads"),
    *("is_german", "probes", "rules", "found_by"),
}

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
            found = archive.namelist().count(name)
            if not found:
                return None
            if found > 1 or archive.getinfo(name).file_size > _MOST:
                raise _damaged(path)
            return archive.read(name)
    except OSError as error:
        raise CheckpointError(unread(path, error)) from None
    except (BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError):
        raise _damaged(path) from None


def _object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_read(path, _JSON) or b"")
    except ValueError:
        raise _damaged(path) from None
    if not isinstance(content, dict) or not isinstance(content.get("heads"), dict):
        raise _damaged(path)
    written = content.get("format", 1)
    if not isinstance(written, int) or written < 1:
        raise _damaged(path)
    if written > FORMAT:
        raise CheckpointError(
            f"{path} was written by a newer Headscope. Update this one, or write the file anew "
            "with headscope survey."
        )
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
        "held": {key: _row("held", asdict(each)) for key, each in head.held.items()},
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
        "pairs": [_row("pairs", asdict(pair)) for pair in head.pairs],
        "effect": _effect_to_json(head.effect),
    }


def _effect_to_json(effect: Effect) -> list[Any]:
    values = {"mean": _rounded(effect.mean), "error": _rounded(effect.error), "count": effect.count}
    return _row("effect", values)


def _row(table: str, values: Mapping[str, Any]) -> list[Any]:
    return [values[name] for name in _COLUMNS[table]]


def _columns(content: Mapping[str, Any]) -> Mapping[str, Any]:
    named = content.get("columns")
    return _UNNAMED if named is None else {name: named[name] for name in _COLUMNS}


def _named(columns: Columns, table: str, row: Any) -> dict[str, Any]:
    """A row of a table by the names of its columns."""
    return dict(zip(columns[table], row, strict=True))


def _head_from_json(content: Mapping[str, Any], n_shown: int, columns: Columns) -> HeadProfile:
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
    looked, met = _count(row["looked"], row["met"]), _count(row["met"])
    return WordPair(str(row["query"]), str(row["key"]), looked, met)


def _effect(row: Mapping[str, Any]) -> Effect:
    return Effect(_number(row["mean"]), _number(row["error"]), _count(row["count"]))


def _measured(survey: CorpusSurvey) -> list[str]:
    return [key for key in KEYS if key not in survey.missing]


def _all_probes(survey: CorpusSurvey) -> dict[Site, FloatArray]:
    """All measures on the probes, (head, sentence, measure), known ones first."""
    known = [KEYS.index(key) for key in _measured(survey)]
    return {
        site: np.concatenate(
            [values[..., known], *(each[site][..., None] for each in survey.further.values())],
            axis=-1,
        )
        for site, values in survey.probes.items()
    }


def _probes(content: Mapping[str, Any], columns: Columns) -> dict[str, dict[str, FloatArray]]:
    """For each site, each measure on the sentences of PROBES, (head, sentence)."""
    sentences = [english for english, _ in PROBES]
    probed = content.get("probed", sentences)
    found = {}
    for name, heads in content["probes"].items():
        values = np.array(heads, np.float32)
        if values.shape[1:] != (len(probed), len(columns["probes"])) or np.isinf(values).any():
            raise ValueError
        ordered = np.full((len(values), len(sentences), values.shape[2]), np.nan, np.float32)
        for place, sentence in enumerate(sentences):
            if sentence in probed:
                ordered[:, place] = values[:, probed.index(sentence)]
        found[name] = {key: ordered[..., n] for n, key in enumerate(columns["probes"])}
    return found


def _nan(measures: Mapping[str, FloatArray]) -> FloatArray:
    return np.full_like(next(iter(measures.values())), np.nan)


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
                *(str(site), head, rule.weights.rules, rule.weights.shares, rule.weights.table),
                *(_rounded(rule.overlap), _effect_to_json(rule.cost)),
            ]
            for (site, head), rule in rules.heads.items()
        ],
    }


def _rules_from_json(content: Mapping[str, Any], columns: Columns) -> Rules:
    lexicon = Lexicon(
        {
            str(word): {str(other): _number(share) for other, share in likely.items()}
            for word, likely in content["lexicon"].items()
        }
    )
    heads = dict(_rule_from_json(each, lexicon, columns) for each in content["heads"])
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
    return Head(site, _count(row["head"])), HeadRule(weights, _number(row["overlap"]), cost)


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
    return Held(_count(row["passing"], row["count"]), _count(row["count"]))


def _distribution(content: Mapping[str, Any], n_shown: int) -> Distribution:
    quantiles = tuple(map(_number, content["quantiles"]))
    examples = tuple(
        tuple(_count(number, n_shown - 1) for number in tenth) for tenth in content["examples"]
    )
    if (len(quantiles), len(examples)) != (QUANTILES, DECILES):
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
