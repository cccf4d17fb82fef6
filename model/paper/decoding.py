"""Greedy decoding, beam search (section 6.1) and sampling, with a cache of keys and values.

Sentences and the hypotheses of a beam form one batch. Log-probabilities are natural logarithms of
the model's own distribution: tokens that are never written, such as <pad>, keep their share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.brief import Brief
from model.paper.config import TransformerConfig
from model.paper.decoding_cache import DecodingState
from model.paper.log_probs import unsayable
from model.paper.search import PENALTIES, DecodingError, Rules, Sampling, require_alpha
from model.paper.transformer import Transformer

EXTRA_LENGTH = 50
"""A translation may be this many tokens longer than its source (section 6.1)."""

OWN = Rules()


@dataclass(frozen=True, slots=True)
class Hypothesis(Brief):
    """One decoded sentence.

    Attributes:
        token_ids: without the start token; ends with the end token unless cut at the limit.
        log_probs: of each token given those before, as long as token_ids.
        score: sum of log_probs over the length penalty, by which beam search ranks; nearer 0 is
            better.
        finished: whether the model wrote the end token.
        distributions: (target, vocab) log-probabilities of every step, if kept.
    """

    token_ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    score: float
    finished: bool
    distributions: Tensor | None = None

    def path(self, given: int = 0) -> list[PartialHypothesis]:
        """Its partial hypotheses, one a token, as a search builds them.

        Args:
            given: how many of the first tokens cost nothing.
        """
        steps: list[PartialHypothesis] = []
        for token, log_prob in zip(self.token_ids, self.log_probs, strict=True):
            before = steps[-1] if steps else None
            total = (log_prob if len(steps) >= given else 0) + (before.total if before else 0)
            steps.append(PartialHypothesis(token, log_prob, total, before, None))
        return steps


@dataclass(frozen=True, slots=True, eq=False)
class PartialHypothesis(Brief):
    """An unfinished translation: its parent with another token.

    Attributes:
        parent: the hypothesis without the newest token.
        distribution: (vocab,) log-probabilities of the step, if kept.
    """

    token: int
    log_prob: float
    total: float
    parent: PartialHypothesis | None
    distribution: Tensor | None

    def steps(self) -> list[PartialHypothesis]:
        """Its ancestors from the first token on, then itself."""
        steps = []
        node: PartialHypothesis | None = self
        while node is not None:
            steps.append(node)
            node = node.parent
        return steps[::-1]

    def hypothesis(self, penalty: Callable[[int], float], eos_id: int) -> Hypothesis:
        """The decoded sentence; `penalty` is that of a length."""
        steps = self.steps()
        distributions = [step.distribution for step in steps if step.distribution is not None]
        return Hypothesis(
            tuple(step.token for step in steps),
            tuple(step.log_prob for step in steps),
            self.total / penalty(len(steps)),
            self.token == eos_id,
            torch.stack(distributions) if distributions else None,
        )


@torch.inference_mode()
def greedy(
    model: Transformer,
    *sources: Tensor,
    alpha: float = 0.6,
    rules: Rules = OWN,
    prefix: Sequence[int] = (),
    given: int = 0,
    max_length: int | None = None,
    keep_distributions: bool = False,
) -> list[Hypothesis]:
    """Hypotheses with the likeliest token at every step, one for each sentence of each source.

    Args:
        model: in eval mode.
        sources: (batch, source), padded token ids with an end token; give several to leave
            sentences of different lengths unpadded.
        alpha: of the length penalty in the score; it does not change the tokens.
        rules: of the search; a length limit given here goes before theirs.
        prefix: token ids that every sentence must begin with.
        given: how many of them cost nothing, for the model is given them.
        max_length: most tokens; None allows each sentence its source's length + 50.
        keep_distributions: whether to keep every step's log-probabilities.

    Raises:
        DecodingError: if no translation can begin with the prefix, or it is too long.
    """
    limits = length_limits(sources, model, rules.most if max_length is None else max_length)
    state = model.start(*sources)
    return _follow(
        model,
        state,
        limits,
        lambda choices, _: choices.argmax(dim=-1),
        alpha,
        rules,
        prefix,
        given,
        keep_distributions,
    )


@torch.inference_mode()
def sample(
    model: Transformer,
    *sources: Tensor,
    sampling: Sampling,
    alpha: float = 0.6,
    rules: Rules = OWN,
    prefix: Sequence[int] = (),
    given: int = 0,
    max_length: int | None = None,
    keep_distributions: bool = False,
) -> list[list[Hypothesis]]:
    """Sampled hypotheses, a list for each sentence of each source.

    With a seed, a sentence's samples depend neither on the batch nor on their number. Other
    arguments, and errors, are those of `greedy`.
    """
    limits = length_limits(sources, model, rules.most if max_length is None else max_length)
    state = model.start(*sources)
    n_samples = sampling.n_samples
    sentences = torch.arange(len(limits), device=sources[0].device).repeat_interleave(n_samples)
    if n_samples > 1:
        state.select(sentences, sentences)
    generators = [
        np.random.default_rng(None if sampling.seed is None else (sampling.seed, number))
        for _ in limits
        for number in range(n_samples)
    ]

    def draw(choices: Tensor, rows: list[int]) -> Tensor:
        probabilities, order = drawn_from(choices, sampling)
        reached = probabilities.cumsum(dim=-1)
        drawn = torch.tensor(
            [generators[row].random() for row in rows], dtype=torch.float64, device=choices.device
        )
        # The first place where the cumulated probability exceeds the random number.
        places = (reached <= drawn[:, None] * reached[:, -1:]).sum(dim=-1, keepdim=True)
        return order.gather(1, places)[:, 0]

    samples = _follow(
        model,
        state,
        [limits[sentence] for sentence in sentences.tolist()],
        draw,
        alpha,
        rules,
        prefix,
        given,
        keep_distributions,
    )
    return [samples[start : start + n_samples] for start in range(0, len(samples), n_samples)]


def drawn_from(log_probs: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """The probabilities to draw from, largest first, with token ids; (batch, vocab) each.

    Temperature comes first, then top-k, then top-p. A token that must not be drawn has -inf.
    """
    # The likeliest becomes 0, so that no temperature overflows all of them.
    scaled = (log_probs - log_probs.amax(dim=-1, keepdim=True)).double() / sampling.temperature
    ordered, order = scaled.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
    if sampling.top_k is not None:
        ordered[:, sampling.top_k :] = 0
        ordered /= ordered.sum(dim=-1, keepdim=True)
    if sampling.top_p is not None:
        # A token stays until those before it reach p, so the likeliest always does.
        before = ordered.cumsum(dim=-1) - ordered
        ordered = ordered.masked_fill(before >= sampling.top_p, 0)
        ordered /= ordered.sum(dim=-1, keepdim=True)
    return ordered, order


def _follow(
    model: Transformer,
    state: DecodingState,
    limits: list[int],
    choose: Callable[[Tensor, list[int]], Tensor],
    alpha: float,
    rules: Rules,
    prefix: Sequence[int],
    given: int,
    keep_distributions: bool,
) -> list[Hypothesis]:
    """A hypothesis for each row; `choose` takes tokens from the log-probabilities of rows."""
    config = model.config
    require_alpha(alpha)
    penalty = PENALTIES[rules.penalty]
    require_prefix(prefix, config, min(limits))
    tokens: list[list[int]] = [[] for _ in limits]
    log_probs: list[list[float]] = [[] for _ in limits]
    kept_distributions: list[list[Tensor]] = [[] for _ in limits]
    active = list(range(len(limits)))
    device = model.output.weight.device
    newest = torch.full((len(limits),), config.bos_id, device=device)
    barred = unsayable(config, device)
    ends = torch.tensor(limits, device=device) - 1
    while active:
        step_log_probs = model.step(newest, state).float().log_softmax(dim=-1)
        length = len(tokens[active[0]])
        if length < len(prefix):
            newest = torch.full_like(newest, prefix[length])
        else:
            newest = choose(step_log_probs + barred, active)
            if rules.forced_end:
                newest = newest.masked_fill(ends[active] == length, config.eos_id)
        newest_log_probs = step_log_probs.gather(1, newest[:, None])[:, 0].tolist()
        stays = []
        for row, (sentence, token) in enumerate(zip(active, newest.tolist(), strict=True)):
            tokens[sentence].append(token)
            log_probs[sentence].append(newest_log_probs[row])
            if keep_distributions:
                kept_distributions[sentence].append(step_log_probs[row])
            if token != config.eos_id and len(tokens[sentence]) < limits[sentence]:
                stays.append(row)
        if 0 < len(stays) < len(active):
            rows = torch.tensor(stays, device=device)
            newest = newest[rows]
            state.select(rows, rows)
        active = [active[row] for row in stays]
    return [
        Hypothesis(
            tuple(ids),
            tuple(each),
            sum(each[given:]) / penalty(len(each), alpha),
            ids[-1] == config.eos_id,
            torch.stack(distributions) if distributions else None,
        )
        for ids, each, distributions in zip(tokens, log_probs, kept_distributions, strict=True)
    ]


def length_limits(
    sources: Sequence[Tensor], model: Transformer, max_length: int | None
) -> list[int]:
    """The most tokens of each translation."""
    if max_length is not None and max_length < 1:
        raise DecodingError(f"The length limit must be at least 1; it is {max_length}.")
    lengths = [
        length
        for source in sources
        for length in (source != model.config.pad_id).sum(dim=1).tolist()
    ]
    limits = [length + EXTRA_LENGTH if max_length is None else max_length for length in lengths]
    most = model.decoder.positions.limit
    return limits if most is None else [min(limit, most) for limit in limits]


def require_prefix(prefix: Sequence[int], config: TransformerConfig, limit: int) -> None:
    """Refuse a prefix that no translation of this length can begin with."""
    if len(prefix) > limit:
        raise DecodingError(
            f"The beginning of the translation has {len(prefix)} tokens, but the whole translation "
            f"may have {limit}; give fewer."
        )
    if any(not 0 <= token_id < config.output_size for token_id in prefix):
        raise DecodingError(
            "The beginning of a translation must consist of token ids below "
            f"{config.output_size}; it is {tuple(prefix)}."
        )
    if {config.pad_id, config.bos_id} - {config.eos_id} & {*prefix} or config.eos_id in prefix[:-1]:
        raise DecodingError(
            "The beginning of a translation must contain no <pad> and no <s>, and </s> only as its "
            "last token; leave them out."
        )
