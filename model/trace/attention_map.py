"""The weights of all heads at one attention site, with the tokens of both axes.

Labels and numbers belong to one value, so that they cannot drift apart. Arrays are read-only
float32 or bool. An array that already has the right type is not copied, so its owner must not write
to it again.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from model.arguments import NAMED, checked_methods, nearest, require
from model.brief import Brief, shortened
from model.trace.array_values import ArrayValue, Sized
from model.trace.array_values import TraceError as TraceError
from model.trace.forms import form
from model.trace.rounded_weights import Bits, rounded
from model.trace.stored import Stored, read_on_demand, read_only
from model.trace.token_schemes import WORD_START, Scheme, SchemeError, spelled

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]

TextSide = Literal["source", "target"]
"""The sentence along an axis of attention, as `Trace` names them."""

T = TypeVar("T")

NO_ID = -1
"""The id of a label that is no token, such as a position."""

TEXTS = ("text", "source_text")
SEQUENCES = ("source", "target", "predictions")
"""Names of a trace's texts and tokens, in a saved trace as well."""


class AttentionKind(StrEnum):
    """A kind of attention in an encoder-decoder (Vaswani et al. 2017, section 3.2.3)."""

    ENCODER = "encoder"
    """Source tokens attend to source tokens."""
    DECODER = "decoder"
    """Target tokens attend to themselves and to earlier target tokens."""
    CROSS = "cross"
    """Target tokens attend to source tokens."""
    MODULE = "module"
    """An attention module of unknown role in another model."""

    # Not `title` and `short`: a kind is a string, and strings have a method title().
    @property
    def full_name(self) -> str:
        """Its name for people, such as "Cross-attention"."""
        return _FULL_NAMES[self]

    @property
    def short_name(self) -> str:
        """A short name, such as "Cross"."""
        return self.capitalize()

    @property
    def query_side(self) -> TextSide | None:
        """The sentence of its queries (rows); None if unknown."""
        return _SIDES[self][0]

    @property
    def key_side(self) -> TextSide | None:
        """The sentence of its keys (columns); None if unknown."""
        return _SIDES[self][1]

    def axes(self, source: T, target: T, unknown: T) -> tuple[T, T]:
        """The values for its queries and its keys, each of source, target or unknown side."""
        of_side = {"source": source, "target": target, None: unknown}
        return of_side[self.query_side], of_side[self.key_side]

    @property
    def query_noun(self) -> str:
        """The noun for a query, such as "target token"."""
        return _noun(self.query_side)

    @property
    def key_noun(self) -> str:
        """The noun for a key, such as "source token"."""
        return _noun(self.key_side)


_FULL_NAMES = {
    AttentionKind.ENCODER: "Encoder self-attention",
    AttentionKind.DECODER: "Decoder self-attention",
    AttentionKind.CROSS: "Cross-attention",
    AttentionKind.MODULE: "Attention module",
}
_SIDES: dict[AttentionKind, tuple[TextSide | None, TextSide | None]] = {
    AttentionKind.ENCODER: ("source", "source"),
    AttentionKind.DECODER: ("target", "target"),
    AttentionKind.CROSS: ("target", "source"),
    AttentionKind.MODULE: (None, None),
}


def _noun(side: TextSide | None) -> str:
    return "position" if side is None else f"{side} token"


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class Site:
    """One attention of a model: its kind with its layer, counted from 0.

    Sites sort by kind (encoder, decoder, cross, module), then by layer. Raises TraceError if there
    is no such kind, or the layer is negative.
    """

    kind: AttentionKind
    layer: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", known_kind(self.kind))
        require("layer", self.layer, int)
        if self.layer < 0:
            raise TraceError(f"Layers are counted from 0; there is no layer {self.layer}.")

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Site):
            return NotImplemented
        return self._rank < other._rank

    def __str__(self) -> str:
        return f"{self.kind}.{self.layer}"

    def __repr__(self) -> str:
        return f"Site({self.kind.value!r}, {self.layer})"

    @classmethod
    def of(cls, named: Any) -> Site:
        """The site that is named as itself, as (kind, layer) or as "cross.3".

        Raises:
            TraceError: if it is none of these.
        """
        if isinstance(named, cls):
            return named
        try:
            kind, layer = named.split(".") if isinstance(named, str) else named
            number: Any = int(layer) if isinstance(layer, str) else layer
            return cls(known_kind(kind), operator.index(number))
        except (TypeError, ValueError):
            raise TraceError(
                f"A site is a kind of attention ({', '.join(AttentionKind)}) and a layer from 0, "
                f'as in ("cross", 2) or "cross.2"; {named!r} is not.'
            ) from None

    def head_name(self, head: int) -> str:
        """A head's name for people, such as "Cross-attention, layer 3, head 2"."""
        return f"{self.kind.full_name}, layer {self.layer}, head {head}"

    @property
    def _rank(self) -> tuple[int, int]:
        return list(AttentionKind).index(self.kind), self.layer


NAMED[Site] = Site.of, 'a site such as ("cross", 2)'


@dataclass(frozen=True, slots=True)
class Tokens(Brief):
    """The labels of one axis: tokens as strings, with their ids in the vocabulary.

    Attributes:
        tokens: a string for each position, as SentencePiece would spell it: "▁" begins a word.
        ids: an id for each position; NO_ID for none.
        marked: whether the vocabulary marks words; where nothing shows how, tokens without a mark
            may begin words as well as continue them.

    Args:
        scheme: how the given tokens mark words, a Scheme of token_schemes.py: they are spelled
            anew. None recognises it from the tokens, and leaves them alone where it cannot. Labels
            without ids are never changed.

    Raises:
        TraceError: if the numbers of ids and tokens differ, or there is no such scheme.
    """

    tokens: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()
    scheme: InitVar[Scheme | None] = None
    marked: bool = field(init=False, compare=False, repr=False, default=True)

    def __post_init__(self, scheme: Scheme | None) -> None:
        require("tokens", self.tokens, Sequence)
        require("ids", self.ids, Sequence)
        object.__setattr__(self, "tokens", tuple(self.tokens))
        object.__setattr__(self, "ids", tuple(self.ids))
        if len(self.tokens) != len(self.ids):
            raise TraceError(
                f"Each token needs one id: there are {len(self.tokens)} tokens and "
                f"{len(self.ids)} ids."
            )
        pieces = [token for token, each in zip(self.tokens, self.ids, strict=True) if each != NO_ID]
        try:
            texts = iter(spelled(pieces, scheme))
        except SchemeError as error:
            raise TraceError(str(error)) from None
        labelled = zip(self.tokens, self.ids, strict=True)
        tokens = tuple(token if each == NO_ID else next(texts) for token, each in labelled)
        object.__setattr__(self, "tokens", tokens)
        marked = scheme is not None or any(token.startswith(WORD_START) for token in tokens)
        object.__setattr__(self, "marked", marked)

    def __repr__(self) -> str:
        return f"Tokens({shortened(' '.join(self.tokens), 48)!r})"

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tokens)

    def __add__(self, other: Tokens) -> Tokens:
        return _spelled(
            self.tokens + other.tokens, self.ids + other.ids, self.marked or other.marked
        )

    def __getitem__(self, positions: slice) -> Tokens:
        return _spelled(self.tokens[positions], self.ids[positions], self.marked)

    def at(self, positions: Iterable[int]) -> Tokens:
        """The tokens of some positions."""
        places = list(positions)
        tokens = tuple(self.tokens[place] for place in places)
        return _spelled(tokens, tuple(self.ids[place] for place in places), self.marked)

    @classmethod
    def unnamed(cls, labels: Iterable[object]) -> Tokens:
        """Labels that are no tokens, such as the positions 0, 1, … of an unknown text."""
        tokens = tuple(str(label) for label in labels)
        return cls(tokens, (NO_ID,) * len(tokens))

    @classmethod
    def grid(cls, rows: int, columns: int) -> Tokens:
        """The patches of an image, row by row, as "3,5"; a head's row is then drawn as one."""
        return cls.unnamed(f"{row},{column}" for row in range(rows) for column in range(columns))

    @classmethod
    def times(cls, count: int, seconds: float) -> Tokens:
        """Positions of a sound, one every so many seconds, as "1.28s"."""
        return cls.unnamed(f"{place * seconds:.2f}s" for place in range(count))


def _spelled(tokens: tuple[str, ...], ids: tuple[int, ...], marked: bool) -> Tokens:
    """Tokens of others, which are spelled already."""
    found = Tokens(tokens, ids, "sentencepiece")
    object.__setattr__(found, "marked", marked)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class HeadAttention(Brief):
    """One head of an `AttentionMap`: its number, from 0, with the map's arrays for this head."""

    site: Site
    number: int
    _: KW_ONLY
    weights: FloatArray
    allowed: BoolArray
    queries: Tokens
    keys: Tokens
    scores: FloatArray | None
    q: FloatArray | None
    k: FloatArray | None
    v: FloatArray | None

    def __repr__(self) -> str:
        size = f"{len(self.queries)} queries × {len(self.keys)} keys"
        return f"HeadAttention({self.site}.{self.number}, {size})"

    @property
    def name(self) -> str:
        """Its name for people, such as "Cross-attention, layer 3, head 2"."""
        return self.site.head_name(self.number)


# Compared and hashed by identity: comparing arrays gives an array, not an answer.
ARRAYS = ("weights", "allowed", "scores", "q", "k", "v")
"""Names of an AttentionMap's arrays, in a saved trace as well."""


# Without slots, because a field that is read on demand needs a place for what it is read from.
@checked_methods
@read_on_demand(*ARRAYS)
@dataclass(frozen=True, eq=False)
class AttentionMap(ArrayValue, Sized):
    """All heads of one site, for one sentence.

    Arrays of a long text may stay in their file, or in fewer bits. Then an attribute reads its
    whole array each time, `head` reads what belongs to one head, and both raise TraceError if the
    file is damaged there.

    Attributes:
        site: the attention they belong to.
        weights: after the softmax, (head, query, key), each from 0 to 1.
        allowed: True = may attend, (query, key), or (head, query, key) where heads differ.
        queries: labels of the query axis (rows).
        keys: labels of the key axis (columns).
        scores: before masking and softmax, (head, query, key); None if unknown, as are the others.
        q: projected queries, (head, query, d_k).
        k: projected keys, (head, key, d_k).
        v: projected values, (head, key, d_v).

    Raises:
        TraceError: if a shape disagrees with the labels or with the other arrays.
    """

    site: Site
    _: KW_ONLY
    weights: FloatArray
    allowed: BoolArray
    queries: Tokens
    keys: Tokens
    scores: FloatArray | None = None
    q: FloatArray | None = None
    k: FloatArray | None = None
    v: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ARRAYS:
            value = self.stored(name)
            if value is not None:
                kind = np.bool_ if name == "allowed" else np.float32
                object.__setattr__(self, name, read_only(f"{self.site} {name}", value, kind))
        weights, allowed, q = map(self.stored, ("weights", "allowed", "q"))
        if len(weights.shape) != 3:
            raise TraceError(
                f"The weights of {self.site} must have the shape (head, query, key); "
                f"theirs is {weights.shape}."
            )
        full = (self.n_heads, len(self.queries), len(self.keys))
        self._require("weights", full)
        self._require("allowed", full if len(allowed.shape) == 3 else full[1:])
        self._require("scores", full)
        self._require("q", (*full[:2], None))
        self._require("k", (full[0], full[2], None if q is None else q.shape[-1]))
        self._require("v", (full[0], full[2], None))

    def __repr__(self) -> str:
        size = f"{self.n_heads} heads, {len(self.queries)} queries × {len(self.keys)} keys"
        return f"AttentionMap({self.site}, {size})"

    def frame(self, head: int) -> Any:
        """The weights of one head as a pandas table, with the tokens of queries and keys as labels.

        Raises IndexError if there is no such head.
        """
        return form("table", self.head(head))

    @property
    def n_heads(self) -> int:
        """The number of heads."""
        return self.shape[0]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the weights, (head, query, key); nothing is read for it."""
        n_heads, n_queries, n_keys = self.stored("weights").shape
        return n_heads, n_queries, n_keys

    @property
    def bits(self) -> Bits:
        """The bits of each stored weight; 32 are exact."""
        weights = self.stored("weights")
        return weights.bits if isinstance(weights, Stored) else 32

    @property
    def nbytes(self) -> int:
        """The bytes of memory that its arrays hold."""
        arrays = map(self.stored, ARRAYS)
        return sum(int(each.nbytes) for each in arrays if each is not None)

    def in_steps(
        self,
        check: Callable[[FloatArray, int], None] | None = None,
        heads: Iterable[int] | None = None,
    ) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.float32]]]:
        """Each head in 8 bits, as of model.trace.rounded_weights.rounded: as it is kept, if so.

        Args:
            check: called with the weights of a head that is rounded now, (1, query, key), and its
                number; raises an error.
            heads: which, by their numbers; None for all.
        """
        kept = self.stored("weights")
        for head in range(self.n_heads) if heads is None else heads:
            if isinstance(kept, Stored):
                steps, scales = kept.raw_head(head)
                if scales is not None:
                    yield steps, scales
                    continue
            weights = kept[head]
            if check is not None:
                check(weights[None], head)
            yield rounded(weights)

    def stored(self, name: str) -> Any:
        """An array as it is kept, a `Stored` or a numpy array; None if there is none."""
        return vars(self)[name]

    def labelled(self, queries: Tokens, keys: Tokens) -> AttentionMap:
        """The same arrays under other labels; none is read."""
        arrays = {name: self.stored(name) for name in ARRAYS}
        return AttentionMap(self.site, queries=queries, keys=keys, **arrays)

    @property
    def empty_queries(self) -> BoolArray:
        """True for queries without an allowed key, (query,), or (head, query) where heads differ.

        All their weights are zero: they attend to nothing, which differs from uniform attention.
        """
        return np.logical_not(self.allowed.any(axis=-1))

    def head(self, number: int) -> HeadAttention:
        """One head, counted from 0, without copies; IndexError if there is none."""
        if not 0 <= number < self.n_heads:
            raise IndexError(
                f"{self.site} has the heads 0 to {self.n_heads - 1}; there is no head {number}."
            )
        arrays = {name: self.stored(name) for name in ARRAYS}
        shared = len(self.stored("allowed").shape) == 2
        if shared:
            arrays["allowed"] = self.allowed
        return HeadAttention(
            self.site,
            number,
            queries=self.queries,
            keys=self.keys,
            **{
                name: array if array is None or (shared and name == "allowed") else array[number]
                for name, array in arrays.items()
            },
        )

    def part(self, rows: Any, columns: Any, queries: Tokens, keys: Tokens) -> AttentionMap:
        """The map of some queries and keys, by slice or mask, with their labels."""

        def cut(array: Any, rows: Any, columns: Any = slice(None)) -> Any:
            return None if array is None else array[..., rows, :][..., columns]

        return replace(
            self,
            weights=cut(self.weights, rows, columns),
            allowed=cut(self.allowed, rows, columns),
            queries=queries,
            keys=keys,
            scores=cut(self.scores, rows, columns),
            q=cut(self.q, rows),
            k=cut(self.k, columns),
            v=cut(self.v, columns),
        )

    def _require(self, name: str, shape: tuple[int | None, ...]) -> None:
        array = self.stored(name)
        if array is None:
            return
        if len(array.shape) != len(shape) or any(
            expected not in (None, size) for expected, size in zip(shape, array.shape, strict=True)
        ):
            expected = ", ".join("any" if size is None else str(size) for size in shape)
            raise TraceError(
                f"The {name} of {self.site} have the shape {array.shape}, but its labels and "
                f"heads need ({expected})."
            )


AXES = ("queries", "keys")
"""Names of an AttentionMap's labels, in a saved trace as well."""


def known_kind(kind: AttentionKind | str) -> AttentionKind:
    """The kind of that name; TraceError if there is none."""
    try:
        return AttentionKind(kind)
    except ValueError:
        raise TraceError(
            f"There is no attention of the kind {kind!r}; choose one of "
            f"{', '.join(AttentionKind)}.{nearest(str(kind), list(AttentionKind))}"
        ) from None


def weights_in(maps: Iterable[AttentionMap]) -> int:
    """How many weights maps hold; none is read."""
    return sum(math.prod(each.shape) for each in maps)
