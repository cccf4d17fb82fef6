"""Maps of what each token of self-attention contributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from model.arguments import checked_methods
from model.explain.attribution import (
    AttributionError,
    AttributionMap,
    AttributionPart,
    Attributions,
)
from model.trace.array_values import ArrayValue, Sized
from model.trace.attention_map import BoolArray, FloatArray, Site, Tokens
from model.trace.trace import Trace


def joined(
    trace: Trace, parts: Sequence[AttributionPart], losses: Sequence[FloatArray]
) -> Attributions:
    """Parts with consecutive rows of the same maps as one, with the losses of consecutive tokens.

    Losses are of deleted source tokens, (target, some of the source).
    """
    rows: dict[tuple[str, Site | None], list[AttributionMap]] = {}
    for part in parts:
        for each in part.maps:
            rows.setdefault((each.method, each.site), []).append(each)
    maps = [
        replace(
            those[0],
            heads=np.concatenate([each.heads for each in those], axis=1),
            together=np.concatenate([each.together for each in those]),
        )
        for those in rows.values()
    ]
    return Attributions(
        source=trace.source,
        target=trace.target,
        predictions=trace.predictions,
        deletion_losses=np.concatenate(losses, axis=1),
        maps=tuple(maps),
        provenance=trace.provenance,
    )


@checked_methods
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SelfAttributions(ArrayValue, Sized):
    """What every method says of one site of self-attention, for one sentence.

    No truth stands beside it: deletion tells how much target tokens need source tokens, and here
    both sides are tokens of one sentence.

    Attributes:
        site: of the encoder or of the decoder.
        allowed: where it may look, (query, key), or (head, query, key) where heads differ.
        token: the row of the target whose prediction gradients are of; None for the rows of the
            decoder each its own, and for the encoder's all together.
    """

    site: Site
    tokens: Tokens
    allowed: BoolArray
    maps: tuple[AttributionMap, ...]
    token: int | None = None

    def map(self, method: str) -> AttributionMap:
        """What one method gives; raises AttributionError like `Attributions.map`."""
        for each in self.maps:
            if each.method == method:
                return each
        methods = ", ".join(each.method for each in self.maps)
        raise AttributionError(f"There is no map of {method}; there are {methods}.")

    def allowed_to(self, head: int | None) -> BoolArray:
        """Where a head may look, or with None any of them, (query, key)."""
        if self.allowed.ndim == 2:
            return self.allowed
        return np.logical_or.reduce(self.allowed) if head is None else self.allowed[head]
