"""What the app keeps between runs, all bounded, and `ask`, by which pages have jobs computed."""

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Generator, Hashable, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from model.checkpoints.checkpoint import snapshots
from model.checkpoints.folder_files import WEIGHTS
from model.checkpoints.shipped import CheckpointError
from model.explain.alignment_file import read_alignment
from model.explain.alignment_table import AlignmentTable
from model.explain.attributing import attribution_parts
from model.explain.attribution import Attributions
from model.explain.examples import Example, read_examples
from model.explain.experiments import Experiment, Kind, read_experiments
from model.explain.growth import Growth
from model.explain.growth_file import read_growth
from model.explain.head_rules import HeadRules
from model.explain.labels import Label, Survey, labels_by_rules
from model.explain.labels_file import read_labels
from model.explain.rules_file import read_head_rules
from model.explain.self_attribution import joined
from model.files import unread
from model.paper.search import DecodingError
from model.record.head_edits import TermWeights
from model.record.intervention import UNCHANGED, Intervention
from model.record.mask_rules import MaskError
from model.serving.process import WorkerProcess
from model.serving.queue import Compute, Request, RequestQueue, ServiceError
from model.serving.store import ResultStore
from model.survey.corpus_survey import CorpusSurvey
from model.survey.sentence_index import SentenceIndex
from model.survey.survey_file import SURVEY
from model.trace.attention_map import Site, TraceError
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.devices import DeviceError
from model.translate.sentences import TextError
from model.translate.translator import Translator
from viz.draw.keys import Keys
from viz.draw.labels import escape_markdown
from viz.heads.standalone import drawable
from viz.links.parameters import MOST_CHARACTERS
from viz.registry.pages import SENTENCE
from viz.service import batching, loaded, worker
from viz.service.job import Job
from viz.service.jobs.examples import find_later_rows
from viz.service.jobs.removing import attribute, attribute_in_part, delete_tokens
from viz.service.jobs.running import intervene, read, record
from viz.service.loaded import MAX_SNAPSHOTS, Device
from viz.service.model_menu import checkpoints
from viz.service.page_turns import BUILDING
from viz.service.questions import ModelQuestion
from viz.service.results import Outcome
from viz.service.versions import ModelVersion, folder_of, is_snapshot, snapshot_of, version_of

T = TypeVar("T")

PROCESS_VARIABLE = "HEADSCOPE_MODEL_PROCESS"
"""With the value 0, the model runs in the server's process: less memory, slower for many people."""

TRACE_BYTES = 600_000_000
"""The most bytes of all kept traces: two of 512 tokens, or about a thousand short ones."""

MAX_TRACES = 64
"""The most traces that are kept, however short."""

MAX_TRANSLATIONS = 512
"""The most translations and other small results that are kept."""

AT_ONCE_CELLS = 1000
"""Source tokens times target tokens up to which maps are computed in one job, in a few seconds."""

DELETED_TOGETHER = 31
"""Source tokens that one job deletes: with the whole sentence, a batch of 32."""

QUICK_SECONDS = 0.3
"""Nothing is said about waiting for an answer that comes sooner."""

MOST_TRACE_BYTES = 256 << 20
"""The most bytes that are read of one file at once: many people open theirs in one server."""

MAX_FILES = 4
"""How many traces from files are kept for everybody."""

REFUSED = (CheckpointError, DecodingError, DeviceError, MaskError, TextError)
"""What models raise with a sentence for the person."""

POLL_SECONDS = 0.1
"""How often a page checks for its answer."""

MOST_SECONDS = 50.0
"""For how long a visitor without a page waits: proxies wait for a minute."""


class LeftError(ServiceError):
    """Nobody waits for the answer any more."""


class Visitor:
    """Someone who asks without a page of Streamlit's, from a thread, and may leave meanwhile."""

    def __init__(self) -> None:
        self.left = threading.Event()
        self._until = time.monotonic() + MOST_SECONDS

    def wait(self, request: Request) -> None:
        """Wait for an answer; ServiceError if the visitor leaves, or it takes too long."""
        while not request.wait(POLL_SECONDS):
            if self.left.is_set():
                raise LeftError("Nobody waits for this answer any more.")
            if time.monotonic() > self._until:
                raise ServiceError("The model is too busy to answer; please try again in a moment.")


VISITOR: ContextVar[Visitor | None] = ContextVar("VISITOR", default=None)
"""Who asks in this thread, where no page does."""


@st.cache_resource(max_entries=MAX_FILES, show_spinner=False)
def _saved_trace(path: Path, changed: int, size: int) -> Trace:
    return drawable(Trace.load(path, most_bytes=MOST_TRACE_BYTES))


def saved_trace(path: Path) -> Trace:
    """The trace in a file, as the file is now; TraceError also if it is too large to be drawn."""
    try:
        state = path.stat()
        return _saved_trace(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise TraceError(unread(path.name, error)) from None


def translator(checkpoint: Path) -> Translator:
    """The checkpoint's translator, for what can be read off it at once; loaded once a process.

    What takes time is a job, computed in the model's own process.
    """
    return loaded.translator(version_of(checkpoint), _device())


@st.cache_resource(max_entries=16 + MAX_SNAPSHOTS, show_spinner=False)
def examples(checkpoint: Path) -> tuple[Example, ...]:
    """The sentences that come with a checkpoint; none if their file is missing or malformed."""
    return read_examples(folder_of(checkpoint))


def experiments(checkpoint: Path) -> Mapping[Kind, tuple[Experiment, ...]]:
    """Sentences on which experiments show something, by kind; none of an unfinished training."""
    return {} if _is_unfinished(checkpoint) else read_experiments(folder_of(checkpoint))


def labels(checkpoint: Path) -> Mapping[Site, tuple[Label | None, ...]]:
    """What each head does on new sentences, in plain words; see model.explain.labels.

    One label a head, by site, or None where too few sentences can tell. Without a labels.json they
    are the rules in words; empty without these too, and for every snapshot but the last, since the
    labels are not about them. Raises CheckpointError if a file is damaged or of another model; so
    does `survey`.
    """
    return {} if _is_unfinished(checkpoint) else _labels(version_of(checkpoint))


def survey(checkpoint: Path) -> Survey | None:
    """The measurements behind a checkpoint's labels; None where `labels` gives none."""
    return None if _is_unfinished(checkpoint) else _survey(version_of(checkpoint))


def corpus_survey(checkpoint: Path) -> CorpusSurvey | None:
    """What heads do over many sentences; None without a survey, and where `labels` is empty.

    Raises CheckpointError if the file is damaged or of a model with other heads.
    """
    # Folders without one would push the surveys of others out.
    if _is_unfinished(checkpoint) or not (folder_of(checkpoint) / SURVEY).exists():
        return None
    return loaded.corpus_survey(version_of(checkpoint))


def head_rules(checkpoint: Path) -> HeadRules | None:
    """The rules in words of a model's heads; None without any, and where `labels` is empty.

    Raises CheckpointError if the file is damaged; so does `rule_edits`.
    """
    return None if _is_unfinished(checkpoint) else _head_rules(version_of(checkpoint))


def rule_edits(checkpoint: Path, *, said: bool) -> Mapping[Head, TermWeights]:
    """These rules as edits of weights, as `loaded.rule_edits` gives them."""
    return loaded.rule_edits(version_of(checkpoint), said=said)


def sentence_index(checkpoint: Path) -> SentenceIndex | None:
    """The sentences behind `corpus_survey`, for the search; None where they are not kept.

    Raises CheckpointError if the file is damaged.
    """
    return loaded.sentence_index(version_of(checkpoint))


def alignment(checkpoint: Path) -> AlignmentTable | None:
    """How far a model's heads are from alignments made by hand; None where that was not measured.

    Of a snapshot it was not: what is kept is of the model as it was trained to the end.
    """
    return None if is_snapshot(checkpoint) else _alignment(version_of(checkpoint))


def growth(checkpoint: Path) -> Growth | None:
    """The measures of a model's heads during its training; None where they were not recorded.

    Raises CheckpointError if the file is damaged; the heads page says so.
    """
    return _growth(version_of(folder_of(checkpoint)))


def _is_unfinished(checkpoint: Path) -> bool:
    """Whether it is a snapshot, and not the weights of its folder."""
    folder = folder_of(checkpoint)
    if not is_snapshot(checkpoint):
        return False
    steps = snapshots(folder)
    is_last = bool(steps) and checkpoint == snapshot_of(folder, steps[-1])
    return not is_last or (folder / WEIGHTS).exists()


@functools.lru_cache(maxsize=16 + MAX_SNAPSHOTS)
def _survey(version: ModelVersion) -> Survey | None:
    return read_labels(version.folder)


@functools.lru_cache(maxsize=16 + MAX_SNAPSHOTS)
def _labels(version: ModelVersion) -> Mapping[Site, tuple[Label | None, ...]]:
    if measured := _survey(version):
        return measured.labels
    rules = _head_rules(version)
    return labels_by_rules(rules) if rules else {}


@functools.lru_cache(maxsize=4)
def _head_rules(version: ModelVersion) -> HeadRules | None:
    return read_head_rules(version.folder)


@functools.lru_cache(maxsize=16)
def _alignment(version: ModelVersion) -> AlignmentTable | None:
    return read_alignment(version.folder)


@functools.lru_cache(maxsize=4)
def _growth(version: ModelVersion) -> Growth | None:
    return read_growth(version.folder)


# ---- what is computed ---------------------------------------------------------------------------


def ask(job: Job[T]) -> T:
    """A job's result, shared by all sessions, which is safe as results are frozen.

    While a person waits for it, the page says so. A newer run of the page, or its end, ends the
    wait, and with it the request.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        TextError: if a text is empty, too long, or of characters the vocabulary lacks.
        ServiceError: if it is not answered.
        DecodingError, MaskError, HeadError, PositionError: as the translator does.
    """
    for what, text in job.texts:
        if len(text) > MOST_CHARACTERS:
            if job.kind is not read:
                # The model's own limit, if that is less: nobody shall meet two in turn.
                job.model(_device()).require_room(text[:MOST_CHARACTERS], what)
            raise TextError(
                f"The {what} has {len(text):,} characters and the app takes {MOST_CHARACTERS:,}; "
                "shorten it."
            )
    job = job.prepared(ask)
    context = get_script_run_ctx(suppress_warning=True)
    visitor = VISITOR.get()
    person: Hashable = context.session_id if context else visitor or threading.get_ident()
    queue = request_queue()
    with queue.ask(job, person) as request:
        if context:
            if not _is_answered(request, QUICK_SECONDS):
                _wait(queue, request, job)
        elif visitor:
            visitor.wait(request)
        else:
            request.wait()
        result: T = request.result()
        return result


def run(question: ModelQuestion, under: Intervention = UNCHANGED) -> Outcome:
    """The sentence of a question under an intervention, beside its unchanged translation.

    Both are padded to one length, and masks are of the padded lengths.

    Raises:
        CheckpointError, TextError, ServiceError: as `ask`.
        MaskError: if a mask does not fit.
        HeadError: if the model has no such head.
        PositionError: if the model has no such positions, the decoder's are to be reversed, whose
            length is not known while it writes, or the order misses a token.
    """
    if under != UNCHANGED:
        batch = question.version, question.sentences, question.target
        return ask(intervene(*batch, question.number, under))
    sentence = question.sentences[question.number]
    own = ask(question.record_batch).padded[question.number]
    return Outcome(own, ask(record(question.version, sentence)))


def attributions(
    recording: Job[Trace], progress: Callable[[float], object] = lambda _: None
) -> Attributions:
    """Maps of cross-attention beside what deleting source tokens does; errors as of `ask`.

    Progress is the share that is done of a long sentence, which is computed in parts so that
    whoever leaves it ends it.
    """
    trace = ask(recording)
    n_source, n_target = len(trace.source), len(trace.target)
    if n_source * n_target <= AT_ONCE_CELLS:
        return ask(attribute(recording))
    pieces = attribution_parts(recording.model(_device()), trace)
    starts = range(0, n_source, DELETED_TOGETHER)
    total = len(pieces) + len(starts)

    def ask_next(number: int, job: Job[T]) -> T:
        progress(number / total)
        return ask(job)

    parts = [
        ask_next(number, attribute_in_part(recording, piece)) for number, piece in enumerate(pieces)
    ]
    losses = [
        ask_next(
            number, delete_tokens(recording, range(n_source)[start : start + DELETED_TOGETHER])
        )
        for number, start in enumerate(starts, len(pieces))
    ]
    return joined(trace, parts, losses)


def _has_process() -> bool:
    return os.environ.get(PROCESS_VARIABLE) != "0"


def _device() -> Device:
    """Where this process runs what it reads off models itself."""
    return "cpu" if _has_process() else "auto"


@functools.cache
def result_store() -> ResultStore:
    """The results that all sessions share."""
    return ResultStore(MAX_TRANSLATIONS, MAX_TRACES, TRACE_BYTES)


def request_queue() -> RequestQueue:
    """The queue in front of the model, one a server; its process starts here."""
    with _starting:
        return _request_queue()


_starting = threading.Lock()


@functools.cache
def _request_queue() -> RequestQueue:
    compute: Compute = batching.compute
    if _has_process():
        compute = process = WorkerProcess(worker.__name__)
        process.start()
    return RequestQueue(compute, result_store(), together=batching.fit_together)


def warm_up() -> None:
    """Start the model's process and let it load the usual model before anybody asks."""
    with contextlib.suppress(CheckpointError, DeviceError, ServiceError):
        ask(find_later_rows(version_of(next(iter(checkpoints().values())))))


def _is_answered(request: Request, seconds: float) -> bool:
    with BUILDING.pause():
        return request.wait(seconds)


def _wait(queue: RequestQueue, request: Request, job: Job[Any]) -> None:
    shown_text = ""
    lines: list[ExitStack] = []
    try:
        while not _is_answered(request, POLL_SECONDS):
            while len(lines) > 1:
                # The newer one stands by now: nothing flickers.
                lines.pop(0).close()
            before = queue.before(request)
            text = _questions(before) if before else job.kind.doing
            if text != shown_text:
                lines.append(ExitStack())
                lines[-1].enter_context(st.spinner(text))
                shown_text = text
            # Streamlit ends a run that is out of date wherever it touches the session.
            st.session_state.get(SENTENCE.widget)
    finally:
        for line in lines:
            line.close()


def _questions(before: int) -> str:
    if before == 1:
        return "One question is ahead of yours…"
    return f"{before} questions are ahead of yours…"


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
    """Say why something was not answered, with a button to ask again."""
    st.warning(str(error), icon=":material/hourglass_top:")
    st.button("Try again", key=Keys("queue")("again"), icon=":material/refresh:")
