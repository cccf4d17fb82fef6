"""The pictures of the decoding page: what they hold, and the Python that makes them again."""

from __future__ import annotations

from pathlib import Path

import pytest

from model import Search, Translator
from model.translation import Decoding
from tests.kit.pictures import LAYOUTS, require_same, values
from viz.decoding.pictures import OneStep

SENTENCE = "The cat sat on the mat."
NARROW = Search(beam=2)


@pytest.fixture(scope="module")
def decoding(translator: Translator) -> Decoding:
    return translator.decode(SENTENCE, search=NARROW)


def test_a_step_comes_back_and_holds_its_probabilities(folder: Path, decoding: Decoding) -> None:
    for place, step in enumerate(decoding.steps[:2]):
        picture = OneStep(decoding, NARROW, place)
        require_same(picture, folder, LAYOUTS[:2])
        assert values(picture, "probability").tolist() == list(step.probabilities)
