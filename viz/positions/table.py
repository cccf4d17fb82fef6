"""A table of position encodings as a heatmap: the model's, or the formula's (section 3.5)."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

import plotly.graph_objects as go

from model.explain.position_measures import Values, require_table, row_norms, wavelengths
from model.trace.attention_map import FloatArray, Tokens
from viz.charts.axes import label_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import Mark, cells, rule
from viz.charts.scale import around_zero
from viz.charts.texts import note
from viz.draw import style
from viz.draw.labels import lower_first, side_texts
from viz.positions.axes import (
    FormulaPicture,
    columns_in,
    limit_of,
    place_axis,
    positions_words,
    table_numbers,
)
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture

MODEL_TITLE = "Position encodings"
FORMULA_TITLE = "The formula, not the model"
"""The titles of a model's table, and of the formula's."""

_ROOM, _NARROW_ROOM = 640, 200
"""Columns that are at least a pixel wide."""

NAMED_POSITIONS = 64
"""With more positions, the axis has numbers instead of tokens."""

_AT_DIMENSION = "<br>dimension <b>%{customdata}</b><br>value <b>%{z:.6~g}</b>"
_TABLE_HOVER = f"position <b>%{{y}}</b>{_AT_DIMENSION}"
_TOKEN_HOVER = f"<b>%{{y}}</b>{_AT_DIMENSION}"


class _Heatmap(Picture):
    """A table of positions: position down, dimension across.

    Attributes:
        rows: (position, d_model).
        base: of the wavelengths; None for a table that was learned.
        tokens: of a sentence, from position 0 on. They name the rows if there are at most
            NAMED_POSITIONS; positions after the last token keep their number.
        trained: the number of a learned table's rows that training reached; None if that is
            unknown or nothing was learned.
    """

    __slots__ = ()

    rows: FloatArray
    base: float | None
    tokens: Tokens | None
    trained: int | None

    @property
    @abstractmethod
    def heading(self) -> str:
        """The title of the figure."""

    @property
    def alt(self) -> str:
        require_table(self.rows)
        length, d_model = self.rows.shape
        low, high = float(self.rows.min()), float(self.rows.max())
        untrained = (
            f" Training never reached {_rows(self.trained, length)}."
            if _has_untrained(self.trained, length)
            else ""
        )
        return (
            f"{self.heading}: {style.count_of(length, 'position')} by "
            f"{style.count_of(d_model, 'dimension')}, "
            f"values from {style.number(low)} to {style.number(high)}; "
            f"{_between('the norm of a row is', row_norms(self.rows))}.{untrained}"
        )

    @property
    def caption(self) -> str:
        length = len(self.rows)
        untrained = (
            f" Below the line, {_rows(self.trained, length)} "
            f"{'is' if length - self.trained == 1 else 'are'} random: no source in training was "
            "that long."
            if _has_untrained(self.trained, length)
            else ""
        )
        return f"A row is the vector that is added to the word at that position.{untrained}"

    @property
    def more(self) -> str:
        if self.base is not None:
            lengths = wavelengths(self.rows.shape[1], self.base)
            return (
                "Even columns are sines, odd ones cosines. Pairs on the left turn fast, the first "
                f"once in {style.number(lengths[0])} positions; the last pair on the right turns "
                f"once in {positions_words(lengths[-1])}."
            )
        if self.trained is None:
            learned = "The table is learned"
        elif self.trained < len(self.rows):
            learned = f"{_rows(0, self.trained).capitalize()} were learned in training"
        else:
            learned = "The rows were learned in training"
        unknown = untrained_words(len(self.rows), self.trained) if self.trained is None else ""
        return (
            f"{learned}, so the columns have no wavelength and no order of their own. This table "
            f"is the encoder’s; the decoder learned its own.{unknown}"
        )

    def figure(self, layout: Layout) -> go.Figure:
        """One colour scale on both sides of 0; the first trace's z is the table, or pairs of it.

        Raises:
            ValueError: if the table is empty or not finite, or has fewer positions than tokens.
        """
        table, tokens, trained = self.rows, self.tokens, self.trained
        require_table(table)
        length, d_model = table.shape
        if tokens is not None and len(tokens) > length:
            raise ValueError(
                f"Each token needs a position: there are {len(tokens)} tokens and {length} "
                "positions."
            )
        room = _NARROW_ROOM if layout.narrow else _ROOM
        values, placed, left_out = columns_in(room, table)
        columns = f"Dimension{left_out}"
        up = place_axis("Position", length, down=True)
        height, hover = style.COMFORTABLE_HEIGHT, _TABLE_HOVER
        if tokens is not None and length <= NAMED_POSITIONS:
            texts = side_texts(tokens, layout.narrow)
            texts += [str(position) for position in range(len(tokens), length)]
            up = label_axis("Token", texts)
            # Long sentences leave out labels: all of the table is seen at once.
            height = min(style.plot_height(length), style.COMFORTABLE_HEIGHT)
            hover = _TOKEN_HOVER
        marks = [cells(values, name="encoding", gap=0, hover=hover, **placed)]
        if _has_untrained(trained, length):
            marks += _untrained_marks(trained, length)
        return chart(
            layout,
            self.heading,
            Plot(
                across=place_axis(columns, d_model, side="top"), up=up, marks=marks, height=height
            ),
            lines=[f"Rows – {up.line}", f"Columns – {lower_first(columns)}"],
            scale=around_zero("value", limit_of(table)),
            top=style.FONT_SIZE + 10,
            ground="grid",
        )

    def numbers(self) -> Numbers:
        return table_numbers(self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class Positions(_Heatmap):
    """The model's table of positions.

    Attributes:
        rows: as in _Heatmap, like base, trained, tokens and heading.
        sentence: the tokens' sentence; empty for none.
    """

    rows: FloatArray
    base: float | None
    trained: int | None = None
    sentence: str = ""
    tokens: Tokens | None = None
    heading: str = MODEL_TITLE

    title = "The model’s table of positions"
    name = "positions"

    @property
    def texts(self) -> Mapping[str, str]:
        return {} if self.trained is None else {"trained_positions": str(self.trained)}

    @property
    def setup(self) -> Lines:
        tokens = []
        if self.tokens is not None:
            tokens = [
                f"sentence = {self.sentence!r}",
                "tokens = translator.embedding_parts(sentence).tokens",
            ]
        return [
            *tokens,
            f"rows = translator.position_table({len(self.rows)})",
            "trained = translator.trained_positions()",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Formula(FormulaPicture, _Heatmap):
    """The formula's table."""

    rows: FloatArray
    base: float

    title = heading = FORMULA_TITLE
    name = "formula"
    tokens = trained = None


def untrained_words(length: int, trained: int | None) -> str:
    """A sentence on rows of a learned table that training may not have reached, with a space first.

    Args:
        trained: how many of its first rows training reached; None if that is not known.

    Returns:
        empty if training reached them all.
    """
    if trained is None:
        return (
            " How far training reached is not recorded: rows beyond its longest source are still "
            "random."
        )
    if trained >= length:
        return ""
    return f" Left out: {_rows(trained, length)}, because no source in training was so long."


def _has_untrained(trained: int | None, length: int) -> TypeGuard[int]:
    return trained is not None and trained < length


def _rows(first: int, end: int) -> str:
    return f"row {first}" if end - first == 1 else f"rows {first} to {end - 1}"


def _untrained_marks(trained: int, length: int) -> list[Mark]:
    """A line above the rows that training never reached, and what they are."""
    # Below the line where there is room for a text, else above it.
    below = length - trained >= length / 8
    text = note(
        f"{'↓ ' if not below else ''}never trained: still random",
        xref="paper",
        x=0.5,
        y=trained - 0.5,
        yanchor="top" if below else "bottom",
        yshift=-6 if below else 6,
        ground="hover",
        borderpad=3,
    )
    return [rule(y=trained - 0.5, color="text", width=1.5, dash="dash", layer="above"), text]


def _between(words: str, values: Values) -> str:
    low, high = style.number(float(values.min())), style.number(float(values.max()))
    return f"{words} {low} throughout" if low == high else f"{words} between {low} and {high}"
