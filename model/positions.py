"""Positional encodings (section 3.5) behind one registry, what edits them, and what they are for.

An encoding is a module that, called with a length, gives a table (length, d_model) to add to the
embeddings. A new one is a class here and an entry in ENCODINGS.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from model.attention import MultiHead, ScaledDotProductAttention
from model.config import ConfigError, TransformerConfig
from model.trace import FloatArray, Tokens

Side = Literal["encoder", "decoder"]
Sides = Literal["both", "encoder", "decoder"]

TERMS = ("word-word", "word-position", "position-word", "position-position", "bias")
"""The parts of a first layer's scores, in the order of ScoreTerms; the query's part is named first.
"""


class LengthError(ValueError):
    """More tokens than a positional encoding has rows for; the message says what to do."""


class PositionError(ValueError):
    """An edit, an order or a length that positions cannot follow; the message says what to do."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionEdit:
    """Other positions than the model's own, for one request.

    A token at position p of n gets the encoding of position p, or of n - 1 - p with `reverse`;
    `shift` is added to that, but not below position 0, where the first tokens then stand together;
    and the encoding is multiplied by `scale`. All three at rest change no bit.

    Attributes:
        scale: any finite number; 0 takes positions away.
        shift: whole positions. It may lead to no position that the model was not made for.
        reverse: n is the length of the pass, so a sentence that is being decoded, whose length is
            not known, has none.
        side: "encoder", "decoder" or "both".

    Raises:
        PositionError: if a field has no such value.
    """

    scale: float = 1.0
    shift: int = 0
    reverse: bool = False
    side: Sides = "both"

    def __post_init__(self) -> None:
        if not _is_number(self.scale) or not math.isfinite(self.scale):
            raise PositionError(
                f"The scale of positions must be a finite number; it is {self.scale!r}."
            )
        object.__setattr__(self, "scale", float(self.scale))
        try:
            shift = operator.index(self.shift)
        except TypeError:
            shift = None
        if shift is None or isinstance(self.shift, bool):
            raise PositionError(
                f"The shift of positions must be a whole number; it is {self.shift!r}."
            )
        object.__setattr__(self, "shift", shift)
        if not isinstance(self.reverse, bool | np.bool_):
            raise PositionError(f"reverse must be True or False; it is {self.reverse!r}.")
        if self.side not in get_args(Sides):
            raise PositionError(
                f"There is no side {self.side!r}; choose one of {', '.join(get_args(Sides))}."
            )

    @property
    def at_rest(self) -> bool:
        """Whether every token keeps its own encoding."""
        return self.scale == 1 and self.shift == 0 and not self.reverse

    def concerns(self, side: Side) -> bool:
        """Whether it changes an encoding of that side."""
        return not self.at_rest and self.side in ("both", side)

    def rows(self, encoding: PositionalEncoding, length: int, start: int = 0) -> Tensor:
        """What takes the place of `encoding(length, start)`, (length, d_model).

        Raises:
            PositionError: if the shift leads beyond the positions the model was made for.
            LengthError: if the encoding has no such rows.
        """
        positions = torch.arange(start, start + length, device=encoding.table.device)
        if self.reverse:
            positions = positions.flip(0)
        last = start + length - 1 + self.shift
        if self.shift > 0 and last >= encoding.max_positions:
            raise PositionError(
                f"A shift by {self.shift} takes position {start + length - 1} to {last}, and the "
                f"model has the positions 0 to {encoding.max_positions - 1}; shift by less."
            )
        positions = (positions + self.shift).clamp(min=0)
        rows = encoding.extended(max(last, 0) + 1)[positions]
        return rows if self.scale == 1 else rows * self.scale


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EmbeddingParts:
    """What the encoder's first layer reads, and what it is the sum of (sections 3.4 and 3.5).

    Attributes:
        tokens: the source tokens, ending with </s>.
        word: their embeddings, (source, d_model).
        scaled: the same times √d_model, where the model scales them.
        position: the encodings of their positions.
        sum: scaled + position, exactly what the first layer gets.
    """

    tokens: Tokens
    word: FloatArray
    scaled: FloatArray
    position: FloatArray
    sum: FloatArray

    def __post_init__(self) -> None:
        for name in ("word", "scaled", "position", "sum"):
            object.__setattr__(self, name, _read_only(getattr(self, name)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreTerms:
    """The scores of the encoder's first layer, and the terms that they are the sum of.

    Attributes:
        tokens: labels of both axes.
        terms: by the names in TERMS, (head, query, key) each; "word-position" is the query's word
            with the key's position. "bias" is all that the biases of W_Q, W_K and, in a pre-norm
            model, of the norm have a part in.
        scores: as recorded, before the softmax, (head, query, key).
    """

    tokens: Tokens
    terms: Mapping[str, FloatArray]
    scores: FloatArray

    def __post_init__(self) -> None:
        terms = {name: _read_only(self.terms[name]) for name in TERMS}
        object.__setattr__(self, "terms", MappingProxyType(terms))
        object.__setattr__(self, "scores", _read_only(self.scores))


@torch.no_grad()
def score_terms(
    attention: MultiHead, norm: nn.LayerNorm | None, word: Tensor, position: Tensor
) -> dict[str, Tensor]:
    """What a self-attention's scores over the sum of words and positions are the sum of.

    (w + p)W_Q((w' + p')W_K)ᵀ has four products. A norm before it is no obstacle: once the deviation
    σ of the sum is known, LN(x) = (x - mean(x))/σ·γ + β is linear in x, so that the centred w and p
    are divided by the σ of their sum and multiplied by γ, and β goes with the biases.

    Args:
        attention: of the first layer.
        norm: what comes before it, or None in a post-norm model.
        word: scaled embeddings, (token, d_model).
        position: encodings, (token, d_model).

    Returns:
        by the names in TERMS, (head, query, key) each, float64.

    Raises:
        PositionError: if the scores are no product of query and key.
    """
    function = _attention_function(attention)
    if not isinstance(function, ScaledDotProductAttention):
        raise PositionError(
            "Additive attention puts query and key through a tanh, so its scores do not split into "
            "terms; choose a model with dot-product attention."
        )
    word, position = word.double(), position.double()
    parts = {"word": word, "position": position}
    constant = torch.zeros(1, word.shape[-1], dtype=torch.float64, device=word.device)
    if norm is not None:
        deviation = (word + position).var(dim=-1, correction=0, keepdim=True) + norm.eps
        gain = norm.weight.double() / deviation.sqrt()
        parts = {name: (x - x.mean(dim=-1, keepdim=True)) * gain for name, x in parts.items()}
        constant = constant + norm.bias.double()
    queries, keys = (
        {name: x @ weight for name, x in parts.items()} | {"bias": constant @ weight + bias}
        for weight, bias in (
            _affine(attention.project_query, word),
            _affine(lambda x: attention.project_key_value(x)[0], word),
        )
    )
    scale = function.scale(queries["word"].shape[-1])
    terms: dict[str, Tensor] = {}
    for query, q in queries.items():
        for key, k in keys.items():
            name = "bias" if "bias" in (query, key) else f"{query}-{key}"
            product = (q @ k.transpose(-2, -1)) * scale
            terms[name] = terms[name] + product if name in terms else product
    return {name: terms[name] for name in TERMS}


def ordered(token_ids: Sequence[int], order: Iterable[int] | None) -> list[int]:
    """Token ids in another order; the last of them, the end token, stays where it is.

    Args:
        token_ids: of a source, ending with the end token.
        order: for each place, which of the other tokens stands there; None leaves them.

    Raises:
        PositionError: if the order does not name each of these tokens once.
    """
    *words, end = token_ids
    if order is None:
        return [*words, end]
    try:
        places = [operator.index(place) for place in order]
    except TypeError:
        places = []
    if sorted(places) != list(range(len(words))):
        raise PositionError(
            f"The order must name each of the {len(words)} tokens before </s> once, from 0 to "
            f"{len(words) - 1}; it does not."
        )
    return [*(words[place] for place in places), end]


def _attention_function(attention: MultiHead) -> nn.Module:
    heads = getattr(attention, "heads", None)
    return (attention if heads is None else heads[0]).get_submodule("attention")


def _affine(project: Any, like: Tensor) -> tuple[Tensor, Tensor]:
    """A projection's weight (head, d_model, d_k) and bias (head, 1, d_k), however it stores them.

    An affine map gives its bias for zeros, and its rows for the unit vectors.
    """
    unit = torch.eye(like.shape[-1], dtype=torch.float32, device=like.device)
    bias = project(torch.zeros_like(unit[:1])[None])[0].double()
    return project(unit[None])[0].double() - bias, bias


def _read_only(array: FloatArray) -> FloatArray:
    view = np.asarray(array, dtype=np.float32).view()
    view.setflags(write=False)
    return view


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.floating | np.integer) and not isinstance(value, bool)
