"""Any message that a browser could send for a component: what it shows stays whole."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from tests.fuzz.test_addresses import require_harmless
from tests.kit.apptest import deliver, triggered
from tests.kit.fuzz import altered, cases, json_values, limits
from tests.kit.trace_payload import Decoded
from viz.registry import pages

SELECTED = {
    **{"attention": "cross", "layer": "1", "head": "2", "view": "head", "words": "", "cell": "2.3"},
    "range": "0-3.1-2",
    **{"compare": "0.1-1.2", "faint": "2", "width": "wide", "epoch": 1},
}
STROKE = {"name": "decoder", "rows": 4, "columns": 4, "bits": "gMDg8A=="}

STATES: dict[str, dict[str, Any]] = {
    "heads_view": {"rested": SELECTED},
    "model_view": {"rested": {"key": "", "epoch": 1, "moment": 3, "place": "cross.0.5", "walk": 2}},
    "stage": {"pressed": [[1, "ArrowRight"], [2, "ArrowDown"], [3, "v"]]},
    "switches": {"clicks": [[1, "cross", 0, 1], [2, "encoder", 1, 2]]},
    "clicks": {"clicks": [[1, 3]]},
    "steps": {"shown": {"name": "", "step": 2}},
    "matrices": {"edit": STROKE},
    "word_order": {"order": {"places": [2, 0, 1], "turn": 0}},
    "width": {"abreast": 2},
}
"""By component, the states that it keeps and a value of each."""

TRIGGERS: dict[str, dict[str, Any]] = {
    "heads_view": {
        "open": {"page": "positions", "attention": "cross", "layer": 1, "at": 2},
        "model": "cross.0.1",
        "corpus": True,
    },
    "model_view": {"open": {"page": "heads", "attention": "cross", "layer": 1}, "example": 1},
    "steps": {"taken": {"name": "", "step": 1, "place": 2}},
    "talk": {
        "go": [1, 2],
        "look": {"page": "masks", "view": {"part": "change"}},
        "kept": [["a", "{}"]],
        "full": "a",
    },
    "reader": {"leave": True},
    "theme": {"changed": "connected"},
    "inquiries": {"asked": "why-not.4.seinen"},
}
"""By component, what it triggers, with a value of each."""

SILENT = {
    *("branches", "copy_link", "drawer", "focus", "formula", "headline", "notes_button"),
    *("wave", "whole_app", "without"),
}
"""Components that tell of nothing: some are on pages to which a message leads."""

PLACES = [
    *(("heads", {}), ("heads", {"present": "1"}), ("heads", {"read": "1", "scene": "1"})),
    ("model", {}),
    *(("effects", {}), ("effects", {"show": "words"}), ("decoding", {}), ("masks", {})),
    *(("masks", {"part": "change"}), ("positions", {"topic": "shuffle"})),
    *(("positions", {"present": "1"}), ("decoding", {"present": "1"})),
    ("decoding", {"section": "beams"}),
]
"""Together they mount every component that tells of something."""


def component(element: Any) -> str:
    name: str = element.proto.component_name
    return name.removeprefix("headscope_")


def events(element: Any) -> dict[str, Any]:
    """What it may tell of, with a value of each."""
    kind = component(element)
    known = STATES.keys() | TRIGGERS.keys() | SILENT
    assert kind in known, f"nothing is known of messages of {kind}"
    return STATES.get(kind, {}) | TRIGGERS.get(kind, {})


def usual(element: Any, event: str) -> Any:
    """What a browser might send, with the name or the epoch of what it was sent."""
    value = events(element)[event]
    if not element.proto.bytes or not isinstance(value, dict):
        return value
    header = Decoded(element.proto.bytes).header
    return value | {name: header[name] for name in ("name", "key", "epoch") if name in header}


def message(element: Any, event: str, value: Any) -> WidgetState:
    if event in STATES.get(component(element), {}):
        return WidgetState(id=element.proto.id, json_value=json.dumps({event: value}))
    return triggered(element.proto.id, event, value)


@pytest.mark.parametrize("place", PLACES, ids=str)
@cases(100)
@given(data=st.data())
def test_any_message_of_a_component_leaves_a_page_without_a_traceback_or_markup(
    open_page: Callable[..., AppTest],
    place: tuple[str, dict[str, str]],
    data: st.DataObject,
) -> None:
    name, query = place
    app = open_page(pages.VIEWS[name], query)
    for _ in range(data.draw(st.integers(1, 2))):
        told = [
            (element, event) for element in app.get("bidi_component") for event in events(element)
        ]
        element, event = data.draw(st.sampled_from(told))
        sent = usual(element, event)
        value = data.draw(st.just(sent) | altered(sent) | altered(sent) | json_values())
        with limits(seconds=60, megabytes=512):
            deliver(app, message(element, event, value))
            require_harmless(app)
