"""All heads of a kind beside the model's picture at the place of one, held to the trace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from model.explain.measures import facts_of
from model.explain.reading import Reading, read
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.heads_page import SENTENCE, picture, pixels, wrong_cells, wrong_tiles
from tests.kit.heads_view import HeadsViewPage
from viz.browser.files import joined
from viz.draw.labels import axis_texts
from viz.heads.standalone import opening
from viz.model_page.arcs import arcs_of
from viz.model_page.payload import Figure, pack
from viz.save.document import document

SCRIPT = Path(__file__).parent.parent / "kit" / "heads_view.js"

Opened = Callable[..., HeadsViewPage]


@pytest.fixture(scope="module")
def trace(model: Translator) -> Trace:
    return model.trace(SENTENCE)


def page_of(trace: Trace, reading: Reading | None = None, **selection: str) -> str:
    """The component with a trace in it, in a file of its own."""
    seen = read(trace)
    figure = Figure(
        trace=trace,
        seen=seen,
        facts=facts_of(seen.maps),
        arcs=arcs_of(trace, None),
        positions={},
        labels={},
    )
    shown = None if reading is None else read(trace, reading)
    payload = pack(
        figure,
        key="heads",
        selection=opening(seen, {}) | selection,
        vectors=True,
        reading=None if shown is None else (shown, facts_of(shown.maps)),
    )
    return document(
        payload,
        title="All heads",
        html='<div class="headscope heads-view"></div>',
        css=joined("model_view/model_view.css"),
        script=joined(SCRIPT),
        about="",
        dark=False,
    )


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """Opens a file; fails if it complains."""
    trouble: list[str] = []
    file = tmp_path / "heads.html"
    with ExitStack() as stack:

        def open_file(text: str, **options: Any) -> HeadsViewPage:
            file.write_text(text, encoding="utf-8")
            shown = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
            context = browser.new_context(**shown | options)
            stack.callback(context.close)
            page = context.new_page()
            page.on("pageerror", lambda error: trouble.append(str(error)))
            heads = HeadsViewPage(page, file.as_uri())
            page.goto(file.as_uri())
            page.wait_for_function("() => window.painted().id !== undefined")
            return heads

        yield open_file
    assert trouble == []


def test_every_cell_has_the_colour_of_its_weight(opened: Opened, trace: Trace) -> None:
    heads = opened(page_of(trace, layer="1", head="2"))
    assert heads.selected == ("cross", 1, 2)
    assert wrong_cells(heads, read(trace)) == []
    assert wrong_tiles(heads, read(trace)) == []
    for text, attention in (("Decoder", "decoder"), ("All three", "joint")):
        heads.control(text).click()
        heads.wait_for_painted(attention=attention)
        assert wrong_cells(heads, read(trace)) == []


def test_a_head_is_selected_in_the_panel_and_by_keys_in_the_picture(
    opened: Opened, trace: Trace
) -> None:
    heads = opened(page_of(trace, layer="0", head="0"))
    heads.click_tile(1, 3)
    assert heads.selected == ("cross", 1, 3)
    assert wrong_cells(heads, read(trace)) == []
    heads.overview.focus()
    heads.page.keyboard.press("Enter")
    assert "model-view" in heads.page.evaluate("window.focused().className")
    heads.page.keyboard.press("ArrowLeft")
    assert heads.selected == ("cross", 1, 2)
    heads.page.keyboard.press("ArrowUp")
    assert heads.selected == ("cross", 0, 2)


def test_a_cell_is_read_opened_and_left_again(opened: Opened, trace: Trace) -> None:
    heads = opened(page_of(trace, layer="1", head="3"))
    weights, _ = picture(read(trace), "cross", 1, 3)
    frame = heads.frame()
    lines = heads.point_at(frame, 2, 1)
    query, key = axis_texts(trace.target)[2], axis_texts(trace.source)[1]
    assert lines[0] == f"{query} (2) to {key} (1)"
    [told] = re.findall(r"weight ([\d.e-]+)", lines[1])
    assert float(told) == pytest.approx(float(weights[2, 1]), rel=5e-3)
    x, y = frame.middle(2, 1)
    heads.matrix.click(position={"x": x, "y": y})
    expect(heads.matrix).to_have_attribute("data-place", "weight")
    for place in ("row", "head", "head"):
        heads.page.keyboard.press("Escape")
        expect(heads.matrix).to_have_attribute("data-place", place)
    # Farther out lead only hands and the keys − and +.
    heads.matrix.focus()
    for _ in range(12):
        heads.page.keyboard.press("-")
    expect(heads.matrix).to_have_attribute("data-place", "model")
    heads.page.keyboard.press("Escape")
    expect(heads.matrix).to_have_attribute("data-place", "head")
    assert heads.selected == ("cross", 1, 3)


def test_heads_are_compared_and_drawn_as_lines(opened: Opened, trace: Trace) -> None:
    heads = opened(page_of(trace, layer="0", head="0"))
    alone = pixels(heads.matrix)
    heads.unfold()
    heads.control("Compare heads").click()
    heads.click_tile(0, 1)
    heads.click_tile(1, 1)
    shown = heads.matrix.get_by_role("button", name=re.compile("^Remove "))
    expect(shown).to_have_count(3)
    assert not np.array_equal(pixels(heads.matrix), alone)
    heads.page.keyboard.press("Escape")
    expect(heads.spoken).to_have_text("Comparison ended.")
    expect(shown).to_have_count(0)
    heads.draw_as("Lines")
    heads.wait_for_painted(view="lines")
    assert not np.array_equal(pixels(heads.matrix), alone)


def test_heads_are_shown_in_a_reading_beside_the_model_as_it_was_recorded(
    opened: Opened, trace: Trace
) -> None:
    reading = Reading(words=True, specials=False)
    heads = opened(page_of(trace, reading, words="1", specials="0"))
    seen = read(trace, reading)
    attention, layer, head = heads.selected
    weights, _ = picture(seen, attention, layer, head)
    assert wrong_cells(heads, seen) == []
    assert wrong_tiles(heads, seen) == []
    queries, keys = heads.named_axes()
    assert (len(queries), len(keys)) == weights.shape
    for note in seen.notes:
        expect(heads.caption).to_contain_text(note)


@pytest.mark.parametrize("size", [(390, 844), (844, 390), (1920, 1080)])
def test_the_picture_lies_within_its_room(
    opened: Opened, trace: Trace, size: tuple[int, int]
) -> None:
    width, height = size
    heads = opened(page_of(trace), viewport={"width": width, "height": height})
    box = heads.matrix.bounding_box()
    assert box is not None
    frame = heads.frame()
    rows, columns = picture(read(trace), *heads.selected)[0].shape
    assert 0 < frame.x < frame.x + columns * frame.width < box["width"]
    assert 0 < frame.y < frame.y + rows * frame.height < box["height"]
    across = heads.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert across <= 0
