"""The pictures of the heads page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.labels import Label
from model.explain.measures import MEASURES, facts_of
from model.explain.reading import Reading, ReadTrace, selected_maps
from model.trace.attention_map import AttentionKind, AttentionMap, FloatArray, Site
from viz.draw import heatmap, style
from viz.draw.panel_figure import panel_figure, panels_figure
from viz.heads import query_key as inside
from viz.heads.lines import lines_figure
from viz.heads.overview import heads_overview, overview_alt_text
from viz.heads.panels import JOINED, compared_panels, joint_maps, joint_panel
from viz.heads.payload import JOINT
from viz.links.request import Request
from viz.save.formats import ExportError
from viz.save.notebook import Lines, opened, public, recorded_elsewhere, traced
from viz.save.numbers import Arrays, Axes, Numbers, cell_axes, of_head, panels_numbers
from viz.save.picture import Layout, Picture

Facts = Mapping[Site, Mapping[str, Any]]
"""The measures of heads, of model.explain.measures.head_facts, by site."""

_CELL = ("query", "key")


@dataclass(frozen=True, slots=True, eq=False)
class _OfTrace(Picture):
    """A picture of one trace.

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
class _OfHead(_OfTrace):
    """A picture of one head.

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
        arrays: Arrays = {"weight": (_CELL, head.weights)}
        if head.scores is not None:
            arrays["score"] = (_CELL, head.scores)
        arrays["allowed"] = (_CELL, head.allowed)
        axes = {"query": head.queries, "key": head.keys}
        return Numbers(of_head(self.site, self.head), axes, arrays)

    @property
    def alt(self) -> str:
        return heatmap.alt_text(self.map, self.head, sides=self.seen.has_sides)

    @property
    def map(self) -> AttentionMap:
        """All heads of the site."""
        return self.seen.maps[self.site]


@dataclass(frozen=True, slots=True, eq=False)
class OneHead(_OfHead):
    """The heatmap of one head."""

    slug: ClassVar[str] = "head"
    about: ClassVar[str] = "one head: --attention, --layer, --head"

    @classmethod
    def of(cls, request: Request) -> OneHead:
        site = request.attention_map.site
        return cls(request.seen, site, request.head, target=request.target)

    @property
    def caption(self) -> str:
        read = heatmap.caption(
            self.map, by_prediction=self.seen.by_prediction, sides=self.seen.has_sides
        )
        return read

    def figure(self, layout: Layout) -> go.Figure:
        kind, layer = self.site.kind, self.site.layer
        return heatmap.head_figure(self.seen, kind, layer, self.head, **layout.options)


@dataclass(frozen=True, slots=True, eq=False)
class HeadLines(_OfHead):
    """One head as lines between words."""

    @property
    def title(self) -> str:
        return f"{self.site.head_name(self.head)}, as lines"

    @property
    def name(self) -> str:
        return f"{self.site.kind}-layer{self.site.layer}-head{self.head}-lines"

    @property
    def caption(self) -> str:
        return (
            "A line joins a query on the left with a key on the right; its thickness and opacity "
            "are the weight."
        )

    def figure(self, layout: Layout) -> go.Figure:
        return lines_figure(
            self.map,
            self.head,
            query_title=heatmap.row_titles(self.site.kind, self.seen).query,
            sides=self.seen.has_sides,
            **layout.options,
        )


@dataclass(frozen=True, slots=True, eq=False)
class QueryKey(_OfHead):
    """One weight from the inside.

    Attributes:
        query: its position.
        key: its position.
    """

    slug: ClassVar[str] = "query-key"
    about: ClassVar[str] = "one weight from the inside: --query, --key"

    query: int
    key: int

    @classmethod
    def of(cls, request: Request) -> QueryKey:
        asked = request.arguments
        site = request.attention_map.site
        cell = asked.query, asked.key
        return cls(request.seen, site, request.head, *cell, target=request.target)

    @property
    def title(self) -> str:
        return f"{self.site.head_name(self.head)}, query {self.query}, key {self.key}"

    @property
    def name(self) -> str:
        head = f"{self.site.kind}-layer{self.site.layer}-head{self.head}"
        return f"query-key-{head}-{self.query}-{self.key}"

    @property
    def alt(self) -> str:
        return inside.alt_text(self.map, self.head, self.query, self.key)

    @property
    def caption(self) -> str:
        return inside.caption(self.map, self.head, self.query, self.key)

    @property
    def more(self) -> str:
        return inside.more(self.map, self.head, self.query, self.key)

    def figure(self, layout: Layout) -> go.Figure:
        # Says in one sentence what is wrong with the cell.
        self.numbers()
        cell = self.query, self.key
        try:
            return inside.query_key_figure(
                self.map,
                self.head,
                *cell,
                sides=self.seen.has_sides,
                side_by_side=not layout.narrow,
                dark=layout.dark,
            )
        except ValueError as error:
            # This model's scores are no product of query and key.
            raise ExportError(str(error)) from error

    def numbers(self) -> Numbers:
        head = self.map.head(self.head)
        n_queries, n_keys = head.weights.shape
        if not (0 <= self.query < n_queries and 0 <= self.key < n_keys):
            raise IndexError(
                f"There are {n_queries} queries and {n_keys} keys, counted from 0; "
                f"there is no cell {self.query}, {self.key}."
            )
        if head.q is None or head.k is None or head.scores is None:
            raise ExportError(
                "Whole words have no query and no key of their own; read tokens to look into a "
                "cell."
            )
        one, other = head.q[self.query], head.k[self.key]
        return Numbers(
            of_head(self.site, self.head) | {"of_query": self.query, "of_key": self.key},
            {"dimension": range(len(one)), "key": head.keys},
            {
                "query_vector": (("dimension",), one),
                "key_vector": (("dimension",), other),
                "product": (("dimension",), one * other),
                "score": (("key",), head.scores[self.query]),
                "weight": (("key",), head.weights[self.query]),
                "allowed": (("key",), head.allowed[self.query]),
            },
        )


@dataclass(frozen=True, slots=True, eq=False)
class EveryHead(_OfTrace):
    """The heads of one kind of attention: all, those of a layer, or those of a number.

    Attributes:
        kind: of attention.
        layer: counted from 0; None for every layer.
        head: counted from 0; None for every number.
    """

    slug: ClassVar[str] = "heads"
    about: ClassVar[str] = (
        "every head of a kind of attention; with --layer or --head those of one layer or number, "
        "with both that head. As .html the whole heads view with its interaction, offline."
    )

    kind: AttentionKind
    layer: int | None = None
    head: int | None = None

    @classmethod
    def of(cls, request: Request) -> Picture:
        asked = request.arguments
        if asked.out.suffix.lower() == ".html":
            return WholeView.of(request)
        if asked.layer is not None and asked.head is not None:
            # One head, and that is worth its tokens' names.
            return OneHead.of(request)
        kind = AttentionKind(asked.attention)
        return cls(request.seen, kind, asked.layer, asked.head, target=request.target)

    @property
    def title(self) -> str:
        return f"{self.kind.full_name}, every head"

    @property
    def name(self) -> str:
        return f"{self.kind}-every-head"

    @property
    def alt(self) -> str:
        return overview_alt_text(*self._chosen)

    @property
    def caption(self) -> str:
        return (
            "Each square is one head: queries down, keys across; the stronger the colour, the "
            "larger the weight."
        )

    def figure(self, layout: Layout) -> go.Figure:
        return heads_overview(*self._chosen, **layout.options)

    def numbers(self) -> Numbers:
        maps, heads = self._chosen
        by_layer = [[each.head(head) for head in heads] for each in maps]
        axes = ("layer", "head", *_CELL)

        def stacked(array: str) -> NDArray[Any]:
            return np.array([[getattr(head, array) for head in row] for row in by_layer])

        arrays: Arrays = {"weight": (axes, stacked("weights"))}
        if all(each.scores is not None for each in maps):
            arrays["score"] = (axes, stacked("scores"))
        arrays["allowed"] = (axes, stacked("allowed"))
        along: Axes = {
            "layer": [each.site.layer for each in maps],
            "head": heads,
            "query": maps[0].queries,
            "key": maps[0].keys,
        }
        return Numbers({"attention": str(self.kind)}, along, arrays)

    @property
    def _chosen(self) -> tuple[list[AttentionMap], list[int]]:
        return selected_maps(self.seen, self.kind, self.layer, self.head)


@dataclass(frozen=True, slots=True, eq=False)
class ComparedHeads(_OfTrace):
    """Several heads of one kind of attention side by side.

    Attributes:
        kind: of attention.
        heads: layer and head of each, counted from 0.
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
        panels = compared_panels(self.seen, self.kind, self.heads)
        return " ".join([f"{self._heading}.", *(panel.alt for panel in panels)])

    @property
    def caption(self) -> str:
        row = heatmap.row_words(
            self.kind, by_prediction=self.seen.by_prediction, sides=self.seen.has_sides
        )
        return f"{row}. Layers and heads count from 0."

    def figure(self, layout: Layout) -> go.Figure:
        panels = compared_panels(self.seen, self.kind, self.heads)
        return panels_figure(panels, title=self._heading, **layout.panel_options)

    def numbers(self) -> Numbers:
        made = panels_numbers(compared_panels(self.seen, self.kind, self.heads))
        return Numbers({"attention": str(self.kind)}, made.axes, made.arrays)

    @property
    def _heading(self) -> str:
        return f"{AttentionKind(self.kind).full_name}, {style.count_of(len(self.heads), 'head')}"


@dataclass(frozen=True, slots=True, eq=False)
class JointHeads(_OfTrace):
    """One head number of all three kinds of attention in one square.

    Attributes:
        layer: counted from 0.
        head: counted from 0.
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
        return joint_panel(self.seen, self.layer, self.head).alt

    @property
    def caption(self) -> str:
        kinds = [each.site.kind for each in joint_maps(self.seen, self.layer)]
        parts = [JOINED[kind] for kind in kinds]
        return " ".join([*parts, "Layers and heads count from 0."])

    def figure(self, layout: Layout) -> go.Figure:
        return panel_figure(joint_panel(self.seen, self.layer, self.head), **layout.options)

    def numbers(self) -> Numbers:
        axes: Axes = {}
        arrays: Arrays = {}
        for each in joint_maps(self.seen, self.layer):
            head = each.head(self.head)
            kind = str(each.site.kind)
            cells = cell_axes(axes, head.queries, head.keys, kind)
            arrays[f"{kind}_weight"] = (cells, head.weights)
            arrays[f"{kind}_allowed"] = (cells, head.allowed)
        return Numbers({"layer": self.layer, "head": self.head}, axes, arrays)


@dataclass(frozen=True, slots=True, eq=False)
class HeadMeasures(_OfTrace):
    """The measures of every head, which are a table.

    Attributes:
        facts: of the heads shown.
    """

    facts: Facts

    title = "The measures of every head"
    name = "head-facts"

    def numbers(self) -> Numbers:
        axes: Axes = {}
        arrays: Arrays = {}
        kinds = list(dict.fromkeys(site.kind for site in sorted(self.facts)))
        for kind in kinds:
            sites = [site for site in sorted(self.facts) if site.kind is kind]
            before = f"{kind}_" if len(kinds) > 1 else ""
            axes[f"{before}layer"] = [site.layer for site in sites]
            for measure in MEASURES:
                if kind in measure.kinds and all(measure.key in self.facts[site] for site in sites):
                    values = np.stack([self.facts[site][measure.key] for site in sites])
                    axes.setdefault("head", range(values.shape[1]))
                    arrays[f"{before}{measure.key}"] = ((f"{before}layer", "head"), values)
        return Numbers({"attention": str(kinds[0])} if len(kinds) == 1 else {}, axes, arrays)


@dataclass(frozen=True, slots=True, eq=False)
class WholeView(Picture):
    """The heads view with its interaction.

    Attributes:
        seen: the trace as it is read.
        facts: of every head.
        labels: what heads do over new sentences.
        heading: of the document.
        selection: what is selected at first, as the explorer spells it.
        effects: the loss without each head, by site, (head,), where heads can be ordered by it.
    """

    seen: ReadTrace
    facts: Facts
    labels: Mapping[Site, tuple[Label | None, ...]]
    heading: str
    selection: Mapping[str, str]
    effects: Mapping[Site, FloatArray] | None = None

    title = "The whole view, to open offline"
    name = "heads"

    @classmethod
    def of(cls, request: Request) -> WholeView:
        """The view with the layer and the head selected that were asked for, as far as they are."""
        asked, seen, trace = request.arguments, request.seen, request.trace
        maps, _ = request.maps
        layers = [site.layer for site in seen.maps if site.kind is maps[0].site.kind]
        selection = {"attention": asked.attention}
        if asked.layer is not None:
            selection["layer"] = str(layers.index(asked.layer))
        if asked.head is not None:
            selection["head"] = str(asked.head)
        return cls(
            seen,
            facts_of(seen.maps),
            request.labels,
            f"{trace.source_text} – {trace.text}",
            selection,
        )

    def page(self, dark: bool) -> str:
        # Slow to load, as it brings Streamlit along, and no other picture needs it.
        from viz.heads.standalone import heads_page

        settled = {"words", "specials", "renormalise", "predicted"}
        return heads_page(
            self.seen,
            self.facts,
            self.labels,
            effects=self.effects,
            title=self.heading,
            selection={
                name: value for name, value in self.selection.items() if name not in settled
            },
            dark=dark or None,
        )


def selected(
    view: WholeView, sites: Sequence[Site], head: int, *, target: str = ""
) -> list[Picture]:
    """The pictures that the heads view can save, the large one first.

    Args:
        view: what is selected in it.
        sites: the same as places of the trace, several where all kinds share a picture.
        head: counted from 0.
        target: the translation that was recorded if it is a person's; empty for the model's.
    """
    seen = view.seen
    first: list[Picture] = []
    if view.selection["view"] == "lines":
        first += [HeadLines(seen, site, head, target=target) for site in sites]
    if view.selection["attention"] == JOINT:
        first.append(JointHeads(seen, sites[0].layer, head, target=target))
    elif heads := _compared(view, sites[0], head):
        first.append(ComparedHeads(seen, sites[0].kind, heads, target=target))
    kinds = dict.fromkeys(site.kind for site in sites)
    return [
        *first,
        *(OneHead(seen, site, head, target=target) for site in sites),
        *(EveryHead(seen, kind, target=target) for kind in kinds),
        view,
    ]


def _compared(view: WholeView, site: Site, head: int) -> list[tuple[int, int]]:
    """Layer and head of those that are compared, if there are any on this trace."""
    layers = [other.layer for other in view.seen.maps if other.kind is site.kind]
    n_heads = view.seen.maps[site].n_heads
    pairs = [pair.split(".") for pair in view.selection["compare"].split("-") if pair]
    heads = [
        (layers[int(place)], int(number))
        for place, number in pairs
        if int(place) < len(layers) and int(number) < n_heads
    ]
    # As the explorer has it: the selected head is one of those that are compared, or none is.
    return heads if len(heads) > 1 and (site.layer, head) in heads else []
