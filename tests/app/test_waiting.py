"""What a person sees who waits, and what becomes of requests on bad days."""

import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
import torch

from model.checkpoints.shipped import CheckpointError
from model.serving.queue import RequestQueue, ServiceError
from model.serving.store import ResultStore
from model.trace.translation import Translation
from model.translate.translator import Translator
from tests.kit.apptest import OpenApp
from tests.kit.tiny_checkpoint import write_tiny_checkpoint
from viz.service import batching, loaded, session
from viz.service.questions import ModelQuestion
from viz.service.versions import version_of
from viz.shell.bar import DIMMED

SENTENCE = "The dog eats."


@pytest.fixture
def folder(checkpoints: Path) -> Path:
    return checkpoints / "en-de"


def full_queue() -> RequestQueue:
    return RequestQueue(batching.compute, session.result_store(), most_waiting=0)


def test_a_full_queue_is_said_in_a_sentence_and_the_answer_before_stays(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app()
    with monkeypatch.context() as patch:
        patch.setattr(session, "request_queue", full_queue)
        app.text_input(key="sentence").set_value("The man sees the dog.").run()
        assert "Too many people" in app.warning[0].value
        assert DIMMED in app.info[0].value
    app.button(key="queue-again").click().run()
    assert not app.warning
    assert "queue-again" not in {button.key for button in app.button}


def test_a_full_queue_behind_the_sentence_bar_is_said_where_the_page_would_be(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app()
    monkeypatch.setattr(session, "labels", refuse)
    app.text_input(key="sentence").set_value("The man sees a dog.").run()
    assert app.warning[0].value == "Busy."
    assert app.button(key="queue-again")


def refuse(*_: Any) -> None:
    raise ServiceError("Busy.")


def test_whoever_waits_sees_how_many_are_ahead_and_then_what_is_done(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    standing: list[str] = []
    ahead = [5, 5, 1, 0, 0]
    answered = threading.Event()

    @contextmanager
    def spinner(text: str) -> Iterator[None]:
        lines.append(text)
        standing.append(text)
        yield
        standing.remove(text)
        # There is a line at every moment.
        assert standing or answered.is_set()

    def compute(asked: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        answered.wait(60)
        yield 0, {asked[0]: "answer"}

    def before(_: Any) -> int:
        if len(ahead) == 1:
            answered.set()
            return ahead[0]
        return ahead.pop(0)

    queue = RequestQueue(compute, ResultStore(1, 1, 1))
    monkeypatch.setattr(queue, "before", before)
    monkeypatch.setattr(st, "spinner", spinner)
    monkeypatch.setattr(session, "request_queue", lambda: queue)
    monkeypatch.setattr(session, "QUICK_SECONDS", 0)
    monkeypatch.setattr(session, "POLL_SECONDS", 0.001)
    person = SimpleNamespace(session_id="one")
    monkeypatch.setattr(session, "get_script_run_ctx", lambda **_: person)
    assert session.ask(ModelQuestion(folder, SENTENCE).translate) == "answer"
    assert [line.split()[0] for line in lines] == ["5", "One", "Translating…"]
    assert not standing


def test_a_run_that_is_out_of_date_takes_its_request_along(folder: Path) -> None:
    queue = RequestQueue(lambda _: iter(()), session.result_store(), most_waiting=1)

    class OutOfDate(BaseException):
        pass

    with pytest.raises(OutOfDate), queue.ask("typed on", "one"):
        raise OutOfDate
    with queue.ask("other", "one"):
        pass


def test_a_checkpoint_that_is_replaced_is_another_one_and_never_a_mixture(tmp_path: Path) -> None:
    folder, other = tmp_path / "en-de", tmp_path / "other"
    write_tiny_checkpoint(folder, steps=0)
    shutil.copytree(folder, other)
    write_tiny_checkpoint(other, steps=3)
    before = session.ask(ModelQuestion(folder, SENTENCE).translate)
    weights = session.translator(folder).head_matrices(
        next(iter(session.ask(ModelQuestion(folder, SENTENCE).record).maps)), 0
    )
    shutil.rmtree(folder)
    other.rename(folder)
    after = session.ask(ModelQuestion(folder, SENTENCE).translate)
    assert after.translation.token_ids != before.translation.token_ids
    site = next(iter(session.ask(ModelQuestion(folder, SENTENCE).record).maps))
    assert (session.translator(folder).head_matrices(site, 0).w_q != weights.w_q).any()


def test_a_checkpoint_that_is_replaced_while_it_is_read_is_refused_in_a_sentence(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(folder, tmp_path / "en-de")
    load = loaded.load

    def load_slowly(*arguments: Any, **settings: Any) -> Translator:
        loaded = load(*arguments, **settings)
        (copy / "metrics.json").write_text("{}")
        return loaded

    with monkeypatch.context() as patch:
        patch.setattr(loaded, "load", load_slowly)
        with pytest.raises(CheckpointError, match="was replaced"):
            session.ask(ModelQuestion(copy, SENTENCE).translate)
    assert session.ask(ModelQuestion(copy, SENTENCE).translate).translation.source_text == SENTENCE


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("full"), RuntimeError("CUDA error")])
def test_a_gpu_that_fails_leaves_the_sentence_to_the_cpu_and_the_next_one_tries_it_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: RuntimeError
) -> None:
    copy = shutil.copytree(folder, tmp_path / "en-de")
    version = version_of(copy)
    on_gpu = loaded.translator(version, "auto")
    fails = [True]
    translate = Translator.translate

    def failing(model: Translator, *arguments: Any, **settings: Any) -> Translation:
        if model is on_gpu and fails.pop():
            raise error
        return translate(model, *arguments, **settings)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(Translator, "translate", failing)
    monkeypatch.setattr(on_gpu, "device", torch.device("cuda"))
    assert session.ask(ModelQuestion(copy, SENTENCE).translate).device == "cpu"
    fails.append(False)
    monkeypatch.setattr(on_gpu, "device", torch.device("cpu"))
    assert session.ask(ModelQuestion(copy, "The dog sees.").translate).translation.text
    assert not fails


def test_too_little_memory_is_said_in_a_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate …")

    monkeypatch.setattr(Translator, "translate", full)
    with pytest.raises(ServiceError, match="too little memory"):
        session.ask(ModelQuestion(folder, "The dog sees the man.").translate)
