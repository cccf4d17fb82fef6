"""A chart: a title, one plot or several small ones, and what lies around them."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

import plotly.graph_objects as go

from viz.charts.axes import Axis
from viz.charts.marks import Mark, Sheet
from viz.charts.scale import Scale
from viz.draw import style, themes
from viz.draw.labels import escape_html

HEIGHT = 320
"""Pixels of a plot of lines."""

LINE = 46
"""The characters that fit into a line below a narrow title."""

TITLE = (78, 40)
"""The same of a title, wide and narrow."""

Ends = list[float]

Places = tuple[float, Sequence[tuple[Ends, Ends]]]
"""The height of all plots in pixels, and where each lies across and up, as shares."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a figure is laid out and coloured: for one column, for a slide, on a dark ground."""

    narrow: bool = False
    slide: bool = False
    dark: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One plot: two axes and what is drawn between them.

    Attributes:
        marks: from the back to the front.
        heading: above it, plain text.
        height: in pixels.
        below: pixels of what stands right below it.
        scale: of its cells, where it is not the chart's.
        heading_size: in pixels.
    """

    across: Axis
    up: Axis
    marks: Sequence[Mark]
    heading: str = ""
    height: float = HEIGHT
    below: float = 0
    scale: Scale | None = None
    heading_size: int = style.FONT_SIZE


def chart(
    layout: Layout,
    title: str,
    plots: Plot | Sequence[Plot],
    *,
    short: str | None = None,
    lines: Sequence[str] | None = None,
    scale: Scale | None = None,
    top: int = 0,
    below: int | tuple[int, int] = style.BOTTOM,
    always: Sequence[str] = (),
    abreast: int | None = None,
    between: float = 0.055,
    beside: tuple[float, float] = (0, 0),
    gap: float = 70,
    places: Places | None = None,
    ground: str = style.CLEAR,
    **more: Any,
) -> go.Figure:
    """One plot, or several side by side, which in a narrow figure stand below each other.

    The first traces are the cells of all plots, in their order; then the first of their other
    marks, the second, and so on.

    Args:
        title: in sentence case, plain text.
        short: the title of a narrow figure; None for the same.
        lines: below the title of a narrow figure, in place of axis titles, plain text; None for
            the titles of the axes of the first plot.
        scale: of all cells that have none of their own.
        top: pixels above the plots, for what stands there.
        below: pixels below them, for axis titles, legend and colour bar; where narrow ones need
            others, both.
        always: lines below the title of every figure, after those of a narrow one, already safe
            to show.
        abreast: how many plots stand side by side, those of one height; None for all.
        between: the room between two plots, as a share of the width.
        beside: the room for texts at the right of each plot, the same; wide and narrow.
        gap: pixels between two plots that stand below each other.
        places: where each plot lies, in place of all that.
    """
    plots = [plots] if isinstance(plots, Plot) else plots
    theme, narrow = themes.page(layout.dark), layout.narrow
    columns = 1 if narrow else abreast or len(plots)
    full, ends = places or _places(plots, columns, between, beside[narrow], gap)
    if lines is None:
        lines = [f"Across – {plots[0].across.line}", f"Up – {plots[0].up.line}"]
    heading = title if not narrow or short is None else short
    spec = style.layout(
        theme,
        title=[*map(escape_html, textwrap.wrap(heading, TITLE[narrow]))],
        height=round(full),
        below=below if isinstance(below, int) else below[narrow],
        top=top,
        lines=[*(map(escape_html, lines) if narrow else ()), *always],
    )
    spec["plot_bgcolor"] = theme.color(ground)
    if scale is None:
        # In the lower left corner, in the order of the data.
        place = {"x": 0, "xref": "container", "xanchor": "left", "y": 0, "traceorder": "normal"}
        spec["legend"] |= place
    else:
        spec["coloraxis"] = scale.axis(theme, narrow, spec["height"])
    sheets: list[Sheet] = []
    layers: list[list[list[Any]]] = []
    for number, (plot, (across, down)) in enumerate(zip(plots, ends, strict=True)):
        sheet = Sheet(
            theme=theme,
            narrow=narrow,
            number=number,
            height=round(plot.height),
            at=plot.across.at,
            rows=plot.up.at,
            scale=plot.scale or scale,
            full=spec["height"],
        )
        first = not number % columns
        x = plot.across.drawn(theme, narrow, first=True)
        y = plot.up.drawn(theme, narrow, rows=round(plot.height), first=first)
        if places or len(plots) > 1:
            x = {"domain": across, "anchor": f"y{sheet.suffix}"} | x
            y = {"domain": down, "anchor": f"x{sheet.suffix}"} | y
        spec |= {f"xaxis{sheet.suffix}": x, f"yaxis{sheet.suffix}": y}
        if plot.heading:
            text = escape_html(plot.heading)
            size = plot.heading_size
            sheet.notes.append(style.heading(theme, text, across[0], down[1], size=size))
        layers.append([sheet.drawn(mark) for mark in plot.marks])
        sheets.append(sheet)
    return go.Figure(
        {
            "data": [
                *(trace for sheet in sheets for trace in sheet.first),
                *chain.from_iterable(chain.from_iterable(zip_longest(*layers, fillvalue=()))),
                # What several plots mean by one mark is said once.
                *{trace["name"]: trace for sheet in sheets for trace in sheet.last}.values(),
            ],
            "layout": {
                **spec,
                "shapes": [shape for sheet in sheets for shape in sheet.shapes],
                "annotations": [note for sheet in sheets for note in sheet.notes],
                **more,
            },
        }
    )


def empty_chart(layout: Layout, title: str, sentence: str, *, height: int) -> go.Figure:
    """One sentence in place of a plot."""
    nothing = Plot(across=Axis(), up=Axis(), marks=[], height=height)
    note = style.without_plot(themes.page(layout.dark), escape_html(sentence))
    return chart(layout, title, nothing, lines=[], **note)


def filling(figure: go.Figure) -> go.Figure:
    """A wide figure, changed in place: without its title, and as high as its place."""
    top = figure.layout.margin.t - style.TITLE_HEIGHT
    return figure.update_layout(title_text="", margin_t=top, height=None, autosize=True)


def title_lines(title: str, *more: str) -> list[str]:
    """A whole title in lines, for a narrow figure whose title is short, and lines after it."""
    return [*textwrap.wrap(title, LINE), *more]


def _places(
    plots: Sequence[Plot], columns: int, between: float, beside: float, gap: float
) -> Places:
    rows = [plots[start : start + columns] for start in range(0, len(plots), columns)]
    heights = [max(plot.height + plot.below for plot in row) for row in rows]
    full = sum(heights) + gap * (len(rows) - 1)
    slot = (1 - between * (columns - 1)) / columns
    places: list[tuple[Ends, Ends]] = []
    top = full
    for row, height in zip(rows, heights, strict=True):
        for column, plot in enumerate(row):
            left = column * (slot + between)
            across = [left, min(1.0, left + slot - beside)]
            places.append((across, [max(0.0, (top - plot.height) / full), top / full]))
        top -= height + gap
    return full, places
