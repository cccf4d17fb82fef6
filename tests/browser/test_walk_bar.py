"""The walk's bar, bubble and invitation, on a page of their own that answers what they ask."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.viz.browser.test_javascript import a_figure
from viz.browser.files import joined

FOLDER = Path(__file__).parents[2] / "viz" / "browser" / "model_view"
WORDING = Path(__file__).parents[2] / "viz" / "site" / "wording"
ADDRESS = "http://walk.test/"
PAGE = """<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="style.css"><div class="headscope model-view narrow"></div>
<input aria-label="Sentence"><script type="module" src="script.js"></script></html>"""
ENTRY = """import {{ Figure }} from "{folder}/payload.js";
import {{ Walk }} from "{folder}/walk/walk.js";

globalThis.told = [];
const root = document.querySelector(".headscope");
globalThis.walk = new Walk({{
  go: (place, lit, stop) => told.push(["go", stop.name]),
  ask: (question, {{ signal }}) => {{
    told.push(["ask", question.ask]);
    return new Promise((answer, refuse) => {{
      const worded = (text) => ({{ text, joins: false, special: false }});
      globalThis.answer = (texts) => answer({{ text: "", words: texts.map(worded) }});
      globalThis.refuse = (text) => refuse(new Error(text));
      signal.addEventListener("abort", () => told.push(["aborted"]));
    }});
  }},
  say: (text) => told.push(["say", text]),
  done: (ended) => told.push(["done", ended]),
  field: () => document.querySelector("input").focus(),
}});
walk.bubble.style.top = "8rem";
root.append(walk.bubble, walk.invitation, walk.root);
walk.offer(new Figure(Uint8Array.from(atob("{envelope}"), (each) => each.charCodeAt(0))));
"""


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Any:
    entry = tmp_path / "entry.js"
    folder = os.path.relpath(FOLDER, tmp_path)
    entry.write_text(ENTRY.format(folder=folder, envelope=a_figure()["envelope"]))
    files = {
        "": ("text/html", PAGE),
        "script.js": ("text/javascript", joined(entry)),
        "style.css": ("text/css", joined("model_view/walk/walk.css")),
    }

    def serve(route: Route) -> None:
        kind, body = files[route.request.url.removeprefix(ADDRESS)]
        policy = {"Content-Security-Policy": "default-src 'self'"}
        route.fulfill(body=body, content_type=kind, headers=policy)

    opened = browser.new_page(viewport={"width": 360, "height": 640})
    opened.clock.install()
    opened.route(f"{ADDRESS}*", serve)
    opened.goto(ADDRESS)
    yield opened
    opened.close()


def at(page: Page) -> int:
    """The stop that the dots mark, from 1."""
    marked: list[bool] = page.locator(".walk-dot").evaluate_all(
        "dots => dots.map((dot) => dot.getAttribute('aria-current') === 'step')"
    )
    assert marked.count(True) == 1
    return marked.index(True) + 1


def button(page: Page) -> Callable[[str], Any]:
    return lambda name: page.get_by_role("button", name=name, exact=True)


def test_keys_lead_through_the_walk_and_back_to_where_one_left(page: Page) -> None:
    named = button(page)
    named("Walk through it · 1 minute").click()
    expect(named("Next")).to_be_focused()
    expect(named("Back")).to_be_disabled()
    for key, stop in (("ArrowRight", 2), ("Space", 3), ("ArrowRight", 4), ("ArrowLeft", 3)):
        page.keyboard.press(key)
        assert at(page) == stop
        expect(named("Next")).to_be_focused()
    said = page.evaluate("told.filter(([what]) => what === 'say').at(-1)[1]")
    assert said.startswith("Stop 3 of 9: Heads. Each of these 3 heads lets")
    page.keyboard.press("Escape")
    expect(named("Go on with the walk")).to_be_focused()
    expect(page.locator(".walk-bubble")).to_be_hidden()
    page.keyboard.press("Enter")
    assert at(page) == 3
    named("Without cross-attention").click()
    named("Switch it off").click()
    page.evaluate("answer(['Hund'])")
    named("Your turn").click()
    expect(page.get_by_label("Sentence")).to_be_focused()
    expect(named("Walk through it · 1 minute")).to_be_visible()


def test_who_only_goes_on_sees_what_a_stop_asks_for(page: Page) -> None:
    stops = page.evaluate("walk.start(walk.figure, 1); walk.stops.map(({ does }) => does?.ask)")
    changed = []
    for place, asks in enumerate(stops, 1):
        assert at(page) == place
        if asks:
            expect(page.locator(".walk-act")).to_be_visible()
            expect(page.locator(".walk-next")).to_have_text("Next")
            page.keyboard.press("ArrowRight")
            assert at(page) == place
            page.evaluate("answer(['Hund'])")
            expect(page.locator(".walk-act")).to_be_hidden()
            changed.append(page.locator(".walk-answer").inner_text())
        page.keyboard.press("ArrowRight")
    assert changed == ["Now it writes: “Hund”", "Without it, the model writes: “Hund”"]
    expect(page.get_by_label("Sentence")).to_be_focused()
    page.evaluate("walk.start(walk.figure, 8)")
    page.keyboard.press("ArrowRight")
    assert at(page) == 9


def test_nobody_waits_for_an_answer_that_does_not_come(page: Page) -> None:
    page.evaluate("walk.start(walk.figure, 8)")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert at(page) == 9
    assert page.evaluate("told.some(([what]) => what === 'aborted')")


def test_what_a_stop_asks_is_answered_unless_one_has_gone_on(page: Page) -> None:
    page.evaluate("walk.start(walk.figure, 9)")
    off = button(page)("Switch it off")
    off.click()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("told.at(-3)") == ["aborted"]
    page.evaluate("answer(['Hund'])")
    page.evaluate("walk.start(walk.figure, 9)")
    expect(page.locator(".walk-answer")).to_be_hidden()
    off.click()
    page.evaluate("answer(['Hund'])")
    expect(page.locator(".walk-answer")).to_have_text("Without it, the model writes: “Hund”")
    expect(off).to_be_hidden()
    page.keyboard.press("ArrowLeft")
    page.locator(".walk-act").click()
    page.evaluate("refuse('The server is busy; try again.')")
    expect(page.locator(".walk-answer")).to_have_text("The server is busy; try again.")


def test_it_fits_a_phone_in_every_language(page: Page) -> None:
    page.evaluate("walk.start(walk.figure, 9)")
    said = [json.loads(path.read_text(encoding="utf-8"))["said"] for path in WORDING.glob("*.json")]
    back, turn = (max((each[text] for each in said), key=len) for text in ("Back", "Your turn"))
    page.evaluate(
        """([back, turn]) => {
            [walk.backward.textContent, walk.forward.textContent] = [back, turn];
        }""",
        [back, turn],
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    for name in (back, turn, "Leave the walk"):
        box = button(page)(name).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360


def test_it_walks_by_itself_until_someone_touches_it(page: Page) -> None:
    page.evaluate("walk.start(walk.figure, 1); walk.autoplay(6)")
    page.clock.run_for(12_000)
    assert at(page) == 3
    page.mouse.click(180, 600)
    page.clock.run_for(60_000)
    assert at(page) == 3
    page.evaluate("walk.autoplay(6)")
    page.clock.run_for(6 * 6 * 1000)
    page.evaluate("answer(['Katze'])")
    page.clock.run_for(12_000)
    page.evaluate("answer(['Katze'])")
    page.clock.run_for(6_000)
    assert page.evaluate("[walk.walking, told.at(-1)]") == [False, ["done", True]]
