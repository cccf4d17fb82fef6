"""The similarity of positions: of all pairs, and by offset."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from model.explain import position_measures
from model.explain.position_measures import EQUAL, ROUND, likeness, rotation_deviation
from model.trace.attention_map import FloatArray
from viz.charts.chart import Plot, chart
from viz.charts.marks import band, cells, line
from viz.charts.scale import around_zero
from viz.draw import style
from viz.positions.axes import (
    NARROW_SQUARE_HEIGHT,
    SQUARE,
    SQUARE_HEIGHT,
    TablePicture,
    curve_axis,
    curves,
    limit_of,
    place_axis,
    position_range,
)
from viz.save.numbers import Numbers, column_numbers
from viz.save.picture import Layout

_PAIR_HOVER = "positions <b>%{y}</b> and <b>%{x}</b><br><b>%{z:.6~g}</b>"
_OFFSET_HOVER = (
    "offset <b>%{x}</b><br>mean <b>%{y:.6~g}</b><br>"
    "from %{customdata[0]:.6~g} to %{customdata[1]:.6~g}<extra></extra>"
)


@dataclass(frozen=True, slots=True, eq=False)
class _Alike(TablePicture):
    """The similarity of the rows of a table.

    Attributes:
        rows: (position, d_model).
        cosine: the cosine, on a scale from -1 to 1; if false, the dot product.

    Raises:
        ValueError: if the table is empty or not finite.
    """

    rows: FloatArray
    cosine: bool = True

    @property
    def measure(self) -> str:
        """The name of the measure."""
        return "cosine" if self.cosine else "dot product"

    @property
    def by_offset(self) -> position_measures.ByOffset:
        """The similarity by offset."""
        return position_measures.by_offset(self.rows, cosine=self.cosine)

    @property
    def deviation(self) -> float:
        """The largest difference of values at one offset."""
        return float((self.by_offset.high - self.by_offset.low).max())

    @property
    def largest(self) -> float:
        """The largest absolute value."""
        return float(np.maximum(np.abs(self.by_offset.high), np.abs(self.by_offset.low)).max())

    @property
    def depends_on_offset(self) -> bool:
        """Whether all values at one offset are equal up to rounding."""
        return self.deviation <= EQUAL * self.largest


class Similarity(_Alike):
    """How alike every two positions of a table are."""

    title = "How alike positions are"
    name = "likeness"

    @property
    def alt(self) -> str:
        offsets = self.by_offset
        neighbours = (
            f"; neighbours have {style.number(float(offsets.mean[1]))} on average"
            if len(self.rows) > 1
            else ""
        )
        return (
            f"{self.measure.capitalize()} of every two of "
            f"{style.count_of(len(self.rows), 'position')}: a position with itself has "
            f"{style.number(float(offsets.mean[0]))} on average{neighbours}, and the least of all "
            f"is {style.number(float(offsets.low.min()))}."
        )

    @property
    def caption(self) -> str:
        if self.deviation <= ROUND * self.largest:
            return (
                "Lines parallel to the diagonal have one colour: the "
                f"{self.measure} depends on how far apart two positions are, not on where they are."
            )
        return (
            "Lines parallel to the diagonal change their colour: the "
            f"{self.measure} also depends on where two positions are."
        )

    @property
    def more(self) -> str:
        alike = (
            f"all {self.measure}s are equal up to rounding"
            if self.depends_on_offset
            else f"{self.measure}s differ by at most {style.number(self.deviation)}"
        )
        return f"At one offset, {alike}."

    def figure(self, layout: Layout) -> go.Figure:
        alike = likeness(self.rows, cosine=self.cosine).astype(np.float32)
        name, length = self.measure, len(alike)
        return chart(
            layout,
            f"{name.capitalize()} of every two positions",
            Plot(
                across=place_axis("Position", length, side="top", **SQUARE),
                up=place_axis(
                    "Position", length, down=True, constrain="domain", constraintoward="top"
                ),
                marks=[cells(alike, name=name, gap=0, hover=_PAIR_HOVER)],
                height=NARROW_SQUARE_HEIGHT if layout.narrow else SQUARE_HEIGHT,
            ),
            lines=["Rows and columns – position"],
            scale=around_zero(name, 1.0 if self.cosine else limit_of(alike)),
            top=style.FONT_SIZE + 10,
            ground="grid",
        )

    def numbers(self) -> Numbers:
        alike = likeness(self.rows, cosine=self.cosine)
        cells = ("position", "other_position")
        axes = dict.fromkeys(cells, range(len(alike)))
        return Numbers({}, axes, {self.measure.replace(" ", "_"): (cells, alike)})


class ByOffset(_Alike):
    """The same by how far apart two positions stand."""

    title = "How alike positions are, by offset"
    name = "likeness-by-offset"

    @property
    def alt(self) -> str:
        offsets = self.by_offset
        lowest = int(np.argmin(offsets.mean))
        spread = (
            "all are equal up to rounding"
            if self.depends_on_offset
            else f"it varies by at most {style.number(self.deviation)}"
        )
        return (
            f"{self.measure.capitalize()} of positions p and p + k, averaged over p: "
            f"{style.number(float(offsets.mean[0]))} at offset 0, least at offset {lowest} with "
            f"{style.number(float(offsets.mean[lowest]))}; at one offset {spread}."
        )

    @property
    def caption(self) -> str:
        if self.depends_on_offset:
            return f"All pairs of positions at one offset have the same {self.measure}."
        return (
            "The line is the mean over all pairs of positions at one offset; the band runs from "
            "the least to the greatest."
        )

    @property
    def more(self) -> str:
        return self.shift_words(1)

    def shift_words(self, offset: int) -> str:
        """Whether a shift is a rotation, in plain text; "" for an odd number of dimensions.

        Raises:
            ValueError: if no two positions are so far apart.
        """
        if self.rows.shape[1] % 2:
            return ""
        deviation = rotation_deviation(self.rows, offset)
        largest = float(np.abs(self.rows).max())
        if deviation > ROUND * largest:
            return (
                f"A shift by {offset} is no rotation of the pairs of dimensions: the best-fitting "
                f"one is off by up to {style.number(deviation)} in a number, and the largest "
                f"number of the table is {style.number(largest)}."
            )
        exactness = (
            "up to rounding"
            if deviation <= EQUAL * largest
            else f"up to {style.number(deviation)} in any number"
        )
        return (
            f"A shift by {offset} is one rotation of each pair of dimensions wherever it starts, "
            f"{exactness}."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """A curve; the band shades everything between least and greatest, unless they are equal."""
        offsets, has_band = self.by_offset, not self.depends_on_offset
        mean = line(
            "mean",
            offsets.mean,
            color="accent",
            hover=_OFFSET_HOVER,
            legend=has_band,
            customdata=np.stack([offsets.low, offsets.high], axis=-1),
            mode="lines" if len(self.rows) > 1 else "markers",
        )
        shade = band("from least to greatest", offsets.low, offsets.high, color="hatch")
        return curves(
            layout,
            f"{self.measure.capitalize()} by offset",
            curve_axis("Offset k", offsets.offsets, range=position_range(len(self.rows))),
            curve_axis(self.measure.capitalize(), zeroline=True),
            [*([shade] if has_band else []), mean],
            legend=(has_band, has_band),
        )

    def numbers(self) -> Numbers:
        offsets, name = self.by_offset, self.measure.replace(" ", "_")
        arrays = {"mean": offsets.mean, "least": offsets.low, "greatest": offsets.high}
        columns = {f"{part}_{name}": values for part, values in arrays.items()}
        return column_numbers({}, "offset", offsets.offsets.tolist(), columns)
