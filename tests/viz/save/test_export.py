"""Figures as files: opened again and held to the trace they came from."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pypdf
import pytest
from choreographer.browsers.chromium import Chromium
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from model.trace import AttentionKind, AttentionMap, Site, Tokens, Trace, TraceError
from model.translator import Translator, load
from tests.kit.explorer_payload import Decoded
from tests.kit.tiny_checkpoint import write_tiny_checkpoint
from viz.__main__ import COUNT, DRAW, KINDS, main
from viz.draw import style
from viz.draw.labels import axis_texts
from viz.draw.panel_figure import panel_figure
from viz.heads.heatmap import attention_heatmap
from viz.heads.overview import chosen_maps, heads_overview
from viz.heads.reading import Reading, read
from viz.masks.mask import batch_masks
from viz.masks.panels import mask_figure, number_panel, weights_panel
from viz.save import cells, export
from viz.save.export import ExportError, Numbers

ROOT = Path(__file__).parents[3]
SENTENCE = "The cat sat on the mat."
MILLIMETRES_A_POINT = 25.4 / 72

Run = Callable[..., tuple[int, bytes, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny")


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return load(folder, device="cpu")


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return translator.trace(SENTENCE)


@pytest.fixture
def run(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `export` in this process; gives (status, the file or b"", standard error)."""

    def run_command(*arguments: str, out: str = "out.csv", text: str = SENTENCE) -> Any:
        file = tmp_path / out
        status = main(["export", text, "--checkpoint", str(folder), "--out", str(file), *arguments])
        output = capsys.readouterr()
        assert output.out == ""
        return status, file.read_bytes() if file.is_file() else b"", output.err

    return run_command


@pytest.fixture(scope="module")
def chromium() -> Iterator[None]:
    """What image files need."""
    if Chromium.find_browser(skip_local=True) is None:
        message = "no Chromium found"
        if os.environ.get("HEADSCOPE_REQUIRE_BROWSER") == "1":
            pytest.fail(message)
        pytest.skip(message)
    yield
    export._browser.close()


def hostile_map() -> AttentionMap:
    """A site whose tokens would be markup, code, a formula or a colour if they were let."""
    tokens = Tokens(
        ("▁<b>bold</b>", "<script>", "=1+2", "@cat", "▁#1b2430", "&amp;"), (9, 10, 11, 12, 13, 14)
    )
    weights = np.random.default_rng(3).dirichlet(np.ones(6), (2, 6)).astype(np.float32)
    return AttentionMap(
        Site(AttentionKind.ENCODER, 0),
        weights=weights,
        allowed=np.ones((6, 6), dtype=np.bool_),
        queries=tokens,
        keys=tokens,
    )


def texts_of(svg: bytes) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


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
@pytest.mark.parametrize("width", export.WIDTHS)
def test_a_sized_figure_has_print_colours_and_no_text_below_seven_points(
    trace: Trace, width: export.Width, dark: bool
) -> None:
    figure = attention_heatmap(trace.attention("cross", 1), 2, beside=trace.predictions, dark=dark)
    before = figure.to_json()
    printed = export.sized(figure, width)
    assert figure.to_json() == before
    ground, ink = (style.BLACK, style.WHITE) if dark else (style.WHITE, style.BLACK)
    assert printed.layout.paper_bgcolor == ground
    assert printed.layout.modebar.to_plotly_json() == {}
    millimetres = printed.layout.width * 25.4 / 96
    scale = export.WIDTHS[width] / millimetres
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
    printed = export.sized(tall, "slide")
    scale = export.WIDTHS["slide"] / (printed.layout.width * 25.4 / 96)
    assert 700 * scale == pytest.approx(720)


def test_a_token_that_spells_a_colour_of_the_page_is_left_alone() -> None:
    printed = export.sized(attention_heatmap(hostile_map(), 0), "column")
    assert "#1b2430" in printed.layout.yaxis.ticktext


def test_unknown_widths_formats_and_scales_are_refused_in_a_sentence() -> None:
    figure = attention_heatmap(hostile_map(), 0)
    with pytest.raises(ExportError, match=r"no width 'page'; choose column"):
        export.sized(figure, "page")  # type: ignore[arg-type]
    with pytest.raises(ExportError, match="no image format 'gif'"):
        export.image(figure, "gif")  # type: ignore[arg-type]
    with pytest.raises(ExportError, match="1 to 4 times; 5"):
        export.image(figure, "png", scale=5)
    with pytest.raises(ExportError, match="no format 'xlsx' for numbers"):
        export.numbers(hostile_map(), 0, "xlsx")  # type: ignore[arg-type]


# ---- image files


def test_svg_holds_every_token_as_text_and_every_cell_as_a_shape(chromium: None) -> None:
    seen = hostile_map()
    svg = export.image(attention_heatmap(seen, 1), "svg", "two-columns")
    texts = texts_of(svg)
    for text in axis_texts(seen.queries):
        assert texts.count(text) == 2, text
    assert b"<image" not in svg
    assert b"<script" not in svg
    root = ElementTree.fromstring(svg)
    assert float(root.attrib["width"]) == pytest.approx(174 / 25.4 * 96)
    drawn: dict[str, int] = {}
    for path in root.iter("{http://www.w3.org/2000/svg}path"):
        outline = path.attrib.get("d", "")
        found = re.search(r"fill: rgb\((\d+), (\d+), (\d+)\)", path.attrib.get("style", ""))
        if found and "H" in outline:
            color = "#" + "".join(f"{int(channel):02x}" for channel in found.groups())
            drawn[color] = drawn.get(color, 0) + outline.count("M")
    places = np.linspace(0, 1, len(style.LIGHT.weights))
    stops = np.array([[int(c[at : at + 2], 16) for at in (1, 3, 5)] for c in style.LIGHT.weights])
    wanted: dict[str, int] = {}
    for weight in seen.weights[1].ravel().astype(float):
        mixed = [round(float(np.interp(weight, places, channel))) for channel in stops.T]
        color = "#" + "".join(f"{channel:02x}" for channel in mixed)
        wanted[color] = wanted.get(color, 0) + 1
    assert {color: drawn.get(color, 0) for color in wanted} == wanted


def test_the_vectors_keep_the_colour_bar_and_the_numbers(chromium: None, trace: Trace) -> None:
    seen = trace.attention("cross", 1)
    texts = texts_of(export.image(attention_heatmap(seen, 0), "svg", "two-columns"))
    assert {"0", "0.25", "0.5", "0.75", "1", "weight"} <= set(texts)
    largest = f"{seen.weights[0].max():.2f}"
    assert largest in texts


@pytest.mark.parametrize("width", ["column", "two-columns"])
def test_pdf_is_one_page_of_its_width_with_every_token_as_text(
    chromium: None, trace: Trace, width: export.Width
) -> None:
    figure = export.head_figure(read(trace), "cross", 1, 2, narrow=width == "column")
    reader = pypdf.PdfReader(io.BytesIO(export.image(figure, "pdf", width)))
    [page] = reader.pages
    assert float(page.mediabox.width) * MILLIMETRES_A_POINT == pytest.approx(
        export.WIDTHS[width], abs=0.2
    )
    text = page.extract_text()
    for tokens in (trace.source, trace.target):
        for token in axis_texts(tokens):
            assert token in text
    assert "weight" in text
    assert not list(page.images)


def test_png_has_the_pixels_and_the_resolution_of_its_scale(chromium: None) -> None:
    figure = attention_heatmap(hostile_map(), 0)
    sizes = []
    for scale in (1, 4):
        with Image.open(io.BytesIO(export.image(figure, "png", "column", scale))) as picture:
            picture.load()
            assert picture.info["dpi"] == pytest.approx((96 * scale, 96 * scale), abs=0.1)
            assert picture.convert("RGB").getpixel((1, picture.height - 2)) == (255, 255, 255)
            sizes.append(picture.width)
    assert sizes[0] == pytest.approx(85 / 25.4 * 96, abs=1)
    assert sizes[1] == pytest.approx(4 * 85 / 25.4 * 96, abs=4)


def test_more_cells_than_a_file_should_hold_as_shapes_stay_a_picture(chromium: None) -> None:
    table = np.zeros((export.VECTOR_CELLS // 100 + 1, 100), dtype=np.float32)
    figure = go.Figure(
        go.Heatmap(z=table, zmin=0, zmax=1, colorscale=style.LIGHT.colorscale),
        {"template": "none"},
    )
    assert b"<image" in export.image(figure, "svg")


def test_figures_drawn_in_several_threads_do_not_mix(chromium: None, trace: Trace) -> None:
    seen = read(trace)
    with ThreadPoolExecutor(4) as pool:
        drawn = list(
            pool.map(
                lambda head: export.image(export.head_figure(seen, "cross", 1, head), "svg"),
                range(4),
            )
        )
    for head, svg in enumerate(drawn):
        assert any(text.endswith(f"head {head}") for text in texts_of(svg))


def test_a_browser_that_was_closed_is_started_again(chromium: None) -> None:
    figure = attention_heatmap(hostile_map(), 0)
    first = len(export.image(figure, "svg"))
    export._browser.close()
    assert len(export.image(figure, "svg")) == pytest.approx(first, abs=100)


def test_without_a_browser_images_say_what_to_do_and_numbers_are_written(
    folder: Path, tmp_path: Path
) -> None:
    without = {**os.environ, "BROWSER_PATH": "", "PATH": str(tmp_path)}
    code = (
        "import sys; from choreographer.browsers.chromium import Chromium; "
        "Chromium.find_browser = classmethod(lambda *_, **__: None); "
        "from viz.__main__ import main; sys.exit(main(sys.argv[1:]))"
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
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"{export.NEEDS_BROWSER}\n"
    assert not (tmp_path / "head.pdf").exists()
    assert run("head.csv").returncode == 0
    assert (tmp_path / "head.csv").is_file()


def test_a_browser_is_looked_for_where_it_would_be_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    assert not export.has_browser()
    (tmp_path / "none").touch()
    assert export.has_browser()


@pytest.mark.parametrize(("dark", "ground"), [(False, style.WHITE), (True, style.BLACK)])
def test_a_figure_as_a_document_brings_its_ground_along(
    trace: Trace, dark: bool, ground: str
) -> None:
    figure = attention_heatmap(trace.attention("cross", 1), head=2, dark=dark)
    before = figure.to_json()
    document = export.page(figure, "my-head")
    assert figure.to_json() == before
    assert f'"paper_bgcolor":"{ground}"' in document
    assert "my-head" in document


def test_a_notebook_shows_a_head_in_one_line(trace: Trace) -> None:
    figure = attention_heatmap(trace.attention("cross", 1), head=2)
    assert isinstance(figure, go.Figure)
    np.testing.assert_array_equal(figure.data[0].z, trace.attention("cross", 1).weights[2])


# ---- numbers


def test_every_format_holds_exactly_the_recorded_numbers(trace: Trace) -> None:
    seen = trace.attention("decoder", 2)
    shape = seen.weights[3].shape
    table = pd.read_csv(
        io.BytesIO(export.numbers(seen, 3, "csv")),
        dtype={"weight": np.float32, "score": np.float32},
        keep_default_na=False,
    )
    np.testing.assert_array_equal(table["weight"].to_numpy().reshape(shape), seen.weights[3])
    assert seen.scores is not None
    np.testing.assert_array_equal(table["score"].to_numpy().reshape(shape), seen.scores[3])
    np.testing.assert_array_equal(table["allowed"].to_numpy().reshape(shape), seen.allowed)
    assert table["query"].tolist()[:: shape[1]] == axis_texts(seen.queries)
    assert set(table["attention"]) == {"decoder"}
    assert (set(table["layer"]), set(table["head"])) == ({2}, {3})

    content = json.loads(export.numbers(seen, 3, "json"))
    weight = np.array(content["arrays"]["weight"]["values"], dtype=np.float32)
    np.testing.assert_array_equal(weight, seen.weights[3])
    assert content["axes"]["key"]["tokens"] == list(seen.keys.tokens)
    assert content["axes"]["key"]["ids"] == list(seen.keys.ids)

    with np.load(io.BytesIO(export.numbers(seen, 3, "npz")), allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["weight"], seen.weights[3])
        np.testing.assert_array_equal(arrays["score"], seen.scores[3])
        assert arrays["weight"].dtype == np.float32
        assert tuple(arrays["query.tokens"]) == seen.queries.tokens
        assert (str(arrays["attention"]), int(arrays["layer"])) == ("decoder", 2)


@given(st.lists(st.floats(width=32, allow_nan=True, allow_infinity=True), min_size=1, max_size=8))
def test_a_float32_comes_back_bit_for_bit(values: list[float]) -> None:
    array = np.array(values, dtype=np.float32)
    numbers = Numbers({}, {"place": range(len(array))}, {"value": (("place",), array)})
    table = pd.read_csv(io.BytesIO(numbers.encode("csv")), dtype={"value": np.float32})
    np.testing.assert_array_equal(table["value"].to_numpy(), array)
    content = json.loads(numbers.encode("json"))["arrays"]["value"]["values"]
    finite = np.isfinite(array)
    assert [value is not None for value in content] == finite.tolist()
    known = np.array([value for value in content if value is not None], dtype=np.float32)
    assert known.tobytes() == array[finite].tobytes()


def test_a_spreadsheet_computes_no_token_and_other_formats_add_nothing() -> None:
    seen = hostile_map()
    table = pd.read_csv(io.BytesIO(export.numbers(seen, 0, "csv")), dtype=str)
    assert not table["key"].str.match(r"[=+\-@]").any()
    keys = ["<b>bold</b>", "<script>", "'=1+2", "'@cat", "#1b2430", "&amp;"]
    assert table["key"].tolist()[:6] == keys
    content = json.loads(export.numbers(seen, 0, "json"))
    assert content["axes"]["query"]["tokens"] == list(seen.queries.tokens)


@pytest.mark.parametrize("start", [*"=+-@", *"＝＋－＠"])
def test_no_beginning_of_a_formula_survives_in_csv(start: str) -> None:
    tokens = Tokens.unnamed([f"{start}cmd|' /C calc'!A0"])
    numbers = Numbers({"of": f"{start}1"}, {"token": tokens}, {"value": (("token",), np.ones(1))})
    [_, row] = numbers.encode("csv").decode("utf-8-sig").splitlines()
    assert row.startswith(f"'{start}1,")
    assert f"'{start}cmd" in row


def test_csv_names_its_encoding_so_that_spreadsheets_read_umlauts() -> None:
    tokens = Tokens(("▁schläft",), (5,))
    numbers = Numbers({}, {"token": tokens}, {"value": (("token",), np.ones(1))})
    assert numbers.encode("csv").startswith(b"\xef\xbb\xbf")
    assert "schläft" in numbers.encode("csv").decode("utf-8-sig")


def test_a_token_that_numpy_would_cut_is_refused() -> None:
    numbers = Numbers({}, {"token": Tokens(("a\0",), (1,))}, {"value": (("token",), np.ones(1))})
    with pytest.raises(TraceError, match="ends in NUL"):
        numbers.encode("npz")


def test_numbers_refuse_an_array_that_does_not_fit_its_axes() -> None:
    with pytest.raises(ValueError, match="value has the shape"):
        Numbers({}, {"place": range(3)}, {"value": (("place",), np.ones(2))})


def test_numbers_of_different_axes_share_a_table_without_filling_each_other(trace: Trace) -> None:
    seen = trace.attention("cross", 0)
    numbers = export.query_key_numbers(seen, 1, 2, 3)
    table = pd.read_csv(io.BytesIO(numbers.encode("csv")), keep_default_na=False, dtype=str)
    assert seen.q is not None
    d_k = seen.q.shape[-1]
    assert len(table) == d_k + len(seen.keys)
    assert set(table["weight"][:d_k]) == {""}
    assert table["dimension"][:d_k].tolist() == [str(place) for place in range(d_k)]
    np.testing.assert_array_equal(
        table["weight"][d_k:].to_numpy(dtype=np.float32), seen.weights[1, 2]
    )


def test_what_was_given_to_the_model_goes_with_the_numbers_once() -> None:
    tokens = Tokens.unnamed(["a", "b"])
    numbers = Numbers(
        {"layer": 2},
        {"token": tokens},
        {"value": (("token",), np.ones(2, dtype=np.float32))},
        {"sentence": "=SUM(1)", "edit": "decoder:*:2x2.x"},
    )
    assert numbers.size == 2
    rows = numbers.encode("csv").decode("utf-8-sig").splitlines()
    assert rows == [
        "layer,token_position,token,value,sentence,edit",
        "2,0,a,1.0,'=SUM(1),decoder:*:2x2.x",
        "2,1,b,1.0,,",
    ]
    assert json.loads(numbers.encode("json"))["sentence"] == "=SUM(1)"
    with np.load(io.BytesIO(numbers.encode("npz")), allow_pickle=False) as arrays:
        assert str(arrays["edit"]) == "decoder:*:2x2.x"


def test_a_spreadsheet_computes_no_word_among_the_values() -> None:
    words = np.array([["=1+2", "cat"]], dtype=np.str_)
    numbers = Numbers({}, {"row": [0], "column": [0, 1]}, {"word": (("row", "column"), words)})
    assert "'=1+2" in numbers.encode("csv").decode("utf-8-sig")
    assert json.loads(numbers.encode("json"))["arrays"]["word"]["values"] == [["=1+2", "cat"]]


# ---- all heads at once


def test_the_overview_holds_every_weight_of_every_head_in_its_place(trace: Trace) -> None:
    maps, heads = chosen_maps(read(trace), "decoder")
    figure = heads_overview(maps, heads)
    drawn = figure.data[0].z
    n = len(trace.target)
    step = n + max(1, round(0.08 * n))
    for row, seen in enumerate(maps):
        for head in heads:
            tile = drawn[row * step : row * step + n, head * step : head * step + n]
            np.testing.assert_array_equal(tile, seen.weights[head])
    assert np.isnan(drawn).sum() == drawn.size - len(maps) * len(heads) * n * n
    assert np.nansum(figure.data[1].z) == len(maps) * len(heads) * np.sum(~maps[0].allowed)


def test_a_layer_or_a_head_that_there_is_not_is_named_with_those_there_are(trace: Trace) -> None:
    seen = read(trace)
    with pytest.raises(IndexError, match="no layer 7 of cross attention; choose one of 0, 1, 2"):
        chosen_maps(seen, "cross", 7)
    with pytest.raises(IndexError, match="heads 0 to 3; there is no head 4"):
        chosen_maps(seen, "cross", None, 4)
    with pytest.raises(ExportError, match="no layer -1"):
        export.site_map(seen, "cross", -1)
    with pytest.raises(ValueError, match="at least one layer"):
        heads_overview([], [0])


# ---- panels of the masks page


def test_a_panel_keeps_its_values_its_scale_and_what_it_hides(trace: Trace) -> None:
    seen = trace.attention("decoder", 0)
    change = seen.weights[1] - seen.weights[0]
    signed = panel_figure(number_panel(seen, "Difference", change, limit=1.0, unit="difference"))
    np.testing.assert_array_equal(signed.data[0].z, change)
    assert (signed.data[0].zmin, signed.data[0].zmax) == (-1, 1)
    weights = panel_figure(weights_panel(seen, 2, "Weights"), dark=True)
    np.testing.assert_array_equal(weights.data[0].z, seen.weights[2])
    np.testing.assert_array_equal(weights.data[1].z == 1, ~seen.allowed)
    assert [entry.name for entry in weights.data if entry.showlegend] == ["not allowed"]


def test_a_mask_has_one_legend_entry_for_each_reason_that_occurs(trace: Trace) -> None:
    mask = batch_masks([trace], 0)["decoder"]
    for narrow in (False, True):
        figure = mask_figure(mask, narrow=narrow)
        np.testing.assert_array_equal(figure.data[0].z, mask.cells)
        entries = {each.name: each.marker.color for each in figure.data if each.showlegend}
        assert entries == {
            "allowed": style.LIGHT.cells[0],
            "forbidden: future": style.LIGHT.cells[1],
        }
    assert figure.layout.title.text == "Decoder mask"


# ---- the command line


def test_the_command_of_the_readme_writes_one_head(chromium: None, run: Run) -> None:
    status, file, error = run(*("--figure", "heads", "--layer", "2", "--head", "3"), out="head.pdf")
    assert (status, error) == (0, "")
    text = pypdf.PdfReader(io.BytesIO(file)).pages[0].extract_text()
    assert "Cross-attention, layer 2, head 3" in text


def test_it_runs_as_a_module_and_reads_standard_input(folder: Path, tmp_path: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "viz", "export", "-", "--checkpoint", str(folder)),
            *("--out", str(tmp_path / "head.json")),
        ],
        input=SENTENCE,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert json.loads((tmp_path / "head.json").read_text(encoding="utf-8"))["layer"] == 0


def test_the_heads_view_opens_with_the_head_that_was_asked_for(run: Run) -> None:
    arguments = ("--figure", "heads", "--attention", "encoder", "--layer", "1", "--head", "3")
    status, file, error = run(*arguments, out="heads.html")
    assert (status, error) == (0, "")
    found = re.search(rb'id="payload">([^<]+)<', file)
    assert found is not None
    selection = Decoded(zlib.decompress(base64.b64decode(found[1]))).header["selection"]
    assert selection | {"attention": "encoder", "layer": "1", "head": "3"} == selection


@pytest.mark.parametrize("name", COUNT)
def test_every_figure_has_numbers_in_every_format(run: Run, name: str) -> None:
    for suffix in ("csv", "json", "npz"):
        status, file, error = run("--figure", name, out=f"{name}.{suffix}")
        assert (status, error) == (0, "")
        assert file
    with np.load(io.BytesIO(file), allow_pickle=False) as arrays:
        assert any(array.dtype.kind == "f" or name == "mask" for array in arrays.values())


@pytest.mark.parametrize("name", DRAW)
def test_the_python_of_every_figure_makes_the_same_figure(
    run: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[go.Figure] = []
    draw = DRAW[name]
    arguments = ("--figure", name, "--words") if name in ("head", "heads") else ("--figure", name)
    monkeypatch.setitem(DRAW, name, lambda asked: drawn.append(draw(asked)) or drawn[-1])
    status, code, _ = run(*arguments, "--dimensions", "4", "8", "--dark", out="cell.py")
    assert status == 0
    *lines, last = code.decode().strip().splitlines()
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)
    assert eval(last, space).to_json() == drawn[0].to_json()


def test_a_sentence_in_the_python_is_a_text_and_never_code() -> None:
    sentence = "\"'''); import os; os.abort() # \\ {x}\nnew line"
    code = cells.code(export.notebook_lines(sentence, "head", target=sentence), checkpoint="x")
    strings = re.findall(r"translator\.trace\((.*)\)$", code, re.MULTILINE)
    assert eval(f"({strings[0]})") == (sentence, sentence)


def test_the_python_refuses_a_figure_that_there_is_not() -> None:
    with pytest.raises(ExportError, match="no figure 'pie'; choose one of head, heads"):
        export.notebook_lines("The cat.", "pie")  # type: ignore[arg-type]


def test_how_the_trace_is_read_is_how_it_is_written(run: Run, trace: Trace) -> None:
    _, file, _ = run("--words", "--no-specials", "--renormalise", "--layer", "1", out="a.json")
    seen = read(trace, Reading(words=True, specials=False, renormalise=True))
    found = seen.maps[Site(AttentionKind.CROSS, 1)]
    content = json.loads(file)
    assert content["axes"]["key"]["tokens"] == list(found.keys)
    weights = np.array(content["arrays"]["weight"]["values"], dtype=np.float32)
    np.testing.assert_array_equal(weights, found.weights[0])


def test_a_target_of_ones_own_is_what_is_drawn(run: Run) -> None:
    _, file, _ = run("--target", "Der Hund schläft.", out="a.csv")
    assert "Hund" in file.decode("utf-8-sig")


@pytest.mark.parametrize(
    ("arguments", "out", "sentence"),
    [
        (["--layer", "9"], "a.csv", "choose one of 0, 1, 2"),
        (["--head", "9"], "a.csv", "there is no head 9"),
        (["--head", "-1"], "a.csv", "there is no head -1"),
        (["--figure", "heads", "--layer", "9"], "a.html", "no layer 9"),
        (["--figure", "mask", "--layer", "9"], "a.csv", "no layer 9"),
        (["--figure", "query-key", "--query", "99"], "a.svg", "no cell 99, 0"),
        (["--figure", "query-key", "--words"], "a.svg", "no query and no key"),
        (["--figure", "waves", "--dimensions", "999"], "a.svg", "no dimension 999"),
        (["--figure", "circle", "--position", "9999"], "a.svg", "9999"),
        (["--device", "toaster"], "a.csv", "unknown"),
        ([], "a.docx", "end it in one of .png"),
        ([], "a", "end it in one of .png"),
        ([], "no/such/folder.csv", "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_status_two(
    run: Run, arguments: list[str], out: str, sentence: str
) -> None:
    status, file, error = run(*arguments, out=out)
    assert (status, file) == (2, b"")
    assert sentence in error
    assert error.count("\n") == 1
    assert error.endswith(".\n")


@pytest.mark.parametrize("text", ["", "猫猫"])
def test_a_sentence_the_model_cannot_read_is_refused_in_a_sentence(run: Run, text: str) -> None:
    status, _, error = run(text=text)
    assert status == 2
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [[], ["export"], ["export", "a"], ["export", "a", "--out", "b.csv", "--scale", "7"]],
)
def test_wrong_usage_is_status_two(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    capsys.readouterr()


def test_help_names_every_figure_and_every_kind_of_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["export", "--help"])
    assert left.value.code == 0
    output = capsys.readouterr().out
    for word in (*DRAW, *KINDS, ".png", ".svg", ".pdf", ".csv", ".json", ".npz", ".html", ".py"):
        assert word in output
    assert set(DRAW) == set(COUNT)
