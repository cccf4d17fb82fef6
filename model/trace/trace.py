"""What one pass over one sentence showed: the attention maps of every site, and the tokens.

Plain values, without torch; see model/trace/attention_map.py for the arrays.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np

from model.trace.attention_map import (
    ARRAYS,
    MOST_BYTES,
    AttentionKind,
    AttentionMap,
    FloatArray,
    Site,
    Tokens,
    TraceError,
    field_values,
    known_kind,
    read_only,
    remade,
)
from model.trace.trace_file import read_fields, write_fields


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
            log_probs = read_only("log_probs", self.log_probs, np.float32)
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
        return remade, (Trace, field_values(self) | {"maps": dict(self.maps)})

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
        write_fields(field_values(self), file)

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
        return Trace(**read_fields(file, most_bytes))

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
