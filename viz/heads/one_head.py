"""One head as a heatmap, and what all pictures of a trace share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.explain.reading import Reading, ReadTrace
from model.trace.attention_map import AttentionMap, Site
from viz.charts.axes import label_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import cell_texts, cells, points
from viz.charts.scale import weights as weight_scale
from viz.charts.token_map import cell_names, hatched, key_axis, keys_height
from viz.draw import style, themes
from viz.draw.axis_names import caption, key_title, nouns, row_titles
from viz.draw.constants import CONSTANTS
from viz.draw.labels import axis_texts, side_texts
from viz.save.notebook import Lines, opened, public, recorded_elsewhere, traced
from viz.save.numbers import Arrays, Numbers, of_head
from viz.save.picture import Layout, Picture

CELL = ("query", "key")
"""The axes of a matrix."""


@dataclass(frozen=True, slots=True, eq=False)
class TraceQuestion(Picture):
    """What one trace shows.

    Attributes:
        seen: the trace as it is read.
        target: the translation that was recorded if it is a person's; empty for the model's.
    """

    seen: ReadTrace
    target: str = field(default="", kw_only=True)

    @property
    def texts(self) -> Mapping[str, str]:
        return {"reading": " ".join(self.seen.notes)} if self.seen.notes else {}

    @property
    def more(self) -> str:
        return " ".join(self.seen.notes)

    @property
    def needs_model(self) -> bool:
        return not (self.seen.file or self.seen.folder)

    @property
    def setup(self) -> Lines:
        seen = self.seen
        if seen.file:
            lines = [opened(seen.file)]
        elif seen.folder:
            lines = [recorded_elsewhere(seen.folder, seen.source_text)]
        else:
            lines = traced(seen.source_text, self.target)
        how = "" if seen.reading == Reading() else f", {public(seen.reading)}"
        return [*lines, f"seen = hs.read(trace{how})"]


@dataclass(frozen=True, slots=True, eq=False)
class OfHead(TraceQuestion):
    """What one head shows.

    Attributes:
        site: of the trace.
        head: counted from 0.
    """

    site: Site
    head: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "site", Site.of(self.site))

    @property
    def title(self) -> str:
        return self.site.head_name(self.head)

    @property
    def name(self) -> str:
        return f"{self.site.kind}-layer{self.site.layer}-head{self.head}"

    def numbers(self) -> Numbers:
        head = self.map.head(self.head)
        arrays: Arrays = {"weight": (CELL, head.weights)}
        if head.scores is not None:
            arrays["score"] = (CELL, head.scores)
        arrays["allowed"] = (CELL, head.allowed)
        axes = {"query": head.queries, "key": head.keys}
        return Numbers(of_head(self.site, self.head), axes, arrays)

    @property
    def alt(self) -> str:
        one = self.map.head(self.head)
        weights, allowed = one.weights, one.allowed
        kind = self.site.kind
        n_queries, n_keys = weights.shape
        query_noun, key_noun = nouns(kind, sides=self.seen.has_sides)
        words = (
            f"Layer {self.site.layer}, head {self.head}, {kind.full_name.lower()}: "
            f"{style.count_of(n_queries, query_noun)} by {style.count_of(n_keys, key_noun)}; "
        )
        if not weights.size:
            return words + "there is no cell to show."
        if not allowed.any():
            return words + "no query may attend to any key."
        # -1 lies below every weight, so that a forbidden cell is never the largest.
        row, column = np.unravel_index(np.argmax(np.where(allowed, weights, -1)), weights.shape)
        query = axis_texts(one.queries)[row]
        key = axis_texts(one.keys)[column]
        return words + f"the largest weight is {weights[row, column]:.2f}, from {query} to {key}."

    @property
    def map(self) -> AttentionMap:
        """All heads of the site."""
        return self.seen.maps[self.site]


@dataclass(frozen=True, slots=True, eq=False)
class OneHead(OfHead):
    """The heatmap of one head."""

    @property
    def caption(self) -> str:
        seen = self.seen
        read = caption(self.map, by_prediction=seen.by_prediction, sides=seen.has_sides)
        return f"{read}. Layers and heads count from 0."

    def figure(self, layout: Layout) -> go.Figure:
        """Queries down, keys across, 0 to 1 on one colour scale for every head.

        The first trace is the weights, (query, key), unchanged. Cells that may not be attended to
        lie hatched above it, so that they do not look like cells with the weight 0. What rows
        predict, or read, stands at their right.
        """
        one, kind = self.map.head(self.head), self.site.kind
        beside, titles = self.seen.beside.get(kind), row_titles(kind, self.seen)
        weights, forbidden = one.weights, ~one.allowed
        n_queries, n_keys = weights.shape
        if beside is not None and len(beside) != n_queries:
            raise ValueError(
                f"Each row needs one token beside it: there are {n_queries} rows and "
                f"{len(beside)} tokens."
            )
        theme, narrow, scale = themes.page(layout.dark), layout.narrow, weight_scale()
        named = cell_names(one.queries, one.keys)
        columns = style.NARROW_NUMBERED_COLUMNS if narrow else style.NUMBERED_COLUMNS
        numbered = n_queries <= style.NUMBERED_ROWS and n_keys <= columns
        # Lines between cells guide the eye along a row, but would cover cells a few pixels wide.
        look: dict[str, Any] = {"name": "weight", "customdata": named, "gap": int(numbered)}
        hover = style.hover_template(named=named is not None)
        marks = [cells(weights, scale=scale, hover=hover, showscale=weights.size > 0, **look)]
        if forbidden.any():
            marks.append(hatched(forbidden, named, int(numbered)))
        if numbered:
            # Each as two digits, except where it would round to 0.
            where = (weights >= CONSTANTS["LEAST_NUMBER"]) & ~forbidden
            shown = [f"{weight:.2f}" for weight in weights[where].tolist()]
            marks.append(cell_texts(weights, shown, where=where, name="weight as a number"))
        rows, keys = titles.query, key_title(kind, sides=self.seen.has_sides)
        lines = [f"Rows – {rows}", f"Columns – {keys}"]
        height = style.plot_height(n_queries)
        more: dict[str, Any] = {}
        if not weights.size:
            more = style.without_plot(theme, "There is no cell to show.")
        elif beside is not None:
            # Plotly draws an axis only where a trace uses it.
            marks.append(points([None], [None], yaxis="y2"))
            texts = [f"{titles.arrow} {text}" for text in side_texts(beside, narrow)]
            axis = label_axis(titles.beside, texts).with_(
                side="right", overlaying="y", matches="y", color=theme.accent
            )
            more = {"yaxis2": axis.drawn(theme, narrow, rows=height, first=True)}
        if beside is not None:
            # In the same colour as the axis title that it replaces.
            said = f'<span style="color: {theme.accent}">Right – {titles.beside}</span>'
            lines.insert(1, said)
        return chart(
            layout,
            one.name,
            Plot(
                across=key_axis(keys, one.keys, layout),
                up=label_axis(rows, one.queries),
                marks=marks,
                height=height,
            ),
            lines=[],
            always=lines if narrow else [],
            scale=scale,
            top=keys_height(one.keys, layout),
            below=(style.BOTTOM, style.BOTTOM + style.LEGEND_HEIGHT),
            ground="grid" if weights.size else style.CLEAR,
            **more,
        )
