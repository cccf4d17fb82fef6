"""Heads as matrices to keep: several of one kind side by side, or all three kinds in one square."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from model.explain.reading import site_map
from model.trace.attention_map import AttentionKind, AttentionMap, Site
from viz.charts.panel_figure import panel_figure, panels_figure
from viz.draw import style
from viz.draw.axis_names import key_title, row_titles, row_words
from viz.draw.panels import Panel, weights_panel
from viz.heads.one_head import TraceQuestion
from viz.save.numbers import Arrays, Axes, Numbers, cell_axes, panels_numbers
from viz.save.picture import Layout

JOINED = {
    AttentionKind.ENCODER: "Upper left: source tokens look at the source.",
    AttentionKind.CROSS: "Lower left: target tokens look at the source.",
    AttentionKind.DECODER: "Lower right: target tokens look at the target.",
}
"""What the square holds, in the order in which it is read, and how to read it."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedHeads(TraceQuestion):
    """Several heads of one kind of attention side by side.

    Attributes:
        kind: of attention.
        heads: layer and head of each, counted from 0.

    Raises:
        IndexError: if there is no such layer or head.
    """

    kind: AttentionKind
    heads: Sequence[tuple[int, int]]

    @property
    def title(self) -> str:
        return f"{self._heading} side by side"

    @property
    def name(self) -> str:
        return f"{self.kind}-compared"

    @property
    def alt(self) -> str:
        return " ".join([f"{self._heading}.", *(panel.alt for panel in self.panels)])

    @property
    def caption(self) -> str:
        row = row_words(self.kind, by_prediction=self.seen.by_prediction, sides=self.seen.has_sides)
        return f"{row}. Layers and heads count from 0."

    @property
    def panels(self) -> list[Panel]:
        """The weights of each head."""
        kind = AttentionKind(self.kind)
        return [
            weights_panel(
                f"Layer {layer}, head {head}",
                site_map(self.seen, kind, layer).head(head),
                query_title=row_titles(kind, self.seen).query,
                key_title=key_title(kind, sides=self.seen.has_sides),
            )
            for layer, head in self.heads
        ]

    def figure(self, layout: Layout) -> go.Figure:
        return panels_figure(self.panels, layout, title=self._heading)

    def numbers(self) -> Numbers:
        made = panels_numbers(self.panels)
        return Numbers({"attention": str(self.kind)}, made.axes, made.arrays)

    @property
    def _heading(self) -> str:
        return f"{AttentionKind(self.kind).full_name}, {style.count_of(len(self.heads), 'head')}"


@dataclass(frozen=True, slots=True, eq=False)
class JointHeads(TraceQuestion):
    """One head number of all three kinds of attention in one square, of source and target tokens.

    Source tokens look at the source (encoder), target tokens at the source (cross) and at the
    target (decoder). A kind without that layer stays empty.

    Attributes:
        layer: counted from 0.
        head: counted from 0.

    Raises:
        IndexError: if no kind of attention has such a layer, or one has no such head.
    """

    layer: int
    head: int

    @property
    def title(self) -> str:
        return f"All three kinds of attention, layer {self.layer}, head {self.head}"

    @property
    def name(self) -> str:
        return f"joint-layer{self.layer}-head{self.head}"

    @property
    def alt(self) -> str:
        return self.panel.alt

    @property
    def caption(self) -> str:
        parts = [JOINED[each.site.kind] for each in self._maps]
        return " ".join([*parts, "Layers and heads count from 0."])

    @property
    def _maps(self) -> list[AttentionMap]:
        """The maps of the layer, of every kind that has it."""
        sites = [Site(kind, self.layer) for kind in JOINED]
        maps = [self.seen.maps[site] for site in sites if site in self.seen.maps]
        if not maps:
            raise IndexError(f"There is no layer {self.layer}.")
        return maps

    @property
    def panel(self) -> Panel:
        """The square; cells of no attention, and those not allowed, are not shown."""
        source, target = self.seen.source, self.seen.target
        tokens = source + target
        weights = np.zeros((len(tokens), len(tokens)), dtype=np.float32)
        shown = np.zeros(weights.shape, dtype=np.bool_)
        for each in self._maps:
            down, across = each.site.kind.axes(0, len(source), 0)
            part = each.head(self.head)
            place = np.s_[down : down + len(part.queries), across : across + len(part.keys)]
            weights[place], shown[place] = part.weights, part.allowed
        return Panel(
            title=self.title,
            values=weights,
            queries=tokens,
            keys=tokens,
            alt=f"Source and target together, {style.count_of(len(tokens), 'token')}: encoder at "
            "the upper left, "
            "cross-attention below it, the decoder beside that.",
            scale="weights",
            shown=shown,
            query_title="Query: source, then target",
            key_title="Key: source, then target",
        )

    def figure(self, layout: Layout) -> go.Figure:
        return panel_figure(self.panel, layout)

    def numbers(self) -> Numbers:
        axes: Axes = {}
        arrays: Arrays = {}
        for each in self._maps:
            head = each.head(self.head)
            kind = str(each.site.kind)
            cells = cell_axes(axes, head.queries, head.keys, kind)
            arrays[f"{kind}_weight"] = (cells, head.weights)
            arrays[f"{kind}_allowed"] = (cells, head.allowed)
        return Numbers({"layer": self.layer, "head": self.head}, axes, arrays)
