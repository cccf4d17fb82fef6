"""One sentence's map, cut out of the batch that was recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from model.brief import Brief
from model.record.kept_weights import KeptWeights
from model.record.scopes import CaptureError as CaptureError
from model.trace.attention_map import AttentionMap, BoolArray, Site, Tokens
from model.trace.stored import read_on_demand


@read_on_demand("weights")
@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionRecord(Brief):
    """One call of one attention, for the whole batch, as tensors without a graph.

    Weights of a long text may be in a file, in fewer bits; they are read each time.

    Attributes:
        weights: after the softmax and before dropout, (batch, head, query, key); rows without an
            allowed key are zeros. Replaced weights (model/record/head_edits.py) are recorded in
            place of the head's own; a gate or a mean changes a head's output, not its weights.
        scores: before masking, (batch, head, query, key), without an additive mask. None if
            unknown, as are q, k and v.
        q: projected queries, (batch, head, query, d_k).
        k: projected keys, (batch, head, key, d_k).
        v: projected values, (batch, head, key, d_v).
        allowed: True = may attend, broadcastable to weights, or None for "all".
        extra_keys: names of keys at the end that the module added to the text's.
        extra_before: how many of these, the first ones, the module has before the text's.
    """

    weights: Tensor
    scores: Tensor | None
    q: Tensor | None
    k: Tensor | None
    v: Tensor | None
    allowed: Tensor | None
    extra_keys: tuple[str, ...] = ()
    extra_before: int = 0

    @property
    def shape(self) -> torch.Size:
        """Of the weights, which are not read for it."""
        return torch.Size(vars(self)["weights"].shape)

    @property
    def kept(self) -> KeptWeights | None:
        """The weights where they are in a file; None if they are in memory."""
        weights = vars(self)["weights"]
        return weights if isinstance(weights, KeptWeights) else None

    @property
    def n_queries(self) -> int:
        """The number of queries, padding included."""
        return self.shape[2]

    @property
    def n_keys(self) -> int:
        """The number of keys, with padding and without extra keys."""
        return self.shape[3] - len(self.extra_keys)


def full_mask(record: AttentionRecord) -> Tensor:
    """What each query may attend to, (batch, heads, query, key), bool."""
    allowed = record.allowed
    if allowed is None:
        device = "cpu" if record.kept is not None else record.weights.device
        allowed = torch.ones((), dtype=torch.bool, device=device)
    return allowed.expand(record.shape)


def sentence_map(
    site: Site,
    record: AttentionRecord,
    sentence: int,
    queries: Tokens | None,
    keys: Tokens | None,
) -> AttentionMap:
    """The map of one sentence of the batch, without its padding."""
    batch = record.shape[0]
    if not 0 <= sentence < batch:
        raise CaptureError(
            f"The batch holds {batch} sentences, counted from 0; there is no sentence {sentence}."
        )
    queries = Tokens.unnamed(range(record.n_queries)) if queries is None else queries
    keys = Tokens.unnamed(range(record.n_keys)) if keys is None else keys
    for axis, labels, length in (
        ("queries", queries, record.n_queries),
        ("keys", keys, record.n_keys),
    ):
        if len(labels) > length:
            raise CaptureError(f"{site} has {length} {axis}, but there are {len(labels)} labels.")
    rows = slice(len(queries))
    if (
        len(keys) < record.n_keys
        and record.weights[sentence, :, rows, len(keys) : record.n_keys].any()
    ):
        raise CaptureError(
            f"{site} attends to keys after the {len(keys)} that have labels; label every token, "
            "and let padding come last."
        )

    columns = [*range(len(keys)), *range(record.n_keys, record.shape[3])]

    def kept(x: Tensor, axis: int) -> Tensor:
        x = x[sentence]
        if not record.extra_keys:
            return x.narrow(axis, 0, len(keys))
        return x.index_select(axis, torch.tensor(columns, device=x.device))

    weights: Any = record.kept
    if weights is None:
        weights = _array(kept(record.weights, 2)[:, rows])
    else:
        weights = weights.of(sentence, rows, columns)
    return AttentionMap(
        site,
        weights=weights,
        allowed=_allowed_array(record, lambda allowed: kept(allowed, 2)[:, rows]),
        queries=queries,
        keys=keys + Tokens.unnamed(record.extra_keys),
        scores=None if record.scores is None else _array(kept(record.scores, 2)[:, rows]),
        q=None if record.q is None else _array(record.q[sentence, :, rows]),
        k=None if record.k is None else _array(kept(record.k, 1)),
        v=None if record.v is None else _array(kept(record.v, 1)),
    )


def _allowed_array(record: AttentionRecord, sentence_of: Callable[[Tensor], Tensor]) -> BoolArray:
    # Expanding costs no memory: (batch, head, query, key) -> (head, query, key) of one sentence.
    by_head = sentence_of(full_mask(record))
    allowed = record.allowed
    heads_share = allowed is None or allowed.dim() < 3 or allowed.shape[-3] == 1
    if heads_share or bool((by_head == by_head[:1]).all()):
        by_head = by_head[0]
    return _array(by_head, torch.bool)


def _array(x: Tensor, dtype: torch.dtype = torch.float32) -> NDArray[Any]:
    x = x.to("cpu", dtype)
    # A view of a batch would keep the whole batch in memory.
    if x.untyped_storage().nbytes() > x.numel() * x.element_size():
        x = x.clone(memory_format=torch.contiguous_format)
    return x.numpy()
