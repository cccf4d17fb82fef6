"""A head's weights, or a rule's, as a panel."""

from __future__ import annotations

from model.explain.head_rows import allowed_per_head
from model.trace.attention_map import AttentionMap, FloatArray
from viz.draw.panels import Panel


def weights_panel(
    title: str, attention: AttentionMap, weights: FloatArray, *, note: str = ""
) -> Panel:
    """Weights on the rows and columns of a map; cells that its mask takes out are hatched.

    Args:
        title: of the panel, and what it shows in words.
        attention: the map.
        weights: (query, key).
        note: a line below the title, told to those who do not see it too.
    """
    return Panel(
        title=title,
        values=weights,
        queries=attention.queries,
        keys=attention.keys,
        alt=f"{title}: {note}." if note else title,
        scale="weights",
        note=note,
        shown=allowed_per_head(attention.allowed)[0],
    )
