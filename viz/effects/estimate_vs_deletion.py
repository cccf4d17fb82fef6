"""A map that estimates what source tokens matter, beside the truth: their deletion."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from model.explain.attribution import METHODS, TELLING, Attributions
from model.trace.attention_map import FloatArray, Site
from viz.draw import style
from viz.draw.labels import axis_texts
from viz.effects.effect_map import lower_first
from viz.effects.side_by_side import COSTLIEST, GREATEST, Panel, Sides, greatest, maps_figure

TRUTH = "Truth"
_BESIDE = ", beside the truth"
LOSS = "loss without the source token"
"""What the numbers of the truth are."""


def part_name(site: Site | None, head: int | None) -> str:
    """Whose map it is, inside a sentence."""
    if site is None:
        return "the whole model"
    return f"layer {site.layer}, {'all heads' if head is None else f'head {head}'}"


def beside_title(method: str, site: Site | None, head: int | None) -> str:
    """What both maps together are called."""
    return f"{METHODS[method].title} of {part_name(site, head)}{_BESIDE}"


def beside_figure(
    found: Attributions,
    method: str,
    site: Site | None = None,
    head: int | None = None,
    *,
    later: bool = False,
    token: int | None = None,
    alone: bool = False,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """The truth and an estimate: target tokens down, source tokens across, each on its own scale.

    The first two traces are the truth and the estimate, whose z are their values, unchanged. A ring
    marks in both maps the source token whose deletion costs a target token most, where it costs
    TELLING at least; a dot marks the greatest value of the estimate.

    Args:
        found: the maps of a sentence.
        method: of the estimate.
        site: of cross-attention; None for the whole model.
        head: None for all heads together.
        later: whether the estimate is read one row later.
        token: the target token to frame, from 0; None for none.
        alone: whether the estimate stands alone, with the rings of the truth: for a narrow stage.
        narrow: for a width below `style.NARROW`: one map below the other.
        dark: for a dark page.

    Raises:
        AttributionError: if there is no such map.
    """
    truth, estimate = found.deletion_losses, found.estimate(method, site, head, later=later)
    rings, told = _costliest(truth), METHODS[method]
    shown = [
        Panel(name=TRUTH, short_name="truth", unit=LOSS, values=truth, marks={COSTLIEST: rings}),
        Panel(
            name=told.title,
            short_name=lower_first(told.title) if alone else "estimate",
            unit=told.unit,
            values=estimate,
            marks={COSTLIEST: rings, GREATEST: greatest(estimate)},
        ),
    ]
    title = beside_title(method, site, head)
    return maps_figure(
        shown[1:] if alone else shown,
        Sides(
            rows=found.predictions,
            columns=found.source,
            row_title="Target token predicted",
            column_title="Source token",
        ),
        title.removesuffix(_BESIDE) if alone else title,
        narrow_title="" if alone else "Beside the truth",
        token=token,
        narrow=narrow,
        dark=dark,
    )


def _costliest(truth: FloatArray) -> list[tuple[int, int]]:
    """The cells of the truth that are the greatest of their rows, where a row tells something."""
    return [(row, int(each.argmax())) for row, each in enumerate(truth) if each.max() >= TELLING]


def beside_alt_text(
    found: Attributions, method: str, site: Site | None, head: int | None, later: bool
) -> str:
    """Both maps in words."""
    n_target, n_source = found.deletion_losses.shape
    tops = _costliest(found.deletion_losses)
    dots = set(greatest(found.estimate(method, site, head, later=later)))
    row, column = np.unravel_index(found.deletion_losses.argmax(), found.deletion_losses.shape)
    target, source = axis_texts(found.predictions), axis_texts(found.source)
    return (
        f"{beside_title(method, site, head)}. Two heatmaps of "
        f"{style.count_of(n_target, 'target token')} by "
        f"{style.count_of(n_source, 'source token')}. "
        f"Deleting “{source[column]}” costs “{target[row]}” most of all, "
        f"{style.number(float(found.deletion_losses[row, column]))}. In {len(dots & set(tops))} of "
        f"{style.count_of(len(tops), 'row')}, both maps are greatest at the same source token, "
        f"counting only target tokens that lose at least {TELLING} when some source token "
        "is deleted."
    )


def beside_caption(method: str, site: Site | None, later: bool) -> str:
    """How to read both maps, in plain text."""
    told = METHODS[method]
    of_model = "" if site is None else " The truth is of the whole model, of which this is a part."
    read = (
        " This layer is read one row later, in the row that has read the token, so there is none "
        "for the last."
        if later
        else ""
    )
    return (
        "Truth: each source token in turn is deleted from attention, and a cell is the "
        "log-probability that a target token then loses. The other map is an estimate, made "
        "without deleting anything. Where dot and ring meet, they agree on what matters most."
        f"{of_model}{read} {told.title}: {told.paper}. It leaves out: "
        f"{lower_first(told.leaves_out)}"
    )


def token_sentence(
    found: Attributions, method: str, site: Site | None, head: int | None, later: bool, token: int
) -> str:
    """What both maps say of one target token, in plain text."""
    source, name = axis_texts(found.source), axis_texts(found.predictions)[token]
    losses = found.deletion_losses[token]
    costliest = int(losses.argmax())
    first = (
        f"“{name}” loses most without “{source[costliest]}”: "
        f"{style.number(float(losses[costliest]))}"
    )
    tops = [
        f"“{source[column]}”"
        for row, column in greatest(found.estimate(method, site, head, later=later))
        if row == token
    ]
    name = f"{METHODS[method].title} of {part_name(site, head)}"
    if not tops:
        return f"{first}. {name}: nothing is greatest."
    return f"{first}. {name}: the greatest is at {' and '.join(tops)}."
