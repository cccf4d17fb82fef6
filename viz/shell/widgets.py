"""The widgets that pages use most, bound to parameters of the address by their keys."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz.draw.keys import Keys
from viz.shell import address

CAPTIONED, MORE = Keys("captioned"), Keys("more")
"""The keys of captions, and of what stands behind *More* beside them."""


def row(key: str | None = None, *, at: str = "center") -> DeltaGenerator:
    """A container of widgets side by side, `at` their "center" or "bottom"."""
    return st.container(horizontal=True, vertical_alignment=at, gap="small", key=key)  # type: ignore[arg-type]


def segments(
    label: str,
    options: Mapping[str, str],
    *,
    key: str,
    hides_label: bool = True,
    disabled: bool = False,
    on_change: Callable[[], None] | None = None,
) -> None:
    """A field for one of a few options side by side.

    Args:
        options: the text of each value, in Markdown.
        key: of the widget, under which the session holds the value.
        hides_label: whether only screen readers get the label.
    """
    st.segmented_control(
        label,
        options,
        default=address.value_of(key),
        key=key,
        required=True,
        format_func=options.__getitem__,
        label_visibility="collapsed" if hides_label else "visible",
        disabled=disabled,
        on_change=on_change,
    )


def menu(
    label: str,
    options: Mapping[Any, str] | Iterable[tuple[Any, str]],
    *,
    key: str,
    hides_label: bool = False,
    width: int | None = None,
    on_change: Callable[[], None] | None = None,
) -> None:
    """A field for one of many options in a menu; arguments as of `segments`, width in pixels."""
    texts = dict(options)
    values = list(texts)
    st.selectbox(
        label,
        values,
        values.index(address.value_of(key)),
        key=key,
        format_func=texts.__getitem__,
        label_visibility="collapsed" if hides_label else "visible",
        width=width or "stretch",
        on_change=on_change,
    )


def options(key: str) -> DeltaGenerator:
    """The button behind which a page keeps what is seldom changed."""
    return st.popover("Options", icon=":material/tune:", type="tertiary", key=key)


def more(markdown: str, key: str) -> None:
    """The button behind which stands what else helps to read a picture."""
    with st.popover("More", type="tertiary", icon=":material/info:", key=MORE(key)):
        st.markdown(markdown)


def brief(sentences: Sequence[str], key: str) -> None:
    """The first of some sentences in Markdown; the others stand behind *More*, as a list."""
    first, *others = sentences
    with row(key=CAPTIONED(key, "brief")):
        st.markdown(first)
        if others:
            more("\n".join(f"- {each}" for each in others), f"{key}-brief")


def hint(markdown: str) -> None:
    """A sentence that says what else could be done."""
    st.info(markdown, icon=":material/info:")
