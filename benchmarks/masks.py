"""Times painting a mask: each stroke, and the model's answer.

    python -m benchmarks.masks

The real app with the shipped checkpoint, one sentence of so many tokens, the encoder's mask. The
clock runs inside the page: from the pointer's event to the frame after the one that finds the
stroke painted, and from letting go to the frame in which the page stands for the new mask.
"""

import argparse
import itertools
import time
from typing import Any
from urllib.parse import quote, urlencode

import torch
from playwright.sync_api import Browser, Page

from benchmarks._measure import report
from benchmarks.browser import (
    CHECKPOINT,
    CHECKPOINTS_VARIABLE,
    Times,
    _circumstances,
    chromium,
    running,
    settled,
    visitor,
)
from model.paper.tokenizer import Tokenizer
from model.record.intervention import Intervention
from model.translate.translator import Translator, load
from viz.links.mask_edits import parse

TOKENS = (32, 128)
WORDS = ("the", "old", "man", "and", "the", "young", "woman", "see", "a", "small", "dog", "and")
STROKE_TARGET, ANSWER_TARGET = 50, 400
"""Milliseconds; the second without the model."""

CLOCK = """
const frame = () => new Promise(requestAnimationFrame);
const editor = () => {
  for (const host of document.querySelectorAll("*")) {
    const root = host.shadowRoot?.querySelector(".matrices");
    if (root?.querySelector("canvas.editable")) return root;
  }
  return null;
};
const first = (type, measure) => {
  window.measured = new Promise((resolve) => {
    const started = () => {
      removeEventListener(type, started, true);
      measure(performance.now()).then(resolve);
    };
    addEventListener(type, started, true);
  });
};
window.isReady = () => editor()?.dataset.painted !== undefined;
window.armStroke = () => {
  let isPainted = false;
  const seen = new MutationObserver(() => (isPainted = true));
  seen.observe(editor(), { attributeFilter: ["data-painted"] });
  first("pointermove", async (start) => {
    while (!isPainted) await frame();
    await frame();
    seen.disconnect();
    return performance.now() - start;
  });
};
window.armAnswer = () => {
  const done = () => document.querySelector(".headscope-done")?.dataset.done;
  const before = done();
  first("pointerup", async (start) => {
    while (done() === before) await frame();
    await frame();
    return performance.now() - start;
  });
};
"""


def sentence(tokenizer: Tokenizer, n_tokens: int) -> str:
    """A sentence with an exact number of tokens, including the end token.

    Raises:
        SystemExit: if these words make no such sentence.
    """
    text = ""
    for word in itertools.cycle(WORDS):
        text = f"{text} {word}".strip()
        length = len(tokenizer.encode(text)) + 1
        if length >= n_tokens:
            break
    if length != n_tokens:
        raise SystemExit(f"These words make no sentence of {n_tokens} tokens.")
    return text


def model_milliseconds(model: Translator, text: str, edit: str) -> float:
    """The model's own time for an edit: the pass under teacher forcing, the translation."""
    masks = {each.kind: each.allowed for each in parse(edit)}
    target = model.translate(text).text
    began = time.perf_counter()
    under = Intervention(masks=masks)
    model.trace_batch([text], [target], under=under)
    model.trace(text, under=under)
    return 1000 * (time.perf_counter() - began)


def cell_place(page: Page, n_tokens: int) -> tuple[dict[str, float], float, float]:
    """The painted matrix' box, and the distances between its cells across and down."""
    canvas = page.locator("canvas.editable")
    canvas.focus()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    mark = page.locator("section.panel").first.locator(".cell:not(.picked)")
    x, y, width, height = mark.evaluate(
        "node => [...node.style.transform.matchAll(/[-\\d.]+/g), node.style.width, "
        "node.style.height].map(text => parseFloat(text))"
    )
    page.keyboard.press("Escape")
    box = canvas.bounding_box()
    if box is None:
        raise SystemExit(f"The mask of {n_tokens} tokens is not on the page.")
    return {"x": box["x"] + x, "y": box["y"] + y}, width, height


def measure(browser: Browser, url: str, n_tokens: int, runs: int) -> list[dict[str, Any]]:
    """Rows of a table for one size of mask."""
    times = Times({})
    stroke = f"{n_tokens} × {n_tokens}: a stroke → painted"
    answer = f"{n_tokens} × {n_tokens}: letting go → the whole answer"
    alone = f"{n_tokens} × {n_tokens}: the model alone"
    without = f"{n_tokens} × {n_tokens}: letting go → the whole answer, less the model"
    model = load(CHECKPOINT, device="cpu")
    text = sentence(model.tokenizer, n_tokens)
    query = {"sentence": text, "batch": "", "part": "change", "masked": "encoder"}
    with visitor(browser) as page:
        page.add_init_script(CLOCK)
        page.goto(f"{url}/masks?{urlencode(query, quote_via=quote)}")
        page.wait_for_function("() => window.isReady()")
        settled(page)
        corner, width, height = cell_place(page, n_tokens)
        for run in range(runs + 2):
            # A new rectangle each time, so that no answer is cached.
            top = run % (n_tokens - 8)
            page.mouse.move(corner["x"] + 2.5 * width, corner["y"] + (top + 0.5) * height)
            page.mouse.down()
            for step in range(1, 4):
                page.evaluate("window.armStroke()")
                page.mouse.move(
                    corner["x"] + (2.5 + 2 * step) * width,
                    corner["y"] + (top + 0.5 + 2 * step) * height,
                )
                taken = page.evaluate("window.measured")
                if run >= 2:
                    times.add(stroke, taken)
            page.evaluate("window.armAnswer()")
            page.mouse.up()
            taken = page.evaluate("window.measured")
            settled(page)
            edit = page.evaluate("new URLSearchParams(location.search).get('edit') ?? ''")
            model_alone = model_milliseconds(model, text, edit)
            if run >= 2:
                times.add(answer, taken)
                times.add(alone, model_alone)
                times.add(without, max(0.0, taken - model_alone))
    return [
        times.row(stroke, STROKE_TARGET),
        times.row(answer),
        times.row(alone),
        times.row(without, ANSWER_TARGET),
    ]


def main(argv: list[str] | None = None) -> None:
    """Measure, print and write."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--runs", type=int, default=12, help="runs of each (default 12)")
    arguments = options.parse_args(argv)
    if arguments.runs < 1:
        options.error("--runs must be at least 1.")
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    with (
        chromium() as browser,
        running("app.py", {CHECKPOINTS_VARIABLE: str(CHECKPOINT.parent)}) as server,
    ):
        for n_tokens in TOKENS:
            rows += measure(browser, server.url, n_tokens, arguments.runs)
        report("masks", rows, torch.device("cpu"), **_circumstances(browser))


if __name__ == "__main__":
    main()
