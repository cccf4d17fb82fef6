"""What each decoder layer would say at every step, as a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.trace.logit_lens import LogitLens
from viz.draw import style
from viz.draw.labels import axis_labels, axis_texts, escape_html

TITLE = "What each decoder layer would say"

SAYS = "says the token written"
NEAR = "has it among the ten likeliest it may write"
FAR = "has it further down"
"""What a layer thinks of the token that was written."""

LIKELY = 10
"""A rank that still counts as near."""

_SHORT_TITLE = "Layer by layer"
"""Over a narrow figure."""

_ROW, _UPRIGHT_ROW, _AXIS = 46, 112, 24
_ACROSS, _NARROW_ACROSS = 14, 5
"""Up to so many steps, words stand across; beyond, upright."""


def agreement(lens: LogitLens) -> NDArray[np.int64]:
    """2 where a layer says the token written, 1 where it is near, else 0: (layer, step)."""
    return (lens.ranks == 1).astype(np.int64) + (lens.ranks <= LIKELY)


def lens_figure(
    lens: LogitLens, title: str = TITLE, *, narrow: bool = False, dark: bool = False
) -> go.Figure:
    """Layers by steps; each cell holds the likeliest token it may write, coloured by nearness.

    What agrees is bold too, for those who do not tell the colours apart.

    The first trace is the map, whose z is `agreement`.

    Args:
        lens: of a translation.
        title: of the figure.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.
    """
    theme = style.look(dark)
    # Pale enough for the page's own text.
    colors = [theme.hover, theme.weights[1], theme.weights[3]]
    values = agreement(lens)
    n_layers, n_steps = values.shape
    upright = n_steps > (_NARROW_ACROSS if narrow else _ACROSS)
    said = [axis_labels(each) for each in lens.likeliest]
    written = axis_labels(lens.tokens)
    details = [
        [
            [
                said[layer][step],
                float(np.exp(lens.likeliest_log_probs[layer, step])),
                written[step],
                float(np.exp(lens.log_probs[layer, step])),
                int(lens.ranks[layer, step]),
            ]
            for step in range(n_steps)
        ]
        for layer in range(n_layers)
    ]
    heatmap = {
        "type": "heatmap",
        "z": values,
        "zmin": 0,
        "zmax": 2,
        "colorscale": [
            [edge / 3, color] for place, color in enumerate(colors) for edge in (place, place + 1)
        ],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "customdata": details,
        "hovertemplate": "layer %{y}: <b>%{customdata[0]}</b> %{customdata[1]:.1%}<br>"
        "written: <b>%{customdata[2]}</b> %{customdata[3]:.1%}, rank %{customdata[4]}"
        "<extra></extra>",
    }
    legend = [
        style.legend_square(theme, escape_html(name), color)
        for name, color in zip((SAYS, NEAR, FAR), reversed(colors), strict=True)
    ]
    row = _UPRIGHT_ROW if upright else _ROW
    shared = style.layout(
        theme,
        title=_SHORT_TITLE if narrow else title,
        height=row * n_layers,
        lines=["Rows – layer, columns – step"] if narrow else [],
    )
    below = shared["margin"]["b"] + style.labels_height(written) + (0 if narrow else _AXIS)
    below += 2 * style.LEGEND_HEIGHT if narrow else 0
    layout: dict[str, Any] = {
        **shared,
        "height": shared["height"] - shared["margin"]["b"] + below,
        "margin": {**shared["margin"], "b": below},
        "legend": style.legend_below(shared),
        "xaxis": style.axis(
            "" if narrow else "Token written",
            written,
            style.label_step(n_steps, 12 if narrow else 32),
            range=[-0.5, n_steps - 0.5],
        ),
        "yaxis": style.axis(
            "" if narrow else "Decoder layer",
            [str(layer) for layer in range(n_layers)],
            1,
            range=[n_layers - 0.5, -0.5],
        ),
        "annotations": [
            {
                "x": step,
                "y": layer,
                "text": f"<b>{said[layer][step]}</b>"
                if values[layer, step] == 2
                else said[layer][step],
                "showarrow": False,
                "textangle": -90 if upright else 0,
                "font": {
                    "size": style.DENSE_FONT_SIZE
                    if n_steps > style.FEW_LABELS
                    else style.FONT_SIZE,
                    "color": theme.text,
                },
            }
            for layer in range(n_layers)
            for step in range(n_steps)
        ],
    }
    return go.Figure({"data": [heatmap, *legend], "layout": layout})


def settled(lens: LogitLens) -> list[int]:
    """For each step the first layer from which on every layer says the token written.

    As many as there are layers where the last one says another.
    """
    says = lens.ranks == 1
    # True from where all that follow are true.
    lasting = np.logical_and.accumulate(says[::-1], axis=0)[::-1]
    n_layers = len(says)
    return [int(column.argmax()) if column.any() else n_layers for column in lasting.T]


def lens_alt_text(lens: LogitLens, title: str = TITLE) -> str:
    """The map in words."""
    n_layers = len(lens.ranks)
    parts = [
        f"“{text}” from layer {layer} on" if layer < n_layers else f"“{text}” in no last layer"
        for text, layer in zip(axis_texts(lens.tokens), settled(lens), strict=True)
    ]
    return f"{title}: the token written is said: {', '.join(parts)}."


def lens_caption(*, final_norm: bool) -> str:
    """How to read the map, in plain text.

    Args:
        final_norm: whether the decoder has a norm after its last layer.
    """
    how = (
        "This model has one more norm after the last layer; here every layer is read through it, "
        "though it was trained for the last alone"
        if final_norm
        else "This model has no norm after the last layer, so every layer is read as it is"
    )
    return (
        "Each column is a step, each cell the likeliest of the tokens it may write if the decoder "
        "stopped after that layer; the last row is what the model does say. The stronger the "
        "colour, the nearer a layer is to the token written; where it says that token, it is bold. "
        f"{how}. Earlier layers were never trained to be read this way; they may know more than "
        "this shows (the logit lens, without further training)."
    )
