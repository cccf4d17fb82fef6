"""All heads of two runs as tiles and one of them large, and parts that are put in."""

from functools import partial
from typing import Any

import streamlit as st

from viz.browser.clicks import clicks, handle_clicks
from viz.compare.head_pair import HeadPair
from viz.compare.heads import HeadDifferences
from viz.compare.paired import PairedTraces
from viz.compare.view import (
    KEYS,
    MOST_PATCHES,
    VIEW,
    CompareView,
    Patches,
    read_patches,
    written_part,
)
from viz.save.picture import Picture
from viz.shell import address, stage
from viz.shell.save_menu import show_picture
from viz.shell.width import is_narrow

HEADS = KEYS("heads")


PATCHES = VIEW.parameter("patched")


PAIR_HEAD = VIEW.parameter("pair_head")


def show_heads(pair: PairedTraces, view: CompareView, other_model: str = "") -> None:
    """All heads as tiles, and one large."""
    head = view.head or pair.most_moved
    tiles = HeadDifferences(pair, other_model, framed=head)
    large = HeadPair(pair, other_model, head)
    if stage.is_on():
        second = pair.second
        on_stage(
            tiles,
            HEADS,
            f"Second model: {other_model}"
            if pair.versus == "model"
            else f"Second sentence: {second.source_text} → {second.text}",
        )
        return
    show_picture(tiles, HEADS, after=" Click a tile to see the head large.", drawn=tiles)
    clicks(HEADS, on_clicks=partial(handle_clicks, HEADS, choose_head))
    show_picture(large, KEYS("head"))
    if pair.versus == "sentence":
        written = written_part(head)
        is_in = any(written_part(*each) == written for each in view.patches)
        st.button(
            "Take this head out again" if is_in else "Put this head into the first sentence",
            icon=":material/undo:" if is_in else ":material/move_down:",
            key=KEYS("put-head"),
            on_click=toggle,
            args=(written,),
        )


def choose_head(written: Any) -> None:
    """Show a clicked head large; `written` comes from a browser."""
    try:
        head = PAIR_HEAD.parse(written)
    except (TypeError, ValueError):
        return
    address.change(pair_head=head)


def toggle(written: Any) -> None:
    """Put a part in, or take it out again; `written` may come from a browser."""
    try:
        (patch,) = read_patches(PATCHES.parse(str(written)))
    except (TypeError, ValueError):
        return
    before = address.read(CompareView).patches
    after = tuple(each for each in before if each != patch)
    if len(after) == len(before) < MOST_PATCHES:
        after = (*before, patch)
    address.change(patched=written_patches(after))


def written_patches(patches: Patches) -> str:
    """Parts as the address spells them."""
    return "-".join(written_part(*each) for each in patches)


def on_stage(picture: Picture, key: str, words: str) -> None:
    """A picture alone, with words at the foot of the stage."""
    with stage.picture():
        stage.say(words)
        stage.show((picture, key), narrow=is_narrow())
