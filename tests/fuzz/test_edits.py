"""Any text as masks in an address, and any message of a browser as a stroke on one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.record.mask_rules import MaskError
from model.translate.translator import Translator
from tests.kit.fuzz import cases, json_values, limits, require_sentence, texts
from viz.browser.matrices import read_edit
from viz.links import mask_edits
from viz.links.mask_edits import EDITABLE, Edit

SIZES = st.sampled_from([1, 2, 7, 8, 9, 64])
LAYERS = st.none() | st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True).map(tuple)


@st.composite
def written(draw: st.DrawFn) -> str:
    """Masks as the app writes them, and then perhaps a few characters otherwise."""
    some = [
        mask_edits.Edit(
            kind,
            draw(LAYERS),
            np.random.default_rng(draw(st.integers(0, 9))).random((draw(SIZES), draw(SIZES))) < 0.5,
        )
        for kind in draw(st.lists(st.sampled_from(EDITABLE), max_size=3, unique=True))
    ]
    text = mask_edits.write(some)
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(text)))
        other = draw(st.sampled_from(["", "~", ":", ",", "x", ".", "A", "9", "-", "=", "*"]))
        text = text[:place] + other + text[place + draw(st.integers(0, 2)) :]
    return text


def hostile() -> st.SearchStrategy[str]:
    return st.one_of(written(), written(), texts(), texts().map("decoder:*:8x8.".__add__))


@cases(5000)
@given(text=hostile())
def test_any_text_is_masks_or_refused_in_a_sentence(text: str) -> None:
    with limits(seconds=2, megabytes=64):
        try:
            found = mask_edits.parse(text)
        except ValueError as refused:
            require_sentence(refused)
            return
    assert [str(each) for each in mask_edits.parse(mask_edits.write(found))] == [
        str(each) for each in found
    ]


@cases(600)
@given(text=hostile())
def test_masks_of_any_address_are_applied_or_refused_in_a_sentence(
    translator: Translator, text: str
) -> None:
    try:
        under = mask_edits.intervention(mask_edits.parse(text))
    except ValueError:
        return
    with limits(seconds=10, megabytes=64):
        try:
            trace = translator.trace("The cat eats.", "Die Katze frisst.", under=under)
        except MaskError as refused:
            require_sentence(refused)
            return
    for seen in trace.maps.values():
        assert np.isfinite(seen.weights).all()


@pytest.mark.parametrize("shape", [(3, 5), (8, 8)])
@cases(800)
@given(
    data=st.one_of(
        json_values(),
        st.fixed_dictionaries(
            {
                "name": st.just("mask") | json_values(),
                "rows": st.sampled_from([3, 8]) | json_values(),
                "columns": st.sampled_from([5, 8]) | json_values(),
                "bits": st.sampled_from(["AAA=", "/////////w==", "AAAAAAAAAAA="]) | json_values(),
            }
        ),
    )
)
def test_any_message_is_a_mask_of_the_shape_or_nothing(
    shape: tuple[int, int], data: object
) -> None:
    with limits(seconds=2, megabytes=64):
        found = read_edit(data, "mask", shape)
    assert found is None or (found.shape == shape and found.dtype == np.bool_)
    if found is not None:
        Edit(EDITABLE[0], None, found)
