"""One weight from the inside: how a query and a key make it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import Tokens
from viz.charts.axes import Axis, label_axis, number_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import Mark, Sheet, Values, bars, cells
from viz.charts.scale import Scale, around_zero
from viz.charts.texts import corner_note
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

COLOUR_BAR_HEIGHT, DIMENSIONS_HEIGHT, KEY_TITLE_HEIGHT = 64, 60, 54
"""Pixels below the vectors, below the products, and below the labels of the keys."""

LEFT, RIGHT = 66, 12
"""Pixels at the sides: room for numbers and an axis title, and for a label's half."""

DIMENSION_LABELS, LABELLED_KEYS = 9, 16
"""The most dimensions and keys with room for all labels."""

_UP = number_axis(nticks=5, zeroline=True, automargin=False)


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

        The traces are the vectors (2, d_k), and by their names "products" (d_k,), "scores" (key,)
        and "weights" (key,), unchanged, and the keys that are not allowed, if there are any. The
        keys stand beside the dimensions, and below them in a narrow figure.
        """
        seen, query, key, numbers = self.map, self.query, self.key, self.arithmetic
        q, k, scores = vectors_of(seen, self.head, query, key)
        narrow, one = layout.narrow, seen.head(self.head)
        pair = np.stack([q[query], k[key]])
        products = pair[0] * pair[1]
        forbidden = ~one.allowed[query]
        names = np.array([f"{label} ({at})" for at, label in enumerate(axis_labels(seen.keys))])
        # The one key that is looked at, among the others.
        colors = np.full(len(names), "beside", dtype=object)
        colors[key] = "accent"
        limit = float(np.abs(pair).max(initial=0)) or 1.0
        headings = [
            # From the left edge of the numbers, where a heading has the whole width.
            corner_note(text, at=0, right=4 - LEFT, up=8, align="left", color="text", size=16)
            for text in _headings(numbers)
        ]
        dimensions, keys = (
            _dimensions(numbers.d_k, themes.page(layout.dark).muted),
            _keys(seen.keys, key),
        )
        vectors = Plot(
            across=dimensions.with_(showticklabels=False, ticks=""),
            up=label_axis("", ["q", "k"], automargin=False, tickfont={"size": style.FONT_SIZE}),
            marks=[
                cells(
                    pair,
                    name="vectors",
                    scale=_scale(limit),
                    hover="<b>%{y}</b>, dimension %{x}<br>value <b>%{z:.6~g}</b>",
                    xgap=0,
                    ygap=2,
                ),
                headings[0],
            ],
            height=STRIP_HEIGHT,
            below=COLOUR_BAR_HEIGHT,
        )
        multiplied = Plot(
            across=_titled(dimensions, "Dimension").with_(matches="x"),
            up=_titled(_UP, "q × k"),
            marks=[
                _bars(
                    products,
                    "products",
                    color=np.where(products < 0, "negative", "positive").tolist(),
                    customdata=pair.T,
                    hover="dimension %{x}<br>%{customdata[0]:.6~g} × %{customdata[1]:.6~g} = "
                    "<b>%{y:.6~g}</b>",
                ),
                headings[1],
            ],
            height=BARS_HEIGHT,
            below=DIMENSIONS_HEIGHT if narrow else 0,
        )
        scored = Plot(
            across=keys.with_(showticklabels=False, matches="x4"),
            up=_titled(_UP, "score"),
            marks=[
                _bars(
                    scores[query],
                    "scores",
                    color=np.where(forbidden, "forbidden", colors).tolist(),
                    hatched=forbidden,
                    customdata=np.stack([names, np.where(forbidden, ", not allowed", "")], axis=-1),
                    hover="<b>%{customdata[0]}</b>%{customdata[1]}<br>score <b>%{y:.6~g}</b>",
                ),
                _frame(key),
                headings[2],
            ],
            # Nothing lies below the scores, as the keys are named below the weights.
            height=BARS_HEIGHT if narrow else STRIP_HEIGHT + COLOUR_BAR_HEIGHT - 14,
            below=10 if narrow else 0,
        )
        weighed = Plot(
            across=_titled(keys, key_title(seen.site.kind, sides=self.seen.has_sides)),
            up=_titled(_UP, "weight").with_(range=[0, 1], tickvals=[0, 0.5, 1]),
            marks=[
                _bars(
                    one.weights[query],
                    "weights",
                    color=colors.tolist(),
                    customdata=names,
                    hover="<b>%{customdata}</b><br>weight <b>%{y:.6~g}</b>",
                ),
                _frame(key),
                headings[3],
            ],
            height=BARS_HEIGHT,
        )
        if forbidden.any():
            removed = _bars(
                np.ones(int(forbidden.sum())),
                "not allowed: removed before the softmax",
                at=np.flatnonzero(forbidden),
                color="forbidden",
                hatched=forbidden[forbidden],
                customdata=names[forbidden],
                hover="<b>%{customdata}</b><br>not allowed",
                showlegend=True,
            )
            weighed = replace(weighed, marks=[*weighed.marks, removed])
        (query_label,) = axis_labels(seen.queries[query : query + 1])
        (key_label,) = axis_labels(seen.keys[key : key + 1])
        made = chart(
            layout,
            f"One weight from the inside: {style.number(numbers.weight)}",
            # Row by row.
            [vectors, multiplied, scored, weighed]
            if narrow
            else [vectors, scored, multiplied, weighed],
            lines=[],
            always=[
                f"Query q: <b>{query_label}</b> (position {query})",
                f"Key k: <b>{key_label}</b> (position {key})",
                seen.site.head_name(self.head),
            ],
            top=HEADING_HEIGHT,
            # Room for upright labels: whether they must turn is known in the browser alone.
            below=round(max(map(len, keys.plain(True))) * style.SMALL_FONT_SIZE / 2)
            + KEY_TITLE_HEIGHT
            + (style.LEGEND_HEIGHT if forbidden.any() else 0),
            abreast=2,
            between=0.12,
            gap=HEADING_HEIGHT,
            barmode="overlay",
            bargap=0.12,
        )
        # Labels that pushed the margins would move the parts away from their headings.
        made.update_layout(margin_l=LEFT, margin_r=RIGHT)
        return made.update_traces({"colorbar.y": made.layout.yaxis.domain[0]}, {"name": "vectors"})

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


def _bars(values: Values, name: str, **look: Any) -> Mark:
    """One bar a dimension or key."""
    return bars(values, down=False, name=name, legend=False, **look)


def _scale(limit: float) -> Scale:
    """The colours of the two vectors, with the bar right below them."""
    return around_zero(
        "value",
        limit,
        ticks={-limit: style.number(-limit), 0: "0", limit: style.number(limit)},
        lengths=(190, 190),
        bar={"yref": "paper", "yanchor": "top", "ypad": 8},
    )


def _headings(numbers: Arithmetic) -> list[str]:
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
    return [
        f"<b>1  Two vectors</b><br>{numbers.d_k} {sign}, from query and key",
        f"<b>2  Multiplied, then added up</b><br>q · k = {printed.sum_}",
        f"<b>3  {division}, beside the others</b><br>{quotient}, {numbers.standing}",
        f"<b>4  Softmax over the allowed keys</b><br>{outcome}",
    ]


def _frame(key: int) -> Mark:
    """A frame round the selected key, which shows it even where its bar has no height."""

    def draw(sheet: Sheet) -> None:
        sheet.shape(
            **{"type": "rect", "layer": "below", "x0": key - 0.5, "x1": key + 0.5},
            **{"yref": f"y{sheet.suffix} domain", "y0": 0, "y1": 1, "fillcolor": style.CLEAR},
            # Dotted, or it would look like a bar of the weight 1 where there are hundreds of keys.
            line={"width": 1, "color": sheet.theme.accent, "dash": "dot"},
        )

    return draw


def _titled(axis: Axis, title: str) -> Axis:
    """An axis with a title in a narrow figure too."""
    return axis.with_(title=style.axis_title(title, 8))


def _dimensions(d_k: int, tick: str) -> Axis:
    """Every label there is room for, by a power of two, as sizes of vectors mostly are."""
    step = 1
    while d_k > step * DIMENSION_LABELS:
        step *= 2
    return number_axis(
        "",
        list(range(d_k)),
        range=[-0.5, d_k - 0.5],
        tickvals=list(range(0, d_k, step)),
        ticks="outside",
        ticklen=4,
        tickcolor=tick,
        showgrid=False,
        automargin=False,
    )


def _keys(keys: Tokens, key: int) -> Axis:
    """Every label there is room for; the key that is looked at always has its own, in bold."""
    texts = side_texts(keys, narrow=True)
    step = style.label_step(len(texts), LABELLED_KEYS)
    shown = [place for place in range(0, len(texts), step) if abs(place - key) >= step]
    labels = {place: escape_html(texts[place]) for place in sorted([*shown, key])}
    labels[key] = f"<b>{labels[key]}</b>"
    return label_axis(
        "",
        texts,
        room=(LABELLED_KEYS, LABELLED_KEYS),
        tickvals=list(labels),
        ticktext=list(labels.values()),
        tickfont={"size": style.SMALL_FONT_SIZE},
        ticklabelstandoff=0,
        autotickangles=[0, -90],
        automargin=False,
    )
