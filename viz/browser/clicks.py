"""Clicks on a chart that Plotly draws: told until they are read, and read once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from viz.browser.files import joined
from viz.browser.told import told

_HEARD = "_clicks_heard"

_clicks = st.components.v2.component(
    "headscope_clicks",
    html='<div aria-hidden="true" aria-busy="true"></div>',
    js=joined("clicks/clicks.js"),
)


def clicks(chart: str, *, on_clicks: Callable[[], None]) -> None:
    """Mount what hears of clicks on the points of a chart, below it.

    Args:
        chart: its key.
        on_clicks: called when points were clicked, for `new_clicks` to read what each one's
            customdata begins with.
    """
    data = {"chart": chart, "heard": heard(chart)}
    _clicks(key=key_of(chart), height=1, data=data, on_clicks_change=on_clicks)


def new_clicks(chart: str) -> list[tuple[Any, ...]]:
    """What was clicked since it was last asked, in its order, unchecked."""
    message = told(key_of(chart), "clicks")
    found = []
    for click in message if isinstance(message, list) else ():
        match click:
            case [int(number), *place] if number > heard(chart):
                st.session_state[_HEARD] = st.session_state.get(_HEARD, {}) | {chart: number}
                found.append(tuple(place))
    return found


def heard(chart: str) -> int:
    """The number of the last click that was read."""
    number: int = st.session_state.get(_HEARD, {}).get(chart, 0)
    return number


def key_of(chart: str) -> str:
    """The key of the component that hears of a chart's clicks."""
    return f"{chart}-clicks"
