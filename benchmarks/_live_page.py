"""The page that `headscope pack` writes, in Chromium: what a person who has that file waits for."""

import itertools
import os
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from benchmarks._measure import row
from benchmarks.browser import VIEWPORT, chromium
from headscope.__main__ import main as headscope

SENTENCES = (
    "The old man walked slowly across the bridge with his dog.",
    "The young woman walked quickly along the river with her cat.",
    "A small child played happily in the garden with his friend.",
    "An old doctor drove slowly through the city with his wife.",
    "The little girl ran quickly across the street with her ball.",
    "The new neighbour waited quietly behind the house with his car.",
)

READY = "from the disk until ready"
TRACE = "beam 4, all heads recorded"
ENTER = "Enter → every head drawn"
SLOWED = "Enter → every head drawn, slowed 4 times"
OFF = "a head switched off → new words"
EFFECTS = "effects of all heads"
LIMITS = {READY: 1500, TRACE: 120, ENTER: 120, SLOWED: 500, OFF: 100, EFFECTS: 1000}
"""Milliseconds."""

_WATCH = """new MutationObserver(() => {
  if (document.documentElement?.dataset.engine) window.readyAt ??= performance.now();
}).observe(document, { subtree: true, childList: true, attributes: true })"""

_CALL = """async ([method, given]) => {
  const engine = await headscopeSite.engine;
  const began = performance.now();
  window.result = await engine.call(method, [given ?? window.result]);
  return performance.now() - began;
}"""

_ASK = """async (text) => {
  const field = document.querySelector("#sentence");
  const began = performance.now();
  field.value = text;
  field.form.requestSubmit();
  do await new Promise((resolve) => requestAnimationFrame(resolve));
  while (document.body.dataset.shown !== text);
  return performance.now() - began;
}"""

_SWITCH_OFF = """async () => {
  const buttons = document.querySelector(".part.heads").shadowRoot.querySelectorAll("button");
  const began = performance.now();
  [...buttons].find((each) => each.textContent === "Switch off").click();
  do await new Promise((resolve) => requestAnimationFrame(resolve));
  while (!document.querySelector(".outcome").textContent);
  return performance.now() - began;
}"""


def measured(checkpoint: str, runs: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows of times with their limits; the size of the file and the renderer's memory, in MB.

    Memory needs Linux, because it is read from `/proc`.
    """
    times: dict[str, list[float]] = {name: [] for name in LIMITS}
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "page.html"
        headscope(["pack", "--model", checkpoint, "--out", str(file)])
        for _ in range(min(runs, 10)):
            page = _opened(browser, file)
            times[READY].append(page.evaluate("readyAt"))
            page.context.close()
        page = _opened(browser, file, "#/heads")
        # A space more makes a sentence of the same tokens that the page has not kept.
        new = (f"{text}{' ' * n}" for n in itertools.count() for text in SENTENCES)
        for _ in SENTENCES:
            page.evaluate(_ASK, next(new))
        for _ in range(runs):
            times[ENTER].append(page.evaluate(_ASK, next(new)))
            times[OFF].append(page.evaluate(_SWITCH_OFF))
        for text in itertools.islice(itertools.cycle(SENTENCES), runs):
            times[TRACE].append(page.evaluate(_CALL, ["trace", text]))
            if len(times[EFFECTS]) < len(SENTENCES):
                times[EFFECTS].append(page.evaluate(_CALL, ["effects", None]))
        pid = _renderer(browser, page)
        with slowed(pid):
            for _ in range(max(len(SENTENCES), runs // 3)):
                times[SLOWED].append(page.evaluate(_ASK, next(new)))
        facts = {
            "file_mb": round(file.stat().st_size / 1e6, 1),
            "memory_mb": {name: _memory(pid, name) for name in ("Pss", "Rss")},
        }
    rows = []
    for what, of_it in times.items():
        met = statistics.median(of_it) <= LIMITS[what]
        note = f"limit {LIMITS[what]}, {'met' if met else 'missed'}"
        rows.append(row(what, [each / 1000 for each in of_it], note=note))
    return rows, facts


def _opened(browser: Browser, file: Path, at: str = "") -> Page:
    context = browser.new_context(offline=True, locale="en-US", viewport=VIEWPORT)
    context.add_init_script(_WATCH)
    page = context.new_page()
    page.goto(file.as_uri() + at)
    page.locator("html[data-engine=ready] body:not([data-shown=''])").wait_for(timeout=60_000)
    return page


@contextmanager
def slowed(pid: int, times: int = 4, period: float = 0.01) -> Iterator[None]:
    """A process that runs for one part of every period and stands still for the others.

    DevTools slow down the page's own thread alone, and here a worker does the work.
    """
    over = threading.Event()

    def hold() -> None:
        while not over.is_set():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(period * (times - 1) / times)
            os.kill(pid, signal.SIGCONT)
            time.sleep(period / times)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _renderer(browser: Browser, page: Page) -> int:
    """The process of the page: of all renderers, the largest."""
    page.bring_to_front()
    session = browser.new_browser_cdp_session()
    listed = session.send("SystemInfo.getProcessInfo")["processInfo"]
    renderers = [int(each["id"]) for each in listed if each["type"] == "renderer"]
    return max(renderers, key=lambda pid: _memory(pid, "Rss"))


def _memory(pid: int, name: str) -> int:
    """MB of a process: "Rss" counts what it shares with others, "Pss" only its share of that."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    (found,) = (int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
    return round(found / 1000)
