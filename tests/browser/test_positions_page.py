"""The positions page in a real browser: its sliders, the words that are dragged, its address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Locator, expect

from model.explain.position_measures import formula_table
from model.record.intervention import Intervention, PositionEdit
from model.translate.translator import Translator
from tests.kit.heads_page import LOADING, SHORTLY, HeadsPage, wait_until_calm
from viz.draw.labels import axis_texts
from viz.draw.themes import DARK, LIGHT
from viz.pages.positions_changed import ORIGINAL
from viz.positions.neighbours import neighbour_heads

SENTENCE = "She told me that she had never seen such a beautiful garden."
"""Its translation needs positions, at least the shipped model's."""

POINT = 4
"""Which trace of the circle is its point: the last."""

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}

TOPICS = {
    "table": "Table",
    "likeness": "Similarity",
    "words": "Added to the words",
    "without": "Remove positions",
    "shuffle": "Shuffle the words",
    "formula": "Another formula",
    "learned": "Learned positions",
}
TABS = {"without": "Order", "formula": "What if"}
"""Tabs that lead to the first of several topics; the others stand beside the tabs then."""


class PositionsPage:
    """A browser's page that shows positions."""

    def __init__(self, reader: HeadsPage) -> None:
        self.reader = reader
        self.page = reader.page
        self.words = self.page.locator(".word-order li")
        self.before = self.page.locator(".change div").first
        self.charts = self.page.locator(".js-plotly-plot")

    def open(self, **query: str) -> PositionsPage:
        query = {"sentence": SENTENCE} | query
        address = f"{self.reader.url}/positions?{urlencode(query, quote_via=quote)}"
        self.page.goto(address, timeout=LOADING)
        return self._wait_until_loaded()

    def reload(self) -> None:
        self.page.reload(timeout=LOADING)
        self._wait_until_loaded()

    def _wait_until_loaded(self) -> PositionsPage:
        self.page.get_by_test_id("stButtonGroup").first.wait_for(timeout=LOADING)
        self.settle()
        return self

    def settle(self) -> None:
        """Waits until nothing runs, and has not for as long as the browser takes to ask again."""
        wait_until_calm(self.page, still=SHORTLY)

    def slider(self, name: str) -> Locator:
        return self.page.get_by_role("slider", name=name)

    def move(self, name: str, key: str) -> None:
        self.slider(name).focus()
        self.page.keyboard.press(key)

    def values(self, key: str, number: int, field: str) -> list[float]:
        """What a drawn figure holds: the numbers of one of its traces."""
        found: list[float] = self.page.locator(f".st-key-positions-{key} .js-plotly-plot").evaluate(
            "(node, [number, field]) => Array.from(node._fullData[number][field])", [number, field]
        )
        return found

    def layout(self, key: str) -> dict[str, Any]:
        found: dict[str, Any] = self.page.locator(
            f".st-key-positions-{key} .js-plotly-plot"
        ).evaluate(
            """node => ({
                title: node._fullLayout.title.text,
                across: node._fullLayout.xaxis.title.text ?? "",
                color: node._fullLayout.font.color,
            })"""
        )
        return found

    def wait_for_translation(self, text: str) -> None:
        """Waits until the first translation after an edit has these letters."""
        self.page.wait_for_function(
            """wanted => {
                const copy = document.querySelectorAll(".change div")[1]?.cloneNode(true);
                for (const lost of copy?.querySelectorAll("del") ?? []) lost.remove();
                return copy?.textContent.replace(/\\s/g, "") === wanted;
            }""",
            arg="".join(text.split()),
        )
        self.settle()

    @property
    def order(self) -> list[str]:
        return self.words.all_inner_texts()

    def middle(self, place: int) -> tuple[float, float]:
        box = self.words.nth(place).bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(self, source: int, place: int) -> None:
        """Drags a word onto the left half of another."""
        box = self.words.nth(place).bounding_box()
        assert box is not None
        mouse = self.page.mouse
        mouse.move(*self.middle(source))
        mouse.down()
        mouse.move(box["x"] + 3, box["y"] + box["height"] / 2, steps=6)
        mouse.up()


@pytest.fixture
def positions(heads: HeadsPage) -> PositionsPage:
    return PositionsPage(heads)


def written(order: Sequence[int]) -> str:
    """An order as the address has it."""
    return ".".join(map(str, order))


# ---- the formula --------------------------------------------------------------------------------


def test_the_formula_beside_its_picture_computes_the_cell_that_is_pointed_at(
    positions: PositionsPage,
) -> None:
    positions.open(topic="formula", d_model="64", rows="32", base="100")
    said = positions.page.locator(".formula")
    expect(said).to_contain_text("PE(pos, 2i) = sin(pos / 1002i/64)")
    chart = positions.page.locator(".st-key-positions-formula .js-plotly-plot")
    table = formula_table(64, 32, 100.0)
    for position, dimension in ((7, 21), (31, 62)):
        x, y = chart.evaluate(
            """(node, [position, dimension]) => {
                const { xaxis, yaxis } = node._fullLayout;
                return [xaxis._offset + xaxis.c2p(dimension), yaxis._offset + yaxis.c2p(position)];
            }""",
            [position, dimension],
        )
        chart.hover(position={"x": x, "y": y})
        expect(said).to_contain_text(f"Position {position}, dimension {dimension}: i = ")
        shown = said.locator("strong").inner_text().replace("−", "-")
        assert float(shown) == pytest.approx(table[position, dimension], abs=1e-4)
    # What was pointed at stays, as far as the table still has it.
    positions.move("Positions", "ArrowRight")
    positions.settle()
    expect(said).to_contain_text("Position 31, dimension 62: i = 31")


# ---- taking positions away ---------------------------------------------------------------------


def test_the_strength_from_all_to_nothing_changes_the_translation_and_the_heads(
    positions: PositionsPage, model: Translator
) -> None:
    own = model.translate(SENTENCE)
    gone = Intervention(positions=PositionEdit(scale=0))
    without = model.translate(SENTENCE, under=gone).text
    assert without != own.text, "choose another sentence"
    positions.open(topic="without")
    positions.wait_for_translation(own.text)
    before = positions.values("neighbours", 1, "x")
    positions.move("Strength of the encoding", "Home")
    positions.reader.wait_for_query(scale="0")
    expect(positions.page.get_by_role("heading", name="The translation changes")).to_be_visible()
    positions.settle()
    positions.wait_for_translation(without)
    assert positions.before.inner_text() == own.text
    heads = neighbour_heads(model.trace_of(own), model.trace_of(own, under=gone))
    after = positions.values("neighbours", 1, "x")
    assert after == pytest.approx([100 * head.after for head in heads], abs=0.01)
    assert before == pytest.approx([100 * head.before for head in heads], abs=0.01)
    positions.move("Strength of the encoding", "End")
    positions.reader.wait_for_query(scale=None)
    expect(positions.page.get_by_role("heading", name="stays the same")).to_be_visible()


def test_shift_reverse_and_side_stand_in_the_address_and_after_a_reload(
    positions: PositionsPage, model: Translator
) -> None:
    positions.open(topic="without")
    positions.page.get_by_role("button", name="Options").click()
    positions.move("Shift by positions", "ArrowRight")
    positions.reader.wait_for_query(shift="1")
    positions.settle()
    positions.page.get_by_role("radio", name="Encoder", exact=True).click()
    positions.reader.wait_for_query(side="encoder")
    positions.settle()
    positions.page.get_by_text("Reverse", exact=True).click()
    positions.reader.wait_for_query(reverse="1")
    positions.settle()
    edit = PositionEdit(shift=1, reverse=True, side="encoder")
    wanted = model.translate(SENTENCE, under=Intervention(positions=edit)).text
    positions.wait_for_translation(wanted)
    positions.reload()
    positions.wait_for_translation(wanted)
    positions.page.get_by_role("button", name="Options").click()
    expect(positions.slider("Shift by positions")).to_have_value("1")
    positions.page.go_back()
    positions.reader.wait_for_query(reverse=None, side="encoder")
    positions.settle()
    edit = PositionEdit(shift=1, side="encoder")
    positions.wait_for_translation(
        model.translate(SENTENCE, under=Intervention(positions=edit)).text
    )


# ---- another order -----------------------------------------------------------------------------


def test_a_word_that_is_dragged_changes_the_order_the_address_and_the_bars(
    positions: PositionsPage, model: Translator
) -> None:
    positions.open(topic="shuffle")
    texts = axis_texts(model.translate(SENTENCE).source)[:-1]
    assert positions.order == texts
    positions.drag(3, 0)
    order = [3, 0, 1, 2, *range(4, len(texts))]
    assert positions.order == [texts[place] for place in order]
    positions.reader.wait_for_query(shuffled=written(order))
    positions.page.locator(".st-key-positions-distances .js-plotly-plot").wait_for()
    positions.settle()
    moved, alike = (positions.values("distances", number, "y") for number in (0, 1))
    assert max(moved) > 0.1
    assert max(alike) < 1e-3
    positions.wait_for_translation(
        model.translate(SENTENCE, under=Intervention(source_order=order)).text
    )
    drawn = moved
    # Downwards and over a word that stands lower: places are counted after it has left its own.
    positions.drag(0, 2)
    positions.reader.wait_for_query(shuffled=written([0, 3, 1, 2, *range(4, len(texts))]))
    positions.settle()
    assert positions.values("distances", 0, "y") != drawn
    positions.reload()
    assert positions.order == [texts[place] for place in (0, 3, 1, 2, *range(4, len(texts)))]


def test_arrow_keys_move_a_word_and_lose_no_step_while_the_page_runs(
    positions: PositionsPage, model: Translator
) -> None:
    positions.open(topic="shuffle")
    texts = axis_texts(model.translate(SENTENCE).source)[:-1]
    positions.words.first.focus()
    for _ in range(5):
        told = positions.page.evaluate("window.sent")
        positions.page.keyboard.press("ArrowRight")
        # Each is told while the one before is answered.
        positions.page.wait_for_function("told => window.sent > told", arg=told)
    order = [1, 2, 3, 4, 5, 0, *range(6, len(texts))]
    positions.reader.wait_for_query(shuffled=written(order))
    positions.settle()
    assert positions.order == [texts[place] for place in order]
    focused = positions.page.evaluate("window.focused().getAttribute('aria-label')")
    assert focused == f"{texts[0]}, place 6, was 1"
    expect(positions.page.locator(".word-order .spoken")).to_have_text(focused)
    positions.page.keyboard.press("ArrowLeft")
    order = [1, 2, 3, 4, 0, 5, *range(6, len(texts))]
    positions.reader.wait_for_query(shuffled=written(order))


def test_shuffling_and_putting_back_move_the_words_on_the_page(
    positions: PositionsPage, model: Translator
) -> None:
    positions.open(topic="shuffle")
    texts = axis_texts(model.translate(SENTENCE).source)[:-1]
    positions.drag(1, 0)
    positions.reader.wait_for_query(shuffled=written([1, 0, *range(2, len(texts))]))
    positions.settle()
    before = positions.order
    positions.page.get_by_role("button", name="Shuffle", exact=True).last.click()
    positions.page.wait_for_function(
        """before => {
            const items = [...document.querySelectorAll("*")].flatMap(node =>
                [...(node.shadowRoot?.querySelectorAll(".word-order li") ?? [])]);
            return items.length && items.map(item => item.textContent).join() !== before;
        }""",
        arg=",".join(before),
    )
    assert sorted(positions.order) == sorted(texts)
    positions.page.get_by_role("button", name=ORIGINAL).click()
    positions.reader.wait_for_query(shuffled=None)
    expect(positions.words).to_have_text(texts)


def test_a_finger_drags_a_word(
    visitor: Callable[..., HeadsPage],
    model: Translator,
) -> None:
    positions = PositionsPage(visitor(**PHONE)).open(topic="shuffle")
    texts = axis_texts(model.translate(SENTENCE).source)[:-1]
    positions.words.first.scroll_into_view_if_needed()
    (x, y), box = positions.middle(2), positions.words.first.bounding_box()
    assert box is not None
    touch = positions.page.context.new_cdp_session(positions.page)

    def send(kind: str, *points: tuple[float, float]) -> None:
        touch.send(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]},
        )

    send("touchStart", (x, y))
    for share in (0.5, 1):
        left, top = box["x"] + 3, box["y"] + box["height"] / 2
        send("touchMove", (x + share * (left - x), y + share * (top - y)))
    send("touchEnd")
    order = [2, 0, 1, *range(3, len(texts))]
    positions.reader.wait_for_query(shuffled=written(order))
    assert positions.order == [texts[place] for place in order]
    positions.settle()
    assert not scrolls_sideways(positions)


# ---- the table ---------------------------------------------------------------------------------


def test_the_point_moves_on_its_circle_as_the_slider_does(
    positions: PositionsPage, model: Translator
) -> None:
    positions.open(pair="4", at="5")
    table = model.position_table()
    for at in (6, 7):
        positions.move("Position", "ArrowRight")
        positions.reader.wait_for_query(at=str(at))
        positions.settle()
        assert positions.values("circle", POINT, "y") == pytest.approx([table[at, 8]], abs=1e-6)
        assert positions.values("circle", POINT, "x") == pytest.approx([table[at, 9]], abs=1e-6)
    assert positions.layout("circle")["title"] == "Pair 4 at position 7"


def test_every_topic_opens_with_a_click_and_back_returns(positions: PositionsPage) -> None:
    positions.open()
    for topic, name in TOPICS.items():
        positions.page.get_by_role("radio", name=TABS.get(topic, name), exact=True).click()
        positions.reader.wait_for_query(topic=None if topic == "table" else topic)
        positions.settle()
        expect(positions.reader.alerts).to_have_count(
            int(topic == "learned" and not positions.charts.count())
        )
        assert not scrolls_sideways(positions)
    positions.page.go_back()
    positions.reader.wait_for_query(topic="formula")
    positions.settle()
    chosen = positions.page.get_by_role("radio", name="Another formula")
    expect(chosen).to_have_attribute("aria-checked", "true")


def test_the_column_that_is_pointed_at_is_drawn_as_a_wave(positions: PositionsPage) -> None:
    positions.open()
    wave = positions.page.locator(".wave")
    expect(wave.get_by_text("Dimension 16 (sin), wavelength")).to_be_visible()
    plot = positions.page.locator(".st-key-positions-encoding .nsewdrag")
    box = plot.bounding_box()
    assert box is not None
    plot.hover(position={"x": 1, "y": box["height"] / 2})
    expect(wave.get_by_text("Dimension 0 (sin), wavelength 6.28")).to_be_visible()
    wave.focus()
    positions.page.keyboard.press("ArrowRight")
    expect(wave.get_by_text("Dimension 1 (cos), wavelength 6.28")).to_be_visible()


# ---- light, dark, small and large ---------------------------------------------------------------


def scrolls_sideways(positions: PositionsPage) -> bool:
    wide: bool = positions.page.evaluate(
        """() => {
            const main = document.querySelector('[data-testid="stMain"]');
            return main.scrollWidth > main.clientWidth + 1;
        }"""
    )
    return wide


def test_on_a_phone_figures_are_narrow_and_nothing_leaves_the_page(
    visitor: Callable[..., HeadsPage],
) -> None:
    positions = PositionsPage(visitor(**PHONE, color_scheme="dark"))
    positions.open(topic="words")
    for name, key in {"": "terms", "Order": "neighbours", "Table": "encoding"}.items():
        if name:
            positions.page.get_by_role("radio", name=name, exact=True).click()
        positions.page.wait_for_function(
            """key => {
                const plot = document.querySelector(`.st-key-positions-${key} .js-plotly-plot`);
                return plot?._fullLayout.title.subtitle.text;
            }""",
            arg=key,
        )
        positions.settle()
        assert not scrolls_sideways(positions)
        assert positions.layout(key)["color"] == DARK.text
    # The names are short, so that the buttons take two lines.
    box = positions.page.get_by_test_id("stButtonGroup").first.bounding_box()
    assert box is not None
    assert box["height"] < 90


def test_a_window_made_wider_and_narrower_lays_its_figures_out_anew(
    visitor: Callable[..., HeadsPage],
) -> None:
    positions = PositionsPage(visitor()).open(topic="likeness")
    assert not positions.layout("likeness")["across"].startswith("Position")
    for width, is_wide in ((1920, True), (500, False), (1500, True)):
        positions.page.set_viewport_size({"width": width, "height": 800})
        positions.page.wait_for_function(
            """wide => {
                const plot = document.querySelector(".st-key-positions-likeness .js-plotly-plot");
                return (plot?._fullLayout.xaxis.title.text === "Position") === wide;
            }""",
            arg=is_wide,
        )
        positions.settle()
        assert positions.layout("likeness")["color"] == LIGHT.text
        assert not scrolls_sideways(positions)


def test_the_four_parts_of_a_word_stand_in_two_rows_wide_enough_to_read(
    visitor: Callable[..., HeadsPage],
) -> None:
    positions = PositionsPage(visitor()).open(topic="words")
    canvases = positions.page.locator(".matrices .panel canvas")
    expect(canvases).to_have_count(4)
    for width in (1280, 1920):
        positions.page.set_viewport_size({"width": width, "height": 900})
        positions.settle()
        boxes = [canvas.bounding_box() for canvas in canvases.all()]
        assert all(box is not None and box["width"] > 0.35 * width for box in boxes)
        assert len({box["y"] for box in boxes if box}) == 2
