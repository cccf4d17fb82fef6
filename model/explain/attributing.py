"""Maps by a method of attribution, of a sentence or a piece of it."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from model.explain.attribution import (
    AttributionError,
    AttributionMap,
    AttributionPart,
    Attributions,
)
from model.explain.attribution_methods import CLASSES, AttributionPiece
from model.explain.attribution_run import Run
from model.explain.deletion import deletion_losses
from model.explain.self_attribution import SelfAttributions
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.trace import Trace
from model.translate.translator import Translator


def attributions(
    translator: Translator,
    sentence: str | Trace,
    *,
    methods: Sequence[str] = tuple(CLASSES),
    sites: Sequence[Site] | None = None,
    token: int | None = None,
) -> Attributions:
    """What every method says of a sentence, beside what deleting its tokens does.

    Args:
        sentence: a text, which the model translates; or a trace of it, of a run in which nothing
            was changed.
        methods: names in `model.explain.attribution.METHODS`.
        sites: those wanted; None for all of the model. A map for the whole model is made as well.
        token: the row of the target whose prediction gradients are of; None for every row its own,
            and for the encoder's all together.

    Raises:
        TextError: as `Translator.translate`, for a text.
        AttributionError: if there is no such method, site or row.
    """
    trace = translator.trace(sentence) if isinstance(sentence, str) else sentence
    wanted = translator.sites if sites is None else tuple(sites)
    run = _run(translator, trace, methods, wanted, token)
    maps = []
    with torch.no_grad():
        for name in methods:
            maps += [_site_map(run, name, site) for site in wanted]
            maps.append(_whole_map(run, name))
    return Attributions(
        source=trace.source,
        target=trace.target,
        predictions=trace.predictions,
        deletion_losses=deletion_losses(translator, trace),
        maps=tuple(maps),
        provenance=trace.provenance,
    )


_PARTS = 12
"""Into so many parts rows are divided."""


@torch.no_grad()
def self_attributions(
    translator: Translator,
    sentence: str | Trace,
    site: Site,
    *,
    methods: Sequence[str] = tuple(CLASSES),
    token: int | None = None,
) -> SelfAttributions:
    """What every method says of one site of self-attention.

    Arguments and errors are those of `attributions`; cross-attention is refused as no such site.
    """
    trace = translator.trace(sentence) if isinstance(sentence, str) else sentence
    if site.kind is AttentionKind.CROSS:
        raise AttributionError(f"{site} is no self-attention; `attributions` makes its maps.")
    run = _run(translator, trace, methods, [site], token)
    tokens, _ = site.kind.axes(trace.source, trace.target, trace.target)
    maps = tuple(_site_map(run, name, site) for name in methods)
    allowed = trace.maps[site].allowed
    return SelfAttributions(site=site, tokens=tokens, allowed=allowed, maps=maps, token=token)


def _run(
    translator: Translator,
    trace: Trace,
    methods: Sequence[str],
    sites: Sequence[Site],
    token: int | None,
    rows: range | None = None,
) -> Run:
    """The sentence of a trace as methods read it, where all that is asked for is there."""
    for name, those, known in (("method", methods, CLASSES), ("site", sites, translator.sites)):
        for each in those:
            if each not in known:
                raise AttributionError(
                    f"There is no {name} {each}; choose among {', '.join(map(str, known))}."
                )
    if token is not None and not 0 <= token < len(trace.target):
        raise AttributionError(
            f"The target has the rows 0 to {len(trace.target) - 1}; there is no row {token}."
        )
    source, target, predictions = (
        torch.tensor(tokens.ids, device=translator.device)
        for tokens in (trace.source, trace.target, trace.predictions)
    )
    return Run(translator.model, source, target, predictions, token, rows)


def _whole_map(run: Run, name: str) -> AttributionMap:
    whole = _array(CLASSES[name].whole(run))
    return AttributionMap(method=name, site=None, heads=whole[None][:0], together=whole)


def _site_map(run: Run, name: str, site: Site) -> AttributionMap:
    method = CLASSES[name]
    heads, (together,) = (_array(method.of(run, site, together=each)) for each in (False, True))
    return AttributionMap(method=name, site=site, heads=heads, together=together)


def attribution_parts(translator: Translator, trace: Trace) -> list[AttributionPiece]:
    """What `attribution_part` is to be asked for, one after another, for all of cross-attention.

    Each of them takes much less than all together.
    """
    cross = tuple(site for site in translator.sites if site.kind is AttentionKind.CROSS)
    by_cost: dict[str, list[str]] = {"pass": [], "site": [], "row": []}
    for name, method in CLASSES.items():
        by_cost[method.cost].append(name)
    rows = range(len(trace.target))
    step = math.ceil(len(rows) / _PARTS)
    return [
        AttributionPiece(tuple(by_cost["pass"]), (*cross, None)),
        *(
            AttributionPiece((each,), (site,))
            for each in by_cost["site"]
            for site in (*cross, None)
        ),
        *(
            AttributionPiece((each,), (*cross, None), rows[start : start + step])
            for each in by_cost["row"]
            for start in rows[::step]
        ),
    ]


@torch.no_grad()
def attribution_part(
    translator: Translator, trace: Trace, piece: AttributionPiece
) -> AttributionPart:
    """Some of the maps that `attributions` makes, for `model.explain.self_attribution.joined`."""
    run = _run(translator, trace, piece.methods, [], None, piece.rows)
    maps = [
        _whole_map(run, name) if site is None else _site_map(run, name, site)
        for name in piece.methods
        for site in piece.sites
    ]
    return AttributionPart(maps=tuple(maps))


def cross_attributions(translator: Translator, trace: Trace) -> Attributions:
    """`attributions` of cross-attention, whose maps can be held against the truth."""
    sites = [site for site in translator.sites if site.kind is AttentionKind.CROSS]
    return attributions(translator, trace, sites=sites)


def _array(x: Tensor) -> FloatArray:
    array: FloatArray = x.float().cpu().numpy()
    return array
