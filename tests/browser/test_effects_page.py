"""The effects page in a real browser: clicks on its map, however fast they come."""

from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.kit.heads_page import LOADING, SHORTLY, HeadsPage, wait_until_calm

CENTRE = """([kind, layer, head]) => {
  const map = document.querySelector(".st-key-effects-map .js-plotly-plot");
  const trace = map._fullData.find(({ type, name }) => type === "heatmap" && name === kind);
  const along = (axis, place) => axis._offset + axis.c2p(place);
  const box = map.getBoundingClientRect();
  return [
    box.x + along(map._fullLayout[trace.xaxis.replace("x", "xaxis")], head),
    box.y + along(map._fullLayout[trace.yaxis.replace("y", "yaxis")], layer),
  ];
}"""
"""Where a cell is in the window."""

CLICK_ALL = """places => {
  for (const [clientX, clientY] of places) {
    for (const type of ["mousemove", "pointerdown", "mousedown", "mouseup"]) {
      const event = new MouseEvent(type, { clientX, clientY, bubbles: true, cancelable: true });
      document.elementFromPoint(clientX, clientY).dispatchEvent(event);
    }
  }
}"""
"""Clicks sooner after each other than Plotly looks for what is under the pointer: once in 50 ms."""

HAS_ITS_WIDTH = """() => {
  const map = document.querySelector(".st-key-effects-map .js-plotly-plot");
  return Math.abs(map._fullLayout.width - map.parentElement.clientWidth) <= 1;
}"""
"""Plotly draws a chart more than once until it has its width."""


def test_no_click_on_the_map_is_lost_while_another_is_answered_and_none_draws_it_anew(
    heads: HeadsPage,
) -> None:
    page = heads.page
    asked = urlencode({"sentence": "The cat sat on the mat."})
    page.goto(f"{heads.url}/effects?{asked}", timeout=LOADING)
    map_ = page.locator(".st-key-effects-map .js-plotly-plot")
    crosses = map_.locator(".switched-off")
    expect(crosses).to_have_attribute("data-cells", "", timeout=LOADING)
    wait_until_calm(page, HAS_ITS_WIDTH, still=SHORTLY)
    map_.evaluate(
        "map => { map.drawn = 0; map.on('plotly_afterplot', () => { map.drawn += 1; }); }"
    )
    before = map_.bounding_box()
    page.evaluate("window.held = []")
    cells = [("Cross-attention", 1, 2), ("Encoder self-attention", 0, 3), ("Cross-attention", 0, 1)]
    page.evaluate(CLICK_ALL, [page.evaluate(CENTRE, cell) for cell in cells])
    # Before the server has heard of any.
    expect(crosses).to_have_attribute("data-cells", "cross.1.2-encoder.0.3-cross.0.1")
    expect(crosses.locator("path")).to_have_count(3)
    page.evaluate("window.release()")
    heads.wait_for_query(off="cross.1.2-encoder.0.3-cross.0.1")
    expect(page.locator(".change")).to_be_visible()
    # What comes of the clicks has not moved what was clicked.
    assert map_.bounding_box() == before
    page.mouse.click(*page.evaluate(CENTRE, cells[1]))
    heads.wait_for_query(off="cross.1.2-cross.0.1")
    expect(crosses).to_have_attribute("data-cells", "cross.1.2-cross.0.1")
    assert map_.evaluate("map => map.drawn") == 0


LINE = """() => {
  const graph = document.querySelector(".st-key-effects-paths .js-plotly-plot");
  const line = graph._fullData.filter(({ mode }) => mode === "lines").at(-1);
  const { xaxis, yaxis } = graph._fullLayout;
  const box = graph.getBoundingClientRect();
  const middle = Math.floor(line.x.length / 2);
  return {
    at: [
      box.x + xaxis._offset + xaxis.c2p(line.x[middle]),
      box.y + yaxis._offset + yaxis.c2p(line.y[middle]),
    ],
    head: line.customdata[middle][0].map(String),
  };
}"""
"""Where the strongest line of the paths is in the window, and which head it leads to."""


def test_another_word_is_typed_and_a_line_of_its_paths_opens_a_head(heads: HeadsPage) -> None:
    page = heads.page
    asked = urlencode({"sentence": "The cat sat on the mat.", "token": 2})
    page.goto(f"{heads.url}/effects?{asked}", timeout=LOADING)
    page.get_by_role("button", name="“Katze”").click(timeout=LOADING)
    field = page.get_by_role("combobox", name="Why not another word?")
    field.click(timeout=LOADING)
    field.fill("Hund")
    field.press("Enter")
    heads.wait_for_query(instead="Hund")
    expect(page.get_by_text("“Katze” is").first).to_be_visible(timeout=LOADING)
    page.get_by_role("radio", name="Paths").click()
    heads.wait_for_query(instead="Hund", show="paths")
    expect(page.locator(".st-key-effects-paths .js-plotly-plot .main-svg").first).to_be_visible(
        timeout=LOADING
    )
    expect(page.locator(".st-key-effects-paths-clicks [aria-busy]")).to_have_count(0)
    wait_until_calm(page, still=SHORTLY)
    line = page.evaluate(LINE)
    page.mouse.click(*line["at"])
    page.wait_for_url("**/heads?*", timeout=LOADING)
    kind, layer, head = line["head"]
    expected = {"attention": kind, "layer": layer, "head": head}
    usual = {"attention": "cross", "layer": "0", "head": "0"}
    heads.wait_for_query(**{name: each for name, each in expected.items() if each != usual[name]})
