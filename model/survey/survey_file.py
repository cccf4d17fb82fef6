"""The survey of a checkpoint on disk: survey.zip.

The archive holds survey.json, and for the search sentences.json with the sentences and does.xz with
what heads do in them.
"""

from __future__ import annotations

import json
import lzma
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from model.checkpoints.folder_files import own_file
from model.checkpoints.shipped import CheckpointError, existing_folder
from model.checkpoints.weights_digest import weights_digest
from model.explain.labels import Sample, site_named
from model.explain.labels_file import read_labels
from model.files import unread, write_whole
from model.survey.corpus_survey import (
    KEYS,
    CorpusSurvey,
)
from model.survey.probes import PROBES
from model.survey.sentence_index import SentenceIndex
from model.survey.survey_json import (
    COLUMNS,
    Columns,
    count,
    head_from_json,
    head_to_json,
    rounded,
    rules_from_json,
    rules_to_json,
)
from model.trace.attention_map import AttentionKind, FloatArray, Site

SURVEY = "survey.zip"

_JSON, _SENTENCES, _DOES = "survey.json", "sentences.json", "does.xz"

_MOST = 1 << 26
"""Bytes of a part of the archive; one with more is damaged, or meant to fill the memory."""


_UNNAMED = {
    **COLUMNS,
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


def save_survey(directory: Path, survey: CorpusSurvey, index: SentenceIndex | None = None) -> None:
    """Write survey.zip of a checkpoint folder, with numbers to four digits.

    Args:
        directory: the folder.
        survey: of its model.
        index: of the sentences, for the search.
    """
    columns = {**COLUMNS, "probes": [*_measured(survey), *survey.further]}
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
            str(site): [head_to_json(head) for head in heads]
            for site, heads in survey.heads.items()
        },
        "is_german": survey.is_german,
        "probes": {
            str(site): [[list(map(rounded, row)) for row in head] for head in heads.tolist()]
            for site, heads in _all_probes(survey).items()
        },
        "rules": None if survey.rules is None else rules_to_json(survey.rules),
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
                site_named(name): tuple(head_from_json(head, len(shown), columns) for head in heads)
                for name, heads in content["heads"].items()
            },
            {
                site: np.stack([each.get(key, _nan(each)) for key in KEYS], axis=-1)
                for site, each in probes.items()
            },
            bool(content["is_german"]),
            None if rules is None else rules_from_json(rules, columns),
            count(content["held_out"], content["sample"]["sentences"]),
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


def _columns(content: Mapping[str, Any]) -> Mapping[str, Any]:
    named = content.get("columns")
    return _UNNAMED if named is None else {name: named[name] for name in COLUMNS}


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
