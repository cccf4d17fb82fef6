"""A head of a model, as it is named wherever heads are listed, edited, linked or saved."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from model.arguments import NAMED
from model.trace.attention_map import AttentionKind, Site, TraceError


class Head(NamedTuple):
    """One attention head: its site and its number there, counted from 0.

    It prints as "cross.3.5", equals the plain pair of its fields, and sorts as sites do.
    """

    site: Site
    number: int

    def __str__(self) -> str:
        return f"{self.site}.{self.number}"

    def __repr__(self) -> str:
        return str(self)

    @property
    def name(self) -> str:
        """Its name for people, such as "Cross-attention, layer 3, head 5"."""
        return self.site.head_name(self.number)

    @property
    def short_name(self) -> str:
        """Its name in a list, such as "Cross 3.5"."""
        return f"{self.site.kind.short_name} {self.site.layer}.{self.number}"

    @classmethod
    def of(cls, named: Any) -> Head:
        """The head that is named as (kind, layer, head), as (Site, head), or in a text.

        A text is "cross.3.5", or one of the names above, such as "cross layer 3 head 5".

        Raises:
            TraceError: if it is none of these.
        """
        try:
            if isinstance(named, str):
                kind, *numbers = _IN_WORDS.fullmatch(named.strip()).groups()  # type: ignore[union-attr]
                named = (kind.lower(), *map(int, numbers))
            *where, number = named
            site = Site.of(where[0] if len(where) == 1 else where)
            if operator.index(number) >= 0:
                return cls(site, operator.index(number))
        except (AttributeError, IndexError, TypeError, ValueError):
            pass
        raise TraceError(
            'A head is its kind of attention, layer and number, as in ("cross", 2, 3), or a Site '
            f'and its number, or as in "cross.2.3", all from 0; {named!r} is none of these.'
        )


def strongest_first(values: Mapping[Site, NDArray[Any]]) -> list[tuple[Site, int, float]]:
    """Every head with its number, (head,) by site, the largest first, whatever its sign."""
    heads = [
        (site, head, float(value)) for site, own in values.items() for head, value in enumerate(own)
    ]
    return sorted(heads, key=lambda each: -abs(each[2]))


NAMED[Head] = Head.of, 'a head such as "cross.2.3"'

_IN_WORDS = re.compile(
    rf"({'|'.join(AttentionKind)})(?:[- ](?:self-)?attention)?[., ]+(?:layer )?([0-9]{{1,3}})[., ]+"
    r"(?:head )?([0-9]{1,3})",
    re.IGNORECASE,
)
