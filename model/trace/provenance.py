"""Where results come from: the model, what it was asked to do, and the version that recorded it."""

from __future__ import annotations

import hashlib
from collections import UserString
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np

_DIGITS, _LONG = 8, 300
"""Of a model's hash in a sentence, and of what is written in full, characters."""


class Later(UserString):
    """A string that is made when it is first asked for."""

    def __init__(self, text: str | Callable[[], str]) -> None:
        self._text = text

    @cached_property
    def data(self) -> str:  # type: ignore[override]
        """The string."""
        return self._text() if callable(self._text) else self._text


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a trace comes from; "" for what is not known.

    Attributes:
        model: its name.
        weights: the SHA-256 of the files of its weights, as they were when it was loaded.
        dtype: the type of the numbers it computed with.
        search: the method of decoding; "" where the translation was given.
        interventions: what the run did differently; arrays are named by their SHA-256.
        headscope: the version that recorded it.
    """

    model: str = ""
    weights: str | Later = ""
    dtype: str = ""
    search: str = ""
    interventions: str = ""
    headscope: str = ""

    @property
    def texts(self) -> dict[str, str]:
        """What is known, by name."""
        named = {each.name: str(getattr(self, each.name)) for each in fields(self)}
        return {name: text for name, text in named.items() if text}

    @property
    def model_in_words(self) -> str:
        """The model with the first digits of its hash."""
        weights = f"({self.weights[:_DIGITS]})" if self.weights else ""
        return f"{self.model} {weights}".strip()

    def __str__(self) -> str:
        version = f"Headscope {self.headscope}" if self.headscope else ""
        parts = [self.model_in_words, self.dtype, self.search, self.interventions, version]
        return ", ".join(filter(None, parts))

    def is_of_another_model(self, other: Provenance) -> bool:
        """Whether both models are known, and are two."""
        if isinstance(self.weights, Later) and self.weights is other.weights:
            return False
        for one, two in ((self.weights, other.weights), (self.model, other.model)):
            if one and two:
                return one != two
        return False


UNKNOWN = Provenance()


def note_on_models(known: Iterable[Provenance]) -> str:
    """A sentence on results that are compared and come from several models; "" for one."""
    once: list[Provenance] = []
    for each in known:
        if (each.model or each.weights) and all(map(each.is_of_another_model, once)):
            once.append(each)
    if len(once) < 2:
        return ""
    return f"Different models are compared: {', '.join(each.model_in_words for each in once)}."


def exactly(value: Any) -> str:
    """A value in words: arrays and long values as a hash, functions by name.

    Fields of dataclasses that are at rest are left out.
    """
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {_hash(np.ascontiguousarray(value).tobytes())}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {exactly(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return _no_longer(f"({', '.join(map(exactly, value))})")
    if is_dataclass(value):
        written = ", ".join(
            f"{each.name}={exactly(own)}"
            for each in fields(value)
            for own in [getattr(value, each.name)]
            if isinstance(own, np.ndarray) or not (own == each.default or own in ((), {}, None))
        )
        return _no_longer(f"{type(value).__name__}({written})")
    return value.__qualname__ if callable(value) else repr(value)


def _no_longer(text: str) -> str:
    return text if len(text) <= _LONG else f"<{_hash(text.encode())}>"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
