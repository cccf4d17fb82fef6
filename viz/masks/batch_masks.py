"""The masks that the sentences of a batch meet, and their tokens."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from model.trace.attention_map import AttentionKind, BoolArray, Tokens
from model.trace.token_schemes import PADDING
from model.trace.trace import Trace
from viz.draw.labels import axis_texts
from viz.masks.mask import EDITED, Mask, future_cells, padding_row
from viz.masks.preset_masks import edited_mask

EVERY_QUERY = Tokens.unnamed(["every query"])
"""The query axis of a mask with one row for all queries."""


_BY_HEAD = (
    "Heads have different masks: here, a query may look at a key if any head's mask allows it."
)


def batch_masks(padded: Sequence[Trace], sentence: int, *, layer: int = 0) -> dict[str, Mask]:
    """Every mask that applies to one sentence of a batch (Vaswani et al. 2017, section 3.2.3).

    "decoder", "encoder" and "cross" are what the trace recorded in that layer; where that differs
    from the model's own rule it was edited, and their names say so. Where heads were given
    different masks, a cell is allowed if any head may attend. A kind that was not recorded in the
    layer follows the model's own rule.

    Args:
        padded: the traces of one batch, with rows and columns for their padding.
        sentence: index into the batch.
        layer: counted from 0, whose recorded masks are shown.

    Returns:
        "source-padding" (1, source), "target-padding" (1, target), "causal" (target, target),
        "decoder" (target, target), "encoder" (source, source) and "cross" (target, source).

    Raises:
        IndexError: if there is no such sentence in the batch.
        ValueError: if the sentences are not padded to one length.
    """
    if not 0 <= sentence < len(padded):
        raise IndexError(
            f"The batch holds {len(padded)} sentences, counted from 0; there is no sentence "
            f"{sentence}."
        )
    n_source, n_target = (_common_length(padded, side) for side in ("source", "target"))
    trace = padded[sentence]
    source, target = trace.source, trace.target
    batch = len(padded)
    no_source, no_target = (padding_row(tokens) for tokens in (source, target))
    causal = future_cells(n_target)
    by_key = "(batch, 1, 1, key) = ({}, 1, 1, {})"
    by_query = "(batch, 1, query, key) = ({}, 1, {}, {})"
    own = {
        AttentionKind.ENCODER: Mask(
            "Encoder self-attention: not padding",
            "Encoder",
            AttentionKind.ENCODER,
            np.repeat(no_source, n_source, axis=0),
            source,
            source,
            by_key.format(batch, n_source),
            "A source token may look at every source token but not at padding; the model holds one "
            "row for all queries.",
        ),
        AttentionKind.DECODER: Mask(
            "Decoder self-attention: causal and not padding",
            "Decoder",
            AttentionKind.DECODER,
            causal | no_target,
            target,
            target,
            by_query.format(batch, n_target, n_target),
            "A target token may look at itself and at earlier tokens, but not at padding.",
        ),
        AttentionKind.CROSS: Mask(
            "Cross-attention: not padding of the source",
            "Cross",
            AttentionKind.CROSS,
            np.repeat(no_source, n_target, axis=0),
            target,
            source,
            by_key.format(batch, n_source),
            "A target token may look at every source token but not at padding; the model holds one "
            "row for all queries.",
        ),
    }
    return {
        "source-padding": Mask(
            "Source padding",
            "Source padding",
            None,
            no_source,
            EVERY_QUERY,
            source,
            by_key.format(batch, n_source),
            "True where the source has a token and not padding: one row, the same for every query.",
        ),
        "target-padding": Mask(
            "Target padding",
            "Target padding",
            None,
            no_target,
            EVERY_QUERY,
            target,
            by_key.format(batch, n_target),
            "True where the target has a token and not padding: one row, the same for every query.",
        ),
        "causal": Mask(
            "Causal",
            "Causal",
            None,
            causal,
            target,
            target,
            f"(1, 1, query, key) = (1, 1, {n_target}, {n_target})",
            "True on the diagonal and below it: each position may look at itself and at earlier "
            "ones, in every sentence of the batch.",
        ),
        **{
            str(kind): _as_recorded(mask, _recorded(trace, kind, layer), batch)
            for kind, mask in own.items()
        },
    }


def factors(masks: dict[str, Mask]) -> tuple[Mask, Mask, Mask]:
    """The factors of the decoder's mask: causal, not padding, and their logical "and".

    All three have the shape (target, target), cell on cell; the row of the padding mask is repeated
    for every query, as broadcasting does. The third is the model's rule, also after an edit.

    Args:
        masks: as `batch_masks` gives them.
    """
    causal, decoder = masks["causal"], masks["decoder"]
    padding = repeated(masks["target-padding"], causal.queries)
    both = replace(
        decoder,
        name=decoder.name.removesuffix(EDITED),
        cells=causal.cells | padding.cells,
        meaning="True where both factors are: their logical “and”, cell by cell.",
    )
    return causal, padding, both


def repeated(mask: Mask, queries: Tokens) -> Mask:
    """A mask of one row for all queries, repeated for each as broadcasting does; others as is."""
    if mask.queries != EVERY_QUERY:
        return mask
    return replace(
        mask,
        cells=np.repeat(mask.cells, len(queries), axis=0),
        queries=queries,
        shape=f"{mask.shape}, repeated for every query",
    )


def token_grid(
    padded: Sequence[Trace], side: Literal["source", "target"]
) -> tuple[list[list[str]], BoolArray]:
    """The sentences of a batch as rows of tokens.

    Args:
        padded: the traces of one batch, with rows and columns for their padding.
        side: which text; "target" is what the decoder reads.

    Returns:
        plain texts, one list a sentence, and where they are padding, (batch, length).

    Raises:
        ValueError: if the sentences are not padded to one length.
    """
    length = _common_length(padded, side)
    rows: list[Tokens] = [getattr(trace, side) for trace in padded]
    is_padding = np.array([[token == PADDING for token in row] for row in rows], dtype=np.bool_)
    return [axis_texts(row) for row in rows], is_padding.reshape(len(rows), length)


def _common_length(padded: Sequence[Trace], side: str) -> int:
    lengths = {len(getattr(trace, side)) for trace in padded}
    if len(lengths) > 1:
        raise ValueError(
            f"The sentences of a batch are padded to one length; these have the {side} lengths "
            f"{', '.join(map(str, sorted(lengths)))}."
        )
    return lengths.pop() if lengths else 0


def _recorded(trace: Trace, kind: AttentionKind, layer: int) -> BoolArray | None:
    """(query, key), or (head, query, key) where heads differ; None if nothing was recorded."""
    return trace.attention(kind, layer).allowed if layer in trace.layers(kind) else None


def _as_recorded(own: Mask, recorded: BoolArray | None, batch: int) -> Mask:
    """The model's own mask, or the one recorded instead."""
    if recorded is None or bool((recorded == own.allowed).all()):
        return own
    size = f"{len(own.queries)}, {len(own.keys)}"
    if recorded.ndim == 2:
        shape = f"(batch, 1, query, key) = ({batch}, 1, {size})"
        return replace(edited_mask(own, recorded), shape=shape)
    return replace(
        edited_mask(own, np.logical_or.reduce(recorded, axis=0)),
        shape=f"(batch, head, query, key) = ({batch}, {len(recorded)}, {size})",
        meaning=_BY_HEAD,
    )
