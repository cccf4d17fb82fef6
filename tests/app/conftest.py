"""The app in-process, with a tiny checkpoint, and what Streamlit logged meanwhile."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from model.translate.translator import Translator, load
from tests.kit.apptest import go_to, lead
from viz.registry.pages import HOME
from viz.service import session
from viz.service.job import Job, JobKind

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120


@pytest.fixture(autouse=True, scope="module")
def _no_process(no_process: None) -> None:
    """Everywhere here."""


@pytest.fixture(scope="module")
def model(checkpoints: Path) -> Translator:
    return load(checkpoints / "en-de", device="cpu")


@pytest.fixture
def streamlit_log() -> Iterator[list[str]]:
    """Streamlit's warnings and errors: its deprecations come as nothing else."""
    messages: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    listener = Listener(logging.WARNING)
    # Streamlit's loggers do not pass on what they log, so each has to be heard.
    loggers = [
        logging.getLogger(name)
        for name in logging.Logger.manager.loggerDict
        if name.partition(".")[0] == "streamlit"
    ]
    for logger in loggers:
        logger.addHandler(listener)
    yield messages
    for logger in loggers:
        logger.removeHandler(listener)


@pytest.fixture
def answer_with(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets every job of a kind have another result."""

    def answer(kind: JobKind[..., Any], result: Any) -> None:
        ask = session.ask

        def answered(job: Job[Any]) -> Any:
            return result if job.kind is kind else ask(job)

        monkeypatch.setattr(session, "ask", answered)

    return answer


@pytest.fixture
def open_app(
    checkpoints: Path, monkeypatch: pytest.MonkeyPatch, streamlit_log: list[str]
) -> Iterator[Callable[..., AppTest]]:
    """Opens the app as a new session at an address; fails for a traceback or a deprecation.

    That is an address of the heads page, unless another page is named.
    """
    opened: list[AppTest] = []

    def open_at(*, folder: Path = checkpoints, page: str = "heads", **query: str) -> AppTest:
        monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(folder))
        app = AppTest.from_file(ROOT / "app.py", default_timeout=SECONDS)
        if page != HOME:
            go_to(app, page)
        for name, value in query.items():
            app.query_params[name] = value
        opened.append(app)
        app.run()
        lead(app)
        return app

    yield open_at
    for app in opened:
        assert not app.exception, app.exception
    deprecations = [message for message in streamlit_log if "deprecat" in message.lower()]
    assert not deprecations, deprecations
