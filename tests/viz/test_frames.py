"""Attention as pandas tables, and a trace that shows itself in a notebook."""

import html
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from model.patching.causal_trace import causal_trace
from model.patching.patch import patch
from model.trace import forms
from model.trace.attention_map import Tokens
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.tiny_checkpoint import PAIRS

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


def test_many_texts_are_translated_traced_and_ablated_at_once(translator: Translator) -> None:
    texts = [source for source, _ in PAIRS[:4]]
    assert [each.text for each in translator.translate(texts)] == [
        translator.translate(text).text for text in texts
    ]
    greedy = hs.Search(beam=1)
    for traces, search in (
        (translator.trace(texts), hs.Search()),
        (translator.trace(texts, search=greedy), greedy),
    ):
        for text, trace in zip(texts, traces, strict=True):
            alone = translator.trace(text, search=search)
            assert (trace.source_text, trace.text) == (text, alone.text)
            np.testing.assert_allclose(
                trace.attention("cross", 1).weights, alone.attention("cross", 1).weights, atol=1e-5
            )
    given = translator.trace(texts[:2], ["Der Hund schläft.", "Die Katze frisst."])
    assert [each.text for each in given] == ["Der Hund schläft.", "Die Katze frisst."]
    with pytest.raises(ValueError, match="Each text needs its own target"):
        translator.trace(texts, ["one"])

    found = hs.effects(translator, texts)
    alone = np.array([hs.effects(translator, text).of()[translator.sites[0]] for text in texts])
    table = found.frame()
    np.testing.assert_allclose(table["mean"][:4], alone.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(table["error"][:4], alone.std(axis=0, ddof=1) / 2, atol=1e-5)
    assert (table["low"] < table["mean"]).all()
    assert len(table) == 4 * len(translator.sites)
    assert found.ranked()[0][2] == pytest.approx(table["mean"].iloc[table["mean"].abs().argmax()])
    assert np.isnan(hs.effects(translator, texts[:1]).frame()["error"]).all()
    with pytest.raises(ValueError, match="no texts"):
        hs.effects(translator, [])


def test_what_has_numbers_is_a_table(translator: Translator, trace: Trace) -> None:
    effects = hs.effects(translator, trace.source_text)
    table = effects.frame().set_index(["kind", "layer", "head", "position"])
    assert table.loc[("cross", 1, 2, 3), "loss"] == effects.losses["cross", 1][2, 3]
    assert table.loc[("cross", 1, 2, 3), "token"] == trace.predictions.tokens[3]

    found = hs.attributions(translator, trace.source_text)
    maps = found.frame()
    own = maps.query("method == 'norms' and kind == 'cross' and layer == 1 and head == 2")
    np.testing.assert_array_equal(own["value"], found.map("norms", ("cross", 1)).of(2).ravel())
    assert tuple(own["key"][: len(trace.source)]) == trace.source.tokens

    survey = hs.read_survey("en-de")
    assert survey is not None
    heads = survey.frame()
    assert len(heads) == len(survey.places)
    first = survey.ranked("previous")[0]
    assert heads["previous"].max() == survey.of(first).measures["previous"].mean

    numbers = hs.figures.OneHead(hs.read(trace), ("cross", 1), 2).numbers()
    cells = numbers.frame()
    assert cells["weight"].dtype == np.float32
    np.testing.assert_array_equal(cells["weight"], trace.attention("cross", 1).weights[2].ravel())
    assert (cells["layer"] == 1).all()


def test_rules_found_sentences_and_searches_are_tables(translator: Translator) -> None:
    survey, index = hs.read_survey("en-de"), hs.read_sentences("en-de")
    assert survey is not None
    assert survey.rules is not None
    assert index is not None
    rules = survey.rules.frame()
    assert len(rules) == len(survey.rules.heads)
    assert rules["cost"].is_monotonic_increasing
    head = next(iter(index.does))
    (rule, *_) = index.found_by(head.site.kind)
    found = index.frame("work*", head, rule)
    assert found["number"].tolist() == [number for number, _ in index.found("work*", head, rule)]
    assert found["sentence"].str.contains("work", case=False).all()
    assert index.frame("zzzz").columns.tolist() == ["number", "sentence", "does"]

    decoding = translator.decode("The cat eats.")
    nodes = decoding.frame()
    assert nodes["token"].tolist() == [node.token for node in decoding.nodes]
    last = nodes.set_index("rank").loc[0]
    assert last["log_prob"] == decoding.ranked[0].log_prob
    assert nodes.loc[int(last["parent"]), "step"] == last["step"] - 1

    traces = [translator.trace(source) for source, _ in PAIRS] * 4
    words = hs.head_rules(traces)
    table = words.frame()
    assert table["right"].tolist() == [each.right for each in words.values()]
    assert set(table.columns) >= {"kind", "layer", "head", "said", "low", "high"}


def test_two_words_and_what_they_depend_on_are_tables(translator: Translator) -> None:
    trace = translator.trace(PAIRS[0][0])
    contrast = hs.figures.contrast_of(
        translator, trace, hs.figures.pair_of(translator, trace, 0, PAIRS[1][1].split()[0])
    )
    table = contrast.frame()
    heads = table[table["head"].notna()]
    assert len(heads) == sum(len(each) for each in contrast.without.values())
    assert len(table) - len(heads) == len(contrast.source)
    for site, losses in contrast.losses.items():
        own = heads[(heads["kind"] == str(site.kind)) & (heads["layer"] == site.layer)]
        np.testing.assert_allclose(own["loss"].to_numpy(float), losses, atol=1e-5)
    terms = hs.figures.logit_terms(
        translator, trace, hs.figures.pair_of(translator, trace, 0, PAIRS[1][1].split()[0])
    )
    assert terms.frame()["value"].sum() == pytest.approx(terms.total, abs=1e-4)


def test_a_patched_run_and_a_causal_trace_are_tables(translator: Translator) -> None:
    one, other = PAIRS[0][0], PAIRS[1][0]
    traced = causal_trace(translator, one, other)
    table = traced.frame()
    for side in ("encoder", "decoder"):
        for stage, values in getattr(traced, side).items():
            own = table[(table["side"] == side) & (table["stage"] == str(stage))]
            np.testing.assert_array_equal(own["log_prob"].to_numpy(), values.ravel())
    patched = patch(translator, one, other, [])
    np.testing.assert_array_equal(patched.frame()["patched"], patched.patched_log_probs)
