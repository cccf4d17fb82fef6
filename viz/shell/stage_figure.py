"""A figure as it is shown on stage."""

from typing import Any

import plotly.graph_objects as go

from viz.draw import style, themes

_PIXELS = frozenset(
    {"size", "standoff", "ticklabelstandoff", "ticklen", "thickness", "xpad", "ypad"}
    | {"xshift", "yshift", "itemwidth", "tracegroupgap"}
)
_PIXELS_WITHIN = {
    "margin": frozenset({"l", "r", "t", "b"}),
    "pad": frozenset({"l", "r", "t", "b"}),
    "line": frozenset({"width"}),
}
"""Plotly's properties in pixels, anywhere and within others."""


def for_stage(figure: go.Figure, *, dark: bool, times: float = style.STAGE_ENLARGED) -> go.Figure:
    """A copy of a figure for the back row: larger, in stronger colours, filling its place.

    Args:
        figure: in the colours of themes.page and the sizes of a page.
        times: how much larger texts, lines and margins become.
    """
    usual, strong = themes.page(dark), themes.stage(dark)
    colors = {getattr(usual, each): getattr(strong, each) for each in ("text", "muted", "accent")}

    def enlarged(part: Any, within: str = "") -> Any:
        if isinstance(part, dict):
            pixels = _PIXELS | _PIXELS_WITHIN.get(within, frozenset())
            if part.get("lenmode") == "pixels":
                pixels |= {"len"}
            return {
                # Rounded, since Plotly takes some of them only as whole numbers.
                key: round(value * times)
                if key in pixels and isinstance(value, int | float)
                else enlarged(value, key)
                for key, value in part.items()
            }
        if isinstance(part, list | tuple):
            return [enlarged(each, within) for each in part]
        return colors.get(part, part) if isinstance(part, str) else part

    # Part by part, since the dictionary of a whole figure encodes its numbers.
    made = go.Figure(
        [enlarged(trace.to_plotly_json()) for trace in figure.data],
        enlarged(figure.layout.to_plotly_json()),
    )
    made.update_layout(height=None, autosize=True)
    return made
