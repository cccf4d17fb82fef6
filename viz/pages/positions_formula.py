"""The formula of the paper for any width, length and base."""

import streamlit as st

from model.explain import position_measures
from viz.browser.formula import formula
from viz.pages.positions_asked import Asked
from viz.positions.table import Formula
from viz.positions.view import KEYS, PositionsView
from viz.positions.waves import FormulaWaves
from viz.shell import address, stage
from viz.shell.fragments import fragment
from viz.shell.save_menu import show_picture

BASES = (10, 100, 1_000, 10_000, 100_000)


@fragment
def show_formula(_asked: Asked) -> None:
    view = address.read(PositionsView)
    # A sine needs its cosine.
    d_model, base = view.d_model - view.d_model % 2, float(view.base)
    address.change(d_model=d_model)
    table = position_measures.formula_table(d_model, view.rows, base)
    one, other = st.columns([5, 3], gap="large")
    with one:
        show_picture(
            Formula(table, base),
            KEYS("formula"),
            columns=2,
            after=" Point at a cell to compute it.",
        )
    with other:
        formula(KEYS("formula"), base=base, d_model=d_model, length=view.rows)
        st.caption("Section 3.5 of the paper, not the model's own table.")
        st.slider("d_model", 2, 1024, d_model, step=2, key=KEYS("d_model"))
        st.slider("Positions", 2, 1024, view.rows, key=KEYS("rows"))
        st.slider("Base", 2, 100_000, view.base, key=KEYS("base"), help="10,000 in the paper.")
    dimensions = sorted({0, d_model // 8, d_model // 4, d_model // 2})
    show_picture(FormulaWaves(table, dimensions, base), KEYS("formula-waves"))
    address.write_address()


def show_formula_on_stage(asked: Asked) -> None:
    view = asked.view
    base = view.base
    d_model = view.d_model - view.d_model % 2
    stage.say(
        f"What if the base were {base:,}? sin and cos of pos / {base:,}^(2i / {d_model}), not the "
        "model"
    )
    stage.offer("Up and down: base", down=stage.Step(KEYS("base"), BASES[::-1], base))
    table = position_measures.formula_table(d_model, view.rows, float(base))
    with stage.picture():
        stage.show((Formula(table, float(base)), KEYS("formula")))
