"""The results of a recording: sites with their kind and layer, and other observations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Unpack

from model.arguments import checked_methods
from model.brief import listed
from model.record.intervention import Intervention
from model.record.recording import CaptureError, Recording, TraceLabels
from model.trace.attention_map import AttentionKind, Site
from model.trace.rounded_weights import Bits, require_bits
from model.trace.trace import Trace
from model.watch.arrangement import UNCERTAIN
from model.watch.call_log import CallLog, PlaceCalls, heads_joined
from model.watch.call_sites import CallSite
from model.watch.editing import Edits, site_edits
from model.watch.joining import Joined, joined
from model.watch.kinds import kind_notes, named_sites, twin_notes
from model.watch.left_padding import without_left_padding
from model.watch.lineage import NO_VALUES
from model.watch.report import OtherSoftmax, Report, Suspicion, WatchedSite

_MISSING = "rows are missing"
_ROUNDING = 0.02
"""The tolerance for weights of a query that add up to 1, as half precision needs."""


@checked_methods
class Watched:
    """The results of `watching`; readable during and after the block."""

    def __init__(
        self,
        log: CallLog,
        like: Watched | None = None,
        kinds: AttentionKind | Mapping[str, AttentionKind] | None = None,
    ) -> None:
        self._log = log
        self._kinds = kinds
        # Edited attention may look like another kind, so it keeps its name.
        self._names: dict[Hashable, Site] = {}
        if like is not None:
            for each, there in like._sites():
                self._names |= dict.fromkeys(there.keys, each.site)

    def __repr__(self) -> str:
        return f"Watched({listed([each.site for each in self.sites]) or 'no attention'})"

    @property
    def sites(self) -> tuple[WatchedSite, ...]:
        """Every attention that ran, in the order of first calls."""
        return tuple(site for site, _ in self._sites())

    def edits(self, under: Intervention, weights: Mapping[Any, Any]) -> Edits:
        """The edits of an intervention at the sites seen here; errors as `site_edits`."""
        return site_edits(
            under,
            weights,
            {
                each.site: (
                    place.keys,
                    each.n_heads,
                    place.turns,
                    len(each.calls) == 1,
                    (first.extra_before, len(first.extra_keys) - first.extra_before),
                )
                for each, place in self._sites()
                for first in each.calls[:1]
            },
        )

    def shapes(self, sites: Iterable[Site | str] | None) -> dict[Hashable, tuple[int, int, int]]:
        """The shape (head, query, key) of the weights at each place; CaptureError if none is there.

        Args:
            sites: by name, those to take; None for all.
        """
        known = self._sites()
        wanted = _wanted(sites, known)
        return {
            key: (
                each.n_heads // len(place.keys),
                each.calls[0].n_queries,
                each.calls[0].shape[3],
            )
            for each, place in known
            if wanted is None or str(each.site) in wanted
            for key in place.keys
        }

    def size(self, tokens: int, bits: Bits = 8) -> int:
        """The bytes of a trace of the sites seen, for a text of so many tokens and for its output.

        The weights count, which is nearly all of `Trace.save(…, bits=bits)`.
        """
        require_bits(bits)
        return sum(each.n_heads for each in self.sites) * tokens**2 * bits // 8

    def _sites(self) -> list[tuple[WatchedSite, PlaceCalls]]:
        places = heads_joined(list(self._log.places.values()))
        names = [self._names.get(each.keys[0]) for each in places]
        known = [name for name in names if name is not None]
        named = len(known) == len(places)
        given_kinds = [None if named else self._kind_of(each.place) for each in places]
        sites = known if named else named_sites(places, given_kinds)
        twins = twin_notes(places, sites)
        return [
            (
                WatchedSite(
                    site,
                    each.place,
                    each.records,
                    (
                        *self._missing(each),
                        *each.doubts,
                        *(() if named or kind else kind_notes(each, site)),
                        *twin,
                    ),
                ),
                each,
            )
            for site, each, kind, twin in zip(sites, places, given_kinds, twins, strict=True)
        ]

    def _missing(self, place: PlaceCalls) -> tuple[str, ...]:
        """What is missing of a place, where another of its softmaxes was found no attention."""
        runs = {call.run for call in place.calls}
        reasons = Counter(
            each.reason
            for each in self._log.softmaxes
            if each.reason is not None
            and each.key is not None
            and each.key in place.keys
            # Weights that are joined to others, as in differential attention, are in a row already.
            and (each.reason != NO_VALUES or each.run not in runs)
        )
        return tuple(
            f"{_MISSING}, as {n} more of its softmaxes ran and {'was' if n == 1 else 'were'} not "
            f"recorded: {reason}"
            for reason, n in reasons.items()
        )

    def _kind_of(self, place: CallSite) -> AttentionKind | None:
        return self._kinds.get(place.path) if isinstance(self._kinds, Mapping) else self._kinds

    def recording(self) -> Recording:
        """The results as taps would have recorded them, for maps by sentence and for traces.

        Raises CaptureError if no attention ran.
        """
        self._require_any()
        recording = Recording()
        for each in self.sites:
            for call in each.calls:
                recording.add(each.site, 0, 1, call)
        return recording

    def trace(
        self,
        sentence: int = 0,
        *,
        sites: Iterable[Site | str] | None = None,
        text: str | int = "",
        **named: Unpack[TraceLabels],
    ) -> Trace:
        """One sentence of the batch as a trace; arguments as of `Recording.trace`.

        A sentence with padding before it is labelled without its padding, or throughout.

        Args:
            sentence: index into the batch; of the windows, where wanted sites have these there.
            sites: those to take, as the report names them ("encoder.0"); None for all.
            text: what was written; or a number from 0, which of the texts that one run of the model
                read one after another, where the report has several.
            named: labels and texts.

        Each call of a module that is shared between layers is a layer of its own, and the steps of
        a text written token by token are the rows of one map; `report` says so.

        Weights stand as the model used them, but a query without allowed keys, whose weights are
        NaN in the model, has zeros.

        Raises:
            CaptureError: if no attention ran, or a site several times that belong to no one pass,
                as where beams take the place of one another, or to parts of one text.
            CaptureError: also if there is no such site, it is uncertain what is batch, or weights
                were changed so that they are no shares.
            TraceError: if the lengths of labels, predictions and log_probs disagree.
        """
        self._require_any()
        known = self._sites()
        wanted = _wanted(sites, known)
        traced = [each for each in known if wanted is None or str(each[0].site) in wanted]
        for each, _ in traced:
            _require_certain(each)
        number, written = (text, "") if isinstance(text, int) else (0, text)
        recording = _joined(traced, number).recording
        for each, place in traced:
            _require_shares(each, place, partial=wanted is not None)
        return without_left_padding(recording, sentence, {**named, "text": written})

    def _require_any(self) -> None:
        if self._log.places:
            return
        refused = [each for each in self._log.softmaxes if each.reason is not None]
        if refused:
            raise CaptureError(
                f"No attention ran that could be recorded, but a softmax did at "
                f"{refused[0].place}: {refused[0].reason}; see report() for all that ran."
            )
        raise CaptureError(
            "No attention ran while this watched; run the model inside `with watching()`, and see "
            "report() for what else ran. Models without softmax attention, such as Mamba, RWKV and "
            "FNet, have no weights to record."
        )

    def report(self) -> Report:
        """The report; `str` makes it readable."""
        others = Counter(
            (each.place, each.shape, each.reason)
            for each in self._log.softmaxes
            if each.reason is not None
        )
        try:
            sentences = _joined(self._sites()).sentences
        except CaptureError as error:
            sentences = (f"no trace: {error}",)
        return Report(
            joined=sentences,
            sites=self.sites,
            others=tuple(OtherSoftmax(*what, times) for what, times in others.items()),
            suspicions=tuple(
                Suspicion(*what, times) for what, times in self._log.suspicions.items()
            ),
        )


def _wanted(
    sites: Iterable[Site | str] | None, known: list[tuple[WatchedSite, PlaceCalls]]
) -> set[str] | None:
    """The names of wanted sites; CaptureError if one of them did not run."""
    if sites is None:
        return None
    wanted = {str(each) for each in sites}
    names = {str(each.site) for each, _ in known}
    if wanted - names:
        raise CaptureError(
            f"There is no {min(wanted - names)} here; there is {', '.join(sorted(names))}."
        )
    return wanted


def _joined(traced: list[tuple[WatchedSite, PlaceCalls]], text: int = 0) -> Joined:
    _require_one_model(traced)
    return joined([(each.site, place.calls) for each, place in traced], text)


def _require_one_model(traced: list[tuple[WatchedSite, PlaceCalls]]) -> None:
    """Refuse modules of one name that do not read each other: no one model has these."""
    first: dict[str, tuple[WatchedSite, PlaceCalls]] = {}
    for site, place in traced:
        other, calls = first.setdefault(site.place.path, (site, place))
        if (
            site.place.path
            and place.module != calls.module
            and not any(a.follows(b) or b.follows(a) for a in place.calls for b in calls.calls)
        ):
            raise CaptureError(
                f"{other.site} and {site.site} both ran in {site.place.path}, of two models that "
                "do not read each other, as where one assists the other; choose sites= of one."
            )


def _require_certain(site: WatchedSite) -> None:
    """Refuse weights of which nothing shows whose they are, or of which some are missing."""
    for note in site.notes:
        if note.startswith((UNCERTAIN, _MISSING)):
            raise CaptureError(f"{site.site}: {note}, or choose other sites= for the trace.")


def _require_shares(site: WatchedSite, place: PlaceCalls, *, partial: bool) -> None:
    """Refuse weights that a trace could not describe."""
    if place.splits and not partial:
        raise CaptureError(
            f"{site.site}: {next(iter(place.doubts))}; choose sites= for the trace, and sentence= "
            "counts these."
        )
    for call in site.calls if place.doubts else ():
        sums = call.weights.float().sum(dim=-1)
        shares = (sums - 1).abs() <= _ROUNDING
        if not bool((shares | (sums == 0) | sums.isnan()).all() and not (call.weights < 0).any()):
            raise CaptureError(
                f"{site.site}: {next(iter(place.doubts))}, and they are no shares of 1; choose "
                "other sites= for the trace."
            )
