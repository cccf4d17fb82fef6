"""A head's map of one sentence, small, as an image in HTML."""

from base64 import b64encode
from collections.abc import Sequence

from model.trace.attention_map import AttentionMap
from viz.draw import themes
from viz.draw.labels import axis_texts, escape_html

FAINTEST = 0.03
"""Weights below are left out."""

_CELL, _LABELS, _LETTERS, _LARGER = 13, 62, 9, 1.5


def small_map(attention: AttentionMap, head: int, *, dark: bool = False) -> str:
    """The map of a head, rows down and keys across, with its words."""
    theme, weights = themes.page(dark), attention.weights[head]
    rows, columns = (_words(axis_texts(tokens)) for tokens in (attention.queries, attention.keys))
    width = _LABELS + _CELL * len(columns) + _LABELS // 3
    height = _LABELS + _CELL * len(rows) + 2
    allowed = attention.allowed if attention.allowed.ndim == 2 else attention.allowed[0]
    parts = []
    for row, label in enumerate(rows):
        y = _LABELS + _CELL * row
        parts.append(f'<text x="{_LABELS - 4}" y="{y + 10}" text-anchor="end">{label}</text>')
        for column in range(len(columns)):
            if not allowed[row, column]:
                continue
            weight = float(weights[row, column])
            color = theme.weights[round(weight * (len(theme.weights) - 1))]
            parts.append(
                f'<rect x="{_LABELS + _CELL * column}" y="{y}" width="{_CELL - 1}" '
                f'height="{_CELL - 1}" fill="{color if weight >= FAINTEST else theme.weights[0]}"/>'
            )
    for column, label in enumerate(columns):
        x = _LABELS + _CELL * column + 9
        parts.append(f'<text transform="translate({x},{_LABELS - 5}) rotate(-60)">{label}</text>')
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="10.5" '
        f'fill="{theme.text}">{"".join(parts)}</svg>'
    )
    # Streamlit takes drawings out of HTML, but not images.
    source = b64encode(svg.encode()).decode()
    spoken = escape_html(_spoken(attention, head))
    return (
        f'<img src="data:image/svg+xml;base64,{source}" alt="{spoken}" '
        f'style="width:100%;max-width:{round(width * _LARGER)}px">'
    )


def _words(texts: Sequence[str]) -> list[str]:
    return [
        escape_html(text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…") for text in texts
    ]


def _spoken(attention: AttentionMap, head: int) -> str:
    """Where its surest row looks."""
    weights = attention.weights[head]
    row, column = divmod(int(weights.argmax()), weights.shape[1])
    query, key = axis_texts(attention.queries)[row], axis_texts(attention.keys)[column]
    return f"Map of one sentence; its largest weight: {query} looks at {key}."
