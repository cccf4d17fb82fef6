"""The style sheets of the page, its stage and what we write as HTML.

They cover what Streamlit's theme cannot express.
"""

from functools import cache
from pathlib import Path

from viz.draw.themes import Theme

_SHEETS = Path(__file__).with_name("sheets")


@cache
def _sheet(name: str) -> str:
    return (_SHEETS / f"{name}.css").read_text(encoding="utf-8")


def _style(name: str) -> str:
    """A sheet as an element of a page."""
    return f"\n<style>\n{_sheet(name)}</style>\n"


TRANSLATION_SIZES = {60: 1.5, 160: 1.25}
"""The translation's size in rem, by maximum number of characters."""

LONG_TRANSLATION_SIZE = 1.05

PAGE_CSS = _style("page")
"""Rules for parts that Streamlit's theme settings do not reach."""

DARK_PAGE_CSS = _style("dark_page")
"""Further rules for a dark page."""

STALE_CSS = _style("stale")
"""Dims everything about the previous sentence, from its translation on."""

STALE_STAGE_CSS = _style("stale_stage")
"""The same for a stage, where a filter on the picture's container would move it."""

TOOLS_CSS = _style("tools")
"""The position of the row of tools."""

MODEL_CSS = _style("model")
"""The first page gives most of its space to the picture."""

SCENES_CSS = _sheet("scenes")
"""The list of a talk's scenes."""

SCENE_TITLE_CSS = _sheet("scene_title")
"""Room for a scene's title on stage: the picture begins below it."""

ANSWER_CSS = _sheet("answer")
"""The translation."""

CHANGE_CSS = _sheet("change")
"""Two translations, one below the other."""

CERTAINTY_CSS = _sheet("certainty")
"""A sentence whose tokens have a number below each."""

FACTS_CSS = _sheet("facts")
"""A list of facts: names on the left, values on the right."""


FOLDED = 240
"""Longer translations are folded to two lines."""


def translation_css(text: str) -> str:
    """The translation's style: large, but smaller if it would push everything else off the page."""
    fitting = [size for most, size in TRANSLATION_SIZES.items() if len(text) <= most]
    size = fitting[0] if fitting else LONG_TRANSLATION_SIZE
    return f"font-size: {size}rem; font-weight: 650; line-height: 1.25; margin: 0"


def grid_css(theme: Theme) -> str:
    """The style of a batch's tokens: one row per sentence, padding hatched."""
    hatch = f"repeating-linear-gradient(-45deg, {theme.hatch} 0 1.5px, {theme.forbidden} 1.5px 5px)"
    return f"""
.token-grid {{ overflow-x: auto }}
.token-grid table {{ border-collapse: separate; border-spacing: 2px; margin: 0 }}
.token-grid caption {{ text-align: left; font-weight: 600; padding: 0.25rem 0 }}
.token-grid th, .token-grid td {{ padding: 0.2rem 0.5rem; text-align: center; white-space: nowrap;
  font-weight: 400; border: 1px solid {theme.grid} }}
.token-grid th {{ border: 0; color: {theme.muted} }}
.token-grid .padding {{ background: {hatch}; color: {theme.muted} }}
.token-grid .framed td {{ border: 2px solid {theme.accent} }}
"""


def change_css(theme: Theme, *, removed: bool) -> str:
    """The style of words that a text lost or gained.

    A line tells them from others without colour; their letters keep the page's own contrast.
    """
    line, color = ("line-through", 0) if removed else ("underline", 1)
    return (
        f"text-decoration: {line} 2px {theme.heads[color]}; background: {theme.heads[color]}2e; "
        "border-radius: 3px; padding: 0 2px"
    )


def stage_css(theme: Theme) -> str:
    """The style of a stage: hides everything around the picture and enlarges the rest.

    All sizes follow the root's: a 38th of the window's height, and no less than a reader has set.
    """
    colors = {name: getattr(theme, name) for name in ("hover", "text", "muted")}
    named = "; ".join(f"--theme-{name}: {color}" for name, color in colors.items())
    return f"\n<style>\n:root {{ {named} }}\n{_sheet('stage')}</style>\n"
