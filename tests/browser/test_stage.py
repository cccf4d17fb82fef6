"""The stage in a real browser: nothing but the picture, its size, its contrast, and its keys."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Browser, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from model.checkpoints.checkpoint import snapshots
from model.translate.translator import Translator
from tests.browser.conftest import (
    CHECKPOINTS_VARIABLE,
    MILLISECONDS,
    VIEWPORT,
    Lending,
    Watch,
)
from tests.kit.heads_page import LOADING, SHORTLY, HeadsPage, title, wait_until_calm
from tests.kit.running_app import CAME_BEFORE, NOTES_RECONNECTING, free_port, serve
from viz.draw import themes

SENTENCE = "The cat sat on the mat."
CHILDHOOD = "en-de-childhood"
ANYTHING = re.compile(".")
HOSTILE = '<img src=x onerror=alert(1)> *a* $x$ <b>x</b> & "q"'

FILLED = 0.7
"""The share of the window that the picture takes at least, each way."""

STRONG = 7.0
"""The contrast of every text on stage at least, by WCAG 2."""

LARGE = 24
"""Pixels of a token's letters in a window of 1920 by 1080."""

VIEWS = {
    "heatmap": ("heads", {}),
    "lines": ("heads", {"view": "lines"}),
    "comparison": ("heads", {"layer": "1", "head": "0", "compare": "1.0-1.1-0.2"}),
    "joint": ("heads", {"attention": "joint"}),
    "snapshots": ("heads", {"checkpoint": CHILDHOOD}),
    "notices": ("heads", {"layer": "x", "head": "y"}),
    "effects": ("effects", {"token": "2", "off": "cross.1.0"}),
    "maps": ("effects", {"show": "maps"}),
    "steps": ("decoding", {"at": "3"}),
    "certainty": ("decoding", {"section": "certainty"}),
    "layers": ("decoding", {"section": "layers"}),
    "see": ("masks", {"part": "see"}),
    "inside": ("masks", {"part": "inside"}),
    "compare": ("masks", {"part": "compare"}),
    "change": ("masks", {"part": "change"}),
    "two sentences": ("compare", {"other": "The dog sat on the mat."}),
    "two models": ("compare", {"versus": "model", "other_model": CHILDHOOD}),
    "two searches": ("compare", {"versus": "search"}),
    "every head": ("corpus", {}),
    "one head": ("corpus", {"over": "head", "one": "cross.0.5"}),
    "rules": ("corpus", {"over": "rules"}),
    "table": ("positions", {"topic": "table"}),
    "likeness": ("positions", {"topic": "likeness"}),
    "words": ("positions", {"topic": "words"}),
    "without": ("positions", {"topic": "without", "scale": "0"}),
    "shuffle": ("positions", {"topic": "shuffle"}),
    "learned": ("positions", {"topic": "learned"}),
    "formula": ("positions", {"topic": "formula"}),
    "about": ("about", {}),
}
"""A page and its query, by what it shows."""

# Every text that stands on a canvas, with its colour, its size and the colour below its middle:
# what a canvas was given and has wiped off again, to draw it otherwise, is no longer there.
SPY = """
window.written = [];
const clearRect = CanvasRenderingContext2D.prototype.clearRect;
CanvasRenderingContext2D.prototype.clearRect = function (x, y, width, height) {
  const from = this.getTransform().transformPoint({ x, y });
  const to = this.getTransform().transformPoint({ x: x + width, y: y + height });
  const { width: across, height: down } = this.canvas;
  if (from.x <= 0 && from.y <= 0 && to.x > across - 1 && to.y > down - 1) {
    window.written = window.written.filter(each => each.node !== this.canvas);
  }
  return clearRect.call(this, x, y, width, height);
};
const fillText = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
  const { width } = this.measureText(text);
  const size = parseFloat(this.font.match(/([\\d.]+)px/)[1]);
  const across = { left: width / 2, right: -width / 2, center: 0 }[this.textAlign] ?? 0;
  const down = { top: size / 2, bottom: -size / 2, middle: 0 }[this.textBaseline] ?? 0;
  const place = this.getTransform().transformPoint({ x: x + across, y: y + down });
  const [red, green, blue, alpha] = this.getImageData(place.x, place.y, 1, 1).data;
  const ground = alpha ? `rgb(${red} ${green} ${blue})` : null;
  window.written.push({ text, color: this.fillStyle, ground, size, node: this.canvas });
  return fillText.call(this, text, x, y, ...rest);
};
CanvasRenderingContext2D.prototype.strokeText = function (text) {
  // A stroke runs into the figures of a number and smudges them.
  throw new Error(`“${text}” is written with a rim`);
};
"""

# Texts with less contrast than asked for: those of elements, of SVG and of canvases.
WEAK = """strong => {
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const channels = color => {
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = color;
    probe.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = probe.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = ([r, g, b, a], [x, y, z]) => {
    return [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1];
  };
  const luminance = color => {
    const [r, g, b] = color.slice(0, 3).map(channel => {
      const share = channel / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const parent = node => node.parentElement ?? node.getRootNode().host ?? null;
  const app = document.querySelector('[data-testid="stApp"]');
  const page = channels(getComputedStyle(app).backgroundColor);
  const ground = node => {
    const layers = [];
    for (let at = node; at; at = parent(at)) {
      if (!(at instanceof SVGElement)) layers.push(channels(getComputedStyle(at).backgroundColor));
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), page);
  };
  const found = [];
  const seen = [];
  const look = root => {
    for (const node of root.querySelectorAll("*")) {
      if (node.shadowRoot) look(node.shadowRoot);
      const texts = [...node.childNodes].filter(each => each.nodeType === 3);
      const text = texts.map(each => each.data.trim()).join("");
      if (!text || ["STYLE", "SCRIPT", "TITLE"].includes(node.tagName)) continue;
      if (!node.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      const { width, height, top, left } = node.getBoundingClientRect();
      if (width < 2 || height < 2 || top >= innerHeight || left >= innerWidth) continue;
      let opacity = 1;
      for (let at = node; at; at = parent(at)) opacity *= parseFloat(getComputedStyle(at).opacity);
      const style = getComputedStyle(node);
      const below = ground(node);
      const own = channels(node instanceof SVGElement ? style.fill : style.color);
      const ratio = contrast(over([...own.slice(0, 3), own[3] * opacity], below), below);
      seen.push(text);
      if (ratio < strong) found.push(`${node.tagName} "${text}": ${ratio.toFixed(2)}`);
    }
  };
  look(document);
  for (const { text, color, ground, node } of window.written) {
    if (!node.isConnected || !text.trim()) continue;
    // A canvas that is hidden is painted again when it is shown.
    if (!node.checkVisibility({ visibilityProperty: true })) continue;
    const canvas = node.className;
    const ratio = contrast(channels(color), ground ? channels(ground) : page);
    seen.push(text);
    if (ratio < strong) found.push(`${canvas} "${text}": ${ratio.toFixed(2)}`);
  }
  return { found, count: seen.length };
}"""

# Streamlit follows the reader's choice while the page is open.
IS_SCHEME = """scheme => {
  const app = document.querySelector('[data-testid="stApp"]');
  return getComputedStyle(app).colorScheme === scheme;
}"""

# Whatever of Streamlit's or of ours that is not the picture, as far as it can be seen.
CHROME = """() => [...document.querySelectorAll(
  'header, nav, [data-testid="stSidebar"], [data-testid="stToolbar"], input, textarea, select, ' +
  '[role="radiogroup"], [data-testid="stCaptionContainer"], [data-testid="stDataFrame"], ' +
  '.st-key-tools button, .answer'
)].filter(node => {
  const { width, height } = node.getBoundingClientRect();
  const drawn = { visibilityProperty: true, opacityProperty: true };
  return width > 1 && height > 1 && node.checkVisibility(drawn);
}).map(node => node.outerHTML.slice(0, 200))"""


# Where the pictures stand, as shares of the window: their left, top, right and lower sides.
PICTURES = """() => {
  const [across, down] = [innerWidth, innerHeight];
  const found = [];
  const look = root => {
    const kinds = "canvas.matrix, canvas.lines, .js-plotly-plot .main-svg, .decoding-steps";
    for (const node of root.querySelectorAll(kinds)) {
      const { left, top, right, bottom, width, height } = node.getBoundingClientRect();
      if (width && height && node.checkVisibility({ visibilityProperty: true })) {
        found.push([left / across, top / down, right / across, bottom / down]);
      }
    }
    for (const node of root.querySelectorAll("*")) if (node.shadowRoot) look(node.shadowRoot);
  };
  look(document);
  return found;
}"""

FILLS = f"""([across, down]) => {{
  const sides = ({PICTURES})();
  const least = place => Math.min(...sides.map(each => each[place]));
  const most = place => Math.max(...sides.map(each => each[place]));
  return sides.length > 0 && most(2) - least(0) >= across && most(3) - least(1) >= down
    && most(2) <= 1 + 1 / innerWidth && most(3) <= 1 + 1 / innerHeight;
}}"""


class StagePage:
    """A browser's page that shows a stage."""

    def __init__(self, reader: HeadsPage) -> None:
        self.reader = reader
        self.page = reader.page
        self.page.add_init_script(SPY)
        self.foot = self.page.locator(".stage-foot")
        self.shown = self.page.locator(".stage-foot .shown")
        self.sentence = self.page.locator(".stage-foot .sentence")
        self.back = self.page.get_by_role("button", name="Back")

    def open(self, path: str = "heads", **query: str) -> StagePage:
        asked = urlencode({"present": "1", **query}, quote_via=quote)
        self.page.goto(f"{self.reader.url}/{path}?{asked}", timeout=LOADING)
        expect(self.foot).to_be_visible(timeout=LOADING)
        self.settle()
        return self

    def settle(self) -> None:
        """Waits until nothing runs and everything is painted."""
        fonts = """() => document.fonts.status === "loaded" """
        wait_until_calm(self.page, fonts, still=SHORTLY)
        for painted in (".explorer", ".matrices", ".decoding-steps"):
            if self.page.locator(painted).count():
                expect(self.page.locator(painted)).to_have_attribute("data-painted", ANYTHING)
        charts = self.page.get_by_test_id("stPlotlyChart")
        for place in range(charts.count()):
            expect(charts.nth(place).locator(".main-svg").first).to_be_visible()

    def walk(self, path: str = "heads", **query: str) -> None:
        """As `open`, within the page that stands."""
        self.reader.walk(path, present="1", **query)
        expect(self.foot).to_be_visible()
        expect(self.page).to_have_url(re.compile(rf"/{path}\?.*present=1"))
        self.settle()

    def show(self, view: str) -> StagePage:
        """Walks to one of VIEWS."""
        path, query = VIEWS[view]
        self.walk(path, **query)
        if view == "shuffle":
            self.press("ArrowDown")
            expect(self.page.get_by_test_id("stPlotlyChart")).to_be_visible()
        return self

    def look_in(self, scheme: str) -> None:
        """Chooses light or dark as a reader's machine does."""
        self.page.emulate_media(color_scheme=scheme)
        self.page.wait_for_function(IS_SCHEME, arg=scheme)
        self.settle()

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def wait_until_filled(self, across: float, down: float) -> None:
        """Waits until the picture takes these shares of the window at least, and is nowhere cut.

        It may come before the room that it is given, and grows into it.
        """
        try:
            self.page.wait_for_function(FILLS, arg=[across, down])
        except PlaywrightTimeoutError:
            pytest.fail(f"the pictures stand at {self.page.evaluate(PICTURES)}")


@pytest.fixture
def stage(visitor: Callable[..., HeadsPage]) -> StagePage:
    """A reader of their own at 1280 × 800."""
    return StagePage(visitor())


# ---- to the stage and back --------------------------------------------------------------------


def test_p_leaves_the_picture_alone_and_escape_brings_everything_back(
    visitor: Callable[..., HeadsPage],
) -> None:
    reader = visitor()
    stage = StagePage(reader)
    reader.open(layer="1", head="2")
    reader.page.keyboard.press("p")
    expect(stage.foot).to_be_visible()
    stage.settle()
    assert reader.page.evaluate(CHROME) == []
    reader.wait_for_query(present="1", layer="1", head="2")
    stage.press("ArrowRight")
    stage.press("ArrowUp")
    stage.press("v")
    reader.wait_for_query(layer="0", head="3", view="lines")
    stage.press("Escape")
    expect(stage.foot).to_have_count(0)
    expect(reader.heading).to_have_text(title("cross", 0, 3))
    reader.settle()
    expect(reader.overview).to_be_visible()
    reader.wait_for_query(present=None, layer="0", head="3", view="lines")
    assert reader.painted["view"] == "lines"


def test_a_cell_that_was_picked_stays_picked_on_stage_and_after(
    visitor: Callable[..., HeadsPage],
) -> None:
    reader = visitor()
    stage = StagePage(reader)
    reader.open(layer="1", head="2", cell="1.2")
    reader.page.keyboard.press("p")
    expect(stage.foot).to_be_visible()
    stage.back.click()
    expect(stage.foot).to_have_count(0)
    reader.settle()
    reader.wait_for_query(cell="1.2", present=None)


def test_p_pressed_on_stage_leaves_it(stage: StagePage) -> None:
    stage.open()
    stage.press("p")
    expect(stage.foot).to_have_count(0)


def test_another_width_told_before_the_stage_is_shown_does_not_leave_it(
    visitor: Callable[..., HeadsPage],
) -> None:
    """As on a slow machine: the browser tells its width with the address it had before."""
    reader = visitor(viewport={"width": 390, "height": 844})
    page = reader.page
    page.goto(f"{reader.url}/masks?part=see", timeout=LOADING)
    page.get_by_role("button", name="Present").wait_for(timeout=LOADING)
    wait_until_calm(page, still=SHORTLY)
    page.evaluate("window.held = []")
    page.get_by_role("button", name="Present").click()
    page.wait_for_function("window.held.length >= 1")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_function("window.held.length >= 2")
    page.evaluate(
        """() => {
          const [click, width] = window.held;
          window.held = [click];
          window.release();
          window.held = [width];
        }"""
    )
    page.locator(".st-key-leave-stage").wait_for()
    page.wait_for_url(re.compile("present=1"))
    page.evaluate("window.release()")
    wait_until_calm(page, still=SHORTLY)
    expect(page.locator(".st-key-leave-stage")).to_be_visible()
    expect(page).to_have_url(re.compile("present=1"))


def test_a_p_that_is_typed_is_a_letter(visitor: Callable[..., HeadsPage]) -> None:
    reader = visitor()
    reader.open()
    field = reader.field("sentence")
    field.fill("")
    field.press_sequentially("pfv")
    expect(field).to_have_value("pfv")
    expect(reader.page.locator(".stage-foot")).to_have_count(0)


@pytest.mark.parametrize("window", [(1280, 800), (1920, 1080), (390, 844)])
def test_the_button_covers_neither_the_navigation_nor_the_menu(
    visitor: Callable[..., HeadsPage], window: tuple[int, int]
) -> None:
    width, height = window
    reader = visitor(viewport={"width": width, "height": height})
    reader.open()
    button = reader.page.get_by_role("button", name="Present")
    expect(button).to_be_visible()
    tools = reader.page.locator(".st-key-tools").bounding_box()
    assert tools
    assert tools["x"] + tools["width"] <= width
    others = reader.page.locator(
        '[data-testid="stTopNavLink"], [data-testid="stMainMenuButton"], .st-key-sentence-bar, '
        '[data-testid="stExpandSidebarButton"], [data-testid="stHeaderLogo"]'
    )
    for place in range(others.count()):
        box = others.nth(place).bounding_box()
        if not box or not box["width"]:
            continue
        beside = box["x"] >= tools["x"] + tools["width"] or box["x"] + box["width"] <= tools["x"]
        below = box["y"] >= tools["y"] + tools["height"]
        assert beside or below, others.nth(place).evaluate("node => node.outerHTML.slice(0, 200)")


def test_f_fills_the_screen_and_escape_leaves_that_first(stage: StagePage) -> None:
    stage.open()
    is_full = "document.fullscreenElement !== null"
    stage.press("f")
    stage.page.wait_for_function(is_full)
    stage.press("Escape")
    stage.page.wait_for_function(f"!({is_full})")
    expect(stage.foot).to_be_visible()
    stage.press("Escape")
    expect(stage.foot).to_have_count(0)


# ---- what is seen -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def _walking(lending: Lending) -> Iterator[StagePage]:
    with lending.reader() as reader:
        yield StagePage(reader)


@pytest.fixture
def walking(_walking: StagePage, watch: Watch) -> Iterator[StagePage]:
    """A reader at 1280 × 800 who walks from view to view."""
    yield _walking
    _walking.page.set_viewport_size(VIEWPORT)


@pytest.mark.parametrize("view", VIEWS)
def test_the_picture_fills_the_window_alone_and_every_text_has_seven_to_one(
    walking: StagePage, view: str
) -> None:
    stage = walking.show(view)
    # Translations of some lines stand above these two.
    down = 0.5 if view in ("change", "without", "shuffle") else FILLED
    for size in (VIEWPORT, {"width": 1920, "height": 1080}):
        stage.page.set_viewport_size(size)
        if view not in ("about", "two searches"):
            stage.wait_until_filled(FILLED, down)
            assert stage.page.evaluate(CHROME) == []
    # The theme of the view before comes first.
    is_dark = stage.page.evaluate(IS_SCHEME, "dark")
    for scheme in ("dark", "light") if is_dark else ("light", "dark"):
        stage.look_in(scheme)
        with contextlib.suppress(PlaywrightTimeoutError):
            stage.page.wait_for_function(
                f"strong => ({WEAK})(strong).found.length === 0", arg=STRONG, polling=200
            )
        weak = stage.page.evaluate(WEAK, STRONG)
        assert weak["count"] > 5
        assert weak["found"] == []


@pytest.mark.parametrize("view", ["heatmap", "lines", "joint"])
def test_tokens_reach_the_back_row(visitor: Callable[..., HeadsPage], view: str) -> None:
    path, query = VIEWS[view]
    stage = StagePage(visitor(viewport={"width": 1920, "height": 1080}))
    stage.open(path, sentence=SENTENCE, **query)
    # The picture may come before the room that it is given, and grows into it.
    stage.page.wait_for_function(
        """large => {
            const here = window.written.filter(each => each.node.isConnected);
            const tokens = here.filter(each => each.text === "cat");
            return tokens.length > 0 && tokens.every(each => each.size >= large);
        }""",
        arg=LARGE,
    )


def test_the_foot_says_what_is_shown_and_of_which_sentence(
    walking: StagePage, model: Translator
) -> None:
    walking.walk(sentence=SENTENCE, layer="1", head="2")
    expect(walking.shown).to_contain_text(title("cross", 1, 2))
    translation = model.translate(SENTENCE).text
    expect(walking.sentence).to_have_text(f"{SENTENCE}→{translation}")
    help = walking.page.locator(".stage-foot .help")
    expect(help).to_contain_text("layer and head")
    expect(help).to_contain_text("Esc: back")


def test_the_audience_sees_the_keys_only_when_the_speaker_asks(stage: StagePage) -> None:
    stage.open(layer="0", head="5")
    help = stage.page.locator(".stage-foot .help")
    expect(help).to_contain_text("Esc: back")
    expect(help).to_be_hidden()
    stage.page.mouse.move(300, 300)
    stage.page.mouse.move(320, 310)
    stage.page.keyboard.press("ArrowRight")
    expect(stage.shown).to_contain_text("head 6")
    expect(help).to_be_hidden()
    stage.page.keyboard.press("?")
    expect(help).to_be_visible()


BACK_ROW = 26
"""Pixels of 1080: a fortieth of the screen's height."""

TEXTS = """() => {
  const found = {};
  const look = (root) => {
    for (const each of root.querySelectorAll("*")) {
      if (each.shadowRoot) look(each.shadowRoot);
      if (!each.matches(".scene-title, .shown, .sentence, .said, .written, .read")) continue;
      const { fontSize, color } = getComputedStyle(each);
      if (!each.textContent || !each.offsetHeight) continue;
      found[each.className] = [parseFloat(fontSize), color];
    }
  };
  look(document);
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_captions_on_stage_are_read_from_the_back_row(
    visitor: Callable[..., HeadsPage], scheme: str
) -> None:
    reader = visitor(viewport={"width": 1920, "height": 1080}, color_scheme=scheme)
    reader.page.goto(f"{reader.url}/?present=1&scene=1&moment=1")
    reader.page.locator(".door[data-state]").wait_for(timeout=LOADING)
    expect(reader.page.locator(".shown")).not_to_be_empty()
    texts = reader.page.evaluate(TEXTS)
    assert {"shown", "sentence", "said", "written", "read"} <= set(texts)
    ground = reader.page.evaluate(
        "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    )
    for name, (size, color) in texts.items():
        assert size >= BACK_ROW, name
        low, high = sorted(themes.luminance(as_hex(each)) for each in (color, ground))
        assert (high + 0.05) / (low + 0.05) >= 7, name


def as_hex(color: str) -> str:
    """A colour as the browser writes it: rgb(11, 15, 20)."""
    return "#" + "".join(f"{int(channel):02x}" for channel in re.findall(r"\d+", color)[:3])


def test_no_caption_on_stage_is_cut(stage: StagePage) -> None:
    stage.open(layer="0", head="5")
    stage.page.evaluate(
        """() => document.dispatchEvent(new CustomEvent("headscope-shown",
            {detail: {text: "Cross-attention, layer 0, head 5, ".repeat(4), map: null}}))"""
    )
    expect(stage.shown).to_contain_text("head 5, Cross")
    assert stage.shown.evaluate("node => node.scrollWidth <= node.clientWidth")
    foot, shown, sentence = (
        each.bounding_box() for each in (stage.foot, stage.shown, stage.sentence)
    )
    assert foot is not None
    assert shown is not None
    assert sentence is not None
    assert foot["y"] <= shown["y"]
    assert sentence["y"] + sentence["height"] <= foot["y"] + foot["height"]


def test_hostile_text_stays_text_in_the_foot(walking: StagePage) -> None:
    walking.walk(sentence=SENTENCE, target=HOSTILE)
    expect(walking.sentence).to_have_text(f"{SENTENCE}→{HOSTILE}")
    assert walking.sentence.locator("img, b, em, a").count() == 0


# ---- the keys ---------------------------------------------------------------------------------


def test_arrow_keys_choose_a_head_without_the_server(walking: StagePage) -> None:
    walking.walk(layer="0", head="0")
    page = walking.page
    page.evaluate("window.held = []")
    walking.press("ArrowLeft")
    walking.press("ArrowUp")
    assert walking.reader.selected == ("cross", 0, 0), "nothing goes round"
    walking.press("ArrowRight")
    walking.press("ArrowDown")
    assert walking.reader.selected == ("cross", 1, 1)
    expect(walking.shown).to_contain_text(title("cross", 1, 1))
    walking.press("a")
    assert walking.reader.painted["attention"] != "cross"
    page.evaluate("window.release()")
    walking.reader.wait_for_query(layer="1", head="1")


def test_arrow_keys_choose_a_head_wherever_the_focus_is(walking: StagePage) -> None:
    walking.walk(layer="0", head="0")
    walking.reader.matrix.click(position={"x": 400, "y": 300})
    walking.press("ArrowRight")
    assert walking.reader.selected == ("cross", 0, 1)
    walking.page.locator(".stage-foot .full").focus()
    walking.press("ArrowDown")
    assert walking.reader.selected == ("cross", 1, 1)


def test_keys_lead_through_the_masks_and_nothing_of_the_page_flashes_up(stage: StagePage) -> None:
    stage.open("masks", part="inside", masked="decoder", layer="0", head="0")
    stage.page.evaluate(
        f"""() => {{
            window.flashes = [];
            const look = () => {{
                window.flashes.push(...({CHROME})());
                requestAnimationFrame(look);
            }};
            look();
        }}"""
    )
    for key, wanted in {
        "ArrowDown": {"layer": "1"},
        "ArrowRight": {"head": "1"},
        "v": {"part": "compare"},
    }.items():
        stage.press(key)
        stage.reader.wait_for_query(**wanted)
    stage.settle()
    assert stage.page.evaluate("window.flashes") == []


def test_quick_presses_are_all_heard(walking: StagePage) -> None:
    walking.walk("positions", topic="table")
    # What the foot says is what the keys stand for; the address may come before it.
    expect(walking.shown).to_have_text("The table: this sentence")
    for _ in range(3):
        walking.press("ArrowRight")
    expect(walking.shown).to_have_text("100% of the encoding")
    walking.reader.wait_for_query(topic="without")
    for _ in range(4):
        walking.press("ArrowDown")
    walking.reader.wait_for_query(scale="60")
    expect(walking.shown).to_have_text("60% of the encoding")


def test_no_press_is_done_again_for_a_server_that_was_started_anew(
    browser: Browser, checkpoints: Path
) -> None:
    port, environment = free_port(), {CHECKPOINTS_VARIABLE: str(checkpoints)}
    context = browser.new_context(viewport=VIEWPORT, bypass_csp=True)
    context.set_default_timeout(MILLISECONDS)
    context.add_init_script(CAME_BEFORE + NOTES_RECONNECTING)
    with serve("app.py", environment, port=port) as server:
        stage = StagePage(HeadsPage(context.new_page(), server.url))
        stage.open("positions", topic="table")
        for _ in range(3):
            stage.press("ArrowRight")
        stage.reader.wait_for_query(topic="without")
        stage.settle()
    with serve("app.py", environment, port=port):
        stage.page.wait_for_function("window.ranAgain")
        stage.settle()
        stage.press("ArrowDown")
        stage.reader.wait_for_query(topic="without", scale="90")
        expect(stage.shown).to_have_text("90% of the encoding")
    context.close()


def test_a_mask_is_painted_on_stage(walking: StagePage) -> None:
    walking.walk("masks", part="change", masked="decoder")
    canvas = walking.page.locator("canvas.editable")
    box = canvas.bounding_box()
    assert box
    canvas.click(position={"x": 0.9 * box["width"], "y": 0.6 * box["height"]})
    walking.page.wait_for_function("new URLSearchParams(location.search).get('edit')")


def test_a_text_on_stage_is_scrolled_with_the_arrow_keys(walking: StagePage) -> None:
    walking.walk("about")
    scrolled = """document.querySelector('[data-testid="stMain"]').scrollTop"""
    walking.press("ArrowDown")
    walking.page.wait_for_function(f"{scrolled} > 100")


def test_brackets_lead_through_the_training(walking: StagePage, checkpoints: Path) -> None:
    *_, before, last = steps = snapshots(checkpoints / CHILDHOOD)
    walking.walk(sentence=SENTENCE, checkpoint=CHILDHOOD)
    expect(walking.sentence).to_contain_text(f"after {last:,} of {last:,} steps")
    walking.press("[")
    walking.reader.wait_for_query(step=str(before))
    walking.press("Shift+ArrowLeft")
    walking.reader.wait_for_query(step=str(steps[-3]))
    walking.press("]")
    walking.press("]")
    walking.reader.wait_for_query(step=None)
    expect(walking.sentence).to_contain_text(f"after {last:,} of {last:,} steps")
