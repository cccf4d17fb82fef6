"""The stage: a page as it is shown in a talk, with nothing but its picture.

In a run of the app, the router calls `begin` before anything is shown. The sentence bar and the
page then set the foot's texts (`name`, `say`) and what keys change (`offer`). `show_foot` ends the
run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz.browser.kept import Kept
from viz.browser.stage import STAGE, handle_presses, stage_foot
from viz.draw import css, style, themes
from viz.draw.keys import Keys
from viz.draw.labels import visible
from viz.registry.pages import PRESENT
from viz.save.picture import Layout, Picture
from viz.shell import address
from viz.shell.stage_figure import for_stage
from viz.shell.theme import is_dark
from viz.shell.width import is_narrow, is_phone

LAST_HELP = "F: full screen · Esc: back"

PICTURE = Keys("picture")
TEXT = STAGE("text")
"""The keys of the containers of a picture and of a page that is read."""


@dataclass(frozen=True, slots=True)
class Step:
    """What two keys change: a value of the session, to the one before it or the one after it.

    Attributes:
        key: of the widget, and of the value in the session.
        options: all values in order.
        now: the present one; it may be a number between options, which then rise or fall.
        cycles: whether the first follows the last.
    """

    key: str
    options: Sequence[Any]
    now: Any
    cycles: bool = False

    def to(self, direction: int) -> Any:
        """The next value in a direction, 1 or -1; at an end the present one, else the first."""
        options = list(self.options)
        if self.now not in options:
            if not isinstance(self.now, int | float):
                return options[0]
            rises = options[0] < options[-1]
            ahead = [each for each in options if (each > self.now) == rises]
            behind = options[: len(options) - len(ahead)]
            beyond = ahead[:1] if direction > 0 else behind[-1:]
            return beyond[0] if beyond else self.now
        place = options.index(self.now) + direction
        if self.cycles:
            return options[place % len(options)]
        return options[max(0, min(place, len(options) - 1))]


@dataclass(slots=True)
class _Cue:
    """What a run of the page sets for the stage."""

    source: str = ""
    translation: str = ""
    aside: str = ""
    languages: tuple[str, str] = ("", "")
    shown: str | None = None
    help: dict[tuple[str, ...], str] = field(default_factory=dict)
    steps: dict[str, tuple[Step, int]] = field(default_factory=dict)
    scrolls: bool = False
    scene: Mapping[str, Any] | None = None


_CUE = Kept(STAGE("cue"), _Cue)
_STEPS: Kept[dict[str, tuple[Step, int]]] = Kept(STAGE("steps"), dict)
"""What keys change, with the direction, on the page shown last."""


def is_on() -> bool:
    """Whether this run shows a stage."""
    return address.now(PRESENT)


def begin() -> None:
    """Decide whether this run shows a stage, and style the page; before anything is shown."""
    address.open_address([PRESENT])
    _CUE.value = _Cue()
    # In one piece, since a second one would move what follows and draw it again.
    dark = is_dark()
    stage_css = css.stage_css(themes.stage(dark)) if is_on() else ""
    st.html(css.PAGE_CSS + (css.DARK_PAGE_CSS if dark else "") + css.TOOLS_CSS + stage_css)


def show_button() -> None:
    """The button and the key to the stage and back."""
    st.button(
        "Present",
        key=STAGE("present"),
        icon=":material/slideshow:",
        shortcut="P",
        on_click=turn,
        args=(not is_on(),),
    )


def turn(on: bool) -> None:
    """Put the page on stage, or take it off."""
    address.put(PRESENT, on)


def picture() -> DeltaGenerator:
    """The container of what a stage shows; an ordinary one elsewhere."""
    # Always of this name: in a container of another name, its content would lose its state.
    return st.container(key=PICTURE())


def show(*pictures: tuple[Picture, str], narrow: bool = False) -> None:
    """Pictures beside each other, enlarged to fill the stage.

    Args:
        pictures: each with the key of its chart.
        narrow: whether each is laid out for a narrow place.
    """
    # Enlarged texts of a narrow picture would overlap.
    usual = is_phone() or is_narrow()
    dark, enlarged = is_dark(), 1.0 if usual else style.STAGE_ENLARGED
    with st.container(key=STAGE("figures"), horizontal=True, gap=None):
        for picture, key in pictures:
            figure = picture.figure(Layout(narrow=narrow, dark=dark))
            st.plotly_chart(
                for_stage(figure, dark=dark, times=enlarged),
                width="stretch",
                height="stretch",
                theme=None,
                key=STAGE(key),
                config={"displayModeBar": False, "scrollZoom": False},
                alt=picture.alt,
            )


def name(source: str, translation: str, languages: tuple[str, str] | None = None) -> None:
    """Name the sentence and its translation in the foot; any text.

    Args:
        languages: the codes of both, "" for an unknown one; None for those named before.
    """
    cue = _CUE.value
    cue.source, cue.translation = visible(source), visible(translation)
    cue.languages = cue.languages if languages is None else languages


def add(aside: str) -> None:
    """Add a text to the foot after the translation, such as the progress of the training."""
    _CUE.value.aside = aside


def say(shown: str) -> None:
    """Describe in the foot what is shown; otherwise the picture does."""
    _CUE.value.shown = shown


def name_scene(number: int, count: int, title: str, views: Sequence[Mapping[str, str]]) -> None:
    """Name a scene of a talk on the stage, with keys to the scenes beside it.

    Args:
        number: of the scene, counted from 1.
        title: plain text.
        views: the queries that show the scene; with any other, the stage says so.
    """
    _CUE.value.scene = {
        "number": number,
        "count": count,
        "title": title,
        "views": [dict(view) for view in views],
    }


def scene_views() -> Sequence[Mapping[str, str]]:
    """The queries that show the scene of the stage; none without a scene."""
    scene = _CUE.value.scene
    return scene["views"] if scene else ()


def offer(
    help: str,
    *,
    across: Step | None = None,
    down: Step | None = None,
    training: Step | None = None,
    more: Mapping[str, Step] | None = None,
    scrolls: bool = False,
) -> None:
    """Define what keys do on this page; offers add up within a run, and a key does the last one.

    Args:
        help: the keys in a few words, such as "Left and right: head"; "" for none.
        across: for the left and right arrows.
        down: for the up and down arrows.
        training: for [ and ].
        more: by key, a small letter.
    """
    cue = _CUE.value
    cue.scrolls = cue.scrolls or scrolls
    steps: dict[str, tuple[Step, int]] = {}
    pairs = (
        (across, "ArrowLeft", "ArrowRight"),
        (down, "ArrowUp", "ArrowDown"),
        (training, "[", "]"),
    )
    for step, before, after in pairs:
        if step is not None:
            steps |= {before: (step, -1), after: (step, 1)}
    steps |= {key: (step, 1) for key, step in (more or {}).items()}
    cue.steps |= steps
    if help:
        cue.help[tuple(steps) or (help,)] = help


def show_foot() -> None:
    """The foot of the stage and the way back; at the end of a run."""
    if not is_on():
        return
    cue = _CUE.value
    # Only now: a run that a quick press interrupts keeps the steps of the run before.
    _STEPS.value = cue.steps
    stage_foot(
        source=cue.source,
        translation=cue.translation,
        aside=cue.aside,
        languages=cue.languages,
        shown=cue.shown,
        help=" · ".join([*cue.help.values(), LAST_HELP]),
        keys=list(cue.steps),
        scrolls=cue.scrolls,
        scene=cue.scene,
        on_press=partial(handle_presses, press),
    )
    st.button(
        "Back",
        key=STAGE("leave"),
        icon=":material/close:",
        type="tertiary",
        shortcut="Escape",
        on_click=turn,
        args=(False,),
    )


def press(key: str) -> None:
    """Do what a key does on the page shown last."""
    steps = _STEPS.value
    if key not in steps:
        return
    step, direction = steps[key]
    value = step.to(direction)
    st.session_state[step.key] = value
    # Another press of the same message goes on from here.
    for other, (each, way) in steps.items():
        if each is step:
            steps[other] = (replace(step, now=value), way)
