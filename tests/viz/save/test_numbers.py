"""Numbers as files: opened again and held to the trace they came from."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.explain.reading import read
from model.trace.attention_map import Tokens, TraceError
from model.trace.trace import Trace
from tests.kit.hostile_map import hostile_map
from viz.draw.labels import axis_texts
from viz.heads.one_head import OneHead
from viz.heads.query_key import QueryKey
from viz.save.formats import ExportError
from viz.save.numbers import Numbers


def test_every_format_holds_exactly_the_recorded_numbers(trace: Trace) -> None:
    seen = trace.attention("decoder", 2)
    head = OneHead(read(trace), seen.site, 3).numbers()
    shape = seen.weights[3].shape
    table = pd.read_csv(
        io.BytesIO(head.encode("csv")),
        dtype={"weight": np.float32, "score": np.float32},
        keep_default_na=False,
    )
    np.testing.assert_array_equal(table["weight"].to_numpy().reshape(shape), seen.weights[3])
    assert seen.scores is not None
    np.testing.assert_array_equal(table["score"].to_numpy().reshape(shape), seen.scores[3])
    np.testing.assert_array_equal(table["allowed"].to_numpy().reshape(shape), seen.allowed)
    assert table["query"].tolist()[:: shape[1]] == axis_texts(seen.queries)
    assert set(table["attention"]) == {"decoder"}
    assert (set(table["layer"]), set(table["head"])) == ({2}, {3})

    content = json.loads(head.encode("json"))
    weight = np.array(content["arrays"]["weight"]["values"], dtype=np.float32)
    np.testing.assert_array_equal(weight, seen.weights[3])
    assert content["axes"]["key"]["tokens"] == list(seen.keys.tokens)
    assert content["axes"]["key"]["ids"] == list(seen.keys.ids)

    with np.load(io.BytesIO(head.encode("npz")), allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["weight"], seen.weights[3])
        np.testing.assert_array_equal(arrays["score"], seen.scores[3])
        assert arrays["weight"].dtype == np.float32
        assert tuple(arrays["query.tokens"]) == seen.queries.tokens
        assert (str(arrays["attention"]), int(arrays["layer"])) == ("decoder", 2)


@given(st.lists(st.floats(width=32, allow_nan=True, allow_infinity=True), min_size=1, max_size=8))
def test_a_float32_comes_back_bit_for_bit(values: list[float]) -> None:
    array = np.array(values, dtype=np.float32)
    numbers = Numbers({}, {"place": range(len(array))}, {"value": (("place",), array)})
    table = pd.read_csv(io.BytesIO(numbers.encode("csv")), dtype={"value": np.float32})
    np.testing.assert_array_equal(table["value"].to_numpy(), array)
    content = json.loads(numbers.encode("json"))["arrays"]["value"]["values"]
    finite = np.isfinite(array)
    assert [value is not None for value in content] == finite.tolist()
    known = np.array([value for value in content if value is not None], dtype=np.float32)
    assert known.tobytes() == array[finite].tobytes()


def test_a_spreadsheet_computes_no_token_and_other_formats_add_nothing() -> None:
    seen = hostile_map()
    head = Numbers(
        {},
        {"query": seen.queries, "key": seen.keys},
        {"weight": (("query", "key"), seen.weights[0])},
    )
    table = pd.read_csv(io.BytesIO(head.encode("csv")), dtype=str)
    assert not table["key"].str.match(r"[=+\-@]").any()
    keys = ["<b>bold</b>", "<script>", "'=1+2", "'@cat", "#1b2430", "&amp;"]
    assert table["key"].tolist()[:6] == keys
    content = json.loads(head.encode("json"))
    assert content["axes"]["query"]["tokens"] == list(seen.queries.tokens)


@pytest.mark.parametrize("start", [*"=+-@", *"＝＋－＠"])
def test_no_beginning_of_a_formula_survives_in_csv(start: str) -> None:
    tokens = Tokens.unnamed([f"{start}cmd|' /C calc'!A0"])
    numbers = Numbers({"of": f"{start}1"}, {"token": tokens}, {"value": (("token",), np.ones(1))})
    [_, row] = numbers.encode("csv").decode("utf-8-sig").splitlines()
    assert row.startswith(f"'{start}1,")
    assert f"'{start}cmd" in row


def test_csv_names_its_encoding_so_that_spreadsheets_read_umlauts() -> None:
    tokens = Tokens(("▁schläft",), (5,))
    numbers = Numbers({}, {"token": tokens}, {"value": (("token",), np.ones(1))})
    assert numbers.encode("csv").startswith(b"\xef\xbb\xbf")
    assert "schläft" in numbers.encode("csv").decode("utf-8-sig")


def test_a_token_that_numpy_would_cut_is_refused() -> None:
    numbers = Numbers({}, {"token": Tokens(("a\0",), (1,))}, {"value": (("token",), np.ones(1))})
    with pytest.raises(TraceError, match="ends in NUL"):
        numbers.encode("npz")


def test_a_format_that_is_not_for_numbers_is_refused_in_a_sentence() -> None:
    with pytest.raises(ExportError, match="no format 'xlsx' for numbers"):
        Numbers({}, {}, {}).encode("xlsx")  # type: ignore[arg-type]


def test_numbers_refuse_an_array_that_does_not_fit_its_axes() -> None:
    with pytest.raises(ValueError, match="value has the shape"):
        Numbers({}, {"place": range(3)}, {"value": (("place",), np.ones(2))})


def test_numbers_of_different_axes_share_a_table_without_filling_each_other(trace: Trace) -> None:
    seen = trace.attention("cross", 0)
    numbers = QueryKey(read(trace), seen.site, 1, 2, 3).numbers()
    table = pd.read_csv(io.BytesIO(numbers.encode("csv")), keep_default_na=False, dtype=str)
    assert seen.q is not None
    d_k = seen.q.shape[-1]
    assert len(table) == d_k + len(seen.keys)
    assert set(table["weight"][:d_k]) == {""}
    assert table["dimension"][:d_k].tolist() == [str(place) for place in range(d_k)]
    np.testing.assert_array_equal(
        table["weight"][d_k:].to_numpy(dtype=np.float32), seen.weights[1, 2]
    )


def test_what_was_given_to_the_model_goes_with_the_numbers_once() -> None:
    tokens = Tokens.unnamed(["a", "b"])
    numbers = Numbers(
        {"layer": 2},
        {"token": tokens},
        {"value": (("token",), np.ones(2, dtype=np.float32))},
        {"sentence": "=SUM(1)", "edit": "decoder:*:2x2.x"},
    )
    assert numbers.size == 2
    rows = numbers.encode("csv").decode("utf-8-sig").splitlines()
    assert rows == [
        "layer,token_position,token,value,sentence,edit",
        "2,0,a,1.0,'=SUM(1),decoder:*:2x2.x",
        "2,1,b,1.0,,",
    ]
    assert json.loads(numbers.encode("json"))["sentence"] == "=SUM(1)"
    with np.load(io.BytesIO(numbers.encode("npz")), allow_pickle=False) as arrays:
        assert str(arrays["edit"]) == "decoder:*:2x2.x"


def test_a_spreadsheet_computes_no_word_among_the_values() -> None:
    words = np.array([["=1+2", "cat"]], dtype=np.str_)
    numbers = Numbers({}, {"row": [0], "column": [0, 1]}, {"word": (("row", "column"), words)})
    assert "'=1+2" in numbers.encode("csv").decode("utf-8-sig")
    assert json.loads(numbers.encode("json"))["arrays"]["word"]["values"] == [["=1+2", "cat"]]
