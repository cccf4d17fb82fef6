"""The pictures of the heads page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.growth import Growth
from model.explain.labels import Label
from model.explain.measures import MEASURES, facts_of
from model.explain.reading import Reading, Seen, chosen_maps
from model.trace.attention_map import AttentionKind, AttentionMap, FloatArray, Site
from model.trace.terms import HeadMatrices
from viz.draw import heatmap, style
from viz.draw.panel_figure import panel_figure, panels_figure
from viz.heads import query_key as inside
from viz.heads import training_curves
from viz.heads.lines import lines_figure
from viz.heads.matrices import matrices_alt_text, matrices_caption, matrices_figure
from viz.heads.overview import heads_overview, overview_alt_text
from viz.heads.panels import JOINED, compared_panels, joint_maps, joint_panel
from viz.heads.payload import JOINT
from viz.links.request import Request
from viz.save.formats import ExportError
from viz.save.notebook import Lines, opened, recorded, recorded_elsewhere
from viz.save.numbers import Arrays, Axes, Numbers, cell_axes, of_head, panels_numbers
from viz.save.picture import Layout, Picture

Facts = Mapping[Site, Mapping[str, Any]]
"""The measures of heads, of model.explain.measures.head_facts, by site."""

_CELL = ("query", "key")


@dataclass(frozen=True, slots=True, eq=False)
class _OfTrace(Picture):
    """What one trace shows.

    Attributes:
        seen: the trace as it is read.
        target: the translation that was recorded if it is a person's; empty for the model's.
    """

    seen: Seen
    target: str = field(default="", kw_only=True)

    @property
    def texts(self) -> Mapping[str, str]:
        return {"reading": " ".join(self.seen.notes)} if self.seen.notes else {}

    @property
    def needs_model(self) -> bool:
        return not (self.seen.file or self.seen.folder)

    @property
    def _recorded(self) -> Lines:
        """The lines that record the trace, or open its file."""
        if self.seen.file:
            return [opened(self.seen.file)]
        if self.seen.folder:
            return [recorded_elsewhere(self.seen.folder, self.seen.source_text)]
        return [recorded(self.seen.source_text, self.target)]

    @property
    def _read(self) -> str:
        """The call that reads it."""
        chosen = [
            f"{each.name}={getattr(self.seen.reading, each.name)}"
            for each in fields(Reading)
            if getattr(self.seen.reading, each.name) != each.default
        ]
        return f"hs.read(trace, hs.Reading({', '.join(chosen)}))" if chosen else "hs.read(trace)"


@dataclass(frozen=True, slots=True, eq=False)
class _OfHead(_OfTrace):
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
        return " ".join([read, *self.seen.notes])

    def figure(self, layout: Layout) -> go.Figure:
        kind, layer = self.site.kind, self.site.layer
        return heatmap.head_figure(self.seen, kind, layer, self.head, **layout.options)

    def python(self, layout: Layout) -> Lines:
        site = f"{str(self.site.kind)!r}, {self.site.layer}"
        return [
            *self._recorded,
            f"hs.figures.head_figure({self._read}, {site}, {self.head}{layout.python})",
        ]


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
            query_title=self._query_title,
            sides=self.seen.has_sides,
            **layout.options,
        )

    def python(self, layout: Layout) -> Lines:
        return [
            *self._recorded,
            f"seen = {self._read}",
            f"found = hs.figures.site_map(seen, {str(self.site.kind)!r}, {self.site.layer})",
            f"hs.figures.lines_figure(found, {self.head}, "
            f"query_title={self._query_title!r}{layout.python})",
        ]

    @property
    def _query_title(self) -> str:
        return heatmap.row_titles(self.site.kind, self.seen).query


@dataclass(frozen=True, slots=True, eq=False)
class WeightMatrices(Picture):
    """W_Q, W_K, W_V and W_O of one head.

    Attributes:
        matrices: of `Translator.head_matrices`.
        site: where the head is.
        head: counted from 0.
    """

    slug: ClassVar[str] = "matrices"
    about: ClassVar[str] = "W_Q, W_K, W_V and W_O of one head: --attention, --layer, --head"

    origin = ("model",)

    matrices: HeadMatrices
    site: Site
    head: int

    @classmethod
    def of(cls, request: Request) -> WeightMatrices:
        site = request.attention_map.site
        found = request.translator.head_matrices(site, request.head)
        return cls(found, site, request.head)

    @property
    def title(self) -> str:
        return f"{self.site.head_name(self.head)}, weight matrices"

    @property
    def name(self) -> str:
        return f"{self.site.kind}-layer{self.site.layer}-head{self.head}-matrices"

    @property
    def alt(self) -> str:
        return matrices_alt_text(self.matrices, self.site, self.head)

    @property
    def caption(self) -> str:
        return matrices_caption(self.matrices)

    def figure(self, layout: Layout) -> go.Figure:
        return matrices_figure(self.matrices, self.site, self.head, **layout.options)

    def numbers(self) -> Numbers:
        found = self.matrices
        d_model, d_k = found.w_q.shape
        arrays: Arrays = {
            "w_q": (("dimension", "of_query"), found.w_q),
            "w_k": (("dimension", "of_query"), found.w_k),
            "w_v": (("dimension", "of_value"), found.w_v),
            "w_o": (("of_value", "dimension"), found.w_o),
        }
        d_v = len(found.w_o)
        axes: Axes = {
            "dimension": range(d_model),
            "of_query": range(d_k),
            "of_value": range(d_v),
        }
        return Numbers(of_head(self.site, self.head), axes, arrays)

    def python(self, layout: Layout) -> Lines:
        return [
            f"site = hs.Site(hs.AttentionKind({str(self.site.kind)!r}), {self.site.layer})",
            f"matrices = translator.head_matrices(site, {self.head})",
            f"hs.figures.matrices_figure(matrices, site, {self.head}{layout.python})",
        ]


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

    def python(self, layout: Layout) -> Lines:
        beside = "" if self.seen.has_sides else ", sides=False"
        beside += "" if layout.narrow else ", side_by_side=True"
        dark = ", dark=True" if layout.dark else ""
        return [
            *self._recorded,
            f"seen = hs.figures.site_map({self._read}, {str(self.site.kind)!r}, {self.site.layer})",
            f"hs.figures.query_key_figure(seen, {self.head}, {self.query}, "
            f"{self.key}{beside}{dark})",
        ]


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
        return " ".join(
            [
                "Each square is one head: queries down, keys across; the stronger the colour, the "
                "larger the weight.",
                *self.seen.notes,
            ]
        )

    def figure(self, layout: Layout) -> go.Figure:
        return heads_overview(*self._chosen, **layout.options)

    def numbers(self) -> Numbers:
        maps, heads = self._chosen
        found = [[each.head(head) for head in heads] for each in maps]
        axes = ("layer", "head", *_CELL)

        def stacked(array: str) -> NDArray[Any]:
            return np.array([[getattr(head, array) for head in row] for row in found])

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

    def python(self, layout: Layout) -> Lines:
        chosen = f"{str(self.kind)!r}, {self.layer}, {self.head}"
        return [
            *self._recorded,
            f"hs.figures.heads_overview(*hs.figures.chosen_maps({self._read}, "
            f"{chosen}){layout.python})",
        ]

    @property
    def _chosen(self) -> tuple[list[AttentionMap], list[int]]:
        return chosen_maps(self.seen, self.kind, self.layer, self.head)


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
        return " ".join([f"{row}. Layers and heads count from 0.", *self.seen.notes])

    def figure(self, layout: Layout) -> go.Figure:
        panels = compared_panels(self.seen, self.kind, self.heads)
        return panels_figure(panels, title=self._heading, **layout.panel_options)

    def numbers(self) -> Numbers:
        made = panels_numbers(compared_panels(self.seen, self.kind, self.heads))
        return Numbers({"attention": str(self.kind)}, made.axes, made.arrays)

    def python(self, layout: Layout) -> Lines:
        return [
            *self._recorded,
            f"seen = {self._read}",
            "hs.figures.panels_figure(hs.figures.compared_panels(seen, "
            f"{str(self.kind)!r}, {list(self.heads)}), "
            f"title={self._heading!r}{layout.panel_python})",
        ]

    @property
    def _heading(self) -> str:
        return f"{self.kind.full_name}, {style.count_of(len(self.heads), 'head')}"


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
        kinds = [found.site.kind for found in joint_maps(self.seen, self.layer)]
        parts = [JOINED[kind] for kind in kinds]
        return " ".join([*parts, "Layers and heads count from 0.", *self.seen.notes])

    def figure(self, layout: Layout) -> go.Figure:
        return panel_figure(joint_panel(self.seen, self.layer, self.head), **layout.options)

    def numbers(self) -> Numbers:
        axes: Axes = {}
        arrays: Arrays = {}
        for found in joint_maps(self.seen, self.layer):
            head = found.head(self.head)
            kind = str(found.site.kind)
            cells = cell_axes(axes, head.queries, head.keys, kind)
            arrays[f"{kind}_weight"] = (cells, head.weights)
            arrays[f"{kind}_allowed"] = (cells, head.allowed)
        return Numbers({"layer": self.layer, "head": self.head}, axes, arrays)

    def python(self, layout: Layout) -> Lines:
        return [
            *self._recorded,
            f"seen = {self._read}",
            f"hs.figures.panel_figure(hs.figures.joint_panel(seen, {self.layer}, "
            f"{self.head}){layout.python})",
        ]


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
class HeadGrowth(Picture):
    """One measure of every head of a kind over the steps of training.

    Attributes:
        grown: of the model.
        measure: the key of one that the kind has.
        site: of the head that stands out.
        head: its number.
        checkpoint: the model's folder, as a notebook finds it.
    """

    grown: Growth
    measure: str
    site: Site
    head: int
    checkpoint: str

    needs_model = False
    origin = ("model",)

    @property
    def title(self) -> str:
        return f"{training_curves.NAMES[self.measure]}, over training"

    @property
    def name(self) -> str:
        return f"training-{self.measure.replace('_', '-')}-{self.site.kind}"

    @property
    def alt(self) -> str:
        return training_curves.growth_alt_text(self.grown, self.measure, self.site.kind)

    @property
    def caption(self) -> str:
        return training_curves.growth_caption(self.grown, self.measure, self.site.kind)

    def figure(self, layout: Layout) -> go.Figure:
        chosen = self.site.layer, self.head
        return training_curves.growth_figure(
            self.grown, self.measure, self.site.kind, chosen, **layout.options
        )

    def numbers(self) -> Numbers:
        curves = self.grown.of_kind(self.measure, self.site.kind)
        layers = [site.layer for site in curves]
        values = np.stack(list(curves.values()))
        return Numbers(
            {"attention": str(self.site.kind)},
            {"layer": layers, "head": range(values.shape[1]), "step": self.grown.steps},
            {self.measure: (("layer", "head", "step"), values)},
        )

    def python(self, layout: Layout) -> Lines:
        kind, chosen = f"hs.AttentionKind.{self.site.kind.name}", (self.site.layer, self.head)
        return [
            f"grown = hs.figures.read_growth(hs.checkpoint_folder({self.checkpoint!r}))",
            f"hs.figures.growth_figure(grown, {self.measure!r}, {kind}, {chosen}{layout.python})",
        ]


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

    seen: Seen
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
    """What there is to save of the heads view: the large picture first, then the rest of it.

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
