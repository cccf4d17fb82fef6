"""The scenes of a talk: save a view, order scenes, step through them."""

from __future__ import annotations

import functools
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from model.trace.attention_map import AttentionKind
from viz.browser.focus import bring_focus, focus_on
from viz.browser.messages import message_of
from viz.browser.speaker import moved_scene, notes_button, scene_handles, talk
from viz.draw import css
from viz.draw.labels import escape_markdown, visible
from viz.heads.view import VIEW as HEADS
from viz.registry.pages import HOME, MARK, PRESENT, READ, SCENE, TALK, VIEWS, names
from viz.shell import address, stage
from viz.shell.fragments import fragment
from viz.shell.width import is_phone
from viz.talk import scenes, talk_files
from viz.talk.scenes import Scene, Talk, TalkError

READY = Path(__file__).with_name("talks") / "attention-in-eleven-scenes.json"
"""The talk that comes with the app."""

SAVE_VIEW = "Save this view as a scene"

MAX_TALKS = 50
"""The most talks that one browser keeps."""

NEW, COPY = "new", "copy"
"""Where to save the first scene while the app's own talk is selected."""

_TALKS, _KEEP, _VISIT, _HEARD = "_talks", "_talks_to_keep", "_talks_visit", "_talks_heard"
_STALE, _NOTICE, _EDITING, _UNDO = "_talks_stale", "_talks_notice", "_talks_editing", "_talks_undo"
_UPLOAD, _DRAFT, _SETTLED = "_talks_upload", "_talks_draft", "_talks_settled"
_MOVES, _WENT = "_talks_moves", "_talks_went"
"""The number of moves handled so far, and the number of the last step to a scene."""

_CHOICE = "_talks_choice"
"""The number of the field that selects a talk, and the talk that it shows."""


def show_talk() -> None:
    """Add a talk's keys and notes to every page, and on stage the scene's title.

    Call it once a run, after the stage has begun.
    """
    state = st.session_state
    address.open_address((SCENE, TALK, READ))
    # This run tells the browser what a callback in the panel has changed.
    state.pop(_STALE, None)
    state.setdefault(_VISIT, secrets.token_hex(4))
    if not state.get(_HEARD) and (folder := talk_files.folder()):
        _on_message(talk_files.read(folder, MAX_TALKS, scenes.MAX_BYTES), str(folder))
    shown = _shown()
    if shown and state["scene"] > len(shown.scenes):
        address.note("scene", _no_such_scene(state["scene"], shown))
        state["scene"] = 0
    scene = shown.scene(state["scene"]) if shown else None
    following = shown.scene(state["scene"] + 1) if shown else None
    talk(
        {
            "visit": state[_VISIT],
            "on": stage.is_on(),
            "read": is_reading(),
            "number": state["scene"] if scene else 0,
            "count": len(shown.scenes) if shown else 0,
            "title": visible(scene.title) if scene else "",
            "note": scene.note if scene else "",
            "next": _next_scene(following) if following else None,
            "heard": state.get(_WENT, 0),
            "keep": state.get(_KEEP, {}),
            "waiting": shown is None,
        },
        key="talk-keys",
        on_go=_on_go,
        on_look=_on_look,
        on_kept=_on_kept,
        on_full=_on_full,
    )
    # Always there: a container that comes and goes redraws everything after it.
    with st.container(key="scene-room"):
        makes_room = stage.is_on() and scene
        st.html(f"<style>{css.SCENE_TITLE_CSS}</style>" if makes_room else "<span hidden></span>")


def title_scene() -> None:
    """Name the scene on stage while its view is shown; call it after the page."""
    state = st.session_state
    shown, number = _shown(), state["scene"]
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
            state[_SETTLED] = state["talk"], number, of_page(settled)
        match state.get(_SETTLED):
            case (mark, place, view) if (mark, place) == (state["talk"], number):
                views.append(view)
    stage.name_scene(number, len(shown.scenes), visible(scene.title), views)


@fragment
def show_scenes() -> None:
    """Show a button that opens the scenes of a talk."""
    # A fragment runs alone, but another view or a changed talk affects the whole page. This comes
    # first: the browser is sent a widget's new value only once, and this run's would be lost.
    if address.is_navigating() or st.session_state.pop(_STALE, False):
        st.rerun()
    if stage.is_on():
        # An open panel would cover the picture and take the first Escape.
        st.session_state["scenes"] = False
    panel = st.popover("Scenes", icon=":material/animated_images:", key="scenes", on_change=_turned)
    if panel.open:
        with panel, st.container(gap="small", key="scenes-panel"):
            st.html(f"<style>{css.SCENES_CSS}</style>")
            _show_panel()
            bring_focus()
    else:
        st.session_state.pop(_DRAFT, None)


def _turned() -> None:
    # Streamlit puts the panel at the end of the page and leaves the focus where it was.
    if st.session_state["scenes"]:
        focus_on("talk-present")


@functools.cache
def ready_talk() -> Talk:
    """The talk that comes with the app."""
    return scenes.parse(READY.read_bytes())


# ---- which talk, which scene ---------------------------------------------------------------------


def _own() -> dict[str, Talk]:
    """The person's own talks, by their marks."""
    talks: dict[str, Talk] = st.session_state.setdefault(_TALKS, {})
    return talks


def _shown() -> Talk | None:
    """The selected talk; None until this browser has said whether it keeps it."""
    state = st.session_state
    mark = state["talk"]
    if not mark:
        return ready_talk()
    if mark in _own():
        return _own()[mark]
    if not state.get(_HEARD):
        return None
    # A link from somebody else: it opens their view, but their talk stays with them.
    address.note(
        "talk",
        f"The talk {mark} of this link is not kept {_place()}, so the view is shown without it. "
        "The person who sent the link can also send you the talk's file.",
    )
    state["talk"], state["scene"], state[READ.name] = "", 0, False
    return ready_talk()


def _no_such_scene(number: int, shown: Talk) -> str:
    count = len(shown.scenes)
    there = f"has the scenes 1 to {count}" if count else "has no scenes"
    return f"This talk {there} but no scene {number}; the view is shown without one."


def _place() -> str:
    """Where a person's talks are kept."""
    return "on this computer" if talk_files.folder() else "in this browser"


def shown_talk() -> Talk | None:
    """The selected talk; None until this browser has said whether it keeps it."""
    return _shown()


def is_reading() -> bool:
    """Whether a talk is being read, not presented."""
    return bool(st.session_state.get(READ.name)) and not stage.is_on()


def read_ready_talk() -> None:
    """Start reading the app's own talk."""
    st.session_state["talk"] = ""
    _go(1, read=True)


def leave_reading() -> None:
    """Show the same view as an ordinary page in the next run."""
    st.session_state[READ.name], st.session_state["scene"] = False, 0


def _go(number: int, *, present: bool = False, read: bool = False) -> None:
    """Show a scene of the selected talk in the next run.

    On stage, or as a reading, if that is asked for or already so.
    """
    shown = _shown()
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


def _next_scene(scene: Scene) -> dict[str, Any]:
    """The next scene for the window with the notes."""
    return {
        "title": visible(scene.title),
        "note": scene.note,
        "page": "" if scene.page == HOME else scene.page,
        "view": dict(scene.view),
    }


def _here() -> Scene:
    """The present view as a scene with a suggested title."""
    path, query = address.current()
    page = path or HOME
    view = {name: value for name, value in query.items() if name in names(page)}
    # Their defaults may change, but a scene must stay the same.
    for name in ("sentence", "checkpoint"):
        if name in names(page) and st.session_state.get(name):
            view[name] = str(st.session_state[name])
    return Scene(_suggested(page, view), "", page, view)


def _suggested(page: str, view: Mapping[str, str]) -> str:
    """A short title for a view."""
    if page == HEADS.name:
        names = {str(kind): kind.full_name for kind in AttentionKind}
        kind = names.get(view.get("attention", str(AttentionKind.CROSS)), "All attention")
        if "compare" in view:
            return f"{kind}, {view['compare'].count('-') + 1} heads"
        return f"{kind}, layer {view['layer']}, head {view['head']}" if "layer" in view else kind
    part = view.get("part") or view.get("topic")
    return f"{VIEWS[page].title}: {part}" if part else VIEWS[page].title


# ---- messages of the browser ---------------------------------------------------------------------


def _on_go() -> None:
    state = st.session_state
    match message_of("talk-keys", "go"):
        # While the talk is not known yet, the browser goes on telling.
        case [int(move), int(number)] if move > state.get(_WENT, 0) and _shown() is not None:
            # True counts as a number. It is heard only when it is made: a newer message may end
            # this between the two, and the browser asks again for what was not heard.
            _go(int(number))
            state[_WENT] = int(move)


def _on_look() -> None:
    """Show a view on stage in the window with the notes, beside the next note."""
    asked = message_of("talk-keys", "look")
    page, view = (asked.get("page"), asked.get("view")) if isinstance(asked, dict) else (None, None)
    if not isinstance(page, str) or (page or HOME) not in VIEWS or not isinstance(view, dict):
        return
    known = names(page or HOME)
    query = {name: text for name, text in view.items() if name in known and isinstance(text, str)}
    address.navigate(page, query | {PRESENT.name: "1"})


def _on_kept() -> None:
    """Load the talks that this browser kept."""
    kept = message_of("talk-keys", "kept")
    talks = [
        (pair[0], pair[1].encode("utf-8", "surrogatepass"))
        for pair in (kept[:MAX_TALKS] if isinstance(kept, list) else ())
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, str) for each in pair)
    ]
    _on_message(talks, "this browser")


def _on_message(kept: Sequence[tuple[str, bytes]], where: str) -> None:
    """Load talks; name what is no talk, and leave it where it is."""
    st.session_state[_HEARD] = True
    unreadable = 0
    for mark, text in kept:
        if not re.fullmatch(MARK, mark):
            continue
        try:
            read = scenes.parse(text)
        except TalkError:
            unreadable += 1
            continue
        # What was changed in this session is newer than what was kept.
        if mark not in _own():
            _own()[mark] = _named_apart(mark, read)
    if unreadable:
        st.session_state[_NOTICE] = (
            f"{unreadable} of the talks kept in {where} cannot be read and are not shown; "
            "they stay where they are."
        )


def _on_full() -> None:
    st.session_state[_NOTICE] = (
        "This browser has no room for the talk, so it is lost when you close the page: download it."
    )


# ---- changes -------------------------------------------------------------------------------------


def _put(mark: str, changed: Talk | None) -> bool:
    """Keep a talk as it is now, also for the next visit; whether it is one that can be kept."""
    state = st.session_state
    if changed is not None:
        try:
            changed = _named_apart(mark, scenes.checked(changed))
        except TalkError as error:
            state[_NOTICE] = str(error)
            return False
        if mark not in _own() and len(_own()) >= MAX_TALKS:
            state[_NOTICE] = f"At most {MAX_TALKS} talks are kept; delete one first."
            return False
        _own()[mark] = changed
    else:
        _own().pop(mark, None)
    text = scenes.write(changed) if changed else None
    if folder := talk_files.folder():
        try:
            talk_files.store(folder, mark, text)
        except OSError as error:
            state[_NOTICE] = (
                f"{folder} could not be written ({error.strerror}), so this change is lost when "
                "the window closes: download the talk."
            )
    else:
        state[_KEEP] = state.get(_KEEP, {}) | {mark: text}
    state[_STALE] = True
    return True


def _named_apart(mark: str, named: Talk) -> Talk:
    """The talk, under a title that no other talk has."""
    others = {other.title for each, other in _own().items() if each != mark}
    return replace(named, title=scenes.apart(named.title, {ready_talk().title, *others}))


def _change(change: Callable[[Talk], Talk]) -> bool:
    """Change the selected talk; the app's own talk is copied first."""
    state = st.session_state
    shown, mark = _shown(), state["talk"]
    if shown is None:
        return False
    state.pop(_UNDO, None)
    if not mark:
        mark, shown = secrets.token_hex(4), replace(shown, title=f"{shown.title}, my version")
    if not _put(mark, change(shown)):
        return False
    state["talk"] = mark
    state.pop(_EDITING, None)
    return True


def _draft() -> None:
    """Ask for a title and a note before the present view becomes a scene."""
    st.session_state[_DRAFT] = _here()
    focus_on("talk-draft-title")
    st.session_state.pop(_EDITING, None)


def _drop_draft() -> None:
    if st.session_state.pop(_DRAFT, None):
        focus_on("talk-save")


def _save() -> None:
    """Save the draft as the last scene of the selected talk, or the first of a new one."""
    state = st.session_state
    title, note = state["talk-draft-title"].strip(), state["talk-draft-note"]
    drafted: Scene = replace(state[_DRAFT], title=title, note=note)
    if state.get("talk-draft-into") == NEW:
        saved = _start(Talk("My talk", (drafted,)))
    else:
        saved = _change(lambda before: before.added(drafted))
    if saved:
        state["scene"] = len(_own()[state["talk"]].scenes)
        _drop_draft()


def _choose(number: int) -> None:
    if number == st.session_state[_CHOICE][0]:
        chosen = st.session_state[_choice_key(number)]
        st.session_state[_CHOICE] = number, chosen
        _turn_to(chosen)


def _choice_key(number: int) -> str:
    return f"talk-choice-{number}"


def _start(new: Talk) -> bool:
    """Add a talk and select it; false if there is no room for it."""
    mark = secrets.token_hex(4)
    if not _put(mark, new):
        return False
    _turn_to(mark)
    return True


def _new() -> None:
    _start(Talk("My talk"))


def _turn_to(mark: str) -> None:
    """Select a talk."""
    state = st.session_state
    state["talk"], state["scene"] = mark, 0
    state.pop(_EDITING, None)
    state[_STALE] = True


def _do_to_talk() -> None:
    state = st.session_state
    match state["talk-menu"]:
        case "Rename":
            state[_EDITING] = 0
            focus_on("talk-edit-0-title")
        case "Delete":
            mark = state["talk"]
            if mark in _own():
                state[_UNDO] = mark, _own()[mark], state["scene"]
                _put(mark, None)
                state["talk"], state["scene"] = "", 0
                focus_on("talk-undo")


def _do_to_scene(number: int) -> None:
    state = st.session_state
    shown, current = _shown(), state["scene"]
    if shown is None or shown.scene(number) is None:
        return
    _drop_draft()
    match state[f"talk-scene-{number}"]:
        case "Edit":
            state[_EDITING] = number
            focus_on(f"talk-edit-{number}-title")
        case "Move up" | "Move down" as way:
            _move(number, number + (1 if way == "Move down" else -1))
        case "Take this view":
            old = shown.scenes[number - 1]
            new = replace(_here(), title=old.title, note=old.note)
            _change(lambda before: before.with_scene(number, new))
        case "Delete":
            if _change(lambda before: before.without(number)):
                before = replace(shown, title=_own()[state["talk"]].title)
                state[_UNDO] = state["talk"], before, current
                if current >= number:
                    state["scene"] = current - 1
                focus_on("talk-undo")


def _move(number: int, to: int) -> None:
    """Move a scene; the current scene stays marked."""
    state = st.session_state
    shown = _shown()
    if shown is None or number == to or not (shown.scene(number) and shown.scene(to)):
        return
    order = list(range(1, len(shown.scenes) + 1))
    order.insert(to - 1, order.pop(number - 1))
    if _change(lambda before: before.moved(number, to)) and state["scene"] in order:
        state["scene"] = order.index(state["scene"]) + 1


def _on_moved() -> None:
    st.session_state[_MOVES] = st.session_state.get(_MOVES, 0) + 1
    if moved := moved_scene("talk-handles"):
        _move(*moved)


def _undo() -> None:
    state = st.session_state
    mark, before, scene = state[_UNDO]
    if _put(mark, before):
        state["talk"], state["scene"] = mark, scene
        state.pop(_UNDO)


def _take_text(number: int) -> None:
    """Save the edited text of a scene, or of the talk for number 0."""
    state = st.session_state
    title = state[f"talk-edit-{number}-title"].strip()
    if number:
        note = state[f"talk-edit-{number}-note"]
        changed = _change(lambda before: before.with_text(number, title, note))
    else:
        changed = _change(lambda before: replace(before, title=title))
    if changed:
        _return_from(number)


def _leave_editing() -> None:
    _return_from(st.session_state.pop(_EDITING, 0))


def _return_from(number: int) -> None:
    """Return the focus to the menu of a scene, or of the talk for number 0."""
    focus_on(f"talk-scene-{number}" if number else "talk-menu")


def _open_file() -> None:
    """Open a file; if something is wrong with it, say what."""
    state = st.session_state
    file = state[_upload_key()]
    if file is None:
        return
    try:
        opened = scenes.parse(file.getvalue())
    except TalkError as error:
        state[_NOTICE] = str(error)
    else:
        talks = {"": ready_talk()} | _own()
        there = [mark for mark, each in talks.items() if scenes.is_same(each, opened)]
        if there:
            _turn_to(there[0])
            state[_NOTICE] = (
                f"“{talks[there[0]].title}” is already in your list; it is selected now."
            )
        else:
            _start(opened)
    # A new key makes a new, empty field.
    state[_UPLOAD] = state.get(_UPLOAD, 0) + 1


def _upload_key() -> str:
    return f"talk-file-{st.session_state.get(_UPLOAD, 0)}"


# ---- the panel -----------------------------------------------------------------------------------


def _show_panel() -> None:
    shown = _shown()
    if shown is None:
        st.info("Loading the talk from this browser.", icon=":material/hourglass_empty:")
        return
    _show_choice()
    if notice := st.session_state.pop(_NOTICE, None):
        st.warning(escape_markdown(notice), icon=":material/warning:")
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Present from scene 1",
            icon=":material/slideshow:",
            type="primary",
            key="talk-present",
            disabled=not shown.scenes,
            on_click=_go,
            args=(1,),
            kwargs={"present": True},
        )
        st.button(
            "Read",
            icon=":material/menu_book:",
            key="talk-read",
            disabled=not shown.scenes,
            help="Opens each scene with its note below, to read at your own pace.",
            on_click=_go,
            args=(1,),
            kwargs={"read": True},
        )
        notes_button(key="talk-notes")
    if draft := st.session_state.get(_DRAFT):
        _show_draft(draft, shown)
    else:
        st.button(
            SAVE_VIEW,
            icon=":material/add:",
            key="talk-save",
            width="stretch",
            help="Give it a title and a note; it becomes the last scene of the talk.",
            on_click=_draft,
        )
    editing = st.session_state.get(_EDITING)
    if editing and (scene := shown.scene(editing)):
        _show_editing(editing, scene.title, scene.note)
    _show_list(shown)
    if _UNDO in st.session_state:
        st.button("Undo the deletion", icon=":material/undo:", key="talk-undo", on_click=_undo)
    _show_file(shown)


def _show_choice() -> None:
    own = _own()
    titles = {"": ready_talk().title} | {mark: talk.title for mark, talk in own.items()}
    mark = st.session_state["talk"]
    number, chosen = st.session_state.get(_CHOICE, (0, mark))
    if chosen != mark:
        # A new field. With every message the browser sends all values; the old field's value may be
        # the previous talk, which would then be selected again.
        number += 1
    st.session_state[_CHOICE] = number, mark
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.selectbox(
            "Talk",
            list(titles),
            list(titles).index(mark),
            key=_choice_key(number),
            format_func=lambda mark: visible(titles[mark]),
            label_visibility="collapsed",
            on_change=_choose,
            args=(number,),
        )
        st.button(
            "New talk",
            icon=":material/add:",
            key="talk-new",
            on_click=_new,
        )
        st.menu_button(
            "Edit talk",
            ["Rename", "Delete"] if st.session_state["talk"] in own else ["Rename"],
            key="talk-menu",
            icon=":material/more_vert:",
            on_click=_do_to_talk,
        )
    if st.session_state.get(_EDITING) == 0:
        _show_editing(0, titles[st.session_state["talk"]], "")


def _show_list(shown: Talk) -> None:
    """All scenes, each with its menu."""
    if not shown.scenes:
        st.caption("No scene yet: save a view, and it becomes the first one.")
    with st.container(horizontal=True, gap=None, key="talk-order"):
        scene_handles(
            [visible(scene.title) for scene in shown.scenes],
            heard=st.session_state.get(_MOVES, 0),
            key="talk-handles",
            on_move=_on_moved,
        )
        with st.container(gap=None, key="talk-list"):
            for number, scene in enumerate(shown.scenes, 1):
                _show_row(number, scene, len(shown.scenes))


def _show_row(number: int, scene: Scene, count: int) -> None:
    is_current = st.session_state["scene"] == number
    with st.container(
        horizontal=True, vertical_alignment="center", gap=None, key=f"talk-row-{number}"
    ):
        st.button(
            f"{number}\\. {escape_markdown(scene.title)}",
            key=f"talk-go-{number}",
            type="secondary" if is_current else "tertiary",
            width="stretch",
            on_click=_go,
            args=(number,),
        )
        options = ["Edit", "Take this view", "Delete"]
        options[1:1] = [
            way for way, there in (("Move up", number > 1), ("Move down", number < count)) if there
        ]
        st.menu_button(
            f"Change scene {number}",
            options,
            key=f"talk-scene-{number}",
            type="tertiary",
            icon=":material/more_vert:",
            on_click=_do_to_scene,
            args=(number,),
        )


def _show_draft(draft: Scene, shown: Talk) -> None:
    """The fields of a draft."""
    with st.container(border=True, gap="small"):
        _show_fields("draft", "Title of the scene", draft.title, "")
        if not st.session_state["talk"]:
            into = {NEW: "A new talk", COPY: f"A copy of “{shown.title}”"}
            st.radio(
                "Save it in",
                list(into),
                key="talk-draft-into",
                format_func=lambda each: visible(into[each]),
            )
        with st.container(horizontal=True, gap="small"):
            st.button("Save scene", type="primary", key="talk-draft-save", on_click=_save)
            st.button("Cancel", key="talk-draft-cancel", on_click=_drop_draft)


def _show_fields(of: str, label: str, title: str, note: str | None) -> None:
    """The fields for a title and, unless None, a note."""
    st.text_input(label, title, key=f"talk-{of}-title", max_chars=scenes.MAX_TITLE)
    if note is not None:
        st.text_area(
            "Note, for the speaker and for readers",
            note,
            key=f"talk-{of}-note",
            max_chars=scenes.MAX_NOTE,
            height=160,
        )


def _show_editing(number: int, title: str, note: str) -> None:
    """The fields of a scene, or of the talk for number 0."""
    with st.container(border=True, gap="small"):
        label = f"Title of scene {number}" if number else "Title of the talk"
        _show_fields(f"edit-{number}", label, title, note if number else None)
        with st.container(horizontal=True, gap="small"):
            st.button("Done", type="primary", key="talk-done", on_click=_take_text, args=(number,))
            st.button("Cancel", key="talk-cancel", on_click=_leave_editing)


def _show_file(shown: Talk) -> None:
    st.download_button(
        "Download the talk",
        scenes.write(shown),
        file_name=scenes.file_name(shown),
        mime="application/json",
        icon=":material/download:",
        key="talk-download",
        width="stretch",
        on_click="ignore",
    )
    st.file_uploader(
        "Open a talk",
        type="json",
        key=_upload_key(),
        max_upload_size=1,
        on_change=_open_file,
        help="A file downloaded here; you may edit it by hand.",
    )
    steps = "swipe left for the next scene, right for the previous one."
    if not is_phone():
        steps = (
            "press Page Down or Space for the next scene, Page Up for the previous one, and 1 to 9 "
            "and 0 for the first ten."
        )
    st.caption(f"Your talks stay {_place()}. On stage, {steps}")
