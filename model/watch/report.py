"""The report of a recording: attention, everything that resembled it, and its blind spots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.brief import Brief, listed
from model.record.sentence_map import AttentionRecord
from model.trace.attention_map import Site
from model.watch.call_sites import CallSite

INVISIBLE = (
    "attention in threads that the model starts itself",
    "attention inside compiled kernels of an extension",
    "attention inside torch.cond and while torch traces a model, as for an export or linearize",
    "attention without a softmax, such as sigmoid and linear attention",
)
"""Blind spots of every recording: an empty report does not mean that no attention ran."""


@dataclass(frozen=True, slots=True, eq=False)
class WatchedSite(Brief):
    """One attention of a model, with its calls.

    Attributes:
        site: its kind and layer; layers are counted from 0 by kind, in the order of first calls.
            The kind is that of the first call: with a cache, later ones look like
            cross-attention.
        place: where it ran; of heads that are modules of their own, the first.
        calls: in order, for the whole batch: several where a module is shared between layers, or
            where a text is written token by token. Weights are those that the model used, before
            dropout. Scores, q, k and v are None where they could not be told.
        notes: what is uncertain about it, and what else has to be known to read it.
    """

    site: Site
    place: CallSite
    calls: tuple[AttentionRecord, ...]
    notes: tuple[str, ...] = ()

    @property
    def n_heads(self) -> int:
        """The number of heads."""
        return self.calls[0].shape[1]


@dataclass(frozen=True, slots=True)
class OtherSoftmax:
    """A softmax that was no attention: a router, a classifier, a choice among tokens."""

    place: CallSite
    shape: tuple[int, ...]
    reason: str
    times: int


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A product whose left factor has this shape and rows of sum 1, though no softmax was seen."""

    place: CallSite
    shape: tuple[int, ...]
    times: int


@dataclass(frozen=True, slots=True)
class Report(Brief):
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
            shape = " × ".join(map(str, each.calls[0].shape))
            times = f", {len(each.calls)} calls" if len(each.calls) > 1 else ""
            extra = each.calls[0].extra_keys
            last = f" with {listed(extra)}" if extra else ""
            lines.append(f"  {each.site}: {each.place}; {shape}{last}{times}")
            lines += [f"    {note}" for note in each.notes]
        if self.joined:
            lines += ["Several calls of a site", *(f"  {each}" for each in self.joined)]
        lines += _lines("Other softmaxes", [(each, each.reason) for each in self.others])
        lines += _lines(
            "Maybe attention without a softmax",
            [(each, "rows of a product's left factor add up to 1") for each in self.suspicions],
        )
        return "\n".join([*lines, "Never seen", *(f"  {each}" for each in self.invisible)])


def _lines(title: str, entries: Sequence[tuple[OtherSoftmax | Suspicion, str]]) -> list[str]:
    lines = [title] if entries else []
    for each, reason in entries:
        shape = " × ".join(map(str, each.shape))
        times = f", {each.times} times" if each.times > 1 else ""
        lines.append(f"  {each.place}: {reason}; {shape}{times}")
    return lines
