"""The talks of this session: the one that is selected, its scenes, and changes to it."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from model.files import reason
from model.trace.attention_map import AttentionKind
from viz.browser.kept import Kept, nothing
from viz.draw.keys import Keys
from viz.heads.view import VIEW as HEADS
from viz.links.parameters import Parameter
from viz.registry.pages import CHECKPOINT, HOME, PRESENT, READ, SCENE, SENTENCE, TALK, VIEWS, names
from viz.shell import address, stage
from viz.talk import scenes, talk_files, talk_reader
from viz.talk.ready import ready_talk
from viz.talk.scenes import Scene, Talk, TalkError

MAX_TALKS = 50
"""The most talks that one browser keeps."""

KEYS = Keys("talks")

KEEP: Kept[dict[str, str | None]] = Kept(KEYS("keep"), dict)
HEARD, STALE = Kept(KEYS("heard"), bool), Kept(KEYS("stale"), bool)
"""What the browser is to keep, whether it has said what it keeps, and whether the page has yet to
show a change."""

NOTICE = Kept(KEYS("notice"), str)
EDITING: Kept[int | None] = Kept(KEYS("editing"), nothing)
UNDO: Kept[tuple[str, Talk, int] | None] = Kept(KEYS("undo"), nothing)
"""A notice; the number of the scene that is edited, 0 for the talk; and what was deleted, with its
mark and the scene that was shown."""

_OWN: Kept[dict[str, Talk]] = Kept(KEYS("own"), dict)


def own_talks() -> dict[str, Talk]:
    """The person's own talks, by their marks."""
    return _OWN.value


def shown_talk() -> Talk | None:
    """The selected talk; None until this browser has said whether it keeps it."""
    mark = address.now(TALK)
    if not mark:
        return ready_talk()
    if mark in own_talks():
        return own_talks()[mark]
    if not HEARD.value:
        return None
    # A link from somebody else: it opens their view, but their talk stays with them.
    address.note(
        "talk",
        f"The talk {mark} of this link is not kept {place_of_talks()}, so the view is shown "
        "without it. The person who sent the link can also send you the talk's file.",
    )
    select("", 0)
    address.put(READ, False)
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
    return address.now(READ) and not stage.is_on()


def read_ready_talk() -> None:
    """Start reading the app's own talk."""
    address.put(TALK, "")
    go(1, read=True)


def leave_reading() -> None:
    """Show the same view as an ordinary page in the next run."""
    address.put(READ, False)
    address.put(SCENE, 0)


def go(number: int, *, present: bool = False, read: bool = False) -> None:
    """Show a scene of the selected talk in the next run.

    On stage, or as a reading, if that is asked for or already so.
    """
    shown = shown_talk()
    scene = shown.scene(number) if shown else None
    if scene is None:
        return
    query = dict(scene.view) | {SCENE.name: str(number)}
    if mark := address.now(TALK):
        query[TALK.name] = mark
    if present or stage.is_on():
        query[PRESENT.name] = "1"
    if read or (address.now(READ) and not present):
        query[READ.name] = "1"
    address.navigate(scene.page, query)


def present_view() -> Scene:
    """The present view as a scene with a suggested title."""
    path, query = address.current()
    page = path or HOME
    view = {name: value for name, value in query.items() if name in names(page)}
    # Their defaults may change, but a scene must stay the same.
    fixed: tuple[Parameter[Any], ...] = (SENTENCE, CHECKPOINT)
    for each in fixed:
        if each.name in names(page) and (value := address.now(each)):
            view[each.name] = value
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
    if changed is not None:
        try:
            changed = named_apart(mark, talk_reader.checked(changed))
        except TalkError as error:
            NOTICE.value = str(error)
            return False
        if mark not in own_talks() and len(own_talks()) >= MAX_TALKS:
            NOTICE.value = f"At most {MAX_TALKS} talks are kept; delete one first."
            return False
        own_talks()[mark] = changed
    else:
        own_talks().pop(mark, None)
    text = scenes.write(changed) if changed else None
    if folder := talk_files.folder():
        try:
            talk_files.store(folder, mark, text)
        except OSError as error:
            NOTICE.value = (
                f"{folder} could not be written ({reason(error)}), so this change is lost when "
                "the window closes: download the talk."
            )
    else:
        KEEP.value |= {mark: text}
    STALE.value = True
    return True


def named_apart(mark: str, named: Talk) -> Talk:
    """The talk, under a title that no other talk has."""
    others = {other.title for each, other in own_talks().items() if each != mark}
    return replace(named, title=scenes.apart(named.title, {ready_talk().title, *others}))


def change(change: Callable[[Talk], Talk]) -> bool:
    """Change the selected talk; the app's own talk is copied first."""
    shown, mark = shown_talk(), address.now(TALK)
    if shown is None:
        return False
    UNDO.value = None
    if not mark:
        mark, shown = secrets.token_hex(4), replace(shown, title=f"{shown.title}, my version")
    if not put(mark, change(shown)):
        return False
    address.put(TALK, mark)
    EDITING.value = None
    return True


def start(new: Talk) -> bool:
    """Add a talk and select it; false if there is no room for it."""
    mark = secrets.token_hex(4)
    if not put(mark, new):
        return False
    turn_to(mark)
    return True


def select(mark: str, scene: int) -> None:
    """Let a talk and one of its scenes be the present ones."""
    address.put(TALK, mark)
    address.put(SCENE, scene)


def turn_to(mark: str) -> None:
    """Select a talk."""
    select(mark, 0)
    EDITING.value = None
    STALE.value = True
