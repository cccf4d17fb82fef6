"""What a talk adds to every page: its keys and notes, and on stage the scene's title."""

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from viz.browser.kept import Kept, nothing
from viz.browser.messages import message_of
from viz.browser.speaker import talk
from viz.draw import css
from viz.draw.labels import visible
from viz.registry.pages import HOME, MARK, PRESENT, READ, SCENE, TALK, VIEWS, names
from viz.shell import address, speaker_view, stage
from viz.talk import scenes, talk_files, talk_reader
from viz.talk.own_talks import (
    HEARD,
    KEEP,
    KEYS,
    MAX_TALKS,
    NOTICE,
    STALE,
    go,
    is_reading,
    named_apart,
    no_such_scene,
    own_talks,
    shown_talk,
)
from viz.talk.scenes import Scene, TalkError

_TALK = KEYS("keys")
_VISIT = Kept(KEYS("visit"), lambda: secrets.token_hex(4))
_SETTLED: Kept[tuple[str, int, dict[str, str]] | None] = Kept(KEYS("settled"), nothing)
"""The scene shown last, by its talk and number, and the view that its page made of it."""

_WENT = Kept(KEYS("went"), int)
"""The number of the last step to a scene."""


def show_talk() -> None:
    """Add a talk's keys and notes to every page, and on stage the scene's title.

    Call it once a run, after the stage has begun.
    """
    address.open_address((SCENE, TALK, READ))
    # This run tells the browser what a callback in the panel has changed.
    STALE.value = False
    if not HEARD.value and (folder := talk_files.folder()):
        _on_message(talk_files.read(folder, MAX_TALKS, scenes.MAX_BYTES), str(folder))
    shown = shown_talk()
    if shown and address.now(SCENE) > len(shown.scenes):
        address.note(SCENE.name, no_such_scene(address.now(SCENE), shown))
        address.put(SCENE, 0)
    number = address.now(SCENE)
    scene = shown.scene(number) if shown else None
    following = shown.scene(number + 1) if shown else None
    talk(
        {
            "visit": _VISIT.value,
            "on": stage.is_on(),
            "read": is_reading(),
            "number": number if scene else 0,
            "count": len(shown.scenes) if shown else 0,
            "title": visible(scene.title) if scene else "",
            "note": scene.note if scene else "",
            "next": _next_scene(following) if following else None,
            "heard": _WENT.value,
            "keep": KEEP.value,
            "waiting": shown is None,
            "followed": speaker_view.secret(),
        },
        key=_TALK,
        on_go=go_on_message,
        on_look=_on_look,
        on_kept=_on_kept,
        on_full=_on_full,
        on_followed=_on_followed,
    )
    # Always there: a container that comes and goes redraws everything after it.
    with st.container(key=KEYS("room")):
        makes_room = stage.is_on() and scene
        st.html(f"<style>{css.SCENE_TITLE_CSS}</style>" if makes_room else "<span hidden></span>")


def title_scene() -> None:
    """Name the scene on stage while its view is shown; call it after the page."""
    shown, number = shown_talk(), address.now(SCENE)
    if shown is None or (scene := shown.scene(number)) is None:
        return
    known = names(scene.page)

    def of_page(query: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in query.items() if name in known}

    page, settled = address.current()
    views: list[dict[str, str]] = []
    if (page or HOME) == scene.page:
        views = [dict(scene.view), of_page(address.plain(scene.view))]
        if of_page(address.query()) in views:
            # A page fills in what the view leaves open, such as its first head.
            _SETTLED.value = address.now(TALK), number, of_page(settled)
        match _SETTLED.value:
            case (mark, place, view) if (mark, place) == (address.now(TALK), number):
                views.append(view)
    stage.name_scene(number, len(shown.scenes), visible(scene.title), views)


def _next_scene(scene: Scene) -> dict[str, Any]:
    """The next scene for the window with the notes."""
    return {
        "title": visible(scene.title),
        "note": scene.note,
        "page": "" if scene.page == HOME else scene.page,
        "view": dict(scene.view),
    }


def go_on_message() -> None:
    """Move to the scene that the browser names."""
    match message_of(_TALK, "go"):
        # While the talk is not known yet, the browser goes on telling.
        case [int(move), int(number)] if move > _WENT.value and shown_talk() is not None:
            # True counts as a number. It is heard only when it is made: a newer message may end
            # this between the two, and the browser asks again for what was not heard.
            go(int(number))
            _WENT.value = int(move)
        case [int(move), int(number)] if (move, number) == (_WENT.value, address.now(SCENE)):
            # The browser repeats a move until it gets the scene. Until then, its fields have the
            # values of the scene before, and each message sends them.
            go(int(number))


def _on_look() -> None:
    """Show a view on stage in the window with the notes, beside the next note."""
    asked = message_of(_TALK, "look")
    page, view = (asked.get("page"), asked.get("view")) if isinstance(asked, dict) else (None, None)
    if not isinstance(page, str) or (page or HOME) not in VIEWS or not isinstance(view, dict):
        return
    known = names(page or HOME)
    query = {name: text for name, text in view.items() if name in known and isinstance(text, str)}
    address.navigate(page, query | {PRESENT.name: "1"})


def _on_kept() -> None:
    """Load the talks that this browser kept."""
    kept = message_of(_TALK, "kept")
    talks = [
        (pair[0], pair[1].encode("utf-8", "surrogatepass"))
        for pair in (kept[:MAX_TALKS] if isinstance(kept, list) else ())
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, str) for each in pair)
    ]
    _on_message(talks, "this browser")


def _on_message(kept: Sequence[tuple[str, bytes]], where: str) -> None:
    """Load talks; name what is no talk, and leave it where it is."""
    HEARD.value = True
    unreadable = 0
    for mark, text in kept:
        if not re.fullmatch(MARK, mark):
            continue
        try:
            read = talk_reader.parse(text)
        except TalkError:
            unreadable += 1
            continue
        # What was changed in this session is newer than what was kept.
        if mark not in own_talks():
            own_talks()[mark] = named_apart(mark, read)
    if unreadable:
        NOTICE.value = (
            f"{unreadable} of the talks kept in {where} cannot be read and are not shown; "
            "they stay where they are."
        )


def _on_followed() -> None:
    """Let phones go on following after a reload, or after another start of the server."""
    speaker_view.resume(message_of(_TALK, "followed"))


def _on_full() -> None:
    NOTICE.value = (
        "This browser has no room for the talk, so it is lost when you close the page: download it."
    )
