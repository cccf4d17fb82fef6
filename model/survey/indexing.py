"""The index of a survey's sentences, made from its counts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from model.rules.weight_rules import Lexicon, SeenRows
from model.survey.part import SurveyPart
from model.survey.sentence_index import FOUND_BY, SentenceIndex
from model.trace.attention_map import AttentionKind, BoolArray
from model.trace.head import Head
from model.trace.token_schemes import special

ENDS = ("first", "last")
"""The rules that may mean a special token."""


def indexed(part: SurveyPart, lexicon: Lexicon | None = None) -> SentenceIndex:
    """The index of counts.

    Args:
        part: the counts over all sentences.
        lexicon: for rules that look for a token's source; without one, no head follows them.
    """
    n_heads = part.values.shape[2]
    does = {
        Head(site, head): np.zeros((len(FOUND_BY[site.kind]), len(part)), np.uint8)
        for site in part.sites
        for head in range(n_heads)
    }
    ends = np.searchsorted(part.looks[:, 0], np.arange(len(part) + 1))
    for sentence in range(len(part)):
        looks = part.looks[ends[sentence] : ends[sentence + 1]]
        for kind, sites, cells in _cells(part, sentence, lexicon):
            own = looks[np.isin(looks[:, 1], sites)]
            possible = np.count_nonzero(cells.any(axis=-1), axis=-1)
            # (rule, look)
            there = cells[:, own[:, 3], own[:, 4]]
            for rule in range(len(FOUND_BY[kind])):
                follows = own[there[rule]]
                rows = np.zeros((len(part.sites), n_heads), int)
                np.add.at(rows, (follows[:, 1], follows[:, 2]), 1)
                for place, head in np.argwhere(rows).tolist():
                    mostly = 2 * rows[place, head] >= possible[rule]
                    does[Head(part.sites[place], head)][rule, sentence] = 1 + mostly
    return SentenceIndex(tuple(source for source, _ in part.texts), does)


def _cells(
    part: SurveyPart, sentence: int, lexicon: Lexicon | None
) -> Iterator[tuple[AttentionKind, list[int], BoolArray]]:
    """For each kind of attention its sites, and where its rules look, (rule, query, key)."""
    source, read = part.sources[sentence], ("<s>", *part.predictions[sentence][:-1])
    for kind, names in FOUND_BY.items():
        sites = [place for place, site in enumerate(part.sites) if site.kind is kind]
        if not sites:
            continue
        queries, keys = kind.axes(source, read, ())
        allowed = np.ones((len(queries), len(keys)), np.bool_)
        if kind is AttentionKind.DECODER:
            allowed = np.tril(allowed)
        elsewhere = [place for place, name in enumerate(names) if name not in ENDS]
        resting = [place for place, key in enumerate(keys) if special(key)]
        rows = SeenRows(kind, queries, keys, allowed=allowed, lexicon=lexicon)
        choice = np.count_nonzero(allowed, axis=-1) >= 2
        cells = np.stack([rows.cells(name) for name in names])
        # A head that rests at the end does not look two tokens on where the sentence ends there.
        cells[np.ix_(elsewhere, range(len(queries)), resting)] = 0
        # Of several sources, the likeliest.
        likeliest = (cells > 0) & (cells == cells.max(axis=-1, keepdims=True))
        yield kind, sites, likeliest & choice[:, None]
