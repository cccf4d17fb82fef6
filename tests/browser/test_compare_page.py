"""The page that compares in a real browser: clicks put parts of one sentence into the other."""

from __future__ import annotations

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
    expect(page.locator(f".st-key-{chart}-clicks [aria-busy]")).to_have_count(0)
    plot.scroll_into_view_if_needed()
    wait_until_calm(page, still=SHORTLY)
    page.mouse.click(*page.evaluate(CELL, [chart, item]))


def drag(heads: HeadsPage, part: Locator, place: Locator) -> None:
    """Drag a part with the mouse to the middle of something else."""
    part.scroll_into_view_if_needed()
    wait_until_calm(heads.page, still=SHORTLY)
    mouse = heads.page.mouse
    for step, box in enumerate((part.bounding_box(), place.bounding_box())):
        assert box is not None
        mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
        (mouse.up if step else mouse.down)()


def test_a_tile_is_shown_large_and_a_cell_of_the_other_sentence_changes_the_translation(
    heads: HeadsPage,
) -> None:
    page = heads.page
    asked = {"sentence": "The cat sat on the mat.", "other": "The dog sat on the mat."}
    page.goto(f"{heads.url}/compare?{urlencode(asked)}", timeout=LOADING)
    click(heads, "compare-heads", "cross.1.2")
    heads.wait_for_query(**asked, pair_head="cross.1.2")
    page.get_by_role("radio", name="Layers and tokens").click()
    heads.wait_for_query(**asked, pair_head="cross.1.2", shown="layers")
    click(heads, "compare-tracing", "encoder.embedding.at1")
    heads.wait_for_query(
        **asked, pair_head="cross.1.2", shown="layers", patched="encoder.embedding.at1"
    )
    expect(page.get_by_text("First sentence, with encoder embedding at “cat”")).to_be_visible()
    expect(page.locator(".st-key-compare-words .js-plotly-plot")).to_be_visible(timeout=LOADING)
    # The token that is in is dragged out, a head in, and the encoder's output is put in by a key.
    panel = page.locator(".exchange")
    into = panel.get_by_role("region", name="The first sentence")
    drag(heads, into.get_by_role("button"), panel.get_by_role("heading").first)
    heads.wait_for_query(**asked, pair_head="cross.1.2", shown="layers")
    drag(heads, panel.locator('[data-part="cross.0.1"]'), into)
    heads.wait_for_query(**asked, pair_head="cross.1.2", shown="layers", patched="cross.0.1")
    panel.locator('.tiles [data-part="cross.0.0"]').press("ArrowDown")
    page.keyboard.press("Enter")
    heads.wait_for_query(
        **asked, pair_head="cross.1.2", shown="layers", patched="cross.0.1-cross.1.0"
    )
    expect(into.get_by_role("button")).to_have_count(2)
