"""Models in memory, each loaded once a process."""

import contextlib
import functools
import threading
from collections.abc import Callable, Mapping
from typing import Literal

import torch

from model.checkpoints.checkpoint import read_config, snapshots
from model.checkpoints.shipped import CheckpointError
from model.explain.labels_file import head_counts
from model.explain.rules_file import read_head_rules
from model.record.head_edits import TermWeights
from model.survey.corpus_survey import CorpusSurvey
from model.survey.sentence_index import SentenceIndex
from model.survey.survey_file import SURVEY, read_sentences, read_survey
from model.trace.head import Head
from model.translate.sentences import TextError
from model.translate.text_models import Reader, load_reader
from model.translate.translator import Translator, load
from viz.service.versions import ModelVersion, is_snapshot, snapshot_of, version_of

MAX_MODELS = 2
"""How many trained models are kept."""

MAX_SNAPSHOTS = 16
"""How many snapshots are kept: those of a whole run, which are tiny."""

MAX_SURVEYS = 8
"""How many surveys are kept, a few megabytes each."""

MAX_READERS = 1
"""How many other models are kept; Hugging Face models may be large."""

WARM_UP = "One."
"""Translated once at load: a model packs its weights at its first sentence, which takes longer."""

Device = Literal["auto", "cpu"]

_loading = threading.Lock()


def translator(version: ModelVersion, device: Device = "auto") -> Translator:
    """The translator of a version from `version_of`, loaded once a process.

    On "auto", a GPU where there is one is ready for its first sentence. Raises CheckpointError if
    the folder is damaged, or has become another version; so does `reader`.
    """
    # Apart, so that moving through a run's snapshots does not push the large models out.
    load_cached = _SNAPSHOTS if is_snapshot(version.checkpoint) else _TRAINED
    with _loading:
        return load_cached[device](version)


def _load(device: Device, version: ModelVersion) -> Translator:
    # Several people's requests share the cores; more threads a request would only fight for them.
    torch.set_num_threads(1)
    checkpoint, folder = version.checkpoint, version.folder
    number = None
    if is_snapshot(checkpoint):
        steps = [snapshot_of(folder, step) for step in snapshots(folder)]
        if checkpoint not in steps:
            raise CheckpointError(
                f"The checkpoint {folder} no longer has the snapshot {checkpoint.name}; choose "
                "another training step."
            )
        number = steps.index(checkpoint)
    model = load(folder, device=device, snapshot=number)
    _require_same(version)
    if device == "auto":
        # A vocabulary may hold none of its letters; such a model warms up at its first sentence.
        with contextlib.suppress(TextError):
            model.trace(WARM_UP)
    return model


def _cached(most: int) -> dict[Device, Callable[[ModelVersion], Translator]]:
    devices: tuple[Device, ...] = ("auto", "cpu")
    return {
        device: functools.lru_cache(most)(functools.partial(_load, device)) for device in devices
    }


_TRAINED, _SNAPSHOTS = _cached(MAX_MODELS), _cached(MAX_SNAPSHOTS)


@functools.lru_cache(MAX_SURVEYS)
def corpus_survey(version: ModelVersion) -> CorpusSurvey | None:
    """The survey of a version's heads over many sentences; None without one.

    Raises CheckpointError if the file is damaged or of a model with other heads.
    """
    folder = version.folder
    survey = read_survey(folder)
    # Its weights need not be loaded: a page compares the surveys of all models.
    if survey is not None and {site: len(heads) for site, heads in survey.heads.items()} != (
        head_counts(read_config(folder))
    ):
        raise CheckpointError(
            f"{folder / SURVEY} is of a model with other heads. Delete it, or write it anew "
            "with headscope survey."
        )
    return survey


@functools.lru_cache(MAX_SURVEYS)
def rule_edits(version: ModelVersion, *, said: bool = False) -> Mapping[Head, TermWeights]:
    """Each head's rule in words as an edit of its weights; empty for a model without rules.

    Args:
        said: the rules that sentences say, and not the whole ones.

    Raises CheckpointError if a file is damaged.
    """
    words, survey = read_head_rules(version.folder), corpus_survey(version)
    if words is None:
        return {}
    lexicon = None if survey is None or survey.rules is None else survey.rules.lexicon
    return words.edits(words.heads, lexicon, said=said)


@functools.lru_cache(1)
def sentence_index(version: ModelVersion) -> SentenceIndex | None:
    """The sentences of a version's survey, some 30 MB; None without any."""
    return read_sentences(version.folder)


def reader(version: ModelVersion, device: Device = "auto") -> Reader:
    """A Hugging Face folder, or half a Transformer, as a model, loaded once a process."""
    with _loading:
        return _reader(version, device)


@functools.lru_cache(MAX_READERS)
def _reader(version: ModelVersion, device: Device) -> Reader:
    torch.set_num_threads(1)
    model = load_reader(version.folder, device=device)
    _require_same(version)
    return model


def _require_same(version: ModelVersion) -> None:
    if version_of(version.checkpoint) != version:
        # Its files may be of two versions.
        raise CheckpointError(
            f"The checkpoint {version.folder} was replaced while it was read; ask again in a "
            "moment."
        )
