"""`make screenshots`: retakes the screenshots in docs/, of the app on the shipped checkpoint."""

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from model.explain.facts import head_facts
from model.trace.attention_map import AttentionKind, Site
from model.trace.trace import Trace
from model.translate.translator import Translator, load
from tests.kit.running_app import (
    ROOT,
    StartError,
    find_chromium,
    launch,
    serve,
)
from viz.links import mask_edits
from viz.masks.batch_masks import batch_masks
from viz.talk.ready import ready_talk

CHECKPOINT = ROOT / "checkpoints" / "en-de"
FOLDER = ROOT / "docs" / "screenshots"

SENTENCE = "He came back from America last week."
"""A separable verb: "back" ends up at the end of the German sentence, so attention crosses."""

QUERY, KEY = "▁zurück", "▁back"
"""The two tokens that cross; some pictures stop at QUERY, and one takes their cell apart."""

BLOCKED_SENTENCE, BLOCKED = "The old man sat in the garden.", "▁old"
"""A token that the translation lacks once it is hidden."""

BITTEN = "The big dog bit the small cat."
"""Without positions, the cat bites the dog."""

PAIR = "My brother lost his keys.", "My sister lost her keys."

FURTHER = "Did you get her letter?\nHe doesn't come to work because he's ill."
"""The default further sentences of the masks page."""

CHILDHOOD, STEP = "en-de-childhood", 402
"""A model with snapshots, and a step at which heads have just begun to differ."""

SCENE, ON_STAGE = 4, {"present": "1"}
"""The scene of the included talk in which the verb goes to the end."""

COMPARED = ("pairing", "diagonal", "end")
"""Measures; the cross-attention heads with their largest values are compared."""

WIDTH, HEIGHT = 1280, 800
TALL = 1700
"""Pixels, tall enough for a figure below the first screen."""

MOST_BYTES = 250_000
COLORS = 256
TIMEOUT, FADE = 120_000, 1000
"""Milliseconds: the first page of a server loads the model."""

PLOT = ".js-plotly-plot"
DRAWN = f"{PLOT}, .headscope[data-painted], .model-view[data-state], .headscope.exchange canvas"


class ScreenshotError(RuntimeError):
    """A picture cannot be taken; the message says why."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture to take.

    Attributes:
        name: of the file, without its suffix.
        parameters: of the address, besides the sentence.
        dark: in the dark theme.
        scale: pixels of the picture per pixel of the page.
        part: a selector of the part of the page to show; empty for the first screen.
        page: its path.
        height: of the window in pixels.
    """

    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    dark: bool = False
    scale: float = 2
    part: str = ""
    page: str = "heads"
    height: int = HEIGHT


def pictures(translator: Translator) -> list[Picture]:
    """All pictures, with heads and a cell worth seeing."""
    trace = translator.trace(SENTENCE)
    heads = compared(trace)
    layer, head = map(str, heads[0])
    together = "-".join(f"{layer}.{head}" for layer, head in heads)
    cell = f"{position(trace.target.tokens, QUERY)}.{position(trace.source.tokens, KEY)}"
    step = str(1 + position(trace.predictions.tokens, QUERY))
    return [
        Picture("model-light", {"moment": step}, page=""),
        Picture("model-dark", {"moment": step}, page="", dark=True),
        Picture("model-weight", {"moment": step, "place": f"cross.{layer}.{head}.{cell}"}, page=""),
        Picture("heads-light"),
        Picture("heads-lines", {"view": "lines"}),
        Picture("heads-joint", {"attention": "joint"}),
        # The selected head must be one of the compared ones.
        Picture("heads-comparison", {"layer": layer, "head": head, "compare": together}),
        Picture("query-key", {"cell": cell, "below": "query-key"}, part=PLOT, height=TALL),
        Picture("decoding", {"at": step}, page="decoding"),
        Picture("effects", {"off": "cross.3.1-cross.2.2"}, page="effects"),
        Picture("compare", {"sentence": PAIR[0], "other": PAIR[1]}, page="compare"),
        Picture("masks", {"sentence": BLOCKED_SENTENCE}, page="masks"),
        Picture(
            "masks-change",
            {
                "sentence": BLOCKED_SENTENCE,
                "part": "change",
                "masked": "cross",
                "layer": "0",
                "head": "5",
                "edit": blocked(translator),
            },
            page="masks",
        ),
        Picture(
            "positions-without",
            {"sentence": BITTEN, "topic": "without", "scale": "0"},
            page="positions",
        ),
        Picture("childhood", {"checkpoint": CHILDHOOD, "step": str(STEP)}),
        Picture("stage", {**ready_talk().scenes[SCENE - 1].view, "scene": str(SCENE), **ON_STAGE}),
    ]


def blocked(translator: Translator) -> str:
    """The edit, as spelled in an address, that hides BLOCKED from all cross-attention."""
    batch = translator.trace_batch([BLOCKED_SENTENCE, *FURTHER.splitlines()])
    own = batch_masks(batch.padded, 0)[str(AttentionKind.CROSS)]
    allowed = own.allowed.copy()
    allowed[:, position(batch.padded[0].source.tokens, BLOCKED)] = False
    return mask_edits.write([mask_edits.Edit(AttentionKind.CROSS, None, allowed)])


def compared(trace: Trace) -> list[tuple[int, int]]:
    """The layer, counted among those of cross-attention, and the head for each of `COMPARED`."""
    sites = [Site(AttentionKind.CROSS, layer) for layer in trace.layers(AttentionKind.CROSS)]
    facts = [head_facts(trace.maps[site]) for site in sites]
    chosen: list[tuple[int, int]] = []
    for measure in COMPARED:
        values = np.array([of_layer[measure] for of_layer in facts])
        for taken in chosen:
            values[taken] = -np.inf
        layer, head = np.unravel_index(np.nanargmax(values), values.shape)
        chosen.append((int(layer), int(head)))
    return chosen


def position(tokens: tuple[str, ...], token: str) -> int:
    """The position of a token among others.

    Raises:
        ScreenshotError: if it is missing.
    """
    if token not in tokens:
        raise ScreenshotError(
            f"The model reads “{SENTENCE}” as {' '.join(tokens)}, without {token}: choose another "
            "SENTENCE, QUERY and KEY in tests/browser/screenshots.py."
        )
    return tokens.index(token)


@contextmanager
def opened(browser: Browser, url: str, picture: Picture) -> Iterator[Page]:
    """A picture's page, drawn."""
    context = browser.new_context(
        viewport={"width": WIDTH, "height": picture.height},
        color_scheme="dark" if picture.dark else "light",
        device_scale_factor=picture.scale,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.set_default_timeout(TIMEOUT)
    expect.set_options(timeout=TIMEOUT)
    query = urlencode({"sentence": SENTENCE, **picture.parameters})
    page.goto(f"{url}/{picture.page}?{query}")
    if picture.page == "heads":
        wait_until_told(page)
    page.locator(DRAWN).first.wait_for()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    # Streamlit fades in what is new.
    page.wait_for_timeout(FADE)
    yield page
    context.close()


def wait_until_told(page: Page) -> None:
    """Waits until the heads view and the page below it agree."""
    heads_view = page.locator(".heads-view[data-painted]")
    heads_view.wait_for()
    painted = json.loads(heads_view.get_attribute("data-painted") or "{}")
    shown = "/".join(str(painted[name]) for name in ("id", "attention", "layer", "head"))
    expect(page.locator(".headscope-done")).to_have_attribute("data-done", shown)


def take(browser: Browser, url: str, picture: Picture) -> Image.Image:
    """The picture's pixels."""
    with opened(browser, url, picture) as page:
        taken = page.locator(picture.part).screenshot() if picture.part else page.screenshot()
    return Image.open(io.BytesIO(taken)).convert("RGB")


def save(image: Image.Image, path: Path) -> int:
    """Write a picture, with fewer colours if it would be too large; returns its size in bytes.

    Raises:
        ScreenshotError: if it is too large even so.
    """
    for each in (image, image.quantize(COLORS, dither=Image.Dither.NONE)):
        written = io.BytesIO()
        each.save(written, "PNG", optimize=True)
        if written.tell() <= MOST_BYTES:
            path.write_bytes(written.getvalue())
            return written.tell()
    raise ScreenshotError(
        f"{path.name} has {written.tell():,} bytes, and at most {MOST_BYTES:,} are kept: lower the "
        "picture's scale in tests/browser/screenshots.py."
    )


def main() -> None:
    translator = load(CHECKPOINT, device="cpu")
    FOLDER.mkdir(exist_ok=True)
    with (
        serve("app.py", {"HEADSCOPE_CHECKPOINTS": str(CHECKPOINT.parent)}) as server,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright, find_chromium())
        for picture in pictures(translator):
            path = FOLDER / f"{picture.name}.png"
            image = take(browser, server.url, picture)
            size = save(image, path)
            print(f"{path.relative_to(ROOT)}  {image.width} × {image.height}  {size:,} bytes")
        browser.close()


if __name__ == "__main__":
    try:
        main()
    except (StartError, ScreenshotError) as error:
        sys.exit(str(error))
