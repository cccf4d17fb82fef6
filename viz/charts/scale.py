"""Colour scales with their bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz.draw import style
from viz.draw.labels import escape_html
from viz.draw.themes import Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Colours for the numbers from low to high, in two hues if low is below 0.

    Attributes:
        title: what the numbers are, plain text.
        low: the number of the first colour.
        high: the number of the last one.
        ticks: the bar's numbers, by their places; none for low, 0 and high.
        lengths: of the bar in pixels, in a wide and in a narrow figure.
        reverse: whether low has the strongest colour.
        under: pixels between the bar and the figure's lower edge.
        steps: the colours of the categories 0, 1, …, in place of all others.
    """

    title: str
    low: float = 0.0
    high: float = 1.0
    ticks: Mapping[float, str] = field(default_factory=dict)
    lengths: tuple[int, int] = (style.BAR, style.NARROW_BAR)
    reverse: bool = False
    under: int = 0
    bar: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[str] = ()

    @classmethod
    def of(cls, values: NDArray[Any], title: str, **more: Any) -> Scale:
        """From 0 up, or on both sides of 0 if a value is negative."""
        limit = max(float(np.nanmax(np.abs(values))), 1e-6)
        low = -limit if np.nanmin(values) < 0 else 0.0
        return cls(title=title, low=low, high=limit, **more)

    @property
    def is_signed(self) -> bool:
        """Whether it has two hues."""
        return self.low < 0

    def share(self, value: float) -> float:
        """The place of a number among the colours, from 0 to 1."""
        share = (value - self.low) / (self.high - self.low)
        return 1 - share if self.reverse else share

    def ink(self, theme: Theme, value: float) -> str:
        """Black or white, whichever reads better on the colour of a number."""
        share = min(self.share(value), 1.0)
        return theme.signed_ink(share) if self.is_signed else theme.ink(share)

    def colors(self, theme: Theme) -> list[list[Any]]:
        """Its colours as Plotly takes them."""
        if self.steps:
            count = len(self.steps)
            return [
                [(place + side) / count, color]
                for place, color in enumerate(self.steps)
                for side in (0, 1)
            ]
        return theme.signed_colorscale if self.is_signed else theme.colorscale

    def drawn_bar(self, theme: Theme, narrow: bool, height: float) -> dict[str, Any]:
        """The bar below the plot, in a figure of so many pixels."""
        end = f"{self.high:.3g}"
        usual = (
            {self.low: f"−{end}", 0: "0", self.high: end}
            if self.is_signed
            else {0: "0", self.high: end}
        )
        ticks = self.ticks or usual
        font = {"size": style.SMALL_FONT_SIZE, "color": theme.muted}
        return {
            "title": {"text": escape_html(self.title), "side": "bottom", "font": font},
            # Below the plot it costs no width.
            "orientation": "h",
            "thickness": 12,
            "len": self.lengths[narrow],
            "lenmode": "pixels",
            "x": 0,
            "xanchor": "left",
            "y": self.under / height,
            "yref": "container",
            "yanchor": "bottom",
            "ypad": 2,
            "xpad": 0,
            "tickvals": list(ticks),
            "ticktext": list(ticks.values()),
            "tickfont": font,
            "outlinecolor": theme.grid,
            "outlinewidth": 1,
            **self.bar,
        }

    def axis(self, theme: Theme, narrow: bool, height: float) -> dict[str, Any]:
        """The scale as a colour axis that several heatmaps share."""
        return {
            "cmin": self.low,
            "cmax": self.high,
            "colorscale": self.colors(theme),
            "reversescale": self.reverse,
            "colorbar": self.drawn_bar(theme, narrow, height),
        }

    def own(self, theme: Theme, narrow: bool, height: float) -> dict[str, Any]:
        """The scale as settings of one heatmap."""
        return {
            "zmin": self.low,
            "zmax": self.high,
            "colorscale": self.colors(theme),
            "colorbar": self.drawn_bar(theme, narrow, height),
        }


def weights(title: str = "weight") -> Scale:
    """Shares from 0 to 1."""
    quarters = {0: "0", 0.25: "0.25", 0.5: "0.5", 0.75: "0.75", 1: "1"}
    return Scale(title=title, ticks=quarters, lengths=(style.BAR, style.BAR))


def around_zero(title: str, limit: float, **more: Any) -> Scale:
    """Numbers from -limit to limit."""
    return Scale(title=title, low=-limit, high=limit, **more)


def clipped(
    title: str, values: Sequence[NDArray[np.floating[Any]]], *, length: int = 170, **more: Any
) -> Scale:
    """Numbers around 0, the largest of which share the end colours; see `style.clipped_limit`."""
    limit = style.clipped_limit(values)
    ticks = {-limit: f"≤ −{limit:.3g}", 0: "0", limit: f"≥ {limit:.3g}"}
    return around_zero(title, limit, ticks=ticks, lengths=(length, length), **more)
