"""Masks and the numbers of one head as panels."""

from typing import Any

import numpy as np

from model.trace.attention_map import AttentionKind, AttentionMap, BoolArray, Tokens
from viz.draw import panels, style, themes
from viz.draw.axis_names import key_title, row_noun
from viz.draw.panels import Panel
from viz.masks.batch_masks import EVERY_QUERY
from viz.masks.difference import COMPARED_NAMES, Compared, Difference
from viz.masks.mask import BY_EDIT, Cell, Mask
from viz.masks.preset_masks import edited_mask

EVERY = Tokens.unnamed(["every"])
"""The query of a one-row mask; without spaces, which labels would mark."""


def mask_panel(mask: Mask, title: str, *, sign: str = "", note: str | None = None) -> Panel:
    """A mask, its cells coloured by reason; by default its note is shape and type."""
    return Panel(
        title=title,
        values=mask.cells,
        queries=EVERY if mask.queries == EVERY_QUERY else mask.queries,
        keys=mask.keys,
        alt=mask.alt,
        names=mask.legend,
        colors={"light": themes.LIGHT.cells, "dark": themes.DARK.cells},
        note=f"{mask.shape}, {mask.dtype}" if note is None else note,
        sign=sign,
        hatched=int(Cell.PADDING),
        **_titles(mask.kind),
    )


def editor_panel(own: Mask, allowed: BoolArray, title: str, *, shown: Mask | None = None) -> Panel:
    """A mask to paint on, as `shown` has it; by default, cells keep the reasons of the own mask."""
    shown = shown or edited_mask(own, allowed)
    reasons = np.where(own.allowed, Cell.OTHER, own.cells)
    return Panel(
        title=title,
        values=shown.cells,
        queries=own.queries,
        keys=own.keys,
        alt=shown.alt,
        # A mask that hides nothing by itself has no reason, and what is painted on it has one.
        names=tuple(text or BY_EDIT for text in shown.legend),
        colors={"light": themes.LIGHT.cells, "dark": themes.DARK.cells},
        base=own.cells,
        start=allowed,
        by_edit=int(Cell.OTHER),
        reasons=np.where(shown.allowed, reasons, shown.cells).astype(np.uint8),
        **_titles(own.kind),
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
    both = [(Cell(a), Cell(b)) for a, b in (divmod(each, len(Cell)) for each in used.tolist())]
    return Panel(
        title="What differs",
        values=cells.reshape(sentences.shape).astype(np.uint8),
        queries=difference.a.queries,
        keys=difference.a.keys,
        alt=difference.alt,
        names=names,
        legend=[COMPARED_NAMES[Compared(answer)] for answer in answers],
        colors={
            name: [theme.compared[answer] for answer in answers]
            for name, theme in (("light", themes.LIGHT), ("dark", themes.DARK))
        },
        sign="→",
        reads=[difference.reads(a, b) for a, b in both],
        **_titles(difference.a.kind),
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
        title: in sentence case.
        values: (query, key); NaN becomes 0.
        shown: other cells are hatched; None shows all.
        limit: signed numbers run from -limit to limit; None takes them from 0 to `high`.
        high: the number of the last colour.
        sign: stands before the title.
    """
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
        **_titles(seen.site.kind),
    )


def weights_panel(seen: AttentionMap, head: int, title: str, *, sign: str = "") -> Panel:
    """One head's weights, with masked cells hatched.

    Raises:
        IndexError: if there is no such head.
    """
    return panels.weights_panel(title, seen.head(head), sign=sign, **_titles(seen.site.kind))


def _titles(kind: AttentionKind | None) -> dict[str, Any]:
    """What rows and columns are; of no kind, a panel's own words."""
    if kind is None:
        return {}
    return {"query_title": f"Query: {row_noun(kind)}", "key_title": key_title(kind)}
