import io

import numpy as np
import pandas as pd
import pytest

from model.explain.facts import head_facts
from model.explain.labels import Label
from model.explain.measures import MEASURES
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from viz.heads.tables import facts_table, weights_table

SOURCE = Tokens(("▁The", "▁the", "▁the", "</s>"), (10, 11, 11, 3))
TARGET = Tokens(("<s>", "▁Katze", "ze"), (2, 20, 21))
PREDICTIONS = TARGET[1:] + Tokens(("</s>",), (3,))
N_HEADS = 3


def many(count: int) -> Tokens:
    return Tokens(tuple(f"▁token{i}" for i in range(count)), tuple(range(count)))


def a_map(
    kind: str = "cross",
    layer: int = 1,
    *,
    queries: Tokens = TARGET,
    keys: Tokens = SOURCE,
    allowed: np.ndarray | None = None,
    scored: bool = True,
) -> AttentionMap:
    if allowed is None:
        allowed = np.ones((len(queries), len(keys)), dtype=bool)
    shape = (N_HEADS, len(queries), len(keys))
    scores = np.random.default_rng(layer).normal(size=shape).astype(np.float32)
    powers = np.where(allowed, np.exp(scores), 0)
    return AttentionMap(
        Site(AttentionKind(kind), layer),
        weights=powers / np.maximum(powers.sum(axis=-1, keepdims=True), 1e-9),
        allowed=allowed,
        queries=queries,
        keys=keys,
        scores=scores if scored else None,
    )


def test_each_cell_is_a_row_in_reading_order_with_its_exact_numbers() -> None:
    seen = a_map()
    table = weights_table(seen, 2)
    assert list(table.columns) == [
        "Query position",
        "Query",
        "Key position",
        "Key",
        "Weight",
        "Score",
        "Allowed",
    ]
    assert table["Weight"].dtype == np.float32
    cells = iter(table.itertuples(index=False))
    for query, query_text in enumerate(["<s>", "Katze", "…ze"]):
        for key, key_text in enumerate(["The", "the", "the", "</s>"]):
            assert tuple(next(cells)) == (
                query,
                query_text,
                key,
                key_text,
                seen.weights[2, query, key],
                seen.scores[2, query, key],
                True,
            )
    assert next(cells, None) is None


def test_scores_that_were_not_recorded_have_no_column() -> None:
    assert "Score" not in weights_table(a_map(scored=False), 0).columns


def test_a_token_beside_each_query_has_a_column_of_its_own() -> None:
    table = weights_table(a_map(), 0, PREDICTIONS)
    assert list(table.columns)[:3] == ["Query position", "Query", "Token predicted next"]
    assert list(table["Token predicted next"][::4]) == ["Katze", "…ze", "</s>"]
    read = weights_table(a_map(), 0, TARGET, "Token just read")
    assert list(read["Token just read"][::4]) == ["<s>", "Katze", "…ze"]


def test_tokens_beside_the_queries_of_another_number_are_refused() -> None:
    with pytest.raises(ValueError, match="3 queries and 2 tokens"):
        weights_table(a_map(), 0, PREDICTIONS[:2])


@pytest.mark.parametrize("head", [-1, N_HEADS])
def test_a_head_that_is_not_there_is_refused(head: int) -> None:
    with pytest.raises(IndexError, match="heads 0 to 2"):
        weights_table(a_map(), head)


def test_a_forbidden_cell_is_told_from_a_weight_of_0() -> None:
    allowed = np.ones((N_HEADS, 3, 4), dtype=bool)
    allowed[1, 0, 2] = False
    seen = a_map(allowed=allowed)
    assert weights_table(seen, 0)["Allowed"].all()
    table = weights_table(seen, 1)
    assert list(np.flatnonzero(~table["Allowed"])) == [2]
    assert table["Weight"][2] == 0


def test_a_head_without_cells_gives_an_empty_table_with_all_columns() -> None:
    table = weights_table(a_map(queries=TARGET[:0]), 0)
    assert len(table) == 0
    assert "Weight" in table.columns


def test_a_table_survives_being_saved_as_text() -> None:
    table = weights_table(a_map(), 0)
    back = pd.read_csv(io.StringIO(table.to_csv(index=False)), dtype={"Weight": np.float32})
    assert np.array_equal(back["Weight"], table["Weight"])
    assert list(back["Query"]) == list(table["Query"])


def test_every_head_is_a_row_with_its_label_and_measures() -> None:
    maps = [
        a_map("decoder", 1, queries=TARGET, keys=TARGET),
        a_map("cross", 0),
        a_map("encoder", 0, queries=SOURCE, keys=SOURCE),
    ]
    facts = {seen.site: head_facts(seen) for seen in maps}
    labels = {maps[1].site: (None, Label("pairs", "", share="94% of 500"), None)}
    table = facts_table(facts, labels, MEASURES)
    assert list(table.columns) == [
        "Attention",
        "Layer",
        "Head",
        "Label",
        "Holds in",
        *(measure.name for measure in MEASURES),
    ]
    assert list(table["Attention"]) == (
        ["Encoder self-attention"] * 3 + ["Decoder self-attention"] * 3 + ["Cross-attention"] * 3
    )
    assert list(table["Layer"]) == [0] * 3 + [1] * 3 + [0] * 3
    assert list(table["Head"]) == [0, 1, 2] * 3
    assert list(table["Label"]) == [""] * 7 + ["pairs", ""]
    assert list(table["Holds in"]) == [""] * 7 + ["94% of 500", ""]
    for measure in MEASURES:
        for place, seen in zip((0, 3, 6), (maps[2], maps[0], maps[1]), strict=True):
            found = table[measure.name].to_numpy()[place : place + 3]
            if seen.site.kind in measure.kinds:
                assert np.array_equal(found, facts[seen.site][measure.key], equal_nan=True)
            else:
                assert np.isnan(found).all()


def test_shares_stay_numbers_from_0_to_1() -> None:
    seen = a_map("encoder", queries=SOURCE, keys=SOURCE)
    table = facts_table({seen.site: head_facts(seen)}, {}, MEASURES)
    for measure in MEASURES:
        if measure.unit == "share" and measure.name in table:
            assert table[measure.name].dtype == np.float64
            assert table[measure.name].dropna().between(0, 1).all()


def test_a_measure_that_applies_nowhere_has_no_column() -> None:
    seen = a_map("cross")
    table = facts_table({seen.site: head_facts(seen)}, {}, MEASURES)
    for measure in MEASURES:
        assert (measure.name in table.columns) == (AttentionKind.CROSS in measure.kinds)


def test_no_sites_give_a_table_without_rows() -> None:
    table = facts_table({}, {}, MEASURES)
    assert list(table.columns) == ["Attention", "Layer", "Head", "Label", "Holds in"]
    assert len(table) == 0


def test_a_site_without_a_measure_it_should_have_is_refused() -> None:
    seen = a_map()
    with pytest.raises(ValueError, match=r"facts of cross\.1 lack entropy"):
        facts_table({seen.site: {}}, {}, MEASURES)


def test_labels_of_another_number_of_heads_are_refused() -> None:
    seen = a_map()
    with pytest.raises(ValueError, match=r"cross\.1 must be of the same number of heads.*2, 3"):
        facts_table({seen.site: head_facts(seen)}, {seen.site: (None, None)}, MEASURES)
