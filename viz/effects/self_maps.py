"""Maps of self-attention: the weights, and beside them another method's map."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from model.explain.attribution import METHODS, Method
from model.explain.self_attribution import SelfAttributions
from model.trace.attention_map import AttentionKind, Site
from viz.charts.chart import Layout
from viz.charts.token_map import TokenMap, greatest, spots, token_maps
from viz.draw import style
from viz.draw.axis_names import row_noun
from viz.draw.labels import axis_texts, lower_first
from viz.save.notebook import Lines, public, traced
from viz.save.numbers import Numbers
from viz.save.picture import Picture

PLAIN = "weights"
"""The method that the others are compared with."""

GREATEST = "greatest in this row of the map"
"""The meaning of a dot on a cell."""


@dataclass(frozen=True, slots=True, eq=False)
class SelfMap(Picture):
    """One method's map of a site of self-attention, beside the weights.

    Attributes:
        target: a person's own translation; empty for the model's.
        head: None for all heads together.
        token: the target token whose row of the decoder is framed, from 0; None for none.
        method: a name in `model.explain.attribution.METHODS`; "weights" shows them alone.
        alone: whether only the method's map is drawn.
    """

    attributions: SelfAttributions
    sentence: str
    target: str = ""
    head: int | None = None
    token: int | None = None
    method: str = PLAIN
    alone: bool = False

    name = "effects-self-maps"

    @property
    def about_method(self) -> Method:
        return METHODS[self.method]

    @property
    def part(self) -> str:
        """The layer and head, as they stand inside a sentence."""
        return part_name(self.attributions.site, self.head)

    @property
    def title(self) -> str:
        beside = "" if self.alone or self.method == PLAIN else ", beside the weights"
        kind = lower_first(self.attributions.site.kind.full_name)
        return f"{self.about_method.title} of {kind}, {self.part}{beside}"

    @property
    def alt(self) -> str:
        maps, tokens = self.attributions, self.attributions.tokens
        values, count = maps.map(self.method).of(self.head), len(tokens)
        row, column = np.unravel_index(values.argmax(), values.shape)
        names = axis_texts(tokens)
        text = (
            f"{self.title}. {'A heatmap' if self.method == PLAIN else 'Two heatmaps'} of "
            f"{style.count_of(count, 'query', 'queries')} by {style.count_of(count, 'key')}. "
            f"{self.about_method.title}: greatest at the query “{names[row]}” and the key "
            f"“{names[column]}”, {style.number(float(values[row, column]))}."
        )
        if self.method == PLAIN:
            return text
        tops = [set(greatest(maps.map(each).of(self.head))) for each in (PLAIN, self.method)]
        alike = len({row for row, _ in tops[0] & tops[1]})
        rows = style.count_of(count, "row")
        return f"{text} In {alike} of {rows}, both maps are greatest at the same key."

    @property
    def caption(self) -> str:
        if self.method == PLAIN:
            return "How much weight each query (row) gives to each key (column)."
        return (
            "Queries down, keys across. Where the dots of a row differ, the largest weight is not "
            "the most important one by this method."
        )

    @property
    def more(self) -> str:
        method = self.about_method
        parts = [
            "Weights are averaged over the heads of the layer." if self.head is None else "",
            self._row_words,
            "" if self.attributions.allowed_to(self.head).all() else "Hatched: not allowed.",
            f"{method.title}: {method.paper}. It leaves out: {lower_first(method.leaves_out)}",
        ]
        return " ".join(filter(None, parts))

    @property
    def _row_words(self) -> str:
        """The meaning of a row, for a method that looks beyond its own layer."""
        is_encoder = self.attributions.site.kind is AttentionKind.ENCODER
        if self.about_method.accumulates:
            rest = "." if is_encoder else "; the rest, up to 1, came from the source."
            return (
                "A row shows which tokens’ embeddings it consists of after this layer, including "
                f"all layers below{rest}"
            )
        if not self.about_method.by_prediction:
            return ""
        if self.attributions.token is not None:
            return "The loss is that of the chosen target token alone."
        if is_encoder:
            return "The loss is that of all target tokens together."
        return "A row’s loss is that of the token it predicts, not of later ones."

    def figure(self, layout: Layout) -> go.Figure:
        """The weights and the method's map, or one of them; a dot marks a row's greatest value."""
        maps, kind, shown = self.attributions, self.attributions.site.kind, []
        for name in [self.method] if self.alone or self.method == PLAIN else [PLAIN, self.method]:
            values, method = maps.map(name).of(self.head), METHODS[name]
            title = lower_first(method.title)
            shown.append(
                TokenMap(
                    name=method.title,
                    short_name=title if name == PLAIN or self.alone else "estimate",
                    unit=method.unit,
                    values=values,
                    marks=[spots(GREATEST, greatest(values), values)],
                    allowed=maps.allowed_to(self.head),
                )
            )
        return token_maps(
            layout,
            self.title,
            shown,
            (f"Query: {row_noun(kind)}", maps.tokens),
            (kind.key_noun.capitalize(), maps.tokens),
            short="Beside the weights" if len(shown) > 1 else self.about_method.title,
            # Rows of the encoder predict nothing.
            framed=self.token if kind is AttentionKind.DECODER else None,
        )

    def numbers(self) -> Numbers:
        maps, cells = self.attributions, ("query", "key")
        return Numbers(
            {"method": self.method, "attention": str(maps.site.kind), "part": self.part},
            {"query": maps.tokens, "key": maps.tokens},
            {
                name: (cells, maps.map(method).of(self.head))
                for name, method in (("weight", PLAIN), ("estimate", self.method))
            },
        )

    @property
    def setup(self) -> Lines:
        maps = self.attributions
        of_token = "" if maps.token is None else f", token={maps.token}"
        return [
            *traced(self.sentence, self.target),
            f"site = {public(maps.site)}",
            f"attributions = hs.figures.self_attributions(translator, trace, site{of_token})",
        ]


def part_name(site: Site | None, head: int | None) -> str:
    """A part of the model, for use inside a sentence: a head, a layer, or all of it."""
    if site is None:
        return "the whole model"
    return f"layer {site.layer}, {'all heads' if head is None else f'head {head}'}"


def no_truth(kind: AttentionKind) -> str:
    """Why there is no truth for maps of self-attention, in plain text."""
    return (
        "Which of these maps to believe is not measured here. The truth is how much a target token "
        f"loses without a source token, but here both rows and columns are {kind.query_noun}s. It "
        "is measured for cross-attention and for the whole model."
    )
