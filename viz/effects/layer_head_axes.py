"""The axes and the name of a map of all heads of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viz.draw import style, themes


def add_axes(
    layout: dict[str, Any],
    theme: themes.Theme,
    name: str,
    heads: list[str],
    n_layers: int,
    *,
    place: int,
    across: Sequence[float],
    down: Sequence[float],
    narrow: bool,
) -> None:
    """Add the axes and the name of a layer by head map to a layout with annotations.

    Args:
        layout: of the figure.
        theme: of the page.
        name: of the map.
        heads: the labels of its columns.
        n_layers: the number of its rows.
        place: its number among the figure's maps, from 0.
        across: where it starts and ends, as shares of the plot's width.
        down: the same, as shares of the plot's height.
        narrow: for a figure whose subtitle names rows and columns.
    """
    suffix = "" if place == 0 else str(place + 1)
    layout[f"xaxis{suffix}"] = style.axis(
        "" if narrow else "Head",
        heads,
        style.label_step(len(heads), 12 if narrow else 16),
        range=[-0.5, len(heads) - 0.5],
        domain=across,
        anchor=f"y{suffix}",
        autotickangles=[0],
    )
    layout[f"yaxis{suffix}"] = style.axis(
        "" if narrow or place else "Layer",
        [str(layer) for layer in range(n_layers)],
        1,
        range=[n_layers - 0.5, -0.5],
        domain=down,
        anchor=f"x{suffix}",
    )
    layout["annotations"].append(style.heading(theme, name, across[0], down[1]))
