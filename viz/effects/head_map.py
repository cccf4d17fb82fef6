"""Maps of all heads: a layer by head heatmap for each kind of attention."""

import textwrap
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.colors import sample_colorscale

from model.trace.attention_map import AttentionKind, Site
from model.trace.head import Head
from viz.charts.chart import LINE, Layout
from viz.charts.head_grid import ROW, HeadGrid, head_grids
from viz.charts.marks import Mark, cell_texts, points
from viz.charts.scale import Scale, around_zero
from viz.draw import style, themes
from viz.draw.constants import CONSTANTS
from viz.draw.labels import escape_html, lower_first
from viz.links.head_refs import KINDS
from viz.save.picture import Picture

LOSS = "loss of log-probability"
CHANGED = "words changed"
"""The two units of a map's numbers."""

Values = NDArray[np.floating[Any]]

NUMBERED: float = CONSTANTS["NUMBERED"]
"""Numbers below this share of the largest one are not printed."""

_NUMBERED: int = CONSTANTS["MOST_NUMBERED"]
"""With more heads, cells have no room for numbers."""

_SHORT = 4
"""Numbers of more characters are set smaller."""

_CROSS = 0.55
"""The size of a cross, as a share of a cell's height."""


class HeadMap(Picture):
    """A number for every head."""

    __slots__ = ()
    unit: ClassVar[str]

    off: Sequence[Head]
    numbered: bool

    @property
    @abstractmethod
    def values(self) -> Mapping[Site, Values]:
        """The numbers by site, (head,)."""

    def said(self, site: Site, head: int) -> str:
        """What the pointer says of a head besides its number, in plain text."""
        return ""

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
        scale = _scale(maps, self.unit)
        grids = [
            HeadGrid(
                name=kind.full_name,
                values=each,
                said=f"{self.unit} <b>%{{z:.4~g}}</b>%{{customdata}}",
                marks=self._marks(kind, each, scale),
                more={"meta": str(kind), "customdata": self._said(kind, each)},
            )
            for kind, each in maps.items()
        ]
        return head_grids(layout, self.title, grids, scale, short="Effect of each head")

    def _said(self, kind: AttentionKind, values: Values) -> list[list[str]]:
        """`said` of each cell, safe to show, [layer][head]."""
        layers = [site.layer for site in sorted(self.values) if site.kind is kind]
        return [
            [
                "".join(f"<br>{escape_html(each)}" for each in textwrap.wrap(text, LINE))
                for head in range(values.shape[1])
                for text in [self.said(Site(kind, layer), head)]
            ]
            for layer in layers
        ]

    def _marks(self, kind: AttentionKind, values: Values, scale: Scale) -> list[Mark]:
        """Numbers, except small ones, which would hide those that matter, and crosses."""
        crossed = [(site.layer, head) for site, head in self.off if site.kind is kind]
        marks = []
        if self.numbered and values.shape[1] <= _NUMBERED:
            shown = np.abs(values) >= NUMBERED * scale.high
            shown[tuple(np.array(crossed, int).reshape(-1, 2).T)] = False
            digits = 0 if self.unit == CHANGED else 2
            texts = [style.fixed(float(value), digits) for value in values[shown]]
            # On a tablet, longer ones would run into their neighbours.
            size = style.DENSE_FONT_SIZE - (2 if any(len(text) > _SHORT for text in texts) else 0)
            marks.append(cell_texts(values, texts, where=shown, size=size, cliponaxis=False))
        if crossed:
            marks.append(_crosses(values, scale, crossed))
        return marks


def _crosses(values: Values, scale: Scale, crossed: Sequence[tuple[int, int]]) -> Mark:
    """Crosses over cells, (layer, head)."""
    layers, heads = zip(*crossed, strict=True)
    return lambda sheet: points(
        heads,
        layers,
        symbol="x-thin",
        size=_CROSS * ROW,
        edge=3,
        edge_color=[scale.ink(sheet.theme, float(values[place])) for place in crossed],
    )(sheet)


def _scale(maps: Mapping[AttentionKind, Values], unit: str) -> Scale:
    """The scale of all maps, up to the largest absolute value."""
    limit = max(float(max(np.abs(each).max() for each in maps.values())), 1e-6)
    if unit == CHANGED:
        return Scale(title=unit, high=limit, ticks={0: "0", limit: f"{limit:.0f}"})
    return around_zero(unit, limit)


def cross_colors(
    values: Mapping[Site, Values], unit: str = LOSS, *, dark: bool = False
) -> dict[str, list[list[tuple[str, str]]]]:
    """The colours of every cell and of a cross in it, by kind, [layer][head]."""
    maps, theme = by_kind(values), themes.page(dark)
    scale = _scale(maps, unit)
    return {
        str(kind): [
            list(
                zip(
                    sample_colorscale(scale.colors(theme), [scale.share(each) for each in row]),
                    [scale.ink(theme, each) for each in row],
                    strict=True,
                )
            )
            for row in np.asarray(values, np.float64).tolist()
        ]
        for kind, values in maps.items()
    }


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
