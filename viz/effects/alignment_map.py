"""Alignment error of every head and layer of cross-attention, as a layer by head map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.alignment_error import ErrorRate
from model.explain.alignment_table import AlignmentTable, Combination, Read
from viz.draw import style, themes
from viz.effects.layer_head_axes import add_axes
from viz.effects.view import MAPS
from viz.links.request import Request
from viz.save.formats import ExportError
from viz.save.notebook import Lines
from viz.save.numbers import Numbers, column_numbers
from viz.save.picture import Layout, Picture

NO_ALIGNMENT = (
    "This model has no alignment errors on record. They are measured on English and German "
    "sentences with words linked by hand: python -m benchmarks.alignment --checkpoint FOLDER "
    "--store."
)

NO_ALIGNMENT_OF_OTHERS = (
    "Alignment errors are measured on English and German sentences with words linked by hand, and "
    "this model does not translate between these languages. Choose "
    f"“{MAPS['probability']}” to see the loss without each of its heads."
)

UNIT = "alignment error in percent"
ROWS = {False: "Output row", True: "One row later"}
"""The row in which a target word is read, by `Read.later`."""

_ROW, _GAP, _HEADING, _AXIS, _NARROW_AXIS = 44, 70, 24, 46, 24
_BETWEEN = 0.055
_NUMBERED = 12
"""With more heads, cells have no room for numbers."""


def error_rates(table: AlignmentTable, later: bool) -> NDArray[np.float64]:
    """Error rates in percent, (layer, head); the last column is all heads together."""
    n_columns = table.n_heads + 1
    rates = [table.rates[read].error for read in table.reads() if read.later is later]
    return 100 * np.array(rates).reshape(-1, n_columns)


@dataclass(frozen=True, slots=True, eq=False)
class AlignmentMap(Picture):
    """How far every head of cross-attention is from alignments made by hand.

    Attributes:
        table: of the checkpoint.
        folder: the checkpoint's, as a notebook finds it.
        numbered: whether cells print their numbers.
    """

    slug = "alignment"
    about = "alignment error of every head of cross-attention, if measured"

    table: AlignmentTable
    folder: str
    numbered: bool = True

    needs_model = False
    origin = ("model",)
    title = "Alignment error of every head"
    name = "effects-alignment"

    @classmethod
    def of(cls, request: Request) -> AlignmentMap:
        table = request.alignment
        if table is None:
            raise ExportError(NO_ALIGNMENT)
        return cls(table, request.folder)

    @property
    def alt(self) -> str:
        return (
            f"{self.title}. Two heatmaps of "
            f"{style.count_of(len(error_rates(self.table, False)), 'layer')} by "
            f"{style.count_of(self.table.n_heads, 'head')}, and all heads together, of the {UNIT}. "
            f"{alignment_sentences(self.table)[0]}"
        )

    @property
    def caption(self) -> str:
        return "The stronger the colour, the fewer alignment errors."

    @property
    def more(self) -> str:
        return (
            "Each head links every target word to the source word with its largest weight, for the "
            f"{self.table.n_pairs} sentence pairs of {self.table.gold}, linked by one annotator. "
            "0% means all sure links and no impossible ones, 100% no possible link (alignment "
            "error rate, Och and Ney 2003). Output row: the row that predicts a word; one row "
            "later: the row that has the word as input (Chen et al. 2020). "
            "docs/alignment.md has the rules, and says who the annotator of en-de.tsv is: an AI "
            "assistant."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """Two maps, one for each row in which a target word is read.

        The first two traces are the maps, whose z are `error_rates`.
        """
        theme = themes.page(layout.dark)
        maps = {later: error_rates(self.table, later) for later in ROWS}
        n_layers, n_columns = maps[False].shape
        plot = style.row_height(_ROW, n_layers) * n_layers
        full = 2 * plot + _GAP if layout.narrow else plot
        axis_room = _NARROW_AXIS if layout.narrow else _AXIS
        bar = style.weight_bar(theme)
        spec: dict[str, Any] = {
            **style.bar_layout(
                theme,
                title=self.title,
                height=full,
                top=_HEADING,
                lines=["Rows – layer, columns – head"] if layout.narrow else [],
                axis=axis_room,
            ),
            "coloraxis": {
                "cmin": 0,
                "cmax": 100,
                "colorscale": theme.colorscale,
                "reversescale": True,
                "colorbar": {
                    **bar,
                    "title": {**bar["title"], "text": UNIT},
                    "tickvals": [0, 50, 100],
                    "ticktext": ["0", "50", "100"],
                },
            },
            "annotations": [],
        }
        data: list[dict[str, Any]] = []
        texts: list[dict[str, Any]] = []
        names = [*map(str, range(self.table.n_heads)), "all"]
        for place, (later, values) in enumerate(maps.items()):
            suffix = ("", "2")[place]
            axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
            top = full - place * (plot + _GAP) if layout.narrow else full
            across = [0.0, 1.0]
            if not layout.narrow:
                across = [[0.0, (1 - _BETWEEN) / 2], [(1 + _BETWEEN) / 2, 1.0]][place]
            down = [max(0.0, (top - plot) / full), top / full]
            data.append(
                {
                    "type": "heatmap",
                    "z": values,
                    "coloraxis": "coloraxis",
                    "xgap": 1,
                    "ygap": 1,
                    "name": ROWS[later],
                    "customdata": _intervals(self.table, later),
                    "hovertemplate": f"{ROWS[later]}<br>layer <b>%{{y}}</b>, head <b>%{{x}}</b><br>"
                    "error <b>%{z:.1f}%</b> %{customdata}<extra></extra>",
                    **axes,
                }
            )
            if self.numbered and n_columns <= _NUMBERED:
                texts.append(_numbers(values, theme) | axes)
            add_axes(
                spec,
                theme,
                ROWS[later],
                names,
                n_layers,
                place=place,
                across=across,
                down=down,
                narrow=layout.narrow,
            )
        return go.Figure({"data": data + texts, "layout": spec})

    def numbers(self) -> Numbers:
        reads, rates = list(self.table.rates), list(self.table.rates.values())
        columns: dict[str, Any] = {
            "layer": [read.layer for read in reads],
            "head": ["all" if read.head is None else str(read.head) for read in reads],
            "one_row_later": [read.later for read in reads],
        }
        for name in ("error", "low", "high", "precision", "recall"):
            columns[name] = [getattr(rate, name) for rate in rates]
        about: dict[str, str | int] = {"gold": self.table.gold, "pairs": self.table.n_pairs}
        return column_numbers(about, "read", range(len(reads)), columns)

    @property
    def setup(self) -> Lines:
        return [
            f"folder = {self.folder!r}",
            "table = hs.figures.read_alignment(hs.checkpoint_folder(folder))",
        ]


def _intervals(table: AlignmentTable, later: bool) -> NDArray[np.object_]:
    written = [interval(table.rates[read]) for read in table.reads() if read.later is later]
    return np.array(written, dtype=object).reshape(-1, table.n_heads + 1)


def _numbers(values: NDArray[np.float64], theme: themes.Theme) -> dict[str, Any]:
    rows, columns = np.indices(values.shape).reshape(2, -1)
    texts = [f"{value:.0f}" for value in values.ravel()]
    colors = [theme.ink(1 - value / 100) for value in values.ravel()]
    return style.cell_texts(columns, rows, texts, colors, style.SMALL_FONT_SIZE, cliponaxis=False)


def interval(rate: ErrorRate) -> str:
    """The 95% interval of its error rate over samples of the sentences, in percent."""
    return f"[{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def _written(rate: ErrorRate) -> str:
    return f"{style.percent(rate.error, 1)} {interval(rate)}"


def best_read(table: AlignmentTable) -> Read:
    """The single head with the fewest errors."""
    heads = {read: rate.error for read, rate in table.rates.items() if read.head is not None}
    return min(heads, key=heads.__getitem__)


def best_combination(table: AlignmentTable) -> Combination:
    """The combination with the fewest errors."""
    return min(table.best, key=lambda each: each.rate.error)


def alignment_sentences(table: AlignmentTable) -> list[str]:
    """The best head, the best combination, and how well word order alone does, in plain text."""
    read, best = best_read(table), best_combination(table)
    rate = table.rates[read]
    return [
        f"Best single head by its weights: {read.name}, with an error rate of {_written(rate)}, "
        f"precision {style.percent(rate.precision)} and recall {style.percent(rate.recall)}.",
        f"Best combination: {best.heads.replace(' + ', ' with ')}; by {best.map}, {best.rule}: "
        f"{_written(best.rate)}. The best of {best.n_candidates:,} combinations, selected on these "
        "same sentences, so optimistic.",
        f"The diagonal, which knows only word order, is at {_written(table.diagonal)}. Aligners "
        "that learn from a corpus, such as fast_align and eflomal, were not measured.",
    ]
