"""A rule in words for every head: fitted, chosen and judged on three sets of sentences.

For each head, the rule of up to MOST terms and the rule of up to SAID terms, which its sentence
says, are the shortest that lose little overlap on the second set. The third set tells how far rule
and head overlap and how often the sentence is right, beside the best single position, a rule for
shuffled weights, and the same fit on each half of the first set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from model.explain.head_rows import allowed_per_head
from model.explain.head_rules import RuleFinding, RulesByHead
from model.explain.label_rules import DEVIATIONS
from model.rules.phrases import Terms
from model.rules.terms import terms_of
from model.rules.weight_rules import Lexicon
from model.rules.word_classes import language_of
from model.survey.fitting import by_kind
from model.survey.term_cells import TermCells, weights_by_rules
from model.survey.term_fitting import MOST, SAID, fitted_terms
from model.trace.attention_map import AttentionKind, Tokens, TraceError
from model.trace.head import Head
from model.trace.trace import Trace

FITTED, CHOSEN, USED = 200, 100, 600
"""Sentences that fit the rules, others that choose their lengths, and all with those that judge."""

SPARED = 0.01
"""A rule is worth its longer version only for so much more overlap."""

POSITIONS = ("previous", "same", "next", "two_before", "two_after", "first", "last", "abreast")
"""The single places of the baseline."""

_SURE = 8.0
"""The strength of a position that gets nearly all weight."""


LEAST = 30
"""Texts, at least, of which rules are fitted, chosen and judged."""


def head_rules(traces: Sequence[Trace]) -> RulesByHead:
    """A rule in words for each head of any model, from its traces of many texts.

    A third of the texts, the first ones, fit the rules, a sixth choose their lengths, and the rest
    judge them, so shuffle texts that are in an order. Classes of words count if the tokens are
    English, German or French. Heads of modules of unknown role get no rule.

    Args:
        traces: of one model, at least 30, of different texts.

    Raises:
        TraceError: if there are too few traces, they are of different models, no head's role is
            known, or the heads of one kind see different keys or keys that are no tokens.
    """
    if len(traces) < LEAST:
        raise TraceError(
            f"Rules need traces of at least {LEAST} texts to be fitted and judged; there are "
            f"{len(traces)}."
        )
    shapes = {tuple((site, each.n_heads) for site, each in trace.maps.items()) for trace in traces}
    if len(shapes) > 1:
        raise TraceError("These traces have different layers or heads; give those of one model.")
    kinds = [kind for kind in AttentionKind if kind in {site.kind for site in traces[0].maps}]
    known = [kind for kind in kinds if terms_of(kind)]
    if not known:
        raise TraceError(
            "These traces do not say whether their heads are an encoder's or a decoder's; record "
            'them within watching(kind="encoder"), or "decoder" or "cross".'
        )
    for trace in traces:
        for kind in known:
            _require_alike(trace, kind)
    languages = languages_of(traces)
    fitted, chosen = shares_of(len(traces))
    found = RulesByHead()
    for kind in known:
        axes = kind.axes(*languages, "")
        found |= head_sentences(traces, kind, axes, None, fitted=fitted, chosen=chosen)
    return found


def languages_of(traces: Sequence[Trace]) -> tuple[str, str]:
    """The languages of what is read and of what is written; empty for an unknown one."""
    return (
        language_of(trace.source.tokens for trace in traces),
        language_of(trace.target.tokens for trace in traces),
    )


def shares_of(count: int) -> tuple[int, int]:
    """How many of the texts fit the rules of `head_rules`, and how many choose their lengths."""
    return count // 3, count // 6


def _require_alike(trace: Trace, kind: AttentionKind) -> None:
    """Raises TraceError unless all heads of a kind see the same keys, which are tokens."""
    maps = [each for site, each in trace.maps.items() if site.kind is kind]
    allowed = allowed_per_head(maps[0].allowed)[0]
    _, keys = kind.axes(trace.source, trace.target, Tokens())
    for each in maps:
        if each.keys != keys:
            raise TraceError(
                f"Heads at {each.site} look at keys that are no tokens of the text, such as a "
                "prefix or a sink; rules know tokens alone."
            )
        if not all(np.array_equal(allowed, other) for other in allowed_per_head(each.allowed)):
            raise TraceError(
                f"The heads at {each.site} do not see the same keys as other heads of their kind; "
                "give traces of sites that do, as trace.only(…) makes them."
            )


def head_sentences(
    traces: Sequence[Trace],
    kind: AttentionKind,
    languages: tuple[str, str],
    lexicon: Lexicon | None,
    *,
    fitted: int = FITTED,
    chosen: int = CHOSEN,
) -> dict[Head, RuleFinding]:
    """The rules of one kind's heads.

    Args:
        traces: of one model, of different sentences.
        kind: of attention.
        languages: of queries and of keys, for classes of words; empty for an unknown one.
        lexicon: for cross-attention, learned from other sentences.
        fitted: how many of the traces, the first ones, fit the rules.
        chosen: how many of those after them choose their lengths; the rest judges them.
    """

    def cells(part: slice, names: Sequence[str] | None = None) -> TermCells:
        return TermCells.of(traces[part], kind, languages, lexicon, names)

    whole = cells(slice(0, fitted))
    paths = fitted_terms(whole)
    is_even = np.arange(fitted) % 2 == 0
    halves = [fitted_terms(whole.only(half)) for half in (is_even, ~is_even)]
    at_random = fitted_terms(whole.only(is_even).shuffled(0), shortest=MOST)[MOST]
    positions = [Terms((name,), (_SURE,)) for name in POSITIONS if name in whole.names]
    names = _names([*paths.values(), *(each[SAID] for each in halves), at_random, positions])
    choosing = cells(slice(fitted, fitted + chosen), names)
    rules = _shortest(choosing, paths, lambda _: True)
    said = _shortest(
        choosing,
        {length: each for length, each in paths.items() if length <= SAID},
        lambda terms: terms.is_short,
    )
    best = torch.stack(
        [_right(choosing, [each] * choosing.n_heads)[0] for each in positions]
    ).argmax(0)
    judging = cells(slice(fitted + chosen, None), names)
    right, error = _right(judging, said)
    position, _ = _right(judging, [positions[number] for number in best.tolist()])
    of_halves = [weights_by_rules(judging, each[SAID]) for each in halves]
    columns = {
        "right": right,
        "low": (right - DEVIATIONS * error).clamp(min=0),
        "high": (right + DEVIATIONS * error).clamp(max=1),
        "position": position,
        "said_overlap": _overlap(judging, said),
        "overlap": _overlap(judging, rules),
        "shuffled": _overlap(judging.shuffled(1), at_random),
        "halves": judging.summed(torch.minimum(*of_halves)).mean(0),
    }
    places = next(places for each, places, _ in by_kind(traces[0]) if each is kind)
    return {
        place: RuleFinding(
            said=said[head],
            rule=rules[head],
            **{name: float(column[head]) for name, column in columns.items()},
        )
        for head, place in enumerate(places)
    }


def _shortest(
    cells: TermCells, paths: Mapping[int, Sequence[Terms]], can_be: Callable[[Terms], bool]
) -> list[Terms]:
    """For each head, the shortest rule whose overlap is little below the best one's."""
    overlaps = {length: _overlap(cells, rules) for length, rules in paths.items()}
    found = []
    for head in range(cells.n_heads):
        worth = {
            length: float(overlaps[length][head])
            for length, rules in paths.items()
            if can_be(rules[head])
        }
        most = max(worth.values())
        shortest = min(length for length, each in worth.items() if each >= most - SPARED)
        found.append(paths[shortest][head])
    return found


def _overlap(cells: TermCells, rules: Sequence[Terms]) -> Tensor:
    """How far heads overlap with their rules, (head,)."""
    return cells.overlaps(weights_by_rules(cells, rules)).mean(0)


def _right(cells: TermCells, rules: Sequence[Terms]) -> tuple[Tensor, Tensor]:
    """The share of rows whose strongest key a rule names, and its standard error, (head,).

    The rows of one sentence are alike, so the error comes from the spread between sentences.
    """
    hits = cells.hits(weights_by_rules(cells, rules))
    share = hits.mean(0)
    _, of_sentence = np.unique(cells.sentences, return_inverse=True)
    spread = torch.zeros(of_sentence.max() + 1, cells.n_heads)
    spread.index_add_(0, torch.from_numpy(of_sentence), hits - share)
    return share, torch.sqrt((spread**2).sum(0)) / cells.n_rows


def _names(rules: Sequence[Sequence[Terms]]) -> list[str]:
    return sorted({name for each in rules for terms in each for name in terms.names})
