"""Axes of numbers, and of labels at 0, 1 and so on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from model.trace.attention_map import Tokens
from viz.draw import style
from viz.draw.labels import escape_html, lower_first, side_texts
from viz.draw.themes import Theme

ALL = (10_000, 10_000)
"""Room for every label."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a plot. A narrow figure has lines below its title in place of axis titles.

    Attributes:
        title: in sentence case, plain text.
        at: where marks without places of their own stand.
        texts: of labels at 0, 1, …, plain text or tokens; None for an axis of numbers.
        room: how many labels fit, in a wide and a narrow figure; None for all across, and down for
            as many as can be read.
        shared: whether a plot beside the first shows no labels again.
    """

    title: str = ""
    at: Any = None
    texts: Sequence[str] | Tokens | None = None
    room: tuple[int, int] | None = None
    shared: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)

    def with_(self, **more: Any) -> Axis:
        """The axis with further settings of Plotly's."""
        return replace(self, more={**self.more, **more})

    @property
    def line(self) -> str:
        """Its title in the middle of a line."""
        return lower_first(self.title)

    def plain(self, narrow: bool) -> list[str]:
        """Its labels as plain text, cut where there is little room."""
        if isinstance(self.texts, Tokens):
            return side_texts(self.texts, narrow)
        return list(self.texts or ())

    def drawn(self, theme: Theme, narrow: bool, *, rows: int = 0, first: bool) -> dict[str, Any]:
        """The axis as Plotly takes it.

        Args:
            rows: the height of the plot in pixels, for an axis that runs up or down; 0 for others.
            first: whether no plot with the same axis stands beside it.
        """
        title = self.title if first and not narrow else ""
        if self.texts is None:
            return {
                "title": style.axis_title(escape_html(title)),
                "tickfont": {"size": style.SMALL_FONT_SIZE},
                "gridcolor": theme.grid,
                "zeroline": False,
                "zerolinecolor": theme.muted,
                "automargin": True,
                **self.more,
            }
        texts = [escape_html(text) for text in self.plain(narrow)]
        if rows:
            ends, room = [len(texts) - 0.5, -0.5], rows // style.MIN_ROW_HEIGHT
        else:
            ends, room = [-0.5, len(texts) - 0.5], len(texts)
        if self.room:
            room = self.room[narrow]
        axis = style.axis(escape_html(title), texts, style.label_step(len(texts), room), range=ends)
        if self.shared and not first:
            axis["showticklabels"] = False
        return {**axis, **self.more}


def number_axis(title: str = "", at: Any = None, **more: Any) -> Axis:
    """An axis of numbers, with further settings of Plotly's."""
    return Axis(title, at, more=more)


def label_axis(
    title: str,
    texts: Sequence[str] | Tokens,
    *,
    room: tuple[int, int] | None = None,
    shared: bool = False,
    **more: Any,
) -> Axis:
    """An axis with a label at each of 0, 1, …, from the left or from above; see `Axis`."""
    return Axis(title, list(range(len(texts))), texts, room, shared, more)


def head_axis(names: Sequence[str], **more: Any) -> Axis:
    """The heads of a layer, across."""
    return label_axis("Head", names, room=(16, 12), autotickangles=[0], **more)


def layer_axis(count: int, **more: Any) -> Axis:
    """The layers, down."""
    return label_axis("Layer", [*map(str, range(count))], **more)
