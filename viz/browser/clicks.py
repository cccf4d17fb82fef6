"""Clicks on a chart that Plotly draws: told until they are heard, and heard once."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz.browser.files import joined
from viz.browser.messages import do_told, last_done

_clicks = st.components.v2.component(
    "headscope_clicks",
    html='<div aria-hidden="true" aria-busy="true"></div>',
    js=joined("clicks/clicks.js"),
)


def clicks(chart: str, *, on_clicks: Callable[[], None]) -> None:
    """Mount what hears of clicks on the points of a chart, below it.

    Args:
        chart: its key.
        on_clicks: called when points were clicked, for `do_clicks` to do what each one's customdata
            begins with.
    """
    data = {"chart": chart, "heard": heard(chart)}
    _clicks(key=key_of(chart), height=1, data=data, on_clicks_change=on_clicks)


def do_clicks(chart: str, do: Callable[..., None]) -> None:
    """Do what was clicked and is not done yet, in its order.

    Args:
        chart: its key.
        do: as of `viz.browser.messages.do_told`, called with what was clicked, unchecked.
    """
    do_told(key_of(chart), "clicks", do)


def heard(chart: str) -> int:
    """The number of the last click that was heard."""
    return last_done(key_of(chart))


def key_of(chart: str) -> str:
    """The key of the component that hears of a chart's clicks."""
    return f"{chart}-clicks"
