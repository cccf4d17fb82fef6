"""Tells batch, heads, queries and keys among the axes of weights by the axes' origins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from model.watch.axes import Dim, Line, Origin

UNCERTAIN = "heads or batch uncertain"
FEATURES = (
    "its {} are features of a projection and no tokens, as in linear attention, channel attention "
    "and pooling by learned queries"
)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How the leading axes of weights divide into batch and heads.

    Attributes:
        shape: (batch, head, query, key).
        sizes: parts of the leading axes, in order.
        order: the same parts with the batch first.
        turned: whether queries come before heads, as in (batch, query, head, key).
        doubts: sentences for the report.
        splits: whether one input is spread over several items of the batch.
    """

    shape: tuple[int, int, int, int]
    sizes: tuple[int, ...]
    order: tuple[int, ...]
    turned: bool = False
    doubts: tuple[str, ...] = ()
    splits: bool = False

    @property
    def plain(self) -> bool:
        """Whether the weights are already in this order."""
        return not self.turned and self.order == tuple(range(len(self.order)))

    def laid_out(self, x: Tensor, n_rows: int, width: int) -> Tensor:
        """A tensor (…, row, width) as (batch, head, row, width)."""
        batch, heads = self.shape[:2]
        if self.plain:
            return x.reshape(batch, heads, n_rows, width)
        x = x.reshape(*self.sizes, n_rows, width)
        n = len(self.sizes)
        return x.permute(*self.order, n, n + 1).reshape(batch, heads, n_rows, width)


def arranged(
    shape: torch.Size,
    dims: tuple[Dim, ...],
    usual: tuple[int, int, int, int],
    hint: int | None,
    asked: int | None,
    width: Dim,
    is_parameter: Callable[[int | None], bool],
    mixed_rows: bool,
) -> Arrangement | str:
    """The arrangement of weights, or the reason why they are no attention weights.

    Args:
        shape: of the weights.
        dims: where their axes come from.
        usual: (batch, head, query, key) judging by their shape alone.
        hint: the number of heads according to the module.
        asked: the number of heads according to the caller.
        width: the axes over which queries and keys were multiplied; empty if they were not.
        is_parameter: whether a storage of that address is a parameter of the model.
        mixed_rows: whether scores come from a product, or from queries added to keys.
    """
    if len(dims) < 3:
        if dims and is_features(dims[-1]):
            return FEATURES.format("keys")
        if len(dims) == 2 and is_features(dims[0]) and not mixed_rows:
            return FEATURES.format("queries")
        return Arrangement(usual, usual[:2], (0, 1))
    *leading, rows, keys = dims
    if is_features(keys):
        return FEATURES.format("keys")
    turned = False
    if is_features(rows):
        turned = len(leading) == 2 and _is_query(leading[1], keys)
        if not turned:
            return FEATURES.format("queries")
        leading, rows = [leading[0], rows], leading[1]
    own = {line.root for _, line in (*rows, *keys)}
    summed = {line.root for _, line in width}
    projected = any(line.origin is Origin.FEATURES for _, line in width)
    roles: list[tuple[int, str]] = []
    batches: set[Line] = set()
    for number, dim in enumerate(leading):
        for size, line in dim:
            if line.root in own:
                role = "window"
            elif (
                line.origin in (Origin.FEATURES, Origin.JOINED, Origin.MIXTURES)
                or line.root in summed
                or (line.origin is Origin.OUTSIDE and is_parameter(line.storage))
                or (
                    number and not projected and len(leading) == 2 and line.origin is Origin.OUTSIDE
                )
            ):
                role = "head"
            elif line.origin is Origin.UNKNOWN or (line.origin is Origin.COPIES and number):
                role = "unknown"
            else:
                role = "batch"
                # Beams are copies of a sentence.
                if line.root.origin not in (Origin.COPIES, Origin.JOINED):
                    batches.add(line.root)
            roles.append((size, role))
    total = prod(shape[:-2]) if not turned else shape[0] * shape[2]
    n_queries = shape[1] if turned else shape[-2]
    unprojected = len(leading) == 1 and not projected and hint not in (None, 1) and total > 1
    unprojected = unprojected and total % (hint or 1) == 0
    by_lines = prod(size for size, role in roles if role == "head")
    doubtful = any(role == "unknown" for _, role in roles) or unprojected
    followed = all(line.root.origin is not Origin.UNKNOWN for dim in leading for _, line in dim)
    disagrees = not followed and hint is not None and by_lines != hint and total % hint == 0
    if asked is not None and (doubtful or disagrees or asked != by_lines):
        if total % asked:
            return Arrangement(
                usual,
                usual[:2],
                (0, 1),
                doubts=(
                    f"{UNCERTAIN}: {total} is no multiple of the "
                    f"{asked} that were given as n_heads",
                ),
            )
        given = (total // asked, asked)
        return Arrangement((*given, n_queries, shape[-1]), given, (0, 1), turned)
    if doubtful or disagrees:
        doubt = (
            f"{UNCERTAIN}: nothing shows how its {total} maps divide into heads and a batch, taken "
            f"as {usual[0]} × {usual[1]}; give n_heads= to watching"
        )
        return Arrangement(usual, usual[:2], (0, 1), doubts=(doubt,))
    sizes = tuple(size for size, _ in roles)
    batch = [at for at, (_, role) in enumerate(roles) if role != "head"]
    heads = [at for at, (_, role) in enumerate(roles) if role == "head"]
    n_batch, n_heads = (prod(sizes[at] for at in each) for each in (batch, heads))
    windows = prod(size for size, role in roles if role == "window")
    doubts: list[str] = []
    if windows > 1:
        doubts.append(
            f"each input is read in {windows} windows or blocks, which stand in the batch"
        )
    elif len(batches) > 1:
        parts = " × ".join(str(sizes[at]) for at in batch)
        doubts.append(f"its batch is made of several axes ({parts}), such as rows of an image")
    return Arrangement(
        (n_batch, n_heads, n_queries, shape[-1]),
        sizes,
        (*batch, *heads),
        turned,
        tuple(doubts),
        bool(doubts),
    )


def is_features(dim: Dim) -> bool:
    """Whether an axis is the output of a linear map instead of tokens."""
    return bool(dim) and all(line.origin is Origin.FEATURES and not line.mapped for _, line in dim)


def _is_query(dim: Dim, keys: Dim) -> bool:
    sides = {line.side for _, line in keys}
    return bool(dim) and all(
        line.side is not None and line.side not in sides and line.origin is not Origin.FEATURES
        for _, line in dim
    )
