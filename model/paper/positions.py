"""Positional encodings (section 3.5, and later ones) behind one registry.

An encoding has a table with a row for each position. There are three families: rows added to the
embeddings; rows of angles by which every self-attention rotates its queries and keys; and the
positions themselves, whose distances decide what every self-attention adds to its scores. A new
encoding is a class here and an entry in ENCODINGS.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Self, cast

import torch
from torch import Tensor, nn

from model.paper.attention import SCORINGS, Relative, Rotation
from model.paper.config import CHOICES, ConfigError, TransformerConfig


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
    base: ClassVar[float | None] = None
    acts: ClassVar[str] = ""

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
        """Embeddings with positions from `start` on, (batch, token, d_model)."""
        return x + self(x.shape[1], start) if self.is_added else x

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
        super().__init__()
        self.max_positions = config.max_positions
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
    """The paper's encoding (section 3.5)."""

    base = BASE

    @classmethod
    def require(cls, config: TransformerConfig) -> None:
        _require_even(config.d_model)

    @staticmethod
    def width_in(config: TransformerConfig) -> int:
        return config.d_model

    def formula(self, length: int) -> Tensor:
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
        return cls(config)

    def extended(self, length: int) -> Tensor:
        rows = self.table.shape[0]
        if length > rows:
            raise LengthError(
                f"This model learned {rows} positions and the text needs {length}; "
                "shorten the text."
            )
        return self.table

    def forward(self, length: int, start: int = 0) -> Tensor:
        return self.extended(start + length)[start : start + length]


class RotaryEncoding(FormulaEncoding):
    """Rotary positions, RoPE (Su et al. 2021, section 3.2.2), which leave embeddings alone.

    A row holds the angles, in radians, by which every self-attention rotates the pairs (2i, 2i + 1)
    of a query or a key at that position. The product of a rotated query and a rotated key depends
    on their distance alone, not on where they stand. Cross-attention, whose two texts share no
    positions, rotates nothing.
    """

    is_added = False
    base = BASE
    acts = (
        "turns queries and keys by angles that grow with their positions (rotary positions, Su et "
        "al. 2021)"
    )

    @classmethod
    def require(cls, config: TransformerConfig) -> None:
        if config.key_width % 2:
            raise ConfigError(
                "Rotary positions rotate pairs of numbers in queries and keys, so d_k must be "
                f"even; it is {config.key_width}."
            )
        if not SCORINGS[config.scoring].is_product:
            raise ConfigError(
                "Rotary positions act through the product of query and key, which "
                f"{config.scoring} scoring does not use; change one of the two."
            )

    @staticmethod
    def width_in(config: TransformerConfig) -> int:
        return config.key_width // 2

    def formula(self, length: int) -> Tensor:
        """The angle pos / base^(2i/d_k) of pair i."""
        return _angles(length, 2 * self.width, BASE).float()

    def rotation(self, length: int, start: int = 0) -> Rotation:
        angles = self(length, start)
        return angles.cos(), angles.sin()


class DistanceEncoding(FormulaEncoding):
    """Positions that add to scores by the distance of query and key.

    A row is the position itself. Embeddings stay unchanged, and so does cross-attention, whose two
    texts share no positions.
    """

    is_added = False

    @staticmethod
    def width_in(config: TransformerConfig) -> int:
        return 1

    def formula(self, length: int) -> Tensor:
        return torch.arange(length, dtype=torch.float32)[:, None]

    @abstractmethod
    def of_distances(self, distances: Tensor) -> Tensor:
        """Added to scores, (head, query, key), by (query, key) positions of key minus query."""

    def bias(self, length: int, start: int = 0) -> Tensor:
        positions = self(start + length)[:, 0]
        return self.of_distances(positions - positions[start:, None])[None]


class AlibiEncoding(DistanceEncoding):
    """ALiBi (Press et al. 2022, section 3): each head subtracts a slope times the distance.

    The encoder, which that paper does not have, treats distances to both sides alike.
    """

    acts = (
        "subtracts from each score a penalty that grows with the distance of query and key, at its "
        "head's own slope (ALiBi, Press et al. 2022)"
    )

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        slopes = torch.tensor(alibi_slopes(config.n_heads))
        self.register_buffer("slopes", slopes, persistent=False)

    def of_distances(self, distances: Tensor) -> Tensor:
        slopes = cast("Tensor", self.slopes)
        return -slopes[:, None, None] * distances.abs()


def alibi_slopes(n_heads: int) -> list[float]:
    """The geometric sequence that starts at 2^(-8/n), with its first term as ratio.

    If n is no power of two: the sequence of the next smaller power, then every other slope of the
    next larger one, as in the authors' code.
    """
    whole = 2 ** int(math.log2(n_heads))
    slopes = [2 ** (-8 * (i + 1) / whole) for i in range(whole)]
    return slopes + [2 ** (-4 * (i + 1) / whole) for i in range(0, 2 * (n_heads - whole), 2)]


BUCKETS, FARTHEST = 32, 128
"""Of T5's bias: the numbers a head learns, and the distance from which all share the last."""


class RelativeBiasEncoding(DistanceEncoding):
    """T5's relative bias (Raffel et al. 2020, section 2.1): a learned number for each distance.

    Small distances have a bucket each, larger ones share buckets that grow with the logarithm of
    the distance. A stack's layers share the numbers; its heads do not.
    """

    acts = (
        "adds to each score a number that the head learned for the distance of query and key (T5's "
        "relative bias, Raffel et al. 2020)"
    )

    def __init__(self, config: TransformerConfig, *, causal: bool = False) -> None:
        super().__init__(config)
        self.causal = causal
        self.buckets = nn.Parameter(torch.zeros(config.n_heads, BUCKETS))
        nn.init.normal_(self.buckets, std=config.d_model**-0.5)

    @classmethod
    def of(cls, config: TransformerConfig, *, causal: bool = False) -> Self:
        return cls(config, causal=causal)

    def of_distances(self, distances: Tensor) -> Tensor:
        return self.buckets[:, distance_buckets(distances, causal=self.causal)]


def distance_buckets(distances: Tensor, *, causal: bool) -> Tensor:
    """T5's bucket of each distance, whole numbers from 0 to 31, of the same shape.

    Args:
        distances: the key's position minus the query's; edited positions are rounded.
        causal: whether all later keys share the bucket of the token itself; otherwise half of the
            buckets are for later keys.
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
