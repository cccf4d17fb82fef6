"""Places of the model's picture: what a link may spell, and what stands there."""

from __future__ import annotations

import pytest

from model.explain.block_outputs import block_outputs
from model.explain.facts import facts_of
from model.explain.reading import read
from model.trace.attention_map import AttentionKind, Site
from model.trace.trace import Trace
from model.translate.translator import Translator
from viz.model_page.arcs import arcs_of
from viz.model_page.payload import Figure
from viz.model_page.picture import figure_of_model
from viz.model_page.place import MODEL, Place, place_in, title_of

ENCODER, DECODER = AttentionKind.ENCODER, AttentionKind.DECODER
CROSS = Site(AttentionKind.CROSS, 0)


@pytest.fixture(scope="module")
def figure(translator: Translator, trace: Trace) -> Figure:
    seen = read(trace)
    blocks = block_outputs(translator, trace)
    return figure_of_model(
        translator, trace, seen, facts_of(seen.maps), table=None, blocks=blocks, labels={}
    )


@pytest.mark.parametrize(
    ("spelled", "place"),
    [
        ("", MODEL),
        ("encoder", Place("stack", ENCODER)),
        ("cross.0", Place("block", site=CROSS)),
        ("cross.0.1", Place("head", site=CROSS, numbers=(1,))),
        ("cross.0.1.2", Place("row", site=CROSS, numbers=(1, 2))),
        ("cross.0.1.2.0", Place("weight", site=CROSS, numbers=(1, 2, 0))),
        ("positions.decoder", Place("positions", DECODER)),
        ("feed-forward.encoder.0", Place("added", ENCODER)),
        ("next.1", Place("next", step=1)),
        # What is not there is what it would lie in.
        ("cross.0.1.2.99", Place("row", site=CROSS, numbers=(1, 2))),
        ("cross.0.99.2.0", Place("block", site=CROSS)),
        ("cross.99.0", Place("stack", DECODER)),
        ("feed-forward.encoder.99", Place("stack", ENCODER)),
        # What is no place.
        *((text, MODEL) for text in ("module", "module.0.0", "feed-forward.encoder", "next")),
        *((text, MODEL) for text in ("../", "cross.٣", "cross.0001", "Cross.0", "cross.0\n")),
        *((text, MODEL) for text in ("cross.-1", "cross.0.1.2.0.0", "encoder.")),
    ],
)
def test_a_link_leads_to_what_the_model_has(figure: Figure, spelled: str, place: Place) -> None:
    assert place_in(figure, spelled) == place
    assert title_of(place, figure)


def test_after_the_last_step_stands_the_last(figure: Figure) -> None:
    assert place_in(figure, "next.999").step == len(figure.trace.predictions) - 1


def test_a_trace_alone_has_only_its_heads(figure: Figure, trace: Trace) -> None:
    alone = Figure(
        trace=trace,
        seen=figure.seen,
        facts=figure.facts,
        arcs=arcs_of(trace, None),
        positions={},
        labels={},
    )
    assert place_in(alone, "next.1") == MODEL
    for spelled in ("positions.encoder", "feed-forward.encoder.0"):
        assert place_in(alone, spelled) == Place("stack", ENCODER)
    assert place_in(alone, "encoder.0.0").at == "head"


def test_a_weight_is_named_by_its_words(figure: Figure, trace: Trace) -> None:
    title = title_of(place_in(figure, "cross.0.1.1.0"), figure)
    assert title.startswith("Cross-attention, layer 0, head 1, query “")
    assert title.endswith(f"key “{trace.source.tokens[0].lstrip('▁')}”")
