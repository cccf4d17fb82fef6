from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.explain.reading import (
    FIRST_ROW_NOTE,
    FIRST_ROW_OF_DECODER_NOTE,
    HIDDEN_NOTE,
    LAST_ROW_OF_CROSS_NOTE,
    NO_WORDS_NOTE,
    PREDICTED_NOTE,
    RENORMALISED_NOTE,
    WORDS_NOTE,
    Reading,
    alignment_note,
    read,
)
from model.trace.attention_map import NO_ID, AttentionKind, AttentionMap, FloatArray, Site, Tokens
from model.trace.token_schemes import special
from model.trace.trace import Trace
from viz.draw.labels import CONTINUED, axis_texts

ENCODER, DECODER, CROSS, MODULE = (Site(kind, 0) for kind in AttentionKind)
SPECIAL_IDS = {"<pad>": 0, "<unk>": 1, "<s>": 2, "</s>": 3}
D_K = 5

SOURCE = "▁The ▁sli ce ▁fell . </s>"
OUTPUT = "▁Sch ei be ▁fiel . </s>"

READINGS = st.builds(Reading, st.booleans(), st.booleans(), st.booleans(), st.booleans())
PIECES = st.sampled_from(
    ["▁", "▁cat", "ze", ".", ",", "▁(", ")", "'", "t", "▁a-b", "<unk>", "<0xE2>", "<0x82>"]
)
TEXTS = st.lists(PIECES, max_size=9).map(" ".join)


def tokens(text: str) -> Tokens:
    pieces = tuple(text.split())
    return Tokens(pieces, tuple(SPECIAL_IDS.get(piece, 10 + i) for i, piece in enumerate(pieces)))


def attention(
    site: Site, queries: Tokens, keys: Tokens, allowed: np.ndarray | None = None, seed: int = 1
) -> AttentionMap:
    shape = (3, len(queries), len(keys))
    random = np.random.default_rng(seed)
    if allowed is None:
        allowed = np.ones(shape[1:], dtype=bool)
        if site.kind is AttentionKind.DECODER:
            allowed = np.tril(allowed)
    weights = np.where(allowed, random.exponential(size=shape) ** 3, 0)
    weights /= np.maximum(weights.sum(axis=-1, keepdims=True), 1e-30)

    def numbers(*size: int) -> FloatArray:
        return random.normal(size=size).astype(np.float32)

    return AttentionMap(
        site,
        weights=weights.astype(np.float32),
        allowed=allowed,
        queries=queries,
        keys=keys,
        scores=numbers(*shape),
        q=numbers(3, len(queries), D_K),
        k=numbers(3, len(keys), D_K),
        v=numbers(3, len(keys), D_K),
    )


def a_trace(source: str = SOURCE, output: str = OUTPUT, *, predicts: bool = True) -> Trace:
    read_by_encoder, predictions = tokens(source), tokens(output)
    target = Tokens(("<s>",), (2,)) + predictions[: len(predictions) - 1]
    if not len(predictions):
        target = Tokens()
    return Trace(
        source=read_by_encoder,
        target=target,
        predictions=predictions if predicts else Tokens(),
        text="",
        source_text="",
        maps={
            ENCODER: attention(ENCODER, read_by_encoder, read_by_encoder),
            DECODER: attention(DECODER, target, target),
            CROSS: attention(CROSS, target, read_by_encoder),
            MODULE: attention(MODULE, Tokens.unnamed(range(4)), Tokens.unnamed(range(2))),
        },
    )


def with_map(trace: Trace, seen: AttentionMap) -> Trace:
    return replace(trace, maps={**trace.maps, seen.site: seen})


def words_of(text: str) -> list[str]:
    return axis_texts(read(a_trace(source=text), Reading(words=True)).source)


def test_the_default_gives_the_very_maps_that_were_recorded() -> None:
    trace = a_trace()
    seen = read(trace)
    assert all(seen.maps[site] is trace.maps[site] for site in trace.maps)
    assert list(seen.maps) == list(trace.maps)
    assert (seen.source, seen.target, seen.notes) == (trace.source, trace.target, ())
    assert seen.beside == {
        AttentionKind.DECODER: trace.predictions,
        AttentionKind.CROSS: trace.predictions,
    }


def test_nothing_stands_beside_rows_that_predict_nothing() -> None:
    assert read(a_trace(predicts=False)).beside == {}


@given(READINGS)
def test_a_module_of_unknown_role_is_shown_as_it_is(reading: Reading) -> None:
    trace = a_trace()
    assert read(trace, reading).maps[MODULE] is trace.maps[MODULE]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("▁The ▁sli ce ▁fell . </s>", ["The", "slice", "fell", ".", "</s>"]),
        ("▁don ' t ▁go ! ? </s>", ["don't", "go", "!", "?", "</s>"]),
        ("▁a ▁well - known ▁man", ["a", "well-known", "man"]),
        ("▁( ever ) ,", ["(", "ever", ")", ","]),
        ('▁ " a b " ▁c', ['"', "ab", '"', "c"]),
        ("▁ s li ce", ["slice"]),
        ("▁... ▁- -", ["...", "-", "-"]),
        ("▁St. ▁x!y z", ["St.", "x!yz"]),
        ("▁ <0xF0> <0x9F> <0x98> <0x80> .", ["😀", "."]),
        ("▁a <0xE2> <0x82> <0xAC> <0xFF> b", ["a€<0xFF>b"]),
        ("▁a <unk> b ▁<unk>", ["a<unk>b", "<unk>"]),
        ("<s> <pad> x y ▁z </s> </s>", ["<s>", "<pad>", "xy", "z", "</s>", "</s>"]),
        ("▁ ▁a", ["␣", "a"]),
        ("▁<b> x </b>", ["<b>x</b>"]),
        ("▁dogs ' ▁5 %", ["dogs", "'", "5", "%"]),
    ],
)
def test_words_are_what_spaces_part_with_punctuation_set_apart(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_a_word_of_one_token_keeps_its_spelling_and_its_id() -> None:
    trace = a_trace("▁The ▁sli ce ( x ) </s>")
    words = read(trace, Reading(words=True)).source
    assert words.tokens == ("▁The", "slice(x", ")", "</s>")
    assert words.ids == (trace.source.ids[0], NO_ID, trace.source.ids[5], 3)


@given(TEXTS)
def test_no_whole_word_reads_as_the_rest_of_another(text: str) -> None:
    trace = a_trace(source="▁x " + text)
    assert not any(
        label.startswith(CONTINUED) for label in axis_texts(read(trace, Reading(words=True)).source)
    )


@pytest.mark.parametrize(
    ("trace", "reading", "notes"),
    [
        # Tokens that do not say where words start stay apart.
        (a_trace("il gatto </s>", "die katze </s>"), Reading(words=True), (NO_WORDS_NOTE,)),
        (a_trace(), Reading(renormalise=True), ()),
        (a_trace(predicts=False), Reading(predicted=True), ()),
    ],
)
def test_a_reading_does_nothing_where_there_is_nothing_to_do(
    trace: Trace, reading: Reading, notes: tuple[str, ...]
) -> None:
    seen = read(trace, reading)
    assert seen.maps[CROSS] is trace.maps[CROSS]
    assert seen.notes == notes


def test_keys_are_summed_and_queries_averaged_over_a_word() -> None:
    trace = a_trace()
    seen = read(trace, Reading(words=True)).maps[CROSS]
    was = trace.maps[CROSS].weights
    # Rows <s> | Sch ei be | fiel | . and columns The | sli ce | fell | . | </s>.
    assert seen.weights.shape == (3, 4, 5)
    expected = was[:, 1:4, 1:3].sum(axis=-1).mean(axis=-1)
    np.testing.assert_allclose(seen.weights[:, 1, 1], expected, atol=1e-6)
    np.testing.assert_allclose(seen.weights[:, 2, 0], was[:, 4, 0], atol=1e-6)


def test_words_have_no_scores_or_vectors() -> None:
    grouped = read(a_trace(), Reading(words=True)).maps[CROSS]
    assert (grouped.scores, grouped.q, grouped.k, grouped.v) == (None,) * 4


def test_maps_whose_words_are_single_tokens_keep_their_scores_and_vectors() -> None:
    trace = a_trace("▁a ▁b </s>", "▁c ▁d . </s>")
    seen = read(trace, Reading(words=True))
    assert all(seen.maps[site] is trace.maps[site] for site in trace.maps)


def test_a_pair_of_words_is_allowed_where_any_of_its_tokens_are() -> None:
    trace = a_trace()
    seen = read(trace, Reading(words=True)).maps[DECODER]
    assert np.array_equal(seen.allowed, np.tril(np.ones((4, 4), dtype=bool)))
    assert (seen.weights[:, ~seen.allowed] == 0).all()


def test_rows_that_attended_to_nothing_take_no_part_in_a_word_s_mean() -> None:
    trace = a_trace()
    allowed = np.ones((3, 6, 6), dtype=bool)
    allowed[:, 2] = False
    allowed[1, 1:4] = False
    holed = attention(CROSS, trace.target, trace.source, allowed)
    seen = read(with_map(trace, holed), Reading(words=True)).maps[CROSS]
    np.testing.assert_allclose(seen.weights.sum(axis=-1)[[0, 2]], 1, atol=1e-6)
    assert not seen.weights[1, 1].any()
    assert seen.empty_queries.tolist() == [
        [False] * 4,
        [False, True, False, False],
        [False] * 4,
    ]
    both = holed.weights[0, [1, 3]].mean(axis=0)
    np.testing.assert_allclose(seen.weights[0, 1, 0], both[0], atol=1e-6)


def test_keys_that_a_foreign_module_appends_stand_alone() -> None:
    trace = a_trace()
    keys = trace.source + Tokens.unnamed(["[bias]"])
    longer = attention(ENCODER, trace.source, keys)
    seen = read(with_map(trace, longer), Reading(words=True, specials=False)).maps[ENCODER]
    assert axis_texts(seen.queries) == ["The", "slice", "fell", "."]
    assert axis_texts(seen.keys) == ["The", "slice", "fell", ".", "[bias]"]


def test_beside_a_word_stands_the_word_that_follows_its_last_token() -> None:
    seen = read(a_trace(), Reading(words=True))
    assert axis_texts(seen.target) == ["<s>", "Scheibe", "fiel", "."]
    assert axis_texts(seen.beside[AttentionKind.DECODER]) == ["Scheibe", "fiel", ".", "</s>"]
    assert seen.beside[AttentionKind.CROSS] == seen.beside[AttentionKind.DECODER]


def test_hidden_special_tokens_lose_their_rows_and_columns_and_all_that_goes_with_them() -> None:
    trace = a_trace()
    seen = read(trace, Reading(specials=False))
    was, cut = trace.maps[CROSS], seen.maps[CROSS]
    kept = {
        "weights": np.s_[:, 1:, :5],
        "allowed": np.s_[1:, :5],
        "scores": np.s_[:, 1:, :5],
        "q": np.s_[:, 1:],
        "k": np.s_[:, :5],
        "v": np.s_[:, :5],
    }
    for name, part in kept.items():
        assert np.array_equal(getattr(cut, name), getattr(was, name)[part]), name
    assert (cut.queries, cut.keys) == (trace.target[1:], trace.source[:5])
    assert (seen.target, seen.source) == (trace.target[1:], trace.source[:5])
    assert seen.beside[AttentionKind.CROSS] == trace.predictions[1:]


def test_an_unknown_word_is_no_special_token_and_stays() -> None:
    seen = read(a_trace("<unk> ▁a <pad> </s>"), Reading(specials=False))
    assert seen.source.tokens == ("<unk>", "▁a")


def test_renormalised_rows_add_up_to_1_unless_nothing_is_left() -> None:
    trace = a_trace()
    allowed = np.ones((6, 6), dtype=bool)
    allowed[3, :5] = False
    holed = attention(CROSS, trace.target, trace.source, allowed)
    reading = Reading(specials=False, renormalise=True)
    seen = read(with_map(trace, holed), reading).maps[CROSS]
    sums = seen.weights.sum(axis=-1)
    np.testing.assert_allclose(sums[:, [0, 1, 3, 4]], 1, atol=1e-6)
    assert not sums[:, 2].any()


def test_rows_can_be_named_by_what_they_predict_with_what_they_read_beside_them() -> None:
    trace = a_trace()
    seen = read(trace, Reading(predicted=True))
    assert seen.maps[CROSS].queries == trace.predictions
    assert seen.beside[AttentionKind.CROSS] == trace.target
    assert seen.beside[AttentionKind.DECODER] == trace.predictions
    assert np.shares_memory(seen.maps[CROSS].weights, trace.maps[CROSS].weights)
    assert seen.maps[DECODER] is trace.maps[DECODER]


def test_predicted_words_are_rows_of_their_own_first_to_last_token() -> None:
    trace = a_trace()
    seen = read(trace, Reading(words=True, specials=False, predicted=True))
    rows = seen.maps[CROSS]
    assert axis_texts(rows.queries) == ["Scheibe", "fiel", "."]
    assert axis_texts(seen.beside[AttentionKind.CROSS]) == ["<s>", "Scheibe", "fiel"]
    expected = trace.maps[CROSS].weights[:, :3, 0].mean(axis=1)
    np.testing.assert_allclose(rows.weights[:, 0, 0], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("reading", "notes"),
    [
        (Reading(words=True), (WORDS_NOTE,)),
        (Reading(specials=False), (HIDDEN_NOTE, FIRST_ROW_NOTE)),
        (Reading(specials=False, renormalise=True), (RENORMALISED_NOTE, FIRST_ROW_NOTE)),
        (Reading(predicted=True), (PREDICTED_NOTE,)),
        (
            Reading(specials=False, predicted=True),
            (HIDDEN_NOTE, FIRST_ROW_OF_DECODER_NOTE, LAST_ROW_OF_CROSS_NOTE, PREDICTED_NOTE),
        ),
    ],
)
def test_notes_say_what_was_done(reading: Reading, notes: tuple[str, ...]) -> None:
    assert read(a_trace(), reading).notes == notes


@pytest.mark.parametrize(
    ("layers", "note"),
    [
        ({}, ""),
        (
            {0: True, 1: False, 2: False, 3: False},
            "Layer 0 looks at a token's source more in the row that has read it; layers 1 to 3 "
            "look at a token's source more in the row that predicts it (over this model's "
            "examples).",
        ),
        (
            {0: False, 2: False},
            "Layers 0 and 2 look at a token's source more in the row that predicts it "
            "(over this model's examples).",
        ),
    ],
)
def test_the_row_of_a_tokens_source_is_said_of_the_layers_that_were_told(
    layers: dict[int, bool], note: str
) -> None:
    assert alignment_note(layers) == note
    assert "aligns best" not in PREDICTED_NOTE


def test_notes_name_no_row_that_is_not_there() -> None:
    trace = a_trace()
    encoder = replace(trace, maps={ENCODER: trace.maps[ENCODER]})
    assert read(encoder, Reading(specials=False, predicted=True)).notes == (HIDDEN_NOTE,)
    module = replace(trace, maps={MODULE: trace.maps[MODULE]})
    assert read(module, Reading(words=True, specials=False)).notes == ()


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("renormalise", [False, True])
@pytest.mark.parametrize(("source", "output"), [("</s>", "</s>"), ("", ""), ("", "▁a b </s>")])
def test_a_sentence_of_which_nothing_is_left_gives_empty_maps(
    source: str, output: str, words: bool, renormalise: bool
) -> None:
    trace = a_trace(source, output)
    seen = read(trace, Reading(words=words, specials=False, renormalise=renormalise))
    assert seen.maps[ENCODER].weights.shape == (3, 0, 0)
    assert seen.maps[CROSS].weights.shape == (3, len(seen.target), 0)
    assert len(seen.source) == 0


@given(TEXTS, TEXTS, READINGS)
def test_however_a_trace_is_read_its_parts_agree(
    source: str, output: str, reading: Reading
) -> None:
    trace = a_trace(source + " </s>", output + " </s>")
    before = {site: seen.weights.copy() for site, seen in trace.maps.items()}
    seen = read(trace, reading)
    assert list(seen.maps) == list(trace.maps)
    assert seen.maps[ENCODER].queries == seen.maps[ENCODER].keys == seen.source
    assert seen.maps[DECODER].queries == seen.maps[DECODER].keys == seen.target
    assert seen.maps[CROSS].keys == seen.source
    for kind, labels in seen.beside.items():
        assert len(labels) == len(seen.maps[Site(kind, 0)].queries)
    for site, one in seen.maps.items():
        assert one.weights.dtype == np.float32
        assert not one.weights.flags.writeable
        assert not one.allowed.flags.writeable
        assert (one.weights >= 0).all()
        assert (one.weights <= 1).all()
        assert not one.weights[:, ~one.allowed].any()
        assert np.array_equal(trace.maps[site].weights, before[site])
        sums = one.weights.sum(axis=-1)
        if reading.specials or site == MODULE:
            np.testing.assert_allclose(sums, 1, atol=1e-5)
        elif reading.renormalise:
            np.testing.assert_allclose(sums[sums > 0], 1, atol=1e-5)
        else:
            assert (sums <= 1 + 1e-5).all()


@given(TEXTS, TEXTS, st.booleans())
def test_words_and_hiding_do_the_same_in_either_order(
    source: str, output: str, predicted: bool
) -> None:
    trace = a_trace(source + " </s>", output + " </s>")
    both = read(trace, Reading(words=True, specials=False, predicted=predicted))
    words = read(trace, Reading(words=True, predicted=predicted))
    for site in (ENCODER, DECODER, CROSS):
        whole, cut = words.maps[site], both.maps[site]
        rows = [not special(token) for token in whole.queries]
        columns = [not special(token) for token in whole.keys]
        assert np.array_equal(cut.weights, whole.weights[:, rows][:, :, columns])
        assert np.array_equal(cut.allowed, whole.allowed[rows][:, columns])


@given(TEXTS)
def test_words_hold_every_token_once_and_in_order(text: str) -> None:
    trace = a_trace(source="▁x " + text)
    seen = read(trace, Reading(words=True)).maps[ENCODER]
    # A map in which each key has a weight of its own tells which keys went into a word.
    n_keys = len(trace.source)
    marked = replace(
        trace.maps[ENCODER],
        weights=np.tile(2.0 ** -np.arange(1, n_keys + 1), (1, n_keys, 1)),
        scores=None,
        q=None,
        k=None,
        v=None,
    )
    sums = read(with_map(trace, marked), Reading(words=True)).maps[ENCODER].weights[0, 0]
    assert len(sums) == len(seen.keys)
    held = [round(float(value) * 2**n_keys) for value in sums]
    assert sum(held) == 2**n_keys - 1
    assert all(left > right for left, right in pairwise(held))


def test_what_was_read_cannot_be_changed() -> None:
    seen = read(a_trace(), Reading(words=True))
    with pytest.raises(TypeError):
        seen.maps[CROSS] = seen.maps[ENCODER]  # type: ignore[index]
    with pytest.raises(TypeError):
        seen.beside[AttentionKind.CROSS] = seen.source  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        seen.maps[CROSS].weights[0, 0, 0] = 1
