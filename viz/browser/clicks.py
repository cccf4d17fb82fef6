"""Clicks on a chart that Plotly draws, each handled once."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz.browser.files import joined
from viz.browser.messages import handle_once, last_handled
from viz.draw.keys import Keys

_clicks = st.components.v2.component(
    "headscope_clicks",
    html='<div aria-hidden="true" aria-busy="true"></div>',
    js=joined("clicks/clicks.js"),
)


def clicks(chart: str, *, on_clicks: Callable[[], None]) -> None:
    """Mount a listener to clicks on the points of a chart, below it.

    Args:
        on_clicks: called when points were clicked, for `handle_clicks`, which gives on what each
            one's customdata begins with.
    """
    data = {"chart": chart, "heard": heard(chart)}
    _clicks(key=key_of(chart), height=1, data=data, on_clicks_change=on_clicks)


def handle_clicks(chart: str, handle: Callable[..., None]) -> None:
    """Handle the clicks that were not handled yet, in their order.

    Args:
        handle: as of `viz.browser.messages.handle_once`, called with what was clicked, unchecked.
    """
    handle_once(key_of(chart), "clicks", handle)


def heard(chart: str) -> int:
    """The number of the last click that was handled."""
    return last_handled(key_of(chart))


def key_of(chart: str) -> str:
    """The key of the component that listens to a chart's clicks."""
    return Keys(chart)("clicks")
