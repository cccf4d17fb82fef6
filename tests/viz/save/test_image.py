"""Figures as files: opened again and held to the trace they came from."""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pypdf
import pytest
from PIL import Image

from model.explain.reading import read
from model.trace.attention_map import AttentionMap, Site, Tokens
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.hostile_map import hostile_map
from tests.kit.readings import attention_heatmap
from viz.charts.panel_figure import panel_figure
from viz.draw import themes
from viz.draw.labels import axis_texts
from viz.heads.one_head import OneHead
from viz.masks.batch_masks import batch_masks
from viz.masks.own_masks import OneMask
from viz.masks.panels import number_panel, weights_panel
from viz.save import browser, image, vector_cells
from viz.save.formats import ExportError
from viz.save.picture import Layout

ROOT = Path(__file__).parents[3]
SENTENCE = "The cat sat on the mat."
MILLIMETRES_A_POINT = 25.4 / 72

Run = Callable[..., tuple[int, bytes, str]]


def texts_of(svg: bytes) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


def box_of(root: ElementTree.Element) -> tuple[float, float]:
    """Width and height of what is drawn, in CSS pixels."""
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    return width, height


def fonts_of(part: Any, key: str = "") -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        if key.endswith("font"):
            yield part
        for name, value in part.items():
            yield from fonts_of(value, name)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from fonts_of(value, key)


# ---- sizes and colours


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", image.WIDTHS)
def test_a_sized_figure_has_print_colours_and_no_text_below_seven_points(
    trace: Trace, width: str, dark: bool
) -> None:
    figure = attention_heatmap(trace.attention("cross", 1), 2, beside=trace.predictions, dark=dark)
    before = figure.to_json()
    printed = image.sized(figure, width)
    assert figure.to_json() == before
    ground, ink = (themes.BLACK, themes.WHITE) if dark else (themes.WHITE, themes.BLACK)
    assert printed.layout.paper_bgcolor == ground
    assert printed.layout.modebar.to_plotly_json() == {}
    millimetres = printed.layout.width * 25.4 / 96
    scale = image.WIDTHS[width] / millimetres
    spec = json.loads(printed.to_json())
    sizes = [font["size"] for font in fonts_of(spec) if "size" in font]
    assert sizes
    assert min(sizes) * scale * 0.75 >= 7
    assert {font["color"] for font in fonts_of(spec["layout"], "layout") if "color" in font} == {
        ink
    }
    assert printed.layout.yaxis2.color == ink
    np.testing.assert_array_equal(printed.data[0].z, trace.attention("cross", 1).weights[2])


def test_a_slide_holds_a_tall_figure_in_its_height(translator: Translator) -> None:
    seen = hostile_map()
    tall = attention_heatmap(seen, 0).update_layout(height=700)
    printed = image.sized(tall, "slide")
    scale = image.WIDTHS["slide"] / (printed.layout.width * 25.4 / 96)
    assert 700 * scale == pytest.approx(720)


def test_a_token_that_spells_a_colour_of_the_page_is_left_alone() -> None:
    printed = image.sized(attention_heatmap(hostile_map(), 0), "column")
    assert "#1b2430" in printed.layout.yaxis.ticktext


def test_unknown_widths_formats_and_scales_are_refused_in_a_sentence() -> None:
    figure = attention_heatmap(hostile_map(), 0)
    with pytest.raises(ExportError, match=r"no width 'page'; choose column"):
        image.sized(figure, "page")  # type: ignore[arg-type]
    with pytest.raises(ExportError, match="no image format 'gif'"):
        image.image(figure, "gif")  # type: ignore[arg-type]
    with pytest.raises(ExportError, match="1 to 4 times, not 5"):
        image.image(figure, "png", scale=5)


# ---- image files


def test_svg_holds_every_token_as_text_and_every_cell_as_a_shape(chromium: None) -> None:
    seen = hostile_map()
    svg = image.image(attention_heatmap(seen, 1), "svg", "two-columns")
    texts = texts_of(svg)
    for text in axis_texts(seen.queries):
        assert texts.count(text) == 2, text
    assert b"<image" not in svg
    assert b"<script" not in svg
    root = ElementTree.fromstring(svg)
    assert root.attrib["width"] == "17.4cm"
    drawn: dict[str, int] = {}
    for path in root.iter("{http://www.w3.org/2000/svg}path"):
        outline = path.attrib.get("d", "")
        found = re.search(r"fill: rgb\((\d+), (\d+), (\d+)\)", path.attrib.get("style", ""))
        if found and "H" in outline:
            color = "#" + "".join(f"{int(channel):02x}" for channel in found.groups())
            drawn[color] = drawn.get(color, 0) + outline.count("M")
    places = np.linspace(0, 1, len(themes.LIGHT.weights))
    stops = np.array([[int(c[at : at + 2], 16) for at in (1, 3, 5)] for c in themes.LIGHT.weights])
    wanted: dict[str, int] = {}
    for weight in seen.weights[1].ravel().astype(float):
        mixed = [round(float(np.interp(weight, places, channel))) for channel in stops.T]
        color = "#" + "".join(f"{channel:02x}" for channel in mixed)
        wanted[color] = wanted.get(color, 0) + 1
    assert {color: drawn.get(color, 0) for color in wanted} == wanted


def test_the_vectors_keep_the_colour_bar_and_the_numbers(chromium: None, trace: Trace) -> None:
    seen = trace.attention("cross", 1)
    texts = texts_of(image.image(attention_heatmap(seen, 0), "svg", "two-columns"))
    assert {"0", "0.25", "0.5", "0.75", "1", "weight"} <= set(texts)
    largest = f"{seen.weights[0].max():.2f}"
    assert largest in texts


@pytest.mark.parametrize("width", ["column", "two-columns"])
def test_pdf_is_one_page_of_its_width_with_every_token_as_text(
    chromium: None, trace: Trace, width: image.Width
) -> None:
    figure = OneHead(read(trace), Site("cross", 1), 2).figure(Layout(narrow=width == "column"))
    reader = pypdf.PdfReader(io.BytesIO(image.image(figure, "pdf", width)))
    [page] = reader.pages
    assert float(page.mediabox.width) * MILLIMETRES_A_POINT == pytest.approx(
        image.WIDTHS[width], abs=0.2
    )
    text = page.extract_text()
    for tokens in (trace.source, trace.target):
        for token in axis_texts(tokens):
            assert token in text
    assert "weight" in text
    assert not list(page.images)


def labels_drawn(svg: bytes, axis: str) -> list[str]:
    """The labels of an axis that stand in a file."""
    ticks = [
        node
        for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}g")
        if node.get("class") == f"{axis}tick"
    ]
    return [text for node in ticks if (text := "".join(node.itertext()))]


@pytest.mark.parametrize("width", image.WIDTHS)
@pytest.mark.parametrize("count", [2, 6, 30, 70])
def test_every_key_and_query_has_its_label_or_the_figure_counts_those_left_out(
    chromium: None, count: int, width: str
) -> None:
    # Long words at the end, where a label leans out of the figure.
    words = [f"w{place}" for place in range(count - 1)] + ["unprofessionalism"]
    tokens = Tokens.unnamed(words)
    attention = AttentionMap(
        Site("encoder", 3),
        weights=np.full((1, count, count), 1 / count, dtype=np.float32),
        allowed=np.ones((count, count), dtype=np.bool_),
        queries=tokens,
        keys=tokens,
    )
    figure = attention_heatmap(attention, 0, narrow=image.is_narrow(width))
    drawn = image.image(figure, "svg", width)
    said = " ".join(texts_of(drawn))
    for axis, name in (("x", "column"), ("y", "row")):
        shown = len(labels_drawn(drawn, axis))
        left = count - shown
        assert left == 0 or f"{left} of {count} {name} labels" in said, (axis, shown)
        if left == 0:
            assert f"{name} labels" not in said
    # The last one, too.
    if count == 6:
        assert labels_drawn(drawn, "x")[-1] in ("unprofessionalism", "unprofess…")
        pages = pypdf.PdfReader(io.BytesIO(image.image(figure, "pdf", width))).pages
        written = pages[0].extract_text()
        assert all(written.count(word) >= 2 for word in [*words[:-1], "unprofess"])


def test_png_has_the_pixels_and_the_resolution_of_its_scale(chromium: None) -> None:
    figure = attention_heatmap(hostile_map(), 0)
    sizes = []
    for scale in (1, 4):
        with Image.open(io.BytesIO(image.image(figure, "png", "column", scale))) as picture:
            picture.load()
            assert picture.info["dpi"] == pytest.approx((96 * scale, 96 * scale), abs=0.1)
            assert picture.convert("RGB").getpixel((1, picture.height - 2)) == (255, 255, 255)
            sizes.append(picture.width)
    assert sizes[0] == pytest.approx(85 / 25.4 * 96, abs=1)
    assert sizes[1] == pytest.approx(4 * 85 / 25.4 * 96, abs=4)


@pytest.mark.parametrize("width", image.WIDTHS)
def test_a_caption_stands_whole_below_the_figure_and_the_sentence_after_it(
    chromium: None, width: image.Width
) -> None:
    figure = attention_heatmap(hostile_map(), 0, narrow=width == "column")
    caption = "A row shows where the decoder looks in the source; it adds up to 1. " * 2
    given = {"caption": caption, "sentence": "<b>long</b> & wide " * 30, "model": "en-de"}
    plain = ElementTree.fromstring(image.image(figure, "svg", width))
    svg = image.image(figure, "svg", width, **given)  # type: ignore[arg-type]
    root = ElementTree.fromstring(svg)
    assert root.attrib["width"] == plain.attrib["width"]
    upper, below = root.findall("{http://www.w3.org/2000/svg}svg")
    top = float(below.attrib["y"])
    assert top == pytest.approx(float(upper.attrib["height"]))
    assert top + float(below.attrib["height"]) == pytest.approx(box_of(root)[1])
    if width == "slide":
        assert box_of(root)[1] <= image.SLIDE_HEIGHT / 25.4 * 96 + 1
    *lines, last = texts_of(ElementTree.tostring(below))
    assert " ".join(lines).split() == caption.split()
    assert "<b>long</b> & wide" in last
    assert last.endswith("…”\u2069 · en-de")
    [page] = pypdf.PdfReader(io.BytesIO(image.image(figure, "pdf", width, **given))).pages  # type: ignore[arg-type]
    assert "where the decoder looks" in " ".join(page.extract_text().split())
    drawn = [
        Raster.height
        for kind in ({}, given)
        for Raster in [Image.open(io.BytesIO(image.image(figure, "png", width, 1, **kind)))]  # type: ignore[arg-type]
    ]
    if width != "slide":
        assert drawn[1] - drawn[0] == pytest.approx(float(below.attrib["height"]), abs=2)


def test_more_cells_than_a_file_should_hold_as_shapes_stay_a_picture(chromium: None) -> None:
    table = np.zeros((vector_cells.VECTOR_CELLS // 100 + 1, 100), dtype=np.float32)
    figure = go.Figure(
        go.Heatmap(z=table, zmin=0, zmax=1, colorscale=themes.LIGHT.colorscale),
        {"template": "none"},
    )
    assert b"<image" in image.image(figure, "svg")


def test_figures_drawn_in_several_threads_do_not_mix(chromium: None, trace: Trace) -> None:
    seen = read(trace)
    with ThreadPoolExecutor(4) as pool:
        drawn = list(
            pool.map(
                lambda head: image.image(
                    OneHead(seen, Site("cross", 1), head).figure(Layout()), "svg"
                ),
                range(4),
            )
        )
    for head, svg in enumerate(drawn):
        assert any(text.endswith(f"head {head}") for text in texts_of(svg))


def test_a_browser_that_was_closed_is_started_again(chromium: None) -> None:
    figure = attention_heatmap(hostile_map(), 0)
    first = len(image.image(figure, "svg"))
    browser.BROWSER.close()
    assert len(image.image(figure, "svg")) == pytest.approx(first, abs=100)


@pytest.mark.slow
def test_without_a_browser_images_say_what_to_do_and_numbers_are_written(
    folder: Path, tmp_path: Path
) -> None:
    without = {**os.environ, "BROWSER_PATH": "", "PATH": str(tmp_path)}
    code = (
        "import sys; from choreographer.browsers.chromium import Chromium; "
        "Chromium.find_browser = classmethod(lambda *_, **__: None); "
        "from headscope.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )

    def run(out: str) -> subprocess.CompletedProcess[str]:
        arguments = ["export", SENTENCE, "--checkpoint", str(folder), "--out", str(tmp_path / out)]
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=without,
            check=False,
        )

    refused = run("head.pdf")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == f"{browser.NEEDS_BROWSER}\n"
    assert not (tmp_path / "head.pdf").exists()
    assert run("head.csv").returncode == 0
    assert (tmp_path / "head.csv").is_file()


def test_a_browser_is_looked_for_where_it_would_be_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    assert not browser.has_browser()
    (tmp_path / "none").touch()
    assert browser.has_browser()


@pytest.mark.parametrize(("dark", "ground"), [(False, themes.WHITE), (True, themes.BLACK)])
def test_a_figure_as_a_document_brings_its_ground_along(
    trace: Trace, dark: bool, ground: str
) -> None:
    figure = attention_heatmap(trace.attention("cross", 1), head=2, dark=dark)
    before = figure.to_json()
    document = image.page(figure)
    assert figure.to_json() == before
    assert f'"paper_bgcolor":"{ground}"' in document
    assert '"modeBarButtons": [["zoom2d", "resetScale2d"]]' in document


def test_a_notebook_shows_a_head_in_one_line(trace: Trace) -> None:
    figure = attention_heatmap(trace.attention("cross", 1), head=2)
    assert isinstance(figure, go.Figure)
    np.testing.assert_array_equal(figure.data[0].z, trace.attention("cross", 1).weights[2])


# ---- panels of the masks page


def test_a_panel_keeps_its_values_its_scale_and_what_it_hides(trace: Trace) -> None:
    seen = trace.attention("decoder", 0)
    change = seen.weights[1] - seen.weights[0]
    signed = panel_figure(
        number_panel(seen, "Difference", change, limit=1.0, unit="difference"), Layout()
    )
    np.testing.assert_array_equal(signed.data[0].z, change)
    assert (signed.data[0].zmin, signed.data[0].zmax) == (-1, 1)
    weights = panel_figure(weights_panel(seen, 2, "Weights"), Layout(dark=True))
    np.testing.assert_array_equal(weights.data[0].z, seen.weights[2])
    np.testing.assert_array_equal(weights.data[1].z == 1, ~seen.allowed)
    assert [entry.name for entry in weights.data if entry.showlegend] == ["not allowed"]


def test_a_mask_has_one_legend_entry_for_each_reason_that_occurs(trace: Trace) -> None:
    mask = batch_masks([trace], 0)["decoder"]
    for narrow in (False, True):
        figure = OneMask(mask, 0, "").figure(Layout(narrow=narrow))
        np.testing.assert_array_equal(figure.data[0].z, mask.cells)
        entries = {each.name: each.marker.color for each in figure.data if each.showlegend}
        assert entries == {
            "may look": themes.LIGHT.cells[0],
            "later word": themes.LIGHT.cells[1],
        }
    assert figure.layout.title.text == "Decoder mask"
