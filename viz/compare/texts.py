"""Sentences with their translations, one below the other, as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from viz.draw import css, themes
from viz.draw.labels import NOTHING, escape_html, visible
from viz.draw.word_diff import SHORT, word_diff

_ROW = (
    "display: flex; flex-wrap: wrap; gap: 0.1rem 1.25rem; align-items: baseline; padding: 0.35rem 0"
)


def runs_html(runs: Sequence[tuple[str, str, str]], *, dark: bool, since: int = 0) -> str:
    """Runs as name, sentence and translation; words that differ from the first run are marked.

    Args:
        runs: the first, and others.
        dark: whether the page is.
        since: the first that is shown.
    """
    _, *first = runs[0]
    size = 1.3 if max(len(text) for _, *texts in runs for text in texts) <= SHORT else 1.05
    sections = []
    for name, *texts in runs[since:]:
        cells = [_cell(escape_html(visible(name)), "flex: 0 1 14rem; opacity: 0.75")]
        for before, text, room in zip(first, texts, (16, 22), strict=True):
            look = f"flex: 1 1 {room}rem; font-size: {size}rem"
            cells.append(_cell(_marked(before, text, dark), look))
        sections.append(f'<section style="{_ROW}">{"".join(cells)}</section>')
    return f"<div>{''.join(sections)}</div>"


def _cell(content: str, look: str) -> str:
    return f'<div style="overflow-wrap: anywhere; {look}">{content}</div>'


def _marked(before: str, text: str, dark: bool) -> str:
    """A text whose words that another text lacks are underlined."""
    look = css.change_css(themes.page(dark), removed=False)
    parts = []
    for change, words in word_diff(before, text):
        if change == "removed":
            continue
        shown = escape_html(visible(words.lstrip(" ")))
        space = " " * (len(words) - len(words.lstrip(" ")))
        parts.append(space + (f'<ins style="{look}">{shown}</ins>' if change == "added" else shown))
    return "".join(parts).strip() or NOTHING
