"""The map of effects: a layer by head heatmap for each kind of attention."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.colors import sample_colorscale

from model.explain.ablation_results import Effects
from model.trace.attention_map import AttentionKind, FloatArray, Site
from viz.draw import style
from viz.draw.labels import axis_texts, escape_html
from viz.effects.layer_head_axes import add_axes
from viz.links.head_refs import KINDS

LOSS = "loss of log-probability"
CHANGED = "words changed"
"""What the numbers of a map are."""

LISTED = 5
"""How many heads are named in words."""

CERTAIN = 0.01
"""A change of probability that is less is no change in words."""

Values = NDArray[np.floating[Any]]

_ROW, _GAP, _HEADING = 44, 70, 24
"""Pixels of a layer, between two maps one below the other, and of a map's name."""

_BETWEEN = 0.055
"""Between two maps side by side, as a share of the plot."""

_AXIS, _NARROW_AXIS = 46, 24
_SHORT_TITLE, _LINE = "Effect of each head", 46
"""Over a narrow figure, and how many characters fit into a line below it."""

NUMBERED = 0.1
"""Which share of the greatest number one must have to be written into its cell."""

_NUMBERED = 8
"""Up to so many heads, a cell has room for its number."""

_CROSS = 0.55
"""The mark of a head that is switched off, as a share of a cell's height."""


def effect_figure(
    values: Mapping[Site, Values],
    title: str,
    unit: str = LOSS,
    *,
    off: Collection[tuple[Site, int]] = (),
    numbered: bool = True,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Every head as a cell, on one colour scale: losses to both sides of 0, words from 0 up.

    The first traces are one for each kind of attention, whose z is its values, (layer, head).

    Args:
        values: by site, (head,).
        title: in plain text.
        unit: what the values are, LOSS or CHANGED.
        off: heads that bear a cross, in place of a number.
        numbered: whether cells hold their numbers, the small ones left out.
        narrow: for a width below `style.NARROW`: one map below the other.
        dark: for a dark page.

    Raises:
        ValueError: if there is no site, or they have different numbers of heads.
    """
    maps = by_kind(values)
    theme = style.look(dark)
    n_heads = next(iter(maps.values())).shape[1]
    layers = [len(each) for each in maps.values()]
    row = style.row_height(_ROW, max(layers))
    heights = [row * count for count in layers]
    full = sum(heights) + _GAP * (len(maps) - 1) if narrow else max(heights)
    limit = _limit(maps)
    axis_room = _NARROW_AXIS if narrow else _AXIS
    shared = style.bar_layout(
        theme,
        title=_SHORT_TITLE if narrow else escape_html(title),
        height=full,
        top=_HEADING,
        lines=[*map(escape_html, textwrap.wrap(title, _LINE)), "Rows – layer, columns – head"]
        if narrow
        else [],
    )
    layout: dict[str, Any] = {
        **shared,
        "height": shared["height"] + axis_room,
        "margin": {**shared["margin"], "b": shared["margin"]["b"] + axis_room},
        "coloraxis": {
            "cmin": 0 if unit == CHANGED else -limit,
            "cmax": limit,
            "colorscale": theme.colorscale if unit == CHANGED else theme.signed_colorscale,
            "colorbar": _bar(theme, limit, unit, narrow),
        },
        "annotations": [],
    }
    data, texts, marks = [], [], []
    width = (1 - _BETWEEN * (len(maps) - 1)) / len(maps)
    for place, (kind, each) in enumerate(maps.items()):
        suffix = "" if place == 0 else str(place + 1)
        top = full - sum(heights[:place]) - _GAP * place if narrow else full
        across = [0.0, 1.0] if narrow else [place * (width + _BETWEEN), 0.0]
        across[1] = 1.0 if narrow else min(1.0, across[0] + width)
        down = [max(0.0, (top - heights[place]) / full), top / full]
        data.append(
            {
                "type": "heatmap",
                "z": each,
                "coloraxis": "coloraxis",
                "xaxis": f"x{suffix}",
                "yaxis": f"y{suffix}",
                "xgap": 1,
                "ygap": 1,
                "name": kind.full_name,
                "meta": str(kind),
                "hovertemplate": f"{kind.full_name}<br>layer <b>%{{y}}</b>, head <b>%{{x}}</b><br>"
                f"{unit} <b>%{{z:.4~g}}</b><extra></extra>",
            }
        )
        crossed = [(site.layer, head) for site, head in off if site.kind is kind]
        if numbered and n_heads <= _NUMBERED:
            texts.append(_numbers(each, limit, unit, suffix, theme, crossed))
        if crossed:
            marks.append(_crosses(each, limit, unit, suffix, theme, crossed))
        add_axes(
            layout,
            theme,
            kind.full_name,
            [str(head) for head in range(n_heads)],
            len(each),
            place=place,
            across=across,
            down=down,
            narrow=narrow,
        )
    return go.Figure({"data": data + texts + marks, "layout": layout})


def _bar(theme: style.Look, limit: float, unit: str, narrow: bool) -> dict[str, Any]:
    bar = style.value_bar(theme, limit, unit, narrow=narrow)
    if unit == CHANGED:
        bar |= {"tickvals": [0, limit], "ticktext": ["0", f"{limit:.0f}"]}
    return bar


def _numbers(
    values: Values,
    limit: float,
    unit: str,
    suffix: str,
    theme: style.Look,
    crossed: Collection[tuple[int, int]],
) -> dict[str, Any]:
    """The numbers of one map, without those that would hide the few that matter."""
    digits = 0 if unit == CHANGED else 2
    cells = [
        (layer, head, value)
        for layer, row in enumerate(values.tolist())
        for head, value in enumerate(row)
        if abs(value) >= NUMBERED * limit and (layer, head) not in crossed
    ]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [head for _, head, _ in cells],
        "y": [layer for layer, _, _ in cells],
        "text": [style.fixed(value, digits) for *_, value in cells],
        "textfont": {
            "size": style.DENSE_FONT_SIZE,
            "color": [_ink(theme, value / limit, unit) for *_, value in cells],
        },
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
        "hoverinfo": "skip",
        "showlegend": False,
        "cliponaxis": False,
    }


def _crosses(
    values: Values,
    limit: float,
    unit: str,
    suffix: str,
    theme: style.Look,
    crossed: Sequence[tuple[int, int]],
) -> dict[str, Any]:
    """Crosses over cells of one map, (layer, head)."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [head for _, head in crossed],
        "y": [layer for layer, _ in crossed],
        "marker": {
            "symbol": "x-thin",
            "size": _CROSS * _ROW,
            "line": {
                "width": 3,
                "color": [_ink(theme, float(values[place]) / limit, unit) for place in crossed],
            },
        },
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _ink(theme: style.Look, share: float, unit: str) -> str:
    """Black or white, on the colour of a share of the greatest number."""
    return theme.ink(share) if unit == CHANGED else theme.signed_ink((1 + share) / 2)


def cross_colors(
    values: Mapping[Site, Values], unit: str = LOSS, *, dark: bool = False
) -> dict[str, list[list[tuple[str, str]]]]:
    """The colour of every cell and of a cross in it, by kind, [layer][head]; as `effect_figure`."""
    maps, theme = by_kind(values), style.look(dark)
    limit = _limit(maps)
    scale = theme.colorscale if unit == CHANGED else theme.signed_colorscale
    return {
        str(kind): [
            list(
                zip(
                    sample_colorscale(scale, places.tolist()),
                    [_ink(theme, share, unit) for share in row.tolist()],
                    strict=True,
                )
            )
            for row in np.asarray(each, np.float64) / limit
            for places in [row if unit == CHANGED else (1 + row) / 2]
        ]
        for kind, each in maps.items()
    }


def _limit(maps: Mapping[AttentionKind, Values]) -> float:
    """The greatest number of all maps, either side of 0."""
    return max(float(max(np.abs(each).max() for each in maps.values())), 1e-6)


def by_kind(values: Mapping[Site, Values]) -> dict[AttentionKind, Values]:
    """Values of sites, (head,), as (layer, head) for each kind.

    Raises:
        ValueError: if there is no site, or they have different numbers of heads.
    """
    if len({np.shape(each) for each in values.values()}) != 1:
        raise ValueError("A map needs sites, all with the same number of heads.")
    found: dict[AttentionKind, Values] = {}
    for kind in KINDS:
        rows = [values[site] for site in sorted(values) if site.kind is kind]
        if rows:
            found[kind] = np.stack(rows)
    return found


def effect_title(effects: Effects, token: int | None) -> str:
    """What the map of a translation's or of a target token's losses is called."""
    whole = "the translation" if token is None else f"“{axis_texts(effects.predictions)[token]}”"
    return f"What {whole} loses without each head"


def effect_alt_text(values: Mapping[Site, Values], title: str, unit: str = LOSS) -> str:
    """The map in words; arguments and errors as in `effect_figure`."""
    maps = by_kind(values)
    sizes = "; ".join(
        f"{kind.full_name.lower()}, {style.count_of(each.shape[0], 'layer')} by "
        f"{style.count_of(each.shape[1], 'head')}"
        for kind, each in maps.items()
    )
    site, head = max(
        ((site, head) for site, each in values.items() for head in range(len(each))),
        key=lambda place: abs(float(values[place[0]][place[1]])),
    )
    return (
        f"{title}. Heatmaps of the {unit}: {sizes}. The greatest, "
        f"{style.number(float(values[site][head]))}, is that of "
        f"{lower_first(site.head_name(head))}."
    )


def effect_caption(token: int | None, off: Collection[tuple[Site, int]] = ()) -> str:
    """How to read the map of losses, in plain text; `off` as in `effect_figure`."""
    what = "the whole translation" if token is None else "this target token"
    return (
        f"A cell is one head. Orange: without it, {what} becomes less likely; blue: more likely. "
        "The number is the drop in log-probability: 0.7 halves the probability, 2.3 cuts it to a "
        "tenth. Small numbers are not printed. Each head is removed alone, before W_O, while the "
        "decoder reads the same translation. Heads that can "
        f"stand in for each other all look unimportant.{_off_words(off)}"
    )


def changed_caption(off: Collection[tuple[Site, int]] = ()) -> str:
    """How to read the map of words, in plain text; `off` as in `effect_figure`."""
    return (
        "A cell is one head: how many words the translation gains, loses or changes when the model "
        "writes freely without that head. 0 means that the same sentence is written."
        f"{_off_words(off)}"
    )


def _off_words(off: Collection[tuple[Site, int]]) -> str:
    return " A cross marks a head chosen to be switched off." if off else ""


def lower_first(name: str) -> str:
    """A head's name inside a sentence."""
    return f"{name[:1].lower()}{name[1:]}"


def effect_sentences(effects: Effects, token: int | None, count: int = LISTED) -> list[str]:
    """The heads whose removal changes most, in plain text, the greatest first.

    Args:
        effects: of the translation.
        token: a target token, from 0; None for the whole translation.
        count: how many.

    Raises:
        IndexError: if there is no such token.
    """
    return [
        f"Without {lower_first(site.head_name(head))}, "
        + (
            _of_translation(effects, effects.losses[site][head], loss)
            if token is None
            else _of_token(effects, token, loss)
        )
        + "."
        for site, head, loss in effects.ranked(token)[:count]
    ]


def _of_translation(effects: Effects, losses: FloatArray, loss: float) -> str:
    before = float(effects.log_probs.sum())
    most = int(np.abs(losses).argmax())
    return (
        f"the translation’s log-probability {'falls' if loss > 0 else 'rises'} from "
        f"{style.number(before)} to {style.number(before - loss)}; most of all, "
        f"{_of_token(effects, most, float(losses[most]))}"
    )


def _of_token(effects: Effects, token: int, loss: float) -> str:
    name = axis_texts(effects.predictions)[token]
    return f"“{name}” {change_words(float(effects.log_probs[token]), loss)}"


def change_words(log_prob: float, loss: float) -> str:
    """How a token's probability moved, such as "falls from 0.93 to 0.12"."""
    before, after = float(np.exp(log_prob)), float(np.exp(log_prob - loss))
    if abs(before - after) < CERTAIN:
        return f"stays at {style.number(before)}"
    verb = "falls" if after < before else "rises"
    return f"{verb} from {style.number(before)} to {style.number(after)}"
