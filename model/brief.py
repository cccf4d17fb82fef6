"""Short reprs: what a value is, of what, and how large; not its numbers."""

from collections.abc import Collection, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

_MOST = 60
"""Characters of one field, at most."""

_MOST_OF_ALL = 200
"""Characters of all fields, about."""


class Brief:
    """A dataclass with a short repr, unless it writes one of its own."""

    __slots__ = ()

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        # The decorator of a dataclass replaces a repr that is inherited.
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        shown = []
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            if each.repr and value is not each.default:
                shown.append(f"{each.name}={brief(value)}")
            if sum(map(len, shown)) > _MOST_OF_ALL:
                shown[-1] = "…"
                break
        return f"{type(self).__name__}({', '.join(shown)})"


def brief(value: Any) -> str:
    """A value in at most some sixty characters: an array by its type and shape."""
    if hasattr(value, "shape") and hasattr(value, "dtype") and value.shape:
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    if isinstance(value, str) and not isinstance(value, Enum):
        return repr(shortened(value))
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return f"{{{listed(value)}}}"
    # A named tuple writes itself.
    if isinstance(value, list | tuple | set | frozenset) and not hasattr(value, "_fields"):
        whole = ", ".join(map(brief, list(value)[:8]))
        return f"({whole})" if len(value) <= 8 and len(whole) < _MOST else f"<{len(value):,}>"
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    whole = repr(value.value if isinstance(value, Enum) else value)
    return whole if len(whole) < _MOST else f"{type(value).__name__}(…)"


def shortened(text: str, most: int = _MOST) -> str:
    """The beginning of a text."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def listed(names: Collection[Any]) -> str:
    """The first few of some names, and how many there are."""
    first = [".".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in names]
    if len(first) <= 4:
        return ", ".join(first)
    return f"{', '.join(first[:3])}, … ({len(first):,})"
