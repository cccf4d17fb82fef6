"""The panel with the scenes of a talk: save a view, order scenes, step through them."""

from dataclasses import replace
from functools import partial

import streamlit as st

from viz.browser.focus import bring_focus, focus_on
from viz.browser.kept import Kept, nothing
from viz.browser.speaker import moved_scene, notes_button, scene_handles
from viz.draw import css
from viz.draw.labels import escape_markdown, visible
from viz.registry.pages import SCENE, TALK
from viz.service.model_menu import checkpoints_if_any
from viz.shell import address, save_menu, stage
from viz.shell.fragments import fragment
from viz.shell.width import is_phone
from viz.talk import scenes, take_home, talk_reader
from viz.talk.own_talks import (
    EDITING,
    KEYS,
    NOTICE,
    STALE,
    UNDO,
    change,
    go,
    own_talks,
    place_of_talks,
    present_view,
    put,
    select,
    shown_talk,
    start,
    turn_to,
)
from viz.talk.ready import ready_talk
from viz.talk.scenes import Scene, Talk, TalkError

SAVE_VIEW = "Save this view as a scene"

NEW, COPY = "new", "copy"
"""Where to save the first scene while the app's own talk is selected."""

SCENES = KEYS("button")

_UPLOAD = Kept(KEYS("upload"), int)
_DRAFT: Kept[Scene | None] = Kept(KEYS("draft"), nothing)
_MOVES = Kept(KEYS("moves"), int)
"""The number of moves handled so far."""

_CHOICE: Kept[tuple[int, str]] = Kept(KEYS("choice"), lambda: (0, address.now(TALK)))
"""The number of the field that selects a talk, and the talk that it shows."""


@fragment
def show_scenes() -> None:
    """Show a button that opens the scenes of a talk."""
    # A fragment runs alone, but another view or a changed talk affects the whole page. This comes
    # first: the browser is sent a widget's new value only once, and this run's would be lost.
    if address.is_navigating() or STALE.take():
        st.rerun()
    if stage.is_on():
        # An open panel would cover the picture and take the first Escape.
        st.session_state[SCENES] = False
    panel = st.popover("Scenes", icon=":material/animated_images:", key=SCENES, on_change=_turned)
    if panel.open:
        with panel, st.container(gap="small", key=KEYS("panel")):
            st.html(f"<style>{css.SCENES_CSS}</style>")
            _show_panel()
            bring_focus()
    else:
        _DRAFT.value = None


def _turned() -> None:
    # Streamlit puts the panel at the end of the page and leaves the focus where it was.
    if st.session_state[SCENES]:
        focus_on(KEYS("present"))


def _draft() -> None:
    """Ask for a title and a note before the present view becomes a scene."""
    _DRAFT.value = present_view()
    focus_on(KEYS("draft", "title"))
    EDITING.value = None


def _drop_draft() -> None:
    if _DRAFT.take():
        focus_on(KEYS("save"))


def _save() -> None:
    """Save the draft as the last scene of the selected talk, or the first of a new one."""
    draft, state = _DRAFT.value, st.session_state
    if draft is None:
        return
    title, note = state[KEYS("draft", "title")].strip(), state[KEYS("draft", "note")]
    drafted = replace(draft, title=title, note=note)
    if state.get(KEYS("draft-into")) == NEW:
        saved = start(Talk("My talk", (drafted,)))
    else:
        saved = change(lambda before: before.added(drafted))
    if saved:
        address.put(SCENE, len(own_talks()[address.now(TALK)].scenes))
        _drop_draft()


def _choose(number: int) -> None:
    if number == _CHOICE.value[0]:
        chosen = st.session_state[KEYS("choice", number)]
        _CHOICE.value = number, chosen
        turn_to(chosen)


def _new() -> None:
    start(Talk("My talk"))


def _do_to_talk() -> None:
    match st.session_state[KEYS("menu")]:
        case "Rename":
            EDITING.value = 0
            focus_on(KEYS("edit", 0, "title"))
        case "Delete":
            mark = address.now(TALK)
            if mark in own_talks():
                UNDO.value = mark, own_talks()[mark], address.now(SCENE)
                put(mark, None)
                select("", 0)
                focus_on(KEYS("undo"))


def _do_to_scene(number: int) -> None:
    shown, current = shown_talk(), address.now(SCENE)
    if shown is None or shown.scene(number) is None:
        return
    _drop_draft()
    match st.session_state[KEYS("scene", number)]:
        case "Edit":
            EDITING.value = number
            focus_on(KEYS("edit", number, "title"))
        case "Move up" | "Move down" as way:
            _move(number, number + (1 if way == "Move down" else -1))
        case "Take this view":
            old = shown.scenes[number - 1]
            new = replace(present_view(), title=old.title, note=old.note)
            change(lambda before: before.with_scene(number, new))
        case "Delete":
            if change(lambda before: before.without(number)):
                mark = address.now(TALK)
                before = replace(shown, title=own_talks()[mark].title)
                UNDO.value = mark, before, current
                if current >= number:
                    address.put(SCENE, current - 1)
                focus_on(KEYS("undo"))


def _move(number: int, to: int) -> None:
    """Move a scene; the current scene stays marked."""
    shown, current = shown_talk(), address.now(SCENE)
    if shown is None or number == to or not (shown.scene(number) and shown.scene(to)):
        return
    order = list(range(1, len(shown.scenes) + 1))
    order.insert(to - 1, order.pop(number - 1))
    if change(lambda before: before.moved(number, to)) and current in order:
        address.put(SCENE, order.index(current) + 1)


def _on_moved() -> None:
    _MOVES.value += 1
    if moved := moved_scene(KEYS("handles")):
        _move(*moved)


def _undo() -> None:
    if UNDO.value is None:
        return
    mark, before, scene = UNDO.value
    if put(mark, before):
        select(mark, scene)
        UNDO.value = None


def _take_text(number: int) -> None:
    """Save the edited text of a scene, or of the talk for number 0."""
    state = st.session_state
    title = state[KEYS("edit", number, "title")].strip()
    if number:
        note = state[KEYS("edit", number, "note")]
        changed = change(lambda before: before.with_text(number, title, note))
    else:
        changed = change(lambda before: replace(before, title=title))
    if changed:
        _return_from(number)


def _return_from(number: int) -> None:
    """Return the focus to the menu of a scene, or of the talk for number 0."""
    focus_on(KEYS("scene", number) if number else KEYS("menu"))


def _open_file() -> None:
    """Open a file; if something is wrong with it, say what."""
    file = st.session_state[_upload_key()]
    if file is None:
        return
    try:
        opened = talk_reader.parse(file.getvalue())
    except TalkError as error:
        NOTICE.value = str(error)
    else:
        talks = {"": ready_talk()} | own_talks()
        there = [mark for mark, each in talks.items() if scenes.is_same(each, opened)]
        if there:
            turn_to(there[0])
            NOTICE.value = f"“{talks[there[0]].title}” is already in your list; it is selected now."
        else:
            start(opened)
    # A new key makes a new, empty field.
    _UPLOAD.value += 1


def _upload_key() -> str:
    return KEYS("file", _UPLOAD.value)


def _show_panel() -> None:
    shown = shown_talk()
    if shown is None:
        st.info("Loading the talk from this browser.", icon=":material/hourglass_empty:")
        return
    _show_choice()
    if notice := NOTICE.take():
        st.warning(escape_markdown(notice), icon=":material/warning:")
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Present from scene 1",
            icon=":material/slideshow:",
            type="primary",
            key=KEYS("present"),
            disabled=not shown.scenes,
            on_click=go,
            args=(1,),
            kwargs={"present": True},
        )
        st.button(
            "Read",
            icon=":material/menu_book:",
            key=KEYS("read"),
            disabled=not shown.scenes,
            help="Opens each scene with its note below, to read at your own pace.",
            on_click=go,
            args=(1,),
            kwargs={"read": True},
        )
        notes_button(key=KEYS("notes"))
    if draft := _DRAFT.value:
        _show_draft(draft, shown)
    else:
        st.button(
            SAVE_VIEW,
            icon=":material/add:",
            key=KEYS("save"),
            width="stretch",
            help="Give it a title and a note; it becomes the last scene of the talk.",
            on_click=_draft,
        )
    editing = EDITING.value
    if editing and (scene := shown.scene(editing)):
        _show_editing(editing, scene.title, scene.note)
    _show_list(shown)
    if UNDO.value is not None:
        st.button("Undo the deletion", icon=":material/undo:", key=KEYS("undo"), on_click=_undo)
    _show_file(shown)


def _show_choice() -> None:
    own = own_talks()
    titles = {"": ready_talk().title} | {mark: talk.title for mark, talk in own.items()}
    mark = address.now(TALK)
    number, chosen = _CHOICE.value
    if chosen != mark:
        # A new field. With every message the browser sends all values; the old field's value may be
        # the previous talk, which would then be selected again.
        number += 1
    _CHOICE.value = number, mark
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.selectbox(
            "Talk",
            list(titles),
            list(titles).index(mark),
            key=KEYS("choice", number),
            format_func=lambda mark: visible(titles[mark]),
            label_visibility="collapsed",
            on_change=_choose,
            args=(number,),
        )
        st.button(
            "New talk",
            icon=":material/add:",
            key=KEYS("new"),
            on_click=_new,
        )
        st.menu_button(
            "Edit talk",
            ["Rename", "Delete"] if mark in own else ["Rename"],
            key=KEYS("menu"),
            icon=":material/more_vert:",
            on_click=_do_to_talk,
        )
    if EDITING.value == 0:
        _show_editing(0, titles[mark], "")


def _show_list(shown: Talk) -> None:
    """All scenes, each with its menu."""
    if not shown.scenes:
        st.caption("No scene yet: save a view, and it becomes the first one.")
    with st.container(horizontal=True, gap=None, key=KEYS("order")):
        scene_handles(
            [visible(scene.title) for scene in shown.scenes],
            heard=_MOVES.value,
            key=KEYS("handles"),
            on_move=_on_moved,
        )
        with st.container(gap=None, key=KEYS("list")):
            for number, scene in enumerate(shown.scenes, 1):
                _show_row(number, scene, len(shown.scenes))


def _show_row(number: int, scene: Scene, count: int) -> None:
    is_current = address.now(SCENE) == number
    with st.container(
        horizontal=True, vertical_alignment="center", gap=None, key=KEYS("row", number)
    ):
        st.button(
            f"{number}\\. {escape_markdown(scene.title)}",
            key=KEYS("go", number),
            type="secondary" if is_current else "tertiary",
            width="stretch",
            on_click=go,
            args=(number,),
        )
        options = ["Edit", "Take this view", "Delete"]
        options[1:1] = [
            way for way, there in (("Move up", number > 1), ("Move down", number < count)) if there
        ]
        st.menu_button(
            f"Change scene {number}",
            options,
            key=KEYS("scene", number),
            type="tertiary",
            icon=":material/more_vert:",
            on_click=_do_to_scene,
            args=(number,),
        )


def _show_draft(draft: Scene, shown: Talk) -> None:
    """The fields of a draft."""
    with st.container(border=True, gap="small"):
        _show_fields("draft", "Title of the scene", draft.title, "")
        if not address.now(TALK):
            into = {NEW: "A new talk", COPY: f"A copy of “{shown.title}”"}
            st.radio(
                "Save it in",
                list(into),
                key=KEYS("draft-into"),
                format_func=lambda each: visible(into[each]),
            )
        with st.container(horizontal=True, gap="small"):
            st.button("Save scene", type="primary", key=KEYS("draft-save"), on_click=_save)
            st.button("Cancel", key=KEYS("draft-cancel"), on_click=_drop_draft)


def _show_fields(of: str, label: str, title: str, note: str | None) -> None:
    """The fields for a title and, unless None, a note."""
    st.text_input(label, title, key=KEYS(of, "title"), max_chars=scenes.MAX_TITLE)
    if note is not None:
        st.text_area(
            "Note, for the speaker and for readers",
            note,
            key=KEYS(of, "note"),
            max_chars=scenes.MAX_NOTE,
            height=160,
        )


def _show_editing(number: int, title: str, note: str) -> None:
    """The fields of a scene, or of the talk for number 0."""
    with st.container(border=True, gap="small"):
        label = f"Title of scene {number}" if number else "Title of the talk"
        _show_fields(f"edit-{number}", label, title, note if number else None)
        with st.container(horizontal=True, gap="small"):
            st.button("Done", type="primary", key=KEYS("done"), on_click=_take_text, args=(number,))
            st.button(
                "Cancel", key=KEYS("cancel"), on_click=lambda: _return_from(EDITING.take() or 0)
            )


def _show_take_home(shown: Talk | None, key: str) -> None:
    """The talk with its model as one page, if a page can run the model."""
    folder = take_home.model_of(shown, checkpoints_if_any()) if shown else None
    if shown is None or folder is None:
        return
    st.download_button(
        "Talk to take home",
        partial(take_home.take_home, shown, folder),
        file_name=scenes.file_name(shown).removesuffix(".json") + ".html",
        mime="text/html",
        icon=":material/home:",
        key=KEYS(key, "home"),
        width="stretch",
        on_click="ignore",
        help=f"One page with the talk “{escape_markdown(visible(shown.title))}” and the model "
        f"{escape_markdown(visible(folder.name))}; it runs offline in any browser from 2023 on.",
    )


save_menu.ALSO[:] = [lambda key: _show_take_home(shown_talk(), key)]


def _show_file(shown: Talk) -> None:
    st.download_button(
        "Download the talk",
        scenes.write(shown),
        file_name=scenes.file_name(shown),
        mime="application/json",
        icon=":material/download:",
        key=KEYS("download"),
        width="stretch",
        on_click="ignore",
    )
    _show_take_home(shown, "panel")
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
    st.caption(f"Your talks stay {place_of_talks()}. On stage, {steps}")
