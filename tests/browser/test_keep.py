"""Saving pictures in a real browser: every kind of file, downloaded and opened again."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

import av
import numpy as np
import pandas as pd
import pypdf
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

from model.explain.reading import read
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.heads_page import (
    LOADING,
    SHORTLY,
    HeadsPage,
    wait_until_calm,
    wrong_cells,
    wrong_tiles,
)
from viz.draw.labels import axis_texts
from viz.shell.save_menu import FORMAT_NAMES

SENTENCE = "The cat sat on the mat."
OWN_WIDTHS = {"One column, 85 mm": 85.0, "Two columns, 174 mm": 174.0, "Slide": 13.333 * 25.4}
PIXELS_A_MILLIMETRE = 96 / 25.4


class Saving:
    """The menus that save pictures, on any page."""

    def __init__(self, reader: HeadsPage) -> None:
        self.page: Page = reader.page
        self.url = reader.url
        self.body = self.page.get_by_test_id("stPopoverBody")

    def open_page(self, name: str = "heads", **query: str) -> None:
        self.page.goto(
            f"{self.url}/{name}?{urlencode({'sentence': SENTENCE} | query, quote_via=quote)}",
            timeout=LOADING,
        )
        shown = {
            "": ".model-view[data-state]",
            "heads": ".heads-view[data-painted]",
            "masks": ".matrices[data-painted]",
        }
        first = self.page.locator(shown.get(name, ".js-plotly-plot")).first
        first.wait_for(state="attached", timeout=LOADING)
        self.settle()

    def settle(self) -> None:
        wait_until_calm(self.page, still=SHORTLY)

    def button(self, key: str) -> Locator:
        return self.page.locator(f".st-key-keep-{key}").get_by_role("button").first

    def open(self, key: str) -> None:
        """Opens a menu; another one that is open closes."""
        self.page.keyboard.press("Escape")
        expect(self.body).to_have_count(0)
        self.button(key).click()
        expect(self.body.get_by_text("Format", exact=True)).to_be_visible()
        self.settle()

    def choose(self, format: str, **settings: str) -> None:
        """Chooses a format and what it asks for, by the words on the page."""
        self.body.get_by_role("radio", name=FORMAT_NAMES[format], exact=True).click()
        self.settle()
        for name, option in settings.items():
            self.body.get_by_role("combobox", name=name.capitalize()).click()
            self.page.get_by_role("option", name=option, exact=True).click()
            self.settle()

    def save(self, format: str, **settings: str) -> tuple[str, bytes]:
        """The name and the content of the file that the open menu gives."""
        self.choose(format, **settings)
        name = FORMAT_NAMES[format]
        make = self.body.get_by_role("button", name=f"Make the {name} file")
        download = self.body.get_by_role("button", name=f"Download {name}")
        expect(make.or_(download).first).to_be_visible()
        if make.is_visible():
            make.click()
        expect(download).to_be_visible(timeout=LOADING)
        with self.page.expect_download() as info:
            download.click()
        return info.value.suggested_filename, Path(info.value.path()).read_bytes()


@pytest.fixture
def saving(heads: HeadsPage) -> Saving:
    return Saving(heads)


@pytest.fixture(scope="module")
def trace(model: Translator) -> Trace:
    return model.trace(SENTENCE)


def texts_of(svg: bytes) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


def read_numbers(format: str, content: bytes, name: str, shape: tuple[int, ...]) -> Any:
    """An array of float32 from a file of numbers."""
    if format == "csv":
        column = pd.read_csv(io.BytesIO(content), dtype={name: np.float32})[name]
        # Arrays of other axes have rows of their own.
        return column.dropna().to_numpy().reshape(shape)
    if format == "json":
        return np.array(json.loads(content)["arrays"][name]["values"], dtype=np.float32)
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return arrays[name]


# ---- every format, from every page


def test_a_head_is_saved_in_every_format(saving: Saving, trace: Trace) -> None:
    saving.open_page(attention="cross", layer="1", head="2")
    saving.open("heads-picture")
    seen = trace.attention("cross", 1)
    name, content = saving.save("png", width="One column, 85 mm", scale="3×")
    assert name == "headscope-cross-layer1-head2.png"
    with Image.open(io.BytesIO(content)) as picture:
        assert picture.width == pytest.approx(3 * 85 * PIXELS_A_MILLIMETRE, abs=3)
        assert picture.convert("RGB").getpixel((1, picture.height - 2)) == (255, 255, 255)
    _, svg = saving.save("svg", width="Two columns, 174 mm")
    tokens = [*axis_texts(trace.source), *axis_texts(trace.target)]
    assert set(tokens) <= set(texts_of(svg))
    name, pdf = saving.save("pdf", width="Slide")
    [page] = pypdf.PdfReader(io.BytesIO(pdf)).pages
    assert float(page.mediabox.width) == pytest.approx(13.333 * 72, abs=0.6)
    for token in tokens:
        assert token in page.extract_text()
    for format in ("csv", "json", "npz"):
        _, content = saving.save(format)
        found = read_numbers(format, content, "weight", seen.weights[2].shape)
        np.testing.assert_array_equal(found, seen.weights[2])
    _, document = saving.save("html")
    assert b"plotly" in document
    saving.choose("py")
    expect(saving.body.get_by_test_id("stCode")).to_contain_text("OneHead(")


def test_the_masks_of_a_batch_are_saved_in_every_width(saving: Saving, model: Translator) -> None:
    saving.open_page("masks", part="see", of="decoder", batch="A man reads.", number="2")
    saving.open("masks-factors")
    tokens = axis_texts(model.trace("A man reads.").target)
    for width, millimetres in OWN_WIDTHS.items():
        name, pdf = saving.save("pdf", width=width)
        assert name == "headscope-masks-sentence2-decoder.pdf"
        [page] = pypdf.PdfReader(io.BytesIO(pdf)).pages
        assert float(page.mediabox.width) / 72 * 25.4 == pytest.approx(millimetres, abs=0.3)
        text = page.extract_text()
        for token in (*tokens, "<pad>", "later word"):
            assert token in text
        assert not list(page.images)


def test_numbers_of_the_masks_page_are_those_of_the_batch(
    saving: Saving, model: Translator
) -> None:
    saving.open_page("masks", part="inside", batch="A man reads.", masked="cross", layer="1")
    sentences = [SENTENCE, "A man reads."]
    padded = model.trace_batch(sentences, [model.translate(each).text for each in sentences]).padded
    seen = padded[0].attention("cross", 1)
    saving.open("masks-with-mask")
    for format in ("csv", "json", "npz"):
        _, content = saving.save(format)
        assert seen.scores is not None
        found = read_numbers(format, content, "score", seen.scores[0].shape)
        np.testing.assert_array_equal(found, seen.scores[0])
    saving.open("masks-without-mask")
    _, svg = saving.save("svg")
    assert "softmax → Weights" in texts_of(svg)


def test_positions_are_saved_in_every_format(
    saving: Saving, model: Translator, trace: Trace
) -> None:
    saving.open_page("positions", topic="table")
    saving.open("positions-encoding")
    table = model.position_table(len(trace.source))
    for format in ("csv", "json", "npz"):
        _, content = saving.save(format)
        np.testing.assert_array_equal(read_numbers(format, content, "value", table.shape), table)
    _, svg = saving.save("svg", width="Two columns, 174 mm")
    assert set(axis_texts(trace.source)) <= set(texts_of(svg))
    saving.open("positions-chosen-waves")
    name, png = saving.save("png", width="Two columns, 174 mm", scale="1×")
    assert name == "headscope-waves.png"
    with Image.open(io.BytesIO(png)) as picture:
        assert picture.width == pytest.approx(174 * PIXELS_A_MILLIMETRE, abs=1)


# ---- the whole view


def test_the_whole_view_opens_offline_and_shows_the_same_heads(
    saving: Saving, heads: HeadsPage, browser: Browser, trace: Trace, tmp_path: Path
) -> None:
    saving.open_page(attention="cross", layer="1", head="2")
    saving.open("heads-picture")
    saving.body.get_by_role("combobox", name="What").click()
    saving.page.get_by_role("option", name=re.compile("The whole view")).click()
    saving.settle()
    name, content = saving.save("html")
    assert name == "headscope-heads.html"
    assert len(content) < 1_000_000
    saving.page.keyboard.press("Escape")
    file = tmp_path / name
    file.write_bytes(content)
    requests: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True)
    page = context.new_page()
    page.on("request", lambda request: requests.append(request.url))
    offline = HeadsPage(page, file.as_uri())
    page.goto(file.as_uri())
    page.wait_for_function("() => window.painted().id !== undefined")
    assert offline.selected == heads.selected
    assert wrong_cells(offline, read(trace)) == []
    assert wrong_tiles(offline, read(trace)) == []
    assert [url for url in requests if not url.startswith("data:")] == [file.as_uri()]
    context.close()


# ---- the menu


def test_saving_leaves_the_picture_as_it_is(saving: Saving, heads: HeadsPage) -> None:
    saving.open_page(attention="decoder", layer="1", head="1")
    payload = heads.root.get_attribute("data-payload")
    heads.page.evaluate("window.headsView().marked = true")
    saving.open("heads-picture")
    saving.save("csv")
    assert heads.root.get_attribute("data-payload") == payload
    assert heads.page.evaluate("window.headsView().marked")
    assert heads.query == {"sentence": SENTENCE, "attention": "decoder", "layer": "1", "head": "1"}


def test_another_head_takes_its_file_away(saving: Saving, heads: HeadsPage) -> None:
    saving.open_page(attention="cross", layer="0", head="0")
    saving.open("heads-picture")
    name, _ = saving.save("svg")
    assert name == "headscope-cross-layer0-head0.svg"
    saving.page.keyboard.press("Escape")
    heads.click_tile(1, 3)
    heads.settle()
    saving.open("heads-picture")
    name, svg = saving.save("svg")
    assert name == "headscope-cross-layer1-head3.svg"
    assert any(text.endswith("layer 1, head 3") for text in texts_of(svg))


def test_a_dark_ground_is_there_for_those_who_ask_for_it(saving: Saving) -> None:
    saving.open_page("positions", topic="likeness")
    saving.open("positions-likeness")
    saving.choose("png", width="One column, 85 mm")
    saving.body.get_by_text("Dark background").click()
    saving.settle()
    _, content = saving.save("png", scale="1×")
    with Image.open(io.BytesIO(content)) as picture:
        assert picture.convert("RGB").getpixel((1, picture.height - 2)) == (0, 0, 0)
    saving.body.get_by_text("Dark background").click()
    saving.settle()


@pytest.mark.parametrize("size", [(390, 844), (1280, 800), (1920, 1080)])
def test_the_menu_fits_its_screen_wherever_its_button_stands(
    visitor: Callable[..., HeadsPage], size: tuple[int, int]
) -> None:
    width, height = size
    saving = Saving(visitor(viewport={"width": width, "height": height}))
    saving.open_page(layer="0", head="0")
    # At the lower end of the window, where a menu has the least room below it.
    saving.button("heads-picture").evaluate("button => button.scrollIntoView({ block: 'end' })")
    saving.open("heads-picture")
    box = saving.body.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= height
    assert box["height"] > 300


def test_a_film_says_how_far_it_is_can_be_cancelled_and_is_then_made(saving: Saving) -> None:
    saving.open_page("", sentence="Hi.")
    saving.open("model")
    saving.choose("gif")
    make = saving.body.get_by_role("button", name="Make the GIF file")
    make.click()
    cancel = saving.body.get_by_role("button", name="Cancel")
    expect(saving.body.get_by_text(re.compile(r"Making the film: \d+%"))).to_be_visible(
        timeout=LOADING
    )
    cancel.click()
    expect(cancel).to_have_count(0, timeout=LOADING)
    expect(make).to_be_enabled(timeout=LOADING)
    name, content = saving.save("gif")
    assert name == "headscope-played.gif"
    with av.open(io.BytesIO(content)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert frames[0].shape == (720, 1280, 3)
    assert len(frames) >= 50
    assert (frames[0] != frames[-1]).any()
