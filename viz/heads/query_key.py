"""One weight from the inside: how a query and a key make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz.draw import style, themes
from viz.draw.axis_names import key_title
from viz.draw.labels import axis_labels, axis_texts, escape_html, side_texts
from viz.heads.arithmetic import Arithmetic, arithmetic, equations, vectors_of
from viz.heads.one_head import OfHead
from viz.save.numbers import Numbers, of_head
from viz.save.picture import Layout

STRIP_HEIGHT, BARS_HEIGHT = 68, 128
"""Pixels of the two vectors as colours, and of anything drawn as bars."""

HEADING_HEIGHT = 64
"""Pixels of a heading in two lines and of the space below it."""

COLOUR_BAR_HEIGHT, DIMENSIONS_HEIGHT, KEY_TITLE_HEIGHT = 64, 60, 34
"""Pixels below the vectors, below the products, and of the title below the keys."""

LEFT, RIGHT = 66, 12
"""Pixels at the sides: room for numbers and an axis title, and for a label's half."""

DIMENSION_LABELS = 9
LABELLED_KEYS, LABELLED_KEYS_BESIDE = 16, 20
"""The most keys with room for all labels, with parts stacked and side by side."""


@dataclass(frozen=True, slots=True, eq=False)
class QueryKey(OfHead):
    """One weight from the inside.

    Attributes:
        query: its position.
        key: its position.
    """

    query: int
    key: int

    @property
    def title(self) -> str:
        return f"{self.site.head_name(self.head)}, query {self.query}, key {self.key}"

    @property
    def name(self) -> str:
        head = f"{self.site.kind}-layer{self.site.layer}-head{self.head}"
        return f"query-key-{head}-{self.query}-{self.key}"

    @property
    def arithmetic(self) -> Arithmetic:
        """The numbers of the cell."""
        return arithmetic(self.map, self.head, self.query, self.key)

    @property
    def alt(self) -> str:
        numbers, seen = self.arithmetic, self.map
        return (
            f"{self.site.head_name(self.head)}, query {axis_texts(seen.queries)[self.query]} and "
            f"key {axis_texts(seen.keys)[self.key]}: "
            f"q · k over {style.count_of(numbers.d_k, 'dimension')} is "
            f"{equations(numbers).dot}, {numbers.scaling} it is the score "
            f"{style.number(numbers.scaled)}, {numbers.standing}; the weight is "
            f"{style.number(numbers.weight)}."
        )

    @property
    def caption(self) -> str:
        scaling = self.arithmetic.scaling
        return f"q and k are multiplied and added up; the sum, {scaling}, is the score."

    @property
    def more(self) -> str:
        hatched = ""
        if self.arithmetic.n_allowed < len(self.map.keys):
            hatched = " Hatched keys are not allowed: the mask removes them before the softmax."
        return (
            "Each dimension has a product: orange adds to the sum, blue subtracts. The softmax "
            f"turns the scores of the row into weights that add up to 1.{hatched} Dimensions and "
            "positions count from 0."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """From two vectors to one weight: products, their sum, the score among others, the softmax.

        The traces are the vectors (2, d_k), their products (d_k,), the row's scores (key,) and the
        row's weights (key,), unchanged, and at last the keys that are not allowed, if there are
        any. The keys stand beside the dimensions, and below them in a narrow figure.
        """
        seen, query, key, numbers = self.map, self.query, self.key, self.arithmetic
        q, k, scores = vectors_of(seen, self.head, query, key)
        theme, plan = themes.page(layout.dark), _plan(not layout.narrow)
        vectors = np.stack([q[query], k[key]])
        limit = float(np.abs(vectors).max(initial=0)) or 1.0
        products = vectors[0] * vectors[1]
        one = seen.head(self.head)
        forbidden = ~one.allowed[query]
        names = np.array(
            [f"{label} ({place})" for place, label in enumerate(axis_labels(seen.keys))],
            dtype=object,
        )
        places = np.arange(len(names))
        dimensions = np.arange(numbers.d_k)
        # The one key that is looked at, among the others.
        colors = np.where(places == key, theme.accent, theme.beside)
        hatch = {
            "size": 7,
            "solidity": 0.2,
            "fgcolor": theme.hatch,
            "bgcolor": theme.forbidden,
            "fillmode": "overlay",
        }
        shapes = np.where(forbidden, "/", "")
        data: list[dict[str, Any]] = [
            {
                "type": "heatmap",
                "name": "vectors",
                "x": dimensions,
                "y": np.arange(2),
                "z": vectors,
                "zmin": -limit,
                "zmax": limit,
                "colorscale": theme.signed_colorscale,
                "colorbar": style.signed_bar(theme, limit, y=plan.colour_bar),
                "hovertemplate": "<b>%{y}</b>, dimension %{x}<br>"
                "value <b>%{z:.6~g}</b><extra></extra>",
                "ygap": 2,
            },
            {
                "type": "bar",
                "name": "products",
                "showlegend": False,
                "x": dimensions,
                "y": products,
                "yaxis": "y2",
                "marker": {
                    "color": np.where(products < 0, theme.negative, theme.positive),
                    "line": {"width": 0},
                },
                "customdata": vectors.T,
                "hovertemplate": "dimension %{x}<br>%{customdata[0]:.6~g} × "
                "%{customdata[1]:.6~g} = <b>%{y:.6~g}</b><extra></extra>",
            },
            {
                "type": "bar",
                "name": "scores",
                "showlegend": False,
                "x": places,
                "y": scores[query],
                "xaxis": "x2",
                "yaxis": "y3",
                "marker": {
                    "color": np.where(forbidden, theme.forbidden, colors),
                    "pattern": {**hatch, "shape": shapes},
                    "line": {"width": 0},
                },
                "customdata": np.stack(
                    [names, np.where(forbidden, ", not allowed", "").astype(object)], axis=-1
                ),
                "hovertemplate": "<b>%{customdata[0]}</b>%{customdata[1]}<br>score <b>%{y:.6~g}</b>"
                "<extra></extra>",
            },
            {
                "type": "bar",
                "name": "weights",
                "showlegend": False,
                "x": places,
                "y": one.weights[query],
                "xaxis": "x2",
                "yaxis": "y4",
                "marker": {"color": colors, "line": {"width": 0}},
                "customdata": names,
                "hovertemplate": "<b>%{customdata}</b><br>weight <b>%{y:.6~g}</b><extra></extra>",
            },
        ]
        if forbidden.any():
            data.append(
                {
                    "type": "bar",
                    "name": "not allowed: removed before the softmax",
                    "x": places[forbidden],
                    "y": np.ones(int(forbidden.sum())),
                    "xaxis": "x2",
                    "yaxis": "y4",
                    "marker": {
                        "color": theme.forbidden,
                        "pattern": {**hatch, "shape": "/"},
                        "line": {"width": 0},
                    },
                    "customdata": names[forbidden],
                    "hovertemplate": "<b>%{customdata}</b><br>not allowed<extra></extra>",
                    "showlegend": True,
                }
            )
        spec = self._layout(numbers, theme, plan, legend=bool(forbidden.any()))
        return go.Figure({"data": data, "layout": spec})

    def _layout(
        self, numbers: Arithmetic, theme: themes.Theme, plan: _Plan, *, legend: bool
    ) -> dict[str, Any]:
        seen, query, key = self.map, self.query, self.key
        (query_label,) = axis_labels(seen.queries[query : query + 1])
        (key_label,) = axis_labels(seen.keys[key : key + 1])
        shared = style.layout(
            theme,
            title=f"One weight from the inside: {style.number(numbers.weight)}",
            height=plan.height,
            lines=[
                f"Query q: <b>{query_label}</b> (position {query})",
                f"Key k: <b>{key_label}</b> (position {key})",
                seen.site.head_name(self.head),
            ],
        )
        texts = side_texts(seen.keys, narrow=True)
        # Room for labels that stand upright: whether they must turn is known in the browser alone.
        labels = round(max(len(text) for text in texts) * style.SMALL_FONT_SIZE / 2) + 20
        above = shared["margin"]["t"]
        below = labels + KEY_TITLE_HEIGHT + (style.LEGEND_HEIGHT if legend else 0)
        numeric = {
            "nticks": 5,
            "tickfont": {"size": style.SMALL_FONT_SIZE},
            "showgrid": True,
            "gridcolor": theme.grid,
            "zerolinecolor": theme.muted,
        }
        across = {"showgrid": False, "zeroline": False, "tickfont": {"size": style.SMALL_FONT_SIZE}}
        vectors, products, scores, weights = plan.rows
        return shared | {
            "height": above + plan.height + below,
            # Labels that pushed the margins would move the parts away from their headings.
            "margin": {"l": LEFT, "r": RIGHT, "t": above, "b": below},
            "plot_bgcolor": style.CLEAR,
            "showlegend": legend,
            "legend": shared["legend"] | {"x": 0, "xref": "container", "xanchor": "left", "y": 0},
            "barmode": "overlay",
            "bargap": 0.12,
            "annotations": _headings(numbers, plan, theme),
            "shapes": [_mark(key, axis, theme) for axis in ("y3", "y4")],
            "xaxis": across
            | {
                "title": style.axis_title("Dimension", 8),
                "domain": plan.columns[0],
                "anchor": "y2",
                "range": [-0.5, numbers.d_k - 0.5],
                "tickmode": "array",
                "tickvals": list(range(0, numbers.d_k, _dimension_step(numbers.d_k))),
                "ticks": "outside",
                "ticklen": 4,
                "tickcolor": theme.muted,
            },
            "xaxis2": across
            | {
                "title": style.axis_title(key_title(seen.site.kind, sides=self.seen.has_sides), 8),
                "domain": plan.columns[1],
                "anchor": "y4",
                "range": [-0.5, len(texts) - 0.5],
                **_key_ticks(texts, key, plan.side_by_side),
                "autotickangles": [0, -90],
            },
            "yaxis": {
                "domain": vectors,
                "range": [1.5, -0.5],
                "tickmode": "array",
                "tickvals": [0, 1],
                "ticktext": ["q", "k"],
                "ticklabeloverflow": "allow",
                "tickfont": {"size": style.FONT_SIZE},
                "ticklabelstandoff": 6,
                "showgrid": False,
                "zeroline": False,
            },
            "yaxis2": numeric | {"title": style.axis_title("q × k", 8), "domain": products},
            "yaxis3": numeric
            | {"title": style.axis_title("score", 8), "domain": scores, "anchor": "x2"},
            "yaxis4": numeric
            | {
                "title": style.axis_title("weight", 8),
                "domain": weights,
                "anchor": "x2",
                "range": [0, 1],
                "tickmode": "array",
                "tickvals": [0, 0.5, 1],
            },
        }

    def numbers(self) -> Numbers:
        q, k, scores = vectors_of(self.map, self.head, self.query, self.key)
        head = self.map.head(self.head)
        one, other = q[self.query], k[self.key]
        return Numbers(
            of_head(self.site, self.head) | {"of_query": self.query, "of_key": self.key},
            {"dimension": range(len(one)), "key": head.keys},
            {
                "query_vector": (("dimension",), one),
                "key_vector": (("dimension",), other),
                "product": (("dimension",), one * other),
                "score": (("key",), scores[self.query]),
                "weight": (("key",), head.weights[self.query]),
                "allowed": (("key",), head.allowed[self.query]),
            },
        )


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where the four parts lie: shares of the plot, from the left and from below.

    Attributes:
        height: of the plot, in pixels.
        columns: where the dimensions and the keys lie across.
        rows: where the vectors, the products, the scores and the weights lie down the page.
        colour_bar: the upper edge of the colour bar.
        side_by_side: whether the keys lie beside the dimensions.
    """

    height: int
    columns: tuple[tuple[float, float], tuple[float, float]]
    rows: tuple[tuple[float, float], ...]
    colour_bar: float
    side_by_side: bool


def _plan(side_by_side: bool) -> _Plan:
    # Pixels from the top of the plot to the upper and the lower edge of every part.
    vectors = HEADING_HEIGHT, HEADING_HEIGHT + STRIP_HEIGHT
    products_top = vectors[1] + COLOUR_BAR_HEIGHT + HEADING_HEIGHT
    products = products_top, products_top + BARS_HEIGHT
    if side_by_side:
        # Nothing lies below the scores, as the keys are named below the weights.
        scores = vectors[0], vectors[1] + COLOUR_BAR_HEIGHT - 14
        weights = products
    else:
        scores_top = products[1] + DIMENSIONS_HEIGHT + HEADING_HEIGHT
        scores = scores_top, scores_top + BARS_HEIGHT
        weights_top = scores[1] + HEADING_HEIGHT + 10
        weights = weights_top, weights_top + BARS_HEIGHT
    height = weights[1]
    rows = tuple(
        (1 - lower / height, 1 - upper / height)
        for upper, lower in (vectors, products, scores, weights)
    )
    columns = ((0.0, 0.44), (0.56, 1.0)) if side_by_side else ((0.0, 1.0), (0.0, 1.0))
    return _Plan(height, columns, rows, rows[0][0] - 8 / height, side_by_side)


def _headings(numbers: Arithmetic, plan: _Plan, theme: themes.Theme) -> list[dict[str, Any]]:
    """What happens in each part, and the same with this cell's numbers."""
    printed = equations(numbers)
    scaled, weight = style.number(numbers.scaled), style.number(numbers.weight)
    sign = "dimension" if numbers.d_k == 1 else "dimensions"
    if numbers.is_scaled:
        division, quotient = f"Divided by √{numbers.d_k}", printed.quotient
    else:
        division, quotient = "Not scaled", f"score {scaled}"
    if not numbers.allowed:
        outcome = f"not allowed, so the weight is {weight}"
    elif numbers.complete:
        keys = "1 key" if numbers.n_allowed == 1 else f"{numbers.n_allowed} keys"
        outcome = f"e<sup>{scaled}</sup> ÷ sum over {keys} = {weight}"
    else:
        outcome = f"{weight} recorded; it has parts that are not shown"
    texts = (
        ("1  Two vectors", f"{numbers.d_k} {sign}, from query and key"),
        (
            "2  Multiplied, then added up",
            f"q · k = {printed.sum_}",
        ),
        (f"3  {division}, beside the others", f"{quotient}, {numbers.standing}"),
        ("4  Softmax over the allowed keys", outcome),
    )
    columns = [plan.columns[0][0]] * 2 + [plan.columns[1][0]] * 2
    return [
        # From the left edge of the numbers, where a heading has the whole width.
        style.heading(
            theme,
            f"<b>{heading}</b><br>{sum_}",
            x,
            row[1],
            align="left",
            xshift=4 - LEFT,
            yshift=8,
        )
        for (heading, sum_), x, row in zip(texts, columns, plan.rows, strict=True)
    ]


def _mark(key: int, axis: str, theme: themes.Theme) -> dict[str, Any]:
    """A frame round the selected key, which shows it even where its bar has no height."""
    return {
        "type": "rect",
        "xref": "x2",
        "x0": key - 0.5,
        "x1": key + 0.5,
        "yref": f"{axis} domain",
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "fillcolor": style.CLEAR,
        # Dotted, or it would look like a bar of the weight 1 where there are hundreds of keys.
        "line": {"width": 1, "color": theme.accent, "dash": "dot"},
    }


def _key_ticks(texts: list[str], key: int, side_by_side: bool) -> dict[str, Any]:
    """Every label there is room for; the key that is looked at always has its own, in bold."""
    room = LABELLED_KEYS_BESIDE if side_by_side else LABELLED_KEYS
    step = style.label_step(len(texts), room)
    shown = [place for place in range(0, len(texts), step) if abs(place - key) >= step]
    tickvals = sorted([*shown, key])
    labels = [escape_html(texts[place]) for place in tickvals]
    return {
        "tickmode": "array",
        "dtick": step,
        "ticklabeloverflow": "allow",
        "tickvals": tickvals,
        "ticktext": [
            f"<b>{label}</b>" if place == key else label
            for place, label in zip(tickvals, labels, strict=True)
        ],
    }


def _dimension_step(d_k: int) -> int:
    """A power of two, as sizes of vectors mostly are."""
    step = 1
    while d_k > step * DIMENSION_LABELS:
        step *= 2
    return step
