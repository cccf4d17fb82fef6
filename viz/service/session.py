"""What the app keeps between runs, all bounded, and how a page has something computed."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Generator, Hashable, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.runtime.scriptrunner import get_script_run_ctx

from model.checkpoints.checkpoint import WEIGHTS, CheckpointError, snapshots
from model.explain.ablation_results import Effects, Removal
from model.explain.attribution import Agreements, Attributions, SelfAttributions, joined
from model.explain.attribution_methods import attribution_parts
from model.explain.examples import Example, read_examples
from model.explain.labels import Label, Survey
from model.explain.labels_file import read_labels
from model.paper.search import DecodingError, Search
from model.record.intervention import UNCHANGED, Intervention
from model.record.mask_rules import MaskError
from model.serving.process import WorkerProcess
from model.serving.queue import Compute, Request, RequestQueue, ServiceError
from model.serving.store import ResultStore
from model.trace.attention_map import FloatArray, Site, TraceError
from model.trace.logit_lens import LogitLens
from model.trace.text_result import FolderFacts
from model.trace.trace import Trace
from model.translate.devices import DeviceError
from model.translate.sentences import TextError
from model.translate.translator import Translator
from viz.draw.labels import escape_markdown
from viz.heads.standalone import drawable
from viz.links.parameters import MOST_CHARACTERS
from viz.service import jobs, worker
from viz.service.jobs import (
    MAX_SNAPSHOTS,
    Batch,
    Decoded,
    Outcome,
    Timed,
    folder_of,
    is_snapshot,
    snapshot_of,
    version_of,
)
from viz.service.model_menu import checkpoints
from viz.service.page_turns import BUILDING

PROCESS_VARIABLE = "HEADSCOPE_MODEL_PROCESS"
"""With the value 0, the model runs in the server's process: less memory, and slower for many."""

TRACE_BYTES = 600_000_000
"""What all kept traces may hold together: two of 512 tokens, or some thousand short ones."""

MAX_TRACES = 64
"""How many traces are kept at most, however short."""

MAX_TRANSLATIONS = 512
"""How many translations, and what else is small, are kept."""

AT_ONCE_CELLS = 1000
"""Source tokens times target tokens up to which maps are computed at once, in some seconds."""

DELETED_TOGETHER = 31
"""Source tokens that are deleted in one job: with the whole sentence, a batch."""

QUICK_SECONDS = 0.3
"""An answer that comes sooner comes without a word about waiting."""

MOST_TRACE_BYTES = 256 << 20
"""What the arrays of one file may hold together: many people open theirs in one server."""

MAX_FILES = 4
"""How many traces that came as files are kept for all."""

REFUSED = (CheckpointError, DecodingError, DeviceError, MaskError, TextError)
"""What models raise with a sentence for the person."""

_POLL_SECONDS = 0.1


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
        trace: what there is to see, where it is shown as it is and no model of ours can be asked;
            `checkpoint` is then only what it is called by. None for a model of ours.
        facts: what the folder of another model says, whose trace it is; None for what is no such
            model.
    """

    checkpoint: Path
    sentence: str
    target: str = ""
    snapshot: int | None = None
    further: tuple[str, ...] = ()
    number: int = 0
    trace: Trace | None = None
    facts: FolderFacts | None = None

    @property
    def folder(self) -> Path:
        """The model's folder."""
        return folder_of(self.checkpoint)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The whole batch."""
        return (self.sentence, *self.further)


@st.cache_resource(max_entries=MAX_FILES, show_spinner=False)
def _saved_trace(path: Path, changed: int, size: int) -> Trace:
    return drawable(Trace.load(path, most_bytes=MOST_TRACE_BYTES))


def saved_trace(path: Path) -> Trace:
    """What a file holds, as it is now.

    Raises:
        TraceError: if it cannot be read, is no trace, or is too large to be drawn.
    """
    try:
        found = path.stat()
        return _saved_trace(path, found.st_mtime_ns, found.st_size)
    except OSError as error:
        raise TraceError(f"{path.name} cannot be read: {error.strerror}.") from None


def translator(checkpoint: Path) -> Translator:
    """The checkpoint's translator for what is read off it, loaded once a process.

    What takes time is computed by the functions below, in the model's own process.

    Raises:
        CheckpointError: if the folder is incomplete or damaged.
    """
    return jobs.translator(version_of(checkpoint), "cpu" if _has_process() else "auto")


@st.cache_resource(max_entries=16 + MAX_SNAPSHOTS, show_spinner=False)
def examples(checkpoint: Path) -> tuple[Example, ...]:
    """The sentences that come with a checkpoint; none where their file is missing or malformed."""
    return read_examples(folder_of(checkpoint))


def labels(checkpoint: Path) -> Mapping[Site, tuple[Label | None, ...]]:
    """What each head does over new sentences, in plain words; see model.explain.labels.

    One label a head, by site, or None where too few sentences can tell; empty for a checkpoint
    without a labels.json, and for a snapshot other than the last, which it is not about.

    Raises:
        CheckpointError: if the file is damaged or of another model.
    """
    found = survey(checkpoint)
    return found.labels if found else {}


def survey(checkpoint: Path) -> Survey | None:
    """What the labels of a checkpoint rest on; None where `labels` gives none.

    Raises:
        CheckpointError: if the file is damaged or of another model.
    """
    folder = folder_of(checkpoint)
    if is_snapshot(checkpoint):
        steps = snapshots(folder)
        is_last = bool(steps) and checkpoint == snapshot_of(folder, steps[-1])
        if not is_last or (folder / WEIGHTS).exists():
            return None
    return _survey(version_of(checkpoint))


@functools.lru_cache(maxsize=16 + MAX_SNAPSHOTS)
def _survey(version: jobs.ModelVersion) -> Survey | None:
    return read_labels(version.folder)


def read_later(checkpoint: Path) -> Mapping[int, bool]:
    """Which layers look at the source of a token in the row that has read it.

    See model.explain.source_rows.     Measured over the checkpoint's examples; empty without any.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        ServiceError: if it is not answered.
    """
    return _computed(jobs.Survey(version_of(checkpoint), "read_later"))


def resting(checkpoint: Path) -> Mapping[str, tuple[int, int]]:
    """How many heads rest on the sentence's start or end or on punctuation.

    See model.explain.measures.     Measured over the checkpoint's examples; empty without any.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        ServiceError: if it is not answered.
    """
    return _computed(jobs.Survey(version_of(checkpoint), "resting"))


def head_means(checkpoint: Path) -> Mapping[Site, FloatArray]:
    """The mean of what each head gives, before W_O, over the checkpoint's examples.

    By site, (head, d_v); empty without examples.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        ServiceError: if it is not answered.
    """
    return _computed(jobs.Survey(version_of(checkpoint), "means"))


def translate(checkpoint: Path, sentence: str) -> Timed:
    """The model's translation of a sentence.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        TextError: if the sentence is empty, too long, or of characters the model never saw.
        ServiceError: if it is not answered.
    """
    _check_length("text", sentence, checkpoint)
    return _computed(jobs.Translate(version_of(checkpoint), sentence))


def answer(folder: Path, text: str) -> jobs.TimedAnswer:
    """What a model of Hugging Face's, or half a Transformer, makes of a text.

    Raises:
        CheckpointError: if the folder cannot be opened.
        TextError: if the text is empty or too long, or its attention cannot be drawn.
        ServiceError: if it is not answered.
    """
    if len(text) > MOST_CHARACTERS:
        raise _too_long("text", text)
    timed: jobs.TimedAnswer = _computed(jobs.Read(version_of(folder), text))
    try:
        drawable(timed.answer.trace)
    except TraceError as error:
        raise TextError(str(error)) from None
    return timed


def trace(checkpoint: Path, sentence: str, target: str | None = None) -> Trace:
    """What every head did on a sentence; shared by all sessions, which is safe as it is frozen.

    Args:
        checkpoint: its folder.
        sentence: the source.
        target: a translation to record; None records the model's own.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        TextError: as `translate`, and for a target that is empty or too long.
        ServiceError: if it is not answered.
    """
    return _computed(_record_job(checkpoint, sentence, target))


def _record_job(checkpoint: Path, sentence: str, target: str | None) -> jobs.Record:
    _check_length("text", sentence, checkpoint)
    _check_length("target", target or "", checkpoint)
    own = translate(checkpoint, sentence).translation if target is None else None
    return jobs.Record(version_of(checkpoint), sentence, target, own)


def decode(
    checkpoint: Path, sentence: str, search: Search, under: Intervention = UNCHANGED
) -> Decoded:
    """How a sentence is translated under a search and an intervention.

    Raises:
        CheckpointError, TextError, ServiceError: as `translate`.
        DecodingError: if the model cannot follow the search, as its prefix is too long.
        MaskError, HeadError, PositionError: as `run`.
    """
    _check_length("text", sentence, checkpoint)
    return _computed(jobs.Decode(version_of(checkpoint), sentence, search, under))


def logit_lens(
    checkpoint: Path, sentence: str, search: Search, under: Intervention = UNCHANGED
) -> LogitLens:
    """What each decoder layer would say at every step; arguments and errors as of `decode`."""
    trace = decode(checkpoint, sentence, search, under).trace
    version = version_of(checkpoint)
    asked = jobs.Decode(version, sentence, search, under)
    return _computed(jobs.ReadLayers(version, asked, trace))


def branches(
    checkpoint: Path, sentence: str, search: Search, under: Intervention = UNCHANGED
) -> Mapping[Site, FloatArray]:
    """What every hypothesis of a search looked at, as `Translator.cross_attention` gives it.

    Arguments and errors are those of `decode`.
    """
    decoding = decode(checkpoint, sentence, search, under).decoding
    version = version_of(checkpoint)
    asked = jobs.Decode(version, sentence, search, under)
    return _computed(jobs.ReadBranches(version, asked, decoding))


def effects(checkpoint: Path, sentence: str, target: str | None = None) -> Effects:
    """What a translation loses without each head; arguments and errors as of `trace`."""
    record = _record_job(checkpoint, sentence, target)
    return _computed(jobs.MeasureEffects(record.version, record))


def removal(checkpoint: Path, sentence: str, target: str | None = None) -> Removal:
    """What is left of it while heads are removed one after another; as `effects`."""
    record = _record_job(checkpoint, sentence, target)
    return _computed(jobs.RemoveHeads(record.version, record))


def attributions(
    checkpoint: Path,
    sentence: str,
    target: str | None = None,
    *,
    progress: Callable[[float], object] = lambda _: None,
) -> Attributions:
    """Maps of cross-attention beside what deleting source tokens does; as `effects`.

    Args:
        checkpoint: its folder.
        sentence: the source.
        target: as of `trace`.
        progress: called with the share that is done, of a long sentence, which is computed in parts
            so that whoever leaves it ends it.
    """
    record = _record_job(checkpoint, sentence, target)
    recorded: Trace = _computed(record)
    n_source, n_target = len(recorded.source), len(recorded.target)
    if n_source * n_target <= AT_ONCE_CELLS:
        return _computed(jobs.Attribute(record.version, record))
    pieces = attribution_parts(translator(checkpoint), recorded)
    asked = [jobs.AttributeInPart(record.version, record, piece) for piece in pieces]
    columns = range(n_source)
    deletions = [
        jobs.DeleteTokens(record.version, record, columns[start : start + DELETED_TOGETHER])
        for start in columns[::DELETED_TOGETHER]
    ]
    found = []
    for number, job in enumerate([*asked, *deletions]):
        progress(number / (len(asked) + len(deletions)))
        found.append(_computed(job))
    return joined(recorded, found[: len(asked)], found[len(asked) :])


def self_attributions(
    checkpoint: Path, sentence: str, target: str | None, site: Site, token: int | None
) -> SelfAttributions:
    """Maps of a site of self-attention, gradients of one target token or of all; as `effects`."""
    record = _record_job(checkpoint, sentence, target)
    return _computed(jobs.AttributeSelf(record.version, record, site, token))


def example_agreements(checkpoint: Path, example: Example) -> Agreements:
    """How well these maps agree with it for one of the checkpoint's examples; as `effects`."""
    record = _record_job(checkpoint, example.source, example.translation)
    later = tuple(layer for layer, is_later in read_later(checkpoint).items() if is_later)
    return _computed(jobs.HoldAgainstTruth(record.version, record, later))


def written_without(checkpoint: Path, sentence: str, site: Site) -> tuple[str, ...]:
    """What the model writes without each head of a site, one at a time.

    Raises:
        CheckpointError, TextError, ServiceError: as `translate`.
    """
    _check_length("text", sentence, checkpoint)
    return _computed(jobs.WriteWithout(version_of(checkpoint), sentence, site))


def batch(question: Question) -> Batch:
    """A question's sentences padded to one length, as in training, and recorded in one pass.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        TextError: as `translate`, for any of the sentences, and as `trace`, for the target.
        ServiceError: if it is not answered.
    """
    return _computed(_batch_job(question))


def run(question: Question, under: Intervention = UNCHANGED) -> Outcome:
    """The sentence of a question under an intervention, beside its unchanged translation.

    Args:
        question: what is asked; its sentences are padded to one length.
        under: what the model is asked to do differently with the sentence; masks are of the padded
            lengths.

    Raises:
        CheckpointError, TextError, ServiceError: as `batch`.
        MaskError: if a mask does not fit.
        HeadError: if the model has no such head.
        PositionError: if the model has no such positions, the decoder's are to be reversed, whose
            length is not known while it writes, or the order misses a token.
    """
    own = batch(question)
    number, sentences = question.number, question.sentences
    if under == UNCHANGED:
        return Outcome(own.padded[number], trace(question.checkpoint, sentences[number]))
    job = _batch_job(question)
    n_target = own.n_target[number]
    return _computed(jobs.Intervene(job.version, job, number, under, own.n_source, n_target))


def _batch_job(question: Question) -> jobs.RecordBatch:
    # Whichever of its sentences is looked at, a batch is the same.
    _check_length("target", question.target, question.checkpoint)
    own = [translate(question.checkpoint, each).translation for each in question.sentences]
    version = version_of(question.checkpoint)
    return jobs.RecordBatch(version, question.sentences, question.target, tuple(own))


def term_shares(checkpoint: Path, sentence: str) -> Mapping[str, NDArray[np.float64]]:
    """Which share of each head's scores comes from each term, in the encoder's first layer.

    Raises:
        CheckpointError, TextError, ServiceError: as `translate`.
        PositionError: for additive attention, whose scores are no such sum.
    """
    _check_length("text", sentence, checkpoint)
    return _computed(jobs.TermShares(version_of(checkpoint), sentence))


def _check_length(what: str, text: str, checkpoint: Path) -> None:
    if len(text) > MOST_CHARACTERS:
        # The model's own limit, if that is less: nobody shall meet two in turn.
        translator(checkpoint).require_room(text[:MOST_CHARACTERS], what)
        raise _too_long(what, text)


def _too_long(what: str, text: str) -> TextError:
    return TextError(
        f"The {what} has {len(text):,} characters and the app takes {MOST_CHARACTERS:,}; "
        "shorten it."
    )


# ---- waiting for what is computed ---------------------------------------------------------------


def _has_process() -> bool:
    return os.environ.get(PROCESS_VARIABLE) != "0"


@functools.cache
def result_store() -> ResultStore:
    """What all sessions share."""
    return ResultStore(MAX_TRANSLATIONS, MAX_TRACES, TRACE_BYTES)


def request_queue() -> RequestQueue:
    """The queue in front of the model, one a server; its process starts here."""
    with _starting:
        return _request_queue()


_starting = threading.Lock()


@functools.cache
def _request_queue() -> RequestQueue:
    compute: Compute = jobs.compute
    if _has_process():
        compute = process = WorkerProcess(worker.__name__)
        process.start()
    return RequestQueue(compute, result_store(), together=jobs.fit_together)


def warm_up() -> None:
    """Start the model's process and have it load the usual model, before anybody asks."""
    with contextlib.suppress(CheckpointError, DeviceError, ServiceError):
        read_later(next(iter(checkpoints().values())))


def _computed(job: jobs.Job) -> Any:
    """A job's result; while a person waits for it, the page says so.

    A newer run of the page, or its end, ends the wait, and with it the request.
    """
    context = get_script_run_ctx(suppress_warning=True)
    person: Hashable = context.session_id if context else threading.get_ident()
    queue = request_queue()
    with queue.ask(job, person) as request:
        if not context:
            request.wait()
        elif not _is_answered(request, QUICK_SECONDS):
            _wait(queue, request, job)
        return request.result()


def _is_answered(request: Request, seconds: float) -> bool:
    with BUILDING.pause():
        return request.wait(seconds)


def _wait(queue: RequestQueue, request: Request, job: jobs.Job) -> None:
    said = ""
    lines: list[ExitStack] = []
    try:
        while not _is_answered(request, _POLL_SECONDS):
            while len(lines) > 1:
                # The newer one stands by now: nothing flickers.
                lines.pop(0).close()
            before = queue.before(request)
            text = _questions(before) if before else job.doing
            if text != said:
                lines.append(ExitStack())
                lines[-1].enter_context(st.spinner(text))
                said = text
            # Streamlit ends a run that is out of date wherever it touches the session.
            st.session_state.get("sentence")
    finally:
        for line in lines:
            line.close()


def _questions(before: int) -> str:
    if before == 1:
        return "One question is answered before yours…"
    return f"{before} questions are answered before yours…"


@contextmanager
def refusals() -> Generator[None]:
    """Shows in a sentence what was refused or not answered, instead of a traceback."""
    try:
        yield
    except ServiceError as error:
        show_refusal(error)
    except REFUSED as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")


def show_refusal(error: ServiceError) -> None:
    """Why something was not answered, and a way to ask again."""
    st.warning(str(error), icon=":material/hourglass_top:")
    st.button("Try again", key="try-again", icon=":material/refresh:")
