"""The row above a picture: the page's tabs on the left, Options and Save on the right."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz.browser.kept import Kept, nothing
from viz.draw.keys import Keys
from viz.shell import fragments, widgets

ROW, OPTIONS = Keys("row"), Keys("options")


@dataclass(slots=True)
class _Row:
    """The row of this run.

    Attributes:
        save: the place of the first picture's button.
        in_fragment: whether a part of the page drew it that runs by itself; only that may fill it.
        popover: what holds the options, once there is one.
        saved: whether a picture has put its button there.
    """

    left: DeltaGenerator
    options: DeltaGenerator
    save: DeltaGenerator
    in_fragment: bool
    popover: DeltaGenerator | None = None
    saved: bool = False

    @property
    def is_open(self) -> bool:
        """Whether what runs now may fill it."""
        return self.in_fragment == fragments.is_running()


_ROW: Kept[_Row | None] = Kept(ROW("now"), nothing)


def begin() -> None:
    """Forget the row of the run before; in a run, ahead of the page."""
    _ROW.value = None


@contextmanager
def tabs() -> Iterator[None]:
    """Draw the row here; what is shown within stands on its left. Once a run."""
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", wrap=True, key=ROW()
    ):
        left = st.container(
            horizontal=True,
            vertical_alignment="center",
            gap="xsmall",
            width="content",
            key=ROW("left"),
        )
        # The headline says in it what it costs to have heads off, so that nothing moves.
        st.html('<div class="price-place"></div>')
        with st.container(horizontal=True, gap="xsmall", width="content", key=ROW("right")):
            options = st.container(width="content")
            save = st.container(width="content")
    _ROW.value = _Row(left, options, save, fragments.is_running())
    with left:
        yield


@contextmanager
def beside() -> Iterator[None]:
    """What is shown within follows the tabs: the choice that a part is about."""
    row = _ROW.value
    assert row is not None, "tabs() draws it first"
    with row.left:
        yield


@contextmanager
def options() -> Iterator[None]:
    """What is shown within stands behind *Options*; several of a run stand there together.

    For what runs together with `tabs`; a part that runs by itself has `widgets.options`.
    """
    row = _ROW.value
    assert row is not None, "tabs() draws it first"
    assert row.is_open, "Streamlit lets no part that runs by itself put widgets elsewhere"
    if row.popover is None:
        with row.options:
            row.popover = widgets.options(OPTIONS())
    with row.popover:
        yield


def save_place() -> AbstractContextManager[Any]:
    """Where the next picture's Save goes: into the row for the first, else below the picture."""
    row = _ROW.value
    if row is None or row.saved or not row.is_open:
        return nullcontext()
    row.saved = True
    return row.save
