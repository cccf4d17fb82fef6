"""In which row a layer of cross-attention looks at the source of a target token.

A row is named by the token just read or by the token it goes on to predict. Chen et al. 2020
("Accurate Word Alignment Induction from Neural Machine Translation", section 3) found that a token
is aligned best by the row that has read it. Whether that holds of a layer is measured here.

The source of a token is the source token without which it becomes least likely, as
model/explain/deletion.py measures it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from model.explain.attribution import TELLING
from model.explain.deletion import deletion_losses
from model.trace.attention_map import AttentionKind, AttentionMap
from model.trace.trace import Trace
from model.translate.translator import Translator

MIN_SENTENCES, MIN_PASSING = 5, 0.8
"""A layer needs so many sentences that can tell, and it must hold in this share of them."""


def read_later(traces: Sequence[Trace], sources: Sequence[Mapping[int, int]]) -> Mapping[int, bool]:
    """In which layers the row that has read a token looks at its source more than the one before.

    Args:
        traces: of one model, recorded with a target, of different sentences.
        sources: of each, as `token_sources` gives them.

    Returns:
        By layer True where that is so, False where the row that predicts the token looks there
        more; a layer is left out where neither holds in four of five sentences, or where fewer than
        five can tell.
    """
    found: dict[int, list[bool]] = {}
    for trace, own in zip(traces, sources, strict=True):
        # The last token is never read.
        rows = [row for row in own if row + 1 < len(trace.target)]
        if not rows:
            continue
        columns = [own[row] for row in rows]
        for site, seen in trace.maps.items():
            if site.kind is AttentionKind.CROSS:
                later = _weight(seen, [row + 1 for row in rows], columns)
                found.setdefault(site.layer, []).append(later > _weight(seen, rows, columns))
    verdicts = {}
    for layer, sentences in found.items():
        share = sum(sentences) / len(sentences)
        if len(sentences) >= MIN_SENTENCES and max(share, 1 - share) >= MIN_PASSING:
            verdicts[layer] = share > 0.5
    return verdicts


def token_sources(translator: Translator, trace: Trace) -> dict[int, int]:
    """For each target token, by the row that predicts it, the position of its source token.

    Left out are tokens that no source token makes more likely by TELLING.
    """
    # Not </s>, which stands for no word.
    losses = deletion_losses(translator, trace)[:, :-1]
    if not losses.size:
        return {}
    return {
        row: int(loss.argmax()) for row, loss in enumerate(losses) if float(loss.max()) >= TELLING
    }


def _weight(seen: AttentionMap, rows: list[int], columns: list[int]) -> float:
    """The mean weight, over all heads, of so many cells."""
    cells: NDArray[np.float32] = seen.weights[:, rows, columns]
    return float(cells.mean())
