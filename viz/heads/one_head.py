"""One head as a heatmap, and what all pictures of a trace share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.reading import Reading, ReadTrace
from model.trace.attention_map import AttentionMap, Site
from viz.draw import style, themes
from viz.draw.axis_names import caption, key_title, nouns, row_titles
from viz.draw.cells import cell_names, forbidden_traces
from viz.draw.constants import CONSTANTS
from viz.draw.labels import axis_texts, escape_html, side_texts
from viz.draw.token_axes import token_layout
from viz.links.request import Request
from viz.save.notebook import Lines, opened, public, recorded_elsewhere, traced
from viz.save.numbers import Arrays, Numbers, of_head
from viz.save.picture import Layout, Picture

CELL = ("query", "key")
"""The axes of a matrix."""


@dataclass(frozen=True, slots=True, eq=False)
class OfTrace(Picture):
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
class OfHead(OfTrace):
    """What one head shows.

    Attributes:
        site: of the trace.
        head: counted from 0.
    """

    site: Site
    head: int

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

    slug = "head"
    about = "one head: --attention, --layer, --head"

    @classmethod
    def of(cls, request: Request) -> OneHead:
        site = request.attention_map.site
        return cls(request.seen, site, request.head, target=request.target)

    @property
    def caption(self) -> str:
        return caption(self.map, by_prediction=self.seen.by_prediction, sides=self.seen.has_sides)

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
        theme, narrow = themes.page(layout.dark), layout.narrow
        named = cell_names(one.queries, one.keys)
        columns = style.NARROW_NUMBERED_COLUMNS if narrow else style.NUMBERED_COLUMNS
        numbered = n_queries <= style.NUMBERED_ROWS and n_keys <= columns
        # Lines between cells guide the eye along a row, but would cover cells a few pixels wide.
        gap = 1 if numbered else 0
        traces: list[Any] = [
            go.Heatmap(
                z=weights,
                zmin=0,
                zmax=1,
                colorscale=theme.colorscale,
                colorbar=style.weight_bar(theme),
                customdata=named,
                hovertemplate=style.hover_template(named=named is not None),
                xgap=gap,
                ygap=gap,
                name="weight",
            )
        ]
        if forbidden.any():
            traces += forbidden_traces(forbidden, named, theme, gap)
        if numbered:
            traces.append(_numbers(weights, forbidden, theme))
        rows, keys = titles.query, key_title(kind, sides=self.seen.has_sides)
        lines = [f"Rows – {rows}", f"Columns – {keys}"]
        if beside is not None:
            # In the same colour as the axis title that it replaces.
            right = f'<span style="color: {theme.accent}">Right – {titles.beside}</span>'
            lines.insert(1, right)
        spec = token_layout(
            *(theme, one.name, (one.queries, one.keys), (rows, keys)),
            narrow=narrow,
            lines=lines if narrow else [],
        )
        if not weights.size:
            traces[0]["showscale"] = False
            spec |= style.without_plot(theme, "There is no cell to show.")
            spec["plot_bgcolor"] = style.CLEAR
        elif beside is not None:
            # Plotly draws an axis only where a trace uses it.
            unseen = {"hoverinfo": "skip", "showlegend": False}
            traces.append({"type": "scatter", "x": [None], "y": [None], "yaxis": "y2", **unseen})
            texts = [f"{titles.arrow} {escape_html(text)}" for text in side_texts(beside, narrow)]
            spec["yaxis2"] = style.axis(
                "" if narrow else titles.beside,
                texts,
                style.label_step(n_queries, style.plot_height(n_queries) // style.MIN_ROW_HEIGHT),
                range=[n_queries - 0.5, -0.5],
                side="right",
                overlaying="y",
                matches="y",
                color=theme.accent,
            )
        return go.Figure({"data": traces, "layout": spec})


def _numbers(
    weights: NDArray[np.float32], forbidden: NDArray[np.bool_], theme: themes.Theme
) -> dict[str, Any]:
    """Each weight as two digits in its cell, except where it would round to 0."""
    # Not the heatmap's own texts: Plotly writes those in a grey that fades on the middle colours.
    rows, columns = np.nonzero((weights >= CONSTANTS["LEAST_NUMBER"]) & ~forbidden)
    shown = weights[rows, columns].tolist()
    texts, colors = [f"{weight:.2f}" for weight in shown], [theme.ink(weight) for weight in shown]
    size, name = style.SMALL_FONT_SIZE, "weight as a number"
    return style.cell_texts(columns, rows, texts, colors, size, name=name)
