"""Pictures of single maps, each a reading of its own."""

from typing import Any

from model.explain.reading import ReadTrace
from model.trace.attention_map import AttentionMap, Site, Tokens
from viz.heads.one_head import OneHead
from viz.heads.query_key import QueryKey
from viz.save.picture import Layout


def seen_of(
    one: AttentionMap,
    beside: Tokens | None = None,
    *,
    sides: bool = True,
    by_prediction: bool = False,
) -> ReadTrace:
    """A reading that holds a map, with a token beside each of its rows if they are given."""
    maps = {one.site: one} | ({Site("cross", 99): one} if sides else {})
    tokens = {} if beside is None else {one.site.kind: beside}
    return ReadTrace(maps, tokens, Tokens(), Tokens(), "", (), by_prediction)


def head_of(one: AttentionMap, head: int) -> OneHead:
    """The picture of a head."""
    return OneHead(seen_of(one), one.site, head)


def cell_of(one: AttentionMap, head: int, query: int, key: int, sides: bool = True) -> QueryKey:
    """The picture of a weight from the inside."""
    return QueryKey(seen_of(one, sides=sides), one.site, head, query, key)


def attention_heatmap(
    one: AttentionMap,
    head: int,
    *,
    beside: Tokens | None = None,
    by_prediction: bool = False,
    **layout: bool,
) -> Any:
    """The figure of a head."""
    seen = seen_of(one, beside, by_prediction=by_prediction)
    return OneHead(seen, one.site, head).figure(Layout(**layout))
