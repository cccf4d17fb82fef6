"""What the browser draws is the trace."""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from model.explain.block_outputs import block_outputs
from model.explain.facts import facts_of
from model.explain.reading import read
from model.trace.attention_map import AttentionKind
from model.trace.blocks import Blocks
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.trace_payload import Decoded
from tests.kit.traces import DECODER_WORDS, ENCODER_WORDS, entries, packed
from viz.browser import trace_payload
from viz.browser.envelope import content_id
from viz.browser.trace_payload import VECTORS
from viz.browser.trace_payload import pack as pack_trace
from viz.draw.labels import axis_texts
from viz.model_page.arcs import arcs_of
from viz.model_page.payload import DIMENSIONS, Figure, pack
from viz.model_page.picture import PlayedSentence


@pytest.fixture(scope="module")
def blocks(translator: Translator, trace: Trace) -> Blocks:
    return block_outputs(translator, trace)


def of(trace: Trace, **given: Any) -> Figure:
    """A figure of which only the trace is known, but for what is given."""
    seen = read(trace)
    usual = {"arcs": arcs_of(trace, None), "positions": {}, "labels": {}}
    return Figure(**{"trace": trace, "seen": seen, "facts": facts_of(seen.maps), **usual, **given})


@pytest.fixture(scope="module")
def figure(translator: Translator, trace: Trace, blocks: Blocks) -> Figure:
    positions = {AttentionKind.ENCODER: translator.position_table(len(trace.source))}
    return of(trace, blocks=blocks, positions=positions, norm="post", pages=("heads",))


def test_it_holds_the_trace_as_the_heads_view_is_sent_it(figure: Figure) -> None:
    found = Decoded(pack(figure, key="k"))
    sent = Decoded(pack_trace(figure.seen, figure.facts, {}))
    assert found.header.keys() > sent.header.keys()
    for name in sent.header.keys() - {"payload"}:
        np.testing.assert_equal(found.header[name], sent.header[name])
    blocks = [block["kind"] for stack in found.header["stacks"] for block in stack["blocks"]]
    assert blocks == ["encoder", "decoder", "cross"]
    for site, seen in figure.seen.maps.items():
        assert (found.weights(site.kind)[site.layer] == seen.weights).all()


def test_what_makes_a_weight_goes_along_where_it_is_asked_for(
    figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a file, and as far as there is room."""
    found = Decoded(pack(figure, key="k", vectors=True))
    for site, seen in figure.seen.maps.items():
        for name in VECTORS:
            array = getattr(seen, name)
            sent = found.kind(site.kind)[name].reshape(-1, *array.shape)
            assert (sent[site.layer] == array).all()
    usual = Decoded(pack(figure, key="k"))
    size = sum(getattr(seen, name).size for seen in figure.seen.maps.values() for name in VECTORS)
    monkeypatch.setattr(trace_payload, "EXACT_CELLS", size - 1)
    many = Decoded(pack(figure, key="k", vectors=True))
    for header in (usual.header, many.header):
        assert {kind[name] for kind in header["kinds"] for name in VECTORS} == {None}


def test_arcs_and_shares_are_exact(figure: Figure, blocks: Blocks) -> None:
    header = Decoded(pack(figure, key="k")).header
    weights = figure.arcs.weights
    found = header["arcs"]["weights"]
    assert (found.reshape(weights.shape) == weights).all()
    for stack in header["stacks"]:
        added = blocks.added[AttentionKind(stack["kind"])]
        assert (stack["added"].reshape(added.shape) == added).all()


def test_tokens_and_words_are_those_of_the_trace(figure: Figure, trace: Trace) -> None:
    header = Decoded(pack(figure, key="k")).header
    assert (header["rows"], header["offset"]) == (2, 1)
    assert [word["text"] for word in header["read"]][-1] == "</s>"


def test_what_comes_next_has_the_token_that_comes_and_its_probability(
    figure: Figure, trace: Trace
) -> None:
    header = Decoded(pack(figure, key="k")).header
    assert trace.log_probs is not None
    texts = axis_texts(trace.predictions)
    for step, offers in enumerate(header["next"]):
        assert offers["texts"][offers["chosen"]] == texts[step]
        share = offers["shares"][offers["chosen"]]
        assert share == pytest.approx(float(np.exp(trace.log_probs[step])), rel=1e-4)
        assert sum(offers["shares"]) <= 1 + 1e-5


def test_at_every_temperature_shares_are_the_softmax_of_logits_over_it(
    figure: Figure, translator: Translator, trace: Trace, blocks: Blocks
) -> None:
    header = Decoded(pack(figure, key="k")).header
    source, target = torch.tensor([trace.source.ids]), torch.tensor([trace.target.ids])
    with torch.inference_mode():
        logits = translator.model(source, target)[0].float()
    assert 1 in header["temperatures"]
    for place, temperature in enumerate(header["temperatures"]):
        softmax = torch.softmax(logits / temperature, dim=-1)
        for step, offers in enumerate(header["next"]):
            ids = list(blocks.likeliest[step].ids)
            if trace.predictions.ids[step] not in ids:
                ids[-1] = trace.predictions.ids[step]
            # As payload.js does.
            drawn = np.exp(np.log(offers["shares"]) / temperature - offers["normalizers"][place])
            np.testing.assert_allclose(drawn, softmax[step, ids], rtol=1e-3, atol=1e-6)


def test_a_token_that_is_none_of_the_likeliest_takes_the_last_place(trace: Trace) -> None:
    given = Blocks(
        added={},
        likeliest=tuple(trace.source[:2] for _ in trace.target),
        probabilities=np.full((len(trace.target), 2), 0.25, np.float32),
    )
    other = of(trace, blocks=given)
    header = Decoded(pack(other, key="k")).header
    assert trace.log_probs is not None
    own = trace.predictions.ids[0]
    assert own not in trace.source.ids[:2]
    first = header["next"][0]
    assert first["chosen"] == 1
    # Without them, no other temperature is offered.
    assert first["normalizers"] is None
    assert first["shares"] == pytest.approx([0.25, float(np.exp(trace.log_probs[0]))])
    assert header["stacks"][0]["added"] is None


def test_positions_are_rows_of_the_models_table(
    figure: Figure, translator: Translator, trace: Trace
) -> None:
    header = Decoded(pack(figure, key="k")).header
    encoder, decoder = header["stacks"]
    assert decoder["positions"] is None
    said = encoder["positions"]
    table = translator.position_table(len(trace.source))
    shown = table[:, :DIMENSIONS]
    assert (said["dimensions"], said["of"]) == (DIMENSIONS, table.shape[1])
    values = (said["cells"].reshape(shown.shape) / 127.5 - 1) * said["limit"]
    np.testing.assert_allclose(values, shown, atol=said["limit"] / 127.5)


def test_without_a_table_it_says_how_positions_act(trace: Trace) -> None:
    acts = of(trace, acts="turns")
    header = Decoded(pack(acts, key="k")).header
    for stack in header["stacks"]:
        assert {name: each for name, each in stack["positions"].items() if each is not None} == {
            "acts": "turns"
        }
    assert header["next"] is None


@pytest.mark.parametrize(
    ("words", "kind"), [(ENCODER_WORDS, "encoder"), (DECODER_WORDS, "decoder")]
)
def test_half_a_transformer_is_one_stack(tmp_path: Path, words: list[str], kind: str) -> None:
    file = tmp_path / "trace.npz"
    file.write_bytes(packed(entries(words, kind)))
    trace = Trace.load(file)
    figure = of(trace)
    header = Decoded(pack(figure, key="k")).header
    (stack,) = header["stacks"]
    assert stack["kind"] == kind
    assert [[each["text"] for each in header["written"]]] == header["axes"]
    assert (header["rows"], header["offset"], header["next"]) == (1, 0, None)


def test_a_file_has_what_makes_a_weight_and_nobody_to_ask(figure: Figure) -> None:
    shown = replace(figure, effects={})
    assert Decoded(pack(shown, key="k")).header["canSwitchOff"]
    (packed_in,) = re.findall(r'id="payload">([^<]*)<', PlayedSentence(shown).page(False))
    found = Decoded(zlib.decompress(base64.b64decode(packed_in)))
    assert (found.header["asks"], found.header["canSwitchOff"]) == (None, False)
    assert found.kind("cross")["q"] is not None


@pytest.mark.parametrize("change", [{"moment": 2}, {"place": "cross.0.5"}, {"walk": 3}])
def test_the_same_figure_is_the_same_content_and_another_moment_or_place_another(
    figure: Figure, change: dict[str, Any]
) -> None:
    usual = content_id(pack(figure, key="k"))
    assert usual == content_id(pack(figure, key="k"))
    assert usual != content_id(pack(figure, key="k", **change))
