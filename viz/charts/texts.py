"""Texts in a plot and around it."""

from collections.abc import Sequence
from typing import Any

from viz.charts.marks import Color, Mark, Sheet, Values
from viz.draw import style


def note(
    text: str,
    *,
    size: int = style.SMALL_FONT_SIZE,
    color: Color = "text",
    ground: Color = "",
    **more: Any,
) -> Mark:
    """A text, already safe to show, where Plotly's settings of an annotation say."""

    def draw(sheet: Sheet) -> None:
        font = {"size": size, "color": sheet.theme.color(color)}
        behind = {"bgcolor": sheet.theme.color(ground)} if ground else {}
        sheet.note(text=text, font=font, **behind, **more)

    return draw


def corner_note(
    text: str,
    *,
    at: float = 1,
    right: int = 0,
    up: int = 0,
    color: Color = "muted",
    size: int = style.SMALL_FONT_SIZE,
    weight: int = 400,
    **more: Any,
) -> Mark:
    """A text, already safe to show, above a share of the plot's width, moved by so many pixels."""

    def draw(sheet: Sheet) -> None:
        place = {f"{axis}ref": f"{axis}{sheet.suffix} domain" for axis in "xy"}
        font = {"size": size, "color": sheet.theme.color(color), "weight": weight}
        moved: dict[str, Any] = {"font": font, "xshift": right, "yshift": up, **place, **more}
        sheet.notes.append(style.heading(sheet.theme, text, at, 1, **moved))

    return draw


def texts(
    x: Values,
    y: Values,
    shown: Sequence[str],
    *,
    name: str = "",
    at: str = "middle center",
    size: int = style.SMALL_FONT_SIZE,
    color: Color = "text",
    **more: Any,
) -> Mark:
    """Texts, already safe to show, at places of the plot and beyond its edges."""
    return lambda sheet: sheet.add(
        {
            **{"type": "scatter", "mode": "text", "x": x, "y": y, "text": shown, "name": name},
            **{"textposition": at, "cliponaxis": False, "hoverinfo": "skip", "showlegend": False},
            "textfont": {"size": size, "color": sheet.theme.color(color)},
            **more,
        }
    )
