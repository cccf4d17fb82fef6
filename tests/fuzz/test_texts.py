"""Any text as a sentence and as its translation."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from model.paper.search import Search
from model.translate.sentences import TextError
from tests.kit.fuzz import cases, limits, require_sentence, texts


@cases(500)
@given(text=texts(), beam=st.sampled_from([1, 4]))
def test_any_sentence_is_translated_or_refused_in_a_sentence(translator, text, beam):
    with limits(seconds=10, megabytes=64):
        try:
            found = translator.translate(text, search=Search(beam=beam))
        except TextError as refused:
            require_sentence(refused)
            return
    assert len(found.tokens) == len(found.log_probs)
    assert np.isfinite(found.log_probs).all()
    found.text.encode()


@cases(300)
@given(text=texts(3), target=texts())
def test_any_translation_is_traced_or_refused_in_a_sentence(translator, text, target):
    with limits(seconds=10, megabytes=64):
        try:
            found = translator.trace(text, target)
        except TextError as refused:
            require_sentence(refused)
            return
    for seen in found.maps.values():
        np.testing.assert_allclose(seen.weights.sum(axis=-1), 1, atol=1e-5)
