"""What stands around the picture on stage, a scene's title and the foot; keys and swipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from viz.browser.files import fetched
from viz.draw import style

_foot = st.components.v2.component(
    "headscope_stage",
    html='<div class="headscope stage-around" aria-busy="true"></div>',
    js=fetched("stage/stage.js"),
)


def stage_foot(
    *,
    source: str,
    translation: str,
    aside: str,
    languages: tuple[str, str],
    shown: str | None,
    help: str,
    keys: Sequence[str],
    turn: int,
    scrolls: bool,
    scene: Mapping[str, Any] | None,
    on_press: Callable[[], None],
    key: str = "stage",
) -> None:
    """Mount the foot.

    Args:
        source: the sentence, as plain text; "" for none.
        translation: likewise.
        aside: what stands after them, as plain text; "" for nothing.
        languages: the codes of both; "" where one is not known.
        shown: what is shown, as plain text; None follows the explorer, which knows it first.
        help: the keys in one line, for those who come new.
        keys: as the browser names them, of which Python wants to hear; letters are small.
        turn: the number of the last press that was heard.
        scrolls: whether up and down scroll the page.
        scene: of a talk, as `stage.name_scene` takes it; None for none.
        on_press: called after keys were pressed, for `presses` to read.
        key: of the mounted component.
    """
    _foot(
        key=key,
        data={
            "source": source,
            "translation": translation,
            "aside": aside,
            "languages": list(languages),
            "shown": shown,
            "help": help,
            "keys": list(keys),
            "turn": turn,
            "scrolls": scrolls,
            "scene": scene,
            "themes": style.STAGE_THEMES,
        },
        on_pressed_change=on_press,
        height=1,
    )


def presses(data: Any, heard: int) -> list[tuple[int, str]]:
    """The presses after the last one that was heard, each a number and a key, in their order.

    Args:
        data: from a browser, so from anyone; what is no press is left out.
        heard: the number of the last press that was heard.
    """
    found = [
        (each[0], each[1])
        for each in (data if isinstance(data, list) else ())
        if isinstance(each, list)
        and len(each) == 2
        and type(each[0]) is int
        and isinstance(each[1], str)
    ]
    return sorted(press for press in found if press[0] > heard)
