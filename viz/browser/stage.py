"""What stands around the picture on stage, a scene's title and the foot; keys and swipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from viz.browser.files import fetched
from viz.browser.messages import handle_once, last_handled
from viz.draw import themes
from viz.draw.keys import Keys

STAGE = Keys("stage")
"""The keys of what is shown on a stage alone."""

_KEY = STAGE("keys")

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
    scrolls: bool,
    scene: Mapping[str, Any] | None,
    on_press: Callable[[], None],
) -> None:
    """Mount the foot.

    Args:
        source: the sentence, as plain text; "" for none.
        translation: likewise.
        aside: what stands after them, as plain text; "" for nothing.
        languages: the codes of both; "" where one is not known.
        shown: what is shown, as plain text; None follows the picture, which knows it first.
        keys: those that Python listens to, as the browser names them; letters are small.
        scene: of a talk, as `stage.name_scene` takes it; None for none.
        on_press: called after keys were pressed, for `handle_presses`.
    """
    _foot(
        key=_KEY,
        data={
            "source": source,
            "translation": translation,
            "aside": aside,
            "languages": list(languages),
            "shown": shown,
            "help": help,
            "keys": list(keys),
            "turn": last_handled(_KEY),
            "scrolls": scrolls,
            "scene": scene,
            "themes": themes.STAGE_THEMES,
        },
        on_pressed_change=on_press,
        height=1,
    )


def handle_presses(handle: Callable[[str], None]) -> None:
    """Handle the keys that were pressed and not handled yet, in their order.

    Args:
        handle: as of `viz.browser.messages.handle_once`, called with a key.
    """

    def pressed(*values: Any) -> None:
        match values:
            case [str(key)]:
                handle(key)

    handle_once(_KEY, "pressed", pressed)
