"""The widget's module on a plain page, with a stand-in for anywidget's model."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from model.explain.reading import read
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.heads_page import SENTENCE, HeadsPage, wrong_cells
from viz.draw.themes import DARK, LIGHT
from viz.notebook import explore, show
from viz.save.document import policy_hash

MODEL = """
const values = window.given;
const bytes = Uint8Array.from(atob(values._payload), (character) => character.charCodeAt(0));
values._payload = new DataView(bytes.buffer);
const callbacks = [];
window.saved = [];
window.model = {
  get: (name) => values[name],
  set: (name, value) => { values[name] = value; },
  save_changes: () => window.saved.push(values.selection),
  on: (name, callback) => callbacks.push([name, callback]),
  off: (name, callback) => callbacks.splice(callbacks.findIndex((each) => each[1] === callback), 1),
};
window.fromPython = (selection) => {
  values.selection = selection;
  for (const [name, callback] of callbacks) if (name === "change:selection") callback();
};
window.listeners = () => callbacks.length;
"""

SPOILING = (
    "body { color: #111; text-align: right; font: 30px/3 serif }"
    " body.dark { background: #111; color: rgba(255, 255, 255, 0.87) }"
    " button, canvas { display: none }"
)
POLICY = f"default-src 'none'; script-src 'unsafe-inline' data:; style-src {policy_hash(SPOILING)}"


@pytest.fixture(scope="module")
def trace(model: Translator) -> Trace:
    return model.trace(SENTENCE)


@pytest.fixture
def drawn(browser: Browser, trace: Trace, tmp_path: Path) -> Iterator[HeadsPage]:
    """The widget in a page without a network, whose styles would spoil it if they came in."""
    widget = explore(trace)
    given = {
        "_still": widget._still,
        "_payload": base64.b64encode(widget._payload).decode("ascii"),
        "_height": 760,
        "_dark": None,
        "selection": {"kind": "cross", "layer": 1, "head": 2, "cell": None},
    }
    module = f"data:text/javascript;base64,{base64.b64encode(widget._esm.encode()).decode()}"
    file = tmp_path / "cell.html"
    file.write_text(
        "<!doctype html><meta charset='utf-8'>"
        # A notebook lets the widget's module run, and lends it nothing else.
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><style>{SPOILING}</style>'
        f"<main></main><div data-still={widget._still}>A still picture</div>"
        f"<script>window.given = {json.dumps(given)};{MODEL}</script>"
        f"<script type='module'>import widget from {json.dumps(module)};"
        "const el = document.createElement('div');"
        "window.end = widget.render({ model: window.model, el });"
        # A notebook puts the cell on its page after it was rendered.
        "document.querySelector('main').append(el);</script>",
        encoding="utf-8",
    )
    requests: list[str] = []
    trouble: list[str] = []
    page = browser.new_page(offline=True, viewport={"width": 1280, "height": 800})
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    heads = HeadsPage(page, file.as_uri())
    page.goto(file.as_uri())
    page.wait_for_function("() => window.painted().id !== undefined")
    heads.wait_for_painted(attention="cross", layer=1, head=2)
    yield heads
    page.close()
    assert [url for url in requests if not url.startswith(("data:", file.as_uri()))] == []
    assert trouble == []


def saved(page: Page) -> dict[str, object]:
    """The selection that the model was told last, once it was told one."""
    page.wait_for_function("() => window.saved.length > 0")
    told: dict[str, object] = page.evaluate("window.saved.at(-1)")
    return told


def test_it_draws_the_selection_of_the_model(drawn: HeadsPage, trace: Trace) -> None:
    assert wrong_cells(drawn, read(trace), look=LIGHT) == []
    assert drawn.page.evaluate("window.saved") == []
    expect(drawn.root).to_have_css("text-align", "start")
    expect(drawn.root).to_have_css("font-size", "16px")
    expect(drawn.control("Options")).to_be_visible()


def test_a_click_on_a_head_tells_the_model(drawn: HeadsPage) -> None:
    drawn.click_tile(0, 3)
    assert saved(drawn.page) == {"kind": "cross", "layer": 0, "head": 3, "cell": None}


def test_the_view_moves_with_the_model(drawn: HeadsPage, trace: Trace) -> None:
    selection = {"kind": "encoder", "layer": 0, "head": 1, "cell": None}
    drawn.page.evaluate("selection => window.fromPython(selection)", selection)
    drawn.wait_for_painted(attention="encoder", layer=0, head=1)
    assert wrong_cells(drawn, read(trace), look=LIGHT) == []
    drawn.page.evaluate("selection => window.fromPython(selection)", {**selection, "cell": [1, 0]})
    expect(drawn.root.locator(".cell.picked")).to_be_visible()
    assert drawn.picked == "1.0"
    # What came from Python is not told back to it: a click after it is the first news.
    drawn.click_tile(1, 0)
    assert saved(drawn.page) == {"kind": "encoder", "layer": 1, "head": 0, "cell": [1, 0]}
    assert drawn.page.evaluate("window.saved.length") == 1


def test_a_weight_of_all_three_kinds_is_selected_as_one_of_its_own_once_it_is_opened(
    drawn: HeadsPage, trace: Trace
) -> None:
    n = len(trace.source)
    selection = {"kind": "joint", "layer": 0, "head": 1, "cell": [n + 2, n + 1]}
    drawn.page.evaluate("selection => window.fromPython(selection)", selection)
    drawn.wait_for_painted(attention="joint")
    assert drawn.picked == f"{n + 2}.{n + 1}"
    drawn.matrix.focus()
    drawn.page.keyboard.press("Enter")
    assert saved(drawn.page) == {"kind": "decoder", "layer": 0, "head": 1, "cell": [2, 1]}
    expect(drawn.matrix).to_have_attribute("data-place", "weight")


def test_it_follows_light_and_dark_of_the_notebook(drawn: HeadsPage, trace: Trace) -> None:
    for name, look in (("dark", DARK), ("", LIGHT)):
        drawn.page.evaluate("name => { document.body.className = name; }", name)
        expect(drawn.page.locator(".frame")).to_have_attribute("data-theme", name or "light")
        assert wrong_cells(drawn, read(trace), look=look) == []


def test_it_follows_what_jupyterlab_says(drawn: HeadsPage) -> None:
    for light, name in (("false", "dark"), ("true", "light")):
        drawn.page.evaluate("light => { document.body.dataset.jpThemeLight = light; }", light)
        expect(drawn.page.locator(".frame")).to_have_attribute("data-theme", name)


def test_it_ends_with_its_cell(drawn: HeadsPage) -> None:
    assert drawn.page.evaluate("window.listeners()") == 1
    drawn.page.evaluate("window.end()")
    assert drawn.page.evaluate("window.listeners()") == 0
    expect(drawn.root).to_have_count(0)


def test_the_still_picture_goes_when_the_widget_is_drawn(drawn: HeadsPage) -> None:
    expect(drawn.page.get_by_text("A still picture")).to_have_count(0)


def test_a_frame_is_as_dark_as_the_notebook_and_its_picture_stays_in_sight(
    browser: Browser, model: Translator, tmp_path: Path
) -> None:
    file = tmp_path / "notebook.html"
    text = " ".join([SENTENCE] * 4)
    cell = show(model.trace(text, text))._repr_html_()
    file.write_text(f"<body data-jp-theme-light='false'>{cell}</body>", encoding="utf-8")
    page = browser.new_page(offline=True, viewport={"width": 900, "height": 900})
    try:
        page.goto(file.as_uri())
        root = page.frame_locator("iframe").locator("html")
        expect(root).to_have_attribute("data-theme", "dark")
        page.evaluate("document.body.dataset.jpThemeLight = 'true'")
        expect(root).to_have_attribute("data-theme", "light")
        heading = root.locator("h1").bounding_box()
        assert heading is not None
        assert heading["height"] <= 60
    finally:
        page.close()
