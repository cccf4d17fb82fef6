"""Times the model's picture in the browser: its frames on the way, and until a place is filled.

    python -m benchmarks.model_view

The real app with the shipped checkpoint in headless Chromium, and a sentence of 20 tokens: from the
whole model to a head, to a weight in it, and back, with the processor as it is and slowed four
times. Then, without motion, from a click on a head until what the model is asked for it is painted.
At last, the frames that are asked for while nothing moves.
"""

import argparse
import os
import statistics
from collections.abc import Callable
from functools import partial
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page
from torch import device

from benchmarks._measure import report, row
from benchmarks.browser import (
    CHECKPOINT,
    CHECKPOINTS_VARIABLE,
    SENTENCE_TOKENS,
    VIEWPORT,
    chromium,
    running,
    same_length,
    settled,
)

TARGETS = {1: 60, 4: 30}
"""Frames a second at least, by how many times the processor is slowed."""

FILLED = 150
"""Milliseconds in which a place is filled."""

HEADS = 8

CLOCK = """
window.frames = 0;
const request = window.requestAnimationFrame;
window.requestAnimationFrame = then => ((window.frames += 1), request(then));
const isOf = root => root?.querySelector(".model-view[data-state]");
const hosts = () => [...document.querySelectorAll("*")];
const view = () => hosts().map(each => isOf(each.shadowRoot)).find(Boolean) ?? isOf(document);
// Milliseconds between frames from the first in which the camera moved to the last.
window.way = () => new Promise(told => {
  const world = view().querySelector(".world");
  const apart = [];
  let [before, seen, still] = [null, world.style.transform, 0];
  const look = now => {
    const moved = world.style.transform !== seen;
    if (moved && before !== null) apart.push(now - before);
    if (moved || apart.length) before = now;
    seen = world.style.transform;
    still = moved ? 0 : still + 1;
    if (apart.length && still > 20) told(apart);
    else request(look);
  };
  request(look);
});
// Milliseconds from the next press of the pointer until its place is filled and painted.
window.filled = () => new Promise(told => {
  addEventListener("pointerdown", () => {
    const began = performance.now();
    const look = () => {
      if (view().dataset.filled !== "yes") return request(look);
      request(now => told(now - began));
    };
    request(look);
  }, { capture: true, once: true });
});
window.rest = () => new Promise(told => {
  window.frames = 0;
  setTimeout(() => told(window.frames), 2000);
});
"""


def opened(browser: Browser, url: str, *, motion: bool, slowed: int = 1) -> Page:
    """The picture at rest, in a new browser session."""
    context = browser.new_context(
        viewport=VIEWPORT, reduced_motion="no-preference" if motion else "reduce"
    )
    context.add_init_script(CLOCK)
    page = context.new_page()
    page.set_default_timeout(120_000)
    asked = {"sentence": same_length(1)[0], "moment": 999}
    page.goto(f"{url}/?{urlencode(asked)}")
    page.locator(".model-view[data-state=resting]").wait_for()
    settled(page)
    tools = context.new_cdp_session(page)
    tools.send("Emulation.setCPUThrottlingRate", {"rate": slowed})
    return page


def head_of(page: Page, head: int) -> tuple[float, float]:
    """Where a head of cross-attention lies in the whole model."""
    box = page.get_by_role("gridcell", name="Cross-attention, layer 0").bounding_box()
    assert box is not None, "it is painted"
    return box["x"] + (head + 0.5) * box["width"] / HEADS, box["y"] + box["height"] / 2


def frames(page: Page, runs: int) -> list[float]:
    """Milliseconds between frames on the way to a head, to a weight in it, and back."""
    taken: list[float] = []

    def went(act: Callable[[], None]) -> None:
        page.evaluate("() => { window.gone = window.way(); }")
        act()
        taken.extend(page.evaluate("() => window.gone"))

    for run in range(runs):
        went(partial(page.mouse.click, *head_of(page, run % HEADS)))
        went(partial(page.mouse.click, VIEWPORT["width"] / 2, 0.6 * VIEWPORT["height"]))
        went(partial(page.keyboard.press, "Home"))
    return taken


def filled(page: Page) -> list[float]:
    """Milliseconds from a click on each head until it is filled; each is asked about once."""
    taken = []
    for head in range(HEADS):
        at = head_of(page, head)
        page.evaluate("() => { window.done = window.filled(); }")
        page.mouse.click(*at)
        taken.append(page.evaluate("() => window.done"))
        settled(page)
        page.keyboard.press("Home")
        page.locator(".model-view[data-place=model]").wait_for()
        settled(page)
    return taken


def main() -> None:
    """Measure, print and write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--runs", type=int, default=5, help="ways of each (default 5)")
    runs = options.parse_args().runs
    load = os.getloadavg()[0]
    rows, resting = [], {}
    with (
        chromium() as browser,
        running("app.py", {CHECKPOINTS_VARIABLE: str(CHECKPOINT.parent)}) as server,
    ):
        for slowed, target in TARGETS.items():
            page = opened(browser, server.url, motion=True, slowed=slowed)
            apart = frames(page, runs)
            late = statistics.quantiles(apart, n=20)[-1]
            name = (
                f"a frame on the way, slowed {slowed} times" if slowed > 1 else "a frame on the way"
            )
            note = f"95 of 100 within {late:.1f}; target {1000 / target:.1f}"
            seconds = [each / 1000 for each in apart]
            rows.append(
                row(name, seconds, p95_ms=round(late, 2), target_ms=1000 / target, note=note)
            )
            page.context.close()
        page = opened(browser, server.url, motion=False)
        seconds = [each / 1000 for each in filled(page)]
        rows.append(
            row("click on a head → filled", seconds, target_ms=FILLED, note=f"target {FILLED}")
        )
        resting["model"] = page.evaluate("() => window.rest()")
        page.mouse.click(*head_of(page, 0))
        settled(page)
        resting["head"] = page.evaluate("() => window.rest()")
        page.context.close()
    print(f"Frames asked for in two seconds at rest: {resting}. Load of the machine: {load:.1f}.")
    facts = {"source_tokens": SENTENCE_TOKENS, "frames_at_rest": resting, "load": round(load, 1)}
    report("model-view", rows, device("cpu"), **facts)


if __name__ == "__main__":
    main()
