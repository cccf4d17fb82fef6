"""What the app keeps between runs: loaded translators, translations and traces, all bounded."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import streamlit as st
import torch
from numpy.typing import NDArray

from model import alignment
from model.checkpoint import CONFIG, SNAPSHOTS, CheckpointError, snapshot_file, snapshots
from model.intervention import UNCHANGED, Intervention
from model.trace import Site, Trace
from model.translator import TextError, Translation, Translator, load
from viz.heads import measures as facts
from viz.positions import terms as position_terms
from viz.shell.examples import Example, example_traces, head_labels, read_examples
from viz.view import MOST_CHARACTERS

DEFAULT_CHECKPOINT = "en-de"

CHECKPOINTS_VARIABLE = "HEADSCOPE_CHECKPOINTS"
"""Names another folder of checkpoints than the one that comes with the app."""

TRACE_BYTES = 600_000_000
"""What all kept traces may hold together: two of 512 tokens, or some thousand short ones."""

MAX_TRACES = 64
"""How many traces are kept at most, however short."""

WARM_UP = "One."
"""Translated once at load: a model packs its weights at its first sentence, which takes longer."""


MAX_SNAPSHOTS = 16
"""How many models of snapshots are kept: those of a whole run, which are tiny."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A translation and the seconds it took when it was made."""

    translation: Translation
    seconds: float


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asks to see.

    Attributes:
        checkpoint: the model, as everything here takes it: its folder, or one of its snapshots.
        sentence: the source.
        target: a translation to look at; empty for the model's own.
        snapshot: which of the folder's snapshots `checkpoint` is, counted from 0; None for a model
            that came without any.
        further: other sentences of the same batch.
        number: which sentence of the batch is looked at, from 0.
    """

    checkpoint: Path
    sentence: str
    target: str = ""
    snapshot: int | None = None
    further: tuple[str, ...] = ()
    number: int = 0

    @property
    def folder(self) -> Path:
        """The model's folder."""
        return folder_of(self.checkpoint)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The whole batch."""
        return (self.sentence, *self.further)


def checkpoints() -> dict[str, Path]:
    """The folders of the checkpoints to choose from, by name: en-de first, then by alphabet.

    Raises:
        CheckpointError: if there is none.
    """
    named = os.environ.get(CHECKPOINTS_VARIABLE)
    folder = Path(named) if named else Path(__file__).parents[2] / "checkpoints"
    try:
        found = {config.parent.name: config.parent for config in folder.glob(f"*/{CONFIG}")}
    except OSError:
        found = {}
    usual = folder / DEFAULT_CHECKPOINT
    # A folder en-de without a configuration is taken all the same: it is damaged, not absent.
    if usual.is_dir():
        found[DEFAULT_CHECKPOINT] = usual
    if not found:
        raise CheckpointError(
            f"There is no trained model in {folder} yet: put a checkpoint folder there, or set "
            f"{CHECKPOINTS_VARIABLE} to a folder that holds one."
        )
    return {name: found[name] for name in sorted(found, key=_usual_first)}


def _usual_first(name: str) -> tuple[bool, str]:
    return name != DEFAULT_CHECKPOINT, name


def snapshot_of(folder: Path, step: int) -> Path:
    """A checkpoint as it was after so many steps, for whatever here takes a checkpoint.

    It is the path of the snapshot's file, so that everything kept under a checkpoint is kept apart
    for each of its snapshots.
    """
    return snapshot_file(folder, step)


def folder_of(checkpoint: Path) -> Path:
    """The folder of a checkpoint, or of what `snapshot_of` gave."""
    return checkpoint.parents[1] if _is_snapshot(checkpoint) else checkpoint


def _is_snapshot(checkpoint: Path) -> bool:
    return checkpoint.suffix == ".safetensors" and checkpoint.parent.name == SNAPSHOTS


def translator(checkpoint: Path) -> Translator:
    """The checkpoint's translator, loaded once a process, on the GPU where there is one.

    Raises:
        CheckpointError: if the folder is incomplete or damaged.
    """
    # Apart, so that moving through a run's snapshots does not push the large models out.
    return _snapshot(checkpoint) if _is_snapshot(checkpoint) else _trained(checkpoint)


@st.cache_resource(max_entries=2, show_spinner="Loading the model…")
def _trained(checkpoint: Path) -> Translator:
    return _ready(checkpoint, None)


@st.cache_resource(max_entries=MAX_SNAPSHOTS, show_spinner="Loading the model…")
def _snapshot(checkpoint: Path) -> Translator:
    folder = folder_of(checkpoint)
    steps = [snapshot_of(folder, step) for step in snapshots(folder)]
    if checkpoint not in steps:
        raise CheckpointError(
            f"The checkpoint {folder} no longer has the snapshot {checkpoint.name}; choose another "
            "training step."
        )
    return _ready(folder, steps.index(checkpoint))


def _ready(folder: Path, snapshot: int | None) -> Translator:
    # Several people's requests share the cores; more threads a request would only fight for them.
    torch.set_num_threads(1)
    loaded = load(folder, snapshot=snapshot)
    # A vocabulary may hold none of its letters; such a model warms up at its first sentence.
    with contextlib.suppress(TextError):
        loaded.trace(WARM_UP)
    return loaded


@st.cache_resource(max_entries=16 + MAX_SNAPSHOTS, show_spinner=False)
def examples(checkpoint: Path) -> tuple[Example, ...]:
    """The sentences that come with a checkpoint; none where their file is missing or malformed."""
    return read_examples(folder_of(checkpoint))


@st.cache_resource(max_entries=4 + MAX_SNAPSHOTS, show_spinner="Comparing the heads…")
def labels(checkpoint: Path) -> Mapping[Site, tuple[facts.Label | None, ...]]:
    """What each head does in plain words where it earns them, over the checkpoint's examples.

    One label or None a head, by site; empty for a checkpoint without examples.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
    """
    return head_labels(translator(checkpoint), examples(checkpoint))


@st.cache_resource(max_entries=4 + MAX_SNAPSHOTS, show_spinner="Comparing the rows…")
def read_later(checkpoint: Path) -> Mapping[int, bool]:
    """Which layers look at the source of a token in the row that has read it; see model.alignment.

    Measured over the checkpoint's examples; empty without any.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
    """
    model = translator(checkpoint)
    return alignment.read_later(model, example_traces(model, examples(checkpoint)))


@st.cache_resource(max_entries=4 + MAX_SNAPSHOTS, show_spinner=False)
def resting(checkpoint: Path) -> Mapping[str, tuple[int, int]]:
    """How many heads rest on the sentence's start or end or on punctuation; see viz.heads.measures.

    Measured over the checkpoint's examples; empty without any.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
    """
    traces = example_traces(translator(checkpoint), examples(checkpoint))
    return facts.resting(traces) if traces else {}


# Translating takes a search and its result is small; a trace takes one pass and may be large. So
# translations are bounded by their number, and traces by their bytes as well.
@st.cache_resource(max_entries=512, show_spinner="Translating…")
def translate(checkpoint: Path, sentence: str) -> Timed:
    """The model's translation of a sentence.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        TextError: if the sentence is empty, too long, or of characters the model never saw.
    """
    model = translator(checkpoint)
    _check_length("text", sentence, model)
    started = time.perf_counter()
    translation = model.translate(sentence)
    return Timed(translation, time.perf_counter() - started)


class Weighed(Protocol):
    """Something large that knows its size."""

    @property
    def nbytes(self) -> int:
        """What its arrays hold."""


W = TypeVar("W", bound=Weighed)


class TraceStore:
    """The traces last asked for, bounded by their bytes and their number; safe among threads.

    Streamlit's own caches count entries only, and one trace may be as large as a thousand others.

    Args:
        most_bytes: what all traces may hold together; a single larger one is kept alone.
        most: how many there may be.
    """

    def __init__(self, most_bytes: int, most: int) -> None:
        self._most_bytes = most_bytes
        self._most = most
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._guard = threading.Lock()
        # A lock goes when the last thread that holds or awaits it is done: nothing grows.
        self._making: weakref.WeakValueDictionary[Hashable, threading.Lock] = (
            weakref.WeakValueDictionary()
        )

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def nbytes(self) -> int:
        """What all kept traces hold, in bytes."""
        with self._guard:
            return sum(trace.nbytes for trace in self._kept.values())

    def take(self, key: Hashable, make: Callable[[], W]) -> W:
        """The trace kept under a key, or a new one, which is made once however many ask for it.

        What `make` raises reaches its caller alone: another that waited makes the trace itself.
        """
        with self._guard:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._guard:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    found: W = self._kept[key]
                    return found
            made = make()
            with self._guard:
                self._kept[key] = made
                held = sum(trace.nbytes for trace in self._kept.values())
                while len(self._kept) > 1 and (held > self._most_bytes or len(self) > self._most):
                    held -= self._kept.popitem(last=False)[1].nbytes
            return made


@st.cache_resource(show_spinner=False)
def trace_store() -> TraceStore:
    """The traces that all sessions share."""
    return TraceStore(TRACE_BYTES, MAX_TRACES)


def trace(checkpoint: Path, sentence: str, target: str | None = None) -> Trace:
    """What every head did on a sentence; shared by all sessions, which is safe as it is frozen.

    Args:
        checkpoint: its folder.
        sentence: the source.
        target: a translation to record; None records the model's own.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        TextError: as `translate`, and for a target that is empty or too long.
    """
    model = translator(checkpoint)
    _check_length("text", sentence, model)
    _check_length("target", target or "", model)
    if target is None:
        translation = translate(checkpoint, sentence).translation
        return trace_store().take((checkpoint, sentence, None), lambda: model.trace_of(translation))
    return trace_store().take((checkpoint, sentence, target), lambda: model.trace(sentence, target))


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Several sentences in one padded pass, each with the model's own translation.

    Attributes:
        padded: a trace a sentence, with the rows and columns of its padding.
        n_source: tokens of each source, without padding.
        n_target: tokens of each decoder input, without padding.
    """

    padded: tuple[Trace, ...]
    n_source: tuple[int, ...]
    n_target: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """What all traces hold, in bytes."""
        return sum(trace.nbytes for trace in self.padded)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What the model does with one sentence of a batch under an intervention.

    Attributes:
        forced: the pass over its own unchanged translation, with the rows and columns of padding.
        free: the translation it writes under the intervention, token by token, without padding.
    """

    forced: Trace
    free: Trace

    @property
    def nbytes(self) -> int:
        """What both traces hold, in bytes."""
        return self.forced.nbytes + self.free.nbytes


def batch(question: Question) -> Batch:
    """A question's sentences padded to one length, as in training, and recorded in one pass.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        TextError: as `translate`, for any of the sentences, and as `trace`, for the target.
    """
    model = translator(question.checkpoint)
    targets = _targets(question)

    def make() -> Batch:
        made = model.trace_batch(question.sentences, targets)
        return Batch(made.padded, made.source_lengths, made.target_lengths)

    # Whichever of its sentences is looked at, a batch is the same.
    return trace_store().take(("batch", replace(question, number=0)), make)


def run(question: Question, under: Intervention = UNCHANGED) -> Outcome:
    """The sentence of a question under an intervention, beside its unchanged translation.

    Args:
        question: what is asked; its sentences are padded to one length.
        under: what the model is asked to do differently with the sentence; masks are of the padded
            lengths.

    Raises:
        CheckpointError, TextError: as `batch`.
        MaskError: if a mask does not fit.
        PositionError: if the model has no such positions, the decoder's are to be reversed, whose
            length is not known while it writes, or the order misses a token.
    """
    model = translator(question.checkpoint)
    own = batch(question)
    number, sentences = question.number, question.sentences
    if under == UNCHANGED:
        return Outcome(own.padded[number], trace(question.checkpoint, sentences[number]))

    def make() -> Outcome:
        # In one pass all sentences stand at the same positions.
        other = Intervention(positions=under.positions)
        each = [under if place == number else other for place in range(len(sentences))]
        forced = model.trace_batch(sentences, _targets(question), under=each).padded[number]
        alone = under.without_padding(own.n_source[number])
        if alone is None:
            # Decoded beside the longest sentence, for as much padding as in the batch.
            longest = sentences[own.n_source.index(max(own.n_source))]
            free = model.trace_batch([sentences[number], longest], under=[under, other]).traces[0]
        else:
            free = model.trace(sentences[number], under=alone)
        return Outcome(forced, free)

    return trace_store().take(("run", question, under), make)


def _targets(question: Question) -> list[str | Translation]:
    """What the decoder is given: the target for the first sentence, else the translations."""
    _check_length("target", question.target, translator(question.checkpoint))
    own = [translate(question.checkpoint, each).translation for each in question.sentences]
    return [question.target or own[0], *own[1:]]


@st.cache_resource(max_entries=64, show_spinner=False)
def term_shares(checkpoint: Path, sentence: str) -> Mapping[str, NDArray[np.float64]]:
    """Which share of each head's scores comes from each term, in the encoder's first layer.

    The terms of a long sentence hold a hundred times what is kept, and take as long to make.

    Raises:
        CheckpointError, TextError: as `translate`.
        PositionError: for additive attention, whose scores are no such sum.
    """
    return position_terms.term_shares(translator(checkpoint).score_terms(sentence).terms)


def _check_length(what: str, text: str, model: Translator) -> None:
    if len(text) > MOST_CHARACTERS:
        # The model's own limit, if that is less: nobody shall meet two in turn.
        model.require_room(text[:MOST_CHARACTERS], what)
        raise TextError(
            f"The {what} has {len(text):,} characters and the app takes {MOST_CHARACTERS:,}; "
            "shorten it."
        )


@functools.cache
def freeze_gc() -> None:
    """Set everything loaded so far aside from the garbage collector, once a process.

    Streamlit collects garbage after every run. With torch and Plotly loaded that looks at half a
    million objects which never go away, and holds every session up for a tenth of a second.
    """
    gc.collect()
    gc.freeze()
