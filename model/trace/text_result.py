"""Results of models that read one text, and the facts in their folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from model.trace.array_values import Sized
from model.trace.trace import Trace


class Purpose(StrEnum):
    """The use of a model."""

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
    """The facts in a folder's configuration.

    Attributes:
        model_type: the family, such as "marian"; "" for our own models.
        architecture: the class, such as "MarianMTModel", or "" if unknown; for our own models, the
            half of a Transformer.
        sizes: numbers with their names in the configuration.
    """

    model_type: str
    architecture: str
    sizes: tuple[tuple[str, int], ...]


def sizes_of(config: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """The numbers of a configuration, without token ids."""
    return tuple(
        (name, value)
        for name, value in config.items()
        if isinstance(value, int) and not isinstance(value, bool) and not name.endswith("_id")
    )


@dataclass(frozen=True, slots=True, eq=False)
class Answer(Sized):
    """A model's result for a text.

    Attributes:
        trace: the attention of every head.
        finished: whether the model ended its output itself.
        n_written: the number of tokens it wrote.
        fills: for each gap, the likeliest tokens with their probabilities.
        purpose: the use of the model.
        n_parameters: of the model.
        device: the device it ran on.
    """

    trace: Trace
    finished: bool
    n_written: int
    fills: tuple[tuple[tuple[str, float], ...], ...]
    purpose: Purpose
    n_parameters: int
    device: str
