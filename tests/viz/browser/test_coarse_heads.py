"""The heads of a long text coarsely, and each whole once it is asked for."""

import gc
from typing import Any

import numpy as np
import pytest

from model.explain.facts import facts_of
from model.explain.reading import ReadTrace, read
from model.trace.attention_map import AttentionKind
from model.trace.rounded_weights import rounded
from tests.kit.trace_payload import Decoded
from tests.viz.browser.test_trace_payload import a_trace
from viz.browser import coarse_heads as module
from viz.browser.coarse_heads import GoneError, asked_heads, coarse_heads
from viz.browser.trace_payload import pack

SOURCE = ("▁The", "▁cat", "▁sat", "▁there", "</s>")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> ReadTrace:
    """A trace that counts as long, in patches of two or three tokens."""
    monkeypatch.setattr(module, "FEW", 0)
    monkeypatch.setattr(module, "SIDE", 2)
    return read(a_trace(SOURCE))


def test_each_patch_has_its_largest_weight(seen: ReadTrace) -> None:
    coarse = coarse_heads(seen)
    assert coarse is not None
    sent = Decoded(pack(seen, facts_of(seen.maps), {}, coarse=coarse))
    for kind in dict.fromkeys(site.kind for site in seen.maps):
        rows, columns = sent.kind(str(kind))["grain"]
        layers = [each for site, each in seen.maps.items() if site.kind is kind]
        assert (rows, columns) == tuple(-(-size // 2) for size in layers[0].shape[1:])
        patches = sent.kind(str(kind))["weights"].reshape(len(layers), layers[0].n_heads, 2, 2)
        for attention, heads in zip(layers, patches, strict=True):
            for head, found in zip(attention.weights, heads, strict=True):
                largest = [
                    [head[:rows, :columns].max(), head[:rows, columns:].max()],
                    [head[rows:, :columns].max(), head[rows:, columns:].max()],
                ]
                assert np.sqrt(largest) * 255 == pytest.approx(found, abs=2)


def test_a_short_text_is_sent_whole() -> None:
    assert coarse_heads(read(a_trace())) is None


def test_a_head_that_is_asked_for_comes_as_every_trace_is_sent(seen: ReadTrace) -> None:
    coarse = coarse_heads(seen)
    assert coarse is not None
    asked = {"trace": coarse.token, "kind": "encoder", "layer": 1, "heads": [1, 2]}
    site = next(site for site in seen.maps if site.layer == 1)
    steps, scales = rounded(seen.maps[site].weights[1:3])
    answer = asked_heads(asked)
    assert np.array_equal(answer["weights"], steps)
    assert np.array_equal(answer["scales"], scales)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"trace": None}, {"trace": "x"}, {"trace": ["x"]}, {"kind": "nope"}, {"kind": None}),
        *({"layer": 9}, {"layer": "../1"}, {"layer": None}, {"heads": [0, 9]}, {"heads": [2, 1]}),
        *({"heads": [-1, 0]}, {"heads": 1}, {"heads": [0]}, {"heads": ["a", "b"]}, {"heads": None}),
    ],
)
def test_what_is_not_there_is_refused(seen: ReadTrace, wrong: dict[str, Any]) -> None:
    coarse = coarse_heads(seen)
    assert coarse is not None
    asked = {"trace": coarse.token, "kind": "encoder", "layer": 0, "heads": [0, 1]}
    with pytest.raises(GoneError, match=r"reload the page\.$"):
        asked_heads(asked | wrong)


def test_a_trace_that_no_page_shows_any_more_is_gone() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", 0)
        seen = read(a_trace(SOURCE))
        coarse = coarse_heads(seen)
        assert coarse is not None
        asked = {"trace": coarse.token, "kind": "encoder", "layer": 0, "heads": [0, 0]}
        assert asked_heads(asked)
        del seen
        gc.collect()
        with pytest.raises(GoneError):
            asked_heads(asked)


def test_tokens_of_two_readings_differ(seen: ReadTrace) -> None:
    one, other = coarse_heads(seen), coarse_heads(read(a_trace(SOURCE)))
    assert one is not None
    assert other is not None
    assert one.token != other.token
    assert coarse_heads(seen) is one
    assert set(one.grain) == {AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS}
