"""A map of each decoder layer's prediction at every step."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.paper.search import AS_IN_THE_PAPER, Search
from model.trace.logit_lens import LogitLens
from viz.charts.axes import ALL, label_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import Mark, Sheet, cells, legend_square
from viz.decoding.picture import DecodingPicture
from viz.draw import style
from viz.draw.labels import axis_labels, axis_texts
from viz.links.link_interventions import UNCHANGED, Changes
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout

TITLE = "What each decoder layer would predict"

SAYS = "predicts the token written"
NEAR = "has it among the ten likeliest it may write"
FAR = "ranks it lower"
"""How a layer ranks the token that was written."""

LIKELY = 10
"""The lowest rank that counts as near."""

_SHORT_TITLE = "Layer by layer"
"""The title of a narrow figure."""

_ROW, _ROWS, _UPRIGHT_ROW, _AXIS = 46, 352, 112, 24
"""Pixels: a row at least, few rows together, a row of upright words, and the axis."""
_ACROSS, _NARROW_ACROSS = 14, 5
"""With more steps, words stand upright."""


def agreement(lens: LogitLens) -> NDArray[np.int64]:
    """2 where a layer predicts the token written, 1 where it is near, else 0: (layer, step)."""
    return (lens.ranks == 1).astype(np.int64) + (lens.ranks <= LIKELY)


@dataclass(frozen=True, slots=True, eq=False)
class LayerLens(DecodingPicture):
    """Each decoder layer's prediction at every step of a decoding.

    Attributes:
        final_norm: whether the decoder has a norm after its last layer.
    """

    lens: LogitLens
    sentence: str
    search: Search = AS_IN_THE_PAPER
    final_norm: bool = False
    changes: Changes = UNCHANGED

    name = "layers"

    @property
    def title(self) -> str:
        return TITLE + self.changes.name

    @property
    def source(self) -> str:
        return self.sentence

    @property
    def alt(self) -> str:
        n_layers = len(self.lens.ranks)
        parts = [
            f"“{text}” from layer {layer} on" if layer < n_layers else f"“{text}” by no last layer"
            for text, layer in zip(axis_texts(self.lens.tokens), settled(self.lens), strict=True)
        ]
        return f"{self.title}. The token written is predicted: {', '.join(parts)}."

    caption = (
        "Each cell is the likeliest token the model may write if the decoder stopped after that"
        " layer; bold if it is the token written."
    )

    @property
    def more(self) -> str:
        norm = (
            "This model has a final norm after its last layer; here, every layer is read through "
            "it, although it was trained only for the last one"
            if self.final_norm
            else "This model has no norm after its last layer, so every layer is read as it is"
        )
        return (
            "Columns are steps; the last row is the model’s actual prediction. The stronger the "
            f"colour, the closer a layer is to the token written. {norm}. Earlier layers were "
            "never trained to be read this way; they may know more than this shows (the logit "
            "lens, without further training)."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """Layers by steps; the first trace is the map, whose z is `agreement`.

        Cells that agree are bold too, for people who do not see the colours.
        """
        n_layers, n_steps = self.lens.ranks.shape
        upright = n_steps > (_NARROW_ACROSS if layout.narrow else _ACROSS)
        written = axis_texts(self.lens.tokens)
        below = style.BOTTOM + style.labels_height(axis_labels(self.lens.tokens))
        return chart(
            layout,
            self.title,
            Plot(
                across=label_axis("Token written", written, room=(32, 12)),
                up=label_axis("Decoder layer", [*map(str, range(n_layers))], room=ALL),
                marks=[self._cells, self._words(upright)],
                height=_UPRIGHT_ROW * n_layers if upright else max(_ROWS, _ROW * n_layers),
            ),
            short=_SHORT_TITLE,
            lines=["Rows – layer, columns – step"],
            below=(below + _AXIS, below + 3 * style.LEGEND_HEIGHT),
            ground="grid",
        )

    def _cells(self, sheet: Sheet) -> None:
        """The map, and its colours in the legend."""
        lens, theme = self.lens, sheet.theme
        # Pale enough for the page's own text.
        colors = [theme.hover, theme.weights[1], theme.weights[3]]
        said = [axis_labels(each) for each in lens.likeliest]
        written = axis_labels(lens.tokens)
        likeliest, own = np.exp(lens.likeliest_log_probs), np.exp(lens.log_probs)
        steps = [(place / 3, color) for place, color in enumerate(colors)]
        look: dict[str, Any] = {
            **{"coloraxis": None, "showscale": False, "zmin": 0, "zmax": 2},
            "colorscale": [[start + side / 3, color] for start, color in steps for side in (0, 1)],
        }
        cells(
            agreement(lens),
            hover="layer %{y}: <b>%{customdata[0]}</b> %{customdata[1]:.1%}<br>"
            "written: <b>%{customdata[2]}</b> %{customdata[3]:.1%}, rank %{customdata[4]}",
            customdata=[
                [
                    [
                        *(said[layer][step], float(likeliest[layer, step])),
                        *(text, float(own[layer, step]), int(lens.ranks[layer, step])),
                    ]
                    for step, text in enumerate(written)
                ]
                for layer in range(len(said))
            ],
            **look,
        )(sheet)
        for name, color in zip((SAYS, NEAR, FAR), reversed(colors), strict=True):
            legend_square(name, color)(sheet)

    def _words(self, upright: bool) -> Mark:
        """The likeliest token in each cell."""
        says, n_steps = self.lens.ranks == 1, len(self.lens.tokens)

        def draw(sheet: Sheet) -> None:
            size = style.DENSE_FONT_SIZE if n_steps > style.FEW_LABELS else style.FONT_SIZE
            for layer, each in enumerate(self.lens.likeliest):
                for step, text in enumerate(axis_labels(each)):
                    sheet.note(
                        x=step,
                        y=layer,
                        text=f"<b>{text}</b>" if says[layer, step] else text,
                        textangle=-90 if upright else 0,
                        font={"size": size, "color": sheet.theme.text},
                    )

        return draw

    def numbers(self) -> Numbers:
        lens = self.lens
        return Numbers(
            {},
            {"layer": range(len(lens.ranks)), "target": lens.tokens},
            {
                "likeliest": (
                    ("layer", "target"),
                    np.array([each.tokens for each in lens.likeliest], np.str_),
                ),
                "likeliest_log_prob": (("layer", "target"), lens.likeliest_log_probs),
                "log_prob": (("layer", "target"), lens.log_probs),
                "rank": (("layer", "target"), lens.ranks),
            },
        )

    @property
    def setup(self) -> Lines:
        return [*self.traced, f"lens = translator.logit_lens(trace{self.under})"]


def settled(lens: LogitLens) -> list[int]:
    """For each step, the first layer from which on every layer predicts the token written.

    If the last layer predicts another token, the number of layers.
    """
    says = lens.ranks == 1
    # True from where all that follow are true.
    lasting = np.logical_and.accumulate(says[::-1], axis=0)[::-1]
    n_layers = len(says)
    return [int(column.argmax()) if column.any() else n_layers for column in lasting.T]
