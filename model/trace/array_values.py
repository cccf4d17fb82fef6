"""Frozen values that hold arrays: nobody can write to these, in a copy either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np

from model.arguments import ByName
from model.brief import Brief


class TraceError(ValueError):
    """Arrays, labels or a file that do not fit together; the message says what disagrees."""


class Sized:
    """A dataclass with a size: that of its arrays and of the sized values in its fields."""

    __slots__ = ()

    @property
    def nbytes(self) -> int:
        """The size of all arrays in bytes; the rest is small."""
        return _size(tuple(field_values(self).values()))


class ArrayValue(Brief):
    """A frozen dataclass whose arrays and mappings are read-only, unpickled ones as well."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name, value in field_values(self).items():
            object.__setattr__(self, name, _read_only(value))

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only mapping cannot be pickled.
        values = {
            name: dict(value) if isinstance(value, MappingProxyType) else value
            for name, value in field_values(self).items()
        }
        return _remade, (type(self), values)


def field_values(value: Any) -> dict[str, Any]:
    """The fields of a dataclass by name."""
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _remade(kind: type[Any], values: dict[str, Any]) -> Any:
    return kind(**values)


def _read_only(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.view()
        value.setflags(write=False)
    elif isinstance(value, Mapping):
        value = MappingProxyType(ByName({key: _read_only(each) for key, each in value.items()}))
    return value


def _size(value: Any) -> int:
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, tuple):
        return sum(map(_size, value))
    return int(getattr(value, "nbytes", 0))
