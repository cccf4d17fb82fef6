"""What was seen in one pass over one sentence: plain values, without torch.

A trace holds, for every attention site, the weights of all heads with the two token axes they
belong to, so that labels cannot drift from numbers. Arrays are read-only float32 or bool; an array
that already has the right type is viewed and not copied, so its maker must not write to it again.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, fields
from enum import StrEnum
from types import MappingProxyType
from typing import Any, BinaryIO, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]

TextSide = Literal["source", "target"]
"""Which sentence an axis of attention runs along, as `Trace` names them."""

T = TypeVar("T")

NO_ID = -1
"""The id of a label that is no token of a vocabulary, such as a position."""

TEXTS = ("text", "source_text")
SEQUENCES = ("source", "target", "predictions")
"""The texts and the tokens of a trace by name, in a saved trace as well."""


MOST_BYTES = 1 << 30
"""What the arrays of a saved trace may hold together."""


class TraceError(ValueError):
    """Arrays, labels or a file that make no consistent trace; the message says what disagrees."""


class AttentionKind(StrEnum):
    """Which attention of an encoder-decoder this is (Vaswani et al. 2017, section 3.2.3)."""

    ENCODER = "encoder"
    """Source tokens attend to source tokens."""
    DECODER = "decoder"
    """Target tokens attend to themselves and to earlier target tokens."""
    CROSS = "cross"
    """Target tokens attend to source tokens."""
    MODULE = "module"
    """An attention module of a foreign model whose role is not known."""

    # Not `title` and `short`: a kind is a string, and strings have a method title().
    @property
    def full_name(self) -> str:
        """Its name for people, such as "Cross-attention"."""
        return _FULL_NAMES[self]

    @property
    def short_name(self) -> str:
        """The same where there is little room, such as "Cross"."""
        return self.capitalize()

    @property
    def query_side(self) -> TextSide | None:
        """The sentence that its queries (rows) are tokens of; None where that is not known."""
        return _SIDES[self][0]

    @property
    def key_side(self) -> TextSide | None:
        """The sentence that its keys (columns) are tokens of; None where that is not known."""
        return _SIDES[self][1]

    def axes(self, source: T, target: T, unknown: T) -> tuple[T, T]:
        """What belongs to its queries and to its keys, of what belongs to source and target.

        Args:
            source: of the source, such as its tokens or their number.
            target: the same of the target.
            unknown: stands where a side is not known.
        """
        of_side = {"source": source, "target": target, None: unknown}
        return of_side[self.query_side], of_side[self.key_side]

    @property
    def query_noun(self) -> str:
        """What a query is, such as "target token"."""
        return _noun(self.query_side)

    @property
    def key_noun(self) -> str:
        """What a key is, such as "source token"."""
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
    """A place where attention happens: its kind and its layer, counted from 0.

    Sites sort in the order of a forward pass: encoder, decoder, cross, module, then by layer.

    Raises:
        TraceError: if there is no such kind, or the layer is negative.
    """

    kind: AttentionKind
    layer: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", known_kind(self.kind))
        if self.layer < 0:
            raise TraceError(f"Layers are counted from 0; there is no layer {self.layer}.")

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Site):
            return NotImplemented
        return self._rank < other._rank

    def __str__(self) -> str:
        return f"{self.kind}.{self.layer}"

    def head_name(self, head: int) -> str:
        """A head's name for people, such as "Cross-attention, layer 3, head 2"."""
        return f"{self.kind.full_name}, layer {self.layer}, head {head}"

    @property
    def _rank(self) -> tuple[int, int]:
        return list(AttentionKind).index(self.kind), self.layer


@dataclass(frozen=True, slots=True)
class Tokens:
    """The labels of one axis: tokens as strings, with their ids in the vocabulary.

    Attributes:
        tokens: one string a position, as the tokenizer cut them.
        ids: one id a position; NO_ID where there is none.

    Raises:
        TraceError: if there are not as many ids as tokens.
    """

    tokens: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", tuple(self.tokens))
        object.__setattr__(self, "ids", tuple(self.ids))
        if len(self.tokens) != len(self.ids):
            raise TraceError(
                f"Each token needs one id: there are {len(self.tokens)} tokens and "
                f"{len(self.ids)} ids."
            )

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tokens)

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(self.tokens + other.tokens, self.ids + other.ids)

    def __getitem__(self, positions: slice) -> Tokens:
        return Tokens(self.tokens[positions], self.ids[positions])

    @classmethod
    def unnamed(cls, labels: Iterable[object]) -> Tokens:
        """Labels that are no tokens, such as the positions 0, 1, … of an unknown text."""
        tokens = tuple(str(label) for label in labels)
        return cls(tokens, (NO_ID,) * len(tokens))


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """One head of one site, for one sentence; `AttentionMap.head` gives it.

    Attributes:
        site: where it was seen.
        number: which of the site's heads, from 0.
        weights: after the softmax, (query, key), each from 0 to 1.
        allowed: True = may attend, (query, key).
        queries: labels of the query axis (rows).
        keys: labels of the key axis (columns).
        scores: before masking and softmax, (query, key), or None if not known.
        q: projected queries, (query, d_k), or None if not known.
        k: projected keys, (key, d_k), or None if not known.
        v: projected values, (key, d_v), or None if not known.
    """

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

    @property
    def name(self) -> str:
        """Its name for people, such as "Cross-attention, layer 3, head 2"."""
        return self.site.head_name(self.number)


# Compared and hashed by identity: comparing arrays gives an array and not an answer.
@dataclass(frozen=True, slots=True, eq=False)
class AttentionMap:
    """All heads of one site, for one sentence.

    Attributes:
        site: where it was seen.
        weights: after the softmax, (head, query, key), each from 0 to 1.
        allowed: True = may attend, (query, key), or (head, query, key) where heads differ.
        queries: labels of the query axis (rows).
        keys: labels of the key axis (columns).
        scores: before masking and softmax, (head, query, key), or None if not known.
        q: projected queries, (head, query, d_k), or None if not known.
        k: projected keys, (head, key, d_k), or None if not known.
        v: projected values, (head, key, d_v), or None if not known.

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
            value = getattr(self, name)
            if value is not None:
                kind = np.bool_ if name == "allowed" else np.float32
                object.__setattr__(self, name, _read_only(f"{self.site} {name}", value, kind))
        if self.weights.ndim != 3:
            raise TraceError(
                f"The weights of {self.site} must have the shape (head, query, key); "
                f"theirs is {self.weights.shape}."
            )
        full = (self.n_heads, len(self.queries), len(self.keys))
        self._require("weights", full)
        self._require("allowed", full if self.allowed.ndim == 3 else full[1:])
        self._require("scores", full)
        self._require("q", (*full[:2], None))
        self._require("k", (full[0], full[2], None if self.q is None else self.q.shape[-1]))
        self._require("v", (full[0], full[2], None))

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is checked as well, and its arrays are read-only.
        return _remade, (AttentionMap, _values(self))

    @property
    def n_heads(self) -> int:
        """How many heads there are."""
        return int(self.weights.shape[0])

    @property
    def empty_queries(self) -> BoolArray:
        """Which queries have no allowed key, (query,), or (head, query) where heads differ.

        Their weights are zeros throughout. They attended to nothing, which is not the same as
        attending to everything alike.
        """
        return np.logical_not(self.allowed.any(axis=-1))

    def head(self, number: int) -> Head:
        """One head of them, counted from 0; nothing is copied.

        Raises:
            IndexError: if there is no such head.
        """
        if not 0 <= number < self.n_heads:
            raise IndexError(
                f"{self.site} has the heads 0 to {self.n_heads - 1}; there is no head {number}."
            )
        arrays = {name: getattr(self, name) for name in ARRAYS}
        shared = self.allowed.ndim == 2
        return Head(
            self.site,
            number,
            queries=self.queries,
            keys=self.keys,
            **{
                name: array if array is None or (shared and name == "allowed") else array[number]
                for name, array in arrays.items()
            },
        )

    def _require(self, name: str, shape: tuple[int | None, ...]) -> None:
        array = getattr(self, name)
        if array is None:
            return
        if len(array.shape) != len(shape) or any(
            wanted not in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
        ):
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise TraceError(
                f"The {name} of {self.site} have the shape {array.shape}, but its labels and "
                f"heads make ({wanted})."
            )


ARRAYS = ("weights", "allowed", "scores", "q", "k", "v")
"""The arrays of an AttentionMap by name, in a saved trace as well."""

AXES = ("queries", "keys")
"""The labels of an AttentionMap by name, in a saved trace as well."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """Everything seen while one sentence went through a model.

    Attributes:
        source: what the encoder read; empty of a model that has a decoder alone.
        target: what the decoder read; its rows, and so the first of them is <s>. Empty of a model
            that has an encoder alone.
        predictions: what each row of the decoder went on to predict, the last of them </s>; empty
            for a model that predicts no tokens.
        text: the output as text.
        source_text: the input as text.
        maps: every attention map by its site, in the order of sites; cannot be changed.
        log_probs: the natural logarithm of each prediction's probability, (target,), or None.

    Raises:
        TraceError: if lengths disagree, or a map has other labels than the trace.
    """

    source: Tokens
    target: Tokens
    predictions: Tokens
    text: str
    source_text: str
    maps: Mapping[Site, AttentionMap]
    log_probs: FloatArray | None = None

    def __post_init__(self) -> None:
        maps = MappingProxyType(dict(sorted(self.maps.items(), key=lambda item: item[0])))
        object.__setattr__(self, "maps", maps)
        if len(self.predictions) not in (0, len(self.target)):
            raise TraceError(
                f"Each target token needs one prediction: there are {len(self.target)} and "
                f"{len(self.predictions)}."
            )
        if self.log_probs is not None:
            log_probs = _read_only("log_probs", self.log_probs, np.float32)
            object.__setattr__(self, "log_probs", log_probs)
            if log_probs.shape != (len(self.predictions),):
                raise TraceError(
                    f"log_probs have the shape {log_probs.shape}, but there are "
                    f"{len(self.predictions)} predictions."
                )
        for site, seen in maps.items():
            self._check_labels(site, seen)

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping that cannot be changed cannot be copied to another process either.
        return _remade, (Trace, _values(self) | {"maps": dict(self.maps)})

    def attention(self, kind: AttentionKind | str, layer: int) -> AttentionMap:
        """The map of one site.

        Raises:
            TraceError: if the trace holds no such site; the message lists those it holds.
        """
        if kind in self._kinds and layer in self.layers(kind):
            return self.maps[Site(AttentionKind(kind), layer)]
        raise TraceError(
            f"No {kind} attention of layer {layer} was seen; there is {self._listing}."
        )

    def layers(self, kind: AttentionKind | str) -> tuple[int, ...]:
        """The layers seen of one kind, ascending; empty if there are none.

        Raises:
            TraceError: if there is no such kind of attention.
        """
        known = known_kind(kind)
        return tuple(site.layer for site in self.maps if site.kind is known)

    @property
    def nbytes(self) -> int:
        """What the arrays hold, in bytes."""
        arrays = [getattr(seen, name) for seen in self.maps.values() for name in ARRAYS]
        return sum(array.nbytes for array in [*arrays, self.log_probs] if array is not None)

    def save(self, file: str | os.PathLike[str] | BinaryIO) -> None:
        """Write one .npz that numpy reads back without pickle.

        Every matrix has a name such as "cross.3.weights" or "encoder.0.q"; tokens and texts are
        arrays of strings, such as "source.tokens"; docs/traces.md has them all.

        Args:
            file: where to write; a path is taken as it is, without a suffix added.

        Raises:
            TraceError: if a token or a text ends in a NUL character, which numpy would drop, or
                weights are NaN or do not add up to 1 or 0 over the keys.
        """
        # Here and below: that file makes traces, and so needs this one.
        from model.trace.trace_file import save_trace

        save_trace(self, file)

    @staticmethod
    def load(file: str | os.PathLike[str] | BinaryIO, *, most_bytes: int = MOST_BYTES) -> Trace:
        """Read what `save` wrote, or another program as docs/traces.md says.

        Args:
            file: its path, or itself.
            most_bytes: a file whose arrays hold more is refused before any of them is read.

        Raises:
            TraceError: if the file is damaged, too large or no trace, or holds arrays that disagree
                or weights that no softmax made.
            OSError: if the file cannot be opened.
        """
        from model.trace.trace_file import load_trace

        return load_trace(file, most_bytes)

    @property
    def _kinds(self) -> set[AttentionKind]:
        return {site.kind for site in self.maps}

    @property
    def _listing(self) -> str:
        if not self.maps:
            return "no map in this trace"
        return "; ".join(
            f"{kind} {', '.join(map(str, self.layers(kind)))}"
            for kind in AttentionKind
            if self.layers(kind)
        )

    def _check_labels(self, site: Site, seen: AttentionMap) -> None:
        if seen.site != site:
            raise TraceError(f"The map of {seen.site} stands under {site}.")
        if site.kind is AttentionKind.MODULE:
            return
        queries, keys = site.kind.axes(self.source, self.target, Tokens())
        # A foreign module may append keys of its own (bias_k, add_zero_attn) to the sentence's.
        if seen.queries != queries or seen.keys[: len(keys)] != keys:
            raise TraceError(f"The labels of {site} are not the tokens of this trace.")


def known_kind(kind: AttentionKind | str) -> AttentionKind:
    """The kind of that name.

    Raises:
        TraceError: if there is none.
    """
    try:
        return AttentionKind(kind)
    except ValueError:
        raise TraceError(
            f"There is no attention of the kind {kind!r}; choose one of {', '.join(AttentionKind)}."
        ) from None


def _values(made: Any) -> dict[str, Any]:
    return {each.name: getattr(made, each.name) for each in fields(made)}


def _remade(kind: type[T], values: dict[str, Any]) -> T:
    return kind(**values)


def _read_only(name: str, value: Any, kind: type[np.generic]) -> NDArray[Any]:
    array = np.asarray(value)
    # Casting text or objects would fail with numpy's words, and casting floats to bool would not.
    if array.dtype.kind not in ("b" if kind is np.bool_ else "bfiu"):
        raise TraceError(f"{name} must be an array of {kind.__name__}, not of {array.dtype}.")
    view = array.astype(kind, copy=False).view()
    view.setflags(write=False)
    return view
