"""Maps of self-attention: the weights, and beside them what another method makes of them."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from model.explain.attribution import METHODS, SelfAttributions
from model.trace.attention_map import AttentionKind, Site
from viz.draw import style
from viz.draw.heatmap import row_noun
from viz.draw.labels import axis_texts
from viz.effects.effect_map import lower_first
from viz.effects.estimate_vs_deletion import part_name
from viz.effects.side_by_side import GREATEST, Panel, Sides, greatest, maps_figure

PLAIN = "weights"
"""The method that the others stand beside."""


def self_title(method: str, site: Site, head: int | None, *, alone: bool = False) -> str:
    """What the maps together are called, or one of them alone."""
    beside = "" if alone or method == PLAIN else ", beside the weights"
    kind = lower_first(site.kind.full_name)
    return f"{METHODS[method].title} of {kind}, {part_name(site, head)}{beside}"


def self_figure(
    found: SelfAttributions,
    method: str,
    head: int | None = None,
    *,
    row: int | None = None,
    alone: bool = False,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """The weights, and beside them a method's map: queries down, keys across, each on its scale.

    The first traces are the maps, unchanged: the weights and then the other, or the one there is.
    A dot marks the greatest value of each row.

    Args:
        found: the maps of a site.
        method: of the map beside the weights; "weights" shows them alone.
        head: None for all heads together.
        row: to frame, from 0; None for none.
        alone: whether the method's map stands alone: for a narrow stage.
        narrow: for a width below `style.NARROW`: one map below the other.
        dark: for a dark page.

    Raises:
        AttributionError: if there is no such map.
    """
    shown = [method] if alone or method == PLAIN else [PLAIN, method]
    panels = []
    for name in shown:
        values, told = found.map(name).of(head), METHODS[name]
        short = lower_first(told.title) if name == PLAIN or alone else "estimate"
        panels.append(
            Panel(
                name=told.title,
                short_name=short,
                unit=told.unit,
                values=values,
                marks={GREATEST: greatest(values)},
                allowed=found.allowed_to(head),
            )
        )
    kind = found.site.kind
    noun = row_noun(kind)
    return maps_figure(
        panels,
        Sides(
            rows=found.tokens,
            columns=found.tokens,
            row_title=f"Query: {noun}",
            column_title=kind.key_noun.capitalize(),
        ),
        self_title(method, found.site, head, alone=alone),
        narrow_title="Beside the weights" if len(panels) > 1 else METHODS[method].title,
        token=row,
        narrow=narrow,
        dark=dark,
    )


def self_alt_text(found: SelfAttributions, method: str, head: int | None) -> str:
    """The maps in words."""
    values, count = found.map(method).of(head), len(found.tokens)
    row, column = np.unravel_index(values.argmax(), values.shape)
    names = axis_texts(found.tokens)
    maps = "A heatmap" if method == PLAIN else "Two heatmaps"
    text = (
        f"{self_title(method, found.site, head)}. {maps} of "
        f"{style.count_of(count, 'query', 'queries')} by {style.count_of(count, 'key')}. "
        f"{METHODS[method].title}: greatest at the query “{names[row]}” and the key "
        f"“{names[column]}”, {style.number(float(values[row, column]))}."
    )
    if method == PLAIN:
        return text
    tops = [set(greatest(found.map(each).of(head))) for each in (PLAIN, method)]
    alike = len({row for row, _ in tops[0] & tops[1]})
    rows = style.count_of(count, "row")
    return f"{text} In {alike} of {rows}, both maps are greatest at the same key."


def self_caption(found: SelfAttributions, method: str, head: int | None) -> str:
    """How to read the maps of a head, or with None of all heads of the layer, in plain text."""
    told = METHODS[method]
    weights = "on average over the heads of the layer" if head is None else ""
    if method == PLAIN:
        over = f", {weights}" if weights else ""
        first = f"How much weight each query (row) gives to each key (column){over}."
    else:
        first = (
            "Both maps: queries down, keys across. Where the dots of a row differ, the largest "
            "weight is not what this method takes to matter most."
        )
        if weights:
            first += f" Weights are {weights}."
    read = {
        "rollout": _rollout_read,
        "gradient_times_weight": _gradient_read,
    }.get(method)
    more = f" {read(found)}" if read else ""
    if not found.allowed_to(head).all():
        more += " Hatched: not allowed."
    return (
        f"{first}{more} {told.title}: {told.paper}. It leaves out: {lower_first(told.leaves_out)}"
    )


def _rollout_read(found: SelfAttributions) -> str:
    text = "A row says of which tokens’ embeddings it consists after this attention"
    if found.site.kind is AttentionKind.ENCODER:
        return f"{text}, all layers below included."
    return f"{text}, all layers below included; what a row lacks to 1 came from the source."


def _gradient_read(found: SelfAttributions) -> str:
    if found.token is not None:
        return "The loss is that of the chosen target token alone."
    if found.site.kind is AttentionKind.ENCODER:
        return "The loss is that of all target tokens together."
    return "The loss of a row is that of the token it goes on to predict, and of no later one."


def no_truth(kind: AttentionKind) -> str:
    """Why none of these maps can be held against the truth, in plain text."""
    return (
        "Which of these maps to believe is not measured: the truth is what a target token loses "
        f"without a source token, and here both rows and columns are {kind.query_noun}s. It is "
        "measured for cross-attention and for the whole model."
    )
