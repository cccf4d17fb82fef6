"""The row in which a layer of cross-attention looks at the source of a target token.

A row reads one token and predicts the next. Chen et al. 2020 ("Accurate Word Alignment Induction
from Neural Machine Translation", section 3) found that the row that reads a token aligns it best.
This module measures which row of a layer does.

The source of a token is the source token without which it becomes least likely, by
model/explain/deletion.py.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from model.explain.attribution import TELLING
from model.explain.deletion import deletion_losses
from model.trace.attention_map import AttentionKind, AttentionMap
from model.trace.trace import Trace
from model.translate.translator import Translator

MIN_SENTENCES, MIN_PASSING = 5, 0.8
"""The fewest sentences with an answer for a layer, and the share that must agree."""


def read_later(traces: Sequence[Trace], sources: Sequence[Mapping[int, int]]) -> Mapping[int, bool]:
    """For each layer, whether the row that reads a token looks more at its source.

    False if the row that predicts the token does. A layer is left out if neither holds in four of
    five sentences, or fewer than five have an answer. The traces are of one model with a target,
    the sources of each from `token_sources`.
    """
    is_later: dict[int, list[bool]] = {}
    for trace, own in zip(traces, sources, strict=True):
        # The last token is never read.
        rows = [row for row in own if row + 1 < len(trace.target)]
        if not rows:
            continue
        columns = [own[row] for row in rows]
        for site, cross in trace.maps.items():
            if site.kind is AttentionKind.CROSS:
                later = _weight(cross, [row + 1 for row in rows], columns)
                is_later.setdefault(site.layer, []).append(later > _weight(cross, rows, columns))
    verdicts = {}
    for layer, sentences in is_later.items():
        share = sum(sentences) / len(sentences)
        if len(sentences) >= MIN_SENTENCES and max(share, 1 - share) >= MIN_PASSING:
            verdicts[layer] = share > 0.5
    return verdicts


def token_sources(translator: Translator, trace: Trace) -> dict[int, int]:
    """The position of each target token's source token, by the row that predicts the token.

    Tokens that no source token makes more likely by TELLING are left out.
    """
    # Not </s>, which is no word.
    losses = deletion_losses(translator, trace)[:, :-1]
    if not losses.size:
        return {}
    return {
        row: int(loss.argmax()) for row, loss in enumerate(losses) if float(loss.max()) >= TELLING
    }


def _weight(cross: AttentionMap, rows: list[int], columns: list[int]) -> float:
    """The mean weight of these cells, over all heads."""
    cells: NDArray[np.float32] = cross.weights[:, rows, columns]
    return float(cells.mean())
