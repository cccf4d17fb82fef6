"""Of many who ask at once, nobody sees what another asked for."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.record.intervention import UNCHANGED, Intervention, PositionEdit
from model.trace.trace import Trace
from model.translate.translator import Translator, load
from tests.kit.tiny_checkpoint import PAIRS
from viz.service import session
from viz.service.questions import ModelQuestion
from viz.service.results import Outcome

THREADS = 6
ENGLISH = [english for english, _ in PAIRS]
UNDER = {
    "nothing": UNCHANGED,
    "no positions": Intervention(positions=PositionEdit(scale=0)),
    "shifted": Intervention(positions=PositionEdit(shift=3)),
    "half as strong": Intervention(positions=PositionEdit(scale=0.5, side="encoder")),
}
"""What a run is asked to do differently, by a name."""

ASKED = st.tuples(
    st.sampled_from(ENGLISH), st.sampled_from(["", *(german for _, german in PAIRS[:3])]),
    st.sampled_from(sorted(UNDER)),
)  # fmt: skip


@pytest.fixture(scope="module")
def alone(checkpoints: Path) -> Translator:
    """A model of its own, which nobody else asks."""
    return load(checkpoints / "en-de", device="cpu")


def same(found: Trace, expected: Trace) -> bool:
    return (
        (found.source, found.target, found.text, found.source_text)
        == (expected.source, expected.target, expected.text, expected.source_text)
        and found.maps.keys() == expected.maps.keys()
        and all(
            np.array_equal(found.maps[site].weights, seen.weights)
            and np.array_equal(found.maps[site].allowed, seen.allowed)
            for site, seen in expected.maps.items()
        )
    )


@settings(max_examples=3)
@given(asked=st.lists(ASKED, min_size=THREADS, max_size=2 * THREADS))
def test_of_many_who_ask_at_once_each_sees_what_was_asked_and_nothing_else(
    checkpoints: Path, alone: Translator, asked: list[tuple[str, str, str]]
) -> None:
    together = threading.Barrier(THREADS)

    def ask(number: int) -> list[Outcome]:
        together.wait()
        return [
            session.run(ModelQuestion(checkpoints / "en-de", sentence, target), UNDER[name])
            for sentence, target, name in asked[number::THREADS]
        ]

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(ask, range(THREADS)))
    for number, outcomes in enumerate(found):
        for (sentence, target, name), outcome in zip(asked[number::THREADS], outcomes, strict=True):
            given_target = target or alone.translate(sentence)
            expected = alone.trace_batch([sentence], [given_target], under=UNDER[name]).padded[0]
            assert same(outcome.forced, expected), (sentence, target, name)
            assert outcome.free.source_text == sentence
