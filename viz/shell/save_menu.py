"""The Save button below a picture: the picture as a file, as numbers, or as Python.

While the menu is closed, nothing is computed. A choice in it reruns only the menu, or the fragment
of the page that it is in.
"""

import math
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import streamlit as st

from model.checkpoints.shipped import CheckpointError
from model.trace.attention_map import TraceError
from viz.browser.kept import Kept, nothing
from viz.charts.chart import filling
from viz.draw import style
from viz.draw.keys import Keys
from viz.draw.labels import escape_markdown
from viz.save import browser, film, image, notebook, saving
from viz.save.formats import FILMS, FORMAT_NAMES, IMAGES, MIME, NUMBERS, ExportError
from viz.save.picture import Layout, Picture
from viz.service.questions import ModelQuestion, Question
from viz.shell import address, bar, fragments, stage, tab_row
from viz.shell.fragments import fragment
from viz.shell.theme import is_dark
from viz.shell.widgets import CAPTIONED, more
from viz.shell.width import is_narrow

WIDTH_NAMES: dict[str, str] = {
    "column": "One column, 85 mm",
    "two-columns": "Two columns, 174 mm",
    "slide": "Slide",
}

AT_ONCE = 60_000
"""Up to so many numbers are written at once, before anybody could ask."""

MOST_WRITTEN = 1_500_000
"""More numbers are not written as CSV or JSON: as text they would fill the server's memory."""

REFUSED = (CheckpointError, ExportError, IndexError, TraceError, ValueError)
"""The errors of figures and numbers, with a sentence for the person."""

MENU_WIDTH = 530
"""Pixels: room for every format side by side."""

RUN_SECONDS = 1.0
"""How long frames of a film are drawn before Cancel is heard."""

NEED_BROWSER = frozenset((*IMAGES, *FILMS))
"""What a browser on this machine draws."""

ALSO: list[Callable[[str], None]] = []
"""What every menu offers below the picture's file, given the menu's key."""

SAVE, KEEP, FILLS = Keys("save"), Keys("keep"), Keys("fills")

_USUAL: dict[str, Any] = {"format": "png", "width": "two-columns", "scale": 2, "dark": False}


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """A file, kept while picture and choices stay the same."""

    pictures: tuple[Picture, ...]
    asked: tuple[Any, ...]
    content: bytes


@dataclass(frozen=True, slots=True, eq=False)
class _Making:
    """A film under way: made in many short runs, between which Cancel is heard."""

    asked: tuple[Any, ...]
    key: str
    steps: Generator[float, None, bytes]

    def go_on(self, slot: Any) -> bytes:
        """Make some frames, then run again, unless someone cancels; or give the file."""
        with slot.container(horizontal=True, vertical_alignment="center"):
            bar = st.progress(0.0, "Making the film…")
            if st.button("Cancel", key=SAVE(self.key, "cancel"), type="tertiary"):
                self.give_up()
                st.rerun(scope="fragment")
        # A whole page cannot run again by itself; it makes the film in one run.
        end = time.monotonic() + (RUN_SECONDS if fragments.is_alone() else math.inf)
        try:
            while time.monotonic() < end:
                share = next(self.steps)
                bar.progress(share, f"Making the film: {style.percent(share)}")
        except StopIteration as done:
            self.give_up()
            made: bytes = done.value
            return made
        except BaseException:
            self.give_up()
            raise
        st.rerun(scope="fragment")

    def give_up(self) -> None:
        """Forget it."""
        self.steps.close()
        _MAKING.value = None


_CHOICES: Kept[dict[str, Any]] = Kept(SAVE("choices"), _USUAL.copy)
_MADE: Kept[_Made | None] = Kept(SAVE("made"), nothing)
_MAKING: Kept[_Making | None] = Kept(SAVE("making"), nothing)


def save_button(pictures: Sequence[Picture], key: str, *, question: Question | None = None) -> None:
    """The button that saves a picture; put it directly below.

    Args:
        pictures: what can be saved, the picture itself first; none shows nothing.
        question: of which model and sentence it is; None for the sentence bar's.
    """
    question = question or bar.opened()
    if pictures and question is not None and not stage.is_on():
        with tab_row.save_place():
            _offer(tuple(pictures), key, question)


def show_picture(
    picture: Picture,
    key: str,
    *,
    columns: int = 1,
    narrow: bool | None = None,
    after: str = "",
    further: str = "",
    question: Question | None = None,
    drawn: Picture | None = None,
    fills: bool = False,
) -> None:
    """A picture's figure with its caption and its Save button; on a stage, the figure alone.

    Args:
        columns: how many figures stand beside each other.
        narrow: whether the place is narrow, where that is known otherwise.
        after: more of the caption, in plain text.
        further: more of what stands behind *More*, in plain text.
        question: of which model it is; None for the sentence bar's.
        drawn: the picture whose figure is shown, if it is not the one that is saved.
        fills: whether it is a page's main picture: where it is not narrow, it is as high as the
            window leaves room, and has no title, since the page's tab says what it shows.
    """
    narrow = is_narrow(columns) if narrow is None else narrow
    if stage.is_on():
        stage.show((picture, key), narrow=narrow)
        return
    # Two quick clicks are two clicks, not a double click that redraws everything.
    config = style.CHART_CONFIG | ({"doubleClick": False} if drawn else {})
    figure = (drawn or picture).figure(Layout(narrow=narrow, dark=is_dark()))
    fills = fills and not narrow
    with st.container(key=FILLS(key)) if fills else nullcontext():
        st.plotly_chart(
            filling(figure) if fills else figure,
            width="stretch",
            height="stretch" if fills else "content",
            theme=None,
            key=key,
            config=config,
            alt=picture.alt,
        )
    caption = escape_markdown(picture.caption + after)
    captioned(caption, [picture], key, question=question, further=further)


def captioned(
    caption: str,
    pictures: Sequence[Picture],
    key: str,
    *,
    question: Question | None = None,
    further: str = "",
) -> None:
    """A picture's caption in Markdown; beside it what stands behind *More*, and `save_button`."""
    said = filter(None, [pictures[0].more if pictures else "", further.strip()])
    with st.container(horizontal=True, vertical_alignment="center", key=CAPTIONED(key)):
        st.caption(caption)
        if (paragraphs := [*map(escape_markdown, said)]) and not stage.is_on():
            more("\n\n".join(paragraphs), key)
        save_button(pictures, key, question=question)


@fragment
def _offer(pictures: tuple[Picture, ...], key: str, question: Question) -> None:
    with st.container(key=KEEP(key), width="content"):
        menu = st.popover(
            "Save",
            type="tertiary",
            icon=":material/download:",
            key=SAVE(key),
            on_change="rerun",
        )
        if menu.open:
            with menu, st.container(width=MENU_WIDTH, gap="small"):
                _show(pictures, key, question)
                for offer in ALSO:
                    offer(key)
        elif making := _making(key):
            making.give_up()


def _show(pictures: tuple[Picture, ...], key: str, question: Question) -> None:
    """What to save, as what, and the file."""
    picture = pictures[0]
    if len(pictures) > 1:
        place = st.selectbox(
            "What",
            range(len(pictures)),
            key=SAVE(key, "what"),
            format_func=lambda place: pictures[place].title,
        )
        picture = pictures[place]
    else:
        st.markdown(f"**{escape_markdown(picture.title)}**")
    can_draw = browser.has_browser()
    format = _choose_format(picture, key, can_draw)
    if not can_draw and NEED_BROWSER & {*picture.formats}:
        st.info(NO_BROWSER, icon=":material/info:")
    if format in NEED_BROWSER and not can_draw:
        return
    layout, width, scale = _choose_layout(picture, key, format)
    try:
        if format == "py":
            _show_python(picture, layout, question)
        else:
            asked = (picture.name, format, width, scale, layout)
            _show_file(pictures, picture, key, question, asked)
    except REFUSED as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")


NO_BROWSER = escape_markdown(browser.NEEDS_BROWSER)


def _choose_format(picture: Picture, key: str, can_draw: bool) -> str:
    formats = picture.formats
    usual = _CHOICES.value["format"]
    if usual not in formats or (usual in NEED_BROWSER and not can_draw):
        usual = next((each for each in formats if can_draw or each not in NEED_BROWSER), formats[0])
    widget = SAVE(key, "format")
    # Another picture of the same menu may have other formats.
    if st.session_state.get(widget) not in formats:
        st.session_state[widget] = usual
    chosen = st.segmented_control(
        "Format",
        formats,
        default=address.value_of(widget),
        key=widget,
        required=True,
        format_func=FORMAT_NAMES.__getitem__,
    )
    _remember("format", chosen)
    return str(chosen)


def _choose_layout(picture: Picture, key: str, format: str) -> tuple[Layout, image.Width, int]:
    """The fields for size and background, as far as the format has them."""
    choices = _CHOICES.value
    width, scale, dark = choices["width"], choices["scale"], False
    has_figure = picture.has("figure") and format not in (*NUMBERS, *FILMS)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        if has_figure and format != "html":
            width = _one_of("Width", "width", image.WIDTHS, key, WIDTH_NAMES.__getitem__, 210)
        if format == "png":
            scale = _one_of("Scale", "scale", image.SCALES, key, "{}×".format, 90)
        if has_figure or format in ("html", *FILMS):
            name = SAVE(key, "dark")
            st.session_state.setdefault(name, choices["dark"])
            dark = st.toggle("Dark background", address.value_of(name), key=name)
            _remember("dark", dark)
    if format == "html":
        return Layout(dark=dark), "two-columns", scale
    return Layout(width == "column", width == "slide", dark), width, scale


def _one_of(
    label: str,
    name: str,
    options: Iterable[Any],
    key: str,
    written: Callable[[Any], str],
    pixels: int,
) -> Any:
    """A field for one of some options; the choice applies to every menu."""
    widget = SAVE(key, name)
    st.session_state.setdefault(widget, _CHOICES.value[name])
    listed = list(options)
    chosen = st.selectbox(
        label,
        listed,
        listed.index(address.value_of(widget)),
        key=widget,
        format_func=written,
        width=pixels,
    )
    _remember(name, chosen)
    return chosen


def _remember(name: str, value: Any) -> None:
    # Streamlit forgets a widget that is not shown, as in a closed menu.
    _CHOICES.value |= {name: value}


def _show_python(picture: Picture, layout: Layout, question: Question) -> None:
    checkpoint = snapshot = None
    if picture.needs_model and isinstance(question, ModelQuestion):
        checkpoint, snapshot = question.model_name, question.snapshot
    code = notebook.code(picture.python(layout), checkpoint=checkpoint, snapshot=snapshot)
    st.code(code, language="python", height=220)


def _show_file(
    pictures: tuple[Picture, ...],
    picture: Picture,
    key: str,
    question: Question,
    asked: tuple[Any, ...],
) -> None:
    """The file to download; a small one is made at once, others on request."""
    _, format, width, scale, layout = asked
    made = _MADE.value
    slot = st.empty()
    if making := _making(key):
        if making.asked == asked and fragments.is_alone():
            _MADE.value = made = _Made(pictures, asked, making.go_on(slot))
        else:
            # Something else was chosen, or the page has changed.
            making.give_up()
    if made is None or made.pictures is not pictures or made.asked != asked:
        content: bytes | None = None
        if format in NUMBERS:
            content = _written(picture, format, question, slot, key)
        elif _is_wanted(slot, key, format):
            if format in FILMS:
                slide = film.Slide(dark=layout.dark, **_origin(picture, question))
                steps = film.filming(picture, format, slide)
                _MAKING.value = begun = _Making(asked, key, steps)
                content = begun.go_on(slot)
            else:
                with slot, st.spinner("Drawing…"):
                    given = _origin(picture, question)
                    content = saving.content(
                        picture, format, layout, width=width, scale=scale, given=given
                    )
        if content is None:
            return
        made = _Made(pictures, asked, content)
        # One at a time: a saved file is no longer needed here.
        _MADE.value = made
    file_name = f"headscope-{picture.name}.{format}"
    slot.download_button(
        f"Download {FORMAT_NAMES[format]}",
        made.content,
        file_name,
        MIME[format],
        key=SAVE(key, "download"),
        on_click="ignore",
        type="primary",
        icon=":material/download:",
        width="stretch",
    )
    st.caption(f"{file_name}, {_size(len(made.content))}")


def _is_wanted(slot: Any, key: str, format: str) -> bool:
    """The button for a file that takes time to make."""
    pressed: bool = slot.button(
        f"Make the {FORMAT_NAMES[format]} file",
        key=SAVE(key, "make"),
        type="primary",
        width="stretch",
    )
    return pressed


def _written(
    picture: Picture, format: str, question: Question, slot: Any, key: str
) -> bytes | None:
    """The numbers as a file; None until a person asks for many of them."""
    numbers = picture.saved(question.provenance.texts | question.texts)
    if numbers.size > MOST_WRITTEN and format != "npz":
        raise ExportError(
            f"These {numbers.size:,} numbers are too many for {FORMAT_NAMES[format]}; choose NPZ."
        )
    if numbers.size > AT_ONCE and not _is_wanted(slot, key, format):
        return None
    with slot, st.spinner("Writing…"):
        return numbers.encode(format)  # type: ignore[arg-type]


def _origin(picture: Picture, question: Question) -> dict[str, str]:
    texts = {**question.texts, **picture.texts}
    return {
        "sentence": texts["sentence"] if "sentence" in picture.origin else "",
        "model": texts.get("checkpoint", question.name) if "model" in picture.origin else "",
    }


def _making(key: str) -> _Making | None:
    """The film under way in this menu."""
    making = _MAKING.value
    return making if making is not None and making.key == key else None


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{max(1, round(n_bytes / 1e3))} KB"
