"""A map that estimates what source tokens matter, beside the truth: their deletion."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.attribution import METHODS, TELLING, Attributions
from model.trace import FloatArray, Site
from viz.draw import style
from viz.draw.labels import axis_texts, escape_html, side_texts
from viz.effects.effect_map import lower_first
from viz.heads.heatmap import cell_names

TRUTH = "Truth"
_BESIDE = ", beside the truth"
LOSS = "loss without the source token"
"""What the numbers of the truth are."""

_BETWEEN, _BELOW = 0.04, 40
"""Between two maps side by side, as a share of the plot; and pixels between one and the next."""

_BAR, _NARROW_BAR = 200, 110
_RING, _DOT = 0.62, 0.24
"""The marks of a row, as shares of its height."""

_LARGEST_ROW = 30
"""Pixels of a row whose marks are as large as they become."""


def part_name(site: Site | None, head: int | None) -> str:
    """Whose map it is, inside a sentence."""
    if site is None:
        return "the whole model"
    return f"layer {site.layer}, {'all heads' if head is None else f'head {head}'}"


def beside_title(method: str, site: Site | None, head: int | None) -> str:
    """What both maps together are called."""
    return f"{METHODS[method].title} of {part_name(site, head)}{_BESIDE}"


def beside_figure(
    found: Attributions,
    method: str,
    site: Site | None = None,
    head: int | None = None,
    *,
    later: bool = False,
    token: int | None = None,
    alone: bool = False,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """The truth and an estimate: target tokens down, source tokens across, each on its own scale.

    The first two traces are the truth and the estimate, whose z are their values, unchanged. A ring
    marks in both maps the source token whose deletion costs a target token most, where it costs
    TELLING at least; a dot marks the greatest value of the estimate.

    Args:
        found: the maps of a sentence.
        method: of the estimate.
        site: of cross-attention; None for the whole model.
        head: None for all heads together.
        later: whether the estimate is read one row later.
        token: the target token to frame, from 0; None for none.
        alone: whether the estimate stands alone, with the rings of the truth: for a narrow stage.
        narrow: for a width below `style.NARROW`: one map below the other.
        dark: for a dark page.

    Raises:
        AttributionError: if there is no such map.
    """
    theme = style.look(dark)
    truth, estimate = found.deletion_losses, found.estimate(method, site, head, later=later)
    n_target, n_source = truth.shape
    columns = side_texts(found.source, narrow)
    plot = style.plot_height(n_target)
    room = style.NARROW_PLOT_WIDTH if narrow else style.PLOT_WIDTH // 2
    labels = style.labels_height(columns, room)
    shown = [(TRUTH, LOSS, truth), (METHODS[method].title, METHODS[method].unit, estimate)]
    if alone:
        del shown[0]
    count = len(shown)
    full = count * plot + (count - 1) * (_BELOW + labels) if narrow else plot
    title = beside_title(method, site, head)
    if alone:
        title = title.removesuffix(_BESIDE)
    shared = style.layout(
        theme,
        title="Beside the truth" if narrow and not alone else escape_html(title),
        height=full,
        top=labels + (style.LINE_HEIGHT if narrow else 0),
        lines=["Rows – target token predicted", "Columns – source token"] if narrow else [],
    )
    below = style.BOTTOM + 2 * style.LEGEND_HEIGHT if narrow else style.BOTTOM + style.LEGEND_HEIGHT
    height = shared["height"] - shared["margin"]["b"] + below
    layout: dict[str, Any] = {
        **shared,
        "height": height,
        "margin": {**shared["margin"], "b": below},
        "legend": style.legend_below(shared),
        "shapes": [],
    }
    names = cell_names(found.predictions, found.source)
    gap = 1 if n_target <= style.NUMBERED_ROWS else 0
    tops = _costliest(truth), _greatest(estimate)
    maps, marks = [], []
    for place, (name, unit, each) in enumerate(shown):
        suffix = ("", "2")[place]
        axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        scale = _scale(each, theme)
        bar = style.value_bar(theme, scale["zmax"], unit)
        if scale["zmin"] == 0:
            bar |= {"tickvals": [0, scale["zmax"]], "ticktext": ["0", f"{scale['zmax']:.3g}"]}
        if narrow:
            # Two of them share the width of a phone, so they say which and not what.
            bar["title"]["text"] = lower_first(name) if alone else ("truth", "estimate")[place]
            bar |= {"x": place, "xanchor": ("left", "right")[place], "len": _NARROW_BAR}
        else:
            bar |= {"x": place * (1 + _BETWEEN) / 2, "len": _BAR}
        bar |= {
            "y": (below - style.BOTTOM) / height,
        }
        maps.append(
            {
                "type": "heatmap",
                "z": each,
                **scale,
                "colorbar": bar,
                "xgap": gap,
                "ygap": gap,
                "customdata": names,
                "hovertemplate": style.hover_template(named=names is not None, unit=unit),
                "name": name,
                **axes,
            }
        )
        marks.append(_mark("circle-open", _RING, tops[0], each, scale, plot, theme) | axes)
        if each is estimate:
            marks.append(_mark("circle", _DOT, tops[1], each, scale, plot, theme) | axes)
        top = full if not (narrow and place) else plot
        across = [0.0, 1.0]
        if count == 2 and not narrow:
            across = [[0.0, (1 - _BETWEEN) / 2], [(1 + _BETWEEN) / 2, 1.0]][place]
        layout[f"xaxis{suffix}"] = style.axis(
            f"<b>{name}</b>" + ("" if narrow else f" – {unit}"),
            [escape_html(text) for text in columns],
            style.label_step(
                n_source,
                style.NARROW_LABELLED_COLUMNS if narrow else style.LABELLED_COLUMNS // 2,
            ),
            range=[-0.5, n_source - 0.5],
            domain=across,
            anchor=f"y{suffix}",
            side="top",
            autotickangles=[0, -90] if narrow else [0, -45, -90],
        )
        layout[f"yaxis{suffix}"] = style.axis(
            "" if narrow or place else "Target token predicted",
            [escape_html(text) for text in side_texts(found.predictions, narrow)],
            style.label_step(n_target, plot // style.MIN_ROW_HEIGHT),
            range=[n_target - 0.5, -0.5],
            domain=[max(0.0, (top - plot) / full), top / full],
            anchor=f"x{suffix}",
            showticklabels=narrow or not place,
        )
        if token is not None:
            layout["shapes"].append(_frame(token, n_source, suffix, theme))
    legend = [
        _legend("circle-open", "costs most when deleted", theme),
        _legend("circle", "greatest in this map", theme),
    ]
    return go.Figure({"data": [*maps, *marks, *legend], "layout": layout})


def _scale(values: FloatArray, theme: style.Look) -> dict[str, Any]:
    """From 0 up, or to both sides of 0 where a value is below it."""
    limit = max(float(np.nanmax(np.abs(values))), 1e-6)
    if np.nanmin(values) < 0:
        return {"zmin": -limit, "zmax": limit, "colorscale": theme.signed_colorscale}
    return {"zmin": 0, "zmax": limit, "colorscale": theme.colorscale}


def _costliest(truth: FloatArray) -> list[tuple[int, int]]:
    """The cells of the truth that are the greatest of their rows, where a row tells something."""
    return [(row, int(each.argmax())) for row, each in enumerate(truth) if each.max() >= TELLING]


def _greatest(estimate: FloatArray) -> list[tuple[int, int]]:
    """The cells of an estimate that are the greatest of their rows; none of a row all alike."""
    return [
        (row, int(column))
        for row, each in enumerate(estimate)
        if each.min() < each.max()
        for column in np.flatnonzero(each == each.max())
    ]


def _mark(
    symbol: str,
    share: float,
    cells: list[tuple[int, int]],
    values: FloatArray,
    scale: dict[str, Any],
    plot: int,
    theme: style.Look,
) -> dict[str, Any]:
    low, high = scale["zmin"], scale["zmax"]
    ink = theme.signed_ink if low < 0 else theme.ink
    shown = [float(values[cell]) for cell in cells]
    colors = [
        theme.text if np.isnan(value) else ink((value - low) / (high - low)) for value in shown
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [column for _, column in cells],
        "y": [row for row, _ in cells],
        "marker": {
            "symbol": symbol,
            "size": share * min(plot / len(values), _LARGEST_ROW),
            "color": colors,
            "line": {"width": 2},
        },
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _legend(symbol: str, name: str, theme: style.Look) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [None],
        "y": [None],
        "marker": {
            "symbol": symbol,
            "size": 14 if symbol == "circle-open" else 8,
            "color": theme.text,
            "line": {"width": 2, "color": theme.text},
        },
        "name": name,
        "showlegend": True,
    }


def _frame(token: int, n_source: int, suffix: str, theme: style.Look) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": f"x{suffix}",
        "yref": f"y{suffix}",
        "x0": -0.5,
        "x1": n_source - 0.5,
        "y0": token - 0.5,
        "y1": token + 0.5,
        "line": {"color": theme.accent, "width": 3},
    }


def beside_alt_text(
    found: Attributions, method: str, site: Site | None, head: int | None, later: bool
) -> str:
    """Both maps in words."""
    n_target, n_source = found.deletion_losses.shape
    tops = _costliest(found.deletion_losses)
    dots = set(_greatest(found.estimate(method, site, head, later=later)))
    row, column = np.unravel_index(found.deletion_losses.argmax(), found.deletion_losses.shape)
    target, source = axis_texts(found.predictions), axis_texts(found.source)
    return (
        f"{beside_title(method, site, head)}. Two heatmaps of {n_target} target tokens by "
        f"{n_source} source tokens. Deleting “{source[column]}” costs “{target[row]}” most of all, "
        f"{style.number(float(found.deletion_losses[row, column]))}. In {len(dots & set(tops))} of "
        f"{len(tops)} rows that some deletion costs {TELLING} or more, both maps are greatest at "
        "the same source token."
    )


def beside_caption(method: str, site: Site | None, later: bool) -> str:
    """How to read both maps, in plain text."""
    told = METHODS[method]
    of_model = "" if site is None else " The truth is of the whole model, of which this is a part."
    read = (
        " This layer is read one row later, in the row that has read the token, so there is none "
        "for the last."
        if later
        else ""
    )
    return (
        "Truth: each source token in turn is deleted from attention, and a cell is the "
        "log-probability that a target token then loses. The other map is an estimate, made "
        "without deleting anything. Where dot and ring meet, they agree on what matters most."
        f"{of_model}{read} {told.title}: {told.paper}. It leaves out: "
        f"{lower_first(told.leaves_out)}"
    )


def token_sentence(
    found: Attributions, method: str, site: Site | None, head: int | None, later: bool, token: int
) -> str:
    """What both maps say of one target token, in plain text."""
    source, name = axis_texts(found.source), axis_texts(found.predictions)[token]
    losses = found.deletion_losses[token]
    costliest = int(losses.argmax())
    first = (
        f"“{name}” loses most without “{source[costliest]}”: "
        f"{style.number(float(losses[costliest]))}"
    )
    tops = [
        f"“{source[column]}”"
        for row, column in _greatest(found.estimate(method, site, head, later=later))
        if row == token
    ]
    name = f"{METHODS[method].title} of {part_name(site, head)}"
    if not tops:
        return f"{first}. {name}: nothing is greatest."
    return f"{first}. {name}: the greatest is at {' and '.join(tops)}."
