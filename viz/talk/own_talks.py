"""The talks of this session: the one that is selected, its scenes, and changes to it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from model.files import reason
from model.trace.attention_map import AttentionKind
from viz.heads.view import VIEW as HEADS
from viz.registry.pages import HOME, PRESENT, READ, VIEWS, names
from viz.shell import address, stage
from viz.talk import scenes, talk_files
from viz.talk.ready import ready_talk
from viz.talk.scenes import Scene, Talk, TalkError

MAX_TALKS = 50
"""The most talks that one browser keeps."""

KEEP, HEARD, STALE = "_talks_to_keep", "_talks_heard", "_talks_stale"
"""The keys of what the browser is to keep, of whether it has said what it keeps, and of whether
the page has yet to show a change."""

NOTICE, EDITING, UNDO = "_talks_notice", "_talks_editing", "_talks_undo"
"""The keys of a notice, of the number of the scene that is edited, and of what was deleted."""

_TALKS = "_talks"


def own_talks() -> dict[str, Talk]:
    """The person's own talks, by their marks."""
    talks: dict[str, Talk] = st.session_state.setdefault(_TALKS, {})
    return talks


def shown_talk() -> Talk | None:
    """The selected talk; None until this browser has said whether it keeps it."""
    state = st.session_state
    mark = state["talk"]
    if not mark:
        return ready_talk()
    if mark in own_talks():
        return own_talks()[mark]
    if not state.get(HEARD):
        return None
    # A link from somebody else: it opens their view, but their talk stays with them.
    address.note(
        "talk",
        f"The talk {mark} of this link is not kept {place_of_talks()}, so the view is shown "
        "without it. The person who sent the link can also send you the talk's file.",
    )
    state["talk"], state["scene"], state[READ.name] = "", 0, False
    return ready_talk()


def no_such_scene(number: int, shown: Talk) -> str:
    """A sentence on a scene that a talk does not have."""
    count = len(shown.scenes)
    there = f"has the scenes 1 to {count}" if count else "has no scenes"
    return f"This talk {there} but no scene {number}; the view is shown without one."


def place_of_talks() -> str:
    """Where a person's talks are kept."""
    return "on this computer" if talk_files.folder() else "in this browser"


def is_reading() -> bool:
    """Whether a talk is being read, not presented."""
    return bool(st.session_state.get(READ.name)) and not stage.is_on()


def read_ready_talk() -> None:
    """Start reading the app's own talk."""
    st.session_state["talk"] = ""
    go(1, read=True)


def leave_reading() -> None:
    """Show the same view as an ordinary page in the next run."""
    st.session_state[READ.name], st.session_state["scene"] = False, 0


def go(number: int, *, present: bool = False, read: bool = False) -> None:
    """Show a scene of the selected talk in the next run.

    On stage, or as a reading, if that is asked for or already so.
    """
    shown = shown_talk()
    scene = shown.scene(number) if shown else None
    if scene is None:
        return
    query = dict(scene.view) | {"scene": str(number)}
    if mark := st.session_state["talk"]:
        query["talk"] = mark
    if present or stage.is_on():
        query[PRESENT.name] = "1"
    if read or (st.session_state[READ.name] and not present):
        query[READ.name] = "1"
    address.navigate("" if scene.page == HOME else scene.page, query)


def present_view() -> Scene:
    """The present view as a scene with a suggested title."""
    path, query = address.current()
    page = path or HOME
    view = {name: value for name, value in query.items() if name in names(page)}
    # Their defaults may change, but a scene must stay the same.
    for name in ("sentence", "checkpoint"):
        if name in names(page) and st.session_state.get(name):
            view[name] = str(st.session_state[name])
    return Scene(suggested_title(page, view), "", page, view)


def suggested_title(page: str, view: Mapping[str, str]) -> str:
    """A short title for a view."""
    if page == HEADS.name:
        names = {str(kind): kind.full_name for kind in AttentionKind}
        kind = names.get(view.get("attention", str(AttentionKind.CROSS)), "All attention")
        if "compare" in view:
            return f"{kind}, {view['compare'].count('-') + 1} heads"
        return f"{kind}, layer {view['layer']}, head {view['head']}" if "layer" in view else kind
    part = view.get("part") or view.get("topic")
    return f"{VIEWS[page].title}: {part}" if part else VIEWS[page].title


def put(mark: str, changed: Talk | None) -> bool:
    """Keep a talk as it is now, also for the next visit; whether it is one that can be kept."""
    state = st.session_state
    if changed is not None:
        try:
            changed = named_apart(mark, scenes.checked(changed))
        except TalkError as error:
            state[NOTICE] = str(error)
            return False
        if mark not in own_talks() and len(own_talks()) >= MAX_TALKS:
            state[NOTICE] = f"At most {MAX_TALKS} talks are kept; delete one first."
            return False
        own_talks()[mark] = changed
    else:
        own_talks().pop(mark, None)
    text = scenes.write(changed) if changed else None
    if folder := talk_files.folder():
        try:
            talk_files.store(folder, mark, text)
        except OSError as error:
            state[NOTICE] = (
                f"{folder} could not be written ({reason(error)}), so this change is lost when "
                "the window closes: download the talk."
            )
    else:
        state[KEEP] = state.get(KEEP, {}) | {mark: text}
    state[STALE] = True
    return True


def named_apart(mark: str, named: Talk) -> Talk:
    """The talk, under a title that no other talk has."""
    others = {other.title for each, other in own_talks().items() if each != mark}
    return replace(named, title=scenes.apart(named.title, {ready_talk().title, *others}))


def change(change: Callable[[Talk], Talk]) -> bool:
    """Change the selected talk; the app's own talk is copied first."""
    state = st.session_state
    shown, mark = shown_talk(), state["talk"]
    if shown is None:
        return False
    state.pop(UNDO, None)
    if not mark:
        mark, shown = secrets.token_hex(4), replace(shown, title=f"{shown.title}, my version")
    if not put(mark, change(shown)):
        return False
    state["talk"] = mark
    state.pop(EDITING, None)
    return True


def start(new: Talk) -> bool:
    """Add a talk and select it; false if there is no room for it."""
    mark = secrets.token_hex(4)
    if not put(mark, new):
        return False
    turn_to(mark)
    return True


def turn_to(mark: str) -> None:
    """Select a talk."""
    state = st.session_state
    state["talk"], state["scene"] = mark, 0
    state.pop(EDITING, None)
    state[STALE] = True
