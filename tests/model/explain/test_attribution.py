"""Maps held against the truth: on a model whose answer hangs on one token, and as values."""

import pickle

import numpy as np
import pytest
import torch

from model.explain.agreement import mean_agreement, rank_correlation, top_agreement
from model.explain.attributing import (
    attribution_part,
    attribution_parts,
    attributions,
    cross_attributions,
    self_attributions,
)
from model.explain.attribution import TELLING, AttributionError, Attributions
from model.explain.attribution_methods import CLASSES
from model.explain.deletion import deletion_losses
from model.explain.self_attribution import joined
from model.paper.config import TransformerConfig
from model.paper.tokenizer import Tokenizer
from model.paper.transformer import Transformer
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, Site
from model.translate.translator import Translator

CROSS = Site(AttentionKind.CROSS, 0)
KEY, OTHER, READ, FOUND = range(4)
"""The dimensions of a source token that matters, of another, of a target token, of the answer."""
SURE = 1000.0
"""A score so much greater than others that their weights are zero exactly."""


def one_token_model(tokenizer: Tokenizer, key: int, answers: list[int]) -> Transformer:
    """Cross-attention looks at one token and at no other; the answers are likely if it is there.

    Every sum in it has one term that is not zero, so that nothing depends on how a sum is rounded.
    """
    model = Transformer(
        TransformerConfig(
            vocab_size=len(tokenizer),
            d_model=4,
            d_ff=4,
            n_heads=1,
            n_encoder_layers=1,
            n_decoder_layers=1,
            dropout=0.0,
            max_positions=64,
            positions="rotary",
            norm="pre",
            tie_embeddings=False,
            scale_embeddings=False,
        )
    ).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.endswith("norm.weight"):
                parameter.zero_()
        model.source_embedding.weight[:, OTHER] = 1
        model.source_embedding.weight[key] = torch.eye(4)[KEY]
        model.target_embedding.weight[:, READ] = 1
        attention = model.decoder.layers[0].cross_attention
        attention.w_q.bias[0] = SURE
        attention.w_k.weight[0, KEY] = 1
        attention.w_v.weight[0, KEY] = 1
        attention.w_o.weight[FOUND, 0] = 1
        model.output.weight[answers, FOUND] = 1
    return model


@pytest.fixture(scope="module")
def sentences(translator: Translator) -> list[Attributions]:
    """Of a model whose answer hangs on the letter k, which stands in many places."""
    tokenizer, target = translator.tokenizer, "Der Hund."
    key = tokenizer.encode("k")[-1]
    made = Translator(one_token_model(tokenizer, key, [*tokenizer.encode(target), 3]), tokenizer)
    letters = ["b", "c", "d", "f", "g", "h", "j", "l", "m", "n", "p", "q"]
    draw = np.random.default_rng(3)
    found = []
    # As many sentences as make the interval of shuffled maps a narrow one.
    for _ in range(12):
        words = list(draw.choice(letters, draw.integers(4, 6)))
        words.insert(draw.integers(len(words)), "k")
        found.append(attributions(made, made.trace(" ".join(words), target)))
    return found


def key_columns(sentence: Attributions) -> np.ndarray:
    return np.array([token.endswith("k") for token in sentence.source])


def test_without_the_one_token_every_answer_is_lost_and_without_another_none(
    sentences: list[Attributions],
) -> None:
    for sentence in sentences:
        own = key_columns(sentence)
        assert own.sum() == 1
        assert (sentence.deletion_losses[:, own] > 0.5).all()
        assert not sentence.deletion_losses[:, ~own].any()


@pytest.mark.parametrize("method", CLASSES)
def test_every_right_map_scores_one_and_a_shuffled_one_nothing(
    sentences: list[Attributions], method: str
) -> None:
    for of_map in ((CROSS, 0), (CROSS, None), (None, None)):
        found = mean_agreement([each.correlation(method, *of_map) for each in sentences])
        assert (found.mean, found.low, found.high) == (1, 1, 1)
        assert (found.n_sentences, found.n_left_out) == (len(sentences), 0)
        assert all(each.top_agreement(method, *of_map).mean == 1 for each in sentences)
    draw = np.random.default_rng(4)
    shuffled = mean_agreement(
        [
            rank_correlation(
                draw.permuted(sentence.map(method, CROSS).together, axis=1),
                sentence.deletion_losses,
            )
            for sentence in sentences
        ]
    )
    assert shuffled.low < 0 < shuffled.high
    assert shuffled.high - shuffled.low < 0.3


def test_losses_are_those_of_runs_whose_masks_hide_a_token(translator: Translator) -> None:
    trace = translator.trace("The cat sat on the mat.", "Die Katze saß auf der Matte.")
    losses = deletion_losses(translator, trace)
    n_source, n_target = len(trace.source), len(trace.target)
    assert losses.shape == (n_target, n_source)
    for position in range(n_source):
        # A token may look at itself: it is looked at by nobody, so that says nothing.
        encoder = np.ones((n_source, n_source), dtype=np.bool_)
        encoder[:, position] = False
        encoder[position, position] = True
        cross = np.ones((n_target, n_source), dtype=np.bool_)
        cross[:, position] = False
        without = translator.trace(
            trace.source_text,
            trace.text,
            under=Intervention(masks={"encoder": encoder, "cross": cross}),
        )
        np.testing.assert_allclose(
            losses[:, position], trace.log_probs - without.log_probs, atol=2e-5
        )


def test_losses_do_not_depend_on_how_many_are_computed_together(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = translator.trace("The dog sleeps.")
    together = deletion_losses(translator, trace)
    monkeypatch.setattr("model.explain.deletion._BATCH", 2)
    np.testing.assert_allclose(deletion_losses(translator, trace), together, atol=2e-5)


def test_a_text_is_translated_and_a_trace_taken_as_it_is(translator: Translator) -> None:
    sites = [CROSS, Site(AttentionKind.ENCODER, 1)]
    wanted = attributions(translator, "The man eats.", methods=["norms"], sites=sites)
    trace = translator.trace("The man eats.")
    found = attributions(translator, trace, methods=["norms"], sites=sites)
    assert (found.source, found.predictions) == (trace.source, trace.predictions)
    np.testing.assert_array_equal(found.deletion_losses, wanted.deletion_losses)
    assert [(each.method, each.site) for each in found.maps] == [
        ("norms", site) for site in (*sites, None)
    ]
    np.testing.assert_array_equal(found.maps[1].heads, wanted.maps[1].heads)


def test_the_recorded_weights_are_the_first_of_the_maps(translator: Translator) -> None:
    trace = translator.trace("A woman reads a book.")
    found = attributions(translator, trace, methods=["weights"])
    for site in translator.sites:
        weights = trace.maps[site].weights
        np.testing.assert_allclose(found.map("weights", site).heads, weights, atol=1e-6)
        np.testing.assert_allclose(
            found.map("weights", site).together, weights.mean(axis=0), atol=1e-6
        )


def test_every_map_with_the_axes_of_the_truth_is_held_against_it(translator: Translator) -> None:
    later, encoder = Site(AttentionKind.CROSS, 1), Site(AttentionKind.ENCODER, 0)
    found = attributions(
        translator,
        "The woman sees the cat.",
        methods=["weights", "norms"],
        sites=[encoder, CROSS, later],
    )
    agreements = found.agreements(later={1: True})
    heads = (None, 0, 1, 2, 3)
    assert set(agreements) == {
        (method, *of_map)
        for method in ("weights", "norms")
        for of_map in ((None, None), *((site, head) for site in (CROSS, later) for head in heads))
    }
    losses = found.deletion_losses
    estimate = found.map("norms", CROSS).heads[2]
    read_later = found.map("weights", later).heads[1]
    for place, both in {
        ("norms", CROSS, 2): (estimate, losses),
        # The row that has read a token is the next one; the last token is never read.
        ("weights", later, 1): (read_later[1:], losses[:-1]),
    }.items():
        wanted = rank_correlation(*both), top_agreement(*both, least=TELLING)
        held = agreements[place]
        for own, rows in zip((held.correlation, held.top), wanted, strict=True):
            np.testing.assert_array_equal(own.rows, rows.rows)
    shown = found.estimate("weights", later, 1, later=True)
    assert shown.shape == losses.shape
    np.testing.assert_array_equal(shown[:-1], read_later[1:])
    assert np.isnan(shown[-1]).all()


def test_a_gradient_is_of_its_rows_own_prediction_in_any_layer(translator: Translator) -> None:
    found = attributions(
        translator, "The man eats.", methods=["gradient_times_weight"], sites=[CROSS]
    )
    correlation = found.correlation("gradient_times_weight", CROSS, later=True)
    assert len(correlation.rows) == len(found.target)


@pytest.mark.parametrize("method", ["gradient_times_weight", "rollout"])
def test_the_whole_model_is_never_read_one_row_later(translator: Translator, method: str) -> None:
    found = attributions(translator, "The man eats.", methods=[method])
    plain, later = (found.correlation(method, None, later=later) for later in (False, True))
    assert len(later.rows) == len(found.target)
    np.testing.assert_array_equal(plain.rows, later.rows)


def test_what_is_computed_in_parts_is_what_is_computed_at_once(translator: Translator) -> None:
    # More rows than parts, so that some part has two.
    trace = translator.trace("The cat sat on the mat. The dog sat on the mat.", "Die Katze " * 7)
    assert len(trace.target) > 12
    pieces = attribution_parts(translator, trace)
    columns = range(len(trace.source))
    in_parts = joined(
        trace,
        [attribution_part(translator, trace, each) for each in pieces],
        [deletion_losses(translator, trace, columns[start : start + 3]) for start in columns[::3]],
    )
    at_once = cross_attributions(translator, trace)
    np.testing.assert_allclose(in_parts.deletion_losses, at_once.deletion_losses, atol=2e-5)
    assert len(in_parts.maps) == len(at_once.maps)
    for each in at_once.maps:
        found = in_parts.map(each.method, each.site)
        np.testing.assert_allclose(found.heads, each.heads, atol=2e-5)
        np.testing.assert_allclose(found.together, each.together, atol=2e-5)


def test_maps_of_self_attention_are_those_of_the_whole_without_a_truth(
    translator: Translator,
) -> None:
    trace = translator.trace("The man eats.")
    for token in (None, 1):
        whole = attributions(translator, trace, token=token)
        for kind in (AttentionKind.ENCODER, AttentionKind.DECODER):
            site = Site(kind, 1)
            found = self_attributions(translator, trace, site, token=token)
            assert found.token == token
            for method in CLASSES:
                one, other = found.map(method), whole.map(method, site)
                np.testing.assert_array_equal(one.heads, other.heads)
                np.testing.assert_array_equal(one.together, other.together)
    with pytest.raises(AttributionError, match=r"cross\.0 is no self-attention"):
        self_attributions(translator, trace, CROSS)


def test_arrays_are_read_only_in_another_process_too(translator: Translator) -> None:
    found = attributions(translator, "The cat eats.", methods=["weights"])
    copied = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copied.deletion_losses, found.deletion_losses)
    for each in (found, copied):
        for array in (each.deletion_losses, each.maps[0].heads, each.maps[0].together):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


def test_what_is_not_there_is_refused_in_a_sentence(translator: Translator) -> None:
    trace = translator.trace("The cat eats.")
    found = attributions(translator, trace, methods=["weights"])
    with pytest.raises(AttributionError, match=r"no map of norms for cross\.0; there are weights"):
        found.map("norms", CROSS)
    with pytest.raises(AttributionError, match="has 4 heads, counted from 0; there is no head 4"):
        found.maps[0].of(4)
    with pytest.raises(AttributionError, match="the whole model has 0 heads"):
        found.correlation("weights", None, 0)
    with pytest.raises(AttributionError, match="choose cross-attention"):
        found.correlation("weights", Site(AttentionKind.ENCODER, 0))
    with pytest.raises(AttributionError, match="no method Norms; choose among weights, norms"):
        attributions(translator, trace, methods=["Norms"])
    with pytest.raises(AttributionError, match=r"no site cross\.9; choose among encoder\.0"):
        attributions(translator, trace, sites=[Site(AttentionKind.CROSS, 9)])
    for row in (-1, len(trace.target)):
        with pytest.raises(AttributionError, match=f"there is no row {row}"):
            attributions(translator, trace, token=row)
