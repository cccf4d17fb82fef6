"""A figure as an image for papers and slides, or as an HTML page.

viz.save.browser draws SVG, PDF and PNG.
"""

import html
import math
import re
import textwrap
import unicodedata
from collections.abc import Mapping
from typing import Any, Literal, get_args

import plotly.graph_objects as go

from viz.draw import style, themes
from viz.draw.labels import escape_html, visible
from viz.save import metadata
from viz.save.browser import BROWSER
from viz.save.formats import ExportError, Image
from viz.save.vector_cells import as_shapes

Width = Literal["column", "two-columns", "slide"]

WIDTHS: dict[str, float] = {"column": 85.0, "two-columns": 174.0, "slide": 13.333 * 25.4}
"""Widths in millimetres: one column of a journal, two columns, and a wide slide."""

_UNITS = {"mm": 1.0, "cm": 10.0, "in": 25.4, "pt": 25.4 / 72}

_LEAST, _MOST = 40.0, 600.0
"""The narrowest and the widest figure in millimetres."""

_NARROW = 130.0
"""Millimetres, between one column and two: a narrower figure has its parts below each other."""

SLIDE_HEIGHT = 7.5 * 25.4
"""The height of a wide slide in millimetres; taller figures are drawn smaller."""

LEAST_POINTS = 7.0
"""The smallest text on paper, in points."""

SCALES = range(1, 5)
"""Pixels of a PNG for every 1/96 inch."""


_MILLIMETRES = 25.4 / 96
"""One CSS pixel on paper, in millimetres."""

_PAPER, _SLIDE = 0.78, 1.6
"""Factors by which a figure is enlarged: its smallest labels, 12 pixels high, become 7 points on
paper, and its usual labels 19 points on a slide."""

_LETTER, _WIDE_LETTER = 0.55, 1.05
"""The average width of a letter, at most, as a share of its height; wide ones are East Asian."""

_CAPTION, _SOURCE, _LEADING, _EDGE = 13.0, 12.0, 1.35, 8.0
"""Font sizes of the caption and of the line below it, line height, and margin in pixels."""

_AXIS = re.compile(r"[xy]axis\d*")


def millimetres(width: str) -> float:
    """A width in millimetres, from a name in WIDTHS or a length such as "8.5cm".

    Raises:
        ExportError: if it is neither, or less than 4 cm or more than 60.
    """
    if width in WIDTHS:
        return WIDTHS[width]
    found = re.fullmatch(rf"\s*(\d{{1,6}}(?:[.,]\d{{1,6}})?)\s*({'|'.join(_UNITS)})\s*", width)
    if found is None:
        raise ExportError(
            f"There is no width {width!r}; choose {', '.join(WIDTHS)}, or a length such as 8.5cm."
        )
    length = float(found[1].replace(",", ".")) * _UNITS[found[2]]
    if not _LEAST <= length <= _MOST:
        raise ExportError(
            f"A figure is {_LEAST / 10:g} to {_MOST / 10:g} cm wide; {width.strip()} is not."
        )
    return length


def is_narrow(width: str) -> bool:
    """Whether a figure of this width is one of a column; errors as `millimetres`."""
    return millimetres(width) < _NARROW


def sized(figure: go.Figure, width: str, below: float = 0.0) -> go.Figure:
    """A copy of a figure for paper or slides: white ground, black text, no controls.

    A figure drawn for a dark page stays dark: white text on black. `image` scales the copy to its
    size on paper, where no text is smaller than 7 points. For one column, make the figure `narrow`
    if it can be.

    Args:
        figure: of this package; it is not changed.
        width: "column" (85 mm), "two-columns" (174 mm), "slide" (13.33 in, and 7.5 in high if
            the figure fits without text below 7 points), or a length such as "8.5cm".
        below: height in pixels of what stands below the figure on the same slide.

    Raises:
        ExportError: if there is no such width.
    """
    pixels, height, scale = _plan(figure, width, below)
    theme = themes.page(_is_dark(figure))
    ground, ink = (themes.BLACK, themes.WHITE) if _is_dark(figure) else (themes.WHITE, themes.BLACK)
    inks = dict.fromkeys((theme.text, theme.muted, theme.accent), ink)
    least = math.ceil(100 * LEAST_POINTS / (0.75 * scale)) / 100
    spec = {
        "data": [_printed(trace.to_plotly_json(), inks, least) for trace in figure.data],
        "layout": _printed(figure.layout.to_plotly_json(), inks, least),
    }
    for control in ("modebar", "updatemenus", "sliders"):
        spec["layout"].pop(control, None)
    spec["layout"] |= {"paper_bgcolor": ground, "width": pixels, "height": height}
    return go.Figure(spec)


def image(
    figure: go.Figure,
    format: Image,
    width: str = "two-columns",
    scale: int = 2,
    *,
    title: str = "",
    caption: str = "",
    sentence: str = "",
    model: str = "",
) -> bytes:
    """A figure as a file, `sized`; in SVG and PDF, text stays text and cells are shapes.

    The file has its title, sentence and model in its metadata, and its size on paper.

    The first call starts the browser, which takes some seconds; later calls reuse it.

    Args:
        figure: of this package; it is not changed.
        format: "png", "svg" or "pdf".
        width: as in `sized`.
        scale: of a PNG: 1 to 4 pixels for every 1/96 inch. Other formats ignore it.
        title: for the metadata; empty takes the figure's own.
        caption: how to read the figure, in plain text; it stands below the figure, followed by how
            many labels of rows and columns had no room.
        sentence: below the caption, shortened to one line.

    Raises:
        ExportError: if there is no such format, width or scale, if this machine has no Chromium or
            Chrome, or if that fails.
    """
    if format not in get_args(Image):
        raise ExportError(f"There is no image format {format!r}; choose png, svg or pdf.")
    if scale not in SCALES:
        raise ExportError(f"A PNG can be scaled 1 to 4 times, not {scale} times.")
    caption = " ".join(filter(None, [caption, left_out(figure)]))
    below = _caption(figure, width, caption, sentence, model)
    room = 0.0 if below is None else float(below.layout.height)
    pixels, height, size = _plan(figure, width, room)
    printed = sized(figure, width, room)
    if below is not None:
        below.layout.width = pixels
    if format == "png":
        drawn = BROWSER.draw(printed, format, pixels, height, size * scale, below)
    else:
        drawn = BROWSER.draw(as_shapes(printed), format, pixels, height, size, below)
    about = metadata.About.of(title or title_of(figure), sentence, model)
    match format:
        case "png":
            return metadata.png(drawn, about, 96 * scale)
        case "svg":
            return metadata.svg(drawn, about)
        case "pdf":
            return metadata.pdf(drawn, about)


def left_out(figure: go.Figure) -> str:
    """How many labels of its axes a figure leaves out for lack of room; empty for none."""
    told = []
    for each, name in ((figure.select_xaxes, "column"), (figure.select_yaxes, "row")):
        thinned = [
            axis
            for axis in each()
            if axis.tickmode == "array"
            and (axis.dtick or 1) > 1
            and axis.showticklabels is not False
        ]
        ends = [axis.range or (-0.5, axis.tickvals[-1] + 0.5) for axis in thinned]
        count = sum(round(abs(end - start)) for start, end in ends)
        if left := count - sum(len(axis.tickvals) for axis in thinned):
            told.append(f"{left} of {count} {name} labels")
    return f"Left out for lack of room: {' and '.join(told)}." if told else ""


def title_of(figure: go.Figure) -> str:
    """A figure's own title as plain text."""
    return html.unescape(re.sub(r"<[^>]*>", " ", figure.layout.title.text or ""))


def _caption(
    figure: go.Figure, width: str, caption: str, sentence: str, model: str
) -> go.Figure | None:
    """The text below a figure, as a separate figure, so that the two never overlap."""
    pixels, _, scale = _plan(figure, width)
    # As in `sized`: a lower slide is laid out wider, so lines fit there too.
    least = math.ceil(100 * LEAST_POINTS / (0.75 * min(scale, _PAPER))) / 100
    theme = themes.page(_is_dark(figure))
    ground, ink = (themes.BLACK, themes.WHITE) if _is_dark(figure) else (themes.WHITE, themes.BLACK)
    lines = [
        (line, max(_CAPTION, least), ink)
        for line in textwrap.wrap(visible(caption), _letters(caption, pixels, _CAPTION))
    ]
    sentence, model = (" ".join(visible(text).split()) for text in (sentence, model))
    model = textwrap.shorten(model, 40, placeholder="…") or model[:39]
    if sentence:
        room = _letters(sentence + model, pixels, _SOURCE) - len(model) - 3
        if len(sentence) > room:
            sentence = f"{sentence[: max(room - 1, 1)].rstrip()}…"
        # Isolated; otherwise a right-to-left sentence would reverse what follows it.
        sentence = f"\u2068“{sentence}”\u2069"
    if origin := " · ".join(filter(None, [sentence, model])):
        lines.append((origin, max(_SOURCE, least), theme.muted))
    if not lines:
        return None
    notes, top = [], _EDGE / 2
    for text, size, color in lines:
        notes.append(
            {
                "text": escape_html(text),
                "font": {"size": size, "color": color, "family": style.FONT},
                "showarrow": False,
                "align": "left",
                **{"xref": "paper", "x": 0, "xanchor": "left", "xshift": _EDGE},
                **{"yref": "paper", "y": 1, "yanchor": "top", "yshift": -top, "borderpad": 0},
            }
        )
        top += size * _LEADING
    hidden = {"visible": False}
    layout = {
        "annotations": notes,
        "template": "none",
        "margin": dict.fromkeys("lrtb", 0),
        "height": math.ceil(top + _EDGE),
        "paper_bgcolor": ground,
        "plot_bgcolor": ground,
        **{"xaxis": hidden, "yaxis": hidden},
    }
    return go.Figure({"data": [], "layout": layout})


def _letters(text: str, pixels: float, size: float) -> int:
    """The number of letters that fit into a line."""
    is_wide = any(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return max(10, int((pixels - 2 * _EDGE) / (size * (_WIDE_LETTER if is_wide else _LETTER))))


def page(figure: go.Figure, title: str = "") -> str:
    """A figure as a complete interactive HTML document that opens offline.

    It holds all of Plotly, some five million characters.

    Args:
        figure: of this package; it is not changed.
        title: of the document; empty takes the figure's own.
    """
    # With its own background: a document has none, and light text would stand on white.
    shown = go.Figure(figure)
    shown.update_layout(
        paper_bgcolor=themes.BLACK if _is_dark(figure) else themes.WHITE, autosize=True
    )
    document: str = shown.to_html(include_plotlyjs=True, config=style.CHART_CONFIG)
    named = f"<title>{escape_html(metadata.one_line(title or title_of(figure)))}</title>"
    return document.replace("<head>", f"<head>{named}", 1)


def _plan(figure: go.Figure, width: str, below: float = 0.0) -> tuple[float, float, float]:
    """The layout's width and height in pixels, and the factor by which it is enlarged."""
    across = millimetres(width) / _MILLIMETRES
    height = float(figure.layout.height or 450)
    scale = _PAPER
    if width == "slide":
        # A figure of several parts may need a width at which they stand side by side.
        room = across / (figure.layout.width or 1)
        scale = max(_PAPER, min(_SLIDE, SLIDE_HEIGHT / _MILLIMETRES / (height + below), room))
    return across / scale, height, scale


def _is_dark(figure: go.Figure) -> bool:
    return bool(figure.layout.font.color == themes.DARK.text)


def _printed(part: Any, inks: Mapping[str, str], least: float, key: str = "") -> Any:
    """Part of a figure with other colours of text, and no font smaller than `least` pixels."""
    if isinstance(part, list | tuple):
        return [_printed(value, inks, least, key) for value in part]
    if not isinstance(part, dict):
        return part
    changed = {name: _printed(value, inks, least, name) for name, value in part.items()}
    if key.endswith("font") and isinstance(part.get("size"), int | float):
        changed["size"] = max(part["size"], least)
    # Only fonts and axes: elsewhere the same colour carries meaning.
    if key.endswith("font") or _AXIS.fullmatch(key):
        color = part.get("color")
        changed |= {"color": inks.get(color, color)} if isinstance(color, str) else {}
    if key == "subtitle" and isinstance(part.get("text"), str):
        for color, ink in inks.items():
            changed["text"] = changed["text"].replace(f"color: {color}", f"color: {ink}")
    return changed
