"""Times what a person waits for on the positions page, from click to paint.

    python -m benchmarks.positions

The real app with a model of 512 dimensions and 512 positions, whose weights nobody trained: its
table and waves, the likeness of its positions, and the four matrices of a sentence of 512 tokens.

The clock runs inside the page, in headless Chromium: from the press of the pointer, in a listener
that is asked first, to the frame after the one that finds every trace of every figure drawn.
"""

import argparse
import importlib.metadata
import random
import tempfile
from pathlib import Path
from typing import cast
from urllib.parse import urlencode

import torch
from playwright.sync_api import Browser, Page
from torch import nn

from benchmarks._measure import report
from benchmarks.browser import (
    CHECKPOINT,
    CHECKPOINTS_VARIABLE,
    VIEWPORT,
    Times,
    chromium,
    running,
    settled,
    visitor,
)
from model.checkpoints.checkpoint import TOKENIZER, save_checkpoint
from model.paper.config import TransformerConfig
from model.paper.tokenizer import EOS, Tokenizer
from model.paper.transformer import Transformer

D_MODEL = POSITIONS = 512
TARGET = 500
"""Milliseconds until a whole topic is painted."""

TOPICS = {
    "The table": ("encoding", "waves", "circle", "pair-waves"),
    "Similarity": ("likeness", "by-offset"),
    "Added to the words": ("parts", "terms"),
    "What if": ("formula", "formula-waves"),
}
"""The topic to click, and its figures."""

ELSEWHERE = "Shuffle the words"
"""A topic without figures, from which each of the others is opened."""

WORDS = ("the", "cat", "dog", "man", "house", "on", "a", "and", "is")

ON_NEXT_CLICK = """keys => {
  const isWhole = plot => {
    if (!plot._fullData?.length) return false;
    const images = [...plot.querySelectorAll(".heatmaplayer image")];
    const others = plot.querySelectorAll(".scatterlayer .trace, .barlayer .trace");
    return images.length + others.length >= plot._fullData.length
      && images.every(image => image.href.baseVal);
  };
  const isPainted = node => node.shadowRoot?.querySelector("[data-painted]");
  const isDrawn = key =>
    [...document.querySelectorAll(`.st-key-positions-${key} .js-plotly-plot`)].some(isWhole)
    || [...document.querySelectorAll(`.st-key-positions-${key} *`)].some(isPainted);
  window.untilDrawn = new Promise((resolve, reject) => {
    const started = () => {
      const start = performance.now();
      const drawn = () => keys.every(isDrawn);
      headscopeClock.seen(drawn).then(({ at }) => resolve(at - start), reject);
    };
    addEventListener("pointerdown", started, { capture: true, once: true });
  });
}"""


def write_checkpoint(folder: Path) -> Tokenizer:
    """Write a model of the measured size; returns its vocabulary."""
    tokenizer = Tokenizer.load(CHECKPOINT / TOKENIZER)
    torch.manual_seed(0)
    model = Transformer(
        TransformerConfig(
            vocab_size=len(tokenizer),
            d_model=D_MODEL,
            d_ff=D_MODEL,
            n_heads=8,
            n_encoder_layers=1,
            n_decoder_layers=1,
            max_positions=POSITIONS,
            norm="pre",
        )
    )
    # It ends every translation at once: decoding is not measured and would take a minute.
    norm = cast("nn.LayerNorm", model.decoder.final_norm)
    with torch.no_grad():
        end = model.output.weight[EOS]
        norm.weight.zero_()
        norm.bias.copy_(1000 * end / end.norm())
    save_checkpoint(folder, model, tokenizer)
    return tokenizer


def sentence_of(tokenizer: Tokenizer, n_tokens: int) -> str:
    """Random words with an exact number of tokens, including the end token.

    Raises:
        SystemExit: if no word is a single token.
    """
    words = [word for word in WORDS if len(tokenizer.encode(word)) == 1]
    if not words:
        raise SystemExit(f"The vocabulary has none of {', '.join(WORDS)} as one token; add a word.")
    return " ".join(random.Random(0).choices(words, k=n_tokens - 1))


def measure_topics(page: Page, runs: int, times: Times) -> None:
    """Each topic in turn, opened from one without figures."""
    for run in range(-2, runs):
        for name, keys in TOPICS.items():
            page.get_by_role("radio", name=ELSEWHERE).click()
            page.locator(".word-order").wait_for()
            settled(page)
            page.evaluate(ON_NEXT_CLICK, keys)
            page.get_by_role("radio", name=name).click()
            taken = page.evaluate("window.untilDrawn")
            settled(page)
            if run >= 0:
                times.add(f"click → {name.lower()}", taken)


def measure(browser: Browser, runs: int) -> None:
    """Measure the page; print and write."""
    times = Times({})
    with tempfile.TemporaryDirectory() as name:
        tokenizer = write_checkpoint(Path(name) / "large")
        query = {
            "sentence": sentence_of(tokenizer, POSITIONS),
            "length": "limit",
            "waves": "0.1.64.128.192.256.384.511",
        }
        with running("app.py", {CHECKPOINTS_VARIABLE: name}) as server, visitor(browser) as page:
            page.goto(f"{server.url}/positions?{urlencode(query)}")
            page.get_by_role("radio", name=ELSEWHERE).wait_for()
            settled(page)
            measure_topics(page, runs, times)
    report(
        "positions",
        [times.row(what, TARGET) for what in times.seconds],
        torch.device("cpu"),
        chromium=browser.version,
        streamlit=importlib.metadata.version("streamlit"),
        viewport=f"{VIEWPORT['width']} × {VIEWPORT['height']}",
        shape=f"d_model {D_MODEL}, {POSITIONS} positions, {POSITIONS} tokens",
    )


def main(argv: list[str] | None = None) -> None:
    """Measure, print and write."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--runs", type=int, default=12, help="runs of each (default 12)")
    arguments = options.parse_args(argv)
    if arguments.runs < 1:
        options.error("--runs must be at least 1.")
    # As the app sets it; part of the report.
    torch.set_num_threads(1)
    with chromium() as browser:
        measure(browser, arguments.runs)


if __name__ == "__main__":
    main()
