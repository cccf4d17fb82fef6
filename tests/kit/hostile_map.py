"""Attention among tokens that a careless program would take for something else."""

import numpy as np

from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens


def hostile_map() -> AttentionMap:
    """A site whose tokens would be markup, code, a formula or a colour if they were let."""
    tokens = Tokens(
        ("▁<b>bold</b>", "<script>", "=1+2", "@cat", "▁#1b2430", "&amp;"), (9, 10, 11, 12, 13, 14)
    )
    weights = np.random.default_rng(3).dirichlet(np.ones(6), (2, 6)).astype(np.float32)
    return AttentionMap(
        Site(AttentionKind.ENCODER, 0),
        weights=weights,
        allowed=np.ones((6, 6), dtype=np.bool_),
        queries=tokens,
        keys=tokens,
    )
