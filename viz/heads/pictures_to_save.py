"""The pictures that the heads view can save."""

from __future__ import annotations

from collections.abc import Sequence

from model.trace.attention_map import Site
from viz.browser.trace_payload import JOINT
from viz.heads.every_head import EveryHead
from viz.heads.lines import HeadLines
from viz.heads.one_head import OneHead
from viz.heads.several_heads import ComparedHeads, JointHeads
from viz.heads.whole_view import WholeView
from viz.save.picture import Picture


def pictures_to_save(
    view: WholeView, sites: Sequence[Site], head: int, *, target: str = ""
) -> list[Picture]:
    """The pictures that the heads view can save, the large one first.

    Args:
        view: what is selected in it.
        sites: the same as places of the trace, several where all kinds share a picture.
        head: counted from 0.
        target: the translation that was recorded if it is a person's; empty for the model's.
    """
    seen = view.seen
    first: list[Picture] = []
    if view.selection["view"] == "lines":
        first += [HeadLines(seen, site, head, target=target) for site in sites]
    if view.selection["attention"] == JOINT:
        first.append(JointHeads(seen, sites[0].layer, head, target=target))
    elif heads := _compared(view, sites[0], head):
        first.append(ComparedHeads(seen, sites[0].kind, heads, target=target))
    kinds = dict.fromkeys(site.kind for site in sites)
    return [
        *first,
        *(OneHead(seen, site, head, target=target) for site in sites),
        *(EveryHead(seen, kind, target=target) for kind in kinds),
        view,
    ]


def _compared(view: WholeView, site: Site, head: int) -> list[tuple[int, int]]:
    """Layer and head of those that are compared, if there are any on this trace."""
    layers = [other.layer for other in view.seen.maps if other.kind is site.kind]
    n_heads = view.seen.maps[site].n_heads
    pairs = [pair.split(".") for pair in view.selection["compare"].split("-") if pair]
    heads = [
        (layers[int(place)], int(number))
        for place, number in pairs
        if int(place) < len(layers) and int(number) < n_heads
    ]
    # As the picture has it: the selected head is one of those that are compared, or none is.
    return heads if len(heads) > 1 and (site.layer, head) in heads else []
