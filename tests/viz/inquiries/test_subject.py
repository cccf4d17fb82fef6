"""What a question is asked about: one page that waits for the model keeps no other waiting."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from model.checkpoints.shipped import CHECKPOINTS
from viz.inquiries.inquiry import Subject
from viz.service import session
from viz.service.questions import ModelQuestion


def test_two_pages_ask_for_their_traces_together(monkeypatch: pytest.MonkeyPatch) -> None:
    together, asked = Barrier(2, timeout=20), []

    def ask(job: Any) -> Any:
        # Passed only while the other page asks too.
        together.wait()
        asked.append(job)
        return object()

    monkeypatch.setattr(session, "ask", ask)
    subjects = [
        Subject(ModelQuestion(CHECKPOINTS / "toy-reverse", text)) for text in ("a b", "b a")
    ]
    with ThreadPoolExecutor(2) as pages:
        traces = list(pages.map(lambda subject: subject.trace, subjects))
    # Each asks once.
    assert [subject.trace for subject in subjects] == traces
    assert len(asked) == 2
