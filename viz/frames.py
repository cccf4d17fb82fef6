"""Attention as pandas tables: one head, or every head of a trace in long form."""

import numpy as np
import pandas as pd

from model.trace.attention_map import AttentionMap, HeadAttention
from model.trace.trace import Trace


def head_frame(head: HeadAttention) -> pd.DataFrame:
    """The weights of a head, with tokens as labels: queries down, keys across."""
    return pd.DataFrame(
        head.weights,
        index=pd.Index(head.queries.tokens, name="query"),
        columns=pd.Index(head.keys.tokens, name="key"),
    )


def trace_frame(trace: Trace) -> pd.DataFrame:
    """Every weight of a trace, a row each, as `Trace.frame` describes it."""
    frames = [_site_frame(attention) for attention in trace.maps.values()]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _site_frame(attention: AttentionMap) -> pd.DataFrame:
    weights = attention.weights
    heads, queries, keys = (places.ravel() for places in np.indices(weights.shape))
    return pd.DataFrame(
        {
            "kind": attention.site.kind.value,
            "layer": attention.site.layer,
            "head": heads,
            "query_position": queries,
            "query": np.array(attention.queries.tokens, dtype=object)[queries],
            "key_position": keys,
            "key": np.array(attention.keys.tokens, dtype=object)[keys],
            "weight": weights.ravel(),
            "allowed": np.broadcast_to(attention.allowed, weights.shape).ravel(),
        }
    )
