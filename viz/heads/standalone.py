"""The whole heads view as one HTML file that opens anywhere, offline, with its interaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from model.explain.facts import facts_of
from model.explain.labels import opening_heads
from model.explain.measures import Facts
from model.explain.reading import AS_RECORDED, ReadTrace, read
from model.trace.attention_map import AttentionKind, FloatArray, Site, TraceError, weights_in
from model.trace.trace import Trace
from model.trace.trace_file import require_shares
from viz.browser.files import joined
from viz.browser.trace_payload import Labels, require_alike
from viz.draw.constants import CONSTANTS
from viz.heads.under_patches import under_patches
from viz.heads.view import SELECTED, VIEW
from viz.model_page.arcs import arcs_of
from viz.model_page.payload import Figure, pack
from viz.save.document import document

HTML = '<div class="headscope heads-view"></div>'
CSS = joined("model_view/model_view.css")

_USUAL = {
    each.name: each.write(each.default)
    for each in VIEW.parameters
    if each.name in SELECTED and each.name not in ("layer", "head")
}
"""What is selected at first, as an address spells it; layer and head depend on the model."""

LONG = 128
"""In longer rows most cells would look empty, because each key gets so little weight."""

BROUGHT_OUT = str(CONSTANTS["GAMMAS"].index(0.5))
"""How an address spells colours that follow the square root of the weight."""

MOST_WEIGHTS = 64_000_000
"""The most weights of one page: each is a byte of the file and of the browser's memory."""


def heads_page(
    trace: Trace,
    seen: ReadTrace,
    facts: Facts,
    labels: Labels,
    *,
    effects: Mapping[Site, FloatArray] | None = None,
    title: str,
    selection: Mapping[str, str] | None = None,
    picture: Any = None,
    dark: bool | None = None,
) -> str:
    """The heads view of one trace as a complete HTML document, to be written as UTF-8.

    It holds the app's own picture with every weight: overview, one head in the model, lines,
    comparison, what is said under the pointer, and the keyboard. How the trace is read is settled
    in it, and a weight is shown without what makes it: both need the model.

    Args:
        trace: of any model.
        seen: the trace as it is read.
        facts: of model.explain.measures.head_facts, by site.
        labels: of model.explain.labels.Survey, by site; sites may be absent.
        effects: as in viz.browser.trace_payload.values_of.
        title: what the file is of, such as the sentence; any text.
        selection: what is selected at first, as an address spells it, such as {"layer": "2"};
            what is left out is as in the app.
        picture: under the patches of a row, as of `under_patches`; None for none.
        dark: None follows the reader's own choice of light or dark.

    Raises:
        TraceError: if the layers of one kind of attention differ in heads or tokens.
    """
    usual = opening(seen, facts, labels)
    is_read = seen.reading != AS_RECORDED
    recorded = read(trace) if is_read else seen
    figure = figure_of_trace(
        trace, recorded, facts_of(recorded.maps) if is_read else facts, labels, effects=effects
    )
    payload = pack(
        replace(figure, picture=None if picture is None else under_patches(picture)),
        key=title,
        selection=usual | dict(selection or {}),
        reading=(seen, facts) if is_read else None,
    )
    return document(
        payload,
        title=title,
        html=HTML,
        css=CSS,
        script=joined(Path(__file__).with_suffix(".js")),
        about="Every head is in this file. It asks nothing of any network.",
        provenance=trace.provenance,
        dark=dark,
    )


def figure_of_trace(
    trace: Trace,
    seen: ReadTrace,
    facts: Facts,
    labels: Labels,
    *,
    effects: Mapping[Site, FloatArray] | None = None,
) -> Figure:
    """A trace as the picture of a model shows it where the model is not at hand.

    Args:
        trace: of any model.
        seen: the trace, read as it was recorded.
        facts, labels, effects: as of `heads_page`.
    """
    return Figure(
        trace=trace,
        seen=seen,
        facts=facts,
        arcs=arcs_of(trace, None),
        positions={},
        labels=labels,
        effects=effects,
    )


def drawable(trace: Trace) -> Trace:
    """The trace itself, which a picture of all heads can show.

    Raises:
        TraceError: if the trace holds no attention, weights that no softmax made, or layers of one
            kind that differ in heads or tokens.
    """
    if not weights_in(trace.maps.values()):
        raise TraceError("The trace holds no attention; record a text of at least one token.")
    for each in trace.maps.values():
        require_shares(each)
    for kind in AttentionKind:
        require_alike(kind, [trace.maps[Site(kind, layer)] for layer in trace.layers(kind)])
    return trace


def in_one_page(trace: Trace) -> Trace:
    """The trace itself, all of whose heads one page can hold.

    Raises:
        TraceError: if it holds too many weights, or as `drawable`.
    """
    weights = weights_in(trace.maps.values())
    if weights > MOST_WEIGHTS:
        first = next(iter(trace.maps))
        raise TraceError(
            f"The trace holds {weights:,} weights, and a page of all heads takes up to "
            f"{MOST_WEIGHTS:,}; show some of its sites, as trace.only({str(first)!r}), or save the "
            "trace and open it in the app, as headscope open FILE."
        )
    return drawable(trace)


def trace_page(
    trace: Trace, *, title: str = "", picture: Any = None, dark: bool | None = None
) -> str:
    """The heads view of a trace of any model, as `heads_page` writes it; the model is not needed.

    Args:
        trace: with the kinds of attention that its model has.
        title: what the page is of; empty for the texts of the trace.
        picture: as of `heads_page`.
        dark: None follows the reader's own choice of light or dark.

    Raises:
        TraceError: as `in_one_page`.
    """
    seen = read(in_one_page(trace))
    texts = [text for text in (trace.source_text, trace.text) if text]
    heading = title or " – ".join(texts) or "Every head of one trace"
    return heads_page(
        trace, seen, facts_of(seen.maps), {}, title=heading, picture=picture, dark=dark
    )


def opening(seen: ReadTrace, facts: Facts, labels: Labels) -> dict[str, str]:
    """What is selected at first, as an address spells it.

    That is cross-attention where there is some, or else the first kind, and the head of it that
    says most; of a long text, faint weights are brought out.
    """
    heads = opening_heads(seen.maps, labels, facts)
    kind = AttentionKind.CROSS if seen.has_sides else next(iter(heads))
    layer, head = heads[kind]
    is_long = max(len(each.keys) for each in seen.maps.values()) > LONG
    faint = {"faint": BROUGHT_OUT} if is_long else {}
    return _USUAL | {"attention": str(kind), "layer": str(layer), "head": str(head)} | faint
