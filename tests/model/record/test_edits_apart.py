"""Edits of masks, positions and heads hold in their run alone, and leave the model as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

from model.paper.search import Search
from model.paper.transformer import Transformer
from model.record.head_editing import editing_heads
from model.record.intervention import UNCHANGED, Intervention, PositionEdit
from model.record.mask_editing import editing
from model.record.mask_presets import block_words, causal, everything, first_token
from model.record.position_editing import editing_positions
from model.trace.trace import Trace
from model.translate.translator import Translator

TEXT, TARGET, OTHER = "The cat sat on the mat.", "Die Katze saß auf der Matte.", "The woman sees."
EDITS = (
    UNCHANGED,
    Intervention(masks={"decoder": everything}),
    Intervention(masks={"decoder": first_token}),
    Intervention(masks={"cross": lambda q, k: block_words(q, k, keys=[1]), "encoder": causal}),
    Intervention(positions=PositionEdit(scale=0.2)),
    Intervention(positions=PositionEdit(shift=7)),
    Intervention(heads={("cross", 0, 1): 0, ("encoder", 1, 0): "first"}),
    Intervention(heads={("decoder", 1, 1): 0.5}),
)
Block = Callable[[Intervention], AbstractContextManager[None]]
BLOCKS: dict[str, tuple[Block, Intervention, Intervention]] = {
    "masks": (lambda under: editing(under.masks), EDITS[2], EDITS[1]),
    "positions": (lambda under: editing_positions(under.positions), EDITS[4], EDITS[5]),
    "heads": (lambda under: editing_heads([under.heads]), EDITS[6], EDITS[7]),
}
each_block = pytest.mark.parametrize(("block", "one", "other"), BLOCKS.values(), ids=BLOCKS.keys())


def require_same(found: Trace, expected: Trace) -> None:
    assert found.predictions == expected.predictions
    np.testing.assert_array_equal(found.log_probs, expected.log_probs)  # type: ignore[arg-type]
    for site, seen in expected.maps.items():
        for name in ("weights", "allowed", "scores", "q", "k", "v"):
            np.testing.assert_array_equal(getattr(found.maps[site], name), getattr(seen, name))


def state_of(model: Transformer) -> dict[str, Any]:
    hooks = [len(each._forward_hooks) + len(each._forward_pre_hooks) for each in model.modules()]
    tensors = {**dict(model.named_buffers()), **model.state_dict()}
    return {"hooks": hooks, **{name: value.tolist() for name, value in tensors.items()}}


@pytest.mark.parametrize("layout", ["batched", "per_head"])
def test_threads_with_different_edits_never_mix(
    build: Callable[..., Transformer], translator: Translator, layout: str
) -> None:
    tokenizer = translator.tokenizer
    shared = Translator(build(vocab_size=len(tokenizer), head_layout=layout), tokenizer)

    def run(under: Intervention) -> tuple[Trace, Any]:
        decoded = shared.translate(OTHER, search=Search(beam=2), under=under)
        return shared.trace(TEXT, TARGET, under=under), decoded.log_probs

    expected = [run(under) for under in EDITS]
    ready = threading.Barrier(len(EDITS))

    def repeat(under: Intervention) -> list[tuple[Trace, Any]]:
        ready.wait(timeout=60)
        return [run(under) for _ in range(3)]

    with ThreadPoolExecutor(len(EDITS)) as pool:
        results = list(pool.map(repeat, EDITS))
    for runs, (trace, log_probs) in zip(results, expected, strict=True):
        for found, decoded in runs:
            require_same(found, trace)
            np.testing.assert_array_equal(decoded, log_probs)
    assert len({trace.log_probs.tobytes() for trace, _ in expected}) == len(EDITS)  # type: ignore[union-attr]


def test_dozens_of_edits_leave_the_shared_model_as_it_was(translator: Translator) -> None:
    model, before = translator.model, translator.trace(TEXT)
    state = state_of(model)
    tables = model.encoder.positions.table, model.decoder.positions.table
    for number in range(48):
        under = EDITS[number % len(EDITS)]
        if number % 3:
            translator.trace(TEXT, TARGET, under=under)
        else:
            translator.translate(TEXT, search=Search(beam=2), under=under)
    assert state_of(model) == state
    assert model.encoder.positions.table is tables[0]
    assert model.decoder.positions.table is tables[1]
    require_same(translator.trace(TEXT), before)


@each_block
def test_an_edit_ends_with_its_block_also_after_an_error(
    translator: Translator, block: Block, one: Intervention, other: Intervention
) -> None:
    plain = translator.trace(TEXT, TARGET)
    with pytest.raises(RuntimeError, match="stop"), block(one):
        raise RuntimeError("stop")
    require_same(translator.trace(TEXT, TARGET), plain)


@each_block
def test_an_edit_around_a_call_holds_in_it_and_inner_ones_hold_alone(
    translator: Translator, block: Block, one: Intervention, other: Intervention
) -> None:
    with block(one):
        around = translator.trace(TEXT, TARGET)
        own = translator.trace(TEXT, TARGET, under=other)
        with block(other):
            inner = translator.trace(TEXT, TARGET)
        after = translator.trace(TEXT, TARGET)
    for found, under in ((around, one), (own, other), (inner, other), (after, one)):
        require_same(found, translator.trace(TEXT, TARGET, under=under))
