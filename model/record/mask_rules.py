"""Masks for every length, and masks to choose from: plain values, without torch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from model.trace.attention_map import AttentionKind


class MaskError(ValueError):
    """A mask that cannot be built or does not fit; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A mask for every length: called with the numbers of queries and keys, it gives `allowed`.

    Free decoding needs rules, because its length is not known beforehand. Two rules joined by &
    allow what both allow. Rules that build alike with the same settings are equal.

    Attributes:
        build: (n_queries, n_keys, **settings) -> boolean, (query, key).
        settings: names and values of what else build takes.
        over_padding: whether in a padded batch it is asked for the padded lengths and replaces the
            padding mask too; otherwise it is asked for the sentence's own, and padding stays
            forbidden.
    """

    build: Callable[..., Any]
    settings: tuple[tuple[str, Hashable], ...] = ()
    over_padding: bool = False

    def __call__(self, n_queries: int, n_keys: int) -> Any:
        """The matrix for these lengths, (query, key), boolean."""
        return self.build(n_queries, n_keys, **dict(self.settings))

    def __and__(self, other: Rule) -> Rule:
        both = (("one", self), ("other", other))
        return Rule(_both, both, self.over_padding or other.over_padding)


def _both(n_queries: int, n_keys: int, *, one: Rule, other: Rule) -> Any:
    return one(n_queries, n_keys) & other(n_queries, n_keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A mask to choose from.

    Attributes:
        title: its name for people.
        description: what it allows, in one line.
        kinds: the kinds of attention it makes sense for.
        build: (n_queries, n_keys, **settings) -> boolean, (query, key).
        reason: what a key is that it forbids, such as "outside the window"; empty if it forbids
            none.
        causal: whether it is the causal mask or a narrower one. In the decoder, a later position is
            then forbidden as the future, and `reason` is that of the rest.
        settings: names of the settings that build takes.
        over_padding: as in Rule.
    """

    title: str
    description: str
    kinds: tuple[AttentionKind, ...]
    build: Callable[..., Any]
    reason: str = ""
    causal: bool = False
    settings: tuple[str, ...] = ()
    over_padding: bool = False

    def __call__(self, n_queries: int, n_keys: int, **settings: Any) -> Any:
        """The matrix for these lengths, (query, key), boolean.

        Raises:
            MaskError: if a setting is missing, unknown or out of range.
        """
        try:
            inspect.signature(self.build).bind(n_queries, n_keys, **settings)
        except TypeError:
            raise MaskError(
                f"The preset {self.title!r} takes {' and '.join(self.settings) or 'no setting'}; "
                f"it was given {' and '.join(settings) or 'none'}."
            ) from None
        return self.build(n_queries, n_keys, **settings)

    def rule(self, **settings: Any) -> Rule:
        """The same for every length; settings and errors as when it is called."""
        # Positions and lengths may come in a list, which has no hash.
        known = {
            name: tuple(value) if isinstance(value, Iterable) else value
            for name, value in settings.items()
        }
        self(1, 1, **known)
        return Rule(self.build, tuple(sorted(known.items())), self.over_padding)
