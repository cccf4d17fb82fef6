"""Every head's difference between two runs as small tiles, and one head large."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import AttentionKind, FloatArray
from model.trace.head import Head
from viz.charts.axes import Axis, label_axis
from viz.charts.chart import Layout, Plot, chart, title_lines
from viz.charts.head_grid import LINE
from viz.charts.marks import Sheet, cells, frames
from viz.charts.scale import around_zero
from viz.compare.head_pair import OfPair
from viz.compare.paired import PairedTraces
from viz.draw import style
from viz.save.numbers import Numbers

_ROW, _BELOW = 58, style.BOTTOM + 46
"""Pixels of a layer's tiles, and below the plots."""

Grid = list[list[Head | None]]
"""The heads of a kind by layer; None without a partner."""

MEASURED = (
    "Each head of the first model stands beside the head of the second that behaves most alike on "
    "the sentences that all surveys share, one to one within a kind of attention."
)
SEEN = (
    "Each head of the first model stands beside the head of the second that looks most alike on "
    "this sentence, one to one within a kind of attention. A likeness on one sentence does not "
    "make two heads the same."
)
"""How heads of two models become partners."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadDifferences(OfPair):
    """Where every head puts more of its weight in the second run, and where less.

    Attributes:
        framed: the head that is shown large; None for none.
    """

    framed: Head | None = None

    name = "compare-heads"

    @property
    def title(self) -> str:
        return f"How every head differs for {self._second}"

    @property
    def caption(self) -> str:
        return (
            f"Each tile is one head. Orange: more weight for {self._second}; blue: less; plain: "
            "the same."
        )

    @property
    def more(self) -> str:
        parts = [
            "A row of a tile is a query, a column a key. Tokens are aligned by what both texts "
            "share, and those between from left to right."
        ]
        if left_out := self.pair.left_out:
            parts.append(
                f"{style.count_of(left_out, 'token')} without a counterpart "
                f"{'is' if left_out == 1 else 'are'} left out."
            )
        if self.pair.versus == "model":
            parts.append(MEASURED if self.pair.surveyed else SEEN)
        return " ".join(filter(None, [*parts, self.pair.note]))

    @property
    def alt(self) -> str:
        head = self.pair.most_moved
        return (
            f"{self.title}. Small heatmaps of {style.count_of(len(self.pair.heads), 'head')}. "
            f"{head.short_name} differs most: {style.percent(self.pair.moved[head])} of its "
            "weight lies elsewhere."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """A mosaic for each kind of attention, then for each a clear map whose cells are heads."""
        grids = {kind: _grid(self.pair, kind) for kind in self.pair.kinds}
        row = style.row_height(_ROW, max(map(len, grids.values())))
        tiles = {head: self.pair.difference(head) for head in self.pair.heads}
        return chart(
            layout,
            self.title,
            [self._plot(kind, grid, tiles, row) for kind, grid in grids.items()],
            short="How every head differs",
            lines=title_lines(self.title, LINE),
            scale=around_zero("weight, second − first", self.pair.limit),
            top=24,
            below=_BELOW,
            gap=76,
        )

    def _plot(
        self, kind: AttentionKind, grid: Grid, tiles: Mapping[Head, FloatArray], row: int
    ) -> Plot:
        """A mosaic of tiles, a cell's width apart, and over each a clear cell to point at."""
        n_layers, n_heads = len(grid), len(grid[0])
        n_rows, n_columns = (len(each) + 1 for each in self.pair.labels(kind))
        mosaic = np.full((n_rows * n_layers, n_columns * n_heads), np.nan)
        names = np.full((n_layers, n_heads, 2), "", dtype=object)
        boxes: dict[Head, tuple[int, int]] = {}
        for layer, number in np.ndindex(n_layers, n_heads):
            if (head := grid[layer][number]) is not None:
                top, left = boxes[head] = layer * n_rows, number * n_columns
                mosaic[top : top + n_rows - 1, left : left + n_columns - 1] = tiles[head]
                names[layer, number] = [str(head), self._hover(head)]

        def pointed(sheet: Sheet) -> None:
            centers = _centers(n_heads, n_columns), _centers(n_layers, n_rows)
            sheet.add(
                {
                    **{"type": "heatmap", "x": centers[0], "y": centers[1]},
                    **{"z": np.zeros((n_layers, n_heads)), "opacity": 0, "showscale": False},
                    **{"customdata": names.tolist(), "meta": str(kind)},
                    "hovertemplate": "%{customdata[1]}<extra></extra>",
                }
            )

        tile: dict[str, Any] = {"rows": n_rows - 1, "columns": n_columns - 1}
        others = [place for head, place in boxes.items() if head != self.framed]
        framed = [place for head, place in boxes.items() if head == self.framed]
        return Plot(
            across=_tile_axis("Head", n_heads, n_columns, [-0.5, mosaic.shape[1] - 1.5]),
            up=_tile_axis("Layer", n_layers, n_rows, [mosaic.shape[0] - 1.5, -0.5]),
            marks=[
                cells(mosaic, name=kind.full_name, gap=0),
                pointed,
                frames(others, **tile, color="grid", width=1),
                frames(framed, **tile),
            ],
            heading=kind.full_name,
            height=row * n_layers,
        )

    def _hover(self, head: Head) -> str:
        site, number = head
        name = f"{site.kind.full_name}<br>layer <b>{site.layer}</b>, head <b>{number}</b>"
        if self.pair.versus == "model":
            other, place = self.pair.heads[head]
            name += f"<br>beside layer <b>{other.layer}</b>, head <b>{place}</b>"
        return f"{name}<br><b>{style.percent(self.pair.moved[head])}</b> of its weight differs"

    def numbers(self) -> Numbers:
        heads = list(self.pair.heads)
        partners = [self.pair.heads[head] for head in heads]
        axis = ("site_head",)
        arrays: dict[str, Any] = {
            "attention": np.array([str(site.kind) for site, _ in heads], np.str_),
            "layer": np.array([site.layer for site, _ in heads], np.int64),
            "head": np.array([head for _, head in heads], np.int64),
            "second_layer": np.array([site.layer for site, _ in partners], np.int64),
            "second_head": np.array([head for _, head in partners], np.int64),
            "moved": np.array([self.pair.moved[head] for head in heads]),
        }
        return Numbers(
            {},
            {"site_head": range(len(heads))},
            {name: (axis, values) for name, values in arrays.items()},
        )


def _grid(pair: PairedTraces, kind: AttentionKind) -> Grid:
    """The heads of a kind by layer, as wide as the widest layer; None without a partner."""
    sites = {site: each.n_heads for site, each in pair.first.maps.items() if site.kind is kind}
    return [
        [
            head if (head := Head(site, number)) in pair.heads else None
            for number in range(max(sites.values()))
        ]
        for site in sites
    ]


def _centers(count: int, step: int) -> list[float]:
    return [step * each + step / 2 - 1 for each in range(count)]


def _tile_axis(title: str, count: int, step: int, ends: list[float]) -> Axis:
    places = _centers(count, step)[:: style.label_step(count, 16)]
    names = [*map(str, range(count))]
    ticks: dict[str, Any] = {"range": ends, "tickvals": places, "autotickangles": [0]}
    return label_axis(title, names, room=(16, 16), **ticks)
