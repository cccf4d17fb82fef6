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
    """The facts in a folder's configuration: its numbers with their names there, and its family.

    The model type, such as "marian", is "" for our own models. The architecture is the class, such
    as "MarianMTModel", or "" if unknown; for our own models, the half of a Transformer.
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
    """A model's result for a text: its trace, whether it ended its output, and how much it wrote.

    For each gap there are the likeliest tokens with their probabilities.
    """

    trace: Trace
    finished: bool
    n_written: int
    fills: tuple[tuple[tuple[str, float], ...], ...]
    purpose: Purpose
    n_parameters: int
    device: str
