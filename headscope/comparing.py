"""How far the heads of two models are apart, on average over many texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from model.explain.head_averages import HeadAverages
from model.paper.search import Search
from model.record.intervention import UNCHANGED
from model.survey.nearest import one_to_one
from model.survey.running import ANSWERED
from model.survey.text_runs import Item, Running, asked, items_of, traces
from model.trace.attention_map import TraceError
from model.trace.head import Head
from model.trace.provenance import note_on_models
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.translate.translator import Translator
from viz.compare.paired import apart

PAIRED = "Each head stands beside the one that is most alike on these same texts, one to one."


def compare(
    one: Translator | Trace,
    other: Translator | Trace,
    texts: Sequence[str] | None = None,
    *,
    search: Search | None = None,
    **how: Unpack[Running],
) -> HeadAverages:
    """The share of each head's weight that lies elsewhere in the other model or trace.

    Only tokens that both have at one place count, as in `hs.figures.PairedTraces`. Heads of one
    model are compared with themselves; those of two with the heads that are most alike on these
    texts, one to one within a kind of attention, so that their shares are optimistic.

    Args:
        one: a model, which translates the texts; or a trace.
        other: likewise.
        texts: for models; None for traces.
        search: the method of decoding; None for each model's own.
        how: as in `effects`.

    Raises:
        TypeError: if a model is compared with a trace, or texts are given with traces.
        TextError: if the search has a prefix, a model cannot read a text, or there is none.
        TraceError: if both share no kind of attention, or no token.
        SurveyError: as `effects`.
    """
    given = "Compare two translators on texts, or two traces without texts."
    if isinstance(one, Trace) and isinstance(other, Trace):
        if texts is not None:
            raise TypeError(given)
        texts, found = (one.source_text,), [_apart(one, other)]
    elif isinstance(one, Translator) and isinstance(other, Translator):
        if search and search.prefix:
            raise TextError("A beginning is tokens of one model; compare two without a prefix.")
        for model in (other, one):
            items = items_of(model, texts or ())
        found = asked(Apart(search), items, [one, other], "compare", ANSWERED, how)
    else:
        raise TypeError(given)
    known = one.provenance, other.provenance
    values = dict.fromkeys(one.heads, np.full(len(found), np.nan))
    partners: dict[Head, Head] = {}
    is_same = known[0].model == known[1].model and one.heads == other.heads
    for parts in zip(*found, strict=True):
        ones, others = (list(map(Head.of, names)) for names in parts[0][:2])
        # (text, first, second)
        moved = np.array([part[2] for part in parts], dtype=np.float64)
        told = ~np.isnan(moved)
        means = np.where(told, moved, 0).sum(axis=0) / np.where(
            told.any(axis=0), told.sum(axis=0), np.nan
        )
        pairs = [(place, place) for place in range(len(ones))] if is_same else one_to_one(means)
        values |= {ones[a]: moved[:, a, b] for a, b in pairs}
        partners |= {ones[a]: others[b] for a, b in pairs}
    if not partners:
        raise TraceError("These two share no kind of attention; compare others.")
    note = " ".join(filter(None, [note_on_models(known), "" if is_same else PAIRED]))
    numbers = np.stack([*values.values()], axis=-1)
    if np.isnan(numbers).all():
        raise TraceError("These two share no token of these texts at one place; compare others.")
    return HeadAverages.over(
        "moved",
        texts or (),
        [*values],
        numbers,
        partners=partners,
        note=note,
        provenance=known[0],
    )


@dataclass(frozen=True, slots=True)
class Apart:
    """How far two models' heads are apart on each text."""

    search: Search | None

    def __call__(self, items: Sequence[Item], one: Translator, other: Translator) -> list[Any]:
        """As of `_apart`, for each item."""
        both = (traces(items, model, self.search, UNCHANGED) for model in (one, other))
        return [_apart(*pair) for pair in zip(*both, strict=True)]


def _apart(one: Trace, other: Trace) -> list[Any]:
    """Names of the heads of one and of the other, and their distances, for each kind."""
    return [
        (list(map(str, ones)), list(map(str, others)), moved.tolist())
        for ones, others, moved in apart(one, other)
    ]
