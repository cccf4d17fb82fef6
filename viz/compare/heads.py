"""Every head's difference between two runs as small tiles, and one head large."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.head import Head
from viz.charts.axes import Axis, label_axis
from viz.charts.chart import Layout, Plot, chart, title_lines
from viz.charts.head_grid import LINE
from viz.charts.marks import Sheet, cells, frames
from viz.charts.panel_figure import panels_figure
from viz.charts.scale import around_zero
from viz.compare.paired import PairedTraces, matched
from viz.draw import style
from viz.draw.panels import Panel
from viz.links.request import Request
from viz.save.formats import ExportError
from viz.save.notebook import Lines
from viz.save.numbers import Numbers, panels_numbers
from viz.save.picture import Picture

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
class _OfPair(Picture):
    """What differs between two runs.

    Attributes:
        pair: both traces.
        other_model: the second model as `hs.figures.trace_by` takes it; empty for two sentences.
    """

    pair: PairedTraces
    other_model: str = ""

    @property
    def texts(self) -> Mapping[str, str]:
        if self.pair.versus == "sentence":
            return {"second_sentence": self.pair.second.source_text}
        return {"second_model": self.other_model}

    @property
    def setup(self) -> Lines:
        return pair_setup(self.pair, self.other_model)

    @property
    def _second(self) -> str:
        return f"the second {self.pair.versus}"


def pair_setup(pair: PairedTraces, other_model: str) -> Lines:
    """The lines of a notebook that make `pair`."""
    first = f"translator.trace({pair.first.source_text!r})"
    if pair.versus == "sentence":
        second = f"translator.trace({pair.second.source_text!r})"
        return [f"pair = hs.figures.PairedTraces({first}, {second})"]
    return [
        f"first = {first}",
        f"second = hs.figures.trace_by({other_model!r}, {pair.second.source_text!r})",
        f"partners = hs.figures.matched_by_surveys{pair.surveyed!r}"
        if pair.surveyed
        else "partners = hs.figures.matched(first, second)",
        f"pair = hs.figures.PairedTraces(first, second, 'model', partners, {pair.surveyed!r})",
    ]


@dataclass(frozen=True, slots=True, eq=False)
class HeadDifferences(_OfPair):
    """Where every head puts more of its weight in the second run, and where less.

    Attributes:
        framed: the head that is shown large; None for none.
    """

    slug = "differences"
    about = "how every head differs on a second sentence (--other) or in a second model"

    framed: Head | None = None

    name = "compare-heads"

    @classmethod
    def of(cls, request: Request) -> HeadDifferences:
        return cls(_asked_pair(request), request.arguments.other_model)

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
        return " ".join(parts)

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
        limit = max(max(float(np.abs(each).max(initial=0)) for each in tiles.values()), 1e-6)
        return chart(
            layout,
            self.title,
            [self._plot(kind, grid, tiles, row) for kind, grid in grids.items()],
            short="How every head differs",
            lines=title_lines(self.title, LINE),
            scale=around_zero("weight, second − first", limit),
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


def _asked_pair(request: Request) -> PairedTraces:
    """The sentence beside a second one, or in a second model."""
    first, second = request.trace, request.second
    if not request.arguments.other_model:
        return PairedTraces(first, second)
    partners, surveyed = request.partners
    pair = PairedTraces(first, second, "model", partners or matched(first, second), surveyed)
    if not pair.heads:
        raise ExportError("These two models share no kind of attention; choose another model.")
    return pair


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
    """The middles of tiles."""
    return [step * each + step / 2 - 1 for each in range(count)]


def _tile_axis(title: str, count: int, step: int, ends: list[float]) -> Axis:
    places = _centers(count, step)[:: style.label_step(count, 16)]
    names = [*map(str, range(count))]
    ticks: dict[str, Any] = {"range": ends, "tickvals": places, "autotickangles": [0]}
    return label_axis(title, names, room=(16, 16), **ticks)


@dataclass(frozen=True, slots=True, eq=False)
class HeadPair(_OfPair):
    """One head's weights in both runs, and their difference on aligned tokens.

    Attributes:
        chosen: the head; None for the one that differs most.
    """

    slug = "pair"
    about = "one head on two sentences or in two models, by default the one that differs most"

    chosen: Head | None = None

    @classmethod
    def of(cls, request: Request) -> HeadPair:
        asked = request.arguments
        pair = _asked_pair(request)
        if asked.layer is None and asked.head is None:
            return cls(pair, asked.other_model)
        head = Site(AttentionKind(asked.attention), request.layer), request.head
        if head not in pair.heads:
            raise ExportError(
                f"{Head(*head).name} is missing, or has no partner in the second model; "
                "choose another head."
            )
        return cls(pair, asked.other_model, head)

    @property
    def head(self) -> Head:
        """The head of the first run."""
        return self.chosen or self.pair.most_moved

    @property
    def title(self) -> str:
        site, number = self.head
        if self.pair.versus == "sentence":
            return f"{site.head_name(number)}, on both sentences"
        other, place = self.pair.heads[self.head]
        return (
            f"{site.head_name(number)}, and layer {other.layer}, head {place} of the second model"
        )

    @property
    def name(self) -> str:
        site, number = self.head
        return f"compare-{site.kind}-{site.layer}-{number}"

    @property
    def caption(self) -> str:
        share = style.percent(self.pair.moved[self.head])
        return f"{share} of its weight between aligned tokens differs, averaged over the rows."

    @property
    def alt(self) -> str:
        return " ".join([f"{self.title}.", *(panel.alt for panel in self.panels)])

    @property
    def panels(self) -> list[Panel]:
        """The first weights, the second, and the second less the first."""
        kind = self.head[0].kind
        titles: Any = {
            "query_title": kind.query_noun.capitalize(),
            "key_title": kind.key_noun.capitalize(),
        }
        panels = []
        partner = self.pair.heads[self.head]
        for name, trace, (site, number) in (
            ("First", self.pair.first, self.head),
            ("Second", self.pair.second, partner),
        ):
            one = trace.maps[site].head(number)
            panels.append(
                Panel(
                    title=f"{name} {self.pair.versus}",
                    values=one.weights,
                    queries=one.queries,
                    keys=one.keys,
                    alt=f"{name} {self.pair.versus}: "
                    f"{style.count_of(len(one.queries), 'query', 'queries')} by "
                    f"{style.count_of(len(one.keys), 'key')}.",
                    scale="weights",
                    shown=one.allowed,
                    **titles,
                )
            )
        difference = self.pair.difference(self.head)
        queries, keys = self.pair.labels(kind)
        limit = max(float(np.abs(difference).max(initial=0)), 1e-6)
        panels.append(
            Panel(
                title="Second − first",
                values=difference,
                queries=queries,
                keys=keys,
                alt="Their difference on aligned tokens, "
                f"{style.count_of(len(queries), 'query', 'queries')} by "
                f"{style.count_of(len(keys), 'key')}, at most {style.number(limit)}.",
                scale="signed",
                low=-limit,
                high=limit,
                unit="difference",
                **titles,
            )
        )
        return panels

    def figure(self, layout: Layout) -> go.Figure:
        return panels_figure(self.panels, title=self.title, **layout.panel_options)

    def numbers(self) -> Numbers:
        made = panels_numbers(self.panels)
        return Numbers({"head": f"{self.head[0]}.{self.head[1]}"}, made.axes, made.arrays)
