import itertools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.explain.facts import facts_of, head_facts
from model.explain.head_numbers import head_numbers, resting, written
from model.explain.head_rows import MIN_ROWS
from model.explain.label_rules import MIN_SENTENCES, RULE, RULES
from model.explain.labels import NO_LABEL, Finding, HeadValues, Label, opening_heads, survey
from model.explain.labels_file import read_labels
from model.explain.measures import MEASURES, Measure, measures
from model.explain.source_measures import on_sources
from model.trace.attention_map import AttentionKind, AttentionMap, BoolArray, Site, Tokens
from model.trace.trace import Trace
from model.translate.translator import load

SHIPPED = Path(__file__).parents[3] / "checkpoints" / "en-de"

ENCODER, DECODER, CROSS, MODULE = (Site(kind, 0) for kind in AttentionKind)
MEASURE = {measure.key: measure for measure in MEASURES}

Array = np.ndarray
Head = Callable[[int, int], Array]
"""Scores of one head, (query, key), for so many queries and keys."""


def words(count: int, *, start: str = "", end: str = "") -> Tokens:
    pieces = [start] * bool(start) + [f"▁word{i}" for i in range(count)] + [end] * bool(end)
    return Tokens(tuple(pieces), tuple(range(len(pieces))))


def a_map(
    weights: Array,
    site: Site = ENCODER,
    *,
    queries: Tokens | None = None,
    keys: Tokens | None = None,
    allowed: BoolArray | None = None,
) -> AttentionMap:
    """A map of the weights, (query, key) for one head or (head, query, key)."""
    full = np.asarray(weights, dtype=np.float32).reshape(-1, *np.shape(weights)[-2:])
    if allowed is None:
        allowed = np.ones(full.shape[1:], dtype=bool)
    return AttentionMap(
        site,
        weights=full,
        allowed=allowed,
        queries=queries or words(full.shape[1]),
        keys=keys or words(full.shape[2]),
    )


def causal(size: int) -> BoolArray:
    return np.tril(np.ones((size, size), dtype=bool))


def even(allowed: Array) -> Array:
    return allowed / np.maximum(allowed.sum(axis=-1, keepdims=True), 1)


def fact(key: str, seen: AttentionMap) -> float:
    return float(head_facts(seen)[key][0])


def by_the_definition(seen: AttentionMap, head: int) -> dict[str, float]:
    """The measures of one head, written out cell by cell."""
    weights = seen.weights[head].astype(float)
    allowed = seen.allowed[head] if seen.allowed.ndim == 3 else seen.allowed
    n_queries, n_keys = weights.shape
    kind = seen.site.kind
    rows: dict[str, list[float]] = {measure.key: [] for measure in MEASURES}
    pairs = []
    for q in range(n_queries):
        choices = int(allowed[q].sum())
        if choices == 0:
            continue
        entropy = -sum(w * math.log2(w) for w in weights[q] if w > 0)
        rows["entropy"].append(entropy)
        if n_queries == n_keys:
            rows["distance"].append(sum(weights[q, k] * abs(q - k) for k in range(n_keys)))
        pairs += [(q, k, weights[q, k]) for k in range(n_keys)]
        if choices < 2:
            continue
        rows["entropy_share"].append(entropy / math.log2(choices))
        for key, k in (("previous", q - 1), ("same", q), ("next", q + 1)):
            if n_queries == n_keys and 0 <= k < n_keys and allowed[q, k]:
                rows[key].append(weights[q, k])
        for key, wanted in (("start", "<s>"), ("end", "</s>"), ("punctuation", ".")):
            chosen = [k for k in range(n_keys) if seen.keys.tokens[k] == wanted and allowed[q, k]]
            if chosen:
                rows[key].append(sum(weights[q, k] for k in chosen))
    for key in ("previous", "same", "next", "start", "end", "punctuation"):
        if len(rows[key]) < MIN_ROWS * n_queries:
            rows[key] = []
    found = {key: float(np.mean(each)) if each else math.nan for key, each in rows.items()}
    found["diagonal"] = weighted_correlation(pairs)
    live = allowed.any(axis=-1)
    if min(live.sum(), n_keys) > 1:
        overall = weights[live].mean(axis=0)
        told = -sum(p * math.log2(p) for p in overall if p > 0) - found["entropy"]
        found["pairing"] = told / math.log2(min(live.sum(), n_keys))
    return {key: value if kind in MEASURE[key].kinds else math.nan for key, value in found.items()}


def weighted_correlation(pairs: Sequence[tuple[float, float, float]]) -> float:
    if not pairs:
        return math.nan
    q, k, w = np.array(pairs).T
    w = w / w.sum()
    q, k = q - (w * q).sum(), k - (w * k).sum()
    spread = (w * q * q).sum() * (w * k * k).sum()
    return float((w * q * k).sum() / math.sqrt(spread)) if spread > 1e-9 else math.nan


@given(st.data())
def test_every_measure_is_what_its_definition_says(data: st.DataObject) -> None:
    site = data.draw(st.sampled_from([ENCODER, DECODER, CROSS, MODULE]))
    n_queries = data.draw(st.integers(1, 7))
    n_keys = data.draw(st.integers(1, 7)) if site in (CROSS, MODULE) else n_queries
    per_head = data.draw(st.booleans())
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    shape = (2, n_queries, n_keys)
    allowed = random.random(shape if per_head else shape[1:]) < 0.7
    weights = np.where(allowed, random.exponential(size=shape) ** 4 + 1e-4, 0)
    weights /= np.maximum(weights.sum(axis=-1, keepdims=True), 1e-30)
    pieces = random.choice(["▁a", ".", "<s>", "</s>"], size=n_keys).tolist()
    keys = Tokens(tuple(pieces), tuple(range(n_keys)))
    seen = a_map(weights, site, keys=keys, allowed=allowed)
    facts = head_facts(seen)
    for head in range(2):
        expected = by_the_definition(seen, head)
        for key, value in expected.items():
            np.testing.assert_allclose(facts[key][head], value, atol=2e-6, err_msg=key)


def test_long_traces_have_the_same_facts_as_short_ones_cut_from_them() -> None:
    random = np.random.default_rng(3)
    weights = random.exponential(size=(5, 400, 400)) ** 3
    weights /= weights.sum(axis=-1, keepdims=True)
    together = head_facts(a_map(weights))
    for head in range(5):
        alone = head_facts(a_map(weights[head]))
        for key, values in alone.items():
            np.testing.assert_allclose(together[key][head], values[0], rtol=1e-12, err_msg=key)


def test_entropies_of_long_rows_are_exact_to_a_millionth_of_a_bit() -> None:
    weights = np.random.default_rng(5).exponential(size=(1, 3, 512)) ** 2
    weights = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
    exact = weights.astype(np.float64)
    exact /= exact.sum(axis=-1, keepdims=True)
    entropy = -(exact * np.log2(exact)).sum(axis=-1).mean()
    assert abs(fact("entropy", a_map(weights, CROSS)) - entropy) < 1e-6


def test_a_row_on_one_token_has_no_entropy_and_an_even_row_all_of_it() -> None:
    one = a_map(np.eye(8))
    assert (fact("entropy", one), fact("entropy_share", one)) == (0, 0)
    assert fact("entropy", a_map(np.full((8, 8), 1 / 8))) == pytest.approx(3)
    assert fact("entropy_share", a_map(even(causal(8)), DECODER, allowed=causal(8))) == (
        pytest.approx(1)
    )


def test_rows_without_a_choice_say_nothing_of_their_head() -> None:
    # The first row of a decoder can look at <s> alone.
    target = words(2, start="<s>")
    weights = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    seen = a_map(np.array(weights), DECODER, keys=target, allowed=causal(3))
    assert fact("start", seen) == 0
    alone = a_map(np.ones((1, 1)), DECODER, keys=words(0, start="<s>"))
    facts = head_facts(alone)
    assert facts["entropy"] == 0
    for key in ("entropy_share", "previous", "same", "start", "diagonal"):
        assert np.isnan(facts[key]).all(), key


def test_rows_that_attended_to_nothing_count_nowhere() -> None:
    weights, allowed = even(np.ones((4, 4))), np.ones((4, 4), dtype=bool)
    weights[2], allowed[2] = 0, False
    facts = head_facts(a_map(weights, allowed=allowed))
    assert facts["entropy"] == pytest.approx(2)
    assert facts["same"] == pytest.approx(0.25)
    nothing = head_facts(a_map(np.zeros((3, 3)), allowed=np.zeros((3, 3), dtype=bool)))
    assert all(np.isnan(values).all() for values in nothing.values())


def test_rows_cut_by_hiding_tokens_keep_their_shares_and_are_scaled_for_the_rest() -> None:
    weights = even(np.ones((4, 4)))
    whole, cut = head_facts(a_map(weights)), head_facts(a_map(weights / 2))
    assert cut["same"] == pytest.approx(whole["same"] / 2)
    for key in ("entropy", "entropy_share", "distance"):
        assert cut[key] == pytest.approx(whole[key])


def test_the_diagonal_tells_order_from_its_reverse_and_from_none() -> None:
    assert fact("diagonal", a_map(np.eye(6), CROSS)) == pytest.approx(1)
    assert fact("diagonal", a_map(np.eye(6)[::-1], CROSS)) == pytest.approx(-1)
    assert fact("diagonal", a_map(even(np.ones((6, 4))), CROSS)) == pytest.approx(0, abs=1e-6)
    one_column = np.zeros((300, 500))
    one_column[:, 499] = 1
    assert np.isnan(fact("diagonal", a_map(one_column, CROSS)))


def test_pairing_is_full_where_every_row_has_a_token_of_its_own_in_whatever_order() -> None:
    shuffled = np.eye(6)[[3, 0, 5, 1, 4, 2]]
    assert fact("pairing", a_map(shuffled, CROSS)) == pytest.approx(1)
    assert fact("pairing", a_map(shuffled[:, [0] * 6] / 6 + 1 / 6, CROSS)) < 0.1
    one_column = np.zeros((6, 6))
    one_column[:, 2] = 1
    assert fact("pairing", a_map(one_column, CROSS)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("shape", [(3, 0, 0), (3, 0, 5), (3, 5, 0), (0, 4, 4)])
def test_maps_of_which_nothing_is_left_have_no_facts(shape: tuple[int, int, int]) -> None:
    facts = head_facts(
        AttentionMap(
            CROSS,
            weights=np.zeros(shape, dtype=np.float32),
            allowed=np.ones(shape[1:], dtype=bool),
            queries=words(shape[1]),
            keys=words(shape[2]),
        )
    )
    assert all(values.shape == (shape[0],) and np.isnan(values).all() for values in facts.values())


def test_measuring_changes_nothing_of_the_map() -> None:
    seen = a_map(even(np.ones((5, 5))))
    before = seen.weights.copy()
    head_facts(seen)
    assert np.array_equal(seen.weights, before)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.key)
def test_every_measure_is_explained_in_one_sentence(measure: Measure) -> None:
    assert measure.unit in {"bits", "share", "tokens", "correlation"}
    assert measure.meaning.endswith(".")
    assert measure.meaning.count(". ") == 0
    assert measure.kinds


# Labels: heads as score functions over sentences of several lengths.


def softmax(scores: Array, allowed: BoolArray) -> Array:
    powers = np.where(allowed, np.exp(scores), 0)
    return powers / np.maximum(powers.sum(axis=-1, keepdims=True), 1e-30)


def offset(distance: int, strength: float = 4.0) -> Head:
    return lambda n_queries, n_keys: strength * np.eye(n_queries, n_keys, distance)


def column(position: int, strength: float = 4.0) -> Head:
    def scores(n_queries: int, n_keys: int) -> Array:
        found = np.zeros((n_queries, n_keys))
        found[:, position] = strength
        return found

    return scores


def nothing(n_queries: int, n_keys: int) -> Array:
    return np.zeros((n_queries, n_keys))


def steep(n_queries: int, n_keys: int) -> Array:
    """Neither even nor on any one place: the second key more, the third most."""
    return np.tile([1.0, 2.0, 2.5, *[0.0] * (n_keys - 3)], (n_queries, 1))


def wandering(n_queries: int, n_keys: int) -> Array:
    """Each row at one token, by no rule of place."""
    return 50.0 * np.eye(n_keys)[np.random.default_rng(1).permutation(n_keys)][:n_queries]


def a_trace(site: Site, heads: Sequence[Head], length: int) -> Trace:
    source = words(length, end="</s>")
    target = words(length + 1, start="<s>")
    queries = source if site.kind is AttentionKind.ENCODER else target
    keys = target if site.kind is AttentionKind.DECODER else source
    allowed = np.ones((len(queries), len(keys)), dtype=bool)
    if site.kind is AttentionKind.DECODER:
        allowed = np.tril(allowed)
    weights = np.stack([softmax(head(*allowed.shape), allowed) for head in heads])
    return Trace(
        source=source,
        target=target,
        predictions=Tokens(),
        text="",
        source_text="",
        maps={site: a_map(weights, site, queries=queries, keys=keys, allowed=allowed)},
    )


LENGTHS = (9, 10, 12, 14, 20)


def label_of(site: Site, head: Head, lengths: Sequence[int] = LENGTHS) -> str | None:
    """What the head earns; the source of each token is the one at the same position."""
    traces = [a_trace(site, [head], length) for length in lengths]
    sources = [{row: row for row in range(length)} for length in lengths]
    (label,) = labels(traces, sources)[site]
    return label.text if label and label.earned else None


def labels(
    traces: Sequence[Trace], sources: Sequence[Mapping[int, int]] = ()
) -> dict[Site, list[Label | None]]:
    """What each head is called were there a hundred times as many sentences of the same kind."""
    recorded = zip(traces, sources or [{}] * len(traces), strict=True)
    return {
        site: [finding(values).in_words for values in heads]
        for site, heads in survey(recorded).items()
    }


def finding(values: HeadValues, times: int = MIN_SENTENCES // 5) -> Finding:
    return Finding.of({key: np.tile(each, times) for key, each in values.items()})


def in_order(n_queries: int, n_keys: int) -> Array:
    """Each row looks at one token, later rows at later ones, in no relation to their sources."""
    random = np.random.default_rng(n_queries)
    return 20.0 * np.eye(n_keys)[np.sort(random.integers(n_keys, size=n_queries))]


@pytest.mark.parametrize(
    ("site", "head", "text"),
    [
        (ENCODER, offset(-1), "looks at the previous token"),
        (DECODER, offset(-1), "looks at the previous token"),
        (ENCODER, offset(0), "looks at the same token"),
        (DECODER, offset(0), "looks at the same token"),
        (ENCODER, offset(1), "looks at the next token"),
        (DECODER, column(0), "looks at the sentence start"),
        (ENCODER, column(-1), "looks at the sentence end"),
        (CROSS, column(-1), "looks at the sentence end"),
        (CROSS, offset(0, 6.0), "pairs the predicted token with its source"),
        (CROSS, offset(-1, 6.0), "pairs the token just read with its source"),
        (ENCODER, nothing, "spreads its weight almost evenly"),
        (DECODER, nothing, "spreads its weight almost evenly"),
        (CROSS, nothing, "spreads its weight almost evenly"),
    ],
)
def test_a_head_that_does_one_thing_is_called_so(site: Site, head: Head, text: str) -> None:
    assert label_of(site, head) == text


@pytest.mark.parametrize("site", [ENCODER, DECODER, CROSS])
def test_a_head_that_does_nothing_much_has_no_label(site: Site) -> None:
    assert label_of(site, steep) is None


@pytest.mark.parametrize(
    ("site", "head"),
    [
        (ENCODER, offset(-1, 1.8)),
        (DECODER, offset(-1, 1.0)),
        (ENCODER, offset(0, 1.8)),
        (ENCODER, offset(1, 1.8)),
        (DECODER, column(0, 1.2)),
        (ENCODER, column(-1, 2.0)),
        (CROSS, column(-1, 2.0)),
        (CROSS, offset(0, 2.6)),
    ],
)
def test_less_than_half_of_the_weight_earns_nothing(site: Site, head: Head) -> None:
    seen = label_of(site, head)
    assert seen in (None, "spreads its weight almost evenly")


def test_a_head_whose_rows_run_against_the_order_of_the_source_earns_nothing() -> None:
    def backwards(n_queries: int, n_keys: int) -> Array:
        return 6.0 * np.eye(n_queries, n_keys)[::-1]

    assert label_of(CROSS, backwards) is None


def test_a_head_that_runs_ahead_and_then_rests_on_the_end_pairs_nothing() -> None:
    def ahead(n_queries: int, n_keys: int) -> Array:
        found = np.full((n_queries, n_keys), -6.0)
        found[np.arange(n_queries), np.minimum(3 * np.arange(n_queries), n_keys - 1)] = 0
        return found

    seen = a_trace(CROSS, [ahead], 12).maps[CROSS]
    assert fact("diagonal", seen) > 0.5
    assert "pairs" not in (label_of(CROSS, ahead) or "")


def test_rows_that_each_look_at_one_token_by_chance_pair_nothing() -> None:
    random = np.random.default_rng(5)
    shapes = [a_trace(CROSS, [nothing], length).maps[CROSS].weights.shape for length in LENGTHS]
    looked_at = [random.integers(n_keys, size=(60, n_queries)) for _, n_queries, n_keys in shapes]
    traces = [
        a_trace(
            CROSS,
            [lambda n_queries, n_keys, rows=rows: 20.0 * np.eye(n_keys)[rows] for rows in heads],
            length,
        )
        for heads, length in zip(looked_at, LENGTHS, strict=True)
    ]
    sources = [{row: row for row in range(length)} for length in LENGTHS]
    found = labels(traces, sources)[CROSS]
    # Their shape alone is that of pairs: as much mutual information as the label once asked for.
    pairing = np.mean([head_facts(each.maps[CROSS])["pairing"] for each in traces], axis=0)
    assert np.mean(pairing >= 0.65) > 0.9
    assert not any(label.earned for label in found if label)
    telling = [label.telling for label in found if label]
    # Of two measures the larger is taken, so that chance lies a little above 0.
    assert len(telling) == 60
    assert abs(np.mean(telling)) < 0.1


def test_running_through_the_source_in_order_pairs_nothing() -> None:
    seen = a_trace(CROSS, [in_order], 12).maps[CROSS]
    assert fact("pairing", seen) >= 0.65
    assert fact("diagonal", seen) >= 0.5
    assert label_of(CROSS, in_order) is None


def test_the_weight_on_sources_is_held_against_every_order_of_the_rows() -> None:
    weights = np.random.default_rng(1).dirichlet(np.ones(6), size=(2, 5)).astype(np.float32)
    seen = a_map(weights, CROSS)
    sources = {0: 3, 1: 1, 2: 1, 4: 5}
    found = on_sources(seen, sources)
    for head in range(2):
        orders = list(itertools.permutations(sources))
        by_order = [
            np.mean(
                [
                    weights[head, row, sources[place]]
                    for row, place in zip(order, sources, strict=True)
                ]
            )
            for order in orders
        ]
        own = np.mean([weights[head, row, source] for row, source in sources.items()])
        assert found["predicted_source"][head] == pytest.approx(own - np.mean(by_order), abs=1e-6)
    # One row later there are three tokens left, too few to tell.
    assert np.isnan(found["read_source"]).all()
    assert all(np.isnan(values).all() for values in on_sources(a_map(weights), sources).values())


def test_without_sources_nothing_is_said_of_them() -> None:
    traces = [a_trace(CROSS, [offset(0, 6.0)], length) for length in LENGTHS]
    (label,) = labels(traces)[CROSS]
    assert label is not None
    assert not label.earned
    assert label.text.startswith("mostly one token per row, ")


@pytest.mark.parametrize(
    ("site", "head", "text"),
    [
        (ENCODER, offset(-1, 1.8), "often the previous token, 33%"),
        (CROSS, column(-1, 2.0), "often the sentence end, 37%"),
        (CROSS, offset(0, 2.6), "often the source of the predicted token, 44%"),
        (ENCODER, steep, "no single place, 78% of the greatest entropy"),
        (ENCODER, wandering, "mostly one token per row, 0% of the greatest entropy"),
    ],
)
def test_a_head_below_every_threshold_has_a_line_with_its_number(
    site: Site, head: Head, text: str
) -> None:
    sources = [{row: row for row in range(length)} for length in LENGTHS]
    (label,) = labels([a_trace(site, [head], length) for length in LENGTHS], sources)[site]
    assert label is not None
    assert (label.text, label.reason, label.earned) == (text, NO_LABEL, False)
    place = text.removeprefix("often ").partition(",")[0]
    named = RULE[label.measure].place
    assert named == place if "often" in text else label.measure == "entropy_share"


def test_looking_at_punctuation_is_told_where_rows_have_some_to_look_at() -> None:
    def traces(site: Site, position: int) -> list[Trace]:
        found = []
        for length in (9, 10, 12, 14, 20):
            trace = a_trace(site, [column(position, 5.0)], length)
            axis = trace.source if site == ENCODER else trace.target
            pieces = list(axis.tokens)
            pieces[position] = "."
            marked = Tokens(tuple(pieces), axis.ids)
            seen = trace.maps[site]
            found.append(
                Trace(
                    source=marked if site == ENCODER else trace.source,
                    target=marked if site == DECODER else trace.target,
                    predictions=Tokens(),
                    text="",
                    source_text="",
                    maps={
                        site: a_map(
                            seen.weights, site, queries=marked, keys=marked, allowed=seen.allowed
                        )
                    },
                )
            )
        return found

    for site, position in ((ENCODER, 2), (ENCODER, -2), (DECODER, 2)):
        label = labels(traces(site, position))[site][0]
        assert label is not None
        assert label.text == "looks at punctuation"
    # At the end of what a decoder reads, only the last row can look at it.
    label = labels(traces(DECODER, -1))[DECODER][0]
    assert label is None or "punctuation" not in label.text


def test_heads_are_judged_one_by_one() -> None:
    traces = [a_trace(ENCODER, [offset(-1), steep, offset(1)], n) for n in range(8, 14)]
    assert [label.text for label in labels(traces)[ENCODER] if label and label.earned] == [
        "looks at the previous token",
        "looks at the next token",
    ]


def test_too_few_sentences_earn_nothing() -> None:
    rule = next(rule for rule in RULES if rule.measure == "previous")
    assert not rule.is_earned(np.full(MIN_SENTENCES - 1, 0.9))
    assert rule.is_earned(np.full(MIN_SENTENCES, 0.9))
    assert label_of(ENCODER, offset(-1), [10, 11, 12, 13]) is None
    assert label_of(ENCODER, offset(-1), [10, 11, 12, 13, 20]) == "looks at the previous token"


@pytest.mark.parametrize("head", [offset(-1), offset(0), column(0), column(-1), nothing])
@pytest.mark.parametrize("site", [ENCODER, DECODER, CROSS])
def test_short_sentences_tell_nothing(site: Site, head: Head) -> None:
    assert label_of(site, head, [0, 1, 2, 2, 2, 2, 2, 2]) is None


def test_one_sentence_in_ten_may_differ_and_one_in_five_is_too_near_the_threshold() -> None:
    def mixed(differing: int) -> str | None:
        traces = [a_trace(ENCODER, [offset(-1, 6.0)], 10 + n) for n in range(10 - differing)]
        traces += [a_trace(ENCODER, [steep], 10 + n) for n in range(differing)]
        label = labels(traces)[ENCODER][0]
        return label.text if label and label.earned else None

    assert mixed(1) == "looks at the previous token"
    assert mixed(2) is None


def test_a_label_gives_the_numbers_that_earned_it() -> None:
    label = labels([a_trace(ENCODER, [offset(-1)], n) for n in range(10, 15)])[ENCODER][0]
    assert label is not None
    assert (label.text, label.share, label.reason) == (
        "looks at the previous token",
        "100% of 500 sentences (99–100%)",
        "On average, 82% of its weight goes there; in 100% of 500 sentences (99–100%), at least "
        "half does.",
    )


def test_no_traces_give_no_labels() -> None:
    assert survey([]) == {}


def test_traces_of_different_models_are_refused() -> None:
    traces = [a_trace(ENCODER, [nothing] * count, 8) for count in (2, 3)]
    with pytest.raises(ValueError, match=r"encoder\.0 has 2 heads in one trace and 3 in another"):
        survey((trace, {}) for trace in traces)


@pytest.mark.slow
def test_the_shipped_model_has_heads_that_earn_a_label_and_heads_that_do_not() -> None:
    translator = load(SHIPPED, device="cpu")
    examples = json.loads((SHIPPED / "examples.json").read_text(encoding="utf-8"))
    traces = [translator.trace(each["source"], each["translation"]) for each in examples]
    shipped = read_labels(SHIPPED)
    assert shipped is not None
    named = shipped.labels
    every = list(itertools.chain.from_iterable(named.values()))
    assert list(named) == list(traces[0].maps)
    assert all(label is not None for label in every)
    earned = [label.earned for label in every if label]
    # Many heads do several things at once, and no word would be true of them.
    assert 0 < sum(earned) < len(earned)
    # The head that aligns words best by hand-made references; see benchmarks/alignment.py.
    best = named[CROSS][5]
    assert best is not None
    assert best.text == "pairs the token just read with its source"
    assert opening_heads(traces[0].maps, named)[AttentionKind.CROSS] == (0, 5)


# Values in words.


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("entropy", 1.234, "1.23 bits"),
        ("entropy_share", 0.384, "38%"),
        ("distance", 1.44, "1.4 tokens"),
        ("diagonal", -0.001, "0.00"),
        ("diagonal", -0.5, "−0.50"),
        ("previous", 1.0, "100%"),
        ("previous", math.nan, "–"),
    ],
)
def test_a_value_is_written_with_its_unit(key: str, value: float, text: str) -> None:
    assert written(MEASURE[key], value) == text


def test_a_head_is_summed_up_in_one_line_of_numbers() -> None:
    facts = dict.fromkeys(MEASURE, math.nan) | {
        "entropy": 1.2,
        "entropy_share": 0.38,
        "distance": 1.4,
        "previous": 0.61,
        "same": 0.1,
        "end": 0.2,
        "diagonal": 0.9,
        "pairing": 0.7,
    }
    assert head_numbers(AttentionKind.ENCODER, facts) == (
        "1.20 bits (38% of the maximum), 61% of the weight on the previous token, "
        "mean distance 1.4 tokens"
    )
    assert head_numbers(AttentionKind.CROSS, facts) == (
        "1.20 bits (38% of the maximum), 20% of the weight on the sentence end, pairing 70%, "
        "diagonal 0.90"
    )


def test_a_summary_leaves_out_what_does_not_apply() -> None:
    none = dict.fromkeys(MEASURE, math.nan)
    assert head_numbers(AttentionKind.DECODER, none) == "no row to measure"
    assert head_numbers(AttentionKind.DECODER, {"entropy": 0.0}) == "0.00 bits"
    assert head_numbers(AttentionKind.MODULE, {"entropy": 1.0, "diagonal": 0.5}) == (
        "1.00 bits, diagonal 0.50"
    )


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("specials", [False, True])
def test_measures_say_what_they_count(words: bool, specials: bool) -> None:
    found = measures(words=words, specials=specials)
    assert [measure.key for measure in found] == [measure.key for measure in MEASURES]
    texts = [f"{measure.name} {measure.meaning} {measure.unit}" for measure in found]
    counted = " ".join(texts).replace("special tokens", "")
    assert re.search("words" if words else "tokens", counted)
    assert not re.search("token" if words else "word", counted)
    assert f"special tokens {'included' if specials else 'left out'}" in " ".join(texts)
    assert f"special tokens {'left out' if specials else 'included'}" not in " ".join(texts)


def test_pairing_is_full_where_more_rows_than_tokens_share_them_evenly() -> None:
    assert fact("pairing", a_map(np.eye(4)[[2, 0, 3, 1] * 2], CROSS)) == pytest.approx(1)
    meaning = MEASURE["pairing"].meaning
    assert "of its own" not in meaning
    assert "spread evenly over as many tokens as possible" in meaning


@pytest.mark.parametrize(("n_queries", "n_keys"), [(5, 5), (8, 10), (11, 9), (30, 8)])
def test_chance_reaches_as_much_pairing_as_its_meaning_says(n_queries: int, n_keys: int) -> None:
    random = np.random.default_rng(7)
    looked_at = random.integers(n_keys, size=(400, n_queries))
    pairing = head_facts(a_map(np.eye(n_keys)[looked_at], CROSS))["pairing"]
    assert "above 65%" in MEASURE["pairing"].meaning
    assert np.mean(pairing > 0.65) > 0.6


def test_each_kind_opens_with_the_head_that_says_most() -> None:
    even_, one_column = np.full((6, 6), 1 / 6), np.eye(6)[[2] * 6]
    layers = {
        Site(kind, layer): a_map(
            np.stack([even_, one_column, *([np.eye(6)] if layer else [even_])]), Site(kind, layer)
        )
        for kind in (AttentionKind.ENCODER, AttentionKind.CROSS)
        for layer in (0, 1)
    }
    assert opening_heads(layers, {}) == {
        AttentionKind.ENCODER: (1, 2),
        AttentionKind.CROSS: (1, 2),
    }
    named = {
        Site(AttentionKind.ENCODER, 0): (
            Label("looks at the sentence end", "60%.", telling=0.3),
            Label("looks at the next token", "60%.", telling=0.1),
            None,
        ),
        Site(AttentionKind.ENCODER, 1): (
            Label("looks at the previous token", "60%.", telling=0.2),
            Label("often the next token, 43%", NO_LABEL, earned=False, telling=0.9),
        ),
        Site(AttentionKind.CROSS, 0): (
            Label("looks at the sentence end", "90%.", telling=0.0),
            Label("often the sentence end, 30%", NO_LABEL, earned=False, telling=0.2),
        ),
    }
    assert opening_heads(layers, named) == {
        # Not one that rests, and not one without a label, as long as others pair tokens.
        AttentionKind.ENCODER: (1, 0),
        AttentionKind.CROSS: (0, 1),
    }


def test_a_trace_of_which_nothing_is_left_opens_with_its_first_head() -> None:
    nothing = AttentionMap(
        CROSS,
        weights=np.zeros((3, 0, 5), dtype=np.float32),
        allowed=np.ones((0, 5), dtype=bool),
        queries=words(0),
        keys=words(5),
    )
    assert opening_heads({CROSS: nothing}, {}) == {AttentionKind.CROSS: (0, 0)}


def test_heads_that_rest_are_counted_among_those_that_can() -> None:
    # Of three heads one looks at the end, one at punctuation, one at all alike.
    keys = Tokens(("▁a", "▁b", ".", "▁c", "▁d", "▁e", "</s>"), tuple(range(7)))
    rows = np.stack([np.eye(7)[[6] * 7], np.eye(7)[[2] * 7], np.full((7, 7), 1 / 7)])
    site = Site(AttentionKind.ENCODER, 0)
    trace = Trace(
        source=keys,
        target=Tokens(),
        predictions=Tokens(),
        text="",
        source_text="",
        maps={site: a_map(rows, site, queries=keys, keys=keys)},
    )
    assert resting([trace] * 3) == {"start": (0, 0), "end": (1, 3), "punctuation": (1, 3)}


@pytest.mark.parametrize("specials", [True, False])
def test_layers_together_measure_as_each_alone(specials: bool) -> None:
    chance = np.random.default_rng(3)
    own = np.tril(np.ones((5, 5), dtype=bool))
    per_head = np.stack([own, np.ones_like(own)])
    maps = {}
    for kind, shape, masks in (
        (AttentionKind.ENCODER, (2, 7, 7), [np.ones((7, 7), dtype=bool)] * 3),
        # The last two cannot go with the others: another mask, and one of each head.
        (AttentionKind.DECODER, (2, 5, 5), [own, own, np.ones_like(own), per_head]),
        (AttentionKind.CROSS, (2, 5, 7), [np.ones((5, 7), dtype=bool)] * 2),
    ):
        for layer, allowed in enumerate(masks):
            weights = even(np.broadcast_to(allowed, shape) * chance.random(shape))
            if not specials:
                weights[..., 0] = 0
            site = Site(kind, layer)
            maps[site] = a_map(weights, site, keys=words(shape[2] - 1, end="."), allowed=allowed)
    together = facts_of(maps)
    assert list(together) == list(maps)
    for site, seen in maps.items():
        alone = head_facts(seen)
        assert together[site].keys() == alone.keys()
        for key, values in alone.items():
            np.testing.assert_array_equal(together[site][key], values, err_msg=f"{site} {key}")
