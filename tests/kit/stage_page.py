"""The stage in a browser: how much of the window its pictures take, and its contrast."""

from __future__ import annotations

import contextlib
import re
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from playwright.sync_api import expect

from tests.kit.heads_page import LOADING, SHORTLY, HeadsPage, wait_until_calm

ANYTHING = re.compile(".")

FILLED = 0.7
"""The share of the window that the picture takes at least, each way."""

STRONG = 7.0
"""The contrast of every text on stage at least, by WCAG 2."""

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
      // A number in a cell has the colour that `Theme.ink` chooses for the cell, part of an image.
      const plot = node.closest(".textpoint")?.closest(".subplot");
      if (plot?.querySelector(".heatmaplayer image")) continue;
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
    const kinds = ".model-view, canvas.matrix, .js-plotly-plot .main-svg, .decoding-steps";
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
        for painted in (".heads-view", ".matrices", ".decoding-steps"):
            if self.page.locator(painted).count():
                expect(self.page.locator(painted)).to_have_attribute("data-painted", ANYTHING)
        # Counted anew each time, since those of the view before go only now.
        charts = '[data-testid="stPlotlyChart"]'
        self.page.wait_for_function(
            "charts => [...document.querySelectorAll(charts)]"
            '.every(each => each.querySelector(".main-svg")?.getClientRects().length)',
            arg=charts,
        )

    def walk(self, path: str = "heads", **query: str) -> None:
        """As `open`, within the page that stands."""
        self.reader.walk(path, present="1", **query)
        expect(self.foot).to_be_visible()
        expect(self.page).to_have_url(re.compile(rf"/{path}\?.*present=1"))
        self.settle()

    def weak(self) -> list[str]:
        """The texts with less contrast than they need, once what is painted late is there."""
        with contextlib.suppress(PlaywrightTimeoutError):
            self.page.wait_for_function(
                f"strong => ({WEAK})(strong).found.length === 0", arg=STRONG, polling=200
            )
        seen = self.page.evaluate(WEAK, STRONG)
        assert seen["count"] > 5
        found: list[str] = seen["found"]
        return found

    def chrome(self) -> list[str]:
        """What of Streamlit's or of ours is not the picture, and can be seen."""
        found: list[str] = self.page.evaluate(CHROME)
        return found

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
