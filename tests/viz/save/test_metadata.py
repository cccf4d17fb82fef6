"""What an exported file says of itself, read back by other programs' libraries."""

import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import plotly.graph_objects as go
import pypdf
import pytest
from PIL import Image

from headscope.__main__ import main
from model.explain.reading import read
from model.trace.attention_map import Site
from model.trace.trace import Trace
from viz.heads.one_head import OneHead
from viz.save import browser, image, metadata
from viz.save.formats import ExportError
from viz.save.picture import Layout

DUBLIN = "{http://purl.org/dc/elements/1.1/}"
SVG = "{http://www.w3.org/2000/svg}"
SENTENCE = 'The cat <sat> & said "猫" \x00\u202e(on) the\nmat.'
IN_A_LINE = metadata.one_line(SENTENCE)
CENTIMETRES_A_POINT = 2.54 / 72


@pytest.fixture(scope="module")
def figure(trace: Trace) -> go.Figure:
    return OneHead(read(trace), Site("cross", 1), head=2).figure(Layout(narrow=True))  # type: ignore[arg-type]


def said_by_pdf(file: bytes) -> tuple[dict[str, Any], float]:
    """Title, author, sentence and model, and the width in centimetres."""
    reader = pypdf.PdfReader(io.BytesIO(file))
    info = reader.metadata
    assert info is not None
    said = {
        "title": info.title,
        "author": info.author,
        "sentence": info.subject,
        "model": info["/Keywords"].removeprefix(f"{metadata.MAKER}, "),
    }
    return said, float(reader.pages[0].mediabox.width) * CENTIMETRES_A_POINT


def said_by_png(file: bytes) -> tuple[dict[str, Any], float]:
    with Image.open(io.BytesIO(file)) as opened:
        names = {"title": "Title", "author": "Author", "sentence": "Description", "model": "Source"}
        said = {name: opened.info[own] for name, own in names.items()}  # type: ignore[index]
        return said, opened.width / opened.info["dpi"][0] * 2.54
    raise AssertionError


def said_by_svg(file: bytes) -> tuple[dict[str, Any], float]:
    root = ElementTree.fromstring(file)
    texts = {name: root.find(f".//{DUBLIN}{name}") for name in ("title", "description", "source")}
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == texts["title"].text  # type: ignore[union-attr]
    said = {
        "title": texts["title"].text,  # type: ignore[union-attr]
        "author": f"{metadata.MAKER}, model en-de",
        "sentence": texts["description"].text,  # type: ignore[union-attr]
        "model": texts["source"].text,  # type: ignore[union-attr]
    }
    width = root.attrib["width"]
    assert width.endswith("cm")
    # What is drawn fills the file: its pixels are those of the box.
    left, top, right, bottom = map(float, root.attrib["viewBox"].split())
    height = float(root.attrib["height"].removesuffix("cm"))
    assert (left, top) == (0, 0)
    assert right / bottom == pytest.approx(float(width.removesuffix("cm")) / height, rel=1e-3)
    return said, float(width.removesuffix("cm"))


READERS = {"pdf": said_by_pdf, "png": said_by_png, "svg": said_by_svg}


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("width", ["8.5cm", "slide"])
def test_a_figure_for_a_paper_says_what_it_is_and_how_wide(
    chromium: None, figure: go.Figure, format: Any, width: str
) -> None:
    file = image.image(
        figure, format, width, title="Cross & <all>", sentence=SENTENCE, model="en-de"
    )
    said, centimetres = READERS[format](file)
    assert said == {
        "title": "Cross & <all>",
        "author": f"{metadata.MAKER}, model en-de",
        "sentence": IN_A_LINE,
        "model": "en-de",
    }
    assert centimetres == pytest.approx(image.millimetres(width) / 10, abs=0.05)


@pytest.mark.parametrize("caption", ["", "What to look at."])
def test_without_a_title_it_has_that_of_the_figure_and_nothing_is_said_of_nothing(
    chromium: None, figure: go.Figure, caption: str
) -> None:
    titled = go.Figure(figure).update_layout(title_text="Head &lt;3&gt;<br><b>of 4</b>")
    file = image.image(titled, "pdf", caption=caption)
    info = pypdf.PdfReader(io.BytesIO(file)).metadata
    assert info is not None
    both = metadata.MAKER, metadata.MAKER
    assert (info.title, info.author, info.creator) == ("Head <3> of 4", *both)
    assert not info.subject
    svg = ElementTree.fromstring(image.image(titled, "svg", caption=caption))
    assert svg.find(f"{SVG}desc") is None
    assert svg.find(f".//{DUBLIN}source") is None


def test_a_document_has_the_title_too(figure: go.Figure) -> None:
    assert "<title>A &lt;head&gt;</title>" in image.page(figure, "A <head>")[:400]


def test_the_command_names_picture_sentence_and_model(
    chromium: None, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a.pdf"
    given = ["--checkpoint", str(folder), "--layer", "1", "--head", "2", "--width", "8.5cm"]
    assert main(["export", "The cat sat on the mat.", *given, "--out", str(out)]) == 0
    said, centimetres = said_by_pdf(out.read_bytes())
    assert said == {
        "title": "Cross-attention, layer 1, head 2",
        "author": f"{metadata.MAKER}, model {folder.name}",
        "sentence": "The cat sat on the mat.",
        "model": folder.name,
    }
    assert centimetres == pytest.approx(8.5, abs=0.03)


@pytest.mark.parametrize(
    ("width", "millimetres"),
    [
        *(("column", 85), ("two-columns", 174), ("8.5cm", 85), ("8,5 cm", 85), ("85mm", 85)),
        *(("4in", 101.6), ("288pt", 101.6), ("4cm", 40), ("60cm", 600)),
    ],
)
def test_a_width_is_a_name_or_a_length(width: str, millimetres: float) -> None:
    assert image.millimetres(width) == pytest.approx(millimetres)


@pytest.mark.parametrize(
    ("width", "said"),
    [
        ("wide", "There is no width 'wide'; choose column, two-columns, slide, or a length"),
        ("8.5", "There is no width '8.5'"),
        ("-8cm", "There is no width '-8cm'"),
        ("nancm", "There is no width"),
        ("9999999999cm", "There is no width"),
        ("3.9cm", "A figure is 4 to 60 cm wide; 3.9cm is not."),
        ("61cm", "A figure is 4 to 60 cm wide; 61cm is not."),
    ],
)
def test_another_width_is_refused_in_a_sentence(
    width: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ExportError) as raised:
        image.millimetres(width)
    assert said in str(raised.value)
    with pytest.raises(SystemExit) as left:
        main(["export", "a", "--out", "a.pdf", f"--width={width}"])
    assert left.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("width", ["4cm", "9cm", "13cm", "60cm"])
def test_any_width_is_laid_out_with_text_of_seven_points(figure: go.Figure, width: str) -> None:
    sized = image.sized(figure, width)
    scale = image.millimetres(width) / (25.4 / 96) / sized.layout.width
    assert 0.75 * scale * 12 >= 7 - 1e-6
    assert image.is_narrow(width) == (width in {"4cm", "9cm"})


def test_a_film_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    av = pytest.importorskip("av")
    from viz.save.film import HEIGHT, WIDTH, _Writer

    for format in ("mp4", "webm"):
        writer = _Writer(format, metadata.About.of("Played & done", SENTENCE, "en-de"), ())
        writer.write(Image.new("RGB", (WIDTH, HEIGHT)), 2)
        with av.open(io.BytesIO(writer.finish())) as opened:
            said = {name.lower(): text for name, text in opened.metadata.items()}
        assert said["title"] == "Played & done"
        assert said["artist"] == f"{metadata.MAKER}, model en-de"
        assert said["comment"] == IN_A_LINE


def test_every_picture_file_goes_through_the_metadata(
    figure: go.Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser.BROWSER, "draw", lambda *_: b"drawn")
    for format in READERS:
        monkeypatch.setattr(metadata, format, lambda file, about, *_: file + about.title.encode())
        assert image.image(figure, format, title="!") == b"drawn!"  # type: ignore[arg-type]
