"""The words of the translation above a page: how sure the model was, and what heads do for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from viz.browser.files import fetched, joined
from viz.draw.keys import Keys

HEADLINE = Keys("headline")

_HTML = '<div aria-hidden="true" aria-busy="true"></div>'

# Its style sheet is for the translation, which stands in the page.
_headline = st.components.v2.component(
    "headscope_headline", html=_HTML, js=fetched("headline/headline.js"), isolate_styles=False
)
_without = st.components.v2.component(
    "headscope_without", html=_HTML, js=joined("headline/without.js")
)


def headline(data: Mapping[str, Any]) -> None:
    """Mount what makes words of the translation above the page.

    Args:
        data: "text" as it stands there, its "words" and its "colors"; "stage", whether it stands on
            one.
    """
    _headline(key=HEADLINE("bar"), data=data, height=1)


def without(data: Mapping[str, Any] | None) -> None:
    """Mount what tells that translation what it becomes.

    Args:
        data: the heads switched off, "off" as an address has them, with the "words" written then,
            or None where these do not change, the "price" in a few words and "more", sentences; or
            only "off" where nothing came of it. None while all heads are on.
    """
    _without(key=HEADLINE("without"), data={"outcome": data}, height=1)
