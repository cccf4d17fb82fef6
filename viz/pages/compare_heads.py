"""All heads of two runs and one of them large, and parts that are put in."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from model.trace.head import Head
from viz.browser.exchange import exchange, handle_moves
from viz.browser.messages import last_handled
from viz.compare.head_pair import HeadPair
from viz.compare.heads import HeadDifferences
from viz.compare.paired import PairedTraces
from viz.compare.payload import Line, pack_pair
from viz.compare.view import (
    KEYS,
    MOST_PATCHES,
    VIEW,
    CompareView,
    Patches,
    read_patches,
    written_part,
)
from viz.draw.labels import escape_markdown
from viz.save.picture import Picture
from viz.shell import address, stage, tab_row
from viz.shell.save_menu import save_button
from viz.shell.width import is_narrow

HEADS = KEYS("heads")

PUT_IN = KEYS("put-in")

PATCHES = VIEW.parameter("patched")

PAIR_HEAD = VIEW.parameter("pair_head")

WRITTEN = "First → second"
"""What both runs wrote: struck through what the first alone wrote, underlined the second."""


def show_heads(
    pair: PairedTraces,
    view: CompareView,
    *,
    lines: Sequence[Line],
    put: Sequence[tuple[str, str]] = (),
    names: tuple[str, str] | None = None,
    other_model: str = "",
) -> None:
    """All heads as tiles, and one of them large in both runs.

    Args:
        names: of both models or searches; None for those of two sentences.
        other_model: the second model as a notebook reads it.
    """
    head = head_of(pair, view)
    exchange(
        pack_pair(
            pair,
            names=names or (pair.first.source_text, pair.second.source_text),
            lines=lines,
            heard=last_handled(PUT_IN),
            shown=head,
            puts=pair.versus == "sentence",
            put=put,
        ),
        key=PUT_IN,
        on_moves=partial(handle_moves, PUT_IN, move),
    )
    pictures = HeadDifferences(pair, other_model, framed=head), HeadPair(pair, other_model, head)
    save_button(pictures, HEADS)
    with tab_row.options():
        st.caption(escape_markdown(pictures[0].more))


def head_of(pair: PairedTraces, view: CompareView) -> Head:
    """The head that is shown large; the one that differs most, unless the address has one."""
    return view.head if view.head in pair.heads else pair.most_moved


def heads_on_stage(pair: PairedTraces, view: CompareView, other_model: str = "") -> None:
    second = pair.second
    on_stage(
        HeadDifferences(pair, other_model, framed=head_of(pair, view)),
        HEADS,
        f"Second model: {other_model}"
        if pair.versus == "model"
        else f"Second sentence: {second.source_text} → {second.text}",
    )


def show_parts_to_put(
    pair: PairedTraces,
    lines: Sequence[Line],
    parts: dict[str, Any],
    put: Sequence[tuple[str, str]],
) -> None:
    """Tokens and hidden states of the second sentence, to put into the first."""
    payload = pack_pair(
        pair,
        names=(pair.first.source_text, pair.second.source_text),
        lines=lines,
        heard=last_handled(PUT_IN),
        puts=True,
        parts=parts,
        put=put,
    )
    exchange(payload, key=PUT_IN, on_moves=partial(handle_moves, PUT_IN, move))


def move(*said: Any) -> None:
    """Show a head, put a part in, or take it out again; what was said comes from a browser."""
    match said:
        case "show", head:
            choose_head(head)
        case "put", part:
            toggle(part)


def choose_head(written: Any) -> None:
    """Show a clicked head large; `written` comes from a browser."""
    try:
        head = PAIR_HEAD.parse(written)
    except (TypeError, ValueError):
        return
    address.change(pair_head=head)


def toggle(written: Any) -> None:
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
