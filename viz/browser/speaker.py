"""A talk in the browser: its keys on stage, its notes in a second window, and where it is kept.

One component is mounted on every page, out of sight. It listens to the keys on stage, keeps a
person's talks in the browser's own storage, and tells the window with the notes (`notes_page.py`)
what is shown. Nothing of this leaves the browser but what the app is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from viz.browser.files import joined
from viz.browser.messages import message_of
from viz.browser.notes_page import NOTES_ADDRESS

_talk = st.components.v2.component(
    "headscope_talk",
    html='<span class="talk" aria-hidden="true" aria-busy="true"></span>',
    js=f"const NOTES = {json.dumps(NOTES_ADDRESS)};\n{joined('speaker/talk.js')}",
)

_notes_button = st.components.v2.component(
    "headscope_notes_button",
    html=(
        '<button type="button" aria-busy="true">Speaker notes</button><p role="status" hidden></p>'
    ),
    css=joined("speaker/button.css"),
    js=joined("speaker/button.js"),
)

_handles = st.components.v2.component(
    "headscope_scene_handles",
    html='<div class="handles" aria-busy="true"></div>',
    css=joined("speaker/handles.css"),
    js=joined("speaker/handles.js"),
)


def talk(
    data: Mapping[str, Any],
    *,
    key: str,
    on_go: Callable[[], None],
    on_look: Callable[[], None],
    on_kept: Callable[[], None],
    on_full: Callable[[], None],
    on_followed: Callable[[], None],
) -> None:
    """Mount what every page needs for a talk, once a run.

    Args:
        data: `visit` (changes with every session), `on` (whether the keys work), `read` (whether N
            and B do), `number` of the scene (0 for none) and `count` of all; `title` and `note` for
            the notes; `next`, the scene after it with its `title`, `note`, `page` (a path) and
            `view`, or None; `heard`, the number of the last move that was heard; `keep`,
            the talks that changed, by their marks, as text or None for one that was deleted;
            `waiting`, whether to answer also if no talk is kept; and `followed`, a text that this
            window is to keep until it is closed, "" for none, None to be told what it keeps.
        key: of the mounted component. st.session_state[key] then holds, unchecked: under "go" the
            number of a move and that of the scene it asks for, told until it is heard; under "kept"
            a list of pairs of mark and text; under "full" the mark of a talk that the browser has
            no room for; under "followed" the text that this window kept.
        on_go: called when a scene was asked for.
        on_look: called when the notes want to show a view: under "look" its `page` and `view`.
        on_kept: called once a session with the talks that the browser kept.
        on_full: called when the browser could not keep one.
        on_followed: called once a session, if this window kept a text.
    """
    _talk(
        key=key,
        data=dict(data),
        height=1,
        on_go_change=on_go,
        on_look_change=on_look,
        on_kept_change=on_kept,
        on_full_change=on_full,
        on_followed_change=on_followed,
    )


def notes_button(*, key: str) -> None:
    """A button that opens the window with the notes; only a click may open one."""
    _notes_button(key=key)


def scene_handles(
    titles: Sequence[str], *, heard: int, key: str, on_move: Callable[[], None]
) -> None:
    """Mount a handle beside each row of scenes: dragged, or moved with the arrow keys up and down.

    Args:
        titles: of the scenes, as plain text; row N is the element of the class st-key-talks-row-N.
        heard: how often `on_move` was called; the next move is told when the last one was heard.
        on_move: called when a scene was moved, for `moved_scene` to read.
    """
    data = {"titles": list(titles), "heard": heard}
    _handles(key=key, data=data, width=24, on_moved_change=on_move)


def moved_scene(key: str) -> tuple[int, int] | None:
    """The number of the scene that was moved and the one it shall have; None for nonsense."""
    moved = message_of(key, "moved")
    if not isinstance(moved, list) or len(moved) != 2:
        return None
    number, to = moved
    return (number, to) if type(number) is int and type(to) is int else None
