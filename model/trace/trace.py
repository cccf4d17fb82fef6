"""The trace of one pass over one sentence: the attention maps of every site, and the tokens.

Plain values, without torch; model/trace/attention_map.py describes the arrays.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np

from model.arguments import ByName, checked_methods
from model.brief import listed, shortened
from model.trace.array_values import ArrayValue, Sized, field_values
from model.trace.attention_map import (
    AttentionKind,
    AttentionMap,
    FloatArray,
    Site,
    Tokens,
    TraceError,
    known_kind,
)
from model.trace.forms import NoForm, form
from model.trace.from_arrays import fields_of_arrays
from model.trace.head import Head
from model.trace.other_outputs import fields_of_cache, fields_of_outputs
from model.trace.provenance import UNKNOWN, Provenance
from model.trace.rounded_weights import PRECISION, Bits
from model.trace.stored import read_only
from model.trace.trace_file import read_fields, write_fields

_OTHER_FORMATS = {
    *(".csv", ".gif", ".html", ".jpg", ".json", ".npy", ".parquet", ".pdf", ".pkl", ".png"),
    *(".pt", ".py", ".svg", ".tsv", ".txt", ".xlsx", ".zip"),
}
"""Suffixes that would be untrue of a trace."""


@checked_methods
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Trace(ArrayValue, Sized):
    """The attention of a model on one sentence.

    Attributes:
        source: the encoder's input; empty for a decoder alone.
        target: the decoder's input, its rows, starting with <s>; empty for an encoder alone.
        predictions: the token that each row of the decoder predicts, the last of them </s>; empty
            for a model that predicts no tokens.
        text: the output as text.
        source_text: the input as text.
        maps: every attention map by its site, in the order of sites; read-only.
        log_probs: the natural logarithm of each prediction's probability, (target,), or None.
        provenance: the model and the run that it comes from, as far as they are known.

    Raises:
        TraceError: if lengths disagree, or labels of a map differ from the trace's.
    """

    source: Tokens
    target: Tokens
    predictions: Tokens
    text: str
    source_text: str
    maps: Mapping[Site, AttentionMap]
    log_probs: FloatArray | None = None
    provenance: Provenance = UNKNOWN

    def __post_init__(self) -> None:
        maps = MappingProxyType(ByName(sorted(self.maps.items(), key=lambda item: item[0])))
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
        for site, attention in maps.items():
            self._check_labels(site, attention)

    def __repr__(self) -> str:
        texts = " → ".join(repr(shortened(each)) for each in (self.source_text, self.text) if each)
        kinds = [f"{kind} {_numbers(self.layers(kind))}" for kind in self._kinds]
        heads = {each.n_heads for each in self.maps.values()}
        count = [f"{heads.pop()} heads each"] if len(heads) == 1 else []
        return f"Trace({', '.join(filter(None, [texts, *kinds, *count]))})"

    def _repr_html_(self) -> str | None:
        """Every head, which a notebook draws when the trace is the last line of a cell."""
        try:
            page: str | None = form("page", self)
        except (TraceError, NoForm):
            return None
        return page

    @staticmethod
    def of(
        weights: Any,
        tokens: Sequence[str] | Tokens | None = None,
        target: Sequence[str] | Tokens | None = None,
        *,
        kind: str | None = None,
    ) -> Trace:
        """The trace of attention weights from any program: numpy, torch or JAX.

        Args:
            weights: after the softmax, (layer, head, query, key); a list of arrays (head, query,
                key), as transformers gives with a batch of one; one layer; or one head. A
                dictionary has them for several kinds, as in {"encoder": …, "cross": …}. An
                AttentionMap does as well.
            tokens: of the source, or of the only text; None names them by their positions.
            target: tokens of the decoder, the queries of cross-attention.
            kind: "encoder", "decoder" or "cross"; None looks: weights of two texts are cross,
                those of one are the decoder's if nothing looks ahead.

        Raises:
            TraceError: if arrays have another shape, or disagree with each other or the tokens.
        """
        return Trace(**fields_of_arrays(weights, tokens, target, kind))

    def frame(self) -> Any:
        """Every weight of every head as a pandas table, a row each.

        Its columns are kind, layer, head, query_position, query, key_position, key, weight and
        allowed; a query that may not attend to a key has the weight 0 there.
        """
        return form("table", self)

    def figure(
        self, name: str, layer: int | None = None, head: int | None = None, **options: Any
    ) -> Any:
        """A picture of the app, as in `trace.figure("cross", 3, 5).save("head.pdf")`.

        Args:
            name: a kind of attention, or a picture of docs/figures.md, such as "effects".
            layer: from 0; None for all.
            head: likewise.
            options: of `headscope export`, such as method="norms"; `translator`, the model, for
                pictures that ask it; and `other`, a second trace or text, for those that compare.

        Raises:
            UnknownNameError: if there is no such picture or option; the message lists them.
            ExportError, IndexError, TraceError: if the trace or the model cannot give it.
        """
        return form("figure", self, name, layer, head, **options)

    def attention(self, kind: AttentionKind | str, layer: int) -> AttentionMap:
        """The map of one site; a TraceError lists those there are."""
        if kind in self._kinds and layer in self.layers(kind):
            return self.maps[Site(AttentionKind(kind), layer)]
        raise TraceError(
            f"The trace has no {kind} attention of layer {layer}; it has {self._listing}."
        )

    def only(self, *sites: Site | tuple[str, int] | str) -> Trace:
        """The trace of some sites, such as "encoder.3"; a TraceError lists those there are."""
        wanted = {Site.of(site) for site in sites}
        if missing := wanted - self.maps.keys():
            raise TraceError(f"The trace has no {min(missing)}; it has {self._listing}.")
        return replace(self, maps={site: self.maps[site] for site in self.maps if site in wanted})

    @property
    def heads(self) -> list[Head]:
        """Every head with a map, in the order of sites."""
        return [
            Head(site, number) for site, each in self.maps.items() for number in range(each.n_heads)
        ]

    def layers(self, kind: AttentionKind | str) -> tuple[int, ...]:
        """The recorded layers of one kind, ascending; TraceError if there is no such kind."""
        known = known_kind(kind)
        return tuple(site.layer for site in self.maps if site.kind is known)

    @property
    def precision(self) -> str:
        """How exact the stored weights are, in a sentence; the coarsest of all sites counts."""
        return PRECISION[min((each.bits for each in self.maps.values()), default=32)]

    def save(self, file: str | os.PathLike[str] | BinaryIO, *, bits: Bits | None = None) -> None:
        """Write one .npz that numpy reads back without pickle.

        Every matrix has a name such as "cross.3.weights" or "encoder.0.q"; tokens and texts are
        arrays of strings, such as "source.tokens"; docs/traces.md lists them all.

        Args:
            file: a path, to which no suffix is added, or an open file.
            bits: 8 or 16 to write weights rounded (`precision` says how much), 32 to write them as
                floats, and in each case nothing but weights and masks; None writes everything as it
                is.

        Raises:
            TraceError: if the path has the suffix of another format, a token or a text ends in a
                NUL character, which numpy would drop, or weights are NaN or do not add up to 1 or 0
                over the keys; or there is no such number of bits.
        """
        if isinstance(file, str | os.PathLike) and Path(file).suffix.lower() in _OTHER_FORMATS:
            raise TraceError(
                f"A trace is an .npz file, and the name {Path(file).name} says otherwise; rename "
                "it. trace.frame() is a table that pandas writes in other formats."
            )
        write_fields(field_values(self), file, bits)

    @staticmethod
    def load(file: str | os.PathLike[str] | BinaryIO, *, most_bytes: int | None = None) -> Trace:
        """The trace in a file from `save`, or from another program that follows docs/traces.md.

        Arrays of more than 16 MiB stay in the file if it has a path: each head is read, and
        checked, when it is asked for.

        Args:
            file: its path, or the open file.
            most_bytes: of arrays that are read now, all together; None for 1 GiB. What stays in
                the file may have any size.

        Raises:
            TraceError: if the file is damaged, too large or no trace, its arrays disagree, or its
                weights come from no softmax.
            OSError: if the file cannot be opened.
        """
        return Trace(**read_fields(file, most_bytes))

    @staticmethod
    def from_transformers(
        outputs: Any, tokenizer: Any, source: Any = None, *, target: Any = None, sentence: int = 0
    ) -> Trace:
        """The trace in outputs of Hugging Face's transformers that you already hold.

        Args:
            outputs: with output_attentions=True, of one pass, or of `generate` with
                return_dict_in_generate=True: greedy, sampled or with beams.
            tokenizer: theirs.
            source: the ids that an encoder read, of one sentence or a batch; None without one.
            target: the ids that a decoder read in one pass, likewise; `generate` says them itself.
            sentence: which of a batch, or which sequence of `generate`.

        Raises:
            TraceError: if the outputs hold no attention, or the ids do not fit it.
        """
        return Trace(**fields_of_outputs(outputs, tokenizer, source, target, sentence))

    @staticmethod
    def from_transformer_lens(
        cache: Mapping[str, Any], tokens: Tokens, *, sentence: int = 0
    ) -> Trace:
        """The trace in a cache of TransformerLens, with queries, keys and values where it has them.

        Args:
            cache: arrays by the names of hooks, such as blocks.0.attn.hook_pattern.
            tokens: what the model read.
            sentence: which of a batch.

        Raises:
            TraceError: if the cache holds no attention, or the tokens do not fit it.
        """
        return Trace(**fields_of_cache(cache, tokens, sentence))

    @property
    def _kinds(self) -> dict[AttentionKind, None]:
        return dict.fromkeys(site.kind for site in self.maps)

    @property
    def _listing(self) -> str:
        found = (f"{kind} {', '.join(map(str, self.layers(kind)))}" for kind in self._kinds)
        return "; ".join(found) or "no map at all"

    def _check_labels(self, site: Site, attention: AttentionMap) -> None:
        if attention.site != site:
            raise TraceError(f"The map of {attention.site} stands under {site}.")
        if site.kind is AttentionKind.MODULE:
            return
        queries, keys = site.kind.axes(self.source, self.target, Tokens())
        # Another model's module may append keys (bias_k, add_zero_attn) to the sentence's.
        if attention.queries != queries or attention.keys[: len(keys)] != keys:
            raise TraceError(f"The labels of {site} are not the tokens of this trace.")


def _numbers(layers: tuple[int, ...]) -> str:
    if len(layers) > 1 and layers[-1] - layers[0] == len(layers) - 1:
        return f"{layers[0]}–{layers[-1]}"
    return listed(layers).replace(", ", " ")
