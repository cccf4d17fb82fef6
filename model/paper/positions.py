"""Positional encodings (section 3.5, and later ones) behind one registry.

An encoding has a table with a row for each position. What the model does with the rows tells three
families apart: they are added to the embeddings; they are angles by which every self-attention
turns its queries and keys; or they are the positions themselves, whose distances decide what every
self-attention adds to its scores. A new encoding is a class here and an entry in ENCODINGS.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Self, cast

import torch
from torch import Tensor, nn

from model.paper.attention import SCORINGS, Relative, Rotation
from model.paper.config import CHOICES, ConfigError, TransformerConfig


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
        acts: what every self-attention does with the rows, and whose idea it is, as the end of a
            sentence; empty where they are added to the embeddings.
    """

    table: Tensor
    max_positions: int
    is_added: ClassVar[bool] = True
    is_learned: ClassVar[bool] = False
    base: ClassVar[float | None] = None
    acts: ClassVar[str] = ""

    @classmethod
    @abstractmethod
    def of(cls, config: TransformerConfig, *, causal: bool = False) -> Self:
        """The encoding of one stack; `causal` where no token looks at a later one."""

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

    def bias(self, length: int, start: int = 0) -> Tensor | None:
        """What is added to the scores of the tokens from `start` on, with all tokens up to them.

        Returns:
            (1, head, length, start + length), or None if nothing is added.
        """
        return None

    def relative(self, length: int, start: int = 0) -> Relative:
        """What self-attention does for the tokens from `start` on."""
        return Relative(self.rotation(length, start), self.bias(length, start))


class FormulaEncoding(PositionalEncoding):
    """A table that a formula gives: not trained, not stored, and extended when a text is longer."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.max_positions = config.max_positions
        self.width = self.width_in(config)
        self.register_buffer("table", self.formula(config.max_positions), persistent=False)

    @classmethod
    def of(cls, config: TransformerConfig, *, causal: bool = False) -> Self:
        """The same for both stacks."""
        return cls(config)

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

    @classmethod
    def of(cls, config: TransformerConfig, *, causal: bool = False) -> Self:
        """A table for each stack, of the same shape."""
        return cls(config)

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
    acts = (
        "turns queries and keys by angles that grow with their positions (rotary positions, Su et "
        "al. 2021)"
    )

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


class DistanceEncoding(FormulaEncoding):
    """Positions that add something to scores, by how far apart query and key stand.

    A row is the position itself. Nothing is added to the embeddings, and attention over the source,
    whose two texts share no positions, is left as it is.
    """

    is_added = False

    @staticmethod
    def width_in(config: TransformerConfig) -> int:
        """1."""
        return 1

    def formula(self, length: int) -> Tensor:
        """The numbers from 0 on."""
        return torch.arange(length, dtype=torch.float32)[:, None]

    @abstractmethod
    def of_distances(self, distances: Tensor) -> Tensor:
        """What is added, (head, query, key).

        Args:
            distances: the key's position minus the query's, (query, key).
        """

    def bias(self, length: int, start: int = 0) -> Tensor:
        """By the distances of the tokens from `start` on to all tokens up to the last of them."""
        places = self(start + length)[:, 0]
        return self.of_distances(places - places[start:, None])[None]


class AlibiEncoding(DistanceEncoding):
    """ALiBi (Press et al. 2022, section 3): each head takes a slope times the distance off a score.

    The encoder, which the paper does not have, counts distances to both sides alike.
    """

    acts = (
        "takes off each score what grows with the distance of query and key, by a slope of its "
        "head's own (ALiBi, Press et al. 2022)"
    )

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        slopes = torch.tensor(alibi_slopes(config.n_heads))
        self.register_buffer("slopes", slopes, persistent=False)

    def of_distances(self, distances: Tensor) -> Tensor:
        """Minus slope times distance."""
        slopes = cast("Tensor", self.slopes)
        return -slopes[:, None, None] * distances.abs()


def alibi_slopes(n_heads: int) -> list[float]:
    """The geometric sequence from 2^(-8/n) on, whose ratio is its first term.

    Where n is no power of two, the sequence of the next smaller one, and then every other slope of
    the next larger one, as the paper's authors have it.
    """
    whole = 2 ** int(math.log2(n_heads))
    slopes = [2 ** (-8 * (i + 1) / whole) for i in range(whole)]
    return slopes + [2 ** (-4 * (i + 1) / whole) for i in range(0, 2 * (n_heads - whole), 2)]


BUCKETS, FARTHEST = 32, 128
"""Of T5's bias: how many numbers a head learns, and from which distance on they are the same."""


class RelativeBiasEncoding(DistanceEncoding):
    """T5's relative bias (Raffel et al. 2020, section 2.1): a learned number for each distance.

    Small distances have a bucket each, larger ones share buckets that grow with the logarithm of
    the distance. A stack's layers share the numbers; its heads do not.
    """

    acts = (
        "adds to each score a number that its head learned for the distance of query and key (T5's "
        "relative bias, Raffel et al. 2020)"
    )

    def __init__(self, config: TransformerConfig, *, causal: bool = False) -> None:
        super().__init__(config)
        self.causal = causal
        self.buckets = nn.Parameter(torch.zeros(config.n_heads, BUCKETS))
        nn.init.normal_(self.buckets, std=config.d_model**-0.5)

    @classmethod
    def of(cls, config: TransformerConfig, *, causal: bool = False) -> Self:
        """With all buckets for what lies behind, or half of them for what lies ahead."""
        return cls(config, causal=causal)

    def of_distances(self, distances: Tensor) -> Tensor:
        """The numbers of the distances' buckets."""
        return self.buckets[:, distance_buckets(distances, causal=self.causal)]


def distance_buckets(distances: Tensor, *, causal: bool) -> Tensor:
    """T5's bucket of each distance, whole numbers from 0 to 31, of the same shape.

    Args:
        distances: the key's position minus the query's; of an edit of positions, rounded.
        causal: whether all that lies ahead shares the bucket of the token itself.
    """
    distances = distances.round()
    if causal:
        count, first = BUCKETS, torch.zeros_like(distances)
        behind = (-distances).clamp(min=0)
    else:
        count, first = BUCKETS // 2, (distances > 0) * (BUCKETS // 2)
        behind = distances.abs()
    exact = count // 2
    growth = (behind.clamp(min=1) / exact).log() / math.log(FARTHEST / exact)
    shared = (exact + growth * (count - exact)).floor().clamp(max=count - 1)
    return (first + torch.where(behind < exact, behind, shared)).long()


ENCODINGS: dict[str, type[PositionalEncoding]] = {
    "sinusoidal": SinusoidalEncoding,
    "learned": LearnedEncoding,
    "rotary": RotaryEncoding,
    "alibi": AlibiEncoding,
    "relative_bias": RelativeBiasEncoding,
}
"""Every positional encoding by its name in a TransformerConfig."""

CHOICES["positions"] = ENCODINGS
