"""Greedy decoding, beam search (section 6.1) and sampling, with a cache of keys and values.

Sentences and the hypotheses of a beam form one batch. Log-probabilities are natural logarithms of
the model's own distribution: tokens that are never written, such as <pad>, keep their share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from model.brief import Brief
from model.paper.config import TransformerConfig
from model.paper.decoding_cache import DecodingState
from model.paper.search import DecodingError, Sampling, require_alpha
from model.paper.transformer import Transformer

EXTRA_LENGTH = 50
"""A translation may be this many tokens longer than its source (section 6.1)."""

_BLOCK = 128


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

    def path(self) -> list[PartialHypothesis]:
        """Its partial hypotheses, from the first token to all, as a search builds them."""
        steps: list[PartialHypothesis] = []
        for token, log_prob in zip(self.token_ids, self.log_probs, strict=True):
            before = steps[-1] if steps else None
            total = log_prob + (before.total if before else 0)
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

    def hypothesis(self, alpha: float, eos_id: int) -> Hypothesis:
        """The decoded sentence."""
        steps = self.steps()
        distributions = [step.distribution for step in steps if step.distribution is not None]
        return Hypothesis(
            tuple(step.token for step in steps),
            tuple(step.log_prob for step in steps),
            self.total / length_penalty(len(steps), alpha),
            self.token == eos_id,
            torch.stack(distributions) if distributions else None,
        )


def length_penalty(length: int, alpha: float) -> float:
    """((5 + |Y|) / 6)^α (Wu et al. 2016, equation 14), with α = 0.6 in section 6.1."""
    return float(((5 + length) / 6) ** alpha)


@torch.inference_mode()
def greedy(
    model: Transformer,
    *sources: Tensor,
    alpha: float = 0.6,
    prefix: Sequence[int] = (),
    max_length: int | None = None,
    keep_distributions: bool = False,
) -> list[Hypothesis]:
    """Hypotheses with the likeliest token at every step, one for each sentence of each source.

    Args:
        model: in eval mode.
        sources: (batch, source), padded token ids with an end token; give several to leave
            sentences of different lengths unpadded.
        alpha: of the length penalty in the score; it does not change the tokens.
        prefix: token ids that every sentence must begin with.
        max_length: most tokens; None allows each sentence its source's length + 50.
        keep_distributions: whether to keep every step's log-probabilities.

    Raises:
        DecodingError: if no translation can begin with the prefix, or it is too long.
    """
    limits = _length_limits(sources, model, max_length)
    state = model.start(*sources)
    return _follow(
        model,
        state,
        limits,
        lambda choices, _: choices.argmax(dim=-1),
        alpha,
        prefix,
        keep_distributions,
    )


@torch.inference_mode()
def sample(
    model: Transformer,
    *sources: Tensor,
    sampling: Sampling,
    alpha: float = 0.6,
    prefix: Sequence[int] = (),
    max_length: int | None = None,
    keep_distributions: bool = False,
) -> list[list[Hypothesis]]:
    """Sampled hypotheses, a list for each sentence of each source.

    With a seed, a sentence's samples depend neither on the batch nor on their number. Other
    arguments, and errors, are those of `greedy`.
    """
    limits = _length_limits(sources, model, max_length)
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
        prefix,
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
    prefix: Sequence[int],
    keep_distributions: bool,
) -> list[Hypothesis]:
    """A hypothesis for each row; `choose` takes tokens from the log-probabilities of rows."""
    config = model.config
    require_alpha(alpha)
    _require_prefix(prefix, config, min(limits))
    tokens: list[list[int]] = [[] for _ in limits]
    log_probs: list[list[float]] = [[] for _ in limits]
    kept_distributions: list[list[Tensor]] = [[] for _ in limits]
    active = list(range(len(limits)))
    device = model.output.weight.device
    newest = torch.full((len(limits),), config.bos_id, device=device)
    barred = unsayable(config, device)
    while active:
        step_log_probs = model.step(newest, state).float().log_softmax(dim=-1)
        length = len(tokens[active[0]])
        if length < len(prefix):
            newest = torch.full_like(newest, prefix[length])
        else:
            newest = choose(step_log_probs + barred, active)
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
            sum(each) / length_penalty(len(each), alpha),
            ids[-1] == config.eos_id,
            torch.stack(distributions) if distributions else None,
        )
        for ids, each, distributions in zip(tokens, log_probs, kept_distributions, strict=True)
    ]


@dataclass(slots=True)
class _Beam:
    """The beam search of one sentence."""

    limit: int
    finished: list[Hypothesis] = field(default_factory=list)


@torch.inference_mode()
def beam_search(
    model: Transformer,
    *sources: Tensor,
    beam: int = 4,
    alpha: float = 0.6,
    prefix: Sequence[int] = (),
    max_length: int | None = None,
    keep_distributions: bool = False,
    kept_paths: list[PartialHypothesis] | None = None,
) -> list[list[Hypothesis]]:
    """The best hypotheses of a beam search, ranked by log P(Y|X) / lp(Y) (section 6.1).

    A sentence's search ends when it has as many finished hypotheses as the beam is wide and no
    live one can still overtake the best of them: its score would at most be its log-probability
    so far over the penalty of the length limit. A beam of 1 ends with its first finished
    hypothesis, as greedy decoding does.

    Args:
        model: in eval mode.
        beam: live hypotheses of each sentence.
        alpha: of the length penalty; 0 ranks by log-probability alone.
        prefix: as in `greedy`; the search starts at its end.
        kept_paths: collects every hypothesis the search held or finished, parents first.

    Returns:
        for each sentence of each source, `beam` hypotheses, best first; fewer where the prefix is a
        whole translation. Unfinished ones come last, and only where the length limit cut the
        search.

    Raises:
        DecodingError: as `greedy`, and if the beam is too wide for the vocabulary.
    """
    config = model.config
    if not 1 <= beam <= (config.output_size - 4) // 2:
        raise DecodingError(
            f"The beam must be between 1 and {(config.output_size - 4) // 2} wide; it is {beam}."
        )
    require_alpha(alpha)
    limits = _length_limits(sources, model, max_length)
    _require_prefix(prefix, config, min(limits))
    beams = [_Beam(limit) for limit in limits]
    active = list(range(len(beams)))
    paths: list[list[PartialHypothesis]] = [[] for _ in beams]
    state = model.start(*sources)
    device = sources[0].device
    newest = torch.full((len(beams),), config.bos_id, device=device)
    totals = torch.zeros(len(beams), 1, device=device)
    barred = unsayable(config, device)
    width = 1
    length = 0
    while active:
        length += 1
        log_probs = model.step(newest, state).float().log_softmax(dim=-1)
        bars = barred if length > len(prefix) else _all_but(prefix[length - 1], barred)
        candidates = totals[:, :, None] + (log_probs + bars).unflatten(0, (-1, width))
        # Twice the beam, so that `beam` hypotheses remain even if as many end.
        best, order = _largest(candidates.flatten(1), 2 * beam)
        origin_rows = (
            order // config.output_size + width * torch.arange(len(active), device=device)[:, None]
        )
        token_log_probs = log_probs[origin_rows, order % config.output_size]
        listed = (best.tolist(), order.tolist(), token_log_probs.tolist())
        rows, tokens, kept_totals, kept_sentences, live_paths, still_active = [], [], [], [], [], []
        for place, sentence in enumerate(active):
            search = beams[sentence]
            live: list[tuple[int, PartialHypothesis]] = []
            for rank, (total, flat, log_prob) in enumerate(
                zip(*(each[place] for each in listed), strict=True)
            ):
                origin, token = divmod(flat, config.output_size)
                if total == -torch.inf or len(live) == beam:
                    continue
                row = place * width + origin
                path = PartialHypothesis(
                    token,
                    log_prob,
                    total,
                    paths[place][origin] if paths[place] else None,
                    log_probs[row] if keep_distributions else None,
                )
                if token != config.eos_id:
                    live.append((row, path))
                elif rank < beam:
                    search.finished.append(path.hypothesis(alpha, config.eos_id))
                else:
                    continue
                if kept_paths is not None:
                    kept_paths.append(path)
            if length >= search.limit:
                missing = beam - len(search.finished)
                search.finished.sort(key=_by_score)
                cut = [path.hypothesis(alpha, config.eos_id) for _, path in live]
                search.finished += sorted(cut, key=_by_score)[: max(missing, 0)]
                continue
            if _is_over(search, live, length_penalty(search.limit, alpha), beam):
                search.finished.sort(key=_by_score)
                continue
            still_active.append(sentence)
            kept_sentences.append(place)
            live_paths.append([path for _, path in live])
            rows += [row for row, _ in live]
            tokens += [path.token for _, path in live]
            kept_totals.append([path.total for _, path in live])
        if still_active:
            sentences = torch.tensor(kept_sentences, device=device)
            if rows != list(range(len(log_probs))):
                state.select(
                    torch.tensor(rows, device=device),
                    sentences if len(still_active) < len(active) else None,
                )
            newest = torch.tensor(tokens, device=device)
            totals = torch.tensor(kept_totals, device=device)
        # A prefix is one path; the beam opens after it.
        active, paths, width = still_active, live_paths, 1 if length <= len(prefix) else beam
    return [search.finished[:beam] for search in beams]


def _by_score(hypothesis: Hypothesis) -> float:
    return -hypothesis.score


def _is_over(
    search: _Beam, live: list[tuple[int, PartialHypothesis]], longest: float, beam: int
) -> bool:
    """Whether no live hypothesis can win; `longest` is the length penalty at the limit."""
    # A prefix that ends with the end token leaves no live hypothesis.
    if not live:
        return True
    if len(search.finished) < beam:
        return False
    # The likeliest comes first. Each further token lowers its log-probability or leaves it.
    reachable = live[0][1].total / longest
    return beam == 1 or max(each.score for each in search.finished) >= reachable


def unsayable(config: TransformerConfig, device: torch.device) -> Tensor:
    """-inf for tokens that are never written, 0 for others: (vocab,), to be added to logits."""
    penalty = torch.zeros(config.output_size, device=device)
    penalty[list(config.barred)] = -torch.inf
    return penalty


def _largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest numbers of each row with their places, largest first, like topk.

    The largest numbers lie in the blocks with the largest maxima, and a maximum is much cheaper
    than a sort: six times as fast as topk over a beam's 32,000 candidates.
    """
    blocks = values.shape[1] // _BLOCK
    if blocks <= count:
        return values.topk(count, dim=-1)
    maxima = values[:, : blocks * _BLOCK].unflatten(1, (blocks, _BLOCK)).amax(dim=-1)
    starts = maxima.topk(count, dim=-1).indices * _BLOCK
    within = torch.arange(_BLOCK, device=values.device)
    rest = torch.arange(blocks * _BLOCK, values.shape[1], device=values.device)
    places = torch.cat(
        [(starts[:, :, None] + within).flatten(1), rest.expand(values.shape[0], -1)], dim=1
    )
    largest, order = values.gather(1, places).topk(count, dim=-1)
    return largest, places.gather(1, order)


def _length_limits(
    sources: Sequence[Tensor], model: Transformer, max_length: int | None
) -> list[int]:
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


def _require_prefix(prefix: Sequence[int], config: TransformerConfig, limit: int) -> None:
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


def token_log_probs(logits: Tensor, token_ids: Tensor) -> Tensor:
    """Log-probability of each token, (batch, token), float32, by (batch, token, vocab) logits."""
    return logits.float().log_softmax(dim=-1).gather(2, token_ids[:, :, None])[:, :, 0]


def _all_but(token_id: int, like: Tensor) -> Tensor:
    # (vocab,), to be added to log-probabilities.
    penalty = torch.full_like(like, -torch.inf)
    penalty[token_id] = 0
    return penalty
