"""Two runs as bytes for the browser: words, the weights of every head, and parts to put in."""

from collections.abc import Sequence
from typing import Any

from model.trace.attention_map import AttentionKind
from model.trace.head import Head
from viz.browser.envelope import seal, steps_of
from viz.compare.paired import PairedTraces
from viz.draw import style, themes
from viz.draw.labels import axis_texts, visible
from viz.draw.word_diff import word_diff

EXACT = 400_000
"""More weights are sent as one byte each, to half a step of 1/255."""

Line = tuple[str, str, str]
"""A name, a text, and another text whose words are marked where they differ from it."""


def pack_pair(
    pair: PairedTraces,
    *,
    names: tuple[str, str],
    lines: Sequence[Line],
    heard: int,
    shown: Head | None = None,
    puts: bool = False,
    parts: dict[str, Any] | None = None,
    put: Sequence[tuple[str, str]] = (),
) -> bytes:
    """Everything the browser needs, the "pair" of payloads.json.

    Args:
        names: of both runs; any text.
        lines: what stands above the heads.
        heard: the number of the last move that was handled.
        shown: the head that is shown large; None shows no heads.
        puts: whether parts of the second run can be put into the first.
        parts: of viz.compare.parts.parts_of; None for heads alone.
    """
    kinds = pair.kinds if shown is not None else []
    count = sum(run.weights.size for head in pair.heads for run in pair.in_both(head))
    return seal(
        {
            "payload": "pair",
            "names": [visible(name) for name in names],
            "lines": [
                [visible(name), [[change, visible(text)] for change, text in word_diff(one, other)]]
                for name, one, other in lines
            ],
            "kinds": [_kind(pair, kind, exact=count <= EXACT) for kind in kinds],
            "limit": pair.limit,
            "shown": str(shown or ""),
            "puts": puts,
            "parts": parts,
            "put": list(put),
            "heard": heard,
            "themes": themes.THEMES,
        }
    )


def _kind(pair: PairedTraces, kind: AttentionKind, *, exact: bool) -> dict[str, Any]:
    heads = [head for head in pair.heads if head.site.kind is kind]
    layers = [site for site in pair.first.maps if site.kind is kind]
    axes = [*((run.queries, run.keys) for run in pair.in_both(heads[0])), pair.labels(kind)]
    return {
        "name": kind.full_name,
        "layers": [site.layer for site in layers],
        "columns": max(pair.first.maps[site].n_heads for site in layers),
        "queryTitle": kind.query_noun.capitalize(),
        "keyTitle": kind.key_noun.capitalize(),
        "axes": [
            {"queries": axis_texts(queries), "keys": axis_texts(keys)} for queries, keys in axes
        ],
        "aligned": kind.axes(pair.source, pair.target, []),
        "heads": [_head(pair, head, layers.index(head.site), exact) for head in heads],
    }


def _head(pair: PairedTraces, head: Head, layer: int, exact: bool) -> dict[str, Any]:
    partner = Head(*pair.heads[head])
    share = f"{style.percent(pair.moved[head])} of its weight differs"
    beside = f", beside {partner.short_name}" if pair.versus == "model" else ""
    runs = pair.in_both(head)
    return {
        "part": str(head),
        "name": head.short_name,
        "full": f"{head.name}{beside}",
        "said": f"{head.short_name}{beside}: {share}",
        "share": share,
        "layer": layer,
        "number": head.number,
        "weights": [run.weights if exact else steps_of(run.weights) for run in runs],
        "allowed": [run.allowed for run in runs],
    }
