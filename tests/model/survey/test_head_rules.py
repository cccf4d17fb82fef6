"""Rules in words for the heads of any model, from its traces: two planted heads, and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import headscope as hs
from model.trace.attention_map import TraceError
from model.trace.head import Head
from model.trace.trace import Trace

N_WORDS = 6


class Layer(nn.Module):
    """Attention of three heads: to the token before, to what followed it before, and to itself."""

    def __init__(self, sees_all: bool) -> None:
        super().__init__()
        self.sees_all = sees_all

    def forward(self, ids: Tensor) -> Tensor:
        n = ids.shape[1]
        at = torch.arange(n)
        before = (at[None] == at[:, None] - 1).expand(len(ids), n, n)
        earlier = ids.roll(1, dims=1)
        earlier[:, 0] = -1
        followed = (earlier[:, None] == ids[..., None]) & (at != at[:, None] + 1)
        itself = torch.eye(n, dtype=torch.bool).expand(len(ids), n, n)
        scores = 9.0 * torch.stack([before, followed, itself], dim=1)
        if not self.sees_all:
            scores = scores.masked_fill(at > at[:, None], -torch.inf)
        values = nn.functional.one_hot(ids, N_WORDS).float()[:, None]
        return scores.softmax(dim=-1) @ values


def traces(kind: Literal["encoder", "decoder"] | None, n_texts: int = 60) -> list[Trace]:
    """Random words, read by such a layer."""
    generator = torch.Generator().manual_seed(0)
    found = []
    for n in torch.randint(8, 15, (n_texts,), generator=generator).tolist():
        ids = torch.randint(N_WORDS, (1, n), generator=generator)
        with hs.watching(kind=kind, n_heads=3) as seen:
            Layer(kind != "decoder")(ids)
        tokens = hs.Tokens([f"▁w{each}" for each in ids[0].tolist()], ids[0].tolist())
        found.append(seen.trace(**{"target" if kind == "decoder" else "source": tokens}))
    return found


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_planted_heads_get_their_sentences(kind: Literal["encoder", "decoder"]) -> None:
    rules = hs.head_rules(traces(kind))
    site = hs.Site(kind, 0)  # type: ignore[arg-type]
    assert [*rules] == [Head(site, head) for head in range(3)]
    said = [rule.said.text for rule in rules.values()]
    assert said[0] == "looks at the previous token"
    assert said[1].startswith("looks at what follows other copies of its token")
    assert said[2] == "looks at its own token"
    assert min(rule.said_overlap for rule in rules.values()) > 0.85


def test_too_few_or_unlike_traces_are_refused() -> None:
    known = traces("encoder", 30)
    with pytest.raises(TraceError, match="at least 30 texts to be fitted and judged; there are 29"):
        hs.head_rules(known[1:])
    with pytest.raises(TraceError, match="those of one model"):
        hs.head_rules([*known, *traces("decoder", 1)])


def test_heads_that_rules_cannot_describe_are_refused() -> None:
    unlike: dict[str, list[Trace]] = {
        "do not see the same keys": [],
        "keys that are no tokens": [],
        "an encoder's or a decoder's": [],
    }
    for trace in traces("encoder", 30):
        (attention,) = trace.maps.values()
        allowed = np.ones_like(attention.weights, dtype=bool)
        allowed[1] &= np.tri(len(attention.queries), dtype=bool)
        weights = attention.weights * allowed
        weights /= weights.sum(axis=-1, keepdims=True)
        keys = attention.keys + hs.Tokens.unnamed(["[sink]"])
        wider = {
            name: np.pad(getattr(attention, name), [(0, 0)] * axes + [(0, 1)])
            for name, axes in (("weights", 2), ("allowed", attention.allowed.ndim - 1))
        }
        module = hs.Site("module", 0)  # type: ignore[arg-type]
        for each, changed in zip(
            unlike.values(),
            (
                replace(attention, weights=weights, allowed=allowed),
                hs.AttentionMap(attention.site, queries=attention.queries, keys=keys, **wider),
                replace(attention, site=module),
            ),
            strict=True,
        ):
            each.append(replace(trace, maps={changed.site: changed}))
    for message, given in unlike.items():
        with pytest.raises(TraceError, match=message):
            hs.head_rules(given)
