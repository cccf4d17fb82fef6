"""Where position meets the word: the sum that is read, the scores, and heads of neighbours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.measures import SELF, head_facts
from model.explain.position_measures import Values
from model.trace.attention_map import AttentionKind, FloatArray, Site, Tokens
from model.trace.terms import EmbeddingParts
from model.trace.trace import Trace
from viz.draw import style
from viz.draw.labels import axis_texts, escape_html, side_texts
from viz.draw.panels import Panel
from viz.links.head_refs import head_name

_PART_HOVER = "<b>%{y}</b><br>dimension <b>%{x}</b><br>value <b>%{z:.6~g}</b><extra></extra>"
_SHARE_HOVER = "head <b>%{x}</b><br>share <b>%{y:.1f}%</b><extra>%{fullData.name}</extra>"

_NEIGHBOUR_HOVER = "%{y}<br>share <b>%{x:.1f}%</b><extra>%{fullData.name}</extra>"

NEIGHBOURS = ("previous", "next")
"""The measures of heads that look at the token before or after their own."""

MOST_HEADS = 8
"""So many heads that look at neighbours are shown."""

_PANEL_WIDTH, _NARROW_PANEL_WIDTH = 0.185, 0.84
"""Of each heatmap, as a share of the plot's width; what is left of its part holds the norms."""

_NARROW_PANEL_HEIGHT, _PANEL_GAP = 230, 34
_MAX_PANEL_HEIGHT = 720
_BAR, _BAR_HEIGHT = 170, 62
_TERMS_HEIGHT = 320

_AXIS_ROOM, _NARROW_AXIS_ROOM = 44, 20
"""Pixels of an axis's labels, and title where it has one, below the plot."""


def parts_figure(parts: EmbeddingParts, *, narrow: bool = False, dark: bool = False) -> go.Figure:
    """Word, scaled word, position and their sum as four heatmaps over the same tokens.

    The first four traces are the four, unchanged. The word has a colour scale of its own; the
    other three share one, so that their sizes compare. Each row's norm stands at its right.

    Args:
        parts: of one sentence.
        narrow: for a width below `style.NARROW`: one heatmap below the other.
        dark: for a dark page.

    Raises:
        ValueError: if there is no token, or a part has not one finite row a token.
    """
    panels = _panels(parts)
    theme = style.look(dark)
    n_tokens, d_model = parts.word.shape
    height = min(style.plot_height(n_tokens), _MAX_PANEL_HEIGHT)
    if narrow:
        height = min(height, _NARROW_PANEL_HEIGHT)
    full = 4 * height + 3 * _PANEL_GAP if narrow else height
    labels = [escape_html(text) for text in side_texts(parts.tokens, narrow)]
    step = style.label_step(n_tokens, height // style.MIN_ROW_HEIGHT)
    shared = style.bar_layout(
        theme,
        title="Word and position",
        height=full,
        top=style.SMALL_FONT_SIZE + 10,
        lines=["Rows – token, columns – dimension"] if narrow else [],
    )
    layout: dict[str, Any] = {
        **shared,
        "plot_bgcolor": style.CLEAR,
        "coloraxis": style.clipped_axis(theme, [parts.word], "word", length=_BAR),
        "coloraxis2": style.clipped_axis(
            theme,
            [parts.scaled, parts.position, parts.sum],
            "scaled word, position and sum",
            length=_BAR,
        ),
        "annotations": [],
    }
    data: list[Any] = []
    numbers: list[Any] = []
    for place, (name, values) in enumerate(panels.items()):
        suffix = "" if place == 0 else str(place + 1)
        across, down = _domains(place, narrow, height, full)
        data.append(
            go.Heatmap(
                z=values,
                coloraxis="coloraxis" if place == 0 else "coloraxis2",
                hovertemplate=_PART_HOVER,
                xaxis=f"x{suffix}",
                yaxis=f"y{suffix}",
                name=name,
            )
        )
        rows = np.arange(0, n_tokens, step)
        numbers.append(
            go.Scatter(
                x=np.full(len(rows), d_model - 0.5),
                y=rows,
                mode="text",
                text=[f" {_written(norm)}" for norm in _norms(values)[::step]],
                textposition="middle right",
                textfont={
                    "size": style.DENSE_FONT_SIZE if narrow or step > 1 else style.SMALL_FONT_SIZE,
                    "color": theme.text,
                },
                cliponaxis=False,
                hoverinfo="skip",
                showlegend=False,
                xaxis=f"x{suffix}",
                yaxis=f"y{suffix}",
                name=f"norms: {name}",
            )
        )
        last = place == 3 or not narrow
        layout[f"xaxis{suffix}"] = {
            "domain": across,
            "anchor": f"y{suffix}",
            "range": [-0.5, d_model - 0.5],
            "nticks": 4,
            "tickformat": "d",
            "ticks": "",
            "tickfont": {"size": style.DENSE_FONT_SIZE},
            "ticklabelstandoff": 4,
            "title": style.axis_title("" if narrow else "Dimension", 6),
            "showticklabels": last,
            "showgrid": False,
            "zeroline": False,
        }
        layout[f"yaxis{suffix}"] = style.axis(
            "Token" if place == 0 and not narrow else "",
            labels,
            step,
            range=[n_tokens - 0.5, -0.5],
            domain=down,
            anchor=f"x{suffix}",
            showticklabels=narrow or place == 0,
            **({} if place == 0 else {"matches": "y"}),
            **({"tickfont": {"size": style.DENSE_FONT_SIZE}} if narrow else {}),
        )
        layout["annotations"] += _headings(name, across, down, theme)
    # A phone has no room for two colour bars beside each other.
    below = _NARROW_AXIS_ROOM + _BAR_HEIGHT if narrow else _AXIS_ROOM
    layout["margin"] = {**shared["margin"], "b": shared["margin"]["b"] + below}
    layout["height"] = shared["height"] + below
    if narrow:
        layout["coloraxis"]["colorbar"]["y"] = _BAR_HEIGHT / layout["height"]
    else:
        layout["coloraxis2"]["colorbar"]["x"] = 1 / 3
    return go.Figure({"data": data + numbers, "layout": layout})


def parts_alt_text(parts: EmbeddingParts) -> str:
    """The four heatmaps in words; arguments and errors as in `parts_figure`."""
    panels = _panels(parts)
    norms = ", ".join(f"{name.lower()} {_written(_norms(x).mean())}" for name, x in panels.items())
    first = axis_texts(parts.tokens)[0]
    return (
        f"Four heatmaps of {style.count_of(len(parts.tokens), 'token')} from {first} on by "
        f"{style.count_of(parts.word.shape[1], 'dimension')}: word, scaled word, position and "
        f"their sum. Mean norms: {norms}."
    )


def parts_caption(parts: EmbeddingParts) -> str:
    """How to read the four heatmaps, in plain text; arguments and errors as in `parts_figure`."""
    panels = _panels(parts)
    factor = _factor(parts)
    scaled = (
        f"The embedding is multiplied by {style.number(factor)} before the position is added"
        if factor != 1
        else "This model adds the position to the embedding as it is"
    )
    ratio = float(_norms(panels["Scaled word"]).mean()) / max(
        float(_norms(panels["Position"]).mean()), np.finfo(np.float64).tiny
    )
    compared = (
        f"; a word is then {style.number(ratio)} times as long as a position, on average"
        if _largest(parts.position) and ratio >= 0.01
        else ""
    )
    return (
        f"{scaled}{compared}. The word alone has a colour scale of its own; the other three share "
        "one, so that their sizes compare; the largest 1% of the numbers have its end colours. "
        "The numbers on the right are the norms of the rows."
    )


def term_shares(terms: Mapping[str, NDArray[np.floating[Any]]]) -> dict[str, Values]:
    """Which share of the differences between a head's scores comes from each of their terms.

    Scores count only by how they differ within a row: what is added to a whole row leaves every
    weight as it is (softmax(x + c) = softmax(x)). So every row is centred first. A term's share is
    then its covariance with the sum of all terms over the variance of that sum. These shares add up
    to 1, as the variance of a sum is the sum of the covariances with it, and unlike variances alone
    they count what two terms have in common once. A share below 0 means that a term works against
    the others, and one above 1 that others work against it.

    Args:
        terms: by name, (head, query, key) each; they add up to the scores.

    Returns:
        by name, (head,); zeros for a head whose scores do not differ within any row.

    Raises:
        ValueError: if there is no term, or two have different shapes.
    """
    if not terms:
        raise ValueError("There is no term to share the scores among; give at least one.")
    shapes = {np.shape(values) for values in terms.values()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 3:
        raise ValueError(
            "Every term has one shape, (head, query, key); these have "
            f"{', '.join(map(str, sorted(shapes)))}."
        )
    centred = {name: _centred(values) for name, values in terms.items()}
    total = np.sum(list(centred.values()), axis=0)
    variance = np.square(total).sum(axis=(1, 2))
    # What is left of equal scores is rounding, of which no share makes sense.
    size = sum(np.square(np.float64(values)).sum(axis=(1, 2)) for values in terms.values())
    differs = variance > 1e-12 * size
    return {
        name: np.divide(
            (values * total).sum(axis=(1, 2)),
            variance,
            out=np.zeros(len(variance)),
            where=differs,
        )
        for name, values in centred.items()
    }


def terms_figure(
    shares: Mapping[str, Values], *, narrow: bool = False, dark: bool = False
) -> go.Figure:
    """What each head's scores come from: one bar a head, one colour a term.

    Args:
        shares: by term, (head,), as `term_shares` gives them.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.

    Raises:
        ValueError: if there is no term, or they are for different numbers of heads.
    """
    n_heads = _require_shares(shares)
    theme = style.look(dark)
    data = [
        {
            "type": "bar",
            "x": np.arange(n_heads),
            "y": 100 * np.asarray(share),
            "marker": {"color": theme.heads[place % len(theme.heads)], "line": {"width": 0}},
            "hovertemplate": _SHARE_HOVER,
            "name": escape_html(_title(name)),
            "showlegend": True,
        }
        for place, (name, share) in enumerate(shares.items())
    ]
    rows = -(-len(shares) // (2 if narrow else 5))
    shared = style.layout(
        theme,
        title="What the scores come from",
        height=_TERMS_HEIGHT,
        lines=["Encoder layer 0, share by head"] if narrow else [],
    )
    below = (_NARROW_AXIS_ROOM if narrow else _AXIS_ROOM) + 10 + style.LEGEND_HEIGHT * rows
    percents = 100 * np.stack([np.asarray(share) for share in shares.values()])
    layout = {
        **shared,
        "height": shared["height"] - shared["margin"]["b"] + below,
        "margin": {**shared["margin"], "b": below},
        "plot_bgcolor": style.CLEAR,
        # EmbeddingParts that work against the others hang below 0.
        "barmode": "relative",
        "bargap": 0.25,
        "legend": style.legend_below(shared),
        "xaxis": style.axis(
            "" if narrow else "Head of encoder layer 0",
            [str(head) for head in range(n_heads)],
            style.label_step(n_heads, 12 if narrow else 48),
            range=[-0.5, n_heads - 0.5],
            autotickangles=[0],
        ),
        "yaxis": {
            "title": style.axis_title("" if narrow else "Share of the scores’ variance"),
            "ticksuffix": "%",
            "range": [
                min(0.0, float(np.minimum(percents, 0).sum(axis=0).min()) * 1.05),
                max(100.0, float(np.maximum(percents, 0).sum(axis=0).max()) * 1.02),
            ],
            "nticks": 7,
            "tickfont": {"size": style.SMALL_FONT_SIZE},
            "gridcolor": theme.grid,
            "zeroline": True,
            "zerolinecolor": theme.muted,
            "automargin": True,
        },
    }
    return go.Figure({"data": data, "layout": layout})


def terms_alt_text(shares: Mapping[str, Values]) -> str:
    """The bars in words; arguments and errors as in `terms_figure`."""
    n_heads = _require_shares(shares)
    largest = []
    for name, share in shares.items():
        head = int(np.argmax(share))
        largest.append(f"{_title(name).lower()} {_percent(share[head])} in head {head}")
    return (
        f"Shares of the score differences of {style.count_of(n_heads, 'head')} of encoder layer "
        "0. The largest of "
        f"each term: {'; '.join(largest)}."
    )


def terms_caption() -> str:
    """How to read the bars, in plain text."""
    return (
        "The input is a word plus a position, so a score is a sum: the query’s word or position "
        "times the key’s word or position. A bar shows how much of the differences within the "
        "head’s rows comes from each; what all keys of a row share changes no weight and does not "
        "count. The parts of a head add up to 100%; a part below 0 works against the others. "
        "Bias is every product with a bias of the projections or of the norm before them."
    )


@dataclass(frozen=True, slots=True)
class NeighbourHead:
    """A head that looks at a neighbour, before and after an edit.

    Attributes:
        site: where it is.
        head: counted from 0.
        neighbour: "previous" or "next".
        before: the share of its weight on that token, 0 to 1, by `model.explain.measures`.
        after: the same after the edit; NaN if it can no longer be told.
    """

    site: Site
    head: int
    neighbour: str
    before: float
    after: float

    @property
    def name(self) -> str:
        """Which head it is and where it looks, in plain text."""
        return (
            f"{self.site.kind.short_name}, layer {self.site.layer}, head {self.head}: "
            f"{self.neighbour}"
        )


def neighbour_heads(
    before: Trace, after: Trace, *, most: int = MOST_HEADS
) -> tuple[NeighbourHead, ...]:
    """The heads of self-attention that look most at the previous or the next token.

    Args:
        before: as the model reads a sentence.
        after: the same sentence with other positions; its translation may be another one.
        most: how many heads.

    Returns:
        those with the largest shares before, largest first; each head once, with the neighbour
        that it looks at more.
    """
    found = []
    for site, seen in before.maps.items():
        if site.kind not in SELF or site not in after.maps:
            continue
        old, new = head_facts(seen), head_facts(after.maps[site])
        for head in range(seen.n_heads):
            shares = {name: float(old[name][head]) for name in NEIGHBOURS}
            known = {name: share for name, share in shares.items() if not math.isnan(share)}
            if known:
                name = max(known, key=lambda each: known[each])
                found.append(NeighbourHead(site, head, name, known[name], float(new[name][head])))
    found.sort(key=lambda each: (-each.before, each.site, each.head))
    return tuple(found[:most])


def neighbours_figure(
    heads: Sequence[NeighbourHead], *, narrow: bool = False, dark: bool = False
) -> go.Figure:
    """The shares of heads that look at neighbours, before and after: two bars a head.

    Args:
        heads: as `neighbour_heads` gives them.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.

    Raises:
        ValueError: if there is no head.
    """
    _require_heads(heads)
    theme = style.look(dark)
    names = [_short(each) if narrow else each.name for each in heads]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "x": [100 * share for share in shares],
            "y": np.arange(len(heads)),
            "marker": {"color": color, "line": {"width": 0}},
            "hovertemplate": _NEIGHBOUR_HOVER,
            "name": name,
            "showlegend": True,
        }
        for name, color, shares in (
            ("the model’s own positions", theme.beside, [each.before for each in heads]),
            ("edited positions", theme.positive, [each.after for each in heads]),
        )
    ]
    shared = style.layout(
        theme,
        title="Heads that look at neighbours",
        height=style.plot_height(len(heads)),
        lines=["Share of the weight on that token"] if narrow else [],
    )
    below = (_NARROW_AXIS_ROOM if narrow else _AXIS_ROOM) + 10 + style.LEGEND_HEIGHT
    below += style.LEGEND_HEIGHT if narrow else 0
    layout = {
        **shared,
        "height": shared["height"] - shared["margin"]["b"] + below,
        "margin": {**shared["margin"], "b": below},
        "plot_bgcolor": style.CLEAR,
        "barmode": "group",
        "bargap": 0.3,
        "legend": style.legend_below(shared),
        "xaxis": {
            "title": style.axis_title("" if narrow else "Share of the weight on that token"),
            # A little more, or the last label would be left out.
            "range": [0, 101],
            "ticksuffix": "%",
            "nticks": 6,
            "tickfont": {"size": style.SMALL_FONT_SIZE},
            "gridcolor": theme.grid,
            "zeroline": True,
            "zerolinecolor": theme.muted,
            "automargin": True,
        },
        "yaxis": style.axis(
            "" if narrow else "Head and neighbour",
            names,
            1,
            range=[len(heads) - 0.5, -0.5],
            tickfont={"size": style.SMALL_FONT_SIZE},
        ),
    }
    return go.Figure({"data": data, "layout": layout})


def neighbours_alt_text(heads: Sequence[NeighbourHead]) -> str:
    """The bars in words; arguments and errors as in `neighbours_figure`."""
    _require_heads(heads)
    listed = "; ".join(
        f"{each.name} token {_percent(each.before)}, then {_percent(each.after)}" for each in heads
    )
    return f"Share of the weight on a neighbour before and after the edit: {listed}."


def neighbours_caption(heads: Sequence[NeighbourHead]) -> str:
    """What became of these heads, in plain text; arguments and errors as in `neighbours_figure`."""
    _require_heads(heads)
    halved = sum(each.after <= each.before / 2 for each in heads)
    if len(heads) == 1:
        of_them = (
            "this head lost at least half its weight"
            if halved
            else "this head kept more than half its weight"
        )
    else:
        count = {0: "none", len(heads): "all"}.get(halved, str(halved))
        of_them = f"{count} of these {len(heads)} heads lost at least half their weight"
    told = {
        AttentionKind.ENCODER: " In the encoder, positions alone tell them which one that is.",
        AttentionKind.DECODER: " In the decoder, the causal mask tells them something of it as "
        "well (Haviv et al. 2022).",
    }
    kinds = {each.site.kind for each in heads}
    return (
        "The heads that look most at the token before or after their own."
        f"{''.join(words for kind, words in told.items() if kind in kinds)} With the edited "
        f"positions, {of_them} there. Layers and heads count from 0."
    )


def parts_panels(parts: EmbeddingParts) -> list[Panel]:
    """The same four for the browser to draw, with one pointer; quick at any length.

    Args:
        parts: of one sentence.

    Raises:
        ValueError: as `parts_figure`.
    """
    panels = _panels(parts)
    dimensions = Tokens.unnamed(range(parts.word.shape[-1]))
    shared = style.clipped_limit([parts.scaled, parts.position, parts.sum])
    return [
        Panel(
            title=name,
            values=values,
            queries=parts.tokens,
            keys=dimensions,
            alt=f"{name}: {style.count_of(len(parts.tokens), 'token')} by "
            f"{style.count_of(len(dimensions), 'dimension')}; the norm of a row is "
            f"{_written(_norms(values).mean())} on average.",
            scale="signed",
            low=-limit,
            high=limit,
            unit=unit,
            beside=[_written(norm) for norm in _norms(values)],
            beside_title="Norm of the row",
            query_title="Token",
            key_title="Dimension",
            sign=sign,
        )
        for (name, values), limit, unit, sign in zip(
            panels.items(),
            (style.clipped_limit([parts.word]), shared, shared, shared),
            ("word", *3 * ("scaled word, position and sum",)),
            ("", "→", "+", "="),
            strict=True,
        )
    ]


def _panels(parts: EmbeddingParts) -> dict[str, FloatArray]:
    panels = {
        "Word": parts.word,
        "Scaled word": parts.scaled,
        "Position": parts.position,
        "Sum": parts.sum,
    }
    shape = (len(parts.tokens), parts.word.shape[-1])
    if not all(shape):
        raise ValueError("There is no token to show; type a sentence.")
    for name, values in panels.items():
        if values.shape != shape or not np.isfinite(values).all():
            raise ValueError(
                f"{name} must hold one finite row a token, {shape}; it has the shape "
                f"{values.shape}."
            )
    return panels


def _factor(parts: EmbeddingParts) -> float:
    """What the words were multiplied by, as it fits them best."""
    word, scaled = parts.word.astype(np.float64), parts.scaled.astype(np.float64)
    size = float(np.square(word).sum())
    return round(float((word * scaled).sum()) / size, 6) if size else 1.0


def _domains(place: int, narrow: bool, height: int, full: int) -> tuple[list[float], list[float]]:
    """Where a heatmap lies across and up, as shares of the plot."""
    if narrow:
        top = full - place * (height + _PANEL_GAP)
        return [0, _NARROW_PANEL_WIDTH], [max(0.0, (top - height) / full), top / full]
    return [place / 4, place / 4 + _PANEL_WIDTH], [0, 1]


def _headings(
    name: str, across: list[float], down: list[float], theme: style.Look
) -> list[dict[str, Any]]:
    shared = {
        "xref": "paper",
        "yref": "paper",
        "y": down[1],
        "yanchor": "bottom",
        "showarrow": False,
    }
    return [
        {
            **shared,
            "text": name,
            "x": across[0],
            "xanchor": "left",
            "font": {"size": style.FONT_SIZE, "color": theme.text},
        },
        {
            **shared,
            "text": "norm",
            "x": across[1],
            "xanchor": "left",
            "xshift": 3,
            "font": {"size": style.SMALL_FONT_SIZE, "color": theme.muted},
        },
    ]


def _centred(values: NDArray[Any]) -> Values:
    exact = np.asarray(values, dtype=np.float64)
    centred: Values = exact - exact.mean(axis=-1, keepdims=True)
    return centred


def _largest(values: FloatArray) -> float:
    return float(np.abs(values).max())


def _norms(values: FloatArray) -> Values:
    return np.linalg.norm(values.astype(np.float64), axis=1)


def _written(norm: float) -> str:
    return f"{norm:.1f}" if norm >= 10 else f"{norm:.2f}"


def _title(term: str) -> str:
    return term.replace("-", "–").capitalize()


def _require_heads(heads: Sequence[NeighbourHead]) -> None:
    if not heads:
        raise ValueError("There is no head of self-attention to show; type a longer sentence.")


def _short(head: NeighbourHead) -> str:
    return f"{head_name(head.site, head.head)} {head.neighbour}"


def _percent(share: float) -> str:
    if math.isnan(share):
        return "unknown"
    return style.percent(share)


def _require_shares(shares: Mapping[str, Values]) -> int:
    counts = {len(share) for share in shares.values()}
    if len(counts) != 1:
        raise ValueError(
            "Each term needs a share for every head; give at least one term, and as many shares "
            "for each."
        )
    return counts.pop()
