"""The corpus page in a real browser: from a question to a head, and to one of its sentences."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.kit.heads_page import LOADING, HeadsPage, wait_until_calm
from tests.kit.running_app import ROOT
from viz.links.mask_edits import encode

QUESTION = "Which heads look one word back, and does it matter?"

POINT = """() => {
  const map = document.querySelector(".st-key-corpus-heads .js-plotly-plot");
  map.scrollIntoView({ block: "center" });
  const { xaxis, yaxis } = map._fullLayout, { x, y, customdata } = map._fullData[0];
  const most = x.indexOf(Math.max(...x)), box = map.getBoundingClientRect();
  const place = [xaxis._offset + xaxis.c2p(x[most]), yaxis._offset + yaxis.c2p(y[most])];
  return [box.x + place[0], box.y + place[1], customdata[most][0]];
}"""
"""Brings the chart into view; says where its rightmost point is, and which head that is."""


def test_a_question_leads_to_all_heads_a_click_to_one_and_another_to_a_sentence(
    heads: HeadsPage,
) -> None:
    page = heads.page
    page.goto(heads.url, timeout=LOADING)
    ask = page.get_by_role("button", name="Ask a question")
    expect(ask).to_be_visible(timeout=LOADING)
    wait_until_calm(page)
    # The answer takes two clicks, and its chart is loaded between them.
    with page.expect_response(re.compile(r"/PlotlyChart\."), timeout=LOADING):
        ask.click()
    question = page.get_by_role("option", name=QUESTION)
    expect(question).to_be_in_viewport()
    question.click()
    page.wait_for_url("**/corpus?**asked=corpus-previous**", timeout=LOADING)
    answer = page.locator(".st-key-answer-line")
    expect(answer).to_contain_text(QUESTION, timeout=LOADING)
    expect(answer).to_contain_text("one word back with at least 50% of the weight")
    expect(answer).to_contain_text("Without it, a translation is")
    expect(answer).to_be_in_viewport()
    expect(page.locator(".st-key-corpus-heads .js-plotly-plot .points").first).to_be_visible()
    wait_until_calm(page)
    across, down, head = page.evaluate(POINT)
    page.mouse.click(across, down)
    heads.wait_for_query(one=head)
    sentence = page.locator(".st-key-corpus-sentence-9 button").first
    expect(sentence).to_be_visible(timeout=LOADING)
    expect(page.locator("img[src^='data:image/svg+xml']").first).to_be_visible()
    sentence.click()
    page.wait_for_url("**/heads?**", timeout=LOADING)
    kind, layer, number = head.split(".")
    heads.wait_for_query(attention=kind, layer=layer, head=number, asked=None)


MEETING = """() => {
  const map = document.querySelector(".st-key-corpus-heads .js-plotly-plot");
  const boxes = (of) => [...map.querySelectorAll(of)].map((each) => each.getBoundingClientRect());
  const names = boxes(".textpoint text").filter(({ width }) => width);
  const meet = (one, other) => one.left < other.right && other.left < one.right
    && one.top + 3 < other.bottom - 3 && other.top + 3 < one.bottom - 3;
  const points = boxes("path.point").filter(({ width }) => width < 20);
  const meeting = names.filter((one, place) =>
    [...names.slice(0, place), ...points].some((other) => meet(one, other)));
  return [names.length, meeting.length];
}"""
"""How many heads are named in the map, and how many of the names meet another one or a point."""


@pytest.mark.parametrize("width", [390, 820, 1280, 1920])
def test_no_name_in_the_map_meets_another_or_a_point(
    visitor: Callable[..., HeadsPage], width: int
) -> None:
    if not (ROOT / "checkpoints" / "en-de").is_dir():
        pytest.skip("the shipped checkpoint en-de is not here")
    shipped = visitor(viewport={"width": width, "height": 900})
    for view in ("", "?across=diagonal&one=cross.0.5"):
        shipped.page.goto(f"{shipped.url}/corpus{view}", timeout=LOADING)
        points = shipped.page.locator(".st-key-corpus-heads .js-plotly-plot .points")
        expect(points.first).to_be_visible(timeout=LOADING)
        wait_until_calm(shipped.page)
        named, meeting = shipped.page.evaluate(MEETING)
        assert named >= 3
        assert meeting == 0


CUT = """() => [...document.querySelectorAll("[data-testid=stMain] button p")]
  .filter((text) => text.offsetParent && text.scrollWidth > text.clientWidth)
  .map((text) => text.textContent)"""
"""The labels of buttons that are cut."""


@pytest.mark.parametrize("width", [1280, 390])
def test_a_drawn_pattern_names_its_heads_in_full(heads: HeadsPage, width: int) -> None:
    page = heads.page
    page.set_viewport_size({"width": width, "height": 800})
    drawn = encode(np.eye(8, 8, -1, dtype=np.bool_))
    page.goto(f"{heads.url}/corpus?over=draw&drawn={drawn}", timeout=LOADING)
    named = page.locator("[class*=st-key-corpus-pattern-encoder]")
    expect(named).to_have_count(2, timeout=LOADING)
    expect(named.first).to_have_text(re.compile(r"^Layer \d, head \d"))
    wait_until_calm(page)
    assert not [each for each in page.evaluate(CUT) if each.startswith("Layer")]


def test_the_grid_stays_where_it_is_while_a_pattern_is_drawn(heads: HeadsPage) -> None:
    page = heads.page
    page.goto(f"{heads.url}/corpus?over=draw", timeout=LOADING)
    grid = page.locator(".matrices canvas.matrix")
    expect(grid).to_be_visible(timeout=LOADING)
    wait_until_calm(page)
    before = grid.bounding_box()
    assert before is not None
    grid.click(position={"x": before["width"] - 40, "y": before["height"] - 40})
    expect(page.locator("[class*=st-key-corpus-pattern-encoder]")).to_have_count(2)
    wait_until_calm(page)
    assert grid.bounding_box() == before
