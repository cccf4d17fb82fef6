"""Measures of cross-attention beside what is known of the source tokens."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from model.explain.facts import rows_by_heads
from model.explain.head_rows import Values
from model.explain.measures import MIN_SOURCES, Measure
from model.trace.attention_map import AttentionKind, AttentionMap

ON_SOURCE = tuple(
    Measure(
        key,
        f"Weight on the source of {token}, beyond chance",
        "share",
        f"The weight on the source of {token}, minus the average over all other orders of the "
        "rows; the source is the token whose deletion makes it least likely.",
        frozenset({AttentionKind.CROSS}),
    )
    for key, token in (
        ("predicted_source", "the token predicted"),
        ("read_source", "the token just read"),
    )
)
"""What can be told of a sentence only by running the model again: labels count it, pages do not."""


def on_sources(attention: AttentionMap, sources: Mapping[int, int]) -> dict[str, Values]:
    """The measures ON_SOURCE, (head,): the weight on tokens' sources, less that of shuffled rows.

    Sources are positions by the row that predicts the token. The mean over all orders of the rows
    is exact: each row then stands at each place equally often. Other attention than cross-attention
    has nan, and so has a map where fewer than MIN_SOURCES tokens have a known source.
    """
    measured = {}
    for later, measure in enumerate(ON_SOURCE):
        rows = [row for row in sources if row + later < len(attention.queries)]
        beyond = np.full(attention.n_heads, np.nan)
        if attention.site.kind is AttentionKind.CROSS and len(rows) >= MIN_SOURCES:
            # (head, row, the source of each row)
            cells = attention.weights[:, [row + later for row in rows]][
                :, :, [sources[r] for r in rows]
            ]
            own = np.diagonal(cells, axis1=1, axis2=2).mean(axis=-1, dtype=np.float64)
            beyond = own - cells.mean(axis=(1, 2), dtype=np.float64)
        measured[measure.key] = beyond
    return measured


def pairing(attention: AttentionMap, entropy: NDArray[np.floating] | None = None) -> Values:
    """The mutual information of row and key as a share of the most there could be, (head,).

    Args:
        entropy: of `head_facts`, if it is known: most of the work.
    """
    found = np.full(attention.n_heads, np.nan)
    for heads, rows in rows_by_heads(attention):
        found[heads] = rows.pairing(None if entropy is None else entropy[heads])
    return found
