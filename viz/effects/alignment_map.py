"""Alignment error of every head and layer of cross-attention, as a layer by head map."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.alignment_error import ErrorRate
from model.explain.alignment_table import AlignmentTable, Combination, Read
from viz.draw import style
from viz.effects.layer_head_axes import add_axes

TITLE = "Alignment error of every head"
UNIT = "alignment error in per cent"
ROWS = {False: "Output row", True: "One row later"}
"""In which row a target word is read, by `Read.later`."""

_ROW, _GAP, _HEADING, _AXIS, _NARROW_AXIS = 44, 70, 24, 46, 24
_BETWEEN = 0.055
_NUMBERED = 12
"""Up to so many heads, a cell has room for its number."""


def error_rates(table: AlignmentTable, later: bool) -> NDArray[np.float64]:
    """Error rates in per cent, (layer, head); the last column is all heads together."""
    n_columns = table.n_heads + 1
    rates = [table.rates[read].error for read in table.reads() if read.later is later]
    return 100 * np.array(rates).reshape(-1, n_columns)


def alignment_figure(
    table: AlignmentTable, *, numbered: bool = True, narrow: bool = False, dark: bool = False
) -> go.Figure:
    """Two maps, one for each row in which a target word is read; strong colours are few errors.

    The first two traces are the maps, whose z are `error_rates`.

    Args:
        table: of a checkpoint.
        numbered: whether cells hold their numbers.
        narrow: for a width below `style.NARROW`: one map below the other.
        dark: for a dark page.
    """
    theme = style.look(dark)
    maps = {later: error_rates(table, later) for later in ROWS}
    n_layers, n_columns = maps[False].shape
    plot = style.row_height(_ROW, n_layers) * n_layers
    full = 2 * plot + _GAP if narrow else plot
    axis_room = _NARROW_AXIS if narrow else _AXIS
    shared = style.bar_layout(
        theme,
        title=TITLE,
        height=full,
        top=_HEADING,
        lines=["Rows – layer, columns – head"] if narrow else [],
    )
    bar = style.weight_bar(theme)
    layout: dict[str, Any] = {
        **shared,
        "height": shared["height"] + axis_room,
        "margin": {**shared["margin"], "b": shared["margin"]["b"] + axis_room},
        "coloraxis": {
            "cmin": 0,
            "cmax": 100,
            "colorscale": theme.colorscale,
            "reversescale": True,
            "colorbar": {
                **bar,
                "title": {**bar["title"], "text": UNIT},
                "tickvals": [0, 50, 100],
                "ticktext": ["0", "50", "100"],
            },
        },
        "annotations": [],
    }
    data: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    names = [*map(str, range(table.n_heads)), "all"]
    for place, (later, values) in enumerate(maps.items()):
        suffix = ("", "2")[place]
        axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        top = full - place * (plot + _GAP) if narrow else full
        across = [0.0, 1.0]
        if not narrow:
            across = [[0.0, (1 - _BETWEEN) / 2], [(1 + _BETWEEN) / 2, 1.0]][place]
        down = [max(0.0, (top - plot) / full), top / full]
        data.append(
            {
                "type": "heatmap",
                "z": values,
                "coloraxis": "coloraxis",
                "xgap": 1,
                "ygap": 1,
                "name": ROWS[later],
                "customdata": _intervals(table, later),
                "hovertemplate": f"{ROWS[later]}<br>layer <b>%{{y}}</b>, head <b>%{{x}}</b><br>"
                "error <b>%{z:.1f}%</b> %{customdata}<extra></extra>",
                **axes,
            }
        )
        if numbered and n_columns <= _NUMBERED:
            texts.append(_numbers(values, theme) | axes)
        add_axes(
            layout,
            theme,
            ROWS[later],
            names,
            n_layers,
            place=place,
            across=across,
            down=down,
            narrow=narrow,
        )
    return go.Figure({"data": data + texts, "layout": layout})


def _intervals(table: AlignmentTable, later: bool) -> NDArray[np.object_]:
    written = [interval(table.rates[read]) for read in table.reads() if read.later is later]
    return np.array(written, dtype=object).reshape(-1, table.n_heads + 1)


def _numbers(values: NDArray[np.float64], theme: style.Look) -> dict[str, Any]:
    rows, columns = np.indices(values.shape).reshape(2, -1)
    return {
        "type": "scatter",
        "mode": "text",
        "x": columns,
        "y": rows,
        "text": [f"{value:.0f}" for value in values.ravel()],
        "textfont": {
            "size": style.SMALL_FONT_SIZE,
            "color": [theme.ink(1 - value / 100) for value in values.ravel()],
        },
        "hoverinfo": "skip",
        "showlegend": False,
        "cliponaxis": False,
    }


def interval(rate: ErrorRate) -> str:
    """Where its error rate lies in 95% of samples of the sentences, in per cent."""
    return f"[{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def _told(rate: ErrorRate) -> str:
    return f"{style.percent(rate.error, 1)} {interval(rate)}"


def best_read(table: AlignmentTable) -> Read:
    """The head with the fewest errors by itself."""
    heads = {read: rate.error for read, rate in table.rates.items() if read.head is not None}
    return min(heads, key=heads.__getitem__)


def best_combination(table: AlignmentTable) -> Combination:
    """The one with the fewest errors of all that were tried."""
    return min(table.best, key=lambda each: each.rate.error)


def alignment_sentences(table: AlignmentTable) -> list[str]:
    """What is nearest to the gold set, and how far order alone comes, in plain text."""
    read, best = best_read(table), best_combination(table)
    rate = table.rates[read]
    return [
        f"Nearest by its weights alone: {read.name}, with an error rate of {_told(rate)}, "
        f"precision {style.percent(rate.precision)} and recall {style.percent(rate.recall)}.",
        f"Nearest of all that was tried: {best.heads.replace(' + ', ' with ')}; by {best.map}, "
        f"{best.rule}: {_told(best.rate)}. The best of {best.n_candidates:,} "
        "combinations, selected on these same sentences, so optimistic.",
        "The diagonal, which knows nothing but order, is at "
        f"{_told(table.diagonal)}. Aligners that learn from a corpus, such as fast_align and "
        "eflomal, were not measured.",
    ]


def alignment_alt_text(table: AlignmentTable) -> str:
    """Both maps in words."""
    shape = error_rates(table, False).shape
    return (
        f"{TITLE}. Two heatmaps of {style.count_of(shape[0], 'layer')} by "
        f"{style.count_of(table.n_heads, 'head')}, and all heads together, of the {UNIT}. "
        f"{alignment_sentences(table)[0]}"
    )


def alignment_caption(table: AlignmentTable) -> str:
    """How to read both maps, in plain text."""
    return (
        "The stronger the colour, the fewer errors. Each head links every target word to the "
        f"source word of its greatest weight, on the {table.n_pairs} sentence pairs of "
        f"{table.gold}, whose words one annotator linked; 0% means every sure link and "
        "none that is not possible, 100% no possible link (alignment error rate, Och and Ney "
        "2003). Output row: read where a word is predicted; one row later: where it has been "
        "read (Chen et al. 2020). docs/alignment.md "
        "has the rules, and says who the annotator of en-de.tsv is: an AI assistant."
    )
