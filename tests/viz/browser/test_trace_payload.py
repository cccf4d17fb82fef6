from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.explain.facts import head_facts
from model.explain.head_numbers import head_numbers
from model.explain.labels import Label, opening_heads
from model.explain.measures import MEASURES
from model.explain.reading import Reading, ReadTrace, read
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from model.trace.trace import Trace
from tests.kit.trace_payload import Decoded
from viz.browser.head_sentences import head_words
from viz.browser.trace_payload import EXACT_CELLS, JOINT, pack
from viz.draw import themes
from viz.draw.labels import axis_texts

KINDS = (AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS)
N_HEADS = 3
COMPONENTS = Path(__file__).parents[3] / "viz" / "browser"
HOSTILE = (
    *("▁<s>", "▁<b>x</b>", "*a*", "▁$x$", ":red[x]", "<img src=x onerror=alert(1)>", "</script>"),
    *("\"quotes'", "&amp;", "▁🐈", "القط", "\u0301", "\u202e", "\x00", "\n", "\ud800", "▁" * 40),
)
TEXTS = st.lists(st.text(max_size=6), min_size=1, max_size=6)


def tokens(pieces: Sequence[str]) -> Tokens:
    return Tokens(tuple(pieces), tuple(range(10, 10 + len(pieces))))


def a_map(
    site: Site, queries: Tokens, keys: Tokens, *, heads: int = N_HEADS, seed: int = 1
) -> AttentionMap:
    random = np.random.default_rng([seed, site.layer, list(AttentionKind).index(site.kind)])
    shape = (heads, len(queries), len(keys))
    allowed = np.ones(shape[1:], dtype=bool)
    if site.kind is AttentionKind.DECODER:
        allowed = np.tril(allowed)
    weights = np.where(allowed, random.exponential(size=shape) ** 3, 0)
    weights /= np.maximum(weights.sum(axis=-1, keepdims=True), 1e-30)
    return AttentionMap(
        site, weights=weights.astype(np.float32), allowed=allowed, queries=queries, keys=keys
    )


def a_trace(
    source: Sequence[str] = ("▁The", "▁cat", "</s>"),
    output: Sequence[str] = ("▁Die", "▁Kat", "ze", "</s>"),
    *,
    layers: int = 2,
    seed: int = 1,
) -> Trace:
    read_by_encoder, predictions = tokens(source), tokens(output)
    target = Tokens(("<s>",), (2,)) + predictions[: len(predictions) - 1]
    axes = {
        AttentionKind.ENCODER: (read_by_encoder, read_by_encoder),
        AttentionKind.DECODER: (target, target),
        AttentionKind.CROSS: (target, read_by_encoder),
    }
    sites = [Site(kind, layer) for kind in KINDS for layer in range(layers)]
    return Trace(
        source=read_by_encoder,
        target=target,
        predictions=predictions,
        text="",
        source_text="",
        maps={site: a_map(site, *axes[site.kind], seed=seed) for site in sites},
    )


def packed(
    seen: ReadTrace, labels: Mapping[Site, tuple[Label | None, ...]] | None = None, **more: Any
) -> bytes:
    facts = {site: head_facts(each) for site, each in seen.maps.items()}
    return pack(seen, facts, labels or {}, **more)


def decoded(seen: ReadTrace, **more: Any) -> Decoded:
    return Decoded(packed(seen, **more))


def test_every_weight_of_a_short_sentence_arrives_exactly() -> None:
    trace = a_trace()
    found = decoded(read(trace))
    for site, seen in trace.maps.items():
        assert np.array_equal(found.weights(site.kind)[site.layer], seen.weights)
        assert found.weights(site.kind).dtype == np.float32


def test_every_mask_arrives_and_what_is_allowed_everywhere_needs_none() -> None:
    trace = a_trace()
    found = decoded(read(trace))
    for site, seen in trace.maps.items():
        everywhere = np.broadcast_to(seen.allowed, seen.weights.shape)
        assert np.array_equal(found.allowed(site.kind)[site.layer], everywhere)
    assert found.kind("encoder")["allowed"] == [None, None]
    assert found.kind("cross")["allowed"] == [None, None]


def test_a_mask_that_layers_share_is_sent_once() -> None:
    found = decoded(read(a_trace()))
    first, second = found.kind("decoder")["allowed"]
    assert first.ctypes.data == second.ctypes.data


def with_masks_of_heads(trace: Trace) -> Trace:
    """The same, with a mask for each head of the encoder's layer 1."""
    site = Site(AttentionKind.ENCODER, 1)
    seen = trace.maps[site]
    allowed = np.ones(seen.weights.shape, dtype=bool)
    allowed[1, 0, 2] = allowed[2, 1] = False
    masked = replace(seen, weights=np.where(allowed, seen.weights, 0), allowed=allowed)
    return replace(trace, maps={**trace.maps, site: masked})


def test_heads_that_may_attend_to_different_keys_keep_masks_of_their_own() -> None:
    trace = with_masks_of_heads(a_trace())
    found = decoded(read(trace))
    allowed = trace.maps[Site(AttentionKind.ENCODER, 1)].allowed
    assert np.array_equal(found.allowed("encoder")[1], allowed)
    assert found.allowed("encoder")[0].all()


def test_masks_that_are_the_same_in_every_head_count_as_one() -> None:
    trace = a_trace()
    site = Site(AttentionKind.DECODER, 0)
    seen = trace.maps[site]
    repeated = np.broadcast_to(seen.allowed, seen.weights.shape)
    trace = replace(trace, maps={**trace.maps, site: replace(seen, allowed=repeated)})
    assert not isinstance(decoded(read(trace)).kind("decoder")["allowed"][0], list)


def test_every_label_knows_which_tokens_it_stands_for_however_the_trace_is_read() -> None:
    trace = a_trace(("▁The", "▁cat", "s", "</s>"), ("▁Die", "▁Kat", "ze", "</s>"))
    cross = decoded(read(trace)).kind("cross")["words"]
    assert cross["keys"] == [["source", place, place + 1] for place in range(4)]
    # A row is the token that it writes, though the axis names it by the one it has read.
    assert cross["queries"] == [["target", place, place + 1] for place in range(4)]
    words = Reading(words=True, specials=False)
    cross = decoded(read(trace, words)).kind("cross")["words"]
    assert cross["keys"] == [["source", 0, 1], ["source", 1, 3]]
    assert cross["queries"] == [["target", 1, 3], ["target", 3, 4]]
    cross = decoded(read(trace, replace(words, predicted=True))).kind("cross")["words"]
    assert cross["queries"] == [["target", 0, 1], ["target", 1, 3]]
    decoder = decoded(read(trace)).kind("decoder")["words"]
    assert decoder["queries"] == [["target", place, place + 1] for place in range(4)]
    # <s> was read and not written.
    assert decoder["keys"] == [["target", place, place + 1] for place in range(-1, 3)]


def test_axes_are_named_as_every_figure_names_them_and_each_is_sent_once() -> None:
    trace = a_trace()
    found = decoded(read(trace))
    assert found.axis("encoder", "queries") == ["The", "cat", "</s>"]
    assert found.axis("encoder", "keys") == ["The", "cat", "</s>"]
    assert found.axis("cross", "queries") == ["<s>", "Die", "Kat", "…ze"]
    assert found.axis("cross", "keys") == ["The", "cat", "</s>"]
    assert found.axis("cross", "beside") == found.axis("decoder", "beside")
    assert found.axis("cross", "beside") == ["Die", "Kat", "…ze", "</s>"]
    assert found.axis("encoder", "beside") is None
    assert len(found.header["axes"]) == 3


def test_layers_keep_their_numbers_also_where_some_were_not_recorded() -> None:
    trace = a_trace(layers=3)
    kept = {site: seen for site, seen in trace.maps.items() if site != Site(KINDS[0], 1)}
    found = decoded(read(replace(trace, maps=kept)))
    assert found.kind("encoder")["layers"] == [0, 2]
    assert np.array_equal(found.weights("encoder")[1], trace.maps[Site(KINDS[0], 2)].weights)
    assert found.kind("cross")["layers"] == [0, 1, 2]


def test_each_kind_brings_its_names() -> None:
    found = decoded(read(a_trace()))
    for kind in KINDS:
        entry = found.kind(kind)
        assert entry["short"] == kind.short_name
        assert entry["heads"] == N_HEADS
        assert entry["caption"].startswith("A row shows")


def test_the_name_of_a_payload_is_that_of_its_content() -> None:
    seen = read(a_trace())
    one, same = packed(seen), packed(read(a_trace()))
    assert one == same
    assert len(Decoded(one).id) == 16
    assert set(Decoded(one).id) <= set("0123456789abcdef")


def test_anything_else_in_it_gives_a_payload_another_name() -> None:
    trace = a_trace()
    site = Site(AttentionKind.CROSS, 1)
    weights = trace.maps[site].weights.copy()
    weights[2, 3, 1] = np.nextafter(weights[2, 3, 1], np.float32(1))
    nearly = replace(trace, maps={**trace.maps, site: replace(trace.maps[site], weights=weights)})
    label = {site: (None, Label("looks at punctuation", "On average 60%."), None)}
    ids = [
        decoded(read(trace)).id,
        decoded(read(nearly)).id,
        decoded(read(a_trace(source=("▁The", "▁dog", "</s>")))).id,
        decoded(read(a_trace(seed=2))).id,
        decoded(read(trace), epoch=1).id,
        decoded(read(trace), selection={"layer": "1"}).id,
        decoded(read(trace), labels=label).id,
        decoded(read(trace, Reading(words=True))).id,
        decoded(read(trace, Reading(specials=False))).id,
        decoded(read(trace, Reading(predicted=True))).id,
    ]
    assert len(set(ids)) == len(ids)


def test_epoch_and_selection_arrive_as_they_were_given() -> None:
    selection = {"attention": "cross", "layer": "1", "cell": "1.2", "only": ""}
    header = decoded(read(a_trace()), epoch=7, selection=selection).header
    assert header["epoch"] == 7
    assert header["selection"] == selection


@pytest.fixture(scope="module")
def long() -> Trace:
    """A trace with more weights than are sent exactly."""
    side = 420
    trace = a_trace([f"▁s{i}" for i in range(side)], [f"▁t{i}" for i in range(side)], layers=1)
    assert sum(seen.weights.size for seen in trace.maps.values()) > EXACT_CELLS
    return trace


def test_weights_of_a_long_sentence_arrive_in_bytes_and_as_rows_that_keep_their_sum(
    long: Trace,
) -> None:
    found = decoded(read(long))
    for site, seen in long.maps.items():
        assert found.kind(site.kind)["weights"].dtype == np.uint8
        sent = found.weights(site.kind)[site.layer]
        largest = seen.weights.max(axis=-1, keepdims=True)
        assert (np.abs(sent - seen.weights) <= 0.02 * largest + 1e-7).all()
        np.testing.assert_allclose(sent.sum(axis=-1), seen.weights.sum(axis=-1), rtol=1e-4)


def test_masks_of_a_long_sentence_arrive_whole(long: Trace) -> None:
    allowed = decoded(read(long)).allowed("decoder")
    assert np.array_equal(allowed[0, 0], long.maps[Site(AttentionKind.DECODER, 0)].allowed)


def test_measures_arrive_in_their_order_and_what_does_not_apply_is_null() -> None:
    trace = a_trace()
    found = decoded(read(trace))
    assert [measure["key"] for measure in found.header["measures"]] == [
        measure.key for measure in MEASURES
    ]
    for site, seen in trace.maps.items():
        facts = head_facts(seen)
        for head in range(N_HEADS):
            sent = found.kind(site.kind)["facts"][site.layer][head]["measures"]
            for measure, value in zip(MEASURES, sent, strict=True):
                expected = float(facts[measure.key][head])
                if np.isnan(expected):
                    assert value is None
                else:
                    assert value == pytest.approx(expected, abs=1e-6)
                if site.kind not in measure.kinds:
                    assert value is None


def test_heads_can_be_ordered_by_their_effect_before_it_is_known() -> None:
    seen = read(a_trace())
    losses = {site: np.arange(N_HEADS) - site.layer - 0.25 for site in seen.maps}
    unknown, known = (decoded(seen, effects=each) for each in ({}, losses))
    keys = [measure["key"] for measure in unknown.header["measures"]]
    assert keys == [*(measure.key for measure in MEASURES), unknown.header["onDemand"]]
    for site in seen.maps:
        for head in range(N_HEADS):
            before, after = (
                each.kind(site.kind)["facts"][site.layer][head]["measures"]
                for each in (unknown, known)
            )
            assert before == [*after[:-1], None]
            assert after[-1] == head - site.layer - 0.25


def test_a_measure_that_no_one_gave_is_null() -> None:
    seen = read(a_trace())
    facts = {site: {"entropy": np.zeros(N_HEADS)} for site in seen.maps}
    found = Decoded(pack(seen, facts, {}))
    first = found.kind("cross")["facts"][0][0]["measures"]
    assert first == [0, *[None] * (len(MEASURES) - 1)]


def test_each_head_brings_its_numbers_and_the_label_it_earned() -> None:
    trace = a_trace()
    site = Site(AttentionKind.CROSS, 1)
    label = Label("looks at the sentence end", "On average 90%, and <b>more</b>.")
    below = Label("often the sentence end, 43%", "No label.", earned=False)
    found = decoded(read(trace), labels={site: (None, label, below)})
    entries = found.kind("cross")["facts"][1]
    assert [entry["label"] for entry in entries] == [None, label.text, None]
    assert [entry["tendency"] for entry in entries] == [None, None, below.text]
    assert [entry["reason"] for entry in entries] == ["", label.reason, below.reason]
    assert all(entry["label"] is None for entry in found.kind("cross")["facts"][0])
    facts = head_facts(trace.maps[site])
    for head, entry in enumerate(entries):
        values = {key: float(column[head]) for key, column in facts.items()}
        assert entry["numbers"] == head_numbers(AttentionKind.CROSS, values)
    for entry, words in zip(entries, head_words(trace.maps[site], facts), strict=True):
        assert entry["sentence"] == words.sentence
        assert entry["pairs"] == [list(pair) for pair in words.pairs]
        assert entry["ignored"] == list(words.ignored)
    assert found.header["surveyed"]
    assert not decoded(read(trace)).header["surveyed"]


def test_each_kind_brings_the_head_that_it_opens_with() -> None:
    trace = a_trace()
    site = Site(AttentionKind.ENCODER, 1)
    labels = {site: (None, None, Label("looks at the same token", "60%."))}
    found = decoded(read(trace), labels=labels)
    for kind, place in opening_heads(trace.maps, labels).items():
        assert found.kind(kind)["opening"] == list(place)
    assert found.kind("encoder")["opening"] == [1, 2]


def test_measures_are_named_as_the_trace_is_read() -> None:
    found = decoded(read(a_trace(), Reading(words=True)))
    assert "Weight on the previous word" in [
        measure["name"] for measure in found.header["measures"]
    ]


def test_a_list_of_labels_shorter_than_the_heads_leaves_the_rest_without() -> None:
    site = Site(AttentionKind.ENCODER, 0)
    found = decoded(read(a_trace()), labels={site: (Label("looks at the same token", "60%."),)})
    labels = [entry["label"] for entry in found.kind("encoder")["facts"][0]]
    assert labels == ["looks at the same token", None, None]


def test_what_was_done_to_the_trace_is_said_with_it() -> None:
    seen = read(a_trace(), Reading(words=True, specials=False))
    header = decoded(seen).header
    assert header["notes"] == list(seen.notes)
    assert decoded(read(a_trace())).header["notes"] == []


def test_whole_words_arrive_with_their_own_axes_and_weights() -> None:
    seen = read(a_trace(), Reading(words=True))
    found = decoded(seen)
    assert found.axis("cross", "queries") == ["<s>", "Die", "Katze"]
    for site, each in seen.maps.items():
        assert np.array_equal(found.weights(site.kind)[site.layer], each.weights)


def test_the_three_kinds_stand_in_one_picture_where_their_axes_are_the_same_tokens() -> None:
    trace = a_trace()
    assert decoded(read(trace)).header[JOINT]
    assert not decoded(read(trace, Reading(predicted=True))).header[JOINT]
    without = {site: seen for site, seen in trace.maps.items() if site.kind is not KINDS[0]}
    assert not decoded(read(replace(trace, maps=without))).header[JOINT]


def test_a_foreign_module_is_sent_under_its_own_name() -> None:
    site = Site(AttentionKind.MODULE, 4)
    axis = Tokens.unnamed(range(5))
    trace = Trace(
        source=Tokens(),
        target=Tokens(),
        predictions=Tokens(),
        text="",
        source_text="",
        maps={site: a_map(site, axis, axis)},
    )
    found = decoded(read(trace))
    assert [kind["kind"] for kind in found.header["kinds"]] == ["module"]
    assert found.axis("module", "keys") == ["0", "1", "2", "3", "4"]
    assert np.array_equal(found.weights("module")[0], trace.maps[site].weights)


def test_both_themes_come_along_so_that_a_change_of_theme_asks_nobody() -> None:
    sent = decoded(read(a_trace())).header["themes"]
    assert sent["light"]["weights"] == list(themes.LIGHT.weights)
    assert sent["dark"]["weights"] == list(themes.DARK.weights)
    assert sent["light"]["heads"] == list(themes.LIGHT.heads)


def test_hostile_tokens_arrive_as_the_text_they_are() -> None:
    trace = a_trace(source=HOSTILE, output=HOSTILE)
    found = decoded(read(trace))
    assert found.axis("encoder", "keys") == axis_texts(trace.source)
    assert found.axis("cross", "beside") == axis_texts(trace.predictions)
    assert np.array_equal(found.weights("cross")[0], trace.maps[Site(KINDS[2], 0)].weights)


@given(TEXTS, TEXTS)
def test_any_tokens_arrive_with_all_their_weights(source: list[str], output: list[str]) -> None:
    trace = a_trace(source, output, layers=1)
    found = decoded(read(trace))
    for site, seen in trace.maps.items():
        assert found.axis(site.kind, "queries") == axis_texts(seen.queries)
        assert found.axis(site.kind, "keys") == axis_texts(seen.keys)
        assert np.array_equal(found.weights(site.kind)[0], seen.weights)


@pytest.mark.parametrize("script", sorted(COMPONENTS.rglob("*.js")), ids=lambda path: path.name)
def test_no_script_of_ours_makes_markup_of_a_text(script: Path) -> None:
    written = script.read_text(encoding="utf-8")
    # Every text enters the page as a text node; these are the ways by which it would not.
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert way not in written
