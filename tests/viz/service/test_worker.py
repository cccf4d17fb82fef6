"""The process in which the app has its jobs computed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.checkpoints.shipped import CheckpointError
from model.record.intervention import Intervention
from model.serving.process import WorkerProcess
from model.serving.queue import RequestQueue
from model.serving.store import ResultStore
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.translate.translator import load
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint
from viz.service import batching
from viz.service.job import Job
from viz.service.jobs.examples import find_later_rows
from viz.service.jobs.running import intervene, record, record_batch, term_shares, translate
from viz.service.versions import version_of

pytestmark = pytest.mark.slow

SECONDS = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("checkpoints") / "en-de")


@pytest.fixture(scope="module")
def process() -> Iterator[WorkerProcess]:
    worker = WorkerProcess("viz.service.worker")
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def queue(process: WorkerProcess) -> RequestQueue:
    process.start()
    return RequestQueue(process, ResultStore(1000, 64, 10**9), together=batching.fit_together)


def answers(queue: RequestQueue, *asked: Job[Any]) -> list[Any]:
    with ExitStack() as stack:
        requests = [stack.enter_context(queue.ask(job, number)) for number, job in enumerate(asked)]
        assert all(request.wait(SECONDS) for request in requests)
        return [request.result() for request in requests]


def assert_same(found: Trace, expected: Trace) -> None:
    assert (found.source, found.target, found.text) == (
        expected.source,
        expected.target,
        expected.text,
    )
    assert found.maps.keys() == expected.maps.keys()
    for site, seen in expected.maps.items():
        for name in ("weights", "allowed", "scores", "q", "k", "v"):
            assert np.array_equal(getattr(found.maps[site], name), getattr(seen, name))
            assert not getattr(found.maps[site], name).flags.writeable


def test_every_job_comes_over_as_the_translator_gives_it(queue: RequestQueue, folder: Path) -> None:
    version, model = version_of(folder), load(folder, device="cpu")
    sentences = [source for source, _ in PAIRS]
    timed = answers(queue, *(translate(version, sentence) for sentence in sentences))
    for found, (sentence, german) in zip(timed, PAIRS, strict=True):
        assert (found.translation.text, found.translation.source_text) == (german, sentence)
        assert found.translation.log_probs == model.translate(sentence).log_probs
        assert found.device == "cpu"
    own, forced = answers(
        queue,
        record(version, sentences[0]),
        record(version, sentences[0], "Der Hund schläft."),
    )
    assert_same(own, model.trace(sentences[0]))
    assert_same(forced, model.trace(sentences[0], "Der Hund schläft."))
    one = sentences[0]
    allowed = np.ones((len(own.source), len(own.source)), dtype=np.bool_)
    allowed[:, 0] = False
    under = Intervention(masks={"encoder": allowed})
    padded, outcome, shares, later = answers(
        queue,
        record_batch(version, (one,)),
        intervene(version, (one,), "", 0, under),
        term_shares(version, one),
        find_later_rows(version),
    )
    assert_same(padded.padded[0], own)
    assert_same(outcome.free, model.trace(sentences[0], under=under))
    assert shares
    assert later == {}


def test_what_is_wrong_comes_over_as_the_same_sentence(
    queue: RequestQueue, folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(TextError, match=r"^The text is empty; type a sentence to translate\.$"):
        answers(queue, translate(version_of(folder), " "))
    with pytest.raises(CheckpointError, match="no checkpoint folder"):
        answers(queue, translate(version_of(tmp_path / "gone"), "The cat eats."))


def test_a_killed_process_comes_back_and_whoever_waits_is_answered(
    queue: RequestQueue, process: WorkerProcess, folder: Path
) -> None:
    version = version_of(folder)
    sentences = [f"The {word} eats." for word in ("man", "woman", "mat")]
    asked = [translate(version, sentence) for sentence in sentences]
    with ExitStack() as stack:
        requests = [stack.enter_context(queue.ask(job, job)) for job in asked]
        os.kill(process.start().pid, signal.SIGKILL)
        assert all(request.wait(SECONDS) for request in requests)
        for sentence, request in zip(sentences, requests, strict=True):
            assert request.result().translation.source_text == sentence


def test_it_needs_no_streamlit(folder: Path) -> None:
    code = "import sys, viz.service.worker; print('streamlit' in sys.modules)"
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_nothing_that_is_typed_is_printed_by_a_process_that_fails(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from model.serving.process import WorkerProcess; from viz.service.jobs import running\n"
        "from viz.service.versions import version_of\n"
        "process = WorkerProcess('viz.service.worker'); folder = Path(sys.argv[1])\n"
        "job = running.translate(version_of(folder), 'Secret words.' * 200)\n"
        "wrong = running.record(version_of(folder), 'Secret words.', target=3)\n"
        "for job in (job, wrong): assert isinstance(next(process([job]))[1], Exception)\n"
    )
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-c", code, str(folder)]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr) == ("", "")
