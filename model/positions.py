"""Positional encodings (section 3.5) behind one registry.

An encoding is a module that, called with a length, gives a table (length, d_model) to add to the
embeddings. A new one is a class here and an entry in ENCODINGS.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from model.config import ConfigError, TransformerConfig


class LengthError(ValueError):
    """More tokens than a positional encoding has rows for; the message says what to do."""


class PositionalEncoding(nn.Module, ABC):
    """A table of positions, one row each.

    Attributes:
        table: (position, d_model), a buffer or a parameter; at least max_positions rows.
        max_positions: the positions that the model was made for.
    """

    table: Tensor
    max_positions: int

    @abstractmethod
    def extended(self, length: int) -> Tensor:
        """At least the first `length` rows of the table, which itself stays as it is.

        Raises:
            LengthError: if there are no such rows.
        """

    @abstractmethod
    def forward(self, length: int, start: int = 0) -> Tensor:
        """Rows start … start + length - 1 of the table, (length, d_model).

        Raises:
            LengthError: if the table has no such rows and cannot be extended.
        """


def sinusoidal_table(length: int, d_model: int, base: float = 10000.0) -> Tensor:
    """PE(pos, 2i) = sin(pos / base^(2i/d_model)), PE(pos, 2i+1) = cos of the same.

    Returns:
        (length, d_model), float32.

    Raises:
        ConfigError: if d_model is odd, for then one sine has no cosine.
    """
    if d_model % 2:
        raise ConfigError(
            f"Sinusoidal positions pair a sine with a cosine, so d_model must be even; "
            f"it is {d_model}."
        )
    # In double precision: at position 5,000 a float32 angle is off by more than 1e-4.
    position = torch.arange(length, dtype=torch.float64)[:, None]
    rate = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(base) / d_model))
    table = torch.empty(length, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return table.float()


class SinusoidalEncoding(PositionalEncoding):
    """The paper's encoding. Not trained, not stored, and extended when a text is longer."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.max_positions = config.max_positions
        table = sinusoidal_table(config.max_positions, config.d_model)
        self.register_buffer("table", table, persistent=False)

    def extended(self, length: int) -> Tensor:
        """The table, or a longer one by the same formula."""
        table = self.table
        if length <= table.shape[0]:
            return table
        return sinusoidal_table(length, table.shape[1]).to(table)

    def forward(self, length: int, start: int = 0) -> Tensor:
        """Rows start … start + length - 1, (length, d_model)."""
        table = self.table
        if start + length > table.shape[0]:
            # One assignment, so that a thread beside this one sees either table, both right.
            table = self.extended(2 * (start + length))
            self.table = table
        return table[start : start + length]


class LearnedEncoding(PositionalEncoding):
    """A trained row for each position, as in section 3.5's comparison (table 3, row E)."""

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


ENCODINGS: dict[str, type[SinusoidalEncoding] | type[LearnedEncoding]] = {
    "sinusoidal": SinusoidalEncoding,
    "learned": LearnedEncoding,
}
"""Every positional encoding by its name in a TransformerConfig."""
