"""Positional encodings (section 3.5, and later ones) behind one registry.

An encoding has a table with a row for each position. There are three families: rows added to the
embeddings; rows of angles by which every self-attention rotates its queries and keys; and the
positions themselves, whose distances decide what every self-attention adds to its scores. A new
encoding is a class here and an entry in ENCODINGS.
"""

import math
from abc import abstractmethod
from typing import Self, cast

import torch
from torch import Tensor, nn

from model.paper.attention import SCORINGS, Rotation
from model.paper.config import CHOICES, ConfigError, TransformerConfig
from model.paper.encoding import (
    BASE,
    FormulaEncoding,
    LengthError,
    PositionalEncoding,
    angles_of,
    require_even,
    sinusoidal_table,
)


class SinusoidalEncoding(FormulaEncoding):
    """The paper's encoding (section 3.5)."""

    base = BASE

    @classmethod
    def require(cls, config: TransformerConfig) -> None:
        require_even(config.d_model)

    @staticmethod
    def width_in(config: TransformerConfig) -> int:
        return config.d_model

    def formula(self, length: int) -> Tensor:
        return sinusoidal_table(length, self.width)


class FairseqEncoding(SinusoidalEncoding):
    """Sines as fairseq computes them, for M2M100 (Fan et al. 2021).

    The longest wavelength is 2π · 10,000 exactly, which is section 3.5 with a base a little above
    it, and the first token stands at position 2, after those of padding and the start token.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        half = self.width // 2
        self.base = BASE ** (half / (half - 1))

    @classmethod
    def require(cls, config: TransformerConfig) -> None:
        require_even(config.d_model)
        if config.d_model < 4:
            raise ConfigError("These sinusoids need a d_model of at least 4; choose a larger one.")

    def formula(self, length: int) -> Tensor:
        # In single precision, with which these models were trained.
        half = self.width // 2
        rate = torch.exp(torch.arange(half).float() * -(math.log(BASE) / (half - 1)))
        angle = torch.arange(FIRST, FIRST + length).float()[:, None] * rate
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


FIRST = 2
"""The position of a text's first token in fairseq."""


class LearnedEncoding(PositionalEncoding):
    """A trained row for each position, as in section 3.5's comparison (table 3, row E)."""

    is_learned = True

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
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
        return angles_of(length, 2 * self.width, BASE).float()

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
    "sinusoidal_fairseq": FairseqEncoding,
    "learned": LearnedEncoding,
    "rotary": RotaryEncoding,
    "alibi": AlibiEncoding,
    "relative_bias": RelativeBiasEncoding,
}
"""Every positional encoding by its name in a TransformerConfig."""

CHOICES["positions"] = ENCODINGS
