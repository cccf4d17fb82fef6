"""Maps of all heads: a layer by head heatmap for each kind of attention."""

from __future__ import annotations

import textwrap
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.colors import sample_colorscale

from model.trace.attention_map import AttentionKind, Site
from viz.draw import style, themes
from viz.draw.constants import CONSTANTS
from viz.draw.labels import escape_html
from viz.effects.layer_head_axes import add_axes
from viz.links.head_refs import KINDS, Head
from viz.save.picture import Layout, Picture

LOSS = "loss of log-probability"
CHANGED = "words changed"
"""The two units of a map's numbers."""

Values = NDArray[np.floating[Any]]

_ROW, _GAP, _HEADING = 44, 70, 24
"""Heights in pixels: of a layer, of the gap between two stacked maps, and of a map's name."""

_BETWEEN = 0.055
"""The gap between two maps side by side, as a share of the plot."""

_AXIS, _NARROW_AXIS = 46, 24
_SHORT_TITLE, _LINE = "Effect of each head", 46
"""The title of a narrow figure, and the characters that fit into a line below it."""

NUMBERED: float = CONSTANTS["NUMBERED"]
"""Numbers below this share of the largest one are not printed."""

_NUMBERED: int = CONSTANTS["MOST_NUMBERED"]
"""With more heads, cells have no room for numbers."""

_SHORT = 4
"""Numbers of more characters are set smaller."""

_CROSS = 0.55
"""The size of a cross, as a share of a cell's height."""


class HeadMap(Picture):
    """A number for every head.

    Attributes:
        off: heads marked with a cross.
        numbered: whether cells print their numbers.
    """

    __slots__ = ()
    unit: ClassVar[str]

    off: Sequence[Head]
    numbered: bool

    @property
    @abstractmethod
    def values(self) -> Mapping[Site, Values]:
        """The numbers by site, (head,)."""

    @property
    def alt(self) -> str:
        sizes = "; ".join(
            f"{kind.full_name.lower()}, {style.count_of(each.shape[0], 'layer')} by "
            f"{style.count_of(each.shape[1], 'head')}"
            for kind, each in by_kind(self.values).items()
        )
        site, head = max(
            ((site, head) for site, each in self.values.items() for head in range(len(each))),
            key=lambda place: abs(float(self.values[place[0]][place[1]])),
        )
        return (
            f"{self.title}. Heatmaps of the {self.unit}: {sizes}. The largest number, "
            f"{style.number(float(self.values[site][head]))}, belongs to "
            f"{lower_first(site.head_name(head))}."
        )

    @property
    def cross_words(self) -> str:
        """The meaning of a cross; empty without crosses."""
        return "A cross marks a head that is switched off." if self.off else ""

    @property
    def more(self) -> str:
        return self.cross_words

    def figure(self, layout: Layout) -> go.Figure:
        """One cell a head, all on one colour scale: losses on both sides of 0, words from 0 up.

        There is one trace for each kind of attention, before all others; its z is (layer, head).

        Raises:
            ValueError: if there is no site, or sites differ in their number of heads.
        """
        maps = by_kind(self.values)
        theme, unit = themes.page(layout.dark), self.unit
        n_heads = next(iter(maps.values())).shape[1]
        layers = [len(each) for each in maps.values()]
        row = style.row_height(_ROW, max(layers))
        heights = [row * count for count in layers]
        full = sum(heights) + _GAP * (len(maps) - 1) if layout.narrow else max(heights)
        limit = _limit(maps)
        axis_room = _NARROW_AXIS if layout.narrow else _AXIS
        spec: dict[str, Any] = {
            **style.bar_layout(
                theme,
                title=_SHORT_TITLE if layout.narrow else escape_html(self.title),
                height=full,
                top=_HEADING,
                lines=[
                    *map(escape_html, textwrap.wrap(self.title, _LINE)),
                    "Rows – layer, columns – head",
                ]
                if layout.narrow
                else [],
                axis=axis_room,
            ),
            "coloraxis": {
                "cmin": 0 if unit == CHANGED else -limit,
                "cmax": limit,
                "colorscale": theme.colorscale if unit == CHANGED else theme.signed_colorscale,
                "colorbar": _bar(theme, limit, unit, layout.narrow),
            },
            "annotations": [],
        }
        data, texts, marks = [], [], []
        width = (1 - _BETWEEN * (len(maps) - 1)) / len(maps)
        for place, (kind, each) in enumerate(maps.items()):
            suffix = "" if place == 0 else str(place + 1)
            top = full - sum(heights[:place]) - _GAP * place if layout.narrow else full
            across = [0.0, 1.0] if layout.narrow else [place * (width + _BETWEEN), 0.0]
            across[1] = 1.0 if layout.narrow else min(1.0, across[0] + width)
            down = [max(0.0, (top - heights[place]) / full), top / full]
            data.append(
                {
                    "type": "heatmap",
                    "z": each,
                    "coloraxis": "coloraxis",
                    "xaxis": f"x{suffix}",
                    "yaxis": f"y{suffix}",
                    "xgap": 1,
                    "ygap": 1,
                    "name": kind.full_name,
                    "meta": str(kind),
                    "hovertemplate": f"{kind.full_name}<br>layer <b>%{{y}}</b>, "
                    f"head <b>%{{x}}</b><br>{unit} <b>%{{z:.4~g}}</b><extra></extra>",
                }
            )
            crossed = [(site.layer, head) for site, head in self.off if site.kind is kind]
            if self.numbered and n_heads <= _NUMBERED:
                texts.append(_numbers(each, limit, unit, suffix, theme, crossed))
            if crossed:
                marks.append(_crosses(each, limit, unit, suffix, theme, crossed))
            add_axes(
                spec,
                theme,
                kind.full_name,
                [str(head) for head in range(n_heads)],
                len(each),
                place=place,
                across=across,
                down=down,
                narrow=layout.narrow,
            )
        return go.Figure({"data": data + texts + marks, "layout": spec})


def _bar(theme: themes.Theme, limit: float, unit: str, narrow: bool) -> dict[str, Any]:
    bar = style.value_bar(theme, limit, unit, narrow=narrow)
    if unit == CHANGED:
        bar |= {"tickvals": [0, limit], "ticktext": ["0", f"{limit:.0f}"]}
    return bar


def _numbers(
    values: Values,
    limit: float,
    unit: str,
    suffix: str,
    theme: themes.Theme,
    crossed: Collection[tuple[int, int]],
) -> dict[str, Any]:
    """The numbers of one map, except small ones, which would hide those that matter."""
    digits = 0 if unit == CHANGED else 2
    cells = [
        (layer, head, value)
        for layer, row in enumerate(values.tolist())
        for head, value in enumerate(row)
        if abs(value) >= NUMBERED * limit and (layer, head) not in crossed
    ]
    x, y = [head for _, head, _ in cells], [layer for layer, _, _ in cells]
    texts = [style.fixed(value, digits) for *_, value in cells]
    colors = [_ink(theme, value / limit, unit) for *_, value in cells]
    axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "cliponaxis": False}
    # On a tablet, longer ones would run into their neighbours.
    size = style.DENSE_FONT_SIZE - (2 if any(len(text) > _SHORT for text in texts) else 0)
    return style.cell_texts(x, y, texts, colors, size, **axes)


def _crosses(
    values: Values,
    limit: float,
    unit: str,
    suffix: str,
    theme: themes.Theme,
    crossed: Sequence[tuple[int, int]],
) -> dict[str, Any]:
    """Crosses over cells of one map, (layer, head)."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [head for _, head in crossed],
        "y": [layer for layer, _ in crossed],
        "marker": {
            "symbol": "x-thin",
            "size": _CROSS * _ROW,
            "line": {
                "width": 3,
                "color": [_ink(theme, float(values[place]) / limit, unit) for place in crossed],
            },
        },
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _ink(theme: themes.Theme, share: float, unit: str) -> str:
    """Black or white, on the colour of a share of the greatest number."""
    return theme.ink(share) if unit == CHANGED else theme.signed_ink((1 + share) / 2)


def cross_colors(
    values: Mapping[Site, Values], unit: str = LOSS, *, dark: bool = False
) -> dict[str, list[list[tuple[str, str]]]]:
    """The colours of every cell and of a cross in it, by kind, [layer][head]."""
    maps, theme = by_kind(values), themes.page(dark)
    limit = _limit(maps)
    scale = theme.colorscale if unit == CHANGED else theme.signed_colorscale
    return {
        str(kind): [
            list(
                zip(
                    sample_colorscale(scale, places.tolist()),
                    [_ink(theme, share, unit) for share in row.tolist()],
                    strict=True,
                )
            )
            for row in np.asarray(each, np.float64) / limit
            for places in [row if unit == CHANGED else (1 + row) / 2]
        ]
        for kind, each in maps.items()
    }


def _limit(maps: Mapping[AttentionKind, Values]) -> float:
    """The largest absolute value of all maps."""
    return max(float(max(np.abs(each).max() for each in maps.values())), 1e-6)


def by_kind(values: Mapping[Site, Values]) -> dict[AttentionKind, Values]:
    """Values of sites, (head,), as (layer, head) for each kind.

    Raises:
        ValueError: if there is no site, or sites differ in their number of heads.
    """
    if len({np.shape(each) for each in values.values()}) != 1:
        raise ValueError("A map needs sites, all with the same number of heads.")
    maps: dict[AttentionKind, Values] = {}
    for kind in KINDS:
        rows = [values[site] for site in sorted(values) if site.kind is kind]
        if rows:
            maps[kind] = np.stack(rows)
    return maps


def head_columns(sites: Mapping[Site, Any]) -> dict[str, NDArray[np.str_] | NDArray[np.int64]]:
    """Kind, layer and number of every head, one below the other, for a value per head by site."""
    heads = [(site, head) for site, each in sites.items() for head in range(len(each))]
    return {
        "attention": np.array([str(site.kind) for site, _ in heads], np.str_),
        "layer": np.array([site.layer for site, _ in heads], np.int64),
        "head": np.array([head for _, head in heads], np.int64),
    }


def lower_first(name: str) -> str:
    """A name for use inside a sentence."""
    return f"{name[:1].lower()}{name[1:]}"
