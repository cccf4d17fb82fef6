"""Alignment error of every head and layer of cross-attention, as a layer by head map."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.alignment_error import ErrorRate
from model.explain.alignment_table import AlignmentTable, Read
from viz.charts.chart import Layout
from viz.charts.head_grid import HeadGrid, head_grids
from viz.charts.marks import cell_texts
from viz.charts.scale import Scale
from viz.draw import style
from viz.effects.view import MAPS
from viz.save.notebook import Lines
from viz.save.numbers import Numbers, column_numbers
from viz.save.picture import Picture

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

_SCALE = Scale(
    title=UNIT,
    high=100,
    ticks={0: "0", 50: "50", 100: "100"},
    lengths=(style.BAR, style.BAR),
    reverse=True,
)
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
        folder: the checkpoint's, as a notebook finds it.
    """

    table: AlignmentTable
    folder: str
    numbered: bool = True

    needs_model = False
    origin = ("model",)
    title = "Alignment error of every head"
    name = "effects-alignment"

    @property
    def alt(self) -> str:
        return (
            f"{self.title}. Two heatmaps of "
            f"{style.count_of(len(error_rates(self.table, False)), 'layer')} by "
            f"{style.count_of(self.table.n_heads, 'head')}, and all heads together, of the {UNIT}. "
            f"{alignment_sentences(self.table)[0]}"
        )

    caption = "The stronger the colour, the fewer alignment errors."

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
        names = [*map(str, range(self.table.n_heads)), "all"]
        grids = []
        for later, name in ROWS.items():
            rates = error_rates(self.table, later)
            texts = [f"{rate:.0f}" for rate in rates.ravel()]
            numbered = self.numbered and len(names) <= _NUMBERED
            grids.append(
                HeadGrid(
                    name=name,
                    values=rates,
                    heads=names,
                    said="error <b>%{z:.1f}%</b> %{customdata}",
                    marks=[cell_texts(rates, texts, cliponaxis=False)] if numbered else [],
                    more={"customdata": _intervals(self.table, later)},
                )
            )
        return head_grids(layout, self.title, grids, _SCALE)

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
            "assert table is not None",
        ]


def _intervals(table: AlignmentTable, later: bool) -> NDArray[np.object_]:
    written = [interval(table.rates[read]) for read in table.reads() if read.later is later]
    return np.array(written, dtype=object).reshape(-1, table.n_heads + 1)


def interval(rate: ErrorRate) -> str:
    """The 95% interval of its error rate over samples of the sentences, in percent."""
    return f"[{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def _written(rate: ErrorRate) -> str:
    return f"{style.percent(rate.error, 1)} {interval(rate)}"


def best_read(table: AlignmentTable) -> Read:
    """The single head with the fewest errors."""
    heads = {read: rate.error for read, rate in table.rates.items() if read.head is not None}
    return min(heads, key=heads.__getitem__)


def alignment_sentences(table: AlignmentTable) -> list[str]:
    """The best head, the best combination, and how well word order alone does, in plain text."""
    read, best = best_read(table), min(table.best, key=lambda each: each.rate.error)
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
