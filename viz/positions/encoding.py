"""Position encodings as pictures (Vaswani et al. 2017, section 3.5), of any table handed in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.position_measures import (
    BASE,
    EQUAL,
    ROUND,
    ByOffset,
    Values,
    by_offset,
    likeness,
    on_circle,
    pair_of,
    require_index,
    require_table,
    rotation_angles,
    rotation_deviation,
    row_norms,
    wavelengths,
)
from model.trace.attention_map import FloatArray, Tokens
from viz.draw import style
from viz.draw.labels import escape_html, side_texts

MODEL_TITLE = "Position encodings"
FORMULA_TITLE = "The formula, not the model"
"""What a heatmap is called that shows a model's table, and one that shows the formula alone."""

NAMED_POSITIONS = 64
"""Up to so many positions, tokens stand on the axis of positions."""

AROUND = 32
"""Positions at either side of a marked one that waves are shown over: more hide the fast ones."""

TRAIL = 16
"""Steps behind the point on its circle that are drawn as a line; all earlier ones are dots."""

_CURVE_HEIGHT = 320
_SQUARE_HEIGHT, _NARROW_SQUARE_HEIGHT = style.COMFORTABLE_HEIGHT, 280
_AXIS_HEIGHT, _NARROW_AXIS_HEIGHT = 54, 30
_LEGEND_ENTRIES, _NARROW_LEGEND_ENTRIES = 3, 1
_DASHES = ("solid", "dash", "dot")
_SQUARE = {"scaleanchor": "y", "constrain": "domain", "constraintoward": "left"}

_TABLE_HOVER = (
    "position <b>%{y}</b><br>dimension <b>%{x}</b><br>value <b>%{z:.6~g}</b><extra></extra>"
)
_TOKEN_HOVER = "<b>%{y}</b><br>dimension <b>%{x}</b><br>value <b>%{z:.6~g}</b><extra></extra>"
_PAIR_HOVER = "positions <b>%{y}</b> and <b>%{x}</b><br><b>%{z:.6~g}</b><extra></extra>"
_WAVE_HOVER = "position <b>%{x}</b><br>value <b>%{y:.6~g}</b><extra>%{fullData.name}</extra>"
_OFFSET_HOVER = (
    "offset <b>%{x}</b><br>mean <b>%{y:.6~g}</b><br>"
    "from %{customdata[0]:.6~g} to %{customdata[1]:.6~g}<extra></extra>"
)
_CIRCLE_HOVER = "position <b>%{text}</b><br>(%{x:.4~f}, %{y:.4~f})<extra></extra>"


# The table itself.


def encoding_heatmap(
    table: FloatArray,
    *,
    tokens: Tokens | None = None,
    title: str = MODEL_TITLE,
    trained: int | None = None,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """A table of positions: position down, dimension across, on one scale to both sides of 0.

    The first trace's z is the table, unchanged.

    Args:
        table: (position, d_model).
        tokens: of a sentence, from position 0 on; they stand on the axis while there are at most
            NAMED_POSITIONS positions. Positions after the last token keep their number.
        title: what the table is, such as FORMULA_TITLE.
        trained: how many of a learned table's first rows training reached; those below a line are
            as they were drawn before it. None where that is not known or nothing was learned.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.

    Raises:
        ValueError: if the table is empty or not finite, or there are more tokens than positions.
    """
    require_table(table)
    theme = style.look(dark)
    length, d_model = table.shape
    if tokens is not None and len(tokens) > length:
        raise ValueError(
            f"Each token needs a position: there are {len(tokens)} tokens and {length} positions."
        )
    named = tokens is not None and length <= NAMED_POSITIONS
    limit = _limit(table)
    height = style.plot_height(length) if named else style.COMFORTABLE_HEIGHT
    rows, columns = ("Token" if named else "Position"), "Dimension"
    downward = {"range": [length - 0.5, -0.5]}
    if named and tokens is not None:
        texts = [escape_html(text) for text in side_texts(tokens, narrow)]
        texts += [str(position) for position in range(len(tokens), length)]
        step = style.label_step(length, height // style.MIN_ROW_HEIGHT)
        down = style.axis("" if narrow else rows, texts, step, **downward)
    else:
        down = _numbered("" if narrow else rows, length) | downward
    heatmap = {
        "type": "heatmap",
        "z": table,
        "zmin": -limit,
        "zmax": limit,
        "colorscale": theme.signed_colorscale,
        "colorbar": style.value_bar(theme, limit, "value", narrow=narrow),
        "hovertemplate": _TOKEN_HOVER if named else _TABLE_HOVER,
        "name": "encoding",
    }
    layout = {
        **style.bar_layout(
            theme,
            title=escape_html(title),
            height=height,
            top=style.FONT_SIZE + 10,
            lines=[f"Rows – {rows.lower()}", f"Columns – {columns.lower()}"] if narrow else [],
        ),
        "xaxis": _numbered("" if narrow else columns, d_model, side="top"),
        "yaxis": down,
        **(_untrained_mark(theme, trained, length) if _has_untrained(trained, length) else {}),
    }
    return go.Figure({"data": [heatmap], "layout": layout})


def encoding_alt_text(
    table: FloatArray, *, title: str = MODEL_TITLE, trained: int | None = None
) -> str:
    """The heatmap in words, for those who do not see it; arguments as in `encoding_heatmap`."""
    require_table(table)
    norms = row_norms(table)
    low, high = float(table.min()), float(table.max())
    return (
        f"{title}: {style.count_of(table.shape[0], 'position')} by "
        f"{style.count_of(table.shape[1], 'dimension')}, "
        f"values from {style.number(low)} to {style.number(high)}; "
        f"{_between('the norm of a row is', norms)}."
        + (
            f" Training never reached {_rows(trained, len(table))}."
            if _has_untrained(trained, len(table))
            else ""
        )
    )


def encoding_caption(
    table: FloatArray, *, base: float | None = BASE, trained: int | None = None
) -> str:
    """How to read the heatmap, in plain text.

    Args:
        table: (position, d_model).
        base: of the wavelengths, or None for a table that was learned.
        trained: how many of a learned table's first rows training reached; None if that is not
            known.
    """
    read = "A row is the vector that is added to the word at that position."
    if base is None:
        if trained is None:
            learned = "The table is learned"
        elif trained < len(table):
            reached = _rows(0, trained)
            learned = f"{reached.capitalize()} were learned in training"
        else:
            learned = "The rows were learned in training"
        return (
            f"{read} {learned}, so the columns have no wavelength and no order of their own. This "
            "table is the encoder’s; the decoder learned one for itself."
            f"{untrained_words(len(table), trained)}"
        )
    lengths = wavelengths(table.shape[1], base)
    return (
        f"{read} Even columns are sines and odd ones cosines; a pair on the left turns fast, once "
        f"in {style.number(lengths[0])} positions, the last one on the right once in "
        f"{_positions(lengths[-1])}."
    )


def untrained_words(length: int, trained: int | None, *, shown: bool = True) -> str:
    """What has to be said of the rows of a learned table that training may not have reached.

    Args:
        length: rows of the table.
        trained: how many of the first of them training reached; None if that is not known.
        shown: whether the others are in the picture.

    Returns:
        a sentence with a space before it; empty if training reached them all.
    """
    if trained is None:
        return (
            " How far training reached is not recorded: rows beyond its longest source still hold "
            "the random numbers that they began with."
        )
    if trained >= length:
        return ""
    rows = _rows(trained, length)
    if shown:
        return (
            f" No source in training was longer: below the line, {rows} still hold the random "
            "numbers that they began with."
        )
    return f" Left out: {rows}, since no source in training was so long."


# Waves and the circle.


def waves(
    table: FloatArray,
    dimensions: Sequence[int],
    *,
    base: float | None = BASE,
    position: int | None = None,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Chosen dimensions over position, as lines.

    Args:
        table: (position, d_model).
        dimensions: those to draw, in this order; one line each, with its wavelength in its name.
        base: of the wavelengths, or None for a table that was learned and has none.
        position: one to mark with an upright line; the view then opens on AROUND positions at
            either side of it.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.

    Raises:
        IndexError: if there is no such dimension or position.
        ValueError: if the table is empty or not finite, or no formula has its width and base.
    """
    names = _wave_names(table, dimensions, base)
    theme = style.look(dark)
    positions = np.arange(len(table))
    colors = theme.heads
    data = [
        {
            "type": "scatter",
            "x": positions,
            "y": np.ascontiguousarray(table[:, dimension]),
            "mode": "lines" if len(table) > 1 else "markers",
            "line": {
                "color": colors[place % len(colors)],
                "width": 2,
                "dash": _DASHES[place // len(colors) % len(_DASHES)],
            },
            "hovertemplate": _WAVE_HOVER,
            "name": name,
            "showlegend": True,
        }
        for place, (dimension, name) in enumerate(zip(dimensions, names, strict=True))
    ]
    shown, marks = _ends(len(table)), []
    if position is not None:
        require_index("position", position, len(table))
        shown = _ends_around(position, len(table))
        ends = {"x0": position, "x1": position, "y0": 0, "y1": 1, "yref": "paper"}
        marks = [{"type": "line", **ends, "line": {"color": theme.text, "width": 1.5}}]
    limit = 1.05 * _limit(table)
    entries = _NARROW_LEGEND_ENTRIES if narrow else _LEGEND_ENTRIES
    layout = {
        **_curve_layout(
            theme,
            "Dimensions over position",
            legend_rows=-(-len(names) // entries),
            narrow=narrow,
            lines=["Across – position, up – value"] if narrow else [],
        ),
        "xaxis": _curve_axis(theme, "" if narrow else "Position") | {"range": shown},
        "yaxis": _curve_axis(theme, "" if narrow else "Value") | {"range": [-limit, limit]},
        "shapes": marks,
    }
    return go.Figure({"data": data, "layout": layout})


def waves_alt_text(
    table: FloatArray, dimensions: Sequence[int], *, base: float | None = BASE
) -> str:
    """The waves in words; arguments and errors as in `waves`."""
    names = "; ".join(_wave_names(table, dimensions, base)) or "none is chosen"
    return f"Dimensions over {style.count_of(len(table), 'position')}, one line each: {names}."


def waves_caption(
    table: FloatArray, dimensions: Sequence[int], *, base: float | None = BASE
) -> str:
    """Which of the chosen dimensions turn fast and which slowly, in plain text.

    Arguments and errors as in `waves`.
    """
    _wave_names(table, dimensions, base)
    if base is None:
        return "These dimensions were learned: they need not be waves, and none has a wavelength."
    if not dimensions:
        return "Choose a dimension to see its wave."
    turns = wavelengths(table.shape[1], base)
    fast, slow = min(dimensions), max(dimensions)
    if base < 1:
        fast, slow = slow, fast
    words = _turning(fast, turns, len(table))
    if fast // 2 == slow // 2:
        return f"Dimension {fast} {words}."
    return (
        f"Dimension {fast} turns fastest of these: it {words}. Dimension {slow} turns slowest: it "
        f"{_turning(slow, turns, len(table))}."
    )


def circle(
    table: FloatArray,
    pair: int,
    position: int,
    *,
    base: float | None = BASE,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """The sine and the cosine of one frequency as a point that moves with the position.

    The cosine, dimension 2 · pair + 1, runs across and the sine up, so that a point starts on the
    right and turns to the left. The circle is drawn only where the table's own points lie on one.

    Args:
        table: (position, d_model), d_model even.
        pair: counted from 0.
        position: of the point; earlier ones are its trail.
        base: of the wavelengths, or None for a table that was learned and has none.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.

    Raises:
        ValueError: if d_model is odd.
        IndexError: if there is no such pair or position.
    """
    sine, cosine = pair_of(table, pair)
    require_index("position", position, len(table))
    theme = style.look(dark)
    data: list[dict[str, Any]] = []
    if on_circle(table, pair):
        radius = float(np.hypot(sine, cosine).mean())
        angles = np.linspace(0, 2 * math.pi, 181)
        data.append(
            {
                "x": radius * np.cos(angles),
                "y": radius * np.sin(angles),
                "mode": "lines",
                "line": {"color": theme.muted, "width": 1, "dash": "dot"},
                "hoverinfo": "skip",
                "name": "the circle that all positions lie on",
            }
        )
    trail = slice(max(0, position - TRAIL), position + 1)
    data += [
        {
            "x": cosine[:position],
            "y": sine[:position],
            "text": np.arange(position),
            "mode": "markers",
            "marker": {"color": theme.beside, "size": 6},
            "hovertemplate": _CIRCLE_HOVER,
            "name": "earlier positions",
        },
        {
            "x": cosine[trail],
            "y": sine[trail],
            "mode": "lines",
            "line": {"color": theme.beside, "width": 2},
            "hoverinfo": "skip",
            "name": "the last steps",
        },
        {
            "x": [0, cosine[position]],
            "y": [0, sine[position]],
            "mode": "lines",
            "line": {"color": theme.positive, "width": 2},
            "hoverinfo": "skip",
            "name": "from the origin",
        },
        {
            "x": [cosine[position]],
            "y": [sine[position]],
            "text": [position],
            "mode": "markers",
            "marker": {"color": theme.positive, "size": 14},
            "hovertemplate": _CIRCLE_HOVER,
            "name": "the position",
        },
    ]
    limit = 1.15 * _limit(np.stack([sine, cosine]))
    across, up = f"Dimension {2 * pair + 1}", f"Dimension {2 * pair}"
    lines = [f"Across – {across.lower()}, up – {up.lower()}"] if narrow else []
    if base is not None:
        turn = _positions(wavelengths(table.shape[1], base)[pair])
        lines.append(f"One turn takes {turn}")
    layout = {
        **_curve_layout(
            theme,
            f"Pair {pair} at position {position}",
            height=_NARROW_SQUARE_HEIGHT if narrow else _SQUARE_HEIGHT,
            narrow=narrow,
            lines=lines,
        ),
        "showlegend": False,
        "xaxis": _curve_axis(theme, "" if narrow else across)
        | _SQUARE
        | {"range": [-limit, limit]},
        "yaxis": _curve_axis(theme, "" if narrow else up) | {"range": [-limit, limit]},
    }
    return go.Figure({"data": [{"type": "scatter", **trace} for trace in data], "layout": layout})


def circle_alt_text(table: FloatArray, pair: int, position: int) -> str:
    """The point on its circle in words; arguments and errors as in `circle`."""
    sine, cosine = pair_of(table, pair)
    require_index("position", position, len(table))
    where = "on a circle" if on_circle(table, pair) else "on no circle"
    return (
        f"Dimensions {2 * pair} and {2 * pair + 1} of all positions as points {where}; position "
        f"{position} stands at {style.number(float(cosine[position]))} across and "
        f"{style.number(float(sine[position]))} up."
    )


def circle_caption(table: FloatArray, pair: int) -> str:
    """How to read the point, in plain text; arguments and errors as in `circle`."""
    if not on_circle(table, pair):
        return (
            "These two dimensions trace no circle: their distance from the origin changes with the "
            "position, so a shift is not a rotation here."
        )
    step = math.degrees(float(rotation_angles(table, 1)[pair])) if len(table) > 1 else math.nan
    turned = "" if math.isnan(step) else f" Each step turns it by {style.number(step)}°."
    return (
        "The sine runs up and the cosine across, so the pair is a point on a circle, and a later "
        f"position is the same point turned further.{turned} Measured on the table."
    )


# Likeness.


def likeness_heatmap(
    table: FloatArray, *, cosine: bool, narrow: bool = False, dark: bool = False
) -> go.Figure:
    """How alike every two positions are, on one scale to both sides of 0.

    Args:
        table: (position, d_model).
        cosine: the cosine, on the scale -1 to 1, and not the dot product.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.

    Raises:
        ValueError: if the table is empty or not finite.
    """
    theme = style.look(dark)
    alike = likeness(table, cosine=cosine).astype(np.float32)
    limit = 1.0 if cosine else _limit(alike)
    length = len(alike)
    name = _likeness_name(cosine)
    heatmap = {
        "type": "heatmap",
        "z": alike,
        "zmin": -limit,
        "zmax": limit,
        "colorscale": theme.signed_colorscale,
        "colorbar": style.value_bar(theme, limit, name, narrow=narrow),
        "hovertemplate": _PAIR_HOVER,
        "name": name,
    }
    side = "" if narrow else "Position"
    layout = {
        **style.bar_layout(
            theme,
            title=f"{name.capitalize()} of every two positions",
            height=_NARROW_SQUARE_HEIGHT if narrow else _SQUARE_HEIGHT,
            top=style.FONT_SIZE + 10,
            lines=["Rows and columns – position"] if narrow else [],
        ),
        "xaxis": _numbered(side, length, side="top") | _SQUARE,
        "yaxis": _numbered(side, length)
        | {"range": [length - 0.5, -0.5], "constrain": "domain", "constraintoward": "top"},
    }
    return go.Figure({"data": [heatmap], "layout": layout})


def likeness_alt_text(table: FloatArray, *, cosine: bool) -> str:
    """The matrix of likeness in words; arguments and errors as in `likeness_heatmap`."""
    found = by_offset(table, cosine=cosine)
    name = _likeness_name(cosine)
    neighbours = (
        f"; neighbours have {style.number(float(found.mean[1]))} on average"
        if len(table) > 1
        else ""
    )
    return (
        f"{name.capitalize()} of every two of {style.count_of(len(table), 'position')}: "
        f"a position with itself has {style.number(float(found.mean[0]))} on average{neighbours}, "
        f"and the least of all is {style.number(float(found.low.min()))}."
    )


def likeness_caption(table: FloatArray, *, cosine: bool) -> str:
    """What the matrix shows, with what was measured on the table, in plain text.

    Arguments and errors as in `likeness_heatmap`.
    """
    found = by_offset(table, cosine=cosine)
    deviation = float((found.high - found.low).max())
    largest = float(np.maximum(np.abs(found.high), np.abs(found.low)).max())
    name = _likeness_name(cosine)
    words = (
        f"The lines parallel to the diagonal have one colour: the {name} depends on how far "
        "apart two positions are, and not on where they stand."
        if deviation <= ROUND * largest
        else f"The lines parallel to the diagonal change their colour: the {name} depends on "
        "where two positions stand, too."
    )
    alike = (
        f"all {name}s are equal up to rounding"
        if _is_one(found)
        else f"{name}s differ by at most {style.number(deviation)}"
    )
    return f"{words} At one offset, {alike}."


def by_offset_figure(
    table: FloatArray, *, cosine: bool = False, narrow: bool = False, dark: bool = False
) -> go.Figure:
    """Likeness averaged by offset as a curve.

    Everything between least and greatest is shaded, unless they are equal up to rounding. Arguments
    and errors as in `likeness_heatmap`.
    """
    found = by_offset(table, cosine=cosine)
    theme = style.look(dark)
    name = _likeness_name(cosine)
    edge = {
        "type": "scatter",
        "x": found.offsets,
        "mode": "lines",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    band = [
        {**edge, "y": found.low, "showlegend": False, "name": "least"},
        {
            **edge,
            "y": found.high,
            "fill": "tonexty",
            "fillcolor": theme.hatch,
            "name": "from least to greatest",
        },
    ]
    data = [
        *([] if _is_one(found) else band),
        {
            "type": "scatter",
            "x": found.offsets,
            "y": found.mean,
            "mode": "lines" if len(table) > 1 else "markers",
            "line": {"color": theme.accent, "width": 2},
            "customdata": np.stack([found.low, found.high], axis=-1),
            "hovertemplate": _OFFSET_HOVER,
            "name": "mean",
        },
    ]
    layout = {
        **_curve_layout(
            theme,
            f"{name.capitalize()} by offset",
            legend_rows=0 if _is_one(found) else 1,
            narrow=narrow,
            lines=[f"Across – offset, up – {name}"] if narrow else [],
        ),
        "xaxis": _curve_axis(theme, "" if narrow else "Offset k") | {"range": _ends(len(table))},
        "yaxis": _curve_axis(theme, "" if narrow else name.capitalize()) | {"zeroline": True},
    }
    return go.Figure({"data": data, "layout": layout})


def by_offset_alt_text(table: FloatArray, *, cosine: bool = False) -> str:
    """The curve in words; arguments and errors as in `likeness_heatmap`."""
    found = by_offset(table, cosine=cosine)
    lowest = int(np.argmin(found.mean))
    return (
        f"{_likeness_name(cosine).capitalize()} of positions p and p + k, averaged over p: "
        f"{style.number(float(found.mean[0]))} at offset 0, least at offset {lowest} with "
        f"{style.number(float(found.mean[lowest]))}; at one offset "
        + (
            "all are equal up to rounding."
            if _is_one(found)
            else f"it varies by at most {style.number(float((found.high - found.low).max()))}."
        )
    )


def by_offset_caption(table: FloatArray, offset: int = 1, *, cosine: bool = False) -> str:
    """What the curve shows, and how well a shift is a rotation, in plain text.

    Args:
        table: (position, d_model).
        offset: of the shift that is measured.
        cosine: as in `by_offset_figure`.

    Raises:
        ValueError: if no two positions are so far apart.
    """
    read = (
        f"All pairs of positions at one offset have the same {_likeness_name(cosine)}."
        if _is_one(by_offset(table, cosine=cosine))
        else "The line is the mean over all pairs of positions at one offset, and the shade runs "
        "from the least to the greatest of them."
    )
    if table.shape[1] % 2:
        return read
    deviation, largest = rotation_deviation(table, offset), float(np.abs(table).max())
    shift = (
        "is one rotation of each pair of dimensions wherever it starts, "
        + (
            "up to rounding"
            if deviation <= EQUAL * largest
            else f"up to {style.number(deviation)} in any number"
        )
        if deviation <= ROUND * largest
        else "is no rotation of the pairs of dimensions: the one that fits best is off by up to "
        f"{style.number(deviation)} in a number, and the largest of the table is "
        f"{style.number(largest)}"
    )
    return f"{read} A shift by {offset} {shift}."


def _is_one(found: ByOffset) -> bool:
    """Whether all values at one offset are equal up to rounding."""
    largest = np.maximum(np.abs(found.high), np.abs(found.low)).max()
    return bool((found.high - found.low).max() <= EQUAL * largest)


# What the figures share.


def _has_untrained(trained: int | None, length: int) -> TypeGuard[int]:
    return trained is not None and trained < length


def _rows(first: int, end: int) -> str:
    return f"row {first}" if end - first == 1 else f"rows {first} to {end - 1}"


def _untrained_mark(theme: style.Look, trained: int, length: int) -> dict[str, Any]:
    """A line above the rows that training never reached, and what they are."""
    # Below the line where there is room for a text, else above it.
    below = length - trained >= length / 8
    line = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": trained - 0.5,
        "y1": trained - 0.5,
        "line": {"color": theme.text, "width": 1.5, "dash": "dash"},
    }
    text = {
        "text": f"{'↓ ' if not below else ''}never trained: still random",
        "xref": "paper",
        "x": 0.5,
        "y": trained - 0.5,
        "yanchor": "top" if below else "bottom",
        "yshift": -6 if below else 6,
        "showarrow": False,
        "bgcolor": theme.hover,
        "borderpad": 3,
        "font": {"size": style.SMALL_FONT_SIZE, "color": theme.text},
    }
    return {"shapes": [line], "annotations": [text]}


def _limit(values: NDArray[np.floating[Any]]) -> float:
    # Zeros throughout, as positions scaled to nothing are, still need a scale.
    return float(np.abs(values).max()) or 1.0


def _numbered(title: str, length: int, **more: Any) -> dict[str, Any]:
    """An axis over 0, 1, … that labels round numbers by itself."""
    return {
        "title": style.axis_title(title),
        "range": [-0.5, length - 0.5],
        "tickmode": "auto",
        "nticks": 9,
        "tickformat": "d",
        "ticks": "",
        "ticklabelstandoff": 6,
        "tickfont": {"size": style.SMALL_FONT_SIZE},
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        **more,
    }


def _curve_axis(theme: style.Look, title: str) -> dict[str, Any]:
    return {
        "title": style.axis_title(title),
        "nticks": 7,
        "tickfont": {"size": style.SMALL_FONT_SIZE},
        "gridcolor": theme.grid,
        "zeroline": False,
        "zerolinecolor": theme.muted,
        "automargin": True,
    }


def _curve_layout(
    theme: style.Look,
    title: str,
    *,
    height: int = _CURVE_HEIGHT,
    legend_rows: int = 0,
    narrow: bool = False,
    lines: Sequence[str] = (),
) -> dict[str, Any]:
    """The layout of curves: nothing above the plot but its title, the legend below it in rows."""
    shared = style.layout(theme, title=title, height=height, lines=lines)
    axis = _NARROW_AXIS_HEIGHT if narrow else _AXIS_HEIGHT
    below = axis + style.LEGEND_HEIGHT * legend_rows
    return {
        **shared,
        "height": shared["height"] - shared["margin"]["b"] + below,
        "margin": {**shared["margin"], "b": below},
        "plot_bgcolor": style.CLEAR,
        "legend": style.legend_below(shared),
    }


def _ends(length: int) -> list[float]:
    # One position alone still needs a width.
    return [0, length - 1] if length > 1 else [-0.5, 0.5]


def _ends_around(position: int, length: int) -> list[float]:
    """Of the positions around one, as many as without it at an edge."""
    low = max(0, min(position - AROUND, length - 1 - 2 * AROUND))
    return _ends(length) if length <= 2 * AROUND else [low, low + 2 * AROUND]


def _wave_names(table: FloatArray, dimensions: Sequence[int], base: float | None) -> list[str]:
    require_table(table)
    for dimension in dimensions:
        require_index("dimension", dimension, table.shape[1])
    if base is None:
        return [f"dimension {dimension}" for dimension in dimensions]
    turns = wavelengths(table.shape[1], base)
    return [
        f"dimension {dimension} ({'cos' if dimension % 2 else 'sin'}), wavelength "
        f"{_length(turns[dimension // 2])}"
        for dimension in dimensions
    ]


def _turning(dimension: int, turns: Values, length: int) -> str:
    turn = float(turns[dimension // 2])
    around = length / turn
    share = (
        f"{around:,.1f} times over the {style.count_of(length, 'position')} shown"
        if around >= 1
        else f"{_percent(around)} of one turn over the {style.count_of(length, 'position')} shown"
    )
    return f"turns once in {_positions(turn)}, {share}"


def _percent(share: float) -> str:
    return style.percent(share) if share >= 0.01 else "less than 1%"


def _positions(turn: float) -> str:
    return f"{_length(turn)} positions"


def _length(turn: float) -> str:
    return f"{turn:,.0f}" if turn >= 100 else style.number(turn)


def _likeness_name(cosine: bool) -> str:
    return "cosine" if cosine else "dot product"


def _between(words: str, values: Values) -> str:
    low, high = style.number(float(values.min())), style.number(float(values.max()))
    return f"{words} {low} throughout" if low == high else f"{words} between {low} and {high}"
