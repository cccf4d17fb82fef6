"""Decoding against brute force and against the teacher-forced pass."""

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from model.paper import beam_search as searching
from model.paper.beam_search import beam_search
from model.paper.decoding import EXTRA_LENGTH, Hypothesis, greedy, sample
from model.paper.search import DecodingError, Sampling, Search, length_penalty
from model.paper.transformer import Transformer

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
    drawn = [each[0] for each in sample(model, sources, sampling=Sampling(top_k=1), alpha=alpha)]
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


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("beam", [2, 4, 8])
def test_a_search_to_the_limit_finds_nothing_better(build, beam, alpha, monkeypatch):
    """The model likes to end its sentences, so that many end long before the best does."""
    eager = build(vocab_size=24, d_model=16, scale_embeddings=False)
    with torch.no_grad():
        eager.output.weight.mul_(2)
        eager.output.weight[EOS].mul_(2)
    sources = torch.randint(4, 24, (40, 7), generator=torch.Generator().manual_seed(11))
    settings = {"beam": beam, "alpha": alpha, "max_length": 30}
    found = beam_search(eager, sources, **settings)
    monkeypatch.setattr(searching, "_is_over", lambda search, live, *_: not live)
    for ended, patient in zip(found, beam_search(eager, sources, **settings), strict=True):
        assert len(ended) == beam
        assert_same(ended[0], patient[0])


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
        sample(model, source, max_length=4, sampling=Sampling(top_k=1))[0][0],
        beam_search(model, source, beam=3, max_length=4)[0][0],
    ):
        if EOS not in found.token_ids:
            assert len(found.token_ids) == 4
            assert not found.finished
    unlimited = greedy(model, source)[0]
    assert len(unlimited.token_ids) <= 3 + EXTRA_LENGTH


def test_padding_start_and_unknown_are_never_said(model, sources):
    for seed in range(20):
        sampling = Sampling(seed=seed, temperature=3.0)
        for (found,) in sample(model, sources, sampling=sampling, max_length=12):
            assert not {0, 1, BOS} & set(found.token_ids)


def drawn(model: Transformer, source: torch.Tensor, **settings) -> list[tuple[int, ...]]:
    """The samples of one sentence."""
    found = sample(model, source[source != 0][None], sampling=Sampling(**settings))
    return [each.token_ids for each in found[0]]


def test_a_seed_repeats_its_samples_and_another_changes_them(model, sources):
    first = drawn(model, sources[0], seed=1, temperature=2.0, n_samples=6)
    assert first == drawn(model, sources[0], seed=1, temperature=2.0, n_samples=6)
    assert first != drawn(model, sources[0], seed=2, temperature=2.0, n_samples=6)
    assert len(set(first)) > 1


def test_samples_are_the_same_alone_in_a_batch_and_among_more(model, sources):
    settings = {"seed": 4, "temperature": 2.0}
    together = sample(model, sources, sampling=Sampling(n_samples=3, **settings))
    for source, found in zip(sources, together, strict=True):
        assert [each.token_ids for each in found] == drawn(model, source, n_samples=3, **settings)
        assert drawn(model, source, n_samples=5, **settings)[:3] == [x.token_ids for x in found]


def test_sampling_from_one_token_alone_is_greedy(model, sources):
    for source, expected in zip(sources, greedy(model, sources), strict=True):
        for settings in ({"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}):
            assert drawn(model, source, **settings) == [expected.token_ids]
        assert drawn(model, source, temperature=1e-300) == [expected.token_ids]


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(seed=5),
        Sampling(seed=6, temperature=2.5),
        Sampling(seed=7, top_k=3, temperature=3),
        Sampling(seed=8, top_p=0.9, temperature=2),
    ],
    ids=str,
)
def test_samples_are_as_frequent_as_they_are_probable(model, sources, sampling):
    log_probs = teacher_forced(model, sources[1], (EOS,))[0].clone()
    log_probs[[0, 1, BOS]] = -torch.inf
    expected = (log_probs.double() / sampling.temperature).softmax(dim=-1).numpy()
    likeliest = np.argsort(-expected)
    left = len(expected) if sampling.top_k is None else sampling.top_k
    if sampling.top_p is not None:
        left = int(np.searchsorted(np.cumsum(expected[likeliest]), sampling.top_p)) + 1
    expected[likeliest[left:]] = 0
    many = replace(sampling, n_samples=4000)
    found = sample(model, sources[1][sources[1] != 0][None], sampling=many, max_length=1)[0]
    counts = np.bincount([each.token_ids[0] for each in found], minlength=len(expected))
    assert not counts[expected == 0].any()
    possible = expected > 0
    assert possible.sum() > 1
    awaited = 4000 * expected[possible] / expected[possible].sum()
    chi_square = ((counts[possible] - awaited) ** 2 / awaited).sum()
    halves = torch.tensor([(possible.sum() - 1) / 2, chi_square / 2])
    assert torch.special.gammaincc(*halves) > 0.01


@pytest.mark.parametrize(
    "settings",
    [
        *({"temperature": 0.0}, {"temperature": "1"}, {"top_k": 0}, {"top_k": 1.5}),
        *({"top_p": 0.0}, {"top_p": 1.5}, {"seed": -1}, {"seed": 0.5}, {"n_samples": 0}),
    ],
    ids=str,
)
def test_sampling_out_of_range_is_refused_with_a_sentence(settings):
    with pytest.raises(DecodingError, match=r"must .*\."):
        Sampling(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        *({"beam": 0}, {"beam": 2.0}, {"beam": True}, {"length_penalty": -1.0}),
        *({"length_penalty": float("nan")}, {"prefix": (4, -1)}, {"prefix": "Der"}, {"prefix": 4}),
    ],
    ids=str,
)
def test_a_search_that_is_none_is_refused_with_a_sentence(settings):
    with pytest.raises(DecodingError, match=r"must .*\."):
        Search(**settings)


def test_greedy_goes_on_from_a_prefix_as_the_teacher_forced_pass_does(model, sources):
    prefix = (5, 8, 5)
    for source, found in zip(sources, greedy(model, sources, prefix=prefix), strict=True):
        assert found.token_ids[:3] == prefix
        log_probs = teacher_forced(model, source, found.token_ids).clone()
        log_probs[:, [0, 1, BOS]] = -torch.inf
        assert log_probs.argmax(dim=-1).tolist()[3:] == list(found.token_ids[3:])
        assert found.log_probs[:3] == pytest.approx(
            [log_probs[step, token].item() for step, token in enumerate(prefix)], abs=1e-4
        )


def test_forcing_what_the_model_says_anyway_changes_nothing(model, sources):
    for source in sources[:2]:
        source = source[source != 0][None]
        own = greedy(model, source)[0]
        best = beam_search(model, source, beam=2)[0][0]
        for length in {1, 4, len(own.token_ids) - 1, len(own.token_ids)}:
            assert greedy(model, source, prefix=own.token_ids[:length])[0] == own
        assert_same(beam_search(model, source, beam=2, prefix=best.token_ids)[0][0], best)
        draw = Sampling(seed=1)
        assert_same(sample(model, source, sampling=draw, prefix=own.token_ids)[0][0], own)


@pytest.mark.parametrize("prefix", [(), (5,), (6, 4), (7, EOS)])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
def test_a_beam_that_holds_every_path_finds_the_best_of_all_sentences(build, prefix, alpha):
    # Four words can be said, at two places: 16 live paths, and a beam of 18.
    model = build(vocab_size=40, scale_embeddings=False)
    with torch.no_grad():
        model.output.weight.mul_(4)
    source = torch.tensor([[4, 5, 6, 7, EOS]])
    masked = _SilentFrom(model, 8)
    expected = []
    for length in (1, 2, 3):
        for words in itertools.product((4, 5, 6, 7), repeat=length - 1):
            ids = (*words, EOS)
            if ids[: len(prefix)] == prefix:
                log_probs = masked.log_probs(source, ids)
                total = sum(log_probs[step, token].item() for step, token in enumerate(ids))
                expected.append((total / length_penalty(length, alpha), ids))
    score, ids = max(expected)
    found = beam_search(masked, source, beam=18, alpha=alpha, prefix=prefix, max_length=3)[0][0]
    assert found.token_ids == ids
    assert found.score == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize(
    ("prefix", "sentence"),
    [
        ((4,) * 70, "70 tokens"),
        ((4, 9), "below 9"),
        ((0,), "no <pad>"),
        ((4, BOS), "no <s>"),
        ((EOS, 4), "only as its last"),
    ],
)
def test_a_prefix_that_no_translation_has_is_refused_with_a_sentence(
    model, sources, prefix, sentence
):
    for decode in (greedy, partial(beam_search, beam=2), partial(sample, sampling=Sampling())):
        with pytest.raises(DecodingError, match=sentence):
            decode(model, sources, prefix=prefix)


@pytest.mark.parametrize("settings", [{"beam": 0}, {"beam": 3}, {"alpha": -1.0}, {"max_length": 0}])
def test_a_search_out_of_range_is_refused_with_a_sentence(model, sources, settings):
    with pytest.raises(DecodingError, match=r"must .*\."):
        beam_search(model, sources, **{"beam": 2, **settings})
