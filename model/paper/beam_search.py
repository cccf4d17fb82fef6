"""Beam search with a length penalty (Wu et al. 2016, section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from model.paper.decoding import OWN, Hypothesis, PartialHypothesis, length_limits, require_prefix
from model.paper.log_probs import unsayable
from model.paper.search import PENALTIES, DecodingError, Rules, require_alpha
from model.paper.transformer import Transformer

_BLOCK = 128


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
    rules: Rules = OWN,
    prefix: Sequence[int] = (),
    given: int = 0,
    max_length: int | None = None,
    keep_distributions: bool = False,
    kept_paths: list[PartialHypothesis] | None = None,
) -> list[list[Hypothesis]]:
    """The best hypotheses of a beam search, ranked by log P(Y|X) / lp(Y) (section 6.1).

    By our own rules, a sentence's search ends when it has as many finished hypotheses as the beam
    is wide and no live one can still overtake the best of them: its score would at most be its
    log-probability so far over the penalty of the length limit. A beam of 1 ends with its first
    finished hypothesis, as greedy decoding does.

    Args:
        model: in eval mode.
        beam: live hypotheses of each sentence.
        alpha: of the length penalty; 0 ranks by log-probability alone.
        rules: as in `greedy`.
        prefix: as in `greedy`; the search starts at its end.
        given: as in `greedy`.
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
    limits = length_limits(sources, model, rules.most if max_length is None else max_length)
    require_prefix(prefix, config, min(limits))
    beams = [_Beam(limit) for limit in limits]
    active = list(range(len(beams)))
    paths: list[list[PartialHypothesis]] = [[] for _ in beams]
    state = model.start(*sources)
    device = sources[0].device
    newest = torch.full((len(beams),), config.bos_id, device=device)
    totals = torch.zeros(len(beams), 1, device=device)
    barred = unsayable(config, device)

    def penalty(length: int) -> float:
        return PENALTIES[rules.penalty](length, alpha)

    width = 1
    length = 0
    while active:
        length += 1
        log_probs = model.step(newest, state).float().log_softmax(dim=-1)
        bars = barred if length > len(prefix) else _all_but(prefix[length - 1], barred)
        costs = bars.repeat(len(log_probs), 1) if length <= given else log_probs + bars
        if rules.renormalized:
            costs = costs.log_softmax(dim=-1)
        costs = costs.unflatten(0, (-1, width))
        last = [place for place, sentence in enumerate(active) if beams[sentence].limit == length]
        if rules.forced_end and last:
            costs[last] = _all_but(config.eos_id, barred)
        candidates = totals[:, :, None] + costs
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
                is_cut = length >= search.limit and rules.ends != "best"
                if token != config.eos_id and not is_cut:
                    live.append((row, path))
                elif rank < beam:
                    search.finished.append(path.hypothesis(penalty, config.eos_id))
                else:
                    continue
                if kept_paths is not None:
                    kept_paths.append(path)
            if length >= search.limit:
                missing = beam - len(search.finished)
                search.finished.sort(key=_by_score)
                cut = [path.hypothesis(penalty, config.eos_id) for _, path in live]
                search.finished += sorted(cut, key=_by_score)[: max(missing, 0)]
                continue
            search.finished.sort(key=_by_score)
            longest = length if rules.ends == "present" else search.limit
            if _is_over(search, live, penalty(longest), beam, rules):
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
    search: _Beam,
    live: list[tuple[int, PartialHypothesis]],
    longest: float,
    beam: int,
    rules: Rules,
) -> bool:
    """Whether no live hypothesis can win; `longest` is the length penalty of the longest."""
    # A prefix that ends with the end token leaves no live hypothesis.
    if not live:
        return True
    if len(search.finished) < beam:
        return False
    # The likeliest comes first. Each further token lowers its log-probability or leaves it.
    reachable = live[0][1].total / longest
    standing = search.finished[0 if rules.ends == "best" else beam - 1]
    return beam == 1 or rules.ends == "full" or standing.score >= reachable


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


def _all_but(token_id: int, like: Tensor) -> Tensor:
    # (vocab,), to be added to log-probabilities.
    penalty = torch.full_like(like, -torch.inf)
    penalty[token_id] = 0
    return penalty
