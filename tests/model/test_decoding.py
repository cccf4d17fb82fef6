"""Decoding against brute force and against the teacher-forced pass."""

from __future__ import annotations

import itertools

import pytest
import torch

from model.decoding import (
    EXTRA_LENGTH,
    DecodingError,
    Hypothesis,
    beam_search,
    greedy,
    length_penalty,
    sample,
)
from model.transformer import Transformer

BOS, EOS = 2, 3


@pytest.fixture(scope="module")
def model(build) -> Transformer:
    """Untrained, with few and sharply uneven tokens, so that searches end and paths differ."""
    model = build(vocab_size=9, scale_embeddings=False)
    with torch.no_grad():
        model.output.weight.mul_(6)
    return model


@pytest.fixture(scope="module")
def sources() -> torch.Tensor:
    generator = torch.Generator().manual_seed(11)
    ids = torch.randint(4, 9, (6, 7), generator=generator)
    for row, length in enumerate((7, 3, 5, 2, 6, 4)):
        ids[row, length - 1] = EOS
        ids[row, length:] = 0
    return ids


def teacher_forced(model: Transformer, source: torch.Tensor, ids: tuple[int, ...]) -> torch.Tensor:
    """Log-probabilities (target, vocab) of a whole target in one pass."""
    inputs = torch.tensor([[BOS, *ids[:-1]]])
    with torch.inference_mode():
        return model(source[source != 0][None], inputs)[0].log_softmax(dim=-1)


def assert_same(found: Hypothesis, expected: Hypothesis) -> None:
    assert found.token_ids == expected.token_ids
    assert found.log_probs == pytest.approx(expected.log_probs, abs=1e-5)
    assert found.score == pytest.approx(expected.score, abs=1e-5)
    assert found.finished == expected.finished


def test_greedy_takes_the_likeliest_choosable_token_of_the_teacher_forced_pass(model, sources):
    for source, found in zip(sources, greedy(model, sources), strict=True):
        log_probs = teacher_forced(model, source, found.token_ids)
        choosable = log_probs.clone()
        choosable[:, [0, 1, BOS]] = -torch.inf
        assert choosable.argmax(dim=-1).tolist() == list(found.token_ids)
        assert found.log_probs == pytest.approx(
            [log_probs[step, token].item() for step, token in enumerate(found.token_ids)], abs=1e-5
        )


def test_a_beam_that_holds_every_path_finds_the_best_of_all_sentences(build):
    # Four words can be said, at two places: 16 live paths, and a beam of 18.
    model = build(vocab_size=40, scale_embeddings=False)
    with torch.no_grad():
        model.output.weight.mul_(4)
    source = torch.tensor([[4, 5, 6, 7, EOS]])
    reachable = [4, 5, 6, 7]
    masked = _SilentFrom(model, 8)
    expected = []
    for length in (1, 2, 3):
        for words in itertools.product(reachable, repeat=length - 1):
            ids = (*words, EOS)
            log_probs = masked.log_probs(source, ids)
            total = sum(log_probs[step, token].item() for step, token in enumerate(ids))
            expected.append((total / length_penalty(length, 0.6), ids))
    score, ids = max(expected)
    found = beam_search(masked, source, beam=18, alpha=0.6, max_length=3)[0][0]
    assert found.token_ids == ids
    assert found.score == pytest.approx(score, abs=1e-5)


class _SilentFrom(Transformer):
    """The same model, unable to say any token from `first` on."""

    def __init__(self, model: Transformer, first: int) -> None:
        super().__init__(model.config)
        self.load_state_dict(model.state_dict())
        self.first = first
        self.eval()

    def step(self, tokens, state):
        logits = super().step(tokens, state)
        logits[:, self.first :] = -1e4
        return logits

    def log_probs(self, source, ids):
        with torch.inference_mode():
            logits = self(source, torch.tensor([[BOS, *ids[:-1]]]))[0]
            logits[:, self.first :] = -1e4
            return logits.log_softmax(dim=-1)


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_a_beam_of_one_is_greedy_and_their_scores_mean_the_same(model, sources, alpha):
    searched = beam_search(model, sources, beam=1, alpha=alpha)
    followed = greedy(model, sources, alpha=alpha)
    drawn = sample(model, sources, top_k=1, alpha=alpha)
    for found, *others in zip(searched, followed, drawn, strict=True):
        for each in others:
            assert_same(found[0], each)


@pytest.mark.parametrize("beam", [1, 2])
def test_a_sentence_in_a_batch_decodes_as_it_does_alone(model, sources, beam):
    together = beam_search(model, sources, beam=beam)
    for source, expected in zip(sources, together, strict=True):
        alone = beam_search(model, source[source != 0][None], beam=beam)[0]
        assert len(alone) == len(expected)
        for each, other in zip(alone, expected, strict=True):
            assert_same(each, other)


def test_every_hypothesis_has_the_log_probabilities_of_the_teacher_forced_pass(model, sources):
    for source, found in zip(
        sources, beam_search(model, sources, beam=2, keep_distributions=True), strict=True
    ):
        assert [each.score for each in found] == sorted(
            (each.score for each in found), reverse=True
        )
        for each in found:
            log_probs = teacher_forced(model, source, each.token_ids)
            torch.testing.assert_close(each.distributions, log_probs, atol=1e-5, rtol=1e-5)
            chosen = log_probs.gather(1, torch.tensor(each.token_ids)[:, None])[:, 0]
            assert each.log_probs == pytest.approx(chosen.tolist(), abs=1e-5)
            penalty = length_penalty(len(each.token_ids), 0.6)
            assert each.score == pytest.approx(chosen.sum().item() / penalty, abs=1e-5)


def test_as_many_hypotheses_are_found_as_are_wanted_and_the_best_stays_the_best(model, sources):
    one = beam_search(model, sources, beam=2)
    two = beam_search(model, sources, beam=2, n_best=2)
    for few, many in zip(one, two, strict=True):
        assert len(many) == 2
        assert_same(few[0], many[0])


def test_the_length_penalty_is_the_papers():
    assert length_penalty(1, 0.6) == 1.0
    assert length_penalty(7, 0.6) == pytest.approx(2**0.6)
    assert length_penalty(30, 0.0) == 1.0


def test_a_stronger_length_penalty_never_shortens_the_best_sentence(model, sources):
    for short, long in zip(
        beam_search(model, sources, beam=2, alpha=0.0),
        beam_search(model, sources, beam=2, alpha=2.0),
        strict=True,
    ):
        assert len(long[0].token_ids) >= len(short[0].token_ids)


def test_a_sentence_that_will_not_end_is_cut_at_its_limit_and_says_so(build):
    model = build(vocab_size=20)
    source = torch.tensor([[5, 6, EOS]])
    with torch.no_grad():
        model.output.weight[EOS] = 0
        model.output.weight[4:].add_(1)
    for found in (
        greedy(model, source, max_length=4)[0],
        sample(model, source, max_length=4, top_k=1)[0],
        beam_search(model, source, beam=3, max_length=4)[0][0],
    ):
        if EOS not in found.token_ids:
            assert len(found.token_ids) == 4
            assert not found.finished
    unlimited = greedy(model, source)[0]
    assert len(unlimited.token_ids) <= 3 + EXTRA_LENGTH


def test_padding_start_and_unknown_are_never_said(model, sources):
    for seed in range(20):
        for found in sample(model, sources, seed=seed, temperature=3.0, max_length=12):
            assert not {0, 1, BOS} & set(found.token_ids)


def test_a_seed_repeats_a_sample_and_another_changes_it(model, sources):
    first = sample(model, sources, seed=1, temperature=2.0)
    assert [each.token_ids for each in first] == [
        each.token_ids for each in sample(model, sources, seed=1, temperature=2.0)
    ]
    assert any(
        [each.token_ids for each in first]
        != [each.token_ids for each in sample(model, sources, seed=seed, temperature=2.0)]
        for seed in (2, 3, 4)
    )


def test_sampling_from_one_token_alone_is_greedy(model, sources):
    expected = [each.token_ids for each in greedy(model, sources)]
    assert [each.token_ids for each in sample(model, sources, top_k=1)] == expected
    assert [each.token_ids for each in sample(model, sources, top_p=1e-6)] == expected
    assert [each.token_ids for each in sample(model, sources, temperature=1e-4)] == expected


def test_samples_are_as_frequent_as_they_are_probable(model, sources):
    many = sources[1:2].expand(3000, -1)
    found = sample(model, many, seed=5, max_length=1)
    counts = torch.bincount(torch.tensor([each.token_ids[0] for each in found]), minlength=9)
    log_probs = teacher_forced(model, sources[1], (EOS,))[0].clone()
    log_probs[[0, 1, BOS]] = -torch.inf
    expected = log_probs.softmax(dim=-1)
    torch.testing.assert_close(counts / 3000, expected, atol=0.03, rtol=0)


def test_top_k_and_top_p_keep_to_the_likeliest(model, sources):
    log_probs = teacher_forced(model, sources[1], (EOS,))[0].clone()
    log_probs[[0, 1, BOS]] = -torch.inf
    probabilities, order = log_probs.softmax(dim=-1).sort(descending=True)
    many = sources[1:2].expand(400, -1)
    drawn = {each.token_ids[0] for each in sample(model, many, seed=2, top_k=2, max_length=1)}
    assert drawn <= set(order[:2].tolist())
    threshold = (probabilities[0] + probabilities[1] / 2).item()
    drawn = {
        each.token_ids[0] for each in sample(model, many, seed=2, top_p=threshold, max_length=1)
    }
    assert drawn == set(order[:2].tolist())


@pytest.mark.parametrize(
    "settings", [{"temperature": 0.0}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}]
)
def test_sampling_out_of_range_is_refused_with_a_sentence(model, sources, settings):
    with pytest.raises(DecodingError, match=r"must .*\."):
        sample(model, sources, **settings)


@pytest.mark.parametrize(
    "settings", [{"beam": 0}, {"beam": 3}, {"n_best": 3}, {"alpha": -1.0}, {"max_length": 0}]
)
def test_a_search_out_of_range_is_refused_with_a_sentence(model, sources, settings):
    with pytest.raises(DecodingError, match=r"must .*\."):
        beam_search(model, sources, **{"beam": 2, **settings})
