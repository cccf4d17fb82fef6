"""Tables of the masks page: the tokens of a batch, and three softmaxes of one row."""

import html
from collections.abc import Mapping, Sequence

import numpy as np

from model.trace.attention_map import BoolArray
from viz.draw import css, themes
from viz.draw.labels import escape_html
from viz.masks.steps import FillLesson


def grid_html(
    sides: Mapping[str, tuple[Sequence[Sequence[str]], BoolArray]], framed: int, *, dark: bool
) -> str:
    """The sentences of a batch as tables of tokens, with padding hatched.

    Args:
        sides: texts and where they are padding, as `token_grid` gives them, by their name.
        framed: the sentence that is looked at, from 0.
    """
    tables = []
    for named, (texts, is_padding) in sides.items():
        rows = []
        for number, (row, padding) in enumerate(zip(texts, is_padding.tolist(), strict=True)):
            cells = "".join(
                f'<td class="{"padding" if empty else "token"}">{escape_html(text)}</td>'
                for text, empty in zip(row, padding, strict=True)
            )
            frame = ' class="framed"' if number == framed else ""
            rows.append(f"<tr{frame}><th>{number + 1}</th>{cells}</tr>")
        tables.append(f"<table><caption>{html.escape(named)}</caption>{''.join(rows)}</table>")
    return (
        f"<style>{css.grid_css(themes.page(dark))}</style>"
        # Side by side if they fit: the masks below then start higher.
        # Focusable, because on a narrow page it scrolls.
        '<div class="token-grid" tabindex="0" role="group" aria-label="Tokens of the batch" '
        'style="display: flex; flex-wrap: wrap; gap: 0 2rem; '
        f'font-size: 0.9rem; line-height: 1.15">{"".join(tables)}</div>'
    )


def lesson_html(lesson: FillLesson, texts: Sequence[str], *, dark: bool) -> str:
    """The three softmaxes of one row as a table; `texts` name the keys."""
    head = "".join(f'<th scope="col">{escape_html(text)}</th>' for text in texts)
    rows = "".join(
        f'<tr><th scope="row">{escape_html(name)}</th>'
        + "".join(
            f"<td>{'NaN' if np.isnan(value) else f'{value:.2f}'}</td>" for value in row.tolist()
        )
        + "</tr>"
        for name, row in lesson.rows
    )
    return (
        f"<style>{css.grid_css(themes.page(dark))}</style>"
        '<div class="token-grid" tabindex="0" role="group" aria-label="Three softmaxes">'
        f'<table><tr><th scope="row">Key</th>{head}</tr>'
        f"{rows}</table></div>"
    )
