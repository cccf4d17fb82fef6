"""The formula of position encodings, with the numbers of the cell that is pointed at."""

from __future__ import annotations

import streamlit as st

from viz.browser.files import joined
from viz.draw.keys import Keys

_formula = st.components.v2.component(
    "headscope_formula",
    html='<div class="formula" aria-busy="true"></div>',
    css=joined("formula/formula.css"),
    js=joined("formula/formula.js"),
)


def formula(chart: str, *, base: float, d_model: int, length: int) -> None:
    """Mount the formula beside its picture; nothing that is pointed at is told to the server.

    Args:
        chart: the key of the heatmap, whose rows are positions and whose customdata are dimensions.
    """
    # Until a cell is pointed at: one that is neither 0 nor 1.
    cell = [min(10, length - 1), min(20, d_model - 2)]
    data = {"chart": chart, "base": base, "width": d_model, "length": length, "cell": cell}
    _formula(key=Keys(chart)("formula"), data=data)
