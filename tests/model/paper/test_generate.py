"""Decoding against `generate` of Hugging Face's transformers, on the same weights.

Marian's model is the paper's, with the norm after each sub-layer; Pegasus's has it before. What
they call sequences_scores divides a log-probability by |Y|^p, and we divide by ((5 + |Y|) / 6)^α
of Wu et al. 2016: the two agree at 0, and elsewhere the same search is asked to use their formula.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from model.paper.beam_search import beam_search
from model.paper.decoding import drawn_from, greedy
from model.paper.log_probs import unsayable
from model.paper.search import Rules, Sampling
from model.paper.transformer import Transformer
from tests.kit.torch_twins import hugging_face_twin

PAD, UNK, BOS, EOS = range(4)
N_TOKENS = 40
LIMIT = 30
SOURCES = ([5, 6, 7, 8, EOS], [20, 9, EOS], [31, 11, 12, 13, 14, 38, EOS], [17, 17, EOS])

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["post", "pre"])
def pair(request, build: Callable[..., Transformer]) -> tuple[Transformer, Any]:
    """A model of ours that has learned to end its sentences, and theirs with the same weights."""
    ours = build(vocab_size=N_TOKENS, n_encoder_layers=1, n_decoder_layers=1, norm=request.param)
    _learn_to_reverse(ours)
    return ours, hugging_face_twin(ours)


def _learn_to_reverse(ours: Transformer) -> None:
    # A model that never saw a sentence says one token for ever, whatever the search.
    optimizer = torch.optim.Adam(ours.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(3)
    for step in range(60):
        words = torch.randint(4, N_TOKENS, (16, 2 + step % 6), generator=generator)
        end, start = torch.full((16, 1), EOS), torch.full((16, 1), BOS)
        target = torch.cat([words.flip(1), end], dim=1)
        logits = ours(torch.cat([words, end], dim=1), torch.cat([start, target[:, :-1]], dim=1))
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def generated(theirs: Any, source: list[int], prefix: Sequence[int] = (), **settings: Any) -> Any:
    """What `generate` gives, kept from saying what no text holds."""
    return theirs.generate(
        torch.tensor([source]),
        decoder_input_ids=torch.tensor([[BOS, *prefix]]),
        suppress_tokens=[PAD, UNK, BOS],
        max_new_tokens=LIMIT - len(prefix),
        return_dict_in_generate=True,
        output_scores=True,
        output_logits=True,
        **settings,
    )


def assert_same_beams(
    pair: tuple[Transformer, Any], beam: int, penalty: float, prefix: Sequence[int] = ()
) -> None:
    ours, theirs = pair
    for source in SOURCES:
        found = beam_search(
            ours,
            torch.tensor([source]),
            beam=beam,
            alpha=penalty,
            # Theirs divides by a power of the length.
            rules=Rules(penalty="power"),
            prefix=prefix,
            max_length=LIMIT,
        )[0]
        # It ends when nothing can enter their list any more, ours when nothing can lead it.
        result = generated(
            theirs,
            source,
            prefix,
            num_beams=beam,
            num_return_sequences=beam,
            length_penalty=penalty,
            early_stopping="never",
        )
        assert all(each.finished for each in found)
        assert found[0].token_ids == written(result.sequences[0])
        # A prefix has no part in their score.
        scores = [each.score - sum(each.log_probs[: len(prefix)]) for each in found]
        assert scores[0] == pytest.approx(result.sequences_scores[0].item(), abs=1e-4)
        their_ids, their_scores = map(written, result.sequences), result.sequences_scores.tolist()
        theirs_by_ids = dict(zip(their_ids, their_scores, strict=True))
        for each, score in zip(found, scores, strict=True):
            known = theirs_by_ids.get(each.token_ids, min(theirs_by_ids.values()))
            assert score <= known + 1e-4


def written(sequence: torch.Tensor) -> tuple[int, ...]:
    """Token ids without the start token and what fills the row behind the end."""
    ids = sequence[1:].tolist()
    return tuple(ids[: ids.index(EOS) + 1] if EOS in ids else ids)


@pytest.mark.parametrize("prefix", [(), (21, 5, 17)])
def test_greedy_decoding_writes_what_theirs_writes(pair, prefix):
    ours, theirs = pair
    for source in SOURCES:
        found = greedy(ours, torch.tensor([source]), prefix=prefix, max_length=LIMIT)[0]
        result = generated(theirs, source, prefix, do_sample=False)
        assert found.token_ids == written(result.sequences[0])
        own = found.token_ids[len(prefix) :]
        expected = [
            logits[0].log_softmax(dim=-1)[token].item()
            for logits, token in zip(result.logits, own, strict=True)
        ]
        assert found.log_probs[len(prefix) :] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("prefix", [(), (21, 5, 17)])
@pytest.mark.parametrize("beam", [2, 4, 8])
def test_a_beam_without_length_penalty_finds_what_theirs_finds(pair, beam, prefix):
    assert_same_beams(pair, beam, 0.0, prefix)


@pytest.mark.parametrize("penalty", [0.6, 2.0])
def test_under_their_length_penalty_our_beam_finds_what_theirs_finds(pair, penalty):
    assert_same_beams(pair, 4, penalty)


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 0.7},
        {"top_k": 5},
        {"top_p": 0.6, "temperature": 1.5},
        {"top_k": 6, "top_p": 0.5, "temperature": 2.0},
    ],
    ids=str,
)
def test_samples_are_drawn_from_what_theirs_are_drawn_from(pair, settings):
    ours, theirs = pair
    # They draw from the 50 likeliest where nothing else is said.
    asked = {"top_k": 0, "top_p": 1.0, **settings}
    torch.manual_seed(5)
    for source in SOURCES:
        result = generated(theirs, source, do_sample=True, **asked)
        ids = result.sequences[:, :-1]
        with torch.inference_mode():
            log_probs = ours(torch.tensor([source]), ids)[0].log_softmax(dim=-1)
        barred = unsayable(ours.config, log_probs.device)
        ordered, order = drawn_from(log_probs + barred, Sampling(**settings))
        found = torch.zeros_like(ordered).scatter(1, order, ordered)
        expected = torch.cat(result.scores).double().softmax(dim=-1)
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
