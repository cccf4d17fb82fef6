"""Every head of a trace as the browser takes it, in the payloads "trace" and "figure".

The browser holds all heads and draws them itself, so moving among them never waits for the server.
Weights travel as 32-bit floats while there are few, and where there are many in 8 bits with a scale
for each row (model/trace/rounded_weights.py), which keeps the small ones of a long text apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from model.explain.labels import Label, opening_heads
from model.explain.measures import EFFECT, Facts, Measure
from model.explain.reading import ReadTrace, measures_of
from model.trace.attention_map import (
    AttentionKind,
    AttentionMap,
    FloatArray,
    Site,
    Tokens,
    TraceError,
    weights_in,
)
from viz.browser.coarse_heads import CoarseHeads
from viz.browser.envelope import seal
from viz.browser.head_facts import facts_of_heads, head_words
from viz.browser.head_sentences import HeadWords, words_of
from viz.draw import themes
from viz.draw.axis_names import caption, key_title, nouns, row_titles
from viz.draw.constants import CONSTANTS
from viz.draw.labels import axis_texts

EXACT_CELLS: int = CONSTANTS["EXACT_CELLS"]
"""Up to so many weights in all, each is sent exactly; beyond, in 8 bits."""

JOINT: str = CONSTANTS["JOINT"]
"""The name of the picture of all three kinds of attention in one."""


Labels = Mapping[Site, tuple[Label | None, ...]]
"""Of model.explain.labels.Survey, by site; sites may be absent."""


def pack(seen: ReadTrace, facts: Facts, labels: Labels, **shown: Any) -> bytes:
    """A trace as the browser takes it, the "trace" of payloads.json; arguments as of `values_of`.

    Raises:
        TraceError: if the layers of one kind of attention differ in heads or tokens.
    """
    return seal({"payload": "trace", **values_of(seen, facts, labels, **shown)})


def values_of(
    seen: ReadTrace,
    facts: Facts,
    labels: Labels,
    *,
    effects: Mapping[Site, FloatArray] | None = None,
    epoch: int = 0,
    selection: Mapping[str, str] | None = None,
    stage: bool = False,
    in_corpus: bool = False,
    vectors: bool = False,
    coarse: CoarseHeads | None = None,
) -> dict[str, Any]:
    """What the browser is told of a trace, in whichever payload.

    Args:
        effects: the loss without each head, by site, (head,): of
            model.explain.ablation_results.Effects; empty until somebody orders heads by it, None
            where nobody can.
        epoch: the browser takes `selection` once for every new epoch, and keeps its own else.
        selection: what is selected at first, as chosen.js spells it.
        stage: for a picture alone that fills the window.
        in_corpus: whether what heads do over many sentences was surveyed.
        vectors: whether queries, keys, values and scores go along, as far as they were recorded
            and up to EXACT_CELLS numbers in all: for a file, which can ask no model.
        coarse: the heads coarsely, whose weights a server then gives; None for all weights.

    Raises:
        TraceError: if the layers of one kind of attention differ in heads or tokens.
    """
    axes = _Axes()
    said = _said(seen, facts, labels)
    cells = weights_in(seen.maps.values())
    vectors = vectors and _size_of_vectors(seen.maps.values()) <= EXACT_CELLS
    measured = measures_of(seen.reading)
    if effects is not None:
        measured = (*measured, EFFECT)
        facts = {
            site: {**each, EFFECT.key: effects[site]} if site in effects else each
            for site, each in facts.items()
        }
    kinds = [
        _kind(kind, sites, seen, facts, labels, said.words, measured, axes)
        | _weights(kind, [seen.maps[site] for site in sites], coarse, exact=cells <= EXACT_CELLS)
        | {"opening": said.opening[kind]}
        | _vectors([seen.maps[site] for site in sites], are_sent=vectors)
        for kind, sites in _by_kind(seen).items()
    ]
    return {
        "epoch": epoch,
        "selection": dict(selection or {}),
        "axes": axes.texts,
        "kinds": kinds,
        "measures": [
            {"key": measure.key, "name": measure.name, "unit": measure.unit} for measure in measured
        ],
        "toCome": None if coarse is None else coarse.asks,
        "onDemand": EFFECT.key,
        "notes": list(seen.notes),
        "surveyed": bool(labels),
        "canSwitchOff": effects is not None,
        "inCorpus": in_corpus,
        JOINT: is_joint(seen),
        "stage": stage,
        "themes": themes.STAGE_THEMES if stage else themes.THEMES,
    }


def is_joint(seen: ReadTrace) -> bool:
    """Whether the three kinds can stand in one picture: their axes have to be the same tokens."""
    kinds = (AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS)
    maps = _by_kind(seen)
    if not all(kind in maps for kind in kinds):
        return False
    encoder, decoder, cross = (seen.maps[maps[kind][0]] for kind in kinds)
    return (
        encoder.queries == encoder.keys == cross.keys
        and decoder.queries == decoder.keys == cross.queries
    )


def require_alike(kind: AttentionKind, maps: Sequence[AttentionMap]) -> None:
    """Refuse layers that no one picture can show.

    Raises:
        TraceError: if the layers of one kind of attention differ in heads or tokens.
    """
    if len({each.shape for each in maps}) > 1:
        raise TraceError(
            f"The layers of {kind.full_name.lower()} differ in heads or tokens; one picture "
            "needs them alike."
        )


@dataclass(frozen=True, slots=True)
class _Said:
    """What takes long to be found in a long text, and stays the same for the same labels."""

    labels: Labels
    opening: Mapping[AttentionKind, tuple[int, int]]
    words: Mapping[Site, Sequence[HeadWords]]


_SAID: WeakKeyDictionary[ReadTrace, _Said] = WeakKeyDictionary()


def _said(seen: ReadTrace, facts: Facts, labels: Labels) -> _Said:
    known = _SAID.get(seen)
    if known is None or known.labels != labels:
        opening = opening_heads(seen.maps, labels, facts)
        words = words_of(seen.maps, facts, seen.reading)
        _SAID[seen] = known = _Said(labels, opening, words)
    return known


class _Axes:
    """The texts of axes, each sent once."""

    def __init__(self) -> None:
        self.texts: list[list[str]] = []

    def place(self, tokens: Tokens | None) -> int | None:
        if tokens is None:
            return None
        texts = axis_texts(tokens)
        if texts not in self.texts:
            self.texts.append(texts)
        return self.texts.index(texts)


def _by_kind(seen: ReadTrace) -> dict[AttentionKind, list[Site]]:
    sites: dict[AttentionKind, list[Site]] = {}
    for site in seen.maps:
        sites.setdefault(site.kind, []).append(site)
    return sites


def _kind(
    kind: AttentionKind,
    sites: list[Site],
    seen: ReadTrace,
    facts: Facts,
    labels: Labels,
    words: Mapping[Site, Sequence[HeadWords]],
    measured: Sequence[Measure],
    axes: _Axes,
) -> dict[str, Any]:
    maps = [seen.maps[site] for site in sites]
    first = maps[0]
    require_alike(kind, maps)
    titles = row_titles(kind, seen)
    query_noun, key_noun = nouns(kind, sides=seen.has_sides)
    return {
        "kind": str(kind),
        "name": kind.full_name,
        "short": kind.short_name,
        "layers": [site.layer for site in sites],
        "heads": first.n_heads,
        "queries": axes.place(first.queries),
        "keys": axes.place(first.keys),
        "beside": axes.place(seen.beside.get(kind)),
        "besideTitle": titles.beside,
        "besideMark": titles.arrow,
        "queryTitle": titles.query,
        "keyTitle": key_title(kind, sides=seen.has_sides),
        "queryNoun": query_noun,
        "keyNoun": key_noun,
        "caption": caption(first, by_prediction=seen.by_prediction, sides=seen.has_sides),
        "words": head_words(kind, seen, first),
        "allowed": [each.allowed for each in maps],
        "facts": [
            facts_of_heads(site, facts[site], words[site], labels.get(site), measured)
            for site in sites
        ],
    }


def _weights(
    kind: AttentionKind, maps: Sequence[AttentionMap], coarse: CoarseHeads | None, *, exact: bool
) -> dict[str, Any]:
    if coarse is not None:
        return {"weights": coarse.cells[kind], "scales": None, "grain": coarse.grain[kind]}
    if exact:
        return {"weights": [each.weights for each in maps], "scales": None, "grain": None}
    heads = [head for each in maps for head in each.in_steps()]
    steps, scales = ([head[place] for head in heads] for place in range(2))
    return {"weights": steps, "scales": scales, "grain": None}


VECTORS = ("q", "k", "v", "scores")
"""What makes a weight, as an AttentionMap has it."""


def _size_of_vectors(maps: Iterable[AttentionMap]) -> int:
    arrays = (getattr(each, name) for each in maps for name in VECTORS)
    return sum(array.size for array in arrays if array is not None)


def _vectors(maps: Sequence[AttentionMap], *, are_sent: bool) -> dict[str, Any]:
    """What makes the weights of one kind of attention; None where its layers differ in it."""
    found: dict[str, Any] = {}
    for name in VECTORS:
        arrays = [getattr(each, name) for each in maps]
        shapes = {None if each is None else each.shape for each in arrays}
        found[name] = arrays if are_sent and len(shapes) == 1 and None not in shapes else None
    return found
