"""Pictures to keep, for papers and slides: sized figures, files, numbers, and the Python of it.

SVG, PDF and PNG are drawn by a Chromium on this machine, which kaleido drives; nothing is fetched
from anywhere. CSV, JSON and NPZ need none.
"""

from __future__ import annotations

import asyncio
import atexit
import base64
import io
import json
import math
import re
import struct
import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.trace import AttentionKind, AttentionMap, FloatArray, Site, Tokens, TraceError
from viz.draw import style
from viz.draw.labels import axis_texts
from viz.heads.heatmap import attention_heatmap, row_titles
from viz.heads.reading import Reading, Seen
from viz.masks.mask import Mask
from viz.save import cells

Width = Literal["column", "two-columns", "slide"]
Image = Literal["png", "svg", "pdf"]
NumberFormat = Literal["csv", "json", "npz"]
Figure = Literal[
    "heads",
    "head",
    "query-key",
    "mask",
    "positions",
    "waves",
    "circle",
    "likeness",
    "offsets",
    "parts",
    "terms",
]
"""Every figure that can be asked for by name."""

WIDTHS: dict[Width, float] = {"column": 85.0, "two-columns": 174.0, "slide": 13.333 * 25.4}
"""Millimetres across: one column and two of a journal's page, and a wide slide."""

SLIDE_HEIGHT = 7.5 * 25.4
"""Millimetres of a wide slide; a figure that would be taller is laid out smaller."""

LEAST_POINTS = 7.0
"""No text is smaller than that on paper."""

SCALES = range(1, 5)
"""How many pixels of a PNG make one of 1/96 inch."""

VECTOR_CELLS = 12_000
"""Up to so many cells of a figure are drawn as shapes; more would make files of megabytes, and stay
one picture of pixels among texts that are text."""

NEEDS_BROWSER = (
    "PNG, SVG and PDF files need Chromium or Chrome on the machine that runs Headscope, and none "
    "was found; install it, or save a chart as SVG by its own camera button; CSV, JSON, NPZ, HTML "
    "and Python need none."
)

_MILLIMETRES = 25.4 / 96
"""One CSS pixel on paper."""

_PAPER, _SLIDE = 0.78, 1.6
"""A figure's own pixels are drawn so many times as large: its smallest labels, 12 pixels high, are
7 points high on paper, and its usual ones 19 points on a slide."""

_POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'; img-src data:\">"
)
"""A page that is printed asks for nothing and runs nothing."""

_READY = "Promise.all(Array.from(document.querySelectorAll('image'), (image) => image.decode()))"
"""What a page waits for: heatmaps of many cells are pictures in it."""

_SECONDS = 60
"""More than the largest figure takes on a busy machine; a browser that takes longer hangs."""

_AXIS = re.compile(r"[xy]axis\d*")

_AS_RECORDED = Reading()

_FORMULA = tuple("=+-@\t\r＝＋－＠")
"""What a cell of a spreadsheet begins with if it is no text but to be computed."""


class ExportError(RuntimeError):
    """A file that cannot be made; the message is one sentence that says why and what to do."""


# ---- figures -----------------------------------------------------------------------------------


def head_figure(
    seen: Seen,
    attention: AttentionKind | str,
    layer: int,
    head: int,
    *,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """One head as the app shows it: its heatmap with what each row predicts beside it.

    Args:
        seen: the trace as it is read.
        attention: its kind.
        layer: counted from 0.
        head: counted from 0.
        narrow: for one column, as on a phone.
        dark: on a dark ground.

    Raises:
        ExportError: if there is no such layer.
        IndexError: if there is no such head.
    """
    attention_map = site_map(seen, attention, layer)
    kind = attention_map.site.kind
    titles = row_titles(kind, seen)
    return attention_heatmap(
        attention_map,
        head,
        beside=seen.beside.get(kind),
        beside_title=titles.beside,
        arrow=titles.arrow,
        query_title=titles.query,
        narrow=narrow,
        dark=dark,
    )


def site_map(seen: Seen, attention: AttentionKind | str, layer: int) -> AttentionMap:
    """The map of one site of a trace as it is read.

    Raises:
        ExportError: if there is none; the sentence lists the layers there are.
    """
    kind = AttentionKind(attention)
    if layer < 0 or Site(kind, layer) not in seen.maps:
        there = ", ".join(str(site.layer) for site in seen.maps if site.kind is kind)
        raise ExportError(
            f"There is no layer {layer} of {kind} attention; choose one of {there or 'none'}."
        )
    return seen.maps[Site(kind, layer)]


def sized(figure: go.Figure, width: Width) -> go.Figure:
    """A copy of a figure for paper or slides: white ground, black text, no controls.

    A figure drawn for a dark page stays dark, on black with white text. The copy is laid out in
    pixels that `image` then brings to their size on paper, where no text is smaller than 7 points.
    For one column, make the figure `narrow` where it can be.

    Args:
        figure: of this package; it is not changed.
        width: "column" (85 mm), "two-columns" (174 mm) or "slide" (13.33 in, and 7.5 in high where
            the figure fits without text below 7 points).

    Raises:
        ExportError: if there is no such width.
    """
    pixels, height, scale = _plan(figure, width)
    theme = style.look(_is_dark(figure))
    ground, ink = (style.BLACK, style.WHITE) if _is_dark(figure) else (style.WHITE, style.BLACK)
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


def image(figure: go.Figure, format: Image, width: Width = "two-columns", scale: int = 2) -> bytes:
    """A figure as a file, `sized`; text stays text in SVG and PDF, and cells are shapes in them.

    The browser behind it is started at the first call, which takes some seconds, and kept.

    Args:
        figure: of this package; it is not changed.
        format: "png", "svg" or "pdf".
        width: as in `sized`.
        scale: of a PNG: 1 to 4 pixels for every 1/96 inch. It has no meaning for the others.

    Raises:
        ExportError: if there is no such format, width or scale, if this machine has no Chromium or
            Chrome, or if that fails.
    """
    if format not in get_args(Image):
        raise ExportError(f"There is no image format {format!r}; choose png, svg or pdf.")
    if scale not in SCALES:
        raise ExportError(f"A PNG can be scaled 1 to 4 times; {scale} is none of them.")
    pixels, height, size = _plan(figure, width)
    printed = sized(figure, width)
    if format == "png":
        drawn = _browser.draw(printed, format, pixels, height, size * scale)
        return _with_resolution(drawn, 96 * scale)
    return _browser.draw(_as_shapes(printed), format, pixels, height, size)


def page(figure: go.Figure, name: str = "headscope") -> str:
    """A figure as a complete HTML document with its interaction, which opens offline.

    It holds all of Plotly, which is some five million characters.

    Args:
        figure: of this package; it is not changed.
        name: of the file that the figure's own camera button saves, without its suffix.
    """
    # On its own ground: a document has none, and light text would stand on white.
    shown = go.Figure(figure)
    shown.update_layout(
        paper_bgcolor=style.BLACK if _is_dark(figure) else style.WHITE, autosize=True
    )
    document: str = shown.to_html(include_plotlyjs=True, config=style.chart_config(name))
    return document


def has_browser() -> bool:
    """Whether this machine has what draws PNG, SVG and PDF files; it is not started."""
    # Slow to load, and many exports need none.
    from choreographer.browsers.chromium import Chromium

    found = Chromium.find_browser(skip_local=False)
    return found is not None and Path(found).is_file()


def _plan(figure: go.Figure, width: Width) -> tuple[float, float, float]:
    """The layout's pixels across and down, and how many times as large each is drawn."""
    if width not in WIDTHS:
        raise ExportError(f"There is no width {width!r}; choose {', '.join(WIDTHS)}.")
    across = WIDTHS[width] / _MILLIMETRES
    height = float(figure.layout.height or 450)
    scale = _PAPER
    if width == "slide":
        # A figure of several parts may have a width that they need to stand side by side.
        room = across / (figure.layout.width or 1)
        scale = max(_PAPER, min(_SLIDE, SLIDE_HEIGHT / _MILLIMETRES / height, room))
    return across / scale, height, scale


def _is_dark(figure: go.Figure) -> bool:
    return bool(figure.layout.font.color == style.DARK.text)


def _printed(part: Any, inks: Mapping[str, str], least: float, key: str = "") -> Any:
    """Part of a figure with other colours of text, and no font smaller than `least` pixels."""
    if isinstance(part, list | tuple):
        return [_printed(value, inks, least, key) for value in part]
    if not isinstance(part, dict):
        return part
    changed = {name: _printed(value, inks, least, name) for name, value in part.items()}
    if key.endswith("font") and isinstance(part.get("size"), int | float):
        changed["size"] = max(part["size"], least)
    # Of fonts and axes alone: elsewhere the same colour tells something.
    if key.endswith("font") or _AXIS.fullmatch(key):
        color = part.get("color")
        changed |= {"color": inks.get(color, color)} if isinstance(color, str) else {}
    if key == "subtitle" and isinstance(part.get("text"), str):
        for color, ink in inks.items():
            changed["text"] = changed["text"].replace(f"color: {color}", f"color: {ink}")
    return changed


def _as_shapes(figure: go.Figure) -> go.Figure:
    """The figure with the cells of its heatmaps as shapes, while they are few.

    Plotly paints a heatmap as a picture of pixels, as large as on a screen, which paper blurs.
    """
    heatmaps = [trace for trace in figure.data if trace.type == "heatmap"]
    if sum(np.size(trace.z) for trace in heatmaps) > VECTOR_CELLS:
        return figure
    shapes = [shape for trace in heatmaps for shape in _cells(trace, figure.layout)]
    changed = go.Figure(figure)
    changed.data = []
    for trace in figure.data:
        changed.add_trace(_bar_of(trace) if trace.type == "heatmap" else trace)
    for trace in heatmaps:
        rows, columns = np.shape(trace.z)
        for axis, count in ((trace.yaxis or "y", rows), (trace.xaxis or "x", columns)):
            settings = changed.layout[f"{axis[0]}axis{axis[1:]}"]
            # A shape gives its axis neither a type nor an extent.
            settings.type = "linear"
            if settings.range is None:
                settings.range = [-0.5, count - 0.5]
    return changed.update_layout(shapes=[*shapes, *figure.layout.shapes])


def _bar_of(heatmap: Any) -> go.Scatter:
    """A heatmap's colour bar, by a trace without anything else to show."""
    return go.Scatter(
        x=[None],
        y=[None],
        xaxis=heatmap.xaxis,
        yaxis=heatmap.yaxis,
        mode="markers",
        hoverinfo="skip",
        showlegend=False,
        marker={
            "color": [0],
            "colorscale": heatmap.colorscale,
            "cmin": heatmap.zmin,
            "cmax": heatmap.zmax,
            "colorbar": heatmap.colorbar.to_plotly_json(),
            "showscale": heatmap.showscale is not False,
        },
    )


def _cells(heatmap: Any, layout: Any) -> list[dict[str, Any]]:
    """One shape a colour: all cells that have it."""
    values = np.asarray(heatmap.z, dtype=np.float64)
    places: dict[str, list[str]] = {}
    for row, column in zip(*np.nonzero(np.isfinite(values)), strict=True):
        left, right = column - 0.5, column + 0.5
        top, bottom = row - 0.5, row + 0.5
        color = _color(heatmap, values[row, column])
        places.setdefault(color, []).append(f"M{left},{top}H{right}V{bottom}H{left}Z")
    gap = max(heatmap.xgap or 0, heatmap.ygap or 0)
    # Where cells touch, antialiasing lets the ground through unless they overlap a little.
    overlap = min(0.4, 0.05 * layout.width / values.shape[1])
    return [
        {
            "type": "path",
            "path": "".join(paths),
            "fillcolor": color,
            "line": {"color": layout.plot_bgcolor if gap else color, "width": gap or overlap},
            "xref": heatmap.xaxis or "x",
            "yref": heatmap.yaxis or "y",
            "layer": "between",
        }
        for color, paths in places.items()
    ]


def _color(heatmap: Any, value: float) -> str:
    """The colour that Plotly gives a value, between the stops of the scale."""
    share = (value - heatmap.zmin) / (heatmap.zmax - heatmap.zmin)
    stops = [stop for stop, _ in heatmap.colorscale]
    colors = np.array(
        [[int(color[at : at + 2], 16) for at in (1, 3, 5)] for _, color in heatmap.colorscale]
    )
    mixed = [np.interp(share, stops, channel) for channel in colors.T]
    return "#" + "".join(f"{round(channel):02x}" for channel in mixed)


def _with_resolution(png: bytes, per_inch: float) -> bytes:
    """A PNG that says how large it is on paper, or programs would take 96 pixels for an inch."""
    per_metre = round(per_inch / 0.0254)
    chunk = b"pHYs" + struct.pack(">IIB", per_metre, per_metre, 1)
    # The signature and the first chunk, which holds the size, are 33 bytes long.
    return png[:33] + struct.pack(">I", 9) + chunk + struct.pack(">I", zlib.crc32(chunk)) + png[33:]


class _Browser:
    """A Chromium that draws one figure at a time, started when first needed, closed at exit."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._kaleido: Any = None

    def draw(
        self, figure: go.Figure, format: Image, width: float, height: float, scale: float
    ) -> bytes:
        """The file of a figure.

        Raises:
            ExportError: if there is no browser, or it fails.
        """
        size = {"width": width, "height": height, "scale": scale}
        options = {"format": "svg" if format == "pdf" else format, **size}
        with self._guard:
            kaleido = self._started()
            try:
                drawn: bytes = self._wait_for(kaleido.calc_fig(figure, opts=options))
                if format == "pdf":
                    page = width * scale, height * scale
                    drawn = self._wait_for(_printed_page(kaleido, drawn.decode(), *page))
            except Exception as error:
                # The next call begins with a fresh one.
                self._stop()
                raise ExportError(
                    f"The browser that draws {format.upper()} files failed "
                    f"({type(error).__name__}); try again, or save SVG from the picture's own "
                    "camera button."
                ) from error
        return drawn

    def close(self) -> None:
        """Stop the browser if it runs."""
        with self._guard:
            self._stop()

    def _started(self) -> Any:
        if self._kaleido is not None:
            return self._kaleido
        # Slow to load, and many exports need none.
        from choreographer.errors import ChromeNotFoundError
        from kaleido import Kaleido  # type: ignore[import-untyped]

        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="export", daemon=True).start()
        try:
            # Without MathJax, which it would fetch from the internet.
            self._kaleido = self._wait_for(_opened(Kaleido, mathjax=False, timeout=_SECONDS))
        except ChromeNotFoundError:
            self._stop()
            raise ExportError(NEEDS_BROWSER) from None
        except Exception as error:
            self._stop()
            raise ExportError(
                f"The browser that draws image files did not start ({type(error).__name__}); save "
                "SVG from the picture's own camera button; CSV, JSON, NPZ and HTML need none."
            ) from error
        atexit.register(self.close)
        return self._kaleido

    def _wait_for(self, coroutine: Any) -> Any:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(2 * _SECONDS)

    def _stop(self) -> None:
        kaleido, loop = self._kaleido, self._loop
        self._kaleido = self._loop = None
        atexit.unregister(self.close)
        if loop is None:
            return
        if kaleido is not None:
            closing = asyncio.run_coroutine_threadsafe(kaleido.close(), loop)
            try:
                closing.result(_SECONDS)
            except Exception:
                # It is given up in any case; what it holds ends with the process.
                closing.cancel()
        loop.call_soon_threadsafe(loop.stop)


async def _opened(make: Any, **options: Any) -> Any:
    """A browser, opened in the loop that it will work in."""
    browser = make(**options)
    await browser.open()
    return browser


async def _printed_page(browser: Any, svg: str, width: float, height: float) -> bytes:
    """An SVG as a page of its very size, in CSS pixels.

    Not by kaleido's own means: its pages have a margin, into which it shrinks and cuts the figure.
    """
    tab = await browser.create_tab()
    try:

        async def ask(command: str, **given: Any) -> Any:
            answer = await tab.send_command(command, params=given)
            if "error" in answer:
                raise RuntimeError(answer["error"]["message"])
            return answer["result"]

        frame = (await ask("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        sheet = (
            f"@page {{ size: {width}px {height}px; margin: 0 }} body {{ margin: 0 }} "
            "svg { display: block }"
        )
        page = f"<!doctype html>{_POLICY}<style>{sheet}</style>{svg}"
        await ask("Page.setDocumentContent", frameId=frame, html=page)
        await ask("Runtime.evaluate", expression=_READY, awaitPromise=True)
        printed = await ask(
            "Page.printToPDF", printBackground=True, preferCSSPageSize=True, pageRanges="1"
        )
        return base64.b64decode(printed["data"])
    finally:
        await browser.close_tab(tab)


_browser = _Browser()


# ---- numbers -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The numbers of a figure, with the axes they stand on.

    Attributes:
        about: what they are of, such as the layer, as single values by name.
        axes: by name, the tokens along it, or the numbers of its places.
        arrays: by name, the axes of an array and the array: numbers, booleans or words.
        texts: by name, what was given to the model, such as the sentence or an edited mask. In CSV
            they stand in the first row alone, as they would be repeated in every cell's.

    Raises:
        ValueError: if an array has another shape than its axes.
    """

    about: Mapping[str, str | int]
    axes: Mapping[str, Tokens | Sequence[int]]
    arrays: Mapping[str, tuple[tuple[str, ...], NDArray[Any]]]
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return sum(values.size for _, values in self.arrays.values())

    def __post_init__(self) -> None:
        for name, (axes, values) in self.arrays.items():
            shape = tuple(len(self.axes[axis]) for axis in axes)
            if values.shape != shape:
                raise ValueError(f"{name} has the shape {values.shape}, and its axes have {shape}.")

    def encode(self, format: NumberFormat) -> bytes:
        """The numbers as a file.

        Every number is exact: read as float32, it is the recorded one, bit for bit.

        Args:
            format: "csv" is one row a cell, with tokens as the pictures name them, in UTF-8 with
                the mark by which spreadsheets know it; before a token that a spreadsheet would
                compute, because it begins with = + - or @, stands an apostrophe. "json" and "npz"
                hold tokens as the tokenizer cut them, with their ids, and add nothing to them.

        Raises:
            ExportError: if there is no such format.
            TraceError: if a token ends in a NUL character, which numpy would drop from an NPZ.
        """
        match format:
            case "csv":
                return self._csv()
            case "json":
                return self._json()
            case "npz":
                return self._npz()
        raise ExportError(f"There is no format {format!r} for numbers; choose csv, json or npz.")

    def _csv(self) -> bytes:
        together: dict[tuple[str, ...], list[str]] = {}
        for name, (axes, _) in self.arrays.items():
            together.setdefault(axes, []).append(name)
        # Arrays on other axes have rows of their own, in which the others' columns stay empty.
        table = pd.concat([self._table(axes, names) for axes, names in together.items()])
        for place, (name, value) in enumerate(self.about.items()):
            table.insert(place, name, _as_text(value) if isinstance(value, str) else value)
        for name, text in self.texts.items():
            table[name] = [_as_text(text), *[None] * (len(table) - 1)] if len(table) else []
        written: str = table.to_csv(index=False, lineterminator="\n")
        return written.encode("utf-8-sig")

    def _table(self, axes: tuple[str, ...], names: list[str]) -> pd.DataFrame:
        shape = tuple(len(self.axes[axis]) for axis in axes)
        columns: dict[str, Any] = {}
        for axis, places in zip(axes, np.indices(shape).reshape(len(axes), -1), strict=True):
            along = self.axes[axis]
            if isinstance(along, Tokens):
                texts = np.array([_as_text(text) for text in axis_texts(along)], dtype=object)
                columns |= {f"{axis}_position": places, axis: texts[places]}
            else:
                columns[axis] = np.array(along, dtype=np.int64)[places]
        for name in names:
            values = self.arrays[name][1].ravel()
            # In full as what they are: a float32 written as a float64 has digits of rounding.
            if values.dtype.kind == "f":
                values = _written(values)
            elif values.dtype.kind == "U":
                values = np.array([_as_text(text) for text in values.tolist()], dtype=object)
            columns[name] = values
        # As objects: a place that is missing in other rows would make a float of every place.
        return pd.DataFrame(columns, dtype=object)

    def _json(self) -> bytes:
        content = {
            **self.about,
            **self.texts,
            "axes": {
                name: {"tokens": along.tokens, "ids": along.ids, "texts": axis_texts(along)}
                if isinstance(along, Tokens)
                else list(along)
                for name, along in self.axes.items()
            },
            "arrays": {
                name: {"axes": axes, "values": _plain(values)}
                for name, (axes, values) in self.arrays.items()
            },
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()

    def _npz(self) -> bytes:
        arrays: dict[str, NDArray[Any]] = {
            name: np.array(value) for name, value in [*self.about.items(), *self.texts.items()]
        }
        for name, along in self.axes.items():
            if isinstance(along, Tokens):
                if any(token.endswith("\0") for token in along):
                    raise TraceError(f"A token of {name} ends in NUL, which NPZ cannot hold.")
                arrays[f"{name}.tokens"] = np.array(along.tokens, dtype=np.str_)
                arrays[f"{name}.ids"] = np.array(along.ids, dtype=np.int64)
            else:
                arrays[f"{name}.places"] = np.array(along, dtype=np.int64)
        for name, (axes, values) in self.arrays.items():
            arrays |= {name: values, f"{name}.axes": np.array(axes, dtype=np.str_)}
        file = io.BytesIO()
        np.savez_compressed(file, allow_pickle=False, **arrays)
        return file.getvalue()


def numbers(seen: AttentionMap, head: int, format: NumberFormat) -> bytes:
    """The numbers of one head as a file; see `Numbers.encode`.

    Args:
        seen: the site.
        head: counted from 0.
        format: "csv", "json" or "npz".

    Raises:
        IndexError: if there is no such head.
        ExportError: if there is no such format.
    """
    return head_numbers(seen, head).encode(format)


def head_numbers(seen: AttentionMap, head: int) -> Numbers:
    """One head's weights, its scores where they were recorded, and what it may attend to.

    Raises:
        IndexError: if there is no such head.
    """
    cells, one = ("query", "key"), seen.head(head)
    arrays: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {"weight": (cells, one.weights)}
    if one.scores is not None:
        arrays["score"] = (cells, one.scores)
    arrays["allowed"] = (cells, one.allowed)
    about: dict[str, str | int] = {
        "attention": str(seen.site.kind),
        "layer": seen.site.layer,
        "head": head,
    }
    return Numbers(about, {"query": seen.queries, "key": seen.keys}, arrays)


def heads_numbers(maps: Sequence[AttentionMap], heads: Sequence[int]) -> Numbers:
    """The same of several heads in several layers of one kind of attention.

    Args:
        maps: one a layer, of one kind and with the same tokens.
        heads: counted from 0.

    Raises:
        IndexError: if there is no such head.
        ValueError: if the maps differ in kind or tokens, or there are none.
    """
    if len({(seen.site.kind, seen.queries, seen.keys) for seen in maps}) != 1:
        raise ValueError("The layers need one kind of attention and the same tokens.")
    axes = ("layer", "head", "query", "key")

    def stacked(name: str) -> NDArray[Any]:
        return np.stack(
            [np.stack([getattr(seen.head(head), name) for head in heads]) for seen in maps]
        )

    arrays: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {"weight": (axes, stacked("weights"))}
    if all(seen.scores is not None for seen in maps):
        arrays["score"] = (axes, stacked("scores"))
    arrays["allowed"] = (axes, stacked("allowed"))
    return Numbers(
        {"attention": str(maps[0].site.kind)},
        {
            "layer": [seen.site.layer for seen in maps],
            "head": list(heads),
            "query": maps[0].queries,
            "key": maps[0].keys,
        },
        arrays,
    )


def query_key_numbers(seen: AttentionMap, head: int, query: int, key: int) -> Numbers:
    """What makes one weight: both vectors, their products, and the row of scores and weights.

    Raises:
        IndexError: if there is no such head, query or key.
        ExportError: if the vectors were not recorded, as with whole words.
    """
    recorded = seen.head(head)
    weights = recorded.weights
    if not (0 <= query < weights.shape[0] and 0 <= key < weights.shape[1]):
        raise IndexError(
            f"There are {weights.shape[0]} queries and {weights.shape[1]} keys, counted from 0; "
            f"there is no cell {query}, {key}."
        )
    if recorded.q is None or recorded.k is None or recorded.scores is None:
        raise ExportError(
            "Whole words have no query and no key of their own; read tokens to look into a cell."
        )
    one, other = recorded.q[query], recorded.k[key]
    return Numbers(
        {
            "attention": str(seen.site.kind),
            "layer": seen.site.layer,
            "head": head,
            "of_query": query,
            "of_key": key,
        },
        {"dimension": range(len(one)), "key": seen.keys},
        {
            "query_vector": (("dimension",), one),
            "key_vector": (("dimension",), other),
            "product": (("dimension",), one * other),
            "score": (("key",), recorded.scores[query]),
            "weight": (("key",), weights[query]),
            "allowed": (("key",), recorded.allowed[query]),
        },
    )


def mask_numbers(mask: Mask) -> Numbers:
    """Where a mask lets attention look, and the reason where it does not."""
    cells = ("query", "key")
    return Numbers(
        {"mask": mask.name},
        {"query": mask.queries, "key": mask.keys},
        {"allowed": (cells, mask.allowed), "reason": (cells, mask.said)},
    )


def table_numbers(table: FloatArray, dimensions: Sequence[int] | None = None) -> Numbers:
    """A table of positions, (position, d_model), or some of its dimensions."""
    chosen = range(table.shape[1]) if dimensions is None else dimensions
    return Numbers(
        {},
        {"position": range(len(table)), "dimension": chosen},
        {"value": (("position", "dimension"), table[:, list(chosen)])},
    )


def _as_text(text: str) -> str:
    """A text that a spreadsheet shows and does not compute."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _written(values: NDArray[Any]) -> NDArray[np.object_]:
    """Floats in the fewest digits that give them back exactly; None for what is no number."""
    written = values.astype(np.str_).astype(object)
    written[np.isnan(values)] = None
    return written


def _plain(values: NDArray[Any]) -> Any:
    """An array as lists of what JSON has; null for what is no finite number."""
    if values.dtype.kind != "f":
        return values.tolist()
    # By way of the fewest digits, as JSON's numbers are double: 0.1 and not 0.10000000149011612.
    precise = values.astype(np.str_).astype(np.float64)
    plain = precise.astype(object)
    plain[~np.isfinite(values)] = None
    return plain.tolist()


# ---- the Python of it ----------------------------------------------------------------------------


def notebook_lines(
    sentence: str,
    figure: Figure = "head",
    *,
    attention: AttentionKind | str = AttentionKind.CROSS,
    layer: int | None = None,
    head: int | None = None,
    query: int = 0,
    key: int = 0,
    dimensions: Sequence[int] = (0,),
    position: int = 0,
    target: str = "",
    reading: Reading = _AS_RECORDED,
    narrow: bool = False,
    dark: bool = False,
) -> cells.Lines:
    """The Python that makes the same figure in a notebook, for `cells.code`, without the model.

    Its last line is the figure, which a notebook shows. Arguments mean what they mean on the
    command line: `python -m viz export --help`.

    Args:
        sentence: the source; data, which cannot become code.
        figure: its name.
        attention: the kind, for figures of heads and masks.
        layer: counted from 0; None stands for all layers of "heads", and for the first elsewhere.
        head: counted from 0; None likewise.
        query: position, for "query-key".
        key: position, for "query-key".
        dimensions: for "waves"; the first of them gives "circle" its pair.
        position: for "circle".
        target: a translation of one's own; empty for the model's.
        reading: how the trace is read.
        narrow: for one column.
        dark: on a dark ground.

    Raises:
        ExportError: if there is no such figure.
    """
    look = cells.look(narrow=narrow, dark=dark)
    only_dark = ", dark=True" if dark else ""
    kind = repr(str(attention))
    reading_import, read = cells.as_read(reading)
    one_layer, one_head = layer or 0, head or 0
    trace = cells.recorded(sentence, target)
    base = "base = translator.positions.base"
    lines: dict[str, list[str]] = {
        "head": [
            "from viz.save.export import head_figure",
            reading_import,
            trace,
            f"head_figure({read}, {kind}, {one_layer}, {one_head}{look})",
        ],
        "heads": [
            "from viz.heads.overview import chosen_maps, heads_overview",
            reading_import,
            trace,
            f"heads_overview(*chosen_maps({read}, {kind}, {layer}, {head}){look})",
        ],
        "query-key": [
            "from viz.save.export import site_map",
            "from viz.heads.query_key import query_key_figure",
            reading_import,
            trace,
            f"seen = site_map({read}, {kind}, {one_layer})",
            f"query_key_figure(seen, {one_head}, {query}, {key}"
            f"{'' if narrow else ', side_by_side=True'}{only_dark})",
        ],
        "mask": [
            "from viz.masks.mask import batch_masks",
            "from viz.masks.panels import mask_figure",
            trace,
            f"mask = batch_masks([trace], 0, layer={one_layer})[{kind}]",
            f"mask_figure(mask{look})",
        ],
        "positions": [
            "from viz.positions.encoding import encoding_heatmap",
            f"tokens = translator.embedding_parts({sentence!r}).tokens",
            "table = translator.position_table(len(tokens))",
            "trained = translator.trained_positions()",
            f"encoding_heatmap(table, tokens=tokens, trained=trained{look})",
        ],
        "waves": [
            "from viz.positions.encoding import waves",
            cells.TRAINED_TABLE,
            base,
            f"waves(table, {list(dimensions)}, base=base{look})",
        ],
        "circle": [
            "from viz.positions.encoding import circle",
            cells.TRAINED_TABLE,
            base,
            f"circle(table, {dimensions[0] // 2}, {position}, base=base{look})",
        ],
        "likeness": cells.likeness(True, look),
        "offsets": cells.offsets(True, look),
        "parts": cells.parts(sentence, look),
        "terms": cells.terms(sentence, look),
    }
    if figure not in lines:
        raise ExportError(f"There is no figure {figure!r}; choose one of {', '.join(lines)}.")
    return lines[figure]
