"""Recordings of attention: one pass, in one thread, as tensors and then as a trace.

install_taps(model)             once, when the model is loaded (model/record/taps.py)
with recording() as recorded:   around one forward pass, in any thread
    model(source, target)
trace = recorded.trace(source=..., target=..., ...)
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TypedDict, Unpack

import torch
from torch import Tensor

from model.arguments import checked_methods
from model.brief import listed
from model.record.scopes import CaptureError as CaptureError
from model.record.scopes import Scope
from model.record.sentence_map import AttentionRecord, full_mask, sentence_map
from model.trace.attention_map import (
    AttentionKind,
    AttentionMap,
    FloatArray,
    Site,
    Tokens,
)
from model.trace.provenance import Provenance
from model.trace.trace import Trace
from model.version import VERSION


class CaptureWarning(UserWarning):
    """A model has attention that its recordings will lack."""


class TraceLabels(TypedDict, total=False):
    """The fields of a Trace besides its maps and what was written; None if unknown."""

    source: Tokens | None
    target: Tokens | None
    predictions: Tokens | None
    source_text: str
    log_probs: FloatArray | None
    provenance: Provenance


class TraceFields(TraceLabels, total=False):
    """The fields of a Trace besides its maps; None if unknown."""

    text: str


@checked_methods
class Recording:
    """The attention recorded during a `with recording()`."""

    def __init__(self) -> None:
        self._calls: dict[Site, list[AttentionRecord]] = {}
        # Heads of a site that run one after another wait here for the last of them.
        self._parts: dict[Site, list[AttentionRecord]] = {}

    def __repr__(self) -> str:
        return f"Recording({listed(self.sites) or 'no attention'})"

    @property
    def sites(self) -> tuple[Site, ...]:
        """Every recorded site, in the order of sites."""
        return tuple(sorted(self._calls))

    def calls(self, site: Site) -> tuple[AttentionRecord, ...]:
        """Every call of a site, in order; decoding, for example, makes several."""
        if site not in self._calls:
            listing = ", ".join(map(str, self.sites))
            raise CaptureError(
                f"Nothing was recorded at {site}; there is {listing or 'no record at all'}."
            )
        return tuple(self._calls[site])

    def __getitem__(self, site: Site) -> AttentionRecord:
        """The one call of a site; CaptureError if there was none, or more than one."""
        calls = self.calls(site)
        if len(calls) > 1:
            raise CaptureError(
                f"{site} ran {len(calls)} times in this recording; record a single pass, or "
                "take one of calls()."
            )
        return calls[0]

    def __iter__(self) -> Iterator[Site]:
        return iter(self.sites)

    def maps(
        self,
        sentence: int = 0,
        *,
        source: Tokens | None = None,
        target: Tokens | None = None,
        axes: Mapping[Site, tuple[Tokens, Tokens]] | None = None,
    ) -> dict[Site, AttentionMap]:
        """The maps of one sentence of the batch, without its padding.

        Labels start at the first position; positions beyond them are padding and are left out.
        Without labels, as for attention of unknown role, the positions 0, 1, … label the whole
        axis. Keys that a module added remain at the end.

        Args:
            sentence: index into the batch.
            source: labels of the encoder's tokens.
            target: labels of the decoder's inputs.
            axes: labels (queries, keys) of single sites, in place of source and target.

        Raises:
            CaptureError: if nothing was recorded, a site ran twice, there is no such sentence, or
                the labels do not fit.
        """
        if not self._calls:
            raise CaptureError(
                "Nothing was recorded; call install_taps(model) once and run the model inside "
                "`with recording()`."
            )
        maps = {}
        for site in self.sites:
            queries, keys = (axes or {}).get(site, site.kind.axes(source, target, None))
            maps[site] = sentence_map(site, self[site], sentence, queries, keys)
        return maps

    def trace(
        self,
        sentence: int = 0,
        *,
        axes: Mapping[Site, tuple[Tokens, Tokens]] | None = None,
        **named: Unpack[TraceFields],
    ) -> Trace:
        """One sentence of the batch as a trace; arguments as in `maps` and in Trace.

        Without source and target, their labels are positions.

        Raises:
            CaptureError: as `maps` does.
            TraceError: if the lengths of labels, predictions and log_probs disagree.
        """
        source, target = named.get("source"), named.get("target")
        predictions = named.get("predictions")
        if source is None:
            source = self._positions(AttentionKind.ENCODER, "n_keys")
        if target is None:
            target = self._positions(AttentionKind.DECODER, "n_queries")
        return Trace(
            source=source,
            target=target,
            predictions=Tokens() if predictions is None else predictions,
            text=named.get("text", ""),
            source_text=named.get("source_text", ""),
            maps=self.maps(sentence, source=source, target=target, axes=axes),
            log_probs=named.get("log_probs"),
            provenance=named.get("provenance", Provenance(headscope=VERSION)),
        )

    def add(self, site: Site, part: int, parts: int, record: AttentionRecord) -> None:
        """Store a tap's record of some heads of a site: part number `part`, from 0, of `parts`."""
        if part == 0:
            self._parts[site] = []
        records = self._parts[site]
        records.append(record)
        if part == parts - 1:
            self._calls.setdefault(site, []).append(join_heads(records))
            del self._parts[site]

    def _positions(self, own: AttentionKind, cross_axis: str) -> Tokens:
        # An unlabelled text is as long as its self-attention, or its side of cross-attention. The
        # longest: whatever lacks some of its tokens is refused, and not cut to less.
        lengths = [self[site].n_queries for site in self.sites if site.kind is own] or [
            getattr(self[site], cross_axis)
            for site in self.sites
            if site.kind is AttentionKind.CROSS
        ]
        return Tokens.unnamed(range(max(lengths, default=0)))


active_recording: Scope[Recording] = Scope("hs.recording()")
"""The recording in this thread, which the taps read."""


@contextmanager
def recording() -> Generator[Recording, None, None]:
    """Record every tapped attention that runs in this thread, until the block ends.

    Other threads and asyncio tasks are not recorded, even if they share the model; those that
    asyncio starts within the block are. In nested blocks, only the inner one records. The recording
    stays readable after the block, even if the block raised an error.

    Raises CaptureError when the block ends in another task, or before one that began later.
    """
    recorded = Recording()
    with active_recording.holding(recorded):
        yield recorded


def join_heads(parts: list[AttentionRecord]) -> AttentionRecord:
    """The heads of one site that ran one after another, as one record."""
    if len(parts) == 1:
        return parts[0]
    # Heads that share a mask got the same tensor.
    shared = all(part.allowed is parts[0].allowed for part in parts)
    return AttentionRecord(
        weights=torch.cat([part.weights for part in parts], dim=1),
        scores=_join([part.scores for part in parts]),
        q=_join([part.q for part in parts]),
        k=_join([part.k for part in parts]),
        v=_join([part.v for part in parts]),
        allowed=parts[0].allowed if shared else torch.cat([*map(full_mask, parts)], dim=1),
        extra_keys=parts[0].extra_keys,
        extra_before=parts[0].extra_before,
    )


def _join(parts: list[Tensor | None]) -> Tensor | None:
    known = [part for part in parts if part is not None]
    return torch.cat(known, dim=1) if len(known) == len(parts) else None
