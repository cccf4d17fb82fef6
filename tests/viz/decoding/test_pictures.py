"""The pictures of the decoding page: what they hold, and the Python that makes them again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from model import Search, Translator
from model.trace import AttentionKind, Site
from model.translation import Decoding
from tests.kit.pictures import LAYOUTS, require_same, values
from viz.decoding.pictures import OneStep

SENTENCE = "The cat sat on the mat."
NARROW = Search(beam=2)


@pytest.fixture(scope="module")
def decoding(translator: Translator) -> Decoding:
    return translator.decode(SENTENCE, search=NARROW)


def test_a_step_comes_back_and_holds_its_probabilities_and_weights(
    folder: Path, translator: Translator, decoding: Decoding
) -> None:
    trace = translator.trace_of(decoding.translation)
    cross, own = (Site(kind, 1) for kind in (AttentionKind.CROSS, AttentionKind.DECODER))
    for place, heads in ((0, []), (2, [(cross, 3), (own, 0)])):
        step = decoding.steps[place]
        picture = OneStep(decoding, trace, NARROW, place, heads)
        require_same(picture, folder, LAYOUTS[:2])
        assert values(picture, "probability").tolist() == list(step.probabilities)
    np.testing.assert_array_equal(values(picture, "cross"), trace.maps[cross].weights[3, 2])
    np.testing.assert_array_equal(values(picture, "decoder"), trace.maps[own].weights[0, 2, :3])
    source, target, bars = picture.figure(LAYOUTS[0]).data
    np.testing.assert_array_equal(source.z, trace.maps[cross].weights[3, 2][np.newaxis])
    assert len(target.z[0]) == 3
    assert list(bars.x) == list(step.probabilities)
    assert len(set(bars.marker.color)) == 2
