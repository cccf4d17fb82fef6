"""Which keys the columns of scores stand for."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from model.watch.columns import FOREIGN, ColumnOrder, Extra, Lost, numbered


class Keys(NamedTuple):
    """The keys of weights: those of the text stand together, others before and after them.

    Attributes:
        before: how many stand before the text's.
        text: how many are the text's.
        after: how many stand behind.
        reached: the first and the end of those that meet values.
        of_one: whether all are keys of one product.
        names: of those that are no token's, in this order.
    """

    before: int
    text: int
    after: int
    reached: tuple[int, int]
    of_one: bool
    names: tuple[str, ...]

    @property
    def n_extra(self) -> int:
        """How many are no token's."""
        return self.before + self.after

    def made_of(self, x: Tensor) -> Tensor:
        """The columns that meet values."""
        first, end = self.reached
        return x if x.shape[-1] == end - first else x[..., first:end]

    def text_first(self, x: Tensor, axis: int = -1) -> Tensor:
        """A tensor with the keys of the text before all others."""
        return text_first(x, self.before, self.after, axis)


def text_first(x: Tensor, before: int, after: int, axis: int = -1) -> Tensor:
    """A tensor whose axis of keys has those before the text's between the text's and the others."""
    if not before:
        return x
    first, text, last = x.split((before, x.shape[axis] - before - after, after), dim=axis)
    return torch.cat([text, first, last], dim=axis)


def as_made(x: Tensor, before: int, after: int) -> Tensor:
    """The inverse of `text_first`, along the last axis."""
    if not before:
        return x
    text, first, last = x.split((x.shape[-1] - before - after, before, after), dim=-1)
    return torch.cat([first, text, last], dim=-1)


def keys_met(
    made: Tensor,
    of_scores: ColumnOrder,
    of_weights: ColumnOrder,
    n_keys: int | None,
    extra: Extra | None,
) -> Keys | str:
    """The keys of a softmax's output, or the reason why its columns are not known.

    Args:
        made: the output, (…, key).
        of_scores: its columns' numbers among those of the product that made its scores.
        of_weights: the numbers, among its columns, of those that meet values, value by value.
        n_keys: how many columns that product had; None if not known.
        extra: those of them that are no tokens; None for none.
    """
    for what, place in (("scores", of_scores), ("weights", of_weights)):
        if isinstance(place, Lost):
            return (
                f"{place.by} moves its {what} along the axis of keys, so that a column cannot be "
                "told to be one token's"
            )
    assert not isinstance(of_scores, Lost)
    assert not isinstance(of_weights, Lost)
    n = made.shape[-1]
    reached = tuple(range(n)) if of_weights is None else of_weights
    names = tuple(range(n)) if of_scores is None else of_scores
    if len(reached) == 0 or reached != tuple(range(reached[0], reached[0] + len(reached))):
        return "its weights do not meet values in the order of its keys"
    first, end = reached[0], reached[-1] + 1
    if end > n or len(names) != n or first < 0:
        return "what is summed with its weights is not the axis it runs over"
    # Padding behind the text weighs nothing and stays as the padding of a batch does.
    last = end
    while last > first and names[last - 1] < 0 and not bool(made[..., last - 1].any()):
        last -= 1

    tokens = None if extra is None else extra.tokens

    def is_token(name: int) -> bool:
        return name >= 0 and (tokens is None or name in tokens or name >= FOREIGN)

    text = [at for at, name in enumerate(names) if is_token(name)]
    if not text:
        return "none of its columns is a key of its text"
    begin, stop = text[0], text[-1] + 1
    if len(text) != stop - begin:
        return "keys that are no tokens stand among those of its text"
    if begin < first or stop > end:
        return "some of its keys meet no values"
    own = [name for name in names[begin:stop] if name < FOREIGN]
    start = 0 if tokens is None else tokens.start
    if own and own != list(range(start, start + len(own))):
        return "its scores do not stand in the order of its keys"
    total = n_keys if tokens is None else len(tokens)
    has_added = any(name < 0 for name in names[first:last])
    if has_added and total is not None and len(own) != total:
        return "some of the scores of its keys are cut off where others are added"
    if stop == last:
        stop = end
    others = [*names[:begin], *names[stop:]]
    n_added = sum(name < 0 for name in others)
    sinks = iter(numbered("sink", n_added))
    named = tuple(next(sinks) if name < 0 or extra is None else extra.name(name) for name in others)
    of_one = len(own) == len(text) and not n_added
    return Keys(begin, stop - begin, n - stop, (first, end), of_one, named)
