"""The wave of the dimension that is pointed at in a table of positions."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from model.trace.attention_map import FloatArray
from viz.browser.envelope import seal
from viz.browser.files import joined
from viz.draw import themes
from viz.draw.keys import Keys

_wave = st.components.v2.component(
    "headscope_wave",
    html='<div class="headscope wave" role="application" tabindex="0" aria-busy="true"></div>',
    css=joined("wave/wave.css"),
    js=joined("wave/wave.js"),
)


def wave(chart: str, table: FloatArray, names: Sequence[str], words: Sequence[str]) -> None:
    """Mount the wave below its table; nothing that is pointed at is told to the server.

    Args:
        chart: the key of the heatmap, whose customdata are dimensions.
        table: (position, dimension).
        names: what is said of each dimension, after its number.
    """
    _wave(key=Keys(chart)("wave"), data=pack_wave(chart, table, names, words))


def pack_wave(chart: str, table: FloatArray, names: Sequence[str], words: Sequence[str]) -> bytes:
    """Everything the browser needs, the "wave" of payloads.json; arguments as of `wave`."""
    return seal(
        {
            "payload": "wave",
            "chart": chart,
            "names": list(names),
            "words": list(words),
            "positions": len(table),
            "limit": float(abs(table).max()) or 1.0,
            "dimension": min(16, table.shape[1] - 1),
            "values": table,
            "themes": themes.THEMES,
        }
    )
