"""Every head's difference between two runs as small tiles, and one head large."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import AttentionKind, Site
from model.trace.head import Head
from viz.compare.paired import PairedTraces, matched
from viz.draw import style, themes
from viz.draw.labels import escape_html
from viz.draw.panel_figure import panels_figure
from viz.draw.panels import Panel
from viz.links.request import Request
from viz.save.formats import ExportError
from viz.save.notebook import Lines
from viz.save.numbers import Numbers, panels_numbers
from viz.save.picture import Layout, Picture

_ROW, _GAP, _HEADING, _AXIS = 58, 76, 24, 46
"""Heights in pixels: of a layer's tiles, between two stacked maps, of a map's name and axis."""

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

_BETWEEN, _LINE = 0.055, 46
"""Between two maps side by side, as a share of the plot; characters below a narrow title."""


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
        theme, narrow = themes.page(layout.dark), layout.narrow
        kinds = self.pair.kinds
        heads = {kind: _grid(self.pair, kind) for kind in kinds}
        layers = [len(each) for each in heads.values()]
        row = style.row_height(_ROW, max(layers))
        heights = [row * count for count in layers]
        full = sum(heights) + _GAP * (len(kinds) - 1) if narrow else max(heights)
        tiles = {head: self.pair.difference(head) for head in self.pair.heads}
        limit = max(max(float(np.abs(each).max(initial=0)) for each in tiles.values()), 1e-6)
        spec: dict[str, Any] = {
            **style.bar_layout(
                theme,
                title="How every head differs" if narrow else escape_html(self.title),
                height=full,
                top=_HEADING,
                lines=[
                    *map(escape_html, textwrap.wrap(self.title, _LINE)),
                    "Rows – layer, columns – head",
                ]
                if narrow
                else [],
                axis=_AXIS,
            ),
            "plot_bgcolor": style.CLEAR,
            "coloraxis": {
                "cmin": -limit,
                "cmax": limit,
                "colorscale": theme.signed_colorscale,
                "colorbar": style.value_bar(theme, limit, "weight, second − first", narrow=narrow),
            },
            "annotations": [],
            "shapes": [],
        }
        mosaics, clear = [], []
        width = (1 - _BETWEEN * (len(kinds) - 1)) / len(kinds)
        for place, kind in enumerate(kinds):
            suffix = "" if place == 0 else str(place + 1)
            grid = heads[kind]
            queries, keys = self.pair.labels(kind)
            n_rows, n_columns = len(queries) + 1, len(keys) + 1
            mosaic = np.full((n_rows * len(grid), n_columns * len(grid[0])), np.nan)
            names = np.empty((len(grid), len(grid[0]), 2), dtype=object)
            for layer, each in enumerate(grid):
                for number, head in enumerate(each):
                    names[layer, number] = ["", ""]
                    if head is None:
                        continue
                    top, left = layer * n_rows, number * n_columns
                    mosaic[top : top + n_rows - 1, left : left + n_columns - 1] = tiles[head]
                    names[layer, number] = [f"{head[0]}.{head[1]}", self._hover(head)]
            axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
            mosaics.append(
                {
                    "type": "heatmap",
                    "z": mosaic,
                    "coloraxis": "coloraxis",
                    "hoverinfo": "skip",
                    "name": kind.full_name,
                    **axes,
                }
            )
            centers = (
                [n_columns * number + n_columns / 2 - 1 for number in range(len(grid[0]))],
                [n_rows * layer + n_rows / 2 - 1 for layer in range(len(grid))],
            )
            clear.append(
                {
                    "type": "heatmap",
                    "x": centers[0],
                    "y": centers[1],
                    "z": np.zeros((len(grid), len(grid[0]))),
                    "opacity": 0,
                    "showscale": False,
                    "customdata": names.tolist(),
                    "hovertemplate": "%{customdata[1]}<extra></extra>",
                    "meta": str(kind),
                    **axes,
                }
            )
            top = full - sum(heights[:place]) - _GAP * place if narrow else full
            across = [0.0, 1.0] if narrow else [place * (width + _BETWEEN), 0.0]
            across[1] = 1.0 if narrow else min(1.0, across[0] + width)
            down = [max(0.0, (top - heights[place]) / full), top / full]
            ends = mosaic.shape[1] - 1.5, mosaic.shape[0] - 1.5
            spec[f"xaxis{suffix}"] = _axis(
                "" if narrow else "Head", centers[0], [-0.5, ends[0]], across, f"y{suffix}"
            )
            spec[f"yaxis{suffix}"] = _axis(
                "" if narrow or place else "Layer", centers[1], [ends[1], -0.5], down, f"x{suffix}"
            )
            spec["annotations"].append(style.heading(theme, kind.full_name, across[0], down[1]))
            spec["shapes"] += [
                _box(theme, layer * n_rows, number * n_columns, len(queries), len(keys), suffix)
                | ({"line": {"color": theme.accent, "width": 3}} if head == self.framed else {})
                for layer, each in enumerate(grid)
                for number, head in enumerate(each)
                if head is not None
            ]
        return go.Figure({"data": [*mosaics, *clear], "layout": spec})

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


def _grid(pair: PairedTraces, kind: AttentionKind) -> list[list[Head | None]]:
    """The heads of a kind by layer, as wide as the widest layer; None without a partner."""
    sites = {site: each.n_heads for site, each in pair.first.maps.items() if site.kind is kind}
    return [
        [
            head if (head := Head(site, number)) in pair.heads else None
            for number in range(max(sites.values()))
        ]
        for site in sites
    ]


def _axis(
    title: str, centers: list[float], ends: list[float], domain: list[float], anchor: str
) -> dict[str, Any]:
    labels = list(map(str, range(len(centers))))
    step = style.label_step(len(labels), 16)
    return style.axis(
        title,
        labels,
        step,
        range=ends,
        domain=domain,
        anchor=anchor,
        tickvals=centers[::step],
        autotickangles=[0],
    )


def _box(
    theme: themes.Theme, top: int, left: int, rows: int, columns: int, suffix: str
) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": f"x{suffix}",
        "yref": f"y{suffix}",
        "x0": left - 0.5,
        "x1": left + columns - 0.5,
        "y0": top - 0.5,
        "y1": top + rows - 0.5,
        "line": {"color": theme.grid, "width": 1},
    }


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
