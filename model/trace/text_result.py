"""What a model that is no translator of ours makes of a text, and what its folder says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from model.trace.trace import Trace


class Purpose(StrEnum):
    """What a model does with a text."""

    TRANSLATE = "translate"
    """Writes another text: encoder and decoder."""
    CONTINUE = "continue"
    """Writes on: a decoder alone."""
    FILL = "fill"
    """Fills gaps: an encoder with a masked head."""
    READ = "read"
    """Reads: a body without a head that writes."""
    LABEL = "label"
    """Writes a token for each that it reads: an encoder alone."""


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """What a folder's configuration says of its model.

    Attributes:
        model_type: the family, such as "marian"; "" for a model of ours.
        architecture: the class, such as "MarianMTModel"; "" where it is not said. Of a model of
            ours, which half of a Transformer it is.
        sizes: numbers, each with the name that the configuration gives it.
    """

    model_type: str
    architecture: str
    sizes: tuple[tuple[str, int], ...]


def sizes_of(config: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """The numbers of a configuration, without those that name tokens."""
    return tuple(
        (name, value)
        for name, value in config.items()
        if isinstance(value, int) and not isinstance(value, bool) and not name.endswith("_id")
    )


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a model made of a text.

    Attributes:
        trace: what every head did.
        finished: whether it ended what it wrote by itself.
        n_written: how many tokens it wrote.
        fills: for each gap, the likeliest tokens with their probabilities.
        purpose: what the model was asked for.
        n_parameters: of the model.
        device: what it ran on.
    """

    trace: Trace
    finished: bool
    n_written: int
    fills: tuple[tuple[tuple[str, float], ...], ...]
    purpose: Purpose
    n_parameters: int
    device: str

    @property
    def nbytes(self) -> int:
        """What the trace holds, in bytes; all else is little."""
        return self.trace.nbytes
