"""Measures what a long text takes: time, memory and size, at several lengths and numbers of heads.

    python -m benchmarks.lengths

Encoders of BERT's shape with heads of 8 dimensions and random weights, by torch's fused kernel and
by hand (eager), each in a process of its own. Prints the plain pass, the recorded pass with its
file, its memory above the plain pass, the saved file, and what opening it and its first head take;
and of what one page can show, that page: what writing it takes, its size, in headless Chromium the
time until its first picture and until another head is drawn, and the time of the slowest of twenty
frames of coming closer; and in a running app the time from a visit to the first picture, and until
another head is drawn.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from playwright.sync_api import Page
from transformers import BertConfig, BertModel

import headscope as hs
from benchmarks._measure import write
from benchmarks.browser import VIEWPORT, chromium
from model.trace.attention_map import weights_in
from model.trace.rounded_weights import Bits
from tests.kit.running_app import serve
from viz.heads.standalone import MOST_WEIGHTS

T = TypeVar("T")

LENGTHS = (128, 512, 1024)
SHAPES = ((12, 12), (32, 32))
ATTENTION = ("sdpa", "eager")
HEAD_WIDTH = 8

CLOCK = """
const within = ({ shadowRoot }) => shadowRoot?.querySelector(".heads-view");
// In a page, and among the components of an app.
window.view = () => [...document.querySelectorAll("#drawing, div")].map(within).find(Boolean);
const frame = () => new Promise(requestAnimationFrame);
// Milliseconds since the page was asked for, or the last press, until something else is drawn.
let pressed = 0;
addEventListener("pointerdown", () => (pressed = performance.now()), true);
window.painted = async before => {
  while ((window.view()?.dataset.painted ?? before) === before) await frame();
  await frame();
  return performance.now() - pressed;
};
window.frame = async () => {
  const began = await frame();
  return (await frame()) - began;
};
"""


def peak() -> float:
    """Megabytes of memory that this process held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """A result, and the seconds that it took."""
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


def measure(layers: int, heads: int, tokens: int, attention: str, bits: Bits) -> dict[str, Any]:
    """One row of the table."""
    width = HEAD_WIDTH * heads
    config = BertConfig(
        num_hidden_layers=layers,
        num_attention_heads=heads,
        hidden_size=width,
        intermediate_size=2 * width,
        max_position_embeddings=tokens,
        vocab_size=1000,
    )
    config._attn_implementation = attention
    model = BertModel(config).eval()
    ids = torch.randint(0, 1000, (1, tokens), generator=torch.Generator().manual_seed(0))
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        with hs.watching() as short:
            model(ids[:, :8])
        model(ids)
        _, plain = timed(lambda: model(ids))
        plain_peak = peak()

        def record() -> Any:
            with hs.watching(like=short, bits=bits) as seen:
                model(ids)
            return seen.trace()

        trace, recorded = timed(record)
        file = Path(folder, "long.npz")
        _, saved = timed(lambda: trace.save(file))
        above = peak() - plain_peak
        size = file.stat().st_size
        opened, opening = timed(lambda: hs.Trace.load(file))
        _, head = timed(lambda: opened.attention("encoder", layers - 1).head(heads - 1))
        fits = weights_in(opened.maps.values()) <= MOST_WEIGHTS
        page = pictured(opened, Path(folder, "long.html")) if fits else {}
        page |= in_app(file)
    return {
        "layers": layers,
        "heads": heads,
        "tokens": tokens,
        "attention": attention,
        "plain_s": round(plain, 3),
        "recorded_s": round(recorded, 3),
        "saved_s": round(saved, 3),
        "mb_above_plain": round(above, 1),
        "file_mb": round(size / 1e6, 1),
        "opened_ms": round(1000 * opening, 1),
        "head_ms": round(1000 * head, 1),
        **page,
    }


def pictured(trace: hs.Trace, file: Path) -> dict[str, float]:
    """What the page of a trace takes."""
    page, written = timed(lambda: hs.show(trace).page)
    file.write_text(page, encoding="utf-8")
    with chromium() as browser:
        window = browser.new_page(viewport=VIEWPORT)
        window.add_init_script(CLOCK)
        opened, other = painted(window, file.as_uri())
        # In the middle of the picture.
        window.mouse.move(0.75 * VIEWPORT["width"], 0.5 * VIEWPORT["height"])
        window.keyboard.down("Control")
        frames = []
        for _ in range(20):
            window.mouse.wheel(0, -40)
            frames.append(window.evaluate("() => window.frame()"))
    return {
        "page_s": round(written, 2),
        "page_mb": round(file.stat().st_size / 1e6, 1),
        "picture_s": round(opened / 1000, 2),
        "other_head_ms": round(other),
        "frame_ms": round(max(frames)),
    }


def painted(window: Page, address: str) -> tuple[float, float]:
    """Milliseconds from a visit to the first picture, and from a click to another head."""
    window.goto(address, wait_until="commit")
    opened = window.evaluate("() => window.painted('')")
    before = window.evaluate("() => window.view().dataset.painted")
    # In the middle of the overview.
    window.mouse.click(0.25 * VIEWPORT["width"], 0.4 * VIEWPORT["height"])
    return opened, window.evaluate("before => window.painted(before)", before)


def in_app(file: Path) -> dict[str, float]:
    """What a running app takes with a trace, from the visit on."""
    environment = {"HEADSCOPE_TRACES": str(file)}
    with serve("app.py", environment) as server, chromium() as browser:
        # Its server has loaded what every page needs.
        window = browser.new_page(viewport=VIEWPORT)
        window.goto(f"{server.url}/masks?checkpoint=en-de")
        window.locator(".headscope").first.wait_for(timeout=120_000)
        window.close()
        window = browser.new_page(viewport=VIEWPORT)
        window.add_init_script(CLOCK)
        opened, other = painted(window, f"{server.url}/heads?checkpoint={file.name}")
    return {"app_picture_s": round(opened / 1000, 2), "app_other_head_ms": round(other)}


def main(argv: list[str] | None = None) -> None:
    """Measure, print and write."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--bits", type=int, choices=(8, 16, 32), default=8)
    options.add_argument("--tokens", type=int, nargs="*", default=LENGTHS)
    options.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    asked = options.parse_args(argv)
    torch.set_num_threads(1)
    if asked.one:
        *numbers, attention = asked.one
        layers, heads, tokens = map(int, numbers)
        print(json.dumps(measure(layers, heads, tokens, attention, asked.bits)))
        return
    rows: list[dict[str, Any]] = []
    for layers, heads in SHAPES:
        for tokens in asked.tokens:
            for attention in ATTENTION:
                # Peak memory is of a whole process.
                shape = [str(each) for each in (layers, heads, tokens, attention)]
                command = [sys.executable, "-m", "benchmarks.lengths", "--one", *shape]
                command += ["--bits", str(asked.bits)]
                answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                row = json.loads(answer.splitlines()[-1])
                if not rows:
                    print("  ".join(row))
                rows.append(row)
                shown = [f"{row.get(name, '–'):>{len(name)}}" for name in rows[0]]
                print("  ".join(shown), flush=True)
    write("lengths", torch.device("cpu"), bits=asked.bits, rows=rows)


if __name__ == "__main__":
    main()
