"""What a trace can become: a table, a page. Rooms that have the means fill these in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FORMS: dict[str, Callable[..., Any]] = {}
"""By name, what makes the form of a value."""


class NoForm(RuntimeError):
    """Nothing that is loaded makes this form; the message says what does."""


def form(name: str, value: object, *arguments: Any, **named: Any) -> Any:
    """A value in a form; NoForm if no room has filled it in."""
    if name not in FORMS:
        raise NoForm(f"Nothing here makes a {name}; import headscope first.")
    return FORMS[name](value, *arguments, **named)
