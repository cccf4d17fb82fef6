"""The layout of a matrix of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from model.trace.attention_map import Tokens
from viz.draw import style, themes
from viz.draw.labels import escape_html, side_texts


def token_layout(
    theme: themes.Theme,
    title: str,
    axes: tuple[Tokens, Tokens],
    names: tuple[str, str],
    *,
    narrow: bool,
    lines: Sequence[str] = (),
) -> dict[str, Any]:
    """Queries down and keys across, with as many labels as there is room for.

    A narrow figure has lines in place of axis titles; these and the title are already safe to show.
    """
    queries, keys = axes
    height, texts = style.plot_height(len(queries)), side_texts(keys, narrow)
    width = style.NARROW_PLOT_WIDTH if narrow else style.PLOT_WIDTH
    labelled = style.NARROW_LABELLED_COLUMNS if narrow else style.LABELLED_COLUMNS
    rows, columns = ("", "") if narrow else names
    return {
        **style.layout(
            theme, title=title, height=height, top=style.labels_height(texts, width), lines=lines
        ),
        "xaxis": style.axis(
            columns,
            [escape_html(text) for text in texts],
            style.label_step(len(keys), labelled),
            range=[-0.5, len(keys) - 0.5],
            side="top",
            # Slanted labels lean out of a narrow figure.
            autotickangles=[0, -90] if narrow else [0, -45, -90],
        ),
        "yaxis": style.axis(
            rows,
            [escape_html(text) for text in side_texts(queries, narrow)],
            style.label_step(len(queries), height // style.MIN_ROW_HEIGHT),
            range=[len(queries) - 0.5, -0.5],
        ),
    }
