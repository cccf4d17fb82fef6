"""The report of a recording: attention, everything that resembled it, and its blind spots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from model.watch.call_sites import Place

if TYPE_CHECKING:
    from model.watch.sites import WatchedSite

INVISIBLE = (
    "attention in threads that the model starts itself",
    "attention inside compiled kernels of an extension",
    "attention without a softmax, such as sigmoid and linear attention",
)
"""Blind spots of every recording: an empty report does not mean that no attention ran."""


@dataclass(frozen=True, slots=True)
class OtherSoftmax:
    """A softmax that was no attention: a router, a classifier, a choice among tokens.

    Attributes:
        place: where it ran.
        shape: of its output.
        reason: why it does not count.
        times: the number of runs.
    """

    place: Place
    shape: tuple[int, ...]
    reason: str
    times: int


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A product whose left factor has rows that add up to 1, without a softmax.

    Attributes:
        place: where the product ran.
        shape: of the factor.
        times: how often.
    """

    place: Place
    shape: tuple[int, ...]
    times: int


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of a recording by `watching`.

    Attributes:
        sites: every attention.
        others: every other softmax.
        suspicions: possible attention without a softmax.
        joined: how a trace joins several calls of a site, or why it cannot.
        invisible: blind spots of every recording.
    """

    sites: tuple[WatchedSite, ...]
    others: tuple[OtherSoftmax, ...]
    suspicions: tuple[Suspicion, ...]
    joined: tuple[str, ...] = ()
    invisible: tuple[str, ...] = INVISIBLE

    def __str__(self) -> str:
        lines = [f"{len(self.sites)} attention sites"]
        for each in self.sites:
            shape = " × ".join(map(str, each.calls[0].weights.shape))
            times = f", {len(each.calls)} calls" if len(each.calls) > 1 else ""
            lines.append(f"  {each.site}: {each.place}; {shape}{times}")
            lines += [f"    {note}" for note in each.notes]
        if self.joined:
            lines += ["Several calls of a site", *(f"  {each}" for each in self.joined)]
        lines += _lines("Other softmaxes", [(each, each.reason) for each in self.others])
        lines += _lines(
            "Maybe attention without a softmax",
            [(each, "rows of a product's left factor add up to 1") for each in self.suspicions],
        )
        return "\n".join([*lines, "Never seen", *(f"  {each}" for each in self.invisible)])


def _lines(title: str, found: Sequence[tuple[OtherSoftmax | Suspicion, str]]) -> list[str]:
    lines = [title] if found else []
    for each, reason in found:
        shape = " × ".join(map(str, each.shape))
        times = f", {each.times} times" if each.times > 1 else ""
        lines.append(f"  {each.place}: {reason}; {shape}{times}")
    return lines
