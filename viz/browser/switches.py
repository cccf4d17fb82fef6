"""Crosses on the cells of a map that Plotly draws, put and taken by clicks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from viz.browser.files import joined
from viz.browser.told import told

Cell = tuple[str, int, int]
"""The `meta` of its heatmap, its row and its column."""

_HEARD = "_switches_heard"

_switches = st.components.v2.component(
    "headscope_switches",
    html='<div aria-hidden="true" aria-busy="true"></div>',
    js=joined("switches/switches.js"),
)


def switches(
    chart: str,
    off: Sequence[Cell],
    colors: Mapping[str, Sequence[Sequence[tuple[str, str]]]],
    *,
    on_clicks: Callable[[], None],
) -> None:
    """Mount the crosses of a chart, below it.

    Args:
        chart: its key; its figure is to stay the same whatever bears a cross.
        off: the cells that bear one.
        colors: of every cell and of the cross in it, by the `meta` of its heatmap, [row][column].
        on_clicks: called when cells were clicked, for `new_clicks` to read.
    """
    data = {"chart": chart, "off": off, "heard": _heard(chart), "colors": colors}
    _switches(key=_key(chart), height=1, data=data, on_clicks_change=on_clicks)


def new_clicks(chart: str) -> list[tuple[Any, ...]]:
    """The cells clicked since it was last asked, in their order, unchecked."""
    clicks = told(_key(chart), "clicks")
    found = []
    for click in clicks if isinstance(clicks, list) else ():
        match click:
            case [int(number), *cell] if number > _heard(chart):
                st.session_state[_HEARD] = st.session_state.get(_HEARD, {}) | {chart: number}
                found.append(tuple(cell))
    return found


def _heard(chart: str) -> int:
    """The number of the last click that was read."""
    number: int = st.session_state.get(_HEARD, {}).get(chart, 0)
    return number


def _key(chart: str) -> str:
    return f"{chart}-switches"
