"""Masks for every length, and presets of masks: plain values, without torch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from model.brief import brief
from model.trace.attention_map import AttentionKind


class MaskError(ValueError):
    """An invalid mask, or one that does not fit; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A mask for every length: called with the numbers of queries and keys, it gives `allowed`.

    Free decoding needs rules, because its length is unknown beforehand. Two rules combined by &
    allow what both allow. Rules with the same `build` and settings are equal.

    Attributes:
        build: (n_queries, n_keys, **settings) -> boolean, (query, key).
        settings: names and values of the other arguments of `build`.
        over_padding: whether a padded batch calls it with padded lengths, so that it replaces the
            padding mask too; otherwise with the sentence's own, and padding stays masked.
    """

    build: Callable[..., Any]
    settings: tuple[tuple[str, Hashable], ...] = ()
    over_padding: bool = False

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}" for name, value in self.settings)
        return f"Rule({brief(self.build)}{settings})"

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
    """A preset mask.

    Attributes:
        title: its name for people.
        description: what it allows, in one line.
        kinds: the kinds of attention it makes sense for.
        build: (n_queries, n_keys, **settings) -> boolean, (query, key).
        reason: of a masked key, such as "outside the window"; empty if it masks none.
        causal: whether it is the causal mask or a narrower one. In the decoder, a later position is
            then masked as the future, and `reason` is that of the rest.
        over_padding: as in Rule.
    """

    title: str
    description: str
    kinds: tuple[AttentionKind, ...]
    build: Callable[..., Any]
    reason: str = ""
    causal: bool = False
    over_padding: bool = False

    def __repr__(self) -> str:
        return f"Preset({self.title!r})"

    @property
    def settings(self) -> tuple[str, ...]:
        """The names of the other arguments of `build`."""
        return tuple(inspect.signature(self.build).parameters)[2:]

    def __call__(self, n_queries: int, n_keys: int, **settings: Any) -> Any:
        """The matrix for these lengths, (query, key), boolean.

        Raises MaskError if a setting is missing, unknown or out of range.
        """
        try:
            inspect.signature(self.build).bind(n_queries, n_keys, **settings)
        except TypeError:
            raise MaskError(
                f"The preset {self.title!r} takes {' and '.join(self.settings) or 'no setting'}; "
                f"you gave {' and '.join(settings) or 'none'}."
            ) from None
        return self.build(n_queries, n_keys, **settings)

    def rule(self, **settings: Any) -> Rule:
        """The mask with these settings for every length; errors as in a call."""
        # Positions and lengths may be lists, which cannot be hashed.
        known = {
            name: tuple(value) if isinstance(value, Iterable) else value
            for name, value in settings.items()
        }
        self(1, 1, **known)
        return Rule(self.build, tuple(sorted(known.items())), self.over_padding)
