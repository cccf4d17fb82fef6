"""What a trace tells of its model, in words."""

from __future__ import annotations

from model.trace import AttentionKind, Trace


def input_text(trace: Trace) -> str:
    """What the model read as text: as it was recorded, or else its tokens one after another."""
    return trace.source_text or " ".join(trace.source or trace.target)


def shape_of(trace: Trace) -> str:
    """Its layers, heads and tokens, such as "2 layers of decoder self-attention with 4 heads"."""
    parts = []
    for kind in AttentionKind:
        if layers := trace.layers(kind):
            seen = trace.attention(kind, layers[0])
            parts.append(
                f"{_counted(len(layers), 'layer')} of {kind.full_name.lower()} with "
                f"{_counted(seen.n_heads, 'head')}"
            )
    sides = [
        _counted(len(tokens), noun)
        for tokens, noun in (
            (trace.source, "source token" if trace.target else "token"),
            (trace.target, "target token" if trace.source else "token"),
        )
        if tokens
    ]
    return ", ".join([*parts, *sides])


def contents_of(trace: Trace) -> list[str]:
    """What else it holds, and what it does not, in sentences."""
    maps = trace.maps.values()
    has_scores = all(each.scores is not None for each in maps)
    has_vectors = all(each.q is not None and each.k is not None for each in maps)
    inside = {
        (True, True): "Scores, queries and keys are in it, so every weight can be looked into.",
        (True, False): "Scores are in it; queries and keys are not.",
        (False, True): "Queries and keys are in it; scores are not.",
        (False, False): "Weights are in it alone, without scores, queries and keys.",
    }
    outcome = (
        "What each row predicts is in it."
        if trace.predictions
        else "What the model made of the text, token by token, is not in it."
    )
    nothing = "Of the model itself, its weights, its training and its name, it tells nothing."
    return [inside[has_scores, has_vectors], outcome, nothing]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
