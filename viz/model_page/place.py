"""A place in the picture of the model, as a link spells it (model_view/places.js)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from model.trace.attention_map import AttentionKind, Site
from viz.draw.labels import axis_texts
from viz.model_page.payload import NAMES, Figure

At = Literal["model", "stack", "block", "head", "row", "weight", "positions", "added", "next"]

_WITHIN: tuple[At, ...] = ("block", "head", "row", "weight")
"""What lies inside each other in a kind of attention of one layer."""

_STACK = "(?P<stack>encoder|decoder|module)"
_FORMS: dict[At, str] = {
    "stack": _STACK,
    "positions": rf"positions\.{_STACK}",
    "added": rf"feed-forward\.{_STACK}\.(?P<layer>\d{{1,3}})",
    "next": r"next\.(?P<step>\d{1,3})",
    "block": rf"(?P<kind>{'|'.join(AttentionKind)})(?P<numbers>(?:\.\d{{1,3}}){{1,4}})",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A place that a model and a sentence have.

    Attributes:
        at: what it is.
        stack: of a stack, its positions or a feed-forward layer; None elsewhere.
        site: of a kind of attention in one layer and all inside it; None elsewhere.
        layer: of a feed-forward layer, as the model numbers it.
        numbers: head, query and key, as far as the place has them.
        step: of the next tokens, from 0.
    """

    at: At = "model"
    stack: AttentionKind | None = None
    site: Site | None = None
    layer: int = 0
    numbers: tuple[int, ...] = ()
    step: int = 0


MODEL = Place()


def place_in(figure: Figure, spelled: str) -> Place:
    """The place that a link spells, or the nearest around it that the figure has.

    Args:
        figure: of one sentence.
        spelled: any text.
    """
    for at, form in _FORMS.items():
        if found := re.fullmatch(form, spelled, re.ASCII):
            return _legal(figure, at, found.groupdict())
    return MODEL


def title_of(place: Place, figure: Figure) -> str:
    """What a place shows, in a few words of plain text."""
    if place.site is not None:
        seen = figure.trace.maps[place.site]
        said = [f"{place.site.kind.full_name}, layer {place.site.layer}"]
        said += [f"head {head}" for head in place.numbers[:1]]
        inside = (("query", seen.queries), ("key", seen.keys))
        for (what, tokens), number in zip(inside, place.numbers[1:], strict=False):
            said.append(f"{what} “{axis_texts(tokens)[number]}”")
        return ", ".join(said)
    if place.at == "next":
        return f"What comes next, step {place.step + 1}"
    if place.stack is None:
        return "The whole model, with this sentence in it"
    inside_stack = {"positions": ", positions", "added": f", feed-forward, layer {place.layer}"}
    return NAMES[place.stack][0] + inside_stack.get(place.at, "")


def _legal(figure: Figure, at: At, parts: dict[str, str]) -> Place:
    if at == "next":
        said = figure.blocks is not None and figure.trace.log_probs is not None
        n_steps = len(figure.trace.predictions) if said else 0
        return Place(at, step=min(int(parts["step"]), n_steps - 1)) if n_steps else MODEL
    if at == "block":
        return _inside(figure, parts)
    stack = AttentionKind(parts["stack"])
    layers = figure.trace.layers(stack)
    if not layers:
        return MODEL
    if at == "positions" and stack in figure.positions:
        return Place(at, stack)
    added = {} if figure.blocks is None else figure.blocks.added
    if at == "added" and stack in added and int(parts["layer"]) in layers:
        return Place(at, stack, layer=int(parts["layer"]))
    return Place("stack", stack)


def _inside(figure: Figure, parts: dict[str, str]) -> Place:
    kind = AttentionKind(parts["kind"])
    layer, *numbers = map(int, parts["numbers"][1:].split("."))
    seen = figure.trace.maps.get(Site(kind, layer))
    if seen is None:
        stack = AttentionKind.DECODER if kind is AttentionKind.CROSS else kind
        return Place("stack", stack) if figure.trace.layers(kind) else MODEL
    limits = (seen.n_heads, *seen.weights.shape[1:])
    kept: list[int] = []
    for number, limit in zip(numbers, limits, strict=False):
        if number >= limit:
            break
        kept.append(number)
    return Place(_WITHIN[len(kept)], site=seen.site, numbers=tuple(kept))
