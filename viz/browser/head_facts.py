"""What a payload says of each head, in numbers and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.explain.head_numbers import head_numbers
from model.explain.labels import Label
from model.explain.measures import Measure
from model.explain.reading import ReadTrace
from model.trace.attention_map import AttentionKind, AttentionMap, Site
from viz.browser.head_sentences import HeadWords


def head_words(kind: AttentionKind, seen: ReadTrace, first: AttentionMap) -> dict[str, Any]:
    """The tokens that rows and columns stand for: `[side, first, end]` each, or null.

    On the target side these are tokens as they were written, and a row stands for the one that it
    writes, whichever it is named by. A column stands for the token it reads; <s> is at −1.
    """
    shift = 1 if seen.spans.get("output") else 0
    source = [["source", *span] for span in seen.spans.get("source", ())]
    read = [["target", start - shift, end - shift] for start, end in seen.spans.get("input", ())]
    rows, keys = kind.axes(source, read, [])
    if kind in seen.beside_spans:
        is_named = kind is AttentionKind.CROSS and seen.by_prediction
        written = seen.spans["output"] if is_named else seen.beside_spans[kind]
        rows = [["target", *span] for span in written]
    return {
        "queries": _fitted(rows, len(first.queries)),
        "keys": _fitted(keys, len(first.keys)),
    }


def _fitted(words: list[list[Any]], count: int) -> list[Any]:
    """As many as there are labels, null for those that stand for no token of the sentence."""
    return [*words, *([None] * (count - len(words)))]


def facts_of_heads(
    site: Site,
    facts: Mapping[str, NDArray[np.floating]],
    words: Sequence[HeadWords],
    labels: tuple[Label | None, ...] | None,
    measured: Sequence[Measure],
) -> list[dict[str, Any]]:
    """One entry a head: what it does in words and in numbers, and its label if it earned one.

    Where heads were surveyed, one without a label has a tendency instead.
    """
    columns = {key: values.tolist() for key, values in facts.items()}
    entries = []
    for head, described in enumerate(words):
        values = {key: column[head] for key, column in columns.items()}
        label = labels[head] if labels is not None and head < len(labels) else None
        entries.append(
            {
                "sentence": described.sentence,
                "pairs": described.pairs,
                "ignored": described.ignored,
                "numbers": head_numbers(site.kind, values, measured),
                "label": label.text if label and label.earned else None,
                "tendency": label.text if label and not label.earned else None,
                "share": label.share if label else "",
                "reason": label.reason if label else "",
                "measures": [values.get(each.key) for each in measured],
            }
        )
    return entries
