"""The page that compares in a real browser: clicks put parts of one sentence into the other."""

from urllib.parse import urlencode

from playwright.sync_api import Locator, expect

from tests.kit.heads_page import LOADING, SHORTLY, HeadsPage, wait_until_calm

CELL = """([chart, item]) => {
  const map = document.querySelector(`.st-key-${chart} .js-plotly-plot`);
  for (const { type, customdata, xaxis, yaxis, x, y } of map._fullData) {
    if (type !== "heatmap" || !customdata) continue;
    const row = customdata.findIndex((cells) => cells.some(([name]) => name === item));
    if (row < 0) continue;
    const column = customdata[row].findIndex(([name]) => name === item);
    const along = (axis, place) => axis._offset + axis.c2p(place);
    const box = map.getBoundingClientRect();
    return [
      box.x + along(map._fullLayout[xaxis.replace("x", "xaxis")], x ? x[column] : column),
      box.y + along(map._fullLayout[yaxis.replace("y", "yaxis")], y ? y[row] : row),
    ];
  }
}"""
"""Where the cell whose customdata begins with an item is in the window."""


def click(heads: HeadsPage, chart: str, item: str) -> None:
    """Click a cell of a chart that has been drawn."""
    page = heads.page
    plot = page.locator(f".st-key-{chart} .js-plotly-plot .main-svg").first
    expect(plot).to_be_visible(timeout=LOADING)
    wait_until_calm(page, still=SHORTLY)
    plot.scroll_into_view_if_needed()
    page.mouse.click(*page.evaluate(CELL, [chart, item]))


def drag(heads: HeadsPage, part: Locator, place: Locator) -> None:
    """Drag a part with the mouse to the middle of something else."""
    # A run that is still to end draws the part anew.
    wait_until_calm(heads.page, still=SHORTLY)
    part.scroll_into_view_if_needed()
    mouse = heads.page.mouse
    for step, box in enumerate((part.bounding_box(), place.bounding_box())):
        assert box is not None
        mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
        (mouse.up if step else mouse.down)()


PAIR = {"sentence": "The cat sat on the mat.", "other": "The dog sat on the mat."}


def test_the_grid_of_heads_is_one_stop_that_shows_and_puts_heads_in(heads: HeadsPage) -> None:
    page = heads.page
    page.goto(f"{heads.url}/compare?{urlencode(PAIR)}", timeout=LOADING)
    panel = page.locator(".exchange")
    grid, into = panel.get_by_role("grid"), panel.get_by_role("region", name="The first sentence")
    tile = grid.locator('[data-part="cross.1.2"]')
    expect(tile).to_be_visible(timeout=LOADING)
    expect(grid.locator('[tabindex="0"]')).to_have_count(1)
    tile.click()
    heads.wait_for_query(**PAIR, pair_head="cross.1.2")
    title = panel.get_by_role("heading", level=3)
    expect(title).to_have_text("Cross-attention, layer 1, head 2")
    page.keyboard.press("ArrowLeft")
    expect(title).to_have_text("Cross-attention, layer 1, head 1")
    expect(tile).to_have_attribute("tabindex", "-1")
    page.keyboard.press("Enter")
    heads.wait_for_query(**PAIR, pair_head="cross.1.1", patched="cross.1.1")
    expect(grid.locator('[data-part="cross.1.1"]')).to_be_focused()
    expect(panel.get_by_text("First, with cross 1.1 from the second")).to_be_visible()
    drag(heads, grid.locator('[data-part="cross.0.1"]'), into)
    heads.wait_for_query(**PAIR, pair_head="cross.1.1", patched="cross.1.1-cross.0.1")
    drag(heads, into.get_by_role("button", name="cross 1.1"), title)
    heads.wait_for_query(**PAIR, pair_head="cross.1.1", patched="cross.0.1")
    into.get_by_role("button", name="Put this head in").click()
    heads.wait_for_query(**PAIR, pair_head="cross.1.1", patched="cross.0.1-cross.1.1")


def test_a_cell_of_the_other_sentence_changes_the_translation(heads: HeadsPage) -> None:
    page = heads.page
    asked = {**PAIR, "shown": "layers"}
    page.goto(f"{heads.url}/compare?{urlencode(asked)}", timeout=LOADING)
    click(heads, "compare-tracing", "encoder.embedding.at1")
    heads.wait_for_query(**asked, patched="encoder.embedding.at1")
    panel = page.locator(".exchange")
    expect(panel.get_by_text("First, with encoder embedding at “cat”")).to_be_visible()
    expect(page.locator(".st-key-compare-words .js-plotly-plot")).to_be_visible(timeout=LOADING)
    # The token that is in is dragged out, and the encoder's output is put in by a key.
    into = panel.get_by_role("region", name="The first sentence")
    drag(heads, into.get_by_role("button"), panel.locator(".line").first)
    heads.wait_for_query(**asked)
    panel.locator('[data-part="encoder.output"]').press("Enter")
    heads.wait_for_query(**asked, patched="encoder.output")
