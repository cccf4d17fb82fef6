"""Masks that are drawn: presets, edited ones, and what they let a model see."""

from dataclasses import replace

import numpy as np

from model.trace.attention_map import AttentionKind, BoolArray, Tokens
from viz.masks.mask import BY_EDIT, EDITED, Cell, Mask, future_cells, padding_row, require_mask

_PRESET = "A query may look at a key where the preset allows it."


_DRAWN = "A query may look at a key where the edited mask allows it."


def preset_mask(
    name: str,
    allowed: BoolArray,
    queries: Tokens,
    keys: Tokens,
    *,
    kind: AttentionKind | None = None,
    reason: str = "",
    causal: bool = False,
) -> Mask:
    """A mask made by a rule instead of a model.

    A cell counts as padding only where the mask as a whole allows no padding at all, and as future
    only in the decoder and for a rule that is causal. Else it has the rule's own reason.

    Args:
        allowed: True = may attend, (query, key).
        queries: labels of the rows.
        keys: labels of the columns.
        kind: the attention that it is for.
        reason: what a key is that the rule forbids, such as "outside the window".
        causal: whether it is the causal mask or a narrower one.

    Raises:
        ValueError: if the mask is not boolean, or of another shape than the labels.
    """
    require_mask(allowed, (len(queries), len(keys)))
    reasons = np.zeros(allowed.shape, dtype=np.uint8)
    no_padding = np.broadcast_to(padding_row(keys), allowed.shape)
    if not allowed[no_padding > 0].any():
        reasons |= no_padding
    if causal and kind is AttentionKind.DECODER:
        reasons |= future_cells(len(keys))
    forbidden = np.where(reasons > 0, reasons, np.uint8(Cell.OTHER))
    return Mask(
        name,
        name,
        kind,
        np.where(allowed, np.uint8(Cell.ALLOWED), forbidden),
        queries,
        keys,
        _plain_shape(allowed.shape),
        _PRESET,
        reason,
    )


def edited_mask(base: Mask, allowed: BoolArray) -> Mask:
    """A mask after an edit: cells that only the edit forbids are OTHER, the rest keep their reason.

    Raises:
        ValueError: if the edit is not boolean, or of another shape than the mask.
    """
    require_mask(allowed, base.cells.shape)
    reasons = np.where(base.allowed, Cell.OTHER, base.cells)
    both = base.cells == Cell.BOTH
    for gone, left in ((Cell.FUTURE, Cell.PADDING), (Cell.PADDING, Cell.FUTURE)):
        alone = base.cells == gone
        # With every cell opened that only one reason forbade, the other forbids the rest.
        if alone.any() and allowed[alone].all():
            reasons[both] = left
    return replace(
        base,
        name=base.name.removesuffix(EDITED) + EDITED,
        cells=np.where(allowed, Cell.ALLOWED, reasons).astype(np.uint8),
        shape=_plain_shape(base.cells.shape),
        meaning=_DRAWN,
        reason=BY_EDIT,
    )


def both_masks(a: Mask, b: Mask) -> Mask:
    """What two masks of one size allow together, as the model adds them, with both reasons."""
    cells = a.cells | b.cells
    others = [each for each in (a, b) if (each.cells == Cell.OTHER).any()]
    named = dict.fromkeys(each.reason for each in others)
    return replace(
        a,
        name=f"{a.name}, and {b.name}",
        short="A and B",
        cells=np.where(cells > Cell.BOTH, np.uint8(Cell.OTHER), cells),
        shape=_plain_shape(cells.shape),
        meaning="True where both masks are.",
        reason=" or ".join(named) or BY_EDIT,
    )


def _plain_shape(shape: tuple[int, ...]) -> str:
    return f"(query, key) = {shape}"
