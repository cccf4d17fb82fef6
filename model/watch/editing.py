"""Edits of a watched pass, where weights meet values: gates, masks, set weights.

Edits happen below autograd, which does not see them, so they work only without gradients.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any

import torch

from model.record.head_edits import (
    HeadEdits,
    HeadError,
)
from model.record.intervention import Intervention
from model.record.mask_edits import MaskEdits
from model.record.recording import CaptureError
from model.trace.attention_map import AttentionKind, Site
from model.watch.call_sites import Spot
from model.watch.site_edit import NO_GRADIENTS, SiteEdit

_AFRESH = "Watch the model anew, as it will run, and edit what that saw."


class Edits:
    """The edits by place."""

    def __init__(self, by_key: Mapping[Hashable, list[SiteEdit | None]]) -> None:
        """Edits of each call of a place in turn, None for those that stay as they are."""
        self._by_key = by_key
        self._n_calls: Counter[Hashable] = Counter()

    def at(self, spot: Spot) -> SiteEdit | None:
        """The edits for calls at that spot; CaptureError where derivatives are wanted of them."""
        edit, turns = None, self._by_key.get(spot.key)
        if turns is not None:
            edit = turns[self._n_calls[spot.key] % len(turns)]
            self._n_calls[spot.key] += 1
        if edit is not None and spot.differentiated:
            raise CaptureError(NO_GRADIENTS)
        return edit

    def require_met(self) -> None:
        """Raise CaptureError for edits whose place never ran."""
        for each in itertools.chain(*self._by_key.values()):
            if each is not None and not each.met:
                raise CaptureError(
                    f"Nothing was edited at {each.site}, as none ran there. {_AFRESH}"
                )


def site_edits(
    under: Intervention,
    weights: Mapping[Any, Any],
    sites: Mapping[Site, tuple[tuple[Hashable, ...], int, int, bool, tuple[int, int]]],
) -> Edits:
    """Interventions by place.

    Args:
        under: masks and heads; positions and word order belong to a model, not to its attention.
        weights: by site, broadcastable to (batch, head, query, key).
        sites: of a pass that was watched: the keys of its places, how many heads the site has,
            in how many calls one after another they run, whether it ran once, and how many keys the
            model adds before and behind the text's.

    Raises:
        CaptureError: if anything but masks and heads is to be changed, or a place has no key.
        HeadError, MaskError: if there is no such site or head.
    """
    if under != Intervention(masks=under.masks, heads=under.heads):
        raise CaptureError(
            "Positions and the order of words are the model's own affair; while it is watched, "
            "masks and heads can be edited."
        )
    masks, heads = MaskEdits(under.masks), HeadEdits(under.heads)
    masks.require_sites(sites)
    heads.require_sites(sites)
    fixed = {_site(place): torch.as_tensor(each) for place, each in weights.items()}
    for site in fixed:
        if site not in sites:
            raise HeadError(
                f"There is no {site} in this model; it has {', '.join(map(str, sites))}."
            )
    edits: dict[Hashable, list[SiteEdit | None]] = {}
    for site, (keys, n_heads, turns, once, extra) in sites.items():
        at = heads.at(site)
        if not at and masks.at(site) is None and site not in fixed:
            continue
        if at and max(at) >= n_heads:
            raise HeadError(
                f"There is no head {max(at)} at {site}; choose one from 0 to {n_heads - 1}."
            )
        each = n_heads // (len(keys) * turns)
        for part, (key, turn) in enumerate(itertools.product(keys, range(turns))):
            if key is None:
                raise CaptureError(
                    f"{site} ran in a compiled module that hides its lines; edit the model that "
                    "this was traced from."
                )
            own = {h - part * each: at[h] for h in at if 0 <= h - part * each < each}
            if own or masks.at(site) is not None or site in fixed:
                edits.setdefault(key, [None] * turns)[turn] = SiteEdit(
                    site, part * each, n_heads, own, masks.at(site), fixed.get(site), once, extra
                )
    return Edits(edits)


def _site(place: Any) -> Site:
    if isinstance(place, Site):
        return place
    try:
        kind, layer = place
        return Site(AttentionKind(kind), int(layer))
    except (TypeError, ValueError):
        raise HeadError(
            f'Weights are set by site, as in {{("decoder", 2): weights}}; {place!r} is none.'
        ) from None
