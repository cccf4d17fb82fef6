"""Interventions and searches as values: equal where runs are, and without effect by default."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from model.paper.search import AS_IN_THE_PAPER, Sampling, Search
from model.record.head_edits import ReplacedWeights
from model.record.intervention import UNCHANGED, Intervention, PositionEdit
from model.record.mask_edits import MaskEdits
from model.record.mask_presets import PRESETS
from model.record.mask_rules import MaskError
from model.trace.attention_map import ARRAYS, AttentionKind, Site
from model.trace.trace import Trace
from model.translate.translator import Translator

TEXT, TARGET = "The cat sat on the mat.", "Die Katze saß auf der Matte."
KINDS = (AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS)

places = st.one_of(
    st.sampled_from(KINDS), st.builds(Site, st.sampled_from(KINDS), st.integers(0, 3))
)
rules = st.one_of(
    st.sampled_from(["none", "causal", "first_token"]).map(lambda name: PRESETS[name].rule()),
    st.integers(0, 3).map(lambda width: PRESETS["window"].rule(width=width)),
    st.lists(st.integers(0, 3)).map(lambda keys: PRESETS["block_words"].rule(keys=keys)),
)
matrices = arrays.arrays(
    np.bool_, arrays.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=4)
)
masks = st.dictionaries(
    places, st.one_of(matrices, rules, st.builds(lambda a, b: a & b, rules, rules))
)
edits = st.builds(
    PositionEdit,
    scale=st.floats(-2, 2),
    shift=st.integers(-3, 3),
    reverse=st.booleans(),
    side=st.sampled_from(["both", "encoder", "decoder"]),
)
orders = st.none() | st.permutations(range(4))
heads = st.dictionaries(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 3), st.integers(0, 3)),
    st.one_of(
        st.floats(0, 1),
        st.sampled_from(["uniform", "diagonal", "shuffled", "first"]),
        st.lists(st.floats(-2, 2), min_size=1, max_size=3),
        st.builds(ReplacedWeights, st.just("shuffled"), st.integers(0, 3)),
    ),
    max_size=4,
)
interventions = st.builds(
    Intervention, masks=masks, positions=edits, source_order=orders, heads=heads
)


def rebuilt(mask: Any) -> Any:
    """The same mask from other objects."""
    return mask.copy() if isinstance(mask, np.ndarray) else pickle.loads(pickle.dumps(mask))


def alike(one: Any, other: Any) -> bool:
    """Whether two masks are the same array or rule."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return type(one) is type(other) and bool(one == other)


@given(interventions)
def test_interventions_built_alike_are_one_key(under: Intervention) -> None:
    again = Intervention(
        masks={place: rebuilt(mask) for place, mask in reversed([*under.masks.items()])},
        positions=dataclasses.replace(under.positions),
        source_order=None if under.source_order is None else list(under.source_order),
        heads=dict(reversed(pickle.loads(pickle.dumps([*under.heads.items()])))),
    )
    assert again == under
    assert {under: "seen"}[again] == "seen"


@given(interventions, interventions)
def test_two_interventions_are_equal_only_if_every_part_of_them_is(
    one: Intervention, other: Intervention
) -> None:
    same_masks = one.masks.keys() == other.masks.keys() and all(
        alike(mask, other.masks[place]) for place, mask in one.masks.items()
    )
    parts = (one.positions, one.source_order) == (other.positions, other.source_order)
    same_heads = dict(one.heads) == dict(other.heads)
    assert (one == other) is (same_masks and parts and same_heads)
    if one == other:
        assert hash(one) == hash(other)


@given(matrices, st.data())
def test_one_cell_makes_another_intervention(allowed: Any, data: st.DataObject) -> None:
    cell = tuple(data.draw(st.integers(0, size - 1)) for size in allowed.shape)
    changed = allowed.copy()
    changed[cell] ^= True
    one, other = (Intervention(masks={"cross": each}) for each in (allowed, changed))
    assert one != other
    transposed = Intervention(masks={"cross": allowed.reshape(allowed.shape[::-1])})
    assert (one == transposed) is (allowed.shape == allowed.shape[::-1])


@given(edits, orders, st.sampled_from(["both", "encoder", "decoder"]))
def test_positions_at_rest_are_no_intervention(edit: Any, order: Any, side: Any) -> None:
    assert Intervention(positions=PositionEdit(side=side)) == UNCHANGED
    assert (Intervention(positions=edit) == UNCHANGED) is edit.at_rest
    assert (Intervention(source_order=order) == UNCHANGED) is (order is None)


def test_an_intervention_is_frozen_with_all_it_holds() -> None:
    allowed = np.ones((2, 2), dtype=bool)
    under = Intervention(masks={"cross": allowed, "decoder": PRESETS["causal"]})
    before = hash(under)
    allowed[0, 0] = False
    assert under == Intervention(
        masks={"cross": np.ones((2, 2), dtype=bool), "decoder": PRESETS["causal"].rule()}
    )
    assert hash(under) == before
    with pytest.raises(ValueError, match="read-only"):
        under.masks[AttentionKind.CROSS][0, 0] = False
    with pytest.raises(dataclasses.FrozenInstanceError):
        under.masks = {}  # type: ignore[misc]
    with pytest.raises(TypeError):
        under.masks["encoder"] = allowed  # type: ignore[index]


def test_a_tensor_is_the_same_mask_as_its_array() -> None:
    tensor = torch.tensor([[True, False]])
    assert MaskEdits({"cross": tensor}) == MaskEdits({("cross"): tensor.numpy()})


def test_an_intervention_with_a_wrong_mask_is_refused_at_once() -> None:
    with pytest.raises(MaskError, match="must contain True"):
        Intervention(masks={"cross": [[0.5]]})
    wrong: Any = None
    with pytest.raises(MaskError, match="a NoneType does not say"):
        Intervention(masks=wrong)


@given(interventions)
def test_the_part_of_the_encoder_leaves_the_decoder_alone(under: Intervention) -> None:
    part = under.of_encoder
    for layer in range(4):
        encoder = Site(AttentionKind.ENCODER, layer)
        assert alike(part.masks.at(encoder), under.masks.at(encoder))
        for kind in (AttentionKind.DECODER, AttentionKind.CROSS):
            assert part.masks.at(Site(kind, layer)) is None
    assert part.positions.concerns("encoder") is under.positions.concerns("encoder")
    assert not part.positions.concerns("decoder") or under.positions.concerns("decoder")
    assert part.source_order == under.source_order
    assert dict(part.heads) == {
        place: edit for place, edit in under.heads.items() if place[0].kind == "encoder"
    }
    assert part.of_encoder == part


def assert_same_bits(found: Trace, expected: Trace) -> None:
    assert (found.source, found.target, found.text) == (
        expected.source,
        expected.target,
        expected.text,
    )
    assert found.predictions == expected.predictions
    np.testing.assert_array_equal(found.log_probs, expected.log_probs)
    for site, seen in expected.maps.items():
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(found.maps[site], name), getattr(seen, name))


@pytest.mark.parametrize(
    "search", [AS_IN_THE_PAPER, Search(beam=1), Search(sampling=Sampling(seed=5))], ids=str
)
def test_the_identity_changes_not_one_bit(translator: Translator, search: Search) -> None:
    nothing = Intervention(
        masks={}, positions=PositionEdit(side="decoder"), heads={("cross", 0, 1): 1}
    )
    plain = translator.translate(TEXT, search=search, keep_distributions=True)
    same = translator.translate(TEXT, search=search, keep_distributions=True, under=nothing)
    assert (plain.token_ids, plain.log_probs) == (same.token_ids, same.log_probs)
    np.testing.assert_array_equal(plain.distributions, same.distributions)
    assert_same_bits(translator.trace_of(same, under=nothing), translator.trace_of(plain))
    assert_same_bits(translator.trace(TEXT, TARGET, under=nothing), translator.trace(TEXT, TARGET))
    texts = [TEXT, "The cat eats."]
    both = [
        translator.trace_batch(texts, search=search, **under)
        for under in ({}, {"under": nothing}, {"under": [nothing, nothing]})
    ]
    for other in both[1:]:
        for found, expected in zip(other.padded, both[0].padded, strict=True):
            assert_same_bits(found, expected)
    np.testing.assert_array_equal(translator.encode(TEXT, under=nothing), translator.encode(TEXT))


def test_a_batch_of_one_is_recorded_under_an_intervention_as_a_sentence_is(
    translator: Translator,
) -> None:
    n_words = len(translator.encode(TEXT)) - 1
    under = Intervention(
        masks={"cross": PRESETS["window"].rule(width=2), ("encoder", 0): PRESETS["causal"].rule()},
        positions=PositionEdit(scale=0.5, shift=1),
        source_order=range(n_words)[::-1],
    )
    alone = translator.trace(TEXT, TARGET, under=under)
    for found in (
        translator.trace_batch([TEXT], [TARGET], under=under).padded[0],
        translator.trace_batch([TEXT], [TARGET], under=[under]).padded[0],
    ):
        assert_same_bits(found, alone)
    assert not np.array_equal(alone.log_probs, translator.trace(TEXT, TARGET).log_probs)
    written = translator.trace(TEXT, under=under)
    assert_same_bits(translator.trace_batch([TEXT], under=under).traces[0], written)


@settings(max_examples=20)
@given(
    st.integers(1, 5),
    st.floats(0, 2),
    st.none() | st.builds(Sampling, temperature=st.floats(0.1, 2), seed=st.integers(0, 9)),
)
def test_searches_are_keys_too(beam: int, penalty: float, sampling: Sampling | None) -> None:
    one, other = (
        Search(
            beam=beam,
            length_penalty=penalty,
            sampling=None if sampling is None else dataclasses.replace(sampling),
        )
        for _ in range(2)
    )
    assert {one: "seen"}[other] == "seen"
    assert one != dataclasses.replace(one, beam=beam + 1)


def test_a_search_without_settings_is_the_papers(translator: Translator) -> None:
    explicit = translator.translate(TEXT, search=Search(beam=4, length_penalty=0.6))
    assert (explicit.token_ids, explicit.score) == (
        translator.translate(TEXT).token_ids,
        translator.translate(TEXT).score,
    )


@given(masks, edits, st.integers(0, 5), st.integers(0, 5))
def test_without_padding_a_sentence_keeps_what_is_said_of_its_words(
    masks: Any, edit: PositionEdit, n_source: int, n_target: int
) -> None:
    under = Intervention(masks=masks, positions=edit, heads={("decoder", 0, 0): 0.5})
    reads_padding = any(
        isinstance(mask, np.ndarray)
        and (place if isinstance(place, str) else place.kind).key_side == "source"
        and mask[..., n_source:].any()
        for place, mask in under.masks.items()
    )
    alone = under.without_padding(n_source, n_target)
    assert (alone is None) is reads_padding
    if alone is None:
        return
    assert (alone.positions, alone.heads) == (under.positions, under.heads)
    assert alone.masks.keys() == under.masks.keys()
    for place, mask in under.masks.items():
        kind = place if isinstance(place, str) else place.kind
        rows, columns = kind.axes(n_source, n_target, None)
        expected = mask[..., :rows, :columns] if isinstance(mask, np.ndarray) else mask
        assert alike(alone.masks[place], expected)


def test_a_rule_over_padding_reads_it() -> None:
    rule = PRESETS["ignore_padding"].rule()
    for each in (rule, rule & PRESETS["causal"].rule()):
        assert Intervention(masks={"encoder": each}).without_padding(3, 3) is None
    assert Intervention(masks={"encoder": PRESETS["none"]}).without_padding(3, 3) is not None
