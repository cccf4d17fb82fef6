"""The heads page as its tests drive it, and the colours that its numbers should have."""

from __future__ import annotations

import base64
import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Locator, Page, ViewportSize, expect

from model.explain.reading import ReadTrace
from model.trace.attention_map import AttentionKind, BoolArray, FloatArray, Site
from viz.draw.themes import LIGHT, Theme
from viz.registry.pages import HOME

Pixels = NDArray[np.uint8]

SENTENCE = "I don't think that Tom is happy."
SLOWDOWN = float(os.environ.get("HEADSCOPE_SLOWDOWN", "1"))
"""How many times as long every page takes to compute; tests have to pass on slow machines too."""

GAMMAS = (1, 0.7, 0.5, 0.35, 0.25)
"""How much faint weights are brought out, one a step of the slider."""

LOADING = 120_000
"""Milliseconds that a page may take: the first one of a server loads torch and labels all heads."""

SHORTLY = 150
"""Milliseconds in which a browser answers what a run has changed, and another run may begin."""

LOOK = 50
"""Milliseconds from one look at a page to the next: looking at every frame, Playwright's own way,
makes the browser draw every frame, which is a tenth of all the processor time of these tests."""

EDGE = 3
"""CSS pixels along the sides of a cell that are left out: lines stand there."""


HALF_A_STEP = 0.5 / 255
"""Weights are drawn in 256 steps."""

PARTS = {AttentionKind.ENCODER: (0, 0), AttentionKind.CROSS: (1, 0), AttentionKind.DECODER: (1, 1)}
"""Where each kind stands in the joint picture, in blocks down and across."""

# From a test, a message to the server is held back or counted here.
WATCH = """
window.sent = 0;
window.told = 0;
window.held = null;
window.runs = 0;
// When a run was last asked for, and when one last ended.
window.asked = 0;
window.answered = 0;
// How a message of Streamlit's, a ForwardMsg of protobuf, ends a run: its field 6.
const endOf = bytes => {
  let at = 0;
  const number = () => {
    let [value, place] = [0, 1];
    do {
      value += (bytes[at] & 127) * place;
      place *= 128;
    } while (bytes[at++] & 128);
    return value;
  };
  while (at < bytes.length) {
    const [tag, value] = [number(), number()];
    if (tag >> 3 === 6) return value;
    if ((tag & 7) === 2) at += value;
  }
  return null;
};
const [WHOLE, FOR_ANOTHER] = [0, 2];
const ASKS_FOR_A_RUN = (11 << 3) | 2;
const heard = new WeakSet();
const send = WebSocket.prototype.send;
const pass = (socket, message) => {
  if (new Uint8Array(message)[0] === ASKS_FOR_A_RUN) window.asked = performance.now();
  send.call(socket, message);
};
WebSocket.prototype.send = function (message) {
  if (!heard.has(this)) {
    heard.add(this);
    this.addEventListener("message", ({ data }) => {
      const end = endOf(new Uint8Array(data));
      if (end === WHOLE) window.runs += 1;
      if (end !== null && end !== FOR_ANOTHER) window.answered = performance.now();
    });
  }
  window.sent += 1;
  if (new TextDecoder().decode(message).includes('"rested"')) window.told += 1;
  if (window.held) window.held.push([this, message]);
  else pass(this, message);
};
window.release = () => {
  const messages = window.held;
  window.held = null;
  for (const [socket, message] of messages) pass(socket, message);
};
window.headsView = () => {
  for (const host of document.querySelectorAll("*")) {
    const root = host.shadowRoot?.querySelector(".heads-view");
    if (root) return root;
  }
  return null;
};
window.calm = (still, also) => {
  const app = document.querySelector('[data-testid="stApp"]');
  const components = [...document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')];
  const unready = document.querySelector('[data-testid="stSkeleton"], [data-stale="true"]')
    ?? components.map(each => each.shadowRoot).find(
      root => !root?.childElementCount || root.querySelector("[aria-busy]"));
  const runs = app?.dataset.testScriptState !== "notRunning" || window.asked > window.answered;
  const calm = !runs && !unready && also();
  window.calmSince = calm ? (window.calmSince ?? performance.now()) : null;
  return calm && performance.now() - window.calmSince >= still;
};
// Keys pressed on a canvas, all at once; gives the lines of the tooltip after them.
window.pressed = (canvas, ...keys) => {
  for (const key of keys) {
    canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true }));
  }
  return window.headsView().querySelector(".tooltip").innerText.split("\\n");
};
window.painted = () => JSON.parse(window.headsView()?.dataset.painted ?? "{}");
window.focused = () => {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return active;
};
"""


POINTED = """(root, steps) => {
    const { left, top } = root.getBoundingClientRect();
    const tip = root.querySelector(".tip");
    const names = steps.map(([x, y]) => {
        const at = { clientX: left + x, clientY: top + y, pointerType: "mouse", bubbles: true };
        root.dispatchEvent(new PointerEvent("pointermove", at));
        return tip.innerText.split("\\n")[0];
    });
    root.dispatchEvent(new PointerEvent("pointerleave"));
    return names;
}"""


def wait_until_calm(page: Page, also: str = "() => true", *, still: int = 0) -> None:
    """Waits until nothing runs, nothing old stands, and the code of every element is here.

    Streamlit loads a widget's code when it first shows one; until then a skeleton stands in its
    place, which hears no key and has no state. Our components are busy until theirs has come.

    Args:
        page: of a `HeadsPage`.
        also: what else has to hold, a function in JavaScript.
        still: milliseconds for which all of it has to hold.
    """
    page.evaluate("window.calmSince = null")
    page.wait_for_function(f"still => window.calm(still, {also})", arg=still, polling=LOOK)


def resize(page: Page, size: ViewportSize) -> None:
    """Gives a page another size, and waits until it is laid out for it.

    Args:
        page: of a `HeadsPage`.
        size: in CSS pixels.
    """
    page.set_viewport_size(size)
    # What watches its size hears of it in the frame after the first one's requests.
    page.evaluate(
        "() => new Promise(seen => requestAnimationFrame(() => requestAnimationFrame(seen)))"
    )
    wait_until_calm(page)


@dataclass(frozen=True)
class Frame:
    """Where cells lie on the large canvas, in CSS pixels: the first one's corner, and the size."""

    x: float
    y: float
    width: float
    height: float

    def middle(self, query: int, key: int) -> tuple[float, float]:
        return self.x + (key + 0.5) * self.width, self.y + (query + 0.5) * self.height


def path_of(page: str) -> str:
    """The path of a page in an address: the first page has none."""
    return "" if page == HOME else page


class HeadsPage:
    """A browser's page that shows the app, at one viewport."""

    ROOT = ".heads-view"
    """The component that shows all heads."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.root = page.locator(self.ROOT)
        self.overview = page.locator("canvas.overview")
        # One head, as a matrix or as lines.
        self.matrix = page.locator(f"{self.ROOT} .model-view")
        self.tooltip = page.locator(f"{self.ROOT} :is(.tooltip, .tip):not([hidden])")
        self.spoken = page.locator(f"{self.ROOT} > .spoken")
        self.heading = page.locator(f"{self.ROOT} .name")
        self.caption = page.locator(f"{self.ROOT} .caption")
        self.legend = self.matrix.get_by_role("button", name=re.compile("^Remove "))
        self.alerts = page.get_by_test_id("stAlert")
        # A long one stands folded in a summary.
        self.translation = page.locator("p[lang=de], summary > span[lang=de]")
        self.facts = page.locator(".facts")
        self.chart = page.get_by_test_id("stPlotlyChart")
        page.add_init_script(WATCH)
        if SLOWDOWN != 1:
            tools = page.context.new_cdp_session(page)
            tools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})

    # ---- going somewhere ------------------------------------------------------------------------

    def open(self, **query: str) -> HeadsPage:
        """Loads an address and waits until all of its page stands."""
        self.goto(**query)
        self._wait_until_loaded()
        return self

    def goto(self, **query: str) -> None:
        address = f"{self.url}/heads?{urlencode(query, quote_via=quote)}"
        self.page.goto(address, timeout=LOADING)

    def walk(self, path: str = "heads", **query: str) -> None:
        """Goes to an address within the page that stands, as Back does, and waits until it is calm.

        A page that is loaded anew takes three times as long.
        """
        address = f"{self.url}/{path}?{urlencode(query, quote_via=quote)}"
        app = self.page.get_by_test_id("stApp")
        if not app.count():
            self.page.goto(address, timeout=LOADING)
            app.wait_for(timeout=LOADING)
            runs = 0
        else:
            # A run that is still to come would tell the address it was asked with.
            wait_until_calm(self.page, still=SHORTLY)
            runs = self.page.evaluate(
                """address => {
                    history.pushState(null, "", address);
                    dispatchEvent(new PopStateEvent("popstate"));
                    return window.runs;
                }""",
                address,
            )
        self.page.wait_for_function(
            "runs => window.runs > runs", arg=runs, timeout=LOADING, polling=LOOK
        )
        wait_until_calm(self.page, still=SHORTLY)

    def reload(self) -> None:
        self.page.reload(timeout=LOADING)
        self._wait_until_loaded()

    def _wait_until_loaded(self) -> None:
        self.page.wait_for_function(
            "() => window.painted().id !== undefined", timeout=LOADING, polling=LOOK
        )
        self.settle()

    def settle(self) -> None:
        """Waits until what stands below the picture belongs to it, and nothing runs."""
        wait_until_calm(
            self.page,
            """() => {
                const { id, attention, layer, head } = window.painted();
                const done = document.querySelector(".headscope-done")?.dataset.done;
                return done === [id, attention, layer, head].join("/");
            }""",
        )

    def field(self, name: str) -> Locator:
        """A field of the bar: "sentence", in whatever language, or "target"."""
        label = {"sentence": "^(?!target).*sentence$", "target": "^target sentence$"}[name]
        return self.page.get_by_role("textbox", name=re.compile(label, re.IGNORECASE))

    @contextmanager
    def asked(self) -> Iterator[None]:
        """The menu of the bar, with the model and the target, open and then closed again."""
        menu = self.page.locator('[class*="st-key-bar-model-"] button').first
        # A test before may have left it open.
        if menu.get_attribute("aria-expanded") != "true":
            menu.click()
        expect(menu).to_have_attribute("aria-expanded", "true")
        yield
        if menu.get_attribute("aria-expanded") == "true":
            menu.click()

    def type(self, name: str, text: str) -> None:
        """Types into a field of the bar and presses Enter; waits for nothing."""
        with self.asked() if name == "target" else nullcontext():
            field = self.field(name)
            field.fill(text)
            field.press("Enter")

    @property
    def target(self) -> str:
        """The target that was typed."""
        with self.asked():
            return self.field("target").input_value()

    def ask(self, text: str) -> None:
        """Types a sentence that can be answered and waits until its heads stand."""
        before = self.root.get_attribute("data-payload") if self.root.count() else None
        self.type("sentence", text)
        self.wait_for_payload_other_than(before)
        self.settle()

    def wait_for_payload_other_than(self, before: str | None) -> None:
        self.page.wait_for_function(
            "before => (window.painted().id ?? before) !== before", arg=before, polling=LOOK
        )

    # ---- what it shows --------------------------------------------------------------------------

    @property
    def painted(self) -> dict[str, Any]:
        painted: dict[str, Any] = self.page.evaluate("window.painted()")
        return painted

    @property
    def selected(self) -> tuple[str, int, int]:
        painted = self.painted
        return painted["attention"], painted["layer"], painted["head"]

    def wait_for_painted(self, **wanted: Any) -> None:
        self.page.wait_for_function(
            """wanted => {
                const painted = window.painted();
                return Object.entries(wanted).every(([name, value]) => painted[name] === value);
            }""",
            arg=wanted,
            polling=LOOK,
        )

    @property
    def query(self) -> dict[str, str]:
        """What the address holds."""
        return dict(parse_qsl(urlsplit(self.page.url).query, keep_blank_values=True))

    def wait_for_query(self, **wanted: str | None) -> None:
        """Waits until the address holds these values; None for a value that it must not hold."""
        self.page.wait_for_function(
            """wanted => {
                const query = new URLSearchParams(location.search);
                return Object.entries(wanted).every(([name, value]) => query.get(name) === value);
            }""",
            arg=wanted,
            polling=LOOK,
        )

    @property
    def tiles(self) -> list[dict[str, Any]]:
        tiles: list[dict[str, Any]] = json.loads(self.overview.get_attribute("data-tiles") or "[]")
        return tiles

    def tile(self, layer: int, head: int) -> dict[str, Any]:
        return next(tile for tile in self.tiles if (tile["layer"], tile["head"]) == (layer, head))

    def click_tile(self, layer: int, head: int, **options: Any) -> None:
        tile = self.tile(layer, head)
        x, y = tile["x"] + tile["width"] / 2, tile["y"] + tile["height"] / 2
        self.overview.click(position={"x": x, "y": y}, **options)

    def unfold(self) -> None:
        """Shows what is seldom changed."""
        options = self.control("Options")
        if options.get_attribute("aria-expanded") == "false":
            options.click()

    def draw_as(self, name: str) -> None:
        """Draws the large picture as "Heatmap" or "Lines"."""
        self.unfold()
        self.control(name).click()

    def control(self, name: str) -> Locator:
        """A button of the component by its text or its label."""
        # Not by its role and name: what a style sheet puts before the text belongs to the name.
        named = self.root.locator("button").filter(has_text=re.compile(f"^{re.escape(name)}$"))
        return named.or_(self.root.locator(f'button[aria-label="{name}"]')).first

    def toggle(self, name: str) -> None:
        """Changes how the trace is read, which is the server's work, and waits for it."""
        before = self.root.get_attribute("data-payload")
        self.unfold()
        self.control(name).click()
        self.wait_for_payload_other_than(before)
        self.settle()

    def frame(self) -> Frame:
        """Where the cells lie once the picture is at rest."""
        self.wait_for_rest()
        x, y, width, height, rows, columns = self.matrix.evaluate(
            "root => JSON.parse(root.querySelector('canvas.space').dataset.cells)"
        )
        return Frame(x, y, width / columns, height / rows)

    def wait_for_rest(self, *, wider: float = 0) -> None:
        """Waits until the picture moves no more, and a cell is wider than this."""
        self.page.evaluate("window.framesAtRest = 0")
        self.page.wait_for_function(
            """least => {
                const { cells } = window.headsView().querySelector("canvas.space").dataset;
                const [, , width, , , columns] = JSON.parse(cells);
                const rests = cells === window.cellsBefore && width / columns > least;
                window.framesAtRest = rests ? window.framesAtRest + 1 : 0;
                window.cellsBefore = cells;
                return window.framesAtRest > 4;
            }""",
            arg=wider,
            polling="raf",
        )

    def pointed(self) -> tuple[int, int]:
        """The query and the key that the tooltip names."""
        return places(self.tooltip.inner_text().split("\n")[0])

    def point_at(self, frame: Frame, query: int, key: int) -> list[str]:
        """Moves the pointer onto a cell; gives the lines of the tooltip."""
        x, y = frame.middle(query, key)
        self.matrix.hover(position={"x": x, "y": y})
        expect(self.tooltip).to_contain_text(f"({query}) to")
        expect(self.tooltip).to_contain_text(f"({key})")
        return self.tooltip.inner_text().split("\n")

    def named_axes(self) -> tuple[list[str], list[str]]:
        """Every query and every key, as the tooltip names them along the first column and row."""
        frame = self.frame()
        *_, rows, columns = self.matrix.evaluate(
            "root => JSON.parse(root.querySelector('canvas.space').dataset.cells)"
        )
        down = [frame.middle(query, 0) for query in range(rows)]
        across = [frame.middle(0, key) for key in range(columns)]
        names = [self.matrix.evaluate(POINTED, steps) for steps in (down, across)]
        queries = [re.sub(r" \(\d+\) to .* \(0\)$", "", line) for line in names[0]]
        keys = [re.sub(r"^.* \(0\) to (.*) \(\d+\)$", r"\1", line) for line in names[1]]
        return queries, keys

    @property
    def picked(self) -> str:
        """The marked cell, as an address has it; empty for none."""
        mark = self.root.locator(".cell.picked")
        return (mark.get_attribute("data-cell") or "") if mark.is_visible() else ""

    @property
    def place(self) -> str | None:
        """What kind of place one is at."""
        return self.matrix.get_attribute("data-place")


def places(line: str) -> tuple[int, int]:
    """The query and the key that a tooltip's first line names."""
    query, key = re.findall(r" \((\d+)\)(?: to |$)", line)
    return int(query), int(key)


def pixels(canvas: Locator) -> Pixels:
    """What a canvas holds, (row, column, RGBA) in device pixels."""
    # The picture of the model is a canvas within what is focused.
    url = canvas.evaluate(
        "node => (node.querySelector('canvas.space') ?? node).toDataURL('image/png')"
    )
    image = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))
    return np.asarray(image.convert("RGBA"))


def painted(heads: HeadsPage) -> None:
    """Waits until what was asked for with the next frame is drawn."""
    heads.page.evaluate(
        "() => new Promise(seen => requestAnimationFrame(() => requestAnimationFrame(seen)))"
    )


def swatches(heads: HeadsPage) -> list[tuple[int, int, int]]:
    """The colours of compared heads, as the legend in the picture shows them."""
    drawn = pixels(heads.matrix)
    boxes = heads.legend.evaluate_all(
        "nodes => nodes.map(({ style }) => [style.left, style.top, style.height].map(parseFloat))"
    )
    # A square at the left, as high as half of the line.
    found = [drawn[round(top + high / 2), round(left + high / 4)] for left, top, high in boxes]
    return [(int(red), int(green), int(blue)) for red, green, blue, _ in found]


def channels(color: str) -> tuple[int, int, int]:
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return red, green, blue


def scale(weights: FloatArray, look: Theme, gamma: float) -> NDArray[np.float64]:
    """The colours of weights, (…, RGB): straight lines between the stops of the scale."""
    stops = np.array([channels(color) for color in look.weights], dtype=np.float64)
    places = np.clip(weights, 0, 1).astype(np.float64) ** gamma * (len(stops) - 1)
    return np.stack(
        [np.interp(places, np.arange(len(stops)), stops[:, channel]) for channel in range(3)], -1
    )


def has_colour(
    color: NDArray[Any], weight: float, look: Theme = LIGHT, gamma: float = 1, tolerance: float = 2
) -> bool:
    """Whether a colour stands for a weight, to half a step of the scale and to rounding."""
    around = np.array([weight - HALF_A_STEP, weight + HALF_A_STEP], dtype=np.float32)
    low, high = np.sort(scale(around, look, gamma), axis=0)
    return bool(((color[:3] >= low - tolerance) & (color[:3] <= high + tolerance)).all())


def picture(seen: ReadTrace, attention: str, layer: int, head: int) -> tuple[FloatArray, BoolArray]:
    """The weights and the mask that a picture must show, (query, key)."""
    if attention != "joint":
        found = seen.maps[Site(AttentionKind(attention), layer)]
        allowed = found.allowed if found.allowed.ndim == 2 else found.allowed[head]
        return found.weights[head], allowed
    n_source, n_target = len(seen.source), len(seen.target)
    weights = np.zeros((n_source + n_target,) * 2, dtype=np.float32)
    mask = np.zeros(weights.shape, dtype=np.bool_)
    for kind, (down, across) in PARTS.items():
        part, allowed = picture(seen, kind, layer, head)
        place = np.s_[
            down * n_source : down * n_source + part.shape[0],
            across * n_source : across * n_source + part.shape[1],
        ]
        weights[place], mask[place] = part, allowed
    return weights, mask


def wrong_cells(
    heads: HeadsPage, seen: ReadTrace, *, look: Theme = LIGHT, gamma: float = 1, density: float = 1
) -> list[str]:
    """The cells of the large heatmap that have another colour than their number, in words."""
    attention, layer, head = heads.selected
    weights, allowed = picture(seen, attention, layer, head)
    frame = heads.frame()
    drawn = pixels(heads.matrix)
    wrong = []
    for query, key in np.ndindex(weights.shape):
        left, top = frame.x + key * frame.width, frame.y + query * frame.height
        rows = slice(round((top + EDGE) * density), round((top + frame.height - EDGE) * density))
        columns = slice(
            round((left + EDGE) * density), round((left + frame.width - EDGE) * density)
        )
        colors, counts = np.unique(
            drawn[rows, columns, :3].reshape(-1, 3), axis=0, return_counts=True
        )
        if not len(counts):
            wrong.append(f"({query}, {key}) is not there")
        elif not allowed[query, key]:
            if not is_hatched(colors, look):
                wrong.append(f"({query}, {key}) is not hatched: {colors.tolist()}")
        # A number may stand on it; the ground is what most of the cell is.
        elif not has_colour(colors[counts.argmax()], float(weights[query, key]), look, gamma):
            wrong.append(f"({query}, {key}) {weights[query, key]}: {colors[counts.argmax()]}")
    return wrong


def wrong_tiles(
    heads: HeadsPage, seen: ReadTrace, *, look: Theme = LIGHT, gamma: float = 1, density: float = 1
) -> list[str]:
    """The cells of the overview's tiles that have another colour than their number, in words."""
    drawn = pixels(heads.overview)
    wrong = []
    for tile in heads.tiles:
        weights, allowed = picture(seen, tile["attention"], tile["layer"], tile["head"])
        size = round(tile["width"] * density)
        left, top = round(tile["x"] * density), round(tile["y"] * density)
        assert size >= max(weights.shape), "a cell has to be at least a pixel"
        for query, key in np.ndindex(weights.shape):
            y = int((query + 0.5) * size / weights.shape[0])
            x = int((key + 0.5) * size / weights.shape[1])
            if top + y >= drawn.shape[0] or left + x >= drawn.shape[1]:
                continue
            color = drawn[top + y, left + x]
            if allowed[query, key]:
                right = has_colour(color, float(weights[query, key]), look, gamma)
            else:
                right = tuple(color[:3].tolist()) in hatching(look)
            if not right:
                name = f"layer {tile['layer']}, head {tile['head']}, ({query}, {key})"
                wrong.append(f"{name} {weights[query, key]}: {color}")
    return wrong


def is_hatched(colors: NDArray[np.uint8], look: Theme) -> bool:
    """Whether the colours of a cell are the two of hatching, or of slanted lines and between."""
    ground, line = (np.array(channels(each)) for each in (look.forbidden, look.hatch))
    low, high = np.minimum(ground, line), np.maximum(ground, line)
    inside = bool(((colors >= low) & (colors <= high)).all())
    return inside and len(colors) > 1 and bool((colors == ground).all(axis=1).any())


def hatching(look: Theme) -> set[tuple[int, int, int]]:
    """The two colours of a cell that may not be attended to."""
    return {channels(look.forbidden), channels(look.hatch)}


def title(attention: str, layer: int, head: int) -> str:
    """What the large picture is called."""
    return Site(AttentionKind(attention), layer).head_name(head)


def same_pictures(one: Mapping[str, Pixels], other: Mapping[str, Pixels]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


def pictures(heads: HeadsPage) -> dict[str, Pixels]:
    """All that the page has drawn: the overview, and whichever large picture shows."""
    return {"overview": pixels(heads.overview), "large": pixels(heads.matrix)}
