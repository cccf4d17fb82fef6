"""The contents of pictures as tables of exact numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.explain.labels import Label
from model.explain.measures import Measure
from model.trace.attention_map import AttentionMap, Site, Tokens
from viz.draw.labels import axis_texts


def weights_table(
    seen: AttentionMap,
    head: int,
    beside: Tokens | None = None,
    beside_title: str = "Token predicted next",
) -> pd.DataFrame:
    """One head's cells, one a row: query by query, and key by key within a query.

    Positions count from 0. The numbers are the recorded ones, float32 and not rounded.

    Args:
        seen: the site.
        head: counted from 0.
        beside: a token for each query, such as the one it went on to predict.
        beside_title: the name of its column.

    Returns:
        The columns "Query position", "Query", that of `beside` where it is given, "Key position",
        "Key", "Weight", "Score" (before masking, where it was recorded) and "Allowed". Tokens are
        plain texts, as ordered categories in the order of the axis.

    Raises:
        IndexError: if there is no such head.
        ValueError: if there are not as many tokens beside the queries as queries.
    """
    one = seen.head(head)
    weights = one.weights
    n_queries, n_keys = weights.shape
    if beside is not None and len(beside) != n_queries:
        raise ValueError(
            f"Each query needs one token beside it: there are {n_queries} queries and "
            f"{len(beside)} tokens."
        )
    rows = np.repeat(np.arange(n_queries), n_keys)
    columns = np.tile(np.arange(n_keys), n_queries)
    table: dict[str, Any] = {
        "Query position": rows,
        "Query": _texts(seen.queries, rows),
    }
    if beside is not None:
        table[beside_title] = _texts(beside, rows)
    table |= {
        "Key position": columns,
        "Key": _texts(seen.keys, columns),
        "Weight": weights.ravel(),
    }
    if one.scores is not None:
        table["Score"] = one.scores.ravel()
    table["Allowed"] = one.allowed.ravel()
    return pd.DataFrame(table)


def facts_table(
    facts: Mapping[Site, Mapping[str, NDArray[np.floating[Any]]]],
    labels: Mapping[Site, Sequence[Label | None]],
    measures: Sequence[Measure],
) -> pd.DataFrame:
    """Every head of a trace, one a row, with its measures.

    Args:
        facts: by site and by the measure's key, one number a head.
        labels: by site, what each head does over new sentences, None where that is not known; a
            site may be missing.
        measures: the columns, in their order. A measure that is not defined for a kind of attention
            is empty (NaN) there; one that is defined for none of the sites has no column.

    Returns:
        The columns "Attention", "Layer", "Head", "Label" and "Holds in" (both empty for none),
        then one a measure by its name. Shares stay numbers from 0 to 1.

    Raises:
        ValueError: if a site lacks a measure that is defined for it, or its measures and labels
            are of different numbers of heads.
    """
    sites = sorted(facts)
    kinds = {site.kind for site in sites}
    shown = [measure for measure in measures if not kinds.isdisjoint(measure.kinds)]
    counts = {site: _n_heads(site, facts[site], labels.get(site), shown) for site in sites}

    def by_head(values: Iterable[tuple[Site, Any]]) -> list[Any]:
        return [value for site, value in values for _ in range(counts[site])]

    listed = [label for site in sites for label in labels.get(site, (None,) * counts[site])]
    table: dict[str, Any] = {
        "Attention": by_head((site, site.kind.full_name) for site in sites),
        "Layer": np.array(by_head((site, site.layer) for site in sites), dtype=np.int64),
        "Head": np.array([head for site in sites for head in range(counts[site])], dtype=np.int64),
        "Label": [label.text if label else "" for label in listed],
        "Holds in": [label.share if label else "" for label in listed],
    }
    for measure in shown:
        parts = [
            facts[site][measure.key]
            if site.kind in measure.kinds
            else np.full(counts[site], np.nan)
            for site in sites
        ]
        table[measure.name] = np.concatenate(parts).astype(np.float64)
    return pd.DataFrame(table)


def _texts(tokens: Tokens, positions: NDArray[np.intp]) -> pd.Categorical:
    """The text at each position. A text that stands at several positions is one category."""
    texts = axis_texts(tokens)
    distinct = list(dict.fromkeys(texts))
    code = {text: index for index, text in enumerate(distinct)}
    codes = np.array([code[text] for text in texts], dtype=np.int32)
    return pd.Categorical.from_codes(codes[positions], categories=distinct, ordered=True)


def _n_heads(
    site: Site,
    facts: Mapping[str, NDArray[np.floating[Any]]],
    labels: Sequence[Label | None] | None,
    measures: Sequence[Measure],
) -> int:
    defined = [measure.key for measure in measures if site.kind in measure.kinds]
    missing = [key for key in defined if key not in facts]
    if missing:
        raise ValueError(f"The facts of {site} lack {', '.join(missing)}.")
    counts = {len(values) for values in facts.values()}
    if labels is not None:
        counts.add(len(labels))
    if len(counts) != 1:
        raise ValueError(
            f"Measures and labels of {site} must be of the same number of heads; they are of "
            f"{', '.join(map(str, sorted(counts))) or 'none'}."
        )
    return counts.pop()
