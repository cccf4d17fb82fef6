"""Crosses on the cells of a map that Plotly draws, put and taken by clicks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from viz.browser.clicks import heard, key_of
from viz.browser.files import joined

Cell = tuple[str, int, int]
"""The `meta` of its heatmap, its row and its column."""

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
        colors: of every cell and of the cross in it, by the `meta` of its heatmap, [row][column].
        on_clicks: called when cells were clicked, for `viz.browser.clicks.handle_clicks`.
    """
    data = {"chart": chart, "off": off, "heard": heard(chart), "colors": colors}
    _switches(key=key_of(chart), height=1, data=data, on_clicks_change=on_clicks)
