"""Attention as pandas tables, and a trace that shows itself in a notebook."""

import html
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from model.trace import forms
from model.trace.attention_map import Tokens
from model.trace.trace import Trace

ROOT = Path(__file__).parents[2]


def test_a_head_is_a_table_with_tokens_as_labels(trace: Trace) -> None:
    attention = trace.attention("cross", 1)
    table = attention.frame(2)
    np.testing.assert_array_equal(table.to_numpy(), attention.weights[2])
    assert tuple(table.index) == trace.target.tokens
    assert tuple(table.columns) == trace.source.tokens
    assert (table.index.name, table.columns.name) == ("query", "key")
    assert table.dtypes.unique().tolist() == [np.float32]
    with pytest.raises(IndexError, match="there is no head 9"):
        attention.frame(9)


def test_a_trace_is_a_table_of_every_weight(trace: Trace) -> None:
    table = trace.frame()
    assert list(table.columns) == [
        *("kind", "layer", "head", "query_position", "query", "key_position", "key"),
        *("weight", "allowed"),
    ]
    assert len(table) == sum(each.weights.size for each in trace.maps.values())
    assert table["weight"].dtype == np.float32
    for site, attention in trace.maps.items():
        for head in range(attention.n_heads):
            own = table[
                (table["kind"] == str(site.kind))
                & (table["layer"] == site.layer)
                & (table["head"] == head)
            ]
            cells = own.pivot(index="query_position", columns="key_position", values="weight")
            np.testing.assert_array_equal(cells.to_numpy(), attention.weights[head])
            first = own.iloc[0]
            assert (first["query"], first["key"]) == (
                attention.queries.tokens[0],
                attention.keys.tokens[0],
            )
    # A causal mask, and rows of shares.
    decoder = table[table["kind"] == "decoder"]
    later = decoder["key_position"] > decoder["query_position"]
    assert (decoder["allowed"] == ~later).all()
    sums = table.groupby(["kind", "layer", "head", "query_position"])["weight"].sum()
    np.testing.assert_allclose(sums, 1, atol=1e-5)


def test_a_trace_without_maps_is_an_empty_table() -> None:
    empty = Trace(
        source=Tokens(), target=Tokens(), predictions=Tokens(), text="", source_text="", maps={}
    )
    assert empty.frame().empty
    assert empty._repr_html_() is None


def test_a_trace_in_a_cell_is_every_head(trace: Trace) -> None:
    shown = trace._repr_html_()
    assert shown is not None
    assert shown == hs.show(trace)._repr_html_()
    assert html.escape(trace.source_text) in shown


def test_without_headscope_a_trace_says_what_to_import(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forms, "FORMS", {})
    assert trace._repr_html_() is None
    with pytest.raises(forms.NoForm, match="import headscope first"):
        trace.frame()


@pytest.mark.slow
def test_headscope_is_imported_without_what_draws() -> None:
    heavy = "{'pandas', 'plotly', 'torch', 'streamlit', 'numpy'}"
    code = f"import headscope, sys; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)
