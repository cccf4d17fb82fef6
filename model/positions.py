"""Positional encodings (section 3.5, and Su et al. 2021) behind one registry.

An encoding has a table with a row for each position. What the model does with the rows tells two
families apart: they are added to the embeddings, or they are angles by which every self-attention
turns its queries and keys. A new encoding is a class here and an entry in ENCODINGS.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from model.attention import SCORINGS, Rotation
from model.config import CHOICES, ConfigError, TransformerConfig


class LengthError(ValueError):
    """More tokens than a positional encoding has rows for; the message says what to do."""


BASE = 10000.0
"""Of the wavelengths, in section 3.5 and in RoPE alike."""


class PositionalEncoding(nn.Module, ABC):
    """A table of positions, one row each, and what a model does with them.

    Attributes:
        table: (position, width), a buffer or a parameter; at least max_positions rows.
        max_positions: the positions that the model was made for.
        is_added: whether the rows are added to the embeddings.
        is_learned: whether training made the rows; a formula did otherwise.
        base: of the wavelengths of that formula, 2π to base · 2π; None where there is none.
    """

    table: Tensor
    max_positions: int
    is_added: ClassVar[bool] = True
    is_learned: ClassVar[bool] = False
    base: ClassVar[float | None] = None

    @classmethod
    def require(cls, config: TransformerConfig) -> None:
        """Check that a model of this shape can have it.

        Raises:
            ConfigError: if it cannot.
        """

    @property
    def limit(self) -> int | None:
        """The most positions that there can be rows for; None where a formula gives any."""
        return self.max_positions if self.is_learned else None

    @abstractmethod
    def extended(self, length: int) -> Tensor:
        """At least the first `length` rows of the table, which itself stays as it is.

        Raises:
            LengthError: if there are no such rows.
        """

    @abstractmethod
    def forward(self, length: int, start: int = 0) -> Tensor:
        """Rows start … start + length - 1 of the table, (length, width).

        Raises:
            LengthError: if the table has no such rows and cannot be extended.
        """

    def embed(self, x: Tensor, start: int = 0) -> Tensor:
        """Embeddings of the tokens from `start` on, (batch, token, d_model), with positions."""
        return x + self(x.shape[1], start) if self.is_added else x

    def rotation(self, length: int, start: int = 0) -> Rotation | None:
        """How queries and keys of the tokens from `start` on are turned; None if they are not."""
        return None


class FormulaEncoding(PositionalEncoding):
    """A table that a formula gives: not trained, not stored, and extended when a text is longer."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.max_positions = config.max_positions
        self.width = self.width_in(config)
        self.register_buffer("table", self.formula(config.max_positions), persistent=False)

    @staticmethod
    @abstractmethod
    def width_in(config: TransformerConfig) -> int:
        """How many numbers a row has."""

    @abstractmethod
    def formula(self, length: int) -> Tensor:
        """The first `length` rows, (length, width), float32."""

    def extended(self, length: int) -> Tensor:
        """The table, or a longer one by the same formula."""
        table = self.table
        return table if length <= table.shape[0] else self.formula(length).to(table)

    def forward(self, length: int, start: int = 0) -> Tensor:
        """Rows start … start + length - 1, (length, width)."""
        table = self.table
        if start + length > table.shape[0]:
            # One assignment, so that a thread beside this one sees either table, both right.
            table = self.extended(2 * (start + length))
            self.table = table
        return table[start : start + length]


def sinusoidal_table(length: int, d_model: int, base: float = BASE) -> Tensor:
    """PE(pos, 2i) = sin(pos / base^(2i/d_model)), PE(pos, 2i+1) = cos of the same.

    Returns:
        (length, d_model), float32.

    Raises:
        ConfigError: if d_model is odd, for then one sine has no cosine.
    """
    _require_even(d_model)
    angle = _angles(length, d_model, base)
    table = torch.empty(length, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)
    return table.float()


def _require_even(d_model: int) -> None:
    if d_model % 2:
        raise ConfigError(
            f"Sinusoidal positions pair a sine with a cosine, so d_model must be even; "
            f"it is {d_model}."
        )


def _angles(length: int, width: int, base: float) -> Tensor:
    # pos / base^(2i/width), (length, width / 2).
    # In double precision: at position 5,000 a float32 angle is off by more than 1e-4.
    position = torch.arange(length, dtype=torch.float64)[:, None]
    rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(base) / width))
    return position * rate


class SinusoidalEncoding(FormulaEncoding):
    """The paper's encoding."""

    base = BASE

    @classmethod
    def require(cls, config: TransformerConfig) -> None:
        """Refuse an odd d_model."""
        _require_even(config.d_model)

    @staticmethod
    def width_in(config: TransformerConfig) -> int:
        """d_model."""
        return config.d_model

    def formula(self, length: int) -> Tensor:
        """Section 3.5."""
        return sinusoidal_table(length, self.width)


class LearnedEncoding(PositionalEncoding):
    """A trained row for each position, as in section 3.5's comparison (table 3, row E)."""

    is_learned = True

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.max_positions = config.max_positions
        self.table = nn.Parameter(torch.empty(config.max_positions, config.d_model))
        nn.init.normal_(self.table, std=config.d_model**-0.5)

    def extended(self, length: int) -> Tensor:
        """The table, which has no more rows than were learned.

        Raises:
            LengthError: beyond the table's last row.
        """
        rows = self.table.shape[0]
        if length > rows:
            raise LengthError(
                f"This model learned {rows} positions and the text needs {length}; "
                "shorten the text."
            )
        return self.table

    def forward(self, length: int, start: int = 0) -> Tensor:
        """Rows start … start + length - 1, (length, d_model).

        Raises:
            LengthError: beyond the table's last row.
        """
        return self.extended(start + length)[start : start + length]


class RotaryEncoding(FormulaEncoding):
    """Rotary positions, RoPE (Su et al. 2021, section 3.2.2): nothing is added to the embeddings.

    A row holds the angles, in radians, by which every self-attention turns the pairs (2i, 2i + 1)
    of a query or a key at that position. The product of a turned query and a turned key depends on
    how far apart they stand, and on nothing else of where they are. Attention over the source,
    whose two texts share no positions, is left as it is.
    """

    is_added = False
    base = BASE

    @classmethod
    def require(cls, config: TransformerConfig) -> None:
        """Refuse an odd d_k, and scores that are no product of query and key."""
        if config.key_width % 2:
            raise ConfigError(
                "Rotary positions turn queries and keys in pairs of numbers, so d_k must be even; "
                f"it is {config.key_width}."
            )
        if not SCORINGS[config.scoring].is_product:
            raise ConfigError(
                "Rotary positions act through the product of query and key, which "
                f"{config.scoring} scoring does not take; choose another of the two."
            )

    @staticmethod
    def width_in(config: TransformerConfig) -> int:
        """d_k / 2."""
        return config.key_width // 2

    def formula(self, length: int) -> Tensor:
        """The angle pos / base^(2i/d_k) of pair i."""
        return _angles(length, 2 * self.width, BASE).float()

    def rotation(self, length: int, start: int = 0) -> Rotation:
        """Cosine and sine of the angles."""
        angles = self(length, start)
        return angles.cos(), angles.sin()


ENCODINGS: dict[str, type[PositionalEncoding]] = {
    "sinusoidal": SinusoidalEncoding,
    "learned": LearnedEncoding,
    "rotary": RotaryEncoding,
}
"""Every positional encoding by its name in a TransformerConfig."""

CHOICES["positions"] = ENCODINGS
