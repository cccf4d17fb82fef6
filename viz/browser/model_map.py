"""A small copy of Figure 1, on pages that show a part of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from viz.browser.files import joined
from viz.browser.messages import message_of
from viz.draw.keys import Keys

_KEY = Keys("model-map")()

_model_map = st.components.v2.component(
    "headscope_model_map",
    html='<nav class="headscope model-map" aria-label="The model" aria-busy="true"></nav>',
    css=joined("model_map/model_map.css"),
    js=joined("model_map/model_map.js"),
)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the model.

    Attributes:
        key: a kind of attention, "positions" or "next".
        name: what it is, as plain text.
        lit: whether the page is about it.
    """

    key: str
    name: str
    lit: bool


def model_map(stacks: Sequence[Sequence[Block]], *, on_open: Callable[[], None]) -> None:
    """Mount it, once a run.

    Args:
        stacks: the blocks of each part of the model, in the order in which a sentence meets them.
        on_open: called when a block was chosen, for `opened` to read.
    """
    blocks = [[asdict(block) for block in stack] for stack in stacks]
    _model_map(key=_KEY, data={"blocks": blocks}, on_open_change=on_open)


def opened() -> str:
    """The key of the block that was chosen last, from a browser and so from anyone."""
    key = message_of(_KEY, "open")
    return key if isinstance(key, str) else ""
