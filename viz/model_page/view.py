"""The declaration of the first page."""

from __future__ import annotations

from dataclasses import dataclass

from viz.links.parameters import View, choice, flag, integer, kept, kept_in, pattern

ACTS = {
    "grow": "Grow up in ten seconds",
    "minds": "The model’s two minds",
    "swap": "Swap one thought",
}
"""The acts and their titles, by their names in an address."""


@dataclass(frozen=True, slots=True)
class ModelPageView:
    """The state of the first page."""

    moment: int = kept(
        integer, 0, low=0, high=999, meaning="the step at which it pauses; 0: it plays"
    )
    play: bool = kept(flag, meaning="it plays by itself, even with a step chosen")
    place: str = kept(
        pattern,
        r"[a-z0-9.-]{0,40}",
        "a place such as cross.0.5",
        "where in the model one is; empty: the whole of it",
    )
    walk: int = kept(integer, 0, low=0, high=12, meaning="the stop of the walk through it; 0: none")
    act: str = kept(choice, "", ("", *ACTS), "the act that is played; none: the model")
    kiosk: bool = kept(
        flag, meaning="it walks through the examples by itself while nobody touches it"
    )


VIEW = View("model", "Model", ":material/account_tree:", kept_in(ModelPageView))
