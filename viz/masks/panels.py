"""What the masks page shows: panels of masks and weights, tables of tokens, and sentences."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import (
    AttentionKind,
    AttentionMap,
    BoolArray,
    FloatArray,
    Site,
    Tokens,
)
from model.trace.trace import Trace
from viz.draw import css, style, word_diff
from viz.draw.heatmap import key_title, row_noun
from viz.draw.labels import NOTHING, escape_html, visible
from viz.draw.panel_figure import panel_figure
from viz.draw.panels import Panel
from viz.masks.mask import (
    COMPARED_NAMES,
    EVERY_QUERY,
    LISTED_QUERIES,
    Cell,
    Compared,
    Difference,
    Mask,
    difference_alt_text,
    edited_mask,
    empty_queries,
    factors,
    mask_alt_text,
    mask_difference,
)
from viz.masks.steps import FillLesson, Steps, moved_weight

QUOTED_CHARACTERS = 60
"""The most characters of a sentence in its name."""

EVERY = Tokens.unnamed(["every"])
"""The query of a one-row mask; without spaces, which labels would mark."""

SHORT = 80
"""Translations of up to this many characters are set large."""

NOTICED = 0.01
"""A head that moved less of its weight counts as unchanged."""


def mask_panel(mask: Mask, title: str, *, sign: str = "", note: str | None = None) -> Panel:
    """A mask, its cells coloured by the reason why they are forbidden.

    Args:
        mask: what to show.
        title: in sentence case.
        sign: stands before the title, such as "=".
        note: below the title; None says shape and type.
    """
    query_title, key_titled = ("Query", "Key") if mask.kind is None else _titles(mask.kind)
    return Panel(
        title=title,
        values=mask.cells,
        queries=EVERY if mask.queries == EVERY_QUERY else mask.queries,
        keys=mask.keys,
        alt=mask_alt_text(mask),
        names=mask.cell_names,
        colors={"light": style.LIGHT.cells, "dark": style.DARK.cells},
        note=f"{mask.shape}, {mask.dtype}" if note is None else note,
        sign=sign,
        query_title=query_title,
        key_title=key_titled,
    )


def editor_panel(own: Mask, allowed: BoolArray, title: str) -> Panel:
    """A mask to paint on.

    Args:
        own: the model's own mask, whose reasons its forbidden cells keep.
        allowed: where painting begins, True = may attend, (query, key).
        title: in sentence case.

    Raises:
        ValueError: if `allowed` is not boolean, or of another shape than the mask.
    """
    shown = edited_mask(own, allowed)
    query_title, key_titled = ("Query", "Key") if own.kind is None else _titles(own.kind)
    return Panel(
        title=title,
        values=shown.cells,
        queries=own.queries,
        keys=own.keys,
        alt=mask_alt_text(shown),
        names=shown.cell_names,
        colors={"light": style.LIGHT.cells, "dark": style.DARK.cells},
        query_title=query_title,
        key_title=key_titled,
        base=own.cells,
        start=allowed,
        by_edit=int(Cell.OTHER),
    )


def difference_panel(difference: Difference) -> Panel:
    """The cells in which two masks agree or differ; hovering a cell shows both masks' reasons."""
    # One category per sentence, coloured by its meaning, so that each cell tells the difference.
    place = {answer: index for index, answer in enumerate(COMPARED_NAMES)}
    sentences = difference.sentence_ids
    used, cells = np.unique(sentences, return_inverse=True)
    answers = [
        place[Compared(difference.cells[sentences == sentence].flat[0])] for sentence in used
    ]
    names = [
        f"{COMPARED_NAMES[Compared(answer)]} ({difference.sentences[sentence]})"
        for answer, sentence in zip(answers, used.tolist(), strict=True)
    ]
    kind = difference.a.kind
    query_title, key_titled = ("Query", "Key") if kind is None else _titles(kind)
    return Panel(
        title="What differs",
        values=cells.reshape(sentences.shape).astype(np.uint8),
        queries=difference.a.queries,
        keys=difference.a.keys,
        alt=difference_alt_text(difference),
        names=names,
        legend=[COMPARED_NAMES[Compared(answer)] for answer in answers],
        colors={
            name: [theme.compared[answer] for answer in answers]
            for name, theme in (("light", style.LIGHT), ("dark", style.DARK))
        },
        sign="→",
        query_title=query_title,
        key_title=key_titled,
    )


def number_panel(
    seen: AttentionMap,
    title: str,
    values: Any,
    *,
    shown: BoolArray | None = None,
    limit: float | None = None,
    high: float = 1.0,
    unit: str = "weight",
    sign: str = "",
) -> Panel:
    """Numbers of one head.

    Args:
        seen: the site, for its tokens.
        title: in sentence case.
        values: (query, key); NaN becomes 0.
        shown: other cells are hatched; None shows all.
        limit: signed numbers run from -limit to limit; None takes them from 0 to `high`.
        high: the number of the last colour.
        unit: what the numbers are.
        sign: stands before the title.
    """
    query_title, key_titled = _titles(seen.site.kind)
    return Panel(
        title=title,
        values=np.nan_to_num(np.asarray(values, dtype=np.float32)),
        queries=seen.queries,
        keys=seen.keys,
        alt=f"{title}: {style.count_of(len(seen.queries), 'query', 'queries')} by "
        f"{style.count_of(len(seen.keys), 'key')}.",
        scale="weights" if limit is None else "signed",
        low=0.0 if limit is None else -limit,
        high=high if limit is None else limit,
        unit=unit,
        shown=shown,
        sign=sign,
        query_title=query_title,
        key_title=key_titled,
    )


def step_panels(
    seen: AttentionMap, steps: Steps, *, limit: float, longest: float, hatched: bool
) -> list[Panel]:
    """The steps inside a head: scores, scores after the mask, weights, and each key's contribution.

    Args:
        seen: the site.
        steps: those of a head.
        limit: scores run from -limit to limit.
        longest: the largest length of weight · v.
        hatched: whether the mask took anything out.
    """
    shown = steps.allowed if hatched else None
    return [
        number_panel(seen, "Scores", steps.scores, limit=limit, unit="score"),
        number_panel(
            seen,
            "Scores after the mask" if hatched else "Without the mask",
            steps.masked,
            shown=shown,
            limit=limit,
            unit="score",
            sign="→",
        ),
        number_panel(seen, "Weights", steps.weights, shown=shown, sign="softmax →"),
        number_panel(
            seen,
            "Length of weight · v",
            steps.contributions,
            shown=shown,
            high=longest,
            unit="length",
            sign="× V →",
        ),
    ]


def weights_panel(seen: AttentionMap, head: int, title: str, *, sign: str = "") -> Panel:
    """One head's weights, with masked cells hatched.

    Raises:
        IndexError: if there is no such head.
    """
    one = seen.head(head)
    return number_panel(seen, title, one.weights, shown=one.allowed, sign=sign)


def change_panel(before: AttentionMap, after: AttentionMap, head: int) -> Panel:
    """The change of one head's weights, from -1 to 1.

    Raises:
        IndexError: if there is no such head.
    """
    change = after.head(head).weights - before.head(head).weights
    return number_panel(before, "Difference", change, limit=1.0, unit="difference", sign="=")


def moved_heads(before: Trace, after: Trace, lengths: tuple[int, int]) -> dict[Site, FloatArray]:
    """The share of every head's weight that moved between two passes, by site, (head,) each.

    Args:
        before: the first pass.
        after: the second, over the same tokens.
        lengths: tokens of the source and of the decoder's input, without padding.
    """
    n_source, n_target = lengths
    return {
        site: moved_weight(
            seen, after.maps[site], n_source if site.kind is AttentionKind.ENCODER else n_target
        )
        for site, seen in before.maps.items()
    }


def moved_panel(moved: Mapping[Site, FloatArray]) -> Panel:
    """One cell per head: the share of its weight that moved; `moved` from `moved_heads`."""
    values = np.stack(list(moved.values()))
    return Panel(
        title="How much each head moved",
        values=values,
        # A label has no room for spaces, which it would mark.
        queries=Tokens.unnamed(f"{site.kind.short_name}·{site.layer}" for site in moved),
        keys=Tokens.unnamed(range(values.shape[1])),
        alt=f"How much each head moved: {style.count_of(len(moved), 'layer')} by "
        f"{style.count_of(values.shape[1], 'head')}. "
        f"{moved_words(moved)}",
        scale="weights",
        unit="weight that moved",
        pointed="{query}, head {key}",
        query_title="Attention and layer",
        key_title="Head",
    )


def moved_words(moved: Mapping[Site, FloatArray]) -> str:
    """The number of heads that moved, and the one that moved most; `moved` from `moved_heads`."""
    count = sum(np.size(heads) for heads in moved.values())
    some = sum(int(np.count_nonzero(heads >= NOTICED)) for heads in moved.values())
    if not some:
        return f"No head moved {style.percent(NOTICED)} of its weight or more."
    site, head = most_moved(moved)
    return (
        f"{some} of {style.count_of(count, 'head')} moved at least {style.percent(NOTICED)} of "
        "their weight; the most, "
        f"{style.percent(float(moved[site][head]))}, is that of {site.kind.full_name.lower()}, "
        f"layer {site.layer}, head {head}."
    )


def most_moved(moved: Mapping[Site, FloatArray]) -> tuple[Site, int]:
    """The site and number of the head that moved most; the first of equals."""
    site = max(moved, key=lambda each: float(moved[each].max()))
    return site, int(np.argmax(moved[site]))


def factor_panels(every: dict[str, Mask]) -> list[Panel]:
    """The decoder's mask and its factors; `every` from `batch_masks`."""
    causal, padding, both = factors(every)
    return [
        mask_panel(causal, "Causal"),
        mask_panel(padding, "Target padding", sign="and"),
        mask_panel(both, "Decoder self-attention", sign="="),
    ]


def square_panels(every: dict[str, Mask]) -> list[Panel]:
    """The masks of the encoder and of cross-attention; `every` as in `factor_panels`."""
    return [mask_panel(every["encoder"], "Encoder"), mask_panel(every["cross"], "Cross-attention")]


def row_panels(every: dict[str, Mask]) -> list[Panel]:
    """The padding masks, one row each; `every` as in `factor_panels`."""
    return [
        mask_panel(every["source-padding"], "Source padding"),
        mask_panel(every["target-padding"], "Target padding"),
    ]


def other_panels(every: dict[str, Mask]) -> list[Panel]:
    """All masks but the decoder's; `every` as in `factor_panels`."""
    return square_panels(every) + row_panels(every)


def compared_panels(a: Mask, b: Mask, titles: tuple[str, str]) -> list[Panel]:
    """Two masks and, if they have the same size, their difference."""
    panels = [mask_panel(mask, title) for mask, title in zip((a, b), titles, strict=True)]
    if a.cells.shape == b.cells.shape:
        panels.append(difference_panel(mask_difference(a, b)))
    return panels


def changed_panels(
    before: AttentionMap, after: AttentionMap, head: int, titles: tuple[str, str], *, sign: str = ""
) -> list[Panel]:
    """One head's weights in two passes, and their change.

    Args:
        before: the site in the first.
        after: the site in the second.
        head: counted from 0.
        titles: of the two.
        sign: stands before the second title.

    Raises:
        IndexError: if there is no such head.
    """
    return [
        weights_panel(before, head, titles[0]),
        weights_panel(after, head, titles[1], sign=sign),
        change_panel(before, after, head),
    ]


def grid_html(
    sides: Mapping[str, tuple[Sequence[Sequence[str]], BoolArray]], framed: int, *, dark: bool
) -> str:
    """The sentences of a batch as tables of tokens, with padding hatched.

    Args:
        sides: texts and where they are padding, as `token_grid` gives them, by their name.
        framed: the sentence that is looked at, from 0.
        dark: for a dark page.
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
        f"<style>{css.grid_css(style.look(dark))}</style>"
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
        f"<style>{css.grid_css(style.look(dark))}</style>"
        '<div class="token-grid" tabindex="0" role="group" aria-label="Three softmaxes">'
        f'<table><tr><th scope="row">Key</th>{head}</tr>'
        f"{rows}</table></div>"
    )


def translations_html(
    before: str,
    after: str,
    names: tuple[str, str],
    *,
    dark: bool,
    given: tuple[float, float] | None = None,
) -> str:
    """Two translations, side by side if they fit, with changes marked in the second.

    `given`, if any, are the mean log-probabilities of a typed target's tokens.
    """
    size = 1.5 if max(len(before), len(after)) <= SHORT else 1.125
    shown = (escape_html(visible(before)), word_diff.diff_html(before, after, dark=dark))
    notes = [
        '<div style="font-size: 1.125rem; font-weight: 400">Typed target: each token gets a '
        f"probability of {_probability(mean)} (geometric mean)</div>"
        for mean in given or ()
    ] or ["", ""]
    sections = "".join(
        f'<section style="display: flex; gap: 0.75rem; font-size: {size}rem">'
        f"<span>{escape_html(name)}</span>"
        f"<div>{text or NOTHING}{note}</div></section>"
        for name, text, note in zip(names, shown, notes, strict=True)
    )
    columns = "repeat(auto-fit, minmax(min(100%, 30rem), 1fr))"
    return (
        f"<style>{css.CHANGE_CSS}</style>"
        f'<div class="change" style="grid-template-columns: {columns}">{sections}</div>'
    )


def _probability(log_prob: float) -> str:
    share = math.exp(log_prob)
    if share > 0.999:
        return "more than 0.999"
    # Two digits would round smaller numbers to 1.
    return f"{share:.{3 if share >= 0.995 else 2}g}" if share >= 1e-4 else "less than 0.0001"


def difference_words(difference: Difference) -> str:
    """The number of cells in which two masks differ, in words."""
    counts = np.bincount(difference.cells.ravel(), minlength=len(Compared))
    only_a, only_b = int(counts[Compared.ONLY_A_ALLOWS]), int(counts[Compared.ONLY_B_ALLOWS])
    size = difference.cells.size
    if not only_a + only_b:
        return f"None of the {size} cells differs."
    # Parts without cells are left out.
    parts = [f"only A allows {only_a}"] * bool(only_a) + [f"only B allows {only_b}"] * bool(only_b)
    verb = "differs" if only_a + only_b == 1 else "differ"
    return f"{only_a + only_b} of {size} cells {verb}: {', '.join(parts)}."


def empty_words(mask: Mask) -> str:
    """The queries without an allowed key, and their weights in the model; "" if there are none."""
    empty = empty_queries(mask)
    if not empty:
        return ""
    named = ", ".join(f"“{text}” ({place})" for place, text in empty[:LISTED_QUERIES])
    more = len(empty) - LISTED_QUERIES
    rest = f" and {more} more" if more > 0 else ""
    return (
        f"Nothing left to look at: {named}{rest}. Their weights are then zeros, so this attention "
        "adds only its bias there."
    )


def is_unchanged(before: tuple[Trace, Trace], after: tuple[Trace, Trace]) -> bool:
    """Whether two runs of the model are equal to the last bit.

    Args:
        before: the pass over a given translation, and the one over what the model wrote.
        after: likewise.
    """
    (forced, free), (other_forced, other_free) = before, after
    return (
        free.text == other_free.text
        and np.array_equal(np.asarray(forced.log_probs), np.asarray(other_forced.log_probs))
        and all(
            np.array_equal(seen.weights, other_forced.maps[site].weights)
            for site, seen in forced.maps.items()
        )
    )


def sentence_name(number: int, text: str) -> str:
    """A sentence of a batch by its number, from 0, and its first words: "Sentence 1, “The cat”"."""
    shown = visible(text)
    cut = "…" if len(shown) > QUOTED_CHARACTERS else ""
    return f"Sentence {number + 1}, “{shown[:QUOTED_CHARACTERS]}{cut}”"


def _titles(kind: AttentionKind) -> tuple[str, str]:
    return f"Query: {row_noun(kind)}", key_title(kind)


def mask_figure(mask: Mask, *, narrow: bool = False, dark: bool = False) -> go.Figure:
    """One mask, its cells coloured by the reason why they are forbidden.

    Args:
        mask: what to draw.
        narrow: for a width below `style.NARROW`, where its whole name has no room.
        dark: for a dark page.
    """
    return panel_figure(
        mask_panel(mask, f"{mask.short} mask" if narrow else mask.name), narrow=narrow, dark=dark
    )
