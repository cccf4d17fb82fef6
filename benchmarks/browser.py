"""Times what a person waits for in the browser, from key or click to paint.

    python -m benchmarks.browser

The real app with the shipped checkpoint: a sentence, another head, a tooltip, a head switched
off, another word. Then the overview alone with made-up traces of several shapes, beside BertViz's
model view of the same weights.

The clock runs inside the page, in headless Chromium: from the event, in a listener that is asked
first, to the frame after the one that finds the drawing done.
"""

import argparse
import importlib
import importlib.metadata
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import torch
from playwright.sync_api import Browser, Error, Page, ViewportSize, sync_playwright

from benchmarks._inputs import Shape, made_up, sentences
from benchmarks._measure import report, row
from model.checkpoints.checkpoint import TOKENIZER
from model.paper.tokenizer import Tokenizer
from model.trace.trace import Trace
from model.translate.devices import resolve_device
from tests.kit.running_app import (
    ROOT,
    AppServer,
    StartError,
    find_chromium,
    is_local,
    launch,
    serve,
)
from tests.kit.static_host import hosted

CLOCK = Path(__file__).with_name("_clock.js")
CHECKPOINT = ROOT / "checkpoints" / "en-de"
CHECKPOINTS_VARIABLE = "HEADSCOPE_CHECKPOINTS"
VIEWPORT = ViewportSize(width=1280, height=800)
SENTENCE_TOKENS = 20
SHAPES = ("6x8x32", "6x8x64", "6x8x128", "12x12x64", "12x12x128", "12x12x512")
OVERVIEW_TARGETS = {"6x8x128": 200, "12x12x128": 250, "12x12x512": 1500}

ENTER = "Enter → overview and large view"
ENTER_REST = "Enter → the rest of the page"
NEW_QUESTION = "Enter → overview and large view, the model included"
MODEL = "the model alone, as the page says it"
SWITCHED_OFF = "click on a head of the map of effects → what is then written"
FORCED = "click on another next token → what is then written"
CORPUS = "a question about every head → the corpus page’s picture"
CORPUS_HEAD = "click on a head of that picture → all about it, the first picture"
COLD = "the first of the server"
HOVER_TILE = "pointing at a tile → tooltip"
HOVER_CELL = "pointing at a cell → tooltip"

BERTVIZ_LIMIT = 60
"""Seconds; shapes that would take BertViz longer are skipped."""

BERTVIZ_INSTALL = ".venv/bin/pip install --no-deps -r benchmarks/bertviz.txt"


class Script(NamedTuple):
    """A script that BertViz loads from the internet, and the installed package that carries it."""

    address: str
    name: str
    package: str
    path: str


SCRIPTS = (
    Script(
        "https://cdnjs.cloudflare.com/ajax/libs/require.js/2.3.6/require.min.js",
        "require.js",
        "nbclassic",
        "nbclassic/static/components/requirejs/require.js",
    ),
    # Without the suffix, which require.js adds.
    Script(
        "https://cdnjs.cloudflare.com/ajax/libs/d3/5.7.0/d3.min",
        "d3.js",
        "mpld3",
        "mpld3/js/d3.v5.min.js",
    ),
    Script(
        "https://cdnjs.cloudflare.com/ajax/libs/jquery/2.0.0/jquery.min",
        "jquery.js",
        "nbclassic",
        "nbclassic/static/components/jquery/dist/jquery.min.js",
    ),
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium for the duration of the context."""
    try:
        path = find_chromium()
    except StartError as error:
        raise SystemExit(f"This benchmark needs a browser: {error}.") from None
    with sync_playwright() as playwright:
        browser = launch(playwright, path)
        yield browser
        browser.close()


@contextmanager
def running(
    script: str, environment: Mapping[str, str] | None = None, options: Sequence[str] = ()
) -> Iterator[AppServer]:
    """A Streamlit script, served by `serve`.

    Raises:
        SystemExit: if something was not painted; the message contains the server's log.
    """
    with serve(script, environment, options) as server:
        try:
            yield server
        except Error as error:
            log = server.log()[-3000:]
            raise SystemExit(f"{error.message}\nThe server's log ends with:\n{log}") from error


@contextmanager
def visitor(browser: Browser) -> Iterator[Page]:
    """A separate browser session with the clock in its pages.

    Raises:
        SystemExit: if a page asked for something that is not on this machine.
    """
    context = browser.new_context(viewport=VIEWPORT)
    asked_for: list[str] = []
    # Only observed: intercepting requests would slow down each of them.
    context.on("request", lambda request: asked_for.append(request.url))
    context.add_init_script(path=CLOCK)
    page = context.new_page()
    page.set_default_timeout(120_000)
    try:
        yield page
    finally:
        context.close()
    for url in asked_for:
        if not is_local(url):
            raise SystemExit(f"The page asked for something on the internet: {url}")


def clock(page: Page, call: str, *arguments: Any) -> Any:
    """Call a function of the page's clock."""
    return page.evaluate(
        "([call, values]) => headscopeClock[call](...values)", [call, list(arguments)]
    )


def settled(page: Page) -> None:
    """Wait until the page is idle."""
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.wait_for_timeout(300)


def open_app(page: Page, url: str) -> None:
    """The heads page with everything on it."""
    page.goto(f"{url}/heads")
    clock(page, "ready")
    settled(page)


def ask(page: Page, sentence: str) -> dict[str, Any]:
    """Type a sentence, press Enter, and return the clock's result in milliseconds."""
    field = page.get_by_label(re.compile("sentence", re.IGNORECASE)).first
    field.fill(sentence)
    clock(page, "armPayload", "keydown", "Enter", True)
    field.press("Enter")
    return clock(page, "result")


def same_length(count: int, n_tokens: int = SENTENCE_TOKENS) -> list[str]:
    """Different sentences with the same number of tokens.

    Raises:
        SystemExit: if there are too few.
    """
    found = sentences(Tokenizer.load(CHECKPOINT / TOKENIZER), n_tokens)
    chosen = [text for text, _ in zip(found, range(count), strict=False)]
    if len(chosen) < count:
        raise SystemExit(f"There are {len(chosen)} sentences of {n_tokens} tokens, not {count}.")
    return chosen


@dataclass
class Times:
    """Seconds of every run, by measurement."""

    seconds: dict[str, list[float]]

    def add(self, what: str, milliseconds: float) -> None:
        self.seconds.setdefault(what, []).append(milliseconds / 1000)

    def row(self, what: str, target: int | None = None, **more: Any) -> dict[str, Any]:
        line = row(what, self.seconds[what], **more)
        if target is not None:
            met = "met" if line["median_ms"] <= target else "MISSED"
            line |= {"target_ms": target, "met": met == "met"}
            line["note"] = f"target {target}: {met}"
        return line


def measure_sentences(browser: Browser, url: str, runs: int, times: Times) -> None:
    """Enter with a new sentence in one session, then with the same one in another session."""
    with visitor(browser) as first, visitor(browser) as page:
        open_app(first, url)
        open_app(page, url)
        for number, sentence in enumerate(same_length(runs + 2)):
            new = ask(first, sentence)
            settled(first)
            said = re.search(r"translated in ([\d.]+) s", first.locator("body").inner_text())
            cached = ask(page, sentence)
            settled(page)
            if number < 2:
                continue
            times.add(NEW_QUESTION, new["painted"])
            if said:
                times.add(MODEL, 1000 * float(said[1]))
            times.add(ENTER, cached["painted"])
            times.add(ENTER_REST, cached["rest"])


def measure_selection(browser: Browser, url: str, runs: int, times: Times) -> None:
    """Selecting another head by click and by arrow key."""
    chance = random.Random(1)
    with visitor(browser) as page:
        open_app(page, url)
        ask(page, same_length(1)[0])
        settled(page)

        def click(*, with_rest: bool) -> None:
            now = clock(page, "painted")
            others = [
                tile
                for tile in clock(page, "tiles")
                if any(tile[name] != now[name] for name in ("attention", "layer", "head"))
            ]
            tile = chance.choice(others)
            page.mouse.move(tile["x"], tile["y"])
            page.wait_for_timeout(200)
            clock(page, "armHead", "pointerdown", None, with_rest)
            page.mouse.click(tile["x"], tile["y"])

        last = max(tile["head"] for tile in clock(page, "tiles"))
        forward = True

        def press(*, with_rest: bool) -> None:
            nonlocal forward
            # Back and forth along a layer.
            head = clock(page, "painted")["head"]
            forward = head == 0 or (forward and head < last)
            key = "ArrowRight" if forward else "ArrowLeft"
            clock(page, "armHead", "keydown", key, with_rest)
            page.keyboard.press(key)

        for name, act in (("click on a tile", click), ("arrow key", press)):
            _require_no_round_trip(page, act)
            for run in range(runs + 2):
                act(with_rest=True)
                taken = clock(page, "result")
                settled(page)
                if run >= 2:
                    times.add(f"{name} → large view", taken["painted"])
                    times.add(f"{name} → the rest of the page", taken["rest"])


def _require_no_round_trip(page: Page, act: Callable[..., None]) -> None:
    """Selects a head while every message to the server is held back."""
    clock(page, "hold")
    try:
        act(with_rest=False)
        clock(page, "result")
    except Error as error:
        raise SystemExit(
            f"Another head is not painted before the server has been asked: {error.message}"
        ) from None
    page.wait_for_timeout(500)
    if not clock(page, "release"):
        raise SystemExit("The server was not told of another head, so nothing was held back.")
    page.wait_for_timeout(500)
    settled(page)


def measure_hover(browser: Browser, url: str, runs: int, times: Times) -> None:
    """From moving the pointer over a tile or a cell to its tooltip."""
    chance = random.Random(2)
    with visitor(browser) as page:
        open_app(page, url)
        ask(page, same_length(1)[0])
        settled(page)

        def somewhere_in_matrix() -> tuple[float, float]:
            box = clock(page, "matrix")
            # Below and to the right of the middle are cells, not axis labels.
            return (
                box["left"] + box["width"] * chance.uniform(0.5, 0.7),
                box["top"] + box["height"] * chance.uniform(0.5, 0.7),
            )

        def some_tile() -> tuple[float, float]:
            tile = chance.choice(clock(page, "tiles"))
            return tile["x"], tile["y"]

        for what, place in ((HOVER_TILE, some_tile), (HOVER_CELL, somewhere_in_matrix)):
            for run in range(runs + 2):
                page.mouse.move(2, 2)
                page.wait_for_function("() => !headscopeClock.hasTooltip()")
                page.wait_for_timeout(100)
                x, y = place()
                clock(page, "armTooltip", "pointermove")
                page.mouse.move(x, y)
                taken = clock(page, "result")
                if run >= 2:
                    times.add(what, taken["painted"])


def measure_answers(browser: Browser, url: str, runs: int, times: Times) -> None:
    """Switching off a head or forcing another token: in one session, then again in another."""
    for what, path, target in (
        (SWITCHED_OFF, "effects", ".js-plotly-plot .nsewdrag"),
        (FORCED, "decoding", ".decoding-steps[data-painted] .candidate >> nth=1"),
    ):
        with visitor(browser) as first, visitor(browser) as page:
            for number, sentence in enumerate(same_length(runs + 2)):
                taken = {}
                for kind, each in (("new", first), ("cached", page)):
                    each.goto(f"{url}/{path}?{urlencode({'sentence': sentence})}")
                    box = each.locator(target).first
                    box.wait_for()
                    settled(each)
                    clock(each, "armAnswer", "pointerdown")
                    # The first cell of a map.
                    box.click(position={"x": 8, "y": 8}, force=True)
                    taken[kind] = clock(each, "result")["painted"]
                    settled(each)
                if number >= 2:
                    times.add(f"{what}, the model included", taken["new"])
                    times.add(what, taken["cached"])


def measure_corpus(browser: Browser, url: str, runs: int, times: Times) -> None:
    """From a question on the first page to the corpus page, and from there to one head."""
    chart = ".st-key-corpus-heads .js-plotly-plot .points path"
    for run in range(-1, runs):
        with visitor(browser) as page:
            page.goto(f"{url}/")
            page.get_by_role("button", name="Ask a question").wait_for()
            settled(page)
            page.keyboard.press("Control+k")
            # As people type.
            page.keyboard.type("one word back", delay=100)
            # Its field hears the key before the page does.
            clock(page, "startFirst", chart)
            page.keyboard.press("Enter")
            taken = clock(page, "result")
            settled(page)
            cold = f", {COLD}" if run < 0 else ""
            times.add(CORPUS + cold, taken["painted"])
            head = page.locator(chart).nth(max(run, 0))
            head.scroll_into_view_if_needed()
            page.wait_for_timeout(300)
            point = head.bounding_box()
            assert point is not None, "it was painted"
            spread = ".st-key-corpus-spread .js-plotly-plot .points path"
            clock(page, "startFirst", spread)
            page.mouse.click(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
            taken = clock(page, "result")
            settled(page)
            times.add(CORPUS_HEAD + cold, taken["painted"])
            times.add(f"{CORPUS_HEAD}, the rest{cold}", taken["rest"])


def measure_page(browser: Browser, runs: int) -> None:
    """Measure the real app; print and write."""
    times = Times({})
    with running("app.py", {CHECKPOINTS_VARIABLE: str(CHECKPOINT.parent)}) as server:
        measure_corpus(browser, server.url, runs, times)
        measure_sentences(browser, server.url, runs, times)
        measure_selection(browser, server.url, runs, times)
        measure_hover(browser, server.url, runs, times)
        measure_answers(browser, server.url, runs, times)
    targets = {
        ENTER: 180,
        ENTER_REST: 400,
        HOVER_TILE: 50,
        HOVER_CELL: 50,
        CORPUS: 500,
        CORPUS_HEAD: 500,
        SWITCHED_OFF: 300,
        FORCED: 300,
        **{f"{act} → large view": 70 for act in ("click on a tile", "arrow key")},
        **{f"{act} → the rest of the page": 300 for act in ("click on a tile", "arrow key")},
    }
    notes = {MODEL: {"note": "to the nearest 10 ms"}}
    report(
        "browser-page",
        [times.row(what, targets.get(what), **notes.get(what, {})) for what in times.seconds],
        resolve_device("auto"),
        **_circumstances(browser),
        checkpoint=CHECKPOINT.name,
        source_tokens=SENTENCE_TOKENS,
        server_needed_to_select=False,
    )


class BertViz:
    """BertViz's model view, served on this machine with its scripts."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.model_view = importlib.import_module("bertviz").model_view
        self.seconds_per_cell = 0.0
        self.beyond: int | None = None

    def write(self, trace: Trace) -> float:
        """Write the page of a trace; returns the seconds that BertViz took."""
        maps = trace.maps.values()
        attention = [torch.from_numpy(seen.weights.copy())[None] for seen in maps]
        started = time.perf_counter()
        content = self.model_view(
            attention,
            list(trace.source.tokens),
            display_mode="light",
            html_action="return",
        ).data
        seconds = time.perf_counter() - started
        for script in SCRIPTS:
            name = script.name if script.address.endswith(".js") else Path(script.name).stem
            content = content.replace(script.address, f"/{name}")
        if "https://cdn" in content:
            raise SystemExit("This version of BertViz loads other scripts; update SCRIPTS.")
        (self.folder / "view.html").write_text(
            f'<!doctype html><meta charset="utf-8"><title>BertViz</title>{content}',
            encoding="utf-8",
        )
        return seconds

    def show(self, browser: Browser, shape: Shape) -> float:
        """Milliseconds from opening the page to its last head painted."""
        last = f"attn_background_{shape.layers - 1}_{shape.heads - 1}"
        with visitor(browser) as page:
            # Started with the page, because a busy page would respond late.
            page.add_init_script(
                f"window.shown = headscopeClock.seen(() => document.getElementById('{last}'))"
            )
            page.goto(f"{self.url}/view.html", wait_until="commit")
            try:
                taken = float(page.evaluate("shown.then(({ at }) => at)"))
            except Error:
                self.beyond = shape.cells
                raise
        self.seconds_per_cell = taken / 1000 / shape.cells
        if taken > 1000 * BERTVIZ_LIMIT:
            self.beyond = shape.cells
        return taken

    def refusal(self, shape: Shape) -> str | None:
        """Why a shape is skipped, judging by earlier ones: BertViz draws a line per cell."""
        if self.beyond is not None and shape.cells >= self.beyond:
            return "BertViz not shown: as many weights or fewer were too much for it"
        expected = self.seconds_per_cell * shape.cells
        if expected > BERTVIZ_LIMIT:
            return f"BertViz not shown: about {expected:.0f} s, judged by the shape before"
        return None


@contextmanager
def bertviz() -> Iterator[BertViz | None]:
    """BertViz with its scripts, or None and a sentence if they are not installed."""
    try:
        scripts = {
            script.name: Path(
                str(importlib.metadata.distribution(script.package).locate_file(script.path))
            ).read_bytes()
            for script in SCRIPTS
        }
        importlib.import_module("bertviz")
    except (ImportError, OSError) as error:
        print(f"BertViz is left out ({error}); to measure it, run: {BERTVIZ_INSTALL}")
        yield None
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for script, content in scripts.items():
            (folder / script).write_bytes(content)
        with hosted(folder) as url:
            yield BertViz(url, folder)


def measure_bertviz_alone(browser: Browser, other: BertViz, runs: int) -> dict[str, Any]:
    """BertViz's time with almost nothing to draw: opening a page and loading its scripts."""
    times = Times({})
    shape = Shape(1, 1, 2)
    what = f"{shape}: BertViz, page opened → painted"
    other.write(made_up(shape, 0))
    for run in range(-2, runs):
        taken = other.show(browser, shape)
        if run >= 0:
            times.add(what, taken)
    # Pages with almost no cells say nothing about the time per cell.
    other.seconds_per_cell = 0.0
    return times.row(what, note="next to nothing to draw")


def measure_shape(
    browser: Browser, url: str, shape: Shape, other: BertViz | None, runs: int
) -> list[dict[str, Any]]:
    """Rows for one shape; BertViz's runs alternate with ours, as far as it gets."""
    ours, theirs = f"{shape}: click → painted", f"{shape}: BertViz, page opened → painted"
    made = f"{shape}: BertViz, page made (Python)"
    times = Times({})
    left_out = other.refusal(shape) if other else None
    traces = [made_up(shape, seed) for seed in (0, 1)] if other and not left_out else []
    with visitor(browser) as page:
        page.goto(f"{url}/?shape={shape}")
        clock(page, "readyOverview")
        settled(page)
        button = page.get_by_role("button", name="Show the other")
        for run in range(-2, runs):
            button.scroll_into_view_if_needed()
            clock(page, "armPayload", "pointerdown", None, False)
            button.click()
            taken = clock(page, "result")
            settled(page)
            if run < 0:
                continue
            times.add(ours, taken["painted"])
            if other is None or left_out is not None:
                continue
            times.add(made, 1000 * other.write(traces[run % 2]))
            try:
                times.add(theirs, other.show(browser, shape))
            except Error as error:
                left_out = f"BertViz given up: {error.message.splitlines()[0]}"
            # Its page closes in the background; our next run must not wait for that.
            page.wait_for_timeout(1000)
            if other.beyond is not None:
                left_out = left_out or f"BertViz stopped: it took longer than {BERTVIZ_LIMIT} s"
    line = times.row(ours, OVERVIEW_TARGETS.get(str(shape)))
    rows = [line, *(times.row(what) for what in (made, theirs) if what in times.seconds)]
    if left_out is not None:
        line["bertviz"] = left_out
        line["note"] = "; ".join(filter(None, [line.get("note"), left_out]))
    if theirs in times.seconds:
        pairs = zip(times.seconds[theirs], times.seconds[ours], strict=False)
        rows[-1]["times_ours"] = round(statistics.median(bert / our for bert, our in pairs), 1)
        rows[-1]["note"] = f"{rows[-1]['times_ours']} times as long as ours"
    return rows


def measure_overview(browser: Browser, shapes: list[Shape], runs: int) -> None:
    """Measure the overview alone, with random traces; print and write."""
    options = (
        # A session would not get a payload again that it has already seen.
        "--global.minCachedMessageSize=1000000000",
        "--server.maxMessageSize=400",
    )
    rows = []
    with (
        bertviz() as other,
        running("benchmarks/_browser_app.py", options=options) as server,
    ):
        if other is not None:
            rows.append(measure_bertviz_alone(browser, other, runs))
        for shape in shapes:
            rows += measure_shape(browser, server.url, shape, other, runs)
    packages = ("bertviz", *sorted({script.package for script in SCRIPTS}))
    report(
        "browser-overview",
        rows,
        torch.device("cpu"),
        **_circumstances(browser),
        **({name: importlib.metadata.version(name) for name in packages} if other else {}),
    )


def _circumstances(browser: Browser) -> dict[str, Any]:
    return {
        "chromium": browser.version,
        "streamlit": importlib.metadata.version("streamlit"),
        "viewport": f"{VIEWPORT['width']} × {VIEWPORT['height']}",
    }


def main(argv: list[str] | None = None) -> None:
    """Measure, print and write."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--runs", type=int, default=12, help="runs of each (default 12)")
    options.add_argument(
        "--parts",
        nargs="+",
        choices=("page", "overview"),
        default=("page", "overview"),
        help="what to measure (default both)",
    )
    options.add_argument(
        "--shapes", nargs="+", default=SHAPES, help="layers x heads x tokens, such as 6x8x128"
    )
    arguments = options.parse_args(argv)
    if arguments.runs < 1:
        options.error("--runs must be at least 1.")
    try:
        shapes = [Shape.parse(text) for text in arguments.shapes]
    except ValueError as error:
        options.error(str(error))
    # As the app sets it; part of the report.
    torch.set_num_threads(1)
    with chromium() as browser:
        if "page" in arguments.parts:
            measure_page(browser, arguments.runs)
        if "overview" in arguments.parts:
            measure_overview(browser, shapes, arguments.runs)


if __name__ == "__main__":
    main()
