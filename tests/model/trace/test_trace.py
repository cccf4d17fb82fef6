import dataclasses
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.trace.attention_map import (
    ARRAYS,
    NO_ID,
    AttentionKind,
    AttentionMap,
    Site,
    Tokens,
    TraceError,
)
from model.trace.trace import Trace

HEADS, D_K, D_V = 3, 4, 5
SOURCE = Tokens(("▁a", "▁man", "</s>"), (5, 9, 3))
TARGET = Tokens(("<s>", "▁ein", "▁mann", "."), (2, 7, 8, 6))
PREDICTIONS = Tokens(("▁ein", "▁mann", ".", "</s>"), (7, 8, 6, 3))
AXES = {
    AttentionKind.ENCODER: (SOURCE, SOURCE),
    AttentionKind.DECODER: (TARGET, TARGET),
    AttentionKind.CROSS: (TARGET, SOURCE),
}


def arrays(queries: int, keys: int, seed: int = 0, heads: int = HEADS) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    scores = random.normal(size=(heads, queries, keys)).astype(np.float32)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    return {
        "weights": weights,
        "scores": scores,
        "allowed": np.ones((queries, keys), dtype=bool),
        "q": random.normal(size=(heads, queries, D_K)).astype(np.float32),
        "k": random.normal(size=(heads, keys, D_K)).astype(np.float32),
        "v": random.normal(size=(heads, keys, D_V)).astype(np.float32),
    }


def make_map(site: Site, queries: Tokens, keys: Tokens, **changes: Any) -> AttentionMap:
    made = arrays(len(queries), len(keys), seed=site.layer) | changes
    return AttentionMap(site, queries=queries, keys=keys, **made)


def make_trace(
    source: Tokens = SOURCE,
    target: Tokens = TARGET,
    predictions: Tokens = PREDICTIONS,
    layers: int = 2,
    **changes: Any,
) -> Trace:
    axes = {
        AttentionKind.ENCODER: (source, source),
        AttentionKind.DECODER: (target, target),
        AttentionKind.CROSS: (target, source),
    }
    sites = [Site(kind, layer) for kind in axes for layer in range(layers)]
    fields: dict[str, Any] = {
        "source": source,
        "target": target,
        "predictions": predictions,
        "text": "ein mann.",
        "source_text": "a man",
        "maps": {site: make_map(site, *axes[site.kind]) for site in sites},
        "log_probs": -np.arange(len(predictions), dtype=np.float32),
    }
    return Trace(**(fields | changes))


def assert_same(left: Trace, right: Trace) -> None:
    for name in ("source", "target", "predictions", "text", "source_text"):
        assert getattr(left, name) == getattr(right, name)
    np.testing.assert_equal(left.log_probs, right.log_probs)
    assert list(left.maps) == list(right.maps)
    for site, seen in left.maps.items():
        again = right.maps[site]
        assert (seen.queries, seen.keys) == (again.queries, again.keys)
        for name in ARRAYS:
            np.testing.assert_equal(getattr(seen, name), getattr(again, name))


def test_sites_sort_in_the_order_of_a_forward_pass() -> None:
    sites = [Site(kind, layer) for kind in reversed(AttentionKind) for layer in (10, 2, 0)]
    kinds = ["encoder", "decoder", "cross", "module"]
    assert [str(site) for site in sorted(sites)] == [
        f"{kind}.{layer}" for kind in kinds for layer in (0, 2, 10)
    ]


def test_a_site_is_the_same_whether_its_kind_is_a_word_or_an_enum() -> None:
    assert Site("cross", 3) == Site(AttentionKind.CROSS, 3)  # type: ignore[arg-type]
    assert len({Site("cross", 3), Site(AttentionKind.CROSS, 3)}) == 1  # type: ignore[arg-type]


def test_a_site_refuses_an_unknown_kind_and_a_negative_layer() -> None:
    with pytest.raises(TraceError, match="choose one of encoder, decoder, cross, module"):
        Site("self", 0)  # type: ignore[arg-type]
    with pytest.raises(TraceError, match="no layer -1"):
        Site(AttentionKind.CROSS, -1)


def test_a_site_compares_with_nothing_but_sites() -> None:
    with pytest.raises(TypeError):
        _ = Site(AttentionKind.CROSS, 1) < "cross.2"


def test_a_kind_says_which_sentences_its_queries_and_keys_are_of() -> None:
    sides = {kind: (kind.query_side, kind.key_side) for kind in AttentionKind}
    assert sides == {
        AttentionKind.ENCODER: ("source", "source"),
        AttentionKind.DECODER: ("target", "target"),
        AttentionKind.CROSS: ("target", "source"),
        AttentionKind.MODULE: (None, None),
    }
    for kind, (query, key) in sides.items():
        assert kind.axes("source", "target", None) == (query, key)
        nouns = [f"{side} token" if side else "position" for side in (query, key)]
        assert [kind.query_noun, kind.key_noun] == nouns


def test_a_kind_a_head_of_a_site_and_a_head_of_a_map_are_named_alike() -> None:
    for site, seen in make_trace().maps.items():
        for number in range(HEADS):
            name = f"{site.kind.full_name}, layer {site.layer}, head {number}"
            assert site.head_name(number) == seen.head(number).name == name
    assert Site(AttentionKind.CROSS, 3).head_name(2) == "Cross-attention, layer 3, head 2"
    assert [kind.short_name for kind in AttentionKind] == ["Encoder", "Decoder", "Cross", "Module"]


@given(
    shape=st.tuples(st.integers(1, 4), st.integers(0, 5), st.integers(0, 5)),
    heads_differ=st.booleans(),
    missing=st.sets(st.sampled_from(["scores", "q", "k", "v"])),
    data=st.data(),
)
def test_a_head_is_its_part_of_every_array_of_the_map(
    shape: tuple[int, int, int], heads_differ: bool, missing: set[str], data: st.DataObject
) -> None:
    heads, n_queries, n_keys = shape
    random = np.random.default_rng(heads)
    changes: dict[str, Any] = dict.fromkeys(missing)
    changes["allowed"] = random.random(shape if heads_differ else shape[1:]) < 0.5
    axes = (Tokens.unnamed(range(n_queries)), Tokens.unnamed(range(n_keys)))
    made = arrays(n_queries, n_keys, heads=heads) | changes
    seen = AttentionMap(Site(AttentionKind.CROSS, 1), queries=axes[0], keys=axes[1], **made)
    number = data.draw(st.integers(0, heads - 1))
    head = seen.head(number)
    assert (head.site, head.number, head.queries, head.keys) == (seen.site, number, *axes)
    for name in ARRAYS:
        whole, part = getattr(seen, name), getattr(head, name)
        if whole is None:
            assert part is None
            continue
        assert np.array_equal(part, np.broadcast_to(whole, (heads, *part.shape))[number])
        assert not part.flags.writeable
        assert part.size == 0 or np.shares_memory(part, whole)


@pytest.mark.parametrize("number", [-1, HEADS])
def test_a_map_without_a_head_names_those_it_has(number: int) -> None:
    seen = make_trace().attention("cross", 1)
    with pytest.raises(IndexError, match=rf"cross.1 has the heads 0 to {HEADS - 1}.*{number}"):
        seen.head(number)


def test_tokens_refuse_another_number_of_ids() -> None:
    with pytest.raises(TraceError, match="3 tokens and 2 ids"):
        Tokens(("a", "b", "c"), (1, 2))


def test_tokens_iterate_as_strings_and_slice_as_tokens() -> None:
    assert list(SOURCE) == ["▁a", "▁man", "</s>"]
    assert SOURCE[:2] + SOURCE[2:] == SOURCE
    assert Tokens.unnamed(range(3)) == Tokens(("0", "1", "2"), (NO_ID,) * 3)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("weights", (4, 3), r"must have the shape \(head, query, key\)"),
        ("weights", (HEADS, 3, 3), r"weights of cross.0 have the shape \(3, 3, 3\)"),
        ("allowed", (3, 4), "allowed of cross.0"),
        ("allowed", (2, 4, 3), "allowed of cross.0"),
        ("scores", (HEADS, 4, 2), "scores of cross.0"),
        ("q", (HEADS, 3, D_K), "q of cross.0"),
        ("k", (HEADS, 4, D_K), "k of cross.0"),
        ("k", (HEADS, 3, D_K + 1), "k of cross.0"),
        ("v", (HEADS - 1, 3, D_V), "v of cross.0"),
        ("v", (HEADS, 3), "v of cross.0"),
    ],
)
def test_a_map_refuses_shapes_that_disagree(
    name: str, shape: tuple[int, ...], message: str
) -> None:
    changed = np.zeros(shape, dtype=bool if name == "allowed" else np.float32)
    with pytest.raises(TraceError, match=message):
        make_map(Site(AttentionKind.CROSS, 0), TARGET, SOURCE, **{name: changed})


@pytest.mark.parametrize("name", ["queries", "keys"])
def test_a_map_refuses_labels_that_do_not_fit(name: str) -> None:
    labels: dict[str, Any] = {"queries": TARGET, "keys": SOURCE}
    with pytest.raises(TraceError, match=r"but its labels and heads need \("):
        AttentionMap(
            Site(AttentionKind.CROSS, 0), **(labels | {name: labels[name][1:]}), **arrays(4, 3)
        )


def test_a_map_refuses_a_mask_of_numbers_and_weights_of_text() -> None:
    site = Site(AttentionKind.CROSS, 0)
    with pytest.raises(TraceError, match="allowed must be an array of bool"):
        make_map(site, TARGET, SOURCE, allowed=np.zeros((4, 3)))
    with pytest.raises(TraceError, match="weights must be an array of float32"):
        make_map(site, TARGET, SOURCE, weights=np.full((HEADS, 4, 3), "x"))


def test_a_map_may_lack_what_a_foreign_module_cannot_give() -> None:
    seen = make_map(
        Site(AttentionKind.MODULE, 0), TARGET, SOURCE, scores=None, q=None, k=None, v=None
    )
    assert (seen.scores, seen.q, seen.k, seen.v) == (None, None, None, None)
    assert seen.n_heads == HEADS


def test_nothing_in_a_trace_can_be_written_to() -> None:
    trace = make_trace()
    for seen in trace.maps.values():
        for name in ARRAYS:
            with pytest.raises(ValueError, match="read-only"):
                getattr(seen, name)[...] = 0
    assert trace.log_probs is not None
    with pytest.raises(ValueError, match="read-only"):
        trace.log_probs[0] = 1
    with pytest.raises(TypeError):
        trace.maps[Site(AttentionKind.CROSS, 9)] = trace.attention("cross", 0)  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.text = "x"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.attention("cross", 0).weights = np.zeros(1, np.float32)  # type: ignore[misc]


def test_arrays_of_the_right_type_are_viewed_and_others_converted() -> None:
    made = arrays(4, 3)
    wide = made | {"q": made["q"].astype(np.float64)}
    seen = AttentionMap(Site(AttentionKind.CROSS, 0), queries=TARGET, keys=SOURCE, **wide)
    assert np.shares_memory(seen.weights, made["weights"])
    assert made["weights"].flags.writeable
    assert seen.q is not None
    assert seen.q.dtype == np.float32


def test_a_query_without_allowed_keys_is_flagged() -> None:
    allowed = np.array([[True, False], [False, False], [True, True]])
    seen = make_map(
        Site(AttentionKind.ENCODER, 0),
        Tokens.unnamed("abc"),
        Tokens.unnamed("xy"),
        allowed=allowed,
    )
    assert seen.empty_queries.tolist() == [False, True, False]
    by_head = np.stack([allowed, ~allowed, allowed])
    seen = make_map(
        Site(AttentionKind.ENCODER, 0),
        Tokens.unnamed("abc"),
        Tokens.unnamed("xy"),
        allowed=by_head,
    )
    assert seen.empty_queries.tolist() == [
        [False, True, False],
        [False, False, True],
        [False, True, False],
    ]


def test_a_trace_gives_its_maps_by_kind_and_layer() -> None:
    trace = make_trace()
    for kind in AXES:
        assert trace.layers(kind) == (0, 1)
        for layer in (0, 1):
            assert trace.attention(kind, layer) is trace.maps[Site(kind, layer)]
            assert trace.attention(kind.value, layer) is trace.maps[Site(kind, layer)]
    assert trace.layers("module") == ()


def test_patches_and_times_are_named_in_their_order() -> None:
    assert Tokens.grid(2, 3).tokens == ("0,0", "0,1", "0,2", "1,0", "1,1", "1,2")
    assert Tokens.times(3, 0.02).tokens == ("0.00s", "0.02s", "0.04s")


def test_some_sites_of_a_trace_are_a_trace_of_the_same_text() -> None:
    trace = make_trace()
    some = trace.only("cross.1", Site(AttentionKind.ENCODER, 0))
    assert list(map(str, some.maps)) == ["encoder.0", "cross.1"]
    assert all(some.maps[site] is trace.maps[site] for site in some.maps)
    assert (some.source, some.target, some.text) == (trace.source, trace.target, trace.text)
    with pytest.raises(TraceError, match=r"no cross\.2; it has encoder 0, 1; decoder 0, 1"):
        trace.only("cross.2")


@pytest.mark.parametrize("asked", [("cross", 2), ("module", 0), ("self", 0), ("cross", -1)])
def test_a_trace_without_what_is_asked_for_lists_what_it_has(asked: tuple[str, int]) -> None:
    with pytest.raises(TraceError, match="it has encoder 0, 1; decoder 0, 1; cross 0, 1"):
        make_trace().attention(*asked)
    with pytest.raises(TraceError, match="no map at all"):
        make_trace(maps={}).attention(*asked)


def test_a_trace_refuses_an_unknown_kind_when_it_lists_layers() -> None:
    with pytest.raises(TraceError, match="no attention of the kind 'self'"):
        make_trace().layers("self")


def test_a_trace_refuses_lengths_and_labels_that_disagree() -> None:
    with pytest.raises(TraceError, match="one prediction: there are 4 and 2"):
        make_trace(predictions=PREDICTIONS[:2], log_probs=None)
    with pytest.raises(TraceError, match=r"log_probs have the shape \(3,\)"):
        make_trace(log_probs=np.zeros(3))
    maps = make_trace().maps
    with pytest.raises(TraceError, match=r"labels of encoder\.0 are not the tokens"):
        make_trace(source=Tokens(("▁x", "▁man", "</s>"), (4, 9, 3)), maps=maps)
    with pytest.raises(TraceError, match=r"map of cross\.0 stands under cross\.1"):
        make_trace(maps={Site(AttentionKind.CROSS, 1): maps[Site(AttentionKind.CROSS, 0)]})


def test_a_model_that_predicts_nothing_has_a_trace_too() -> None:
    trace = make_trace(predictions=Tokens(), log_probs=None)
    assert len(trace.predictions) == 0


def test_keys_that_a_module_added_follow_the_sentence() -> None:
    site = Site(AttentionKind.ENCODER, 0)
    keys = SOURCE + Tokens.unnamed(["[zero]"])
    trace = make_trace(maps={site: make_map(site, SOURCE, keys)})
    assert_same(trace, reloaded(trace))


def reloaded(trace: Trace) -> Trace:
    file = io.BytesIO()
    trace.save(file)
    file.seek(0)
    return Trace.load(file)


def saved(trace: Trace, path: Path) -> dict[str, Any]:
    trace.save(path)
    with np.load(path, allow_pickle=False) as opened:
        return dict(opened)


def test_a_saved_trace_names_every_matrix(tmp_path: Path) -> None:
    entries = saved(make_trace(), tmp_path / "trace.npz")
    sites = [f"{kind}.{layer}" for kind in ("encoder", "decoder", "cross") for layer in (0, 1)]
    tokens = [
        f"{name}.{field}"
        for name in ("source", "target", "predictions")
        for field in ("tokens", "ids")
    ]
    matrices = [f"{site}.{name}" for site in sites for name in ARRAYS]
    texts = ["format", "text", "source_text"]
    assert set(entries) == {"contents", "log_probs", *texts, *tokens, *matrices}
    assert set(entries["contents"]) == set(entries) - {"contents"}
    assert entries["cross.1.weights"].shape == (HEADS, 4, 3)
    assert entries["source.tokens"].tolist() == list(SOURCE)
    assert entries["source.ids"].tolist() == list(SOURCE.ids)


def test_a_trace_is_written_under_the_very_name_it_was_given(tmp_path: Path) -> None:
    make_trace().save(tmp_path / "first.trace")
    make_trace().save(str(tmp_path / "second"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["first.trace", "second"]
    assert_same(Trace.load(tmp_path / "first.trace"), make_trace())
    assert_same(Trace.load(str(tmp_path / "second")), make_trace())


@pytest.mark.parametrize("name", ["a.csv", "b.HTML", "c.json"])
def test_a_name_of_another_format_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(TraceError, match=rf"{name} says otherwise; rename it"):
        make_trace().save(tmp_path / name)
    assert not [*tmp_path.iterdir()]


def test_what_is_missing_in_a_trace_is_missing_after_loading_it() -> None:
    site = Site(AttentionKind.MODULE, 0)
    bare = make_map(site, TARGET, SOURCE, scores=None, q=None, k=None, v=None)
    trace = make_trace(maps={site: bare}, log_probs=None)
    again = reloaded(trace)
    assert_same(trace, again)
    assert again.attention("module", 0).scores is None
    assert again.log_probs is None


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).filter(
    lambda word: not word.endswith("\0")
)
sentences = st.lists(st.tuples(words, st.integers(0, 31_999)), min_size=1, max_size=6).map(
    lambda pairs: Tokens(*map(tuple, zip(*pairs, strict=True)))
)


@given(source=sentences, target=sentences, text=words, layers=st.integers(0, 2))
def test_whatever_the_tokens_a_trace_survives_saving(
    source: Tokens, target: Tokens, text: str, layers: int
) -> None:
    trace = make_trace(source, target, target, layers=layers, text=text)
    again = reloaded(trace)
    assert_same(trace, again)
    assert all(not seen.weights.flags.writeable for seen in again.maps.values())


@pytest.mark.parametrize(
    "changes", [{"source_text": "a\0"}, {"predictions": Tokens((*"abc", "\0"), (1, 2, 3, 4))}]
)
def test_a_text_that_the_format_would_cut_is_refused(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(TraceError, match="ends in a NUL character"):
        make_trace(**changes).save(tmp_path / "trace.npz")
    assert not (tmp_path / "trace.npz").exists()


@given(data=st.data())
def test_a_damaged_file_is_refused_in_one_sentence_or_read_in_full(data: st.DataObject) -> None:
    file = io.BytesIO()
    trace = make_trace(layers=1)
    trace.save(file)
    content = bytearray(file.getvalue())
    if data.draw(st.booleans(), label="cut"):
        del content[data.draw(st.integers(0, len(content) - 1), label="length") :]
    else:
        at = data.draw(st.integers(0, len(content) - 1), label="position")
        content[at] ^= data.draw(st.integers(1, 255), label="bits")
    try:
        again = Trace.load(io.BytesIO(bytes(content)))
    except TraceError as error:
        message = str(error)
    else:
        # The flipped bit lay in what zip does not use, such as a date.
        assert_same(trace, again)
        return
    assert message.endswith(".")
    assert "\n" not in message


def rewritten(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    path = tmp_path / "trace.npz"
    entries = saved(make_trace(), path)
    change(entries)
    np.savez(path, **entries)
    return path


def forget(entries: dict[str, Any], name: str) -> None:
    del entries[name]
    entries["contents"] = np.array(sorted(set(entries) - {"contents"}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e.pop("format"), "no saved trace, or lacks its format"),
        (lambda e: e.update(format=np.array("other")), "This version of Headscope"),
        (lambda e: e.update(format=np.zeros(3)), "format in the file must be one string"),
        (lambda e: e.pop("contents"), "lacks its contents"),
        (lambda e: e.pop("source.ids"), r"damaged: it lacks source\.ids"),
        (lambda e: e.pop("cross.1.scores"), r"damaged: it lacks cross\.1\.scores"),
        (lambda e: forget(e, "source.tokens"), r"unknown entry, source\.ids"),
        (lambda e: forget(e, "cross.1.weights"), r"lacks cross\.1\.weights"),
        (lambda e: e.update({"self.0.weights": np.zeros(1)}), "no attention of the kind 'self'"),
        (lambda e: e.update({"cross.x.weights": np.zeros(1)}), r"unknown entry, cross\.x\.weights"),
        (lambda e: e.update({"cross.1.other": np.zeros(1)}), r"unknown entry, cross\.1\.other"),
        (lambda e: e.update(other=np.zeros(1)), "unknown entry, other"),
        (lambda e: e.update({"source.ids": np.zeros(3)}), "list of whole numbers"),
        (lambda e: e.update({"source.tokens": np.zeros(3)}), "list of strings"),
        (lambda e: e.update({"cross.0.q": np.zeros((1, 2))}), r"q of cross\.0 have the shape"),
    ],
)
def test_a_file_that_is_no_consistent_trace_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    with pytest.raises(TraceError, match=message):
        Trace.load(rewritten(tmp_path, change))


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    with pytest.raises(TraceError, match="no saved trace"):
        Trace.load(path)
    path.write_text("Ein Mann.", encoding="utf-8")
    with pytest.raises(TraceError, match="no saved trace"):
        Trace.load(path)
    with path.open("wb") as opened:
        np.save(opened, np.zeros(3))
    with pytest.raises(TraceError, match="holds one array"):
        Trace.load(path)
    with path.open("wb") as opened:
        np.savez(opened, format=np.array([object()], dtype=object))
    with pytest.raises(TraceError, match="Python objects, which are never opened"):
        Trace.load(path)
    with pytest.raises(FileNotFoundError):
        Trace.load(tmp_path / "nowhere.npz")


def test_a_trace_knows_how_many_bytes_it_holds() -> None:
    trace = make_trace(layers=1)
    pairs = ((3, 3), (4, 4), (4, 3))
    expected = 4 * 4 + sum(
        4 * HEADS * (2 * queries * keys + queries * D_K + keys * (D_K + D_V)) + queries * keys
        for queries, keys in pairs
    )
    assert trace.nbytes == expected


def test_a_pickled_trace_is_the_same_and_as_read_only():
    broadcast = np.broadcast_to(np.ones(3, dtype=np.bool_), (3, 3))
    tokens = Tokens.unnamed("abc")
    seen = AttentionMap(
        Site("encoder", 0),
        weights=np.full((2, 3, 3), 1 / 3, dtype=np.float32),
        allowed=broadcast,
        queries=tokens,
        keys=tokens,
    )
    trace = Trace(
        source=tokens,
        target=Tokens(),
        predictions=Tokens(),
        text="",
        source_text="abc",
        maps={seen.site: seen},
    )
    found = pickle.loads(pickle.dumps(trace))
    assert (found.source, found.source_text) == (tokens, "abc")
    for name in ("weights", "allowed"):
        array = getattr(found.maps[seen.site], name)
        assert np.array_equal(array, getattr(seen, name))
        assert not array.flags.writeable
    with pytest.raises(TypeError):
        found.maps[seen.site] = seen
