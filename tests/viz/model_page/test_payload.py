"""What the browser draws is the trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from model.explain.block_outputs import block_outputs
from model.trace.attention_map import AttentionKind
from model.trace.blocks import Blocks
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.explorer_payload import Decoded
from tests.kit.traces import DECODER_WORDS, ENCODER_WORDS, entries, packed
from viz.browser.envelope import content_id
from viz.draw.labels import axis_texts
from viz.model_page.arcs import arcs_of
from viz.model_page.payload import DIMENSIONS, Figure, pack


@pytest.fixture(scope="module")
def blocks(translator: Translator, trace: Trace) -> Blocks:
    return block_outputs(translator, trace)


@pytest.fixture(scope="module")
def figure(translator: Translator, trace: Trace, blocks: Blocks) -> Figure:
    return Figure(
        trace=trace,
        arcs=arcs_of(trace, None),
        blocks=blocks,
        positions={AttentionKind.ENCODER: translator.position_table(len(trace.source))},
        norm="post",
        labels={},
        pages=("heads",),
    )


def test_every_weight_is_the_traces_own_to_half_a_step(figure: Figure, trace: Trace) -> None:
    header = Decoded(pack(figure, key="k")).header
    kinds = set()
    for block in [block for stack in header["stacks"] for block in stack["blocks"]]:
        shape = len(block["layers"]), block["heads"], block["queries"], block["keys"]
        found = block["weights"].reshape(shape)
        for place, layer in enumerate(block["layers"]):
            seen = trace.attention(block["kind"], layer)
            np.testing.assert_allclose(found[place] / 255, seen.weights, atol=0.5 / 255 + 1e-6)
        mask = block["allowed"]
        allowed = trace.attention(block["kind"], 0).allowed
        if mask is None:
            assert allowed.all()
        else:
            assert (mask == allowed.ravel()).all()
        kinds.add(block["kind"])
    assert kinds == {"encoder", "decoder", "cross"}


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
    encoder, decoder = header["stacks"]
    assert encoder["tokens"] == axis_texts(trace.source)
    assert decoder["tokens"] == axis_texts(trace.target)
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


def test_a_token_that_is_none_of_the_likeliest_takes_the_last_place(
    figure: Figure, trace: Trace
) -> None:
    given = Blocks(
        added={},
        likeliest=tuple(trace.source[:2] for _ in trace.target),
        probabilities=np.full((len(trace.target), 2), 0.25, np.float32),
    )
    other = Figure(trace=trace, arcs=figure.arcs, blocks=given, positions={}, labels={})
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


def test_positions_are_rows_of_the_models_table(figure: Figure, translator: Translator) -> None:
    header = Decoded(pack(figure, key="k")).header
    encoder, decoder = header["stacks"]
    assert decoder["positions"] is None
    said = encoder["positions"]
    table = translator.position_table(len(encoder["tokens"]))
    shown = table[:, :DIMENSIONS]
    assert (said["dimensions"], said["of"]) == (DIMENSIONS, table.shape[1])
    values = (said["cells"].reshape(shown.shape) / 127.5 - 1) * said["limit"]
    np.testing.assert_allclose(values, shown, atol=said["limit"] / 127.5)


def test_without_a_table_it_says_how_positions_act(figure: Figure, trace: Trace) -> None:
    acts = Figure(trace=trace, arcs=figure.arcs, positions={}, acts="turns", labels={})
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
    figure = Figure(trace=trace, arcs=arcs_of(trace, None), positions={}, labels={})
    header = Decoded(pack(figure, key="k")).header
    (stack,) = header["stacks"]
    assert stack["kind"] == kind
    assert [each["text"] for each in header["written"]] == stack["tokens"]
    assert (header["rows"], header["offset"], header["next"]) == (1, 0, None)


def test_the_same_figure_is_the_same_content_and_another_moment_another(figure: Figure) -> None:
    assert content_id(pack(figure, key="k")) == content_id(pack(figure, key="k"))
    assert content_id(pack(figure, key="k")) != content_id(pack(figure, key="k", moment=2))
