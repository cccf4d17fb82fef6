"""What a session keeps from one run to the next, besides the values of widgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import streamlit as st

T = TypeVar("T")


class Kept(Generic[T]):
    """A value of the session, with its type."""

    def __init__(self, key: str, first: Callable[[], T]) -> None:
        """Declare it once, in a module.

        Args:
            first: gives the value that every session begins with.
        """
        # Whatever a widget of the same owner is called.
        self._key = f"{key}.kept"
        self._first = first

    @property
    def value(self) -> T:
        """The present value; a first one is kept too, so that it can be changed in place."""
        if self._key not in st.session_state:
            st.session_state[self._key] = self._first()
        value: T = st.session_state[self._key]
        return value

    @value.setter
    def value(self, value: T) -> None:
        st.session_state[self._key] = value

    def take(self) -> T:
        """The present value, which then is the first one again."""
        value = self.value
        del st.session_state[self._key]
        return value


def nothing() -> None:
    """The first value of what a session may not have yet."""
