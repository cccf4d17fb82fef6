"""The first page as it declares itself."""

from __future__ import annotations

from dataclasses import dataclass

from viz.links.parameters import View, flag, integer

VIEW = View(
    "door",
    "Model",
    ":material/account_tree:",
    (
        integer("moment", 0, low=0, high=999, meaning="the step at which it pauses; 0: it plays"),
        flag("play", meaning="it plays by itself, even with a step chosen"),
    ),
)


@dataclass(frozen=True, slots=True)
class DoorView:
    """What the first page shows: a value for each of its parameters."""

    moment: int = 0
    play: bool = False
