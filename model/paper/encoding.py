"""What an encoding of positions is, and the sines of section 3.5 (Vaswani et al. 2017)."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from model.paper.attention import Relative, Rotation
from model.paper.config import ConfigError, TransformerConfig


class LengthError(ValueError):
    """A text with more tokens than the encoding has rows; the message says what to do."""


BASE = 10000.0
"""The base of the wavelengths, in section 3.5 and in RoPE."""


class PositionalEncoding(nn.Module, ABC):
    """A table with a row for each position, and how a model uses the rows.

    Attributes:
        table: (position, width), a buffer or a parameter; at least max_positions rows.
        max_positions: the positions the model was made for.
        is_added: whether the rows are added to the embeddings.
        is_learned: whether training made the rows; otherwise a formula did.
        base: of the formula's wavelengths, 2π to base · 2π; None for other encodings.
        acts: the end of a sentence on what self-attention does with the rows, with the source;
            empty where they are added to the embeddings.
    """

    table: Tensor
    max_positions: int
    is_added: ClassVar[bool] = True
    is_learned: ClassVar[bool] = False
    base: float | None = None
    acts: ClassVar[str] = ""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.max_positions = config.max_positions
        width, eps = config.d_model, config.layer_norm_eps
        self.norm = nn.LayerNorm(width, eps=eps) if config.embedding_norm else nn.Identity()

    @classmethod
    @abstractmethod
    def of(cls, config: TransformerConfig, *, causal: bool = False) -> Self:
        """The encoding of one stack; `causal` if its tokens never see later ones."""

    @classmethod
    def require(cls, config: TransformerConfig) -> None:
        """Raises ConfigError if a model of this configuration cannot use this encoding."""

    @property
    def limit(self) -> int | None:
        """The number of positions the table can have; None where a formula gives any."""
        return self.max_positions if self.is_learned else None

    @abstractmethod
    def extended(self, length: int) -> Tensor:
        """At least the first `length` rows; LengthError if a learned table has fewer."""

    @abstractmethod
    def forward(self, length: int, start: int = 0) -> Tensor:
        """Rows start … start + length - 1 of the table, (length, width); errors as `extended`."""

    def embed(self, x: Tensor, start: int = 0) -> Tensor:
        """What a first layer reads: embeddings with positions from `start` on, normalised or not.

        Shapes are (batch, token, d_model).
        """
        embedded: Tensor = self.norm(x + self(x.shape[1], start) if self.is_added else x)
        return embedded

    def rotation(self, length: int, start: int = 0) -> Rotation | None:
        """The rotation of queries and keys from position `start` on; None rotates nothing."""
        return None

    def bias(self, length: int, start: int = 0) -> Tensor | None:
        """Added to the scores of queries from `start` on with all keys so far; None adds nothing.

        Returns:
            (1, head, length, start + length).
        """
        return None

    def relative(self, length: int, start: int = 0) -> Relative:
        """The effect on self-attention of tokens from `start` on."""
        return Relative(self.rotation(length, start), self.bias(length, start))


class FormulaEncoding(PositionalEncoding):
    """A table by a formula: neither trained nor stored, and extended for longer texts."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.width = self.width_in(config)
        self.register_buffer("table", self.formula(config.max_positions), persistent=False)

    @classmethod
    def of(cls, config: TransformerConfig, *, causal: bool = False) -> Self:
        return cls(config)

    @staticmethod
    @abstractmethod
    def width_in(config: TransformerConfig) -> int:
        """Numbers in a row."""

    @abstractmethod
    def formula(self, length: int) -> Tensor:
        """The first `length` rows, (length, width), float32."""

    def extended(self, length: int) -> Tensor:
        table = self.table
        return table if length <= table.shape[0] else self.formula(length).to(table)

    def forward(self, length: int, start: int = 0) -> Tensor:
        table = self.table
        if start + length > table.shape[0]:
            # One assignment, so that another thread sees either table; both are right.
            table = self.extended(2 * (start + length))
            self.table = table
        return table[start : start + length]


def sinusoidal_table(length: int, d_model: int, base: float = BASE) -> Tensor:
    """PE(pos, 2i) = sin(pos / base^(2i/d_model)), PE(pos, 2i+1) = cos; (length, d_model).

    Raises ConfigError if d_model is odd, which leaves one sine without its cosine.
    """
    require_even(d_model)
    angle = angles_of(length, d_model, base)
    table = torch.empty(length, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)
    return table.float()


def require_even(d_model: int) -> None:
    """Refuse a width without a cosine for each sine."""
    if d_model % 2:
        raise ConfigError(
            f"Sinusoidal positions pair a sine with a cosine, so d_model must be even; "
            f"it is {d_model}."
        )


def angles_of(length: int, width: int, base: float) -> Tensor:
    """Angles pos / base^(2i / width), (length, width / 2), float64."""
    # In double precision: at position 5,000 a float32 angle is off by more than 1e-4.
    position = torch.arange(length, dtype=torch.float64)[:, None]
    rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(base) / width))
    return position * rate
