"""A trace in words: the shape of its model, and what it holds."""

from __future__ import annotations

from collections.abc import Sequence

from model.trace.attention_map import AttentionKind
from model.trace.trace import Trace
from viz.draw.style import count_of

LAYERS = {
    AttentionKind.ENCODER: "encoder",
    AttentionKind.DECODER: "decoder",
    AttentionKind.CROSS: "cross-attention",
    AttentionKind.MODULE: "other attention",
}
"""The names of the layers of each kind."""


def input_text(trace: Trace) -> str:
    """The model's input as text: as recorded, or else its tokens one after another."""
    return trace.source_text or " ".join(trace.source or trace.target)


def shape_of(trace: Trace) -> str:
    """Its layers, heads and tokens, such as "2 decoder layers of 4 heads, 7 tokens"."""
    by_heads: dict[int, list[str]] = {}
    for kind, name in LAYERS.items():
        if layers := trace.layers(kind):
            n_heads = trace.attention(kind, layers[0]).n_heads
            by_heads.setdefault(n_heads, []).append(f"{len(layers)} {name}")
    shapes = [
        f"{listed(names)} {'layer' if names[0].startswith('1 ') and not names[1:] else 'layers'} "
        f"of {count_of(n_heads, 'head')}"
        for n_heads, names in by_heads.items()
    ]
    n_source, n_target = len(trace.source), len(trace.target)
    if n_source and n_target:
        tokens = f"{count_of(n_source, 'source token')} and {count_of(n_target, 'target token')}"
    else:
        tokens = count_of(n_source or n_target, "token")
    return ", ".join([*shapes, tokens])


def contents_of(trace: Trace) -> list[str]:
    """Its other contents and gaps, in sentences."""
    maps = trace.maps.values()
    has_scores = all(each.scores is not None for each in maps)
    has_vectors = all(each.q is not None and each.k is not None for each in maps)
    inside = {
        (True, True): "It holds scores, queries and keys, so you can look into every weight.",
        (True, False): "It holds scores, but no queries or keys.",
        (False, True): "It holds queries and keys, but no scores.",
        (False, False): "It holds weights, but no scores, queries or keys.",
    }
    outcome = (
        "It holds the prediction of each row." if trace.predictions else "It holds no predictions."
    )
    known = f"It comes from {trace.provenance}, and does not hold the model's weights."
    nothing = "It holds neither the model's weights nor its name."
    named = known if trace.provenance.model else nothing
    return [inside[has_scores, has_vectors], outcome, named]


def listed(parts: Sequence[str]) -> str:
    """Such as "a", "a and b" or "a, b and c"."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
