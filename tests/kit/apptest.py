"""What a browser does that AppTest offers no way to do: open a page, and let components speak."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

OpenApp = Callable[..., AppTest]
"""Opens the app: `open_app` of tests/app/conftest.py."""


def go_to(app: AppTest, page: str) -> AppTest:
    """Let the next run show another page, by its name."""
    app._page_hash = calc_hash(page)
    return app


def lead(app: AppTest) -> None:
    """Let the app say from here on which page is shown, as in a browser."""
    app._page_hash = ""


def nodes(app: AppTest) -> Iterator[Any]:
    """Every block and element of the page."""

    def below(node: Any) -> Iterator[Any]:
        yield node
        for child in getattr(node, "children", {}).values():
            yield from below(child)

    return below(app._tree)


def widget_states(app: AppTest) -> WidgetStates:
    """The values of all widgets, as the browser sends them along."""
    states: WidgetStates = app._tree.get_widget_states()
    return states


def run_with(app: AppTest, states: WidgetStates) -> AppTest:
    """Run the page for a message of the browser."""
    return app._run(states)


def component(app: AppTest, key: str) -> Any:
    """What the browser is told of a component."""
    (mounted,) = [each.proto for each in app.get("bidi_component") if each.key == key]
    return mounted


def deliver(app: AppTest, message: WidgetState) -> AppTest:
    """Send a widget's message along with the values of all others."""
    return run_with(app, WidgetStates(widgets=[*widget_states(app).widgets, message]))


def tell_state(app: AppTest, key: str, state: dict[str, Any]) -> AppTest:
    """Let a component have another state."""
    return deliver(app, WidgetState(id=component(app, key).id, json_value=json.dumps(state)))


def trigger(app: AppTest, key: str, event: str, value: Any) -> AppTest:
    """Let a component trigger an event."""
    return deliver(app, triggered(component(app, key).id, event, value))


def triggered(element_id: str, event: str, value: Any) -> WidgetState:
    """The message of a component that triggers an event."""
    return WidgetState(
        id=_make_trigger_id(element_id, "events"),
        json_trigger_value=json.dumps([{"event": event, "value": value}]),
    )
