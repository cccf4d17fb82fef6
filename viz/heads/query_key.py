"""One weight from the inside: how a query and a key make it, and how to say it in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.trace.attention_map import AttentionMap, FloatArray
from viz.draw import style
from viz.draw.heatmap import key_title
from viz.draw.labels import axis_labels, axis_texts, escape_html, side_texts

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
"""Up to so many keys all have a label, one part above the other and side by side."""

_MOST_DIGITS = 6
"""Most decimals of a printed sum; more than three only if its quotient needs them."""

# Rounding differs between kernels and grows with the vectors, not with their product.
_TOLERANCE = 2e-3


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The numbers between a query, a key and their weight (Vaswani et al. 2017, section 3.2.1).

    Attributes:
        d_k: how many dimensions the two vectors have.
        gain: the sum of the positive products.
        loss: the sum of the negative products, 0 or less.
        dot: the sum of all products, q · k.
        divisor: what the sum is divided by: √d_k, or 1 where scores are not scaled.
        scaled: the recorded score, before masking.
        allowed: whether the query may attend to the key.
        weight: the recorded weight.
        n_allowed: to how many keys the query may attend.
        row_max: the largest score among these, or None if there are none.
        rank: how many of these have a larger score, plus 1; None for a key that is not allowed.
        complete: whether the softmax of the row's allowed scores gives the row's weights. It does
            not where keys are hidden, or where something was added to the scores.
    """

    d_k: int
    gain: float
    loss: float
    dot: float
    divisor: float
    scaled: float
    allowed: bool
    weight: float
    n_allowed: int
    row_max: float | None
    rank: int | None
    complete: bool

    @property
    def is_scaled(self) -> bool:
        """Whether the score is the product divided by √d_k."""
        return self.divisor == math.sqrt(self.d_k)


def query_key_figure(
    seen: AttentionMap,
    head: int,
    query: int,
    key: int,
    *,
    sides: bool = True,
    side_by_side: bool = False,
    dark: bool = False,
) -> go.Figure:
    """From two vectors to one weight: products, their sum, the score among others, the softmax.

    The traces are the vectors (2, d_k), their products (d_k,), the row's scores (key,) and the
    row's weights (key,), unchanged, and at last the keys that are not allowed, if there are any.

    Args:
        seen: the site.
        head: counted from 0.
        query: the position of the query.
        key: the position of the key.
        sides: whether tokens are of a source and a target, of `Seen.has_sides`.
        side_by_side: the keys beside the dimensions and not below them, for a width of at least
            `style.SIDE_BY_SIDE`. One below the other fits every width from a phone's on.
        dark: for a dark page.

    Raises:
        IndexError: if there is no such head, query or key.
        ValueError: if the vectors were not recorded, or the scores are not made of their product.
    """
    numbers = arithmetic(seen, head, query, key)
    q, k, scores = _vectors(seen, head)
    theme = style.look(dark)
    plan = _plan(side_by_side)
    vectors = np.stack([q[query], k[key]])
    limit = float(np.abs(vectors).max(initial=0)) or 1.0
    products = vectors[0] * vectors[1]
    one = seen.head(head)
    forbidden = ~one.allowed[query]
    names = np.array(
        [f"{label} ({place})" for place, label in enumerate(axis_labels(seen.keys))], dtype=object
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
            "hovertemplate": "<b>%{y}</b>, dimension %{x}<br>value <b>%{z:.6~g}</b><extra></extra>",
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
            "hovertemplate": "dimension %{x}<br>%{customdata[0]:.6~g} × %{customdata[1]:.6~g} = "
            "<b>%{y:.6~g}</b><extra></extra>",
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
    keys = key_title(seen.site.kind, sides=sides)
    layout = _layout(
        seen, head, query, key, numbers, theme, plan, keys, legend=bool(forbidden.any())
    )
    return go.Figure({"data": data, "layout": layout})


def arithmetic(seen: AttentionMap, head: int, query: int, key: int) -> Arithmetic:
    """The numbers of one cell.

    The products and their sum are computed from the recorded vectors; the score and the weight are
    the recorded ones.

    Args:
        seen: the site.
        head: counted from 0.
        query: the position of the query.
        key: the position of the key.

    Raises:
        IndexError: if there is no such head, query or key.
        ValueError: if the vectors were not recorded, or the scores are not made of their product.
    """
    one = seen.head(head)
    weights = one.weights
    _require_position("query", query, weights.shape[0])
    _require_position("key", key, weights.shape[1])
    q, k, scores = _vectors(seen, head)
    allowed = one.allowed[query]
    divisor = _divisor(q, k, scores)
    products = q[query].astype(np.float64) * k[key]
    gain = float(products[products > 0].sum())
    loss = float(products[products < 0].sum())
    row = scores[query].astype(np.float64)
    seen_row = row[allowed]
    is_allowed = bool(allowed[key])
    return Arithmetic(
        d_k=q.shape[-1],
        gain=gain,
        loss=loss,
        dot=gain + loss,
        divisor=divisor,
        scaled=float(row[key]),
        allowed=is_allowed,
        weight=float(weights[query, key]),
        n_allowed=int(allowed.sum()),
        row_max=float(seen_row.max()) if seen_row.size else None,
        rank=1 + int((seen_row > row[key]).sum()) if is_allowed else None,
        complete=_is_softmax(weights[query], row, allowed),
    )


def alt_text(seen: AttentionMap, head: int, query: int, key: int) -> str:
    """The figure in words, for those who do not see it; arguments and errors as in `arithmetic`."""
    numbers = arithmetic(seen, head, query, key)
    scaling = f"divided by √{numbers.d_k}" if numbers.is_scaled else "not scaled"
    return (
        f"{seen.site.head_name(head)}, query {axis_texts(seen.queries)[query]} and key "
        f"{axis_texts(seen.keys)[key]}: "
        f"q · k over {numbers.d_k} dimension{'' if numbers.d_k == 1 else 's'} is "
        f"{equations(numbers).dot}, {scaling} it is the score {style.number(numbers.scaled)}, "
        f"{_standing(numbers)}; the weight is {style.number(numbers.weight)}."
    )


def caption(seen: AttentionMap, head: int, query: int, key: int) -> str:
    """What to look at, in one line of plain text; arguments and errors as in `arithmetic`."""
    numbers = arithmetic(seen, head, query, key)
    scaling = f"divided by √{numbers.d_k}" if numbers.is_scaled else "not scaled"
    return f"q and k are multiplied and added up; the sum, {scaling}, is the score."


def more(seen: AttentionMap, head: int, query: int, key: int) -> str:
    """What else helps to read the figure; arguments and errors as in `arithmetic`."""
    numbers = arithmetic(seen, head, query, key)
    hatched = ""
    if numbers.n_allowed < len(seen.keys):
        hatched = " Hatched keys are not allowed: the mask removes them before the softmax."
    return (
        "Each dimension has a product: orange adds to the sum, blue subtracts. The softmax turns "
        f"the scores of the row into weights that add up to 1.{hatched} Dimensions and positions "
        "count from 0."
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


def _layout(
    seen: AttentionMap,
    head: int,
    query: int,
    key: int,
    numbers: Arithmetic,
    theme: style.Look,
    plan: _Plan,
    keys: str,
    *,
    legend: bool,
) -> dict[str, Any]:
    (query_label,) = axis_labels(seen.queries[query : query + 1])
    (key_label,) = axis_labels(seen.keys[key : key + 1])
    shared = style.layout(
        theme,
        title=f"One weight from the inside: {style.number(numbers.weight)}",
        height=plan.height,
        lines=[
            f"Query q: <b>{query_label}</b> (position {query})",
            f"Key k: <b>{key_label}</b> (position {key})",
            seen.site.head_name(head),
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
            "title": style.axis_title(keys, 8),
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


def _headings(numbers: Arithmetic, plan: _Plan, theme: style.Look) -> list[dict[str, Any]]:
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
        (f"3  {division}, beside the others", f"{quotient}, {_standing(numbers)}"),
        ("4  Softmax over the allowed keys", outcome),
    )
    columns = [plan.columns[0][0]] * 2 + [plan.columns[1][0]] * 2
    return [
        {
            "text": f"<b>{heading}</b><br>{sum_}",
            "align": "left",
            "font": {"size": style.FONT_SIZE, "color": theme.text},
            "showarrow": False,
            "x": x,
            "xref": "paper",
            "xanchor": "left",
            # From the left edge of the numbers, where a heading has the whole width.
            "xshift": 4 - LEFT,
            "y": row[1],
            "yref": "paper",
            "yanchor": "bottom",
            "yshift": 8,
        }
        for (heading, sum_), x, row in zip(texts, columns, plan.rows, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Equations:
    """What is printed of the products' sum and of its quotient, so that a reader can check it.

    Attributes:
        dot: the sum of all products, with as many digits as its quotient needs.
        sum_: gain and loss add up to it; "≈" where the digits that are shown do not.
        quotient: divided by √d_k it is the score; "≈" where the digits that are shown do not say
            so, since the score is the recorded one.
    """

    dot: str
    sum_: str
    quotient: str


def equations(numbers: Arithmetic) -> Equations:
    """The arithmetic of one cell in print, with a minus that is a minus and not a hyphen."""
    scaled = style.number(numbers.scaled)
    written = [style.number(numbers.dot)]
    written += [_fixed(numbers.dot, digits) for digits in range(3, _MOST_DIGITS + 1)]
    fitting = [
        text for text in written if style.number(float(_decimal(text)) / numbers.divisor) == scaled
    ]
    dot = (fitting or written)[0]
    digits = max(-int(_decimal(dot).as_tuple().exponent), 0)
    gain, loss = _fixed(numbers.gain, digits), _fixed(-numbers.loss, digits)
    adds_up = _decimal(gain) - _decimal(loss) == _decimal(dot)
    return Equations(
        dot=dot,
        sum_=f"{gain} − {loss} {'=' if adds_up else '≈'} {dot}",
        quotient=f"{dot} ÷ √{numbers.d_k} {'=' if fitting else '≈'} {scaled}",
    )


def _fixed(value: float, digits: int) -> str:
    # Adding 0 turns -0.00 into 0.00.
    return style.fixed(value, digits)


def _decimal(text: str) -> Decimal:
    """What a reader takes a printed number for."""
    return Decimal(text.replace("−", "-"))


def _mark(key: int, axis: str, theme: style.Look) -> dict[str, Any]:
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


def _standing(numbers: Arithmetic) -> str:
    if numbers.rank is None:
        return "not allowed"
    return f"rank {numbers.rank} of {numbers.n_allowed}"


def _vectors(seen: AttentionMap, head: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Queries (query, d_k), keys (key, d_k) and scores (query, key) of one head."""
    if seen.q is None or seen.k is None or seen.scores is None:
        raise ValueError(
            "This head's queries and keys were not recorded, so there is no product to show. "
            "Choose a head of a model that records them, and read token by token."
        )
    return seen.q[head], seen.k[head], seen.scores[head]


def _divisor(q: FloatArray, k: FloatArray, scores: FloatArray) -> float:
    """√d_k or 1, whichever leads from the products to the recorded scores of the whole head."""
    products = q @ k.T
    size = np.linalg.norm(q, axis=-1).max(initial=0) * np.linalg.norm(k, axis=-1).max(initial=0)
    # 1 comes second: with one dimension both are the same, and the formula of the paper holds.
    for divisor in (math.sqrt(q.shape[-1]), 1.0):
        if np.abs(products / divisor - scores).max(initial=0) <= _TOLERANCE * size / divisor:
            return divisor
    raise ValueError(
        "This head's scores are not plain dot products, with or without division by √d_k; there is "
        "no such sum to show."
    )


def _is_softmax(
    weights: FloatArray, scores: NDArray[np.float64], allowed: NDArray[np.bool_]
) -> bool:
    """Whether one row's weights are the softmax over its allowed scores, (key,) each."""
    if not allowed.any():
        return not weights.any()
    powers = np.where(allowed, np.exp(np.minimum(scores - scores[allowed].max(), 0)), 0)
    return bool(np.allclose(weights, powers / powers.sum(), atol=_TOLERANCE))


def _require_position(axis: str, position: int, length: int) -> None:
    if not 0 <= position < length:
        there = f"the positions 0 to {length - 1}" if length else "no positions"
        raise IndexError(f"The {axis} axis has {there}; there is no {axis} {position}.")
