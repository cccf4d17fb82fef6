"""Readings of a trace: whole words, without special tokens, rows named by prediction."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from model.arguments import ByName
from model.brief import Brief
from model.explain.measures import Measure, measures
from model.trace.attention_map import (
    NO_ID,
    AttentionKind,
    AttentionMap,
    BoolArray,
    FloatArray,
    Site,
    Tokens,
)
from model.trace.provenance import UNKNOWN, Provenance
from model.trace.token_schemes import END, START, WORD_START, joined, special
from model.trace.trace import Trace
from model.trace.word_grouping import punctuation, word_weights, words

WORDS_NOTE = (
    "Whole words: weights are summed over the tokens of a key word and averaged over those of a "
    "query word (Clark et al. 2019)."
)
NO_WORDS_NOTE = "These tokens do not show where words start, so each counts as a word."
HIDDEN_NOTE = "Special tokens are hidden, so rows may sum to less than 1."
RENORMALISED_NOTE = (
    "Special tokens are hidden, and each row is divided by its remaining sum; rows that looked "
    "mostly at special tokens grow most."
)
FIRST_ROW_NOTE = "The first row of the decoder, that of <s>, is hidden with them."
FIRST_ROW_OF_DECODER_NOTE = (
    "The first row of decoder self-attention, that of <s>, is hidden with them."
)
FIRST_ROW_OF_CROSS_NOTE = "The first row of cross-attention, that of <s>, is hidden with them."
LAST_ROW_OF_CROSS_NOTE = (
    "The row of cross-attention that predicts </s>, its last, is hidden with them."
)
PREDICTED_NOTE = "Rows of cross-attention are named by the token they predict."

Axis = Literal["source", "input", "output"]

Spans = tuple[tuple[int, int], ...]
"""For each label of an axis, the position of its first token and the one after its last."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A way to read a trace; the default changes nothing.

    Attributes:
        specials: show <s>, </s> and <pad>; <unk> is text and always shows.
        renormalise: with special tokens hidden, divide each row by its remaining sum.
        predicted: name rows of cross-attention by the token they predict, not the token they read.
    """

    words: bool = False
    specials: bool = True
    renormalise: bool = False
    predicted: bool = False


AS_RECORDED = Reading()
"""The reading that changes nothing."""


# Compared by identity, like its maps.
@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ReadTrace(Brief):
    """A trace under a reading.

    Attributes:
        maps: every attention map by its site, the same sites as in the trace; read-only.
        beside: the labels to the right of rows, one a row, for the kinds of attention that have
            them. They belong to rows, so special tokens are among them even if the rows and columns
            of special tokens are hidden.
        target: the decoder's input under the reading.
        source_text: the input as text, as recorded.
        notes: the changes to the trace, in plain sentences; none for the default.
        by_prediction: whether rows of cross-attention are named by the token they predict, with the
            token they read beside them.
        file: the file of the trace; empty for a recorded model.
        folder: of the recorded Hugging Face model; empty for others.
        provenance: of the trace.
        spans: the tokens of each label of the source, of the decoder's "input" and of its "output",
            under the reading.
        beside_spans: the tokens of the output, or with rows named by prediction of the input, of
            the labels in `beside`.
    """

    maps: Mapping[Site, AttentionMap]
    beside: Mapping[AttentionKind, Tokens]
    source: Tokens
    target: Tokens
    source_text: str
    notes: tuple[str, ...]
    by_prediction: bool = False
    reading: Reading = AS_RECORDED
    file: str = ""
    folder: str = ""
    provenance: Provenance = UNKNOWN
    spans: Mapping[Axis, Spans] = field(default_factory=dict)
    beside_spans: Mapping[AttentionKind, Spans] = field(default_factory=dict)

    @property
    def has_sides(self) -> bool:
        """Whether there is a source and a target, which takes cross-attention.

        An encoder or a decoder alone reads one text.
        """
        return any(site.kind is AttentionKind.CROSS for site in self.maps)


def read(trace: Trace, reading: Reading = Reading()) -> ReadTrace:
    """A trace under a reading; the trace itself does not change.

    Whole words: a key word's weight is the sum over its tokens, a query word's row the mean over
    the rows of its tokens, so a row still sums to 1 ("What Does BERT Look At?", Clark et al. 2019,
    section 4.1). Token rows without an allowed key do not count in that mean; a word with only such
    rows gets zeros. A pair of words is allowed if any pair of their tokens is. `words` says what a
    word is. A map in which every word is one token keeps its scores and vectors; in others they are
    None, since a word has none.

    Hidden special tokens lose their rows and columns. A row without remaining weight stays zero
    when rows are renormalised.

    Maps of the kind MODULE, with axes of unknown text, do not change.
    """
    axes = {
        tokens: _axis(tokens, reading)
        for tokens in (
            trace.source,
            trace.target,
            trace.predictions,
            *(attention.keys for attention in trace.maps.values()),
        )
    }
    inputs, outputs = axes[trace.target], axes[trace.predictions]
    by_prediction = reading.predicted and len(trace.predictions) > 0
    maps = {}
    for site, attention in trace.maps.items():
        if site.kind is AttentionKind.MODULE:
            maps[site] = attention
            continue
        predicts = by_prediction and site.kind is AttentionKind.CROSS
        rows = outputs if predicts else axes[attention.queries]
        maps[site] = _read_map(attention, rows, axes[attention.keys], reading)
    beside: dict[AttentionKind, Tokens] = {}
    beside_spans: dict[AttentionKind, Spans] = {}
    if len(trace.predictions) > 0:
        # A word's last token predicts the next word.
        following = inputs.last[inputs.kept]
        beside[AttentionKind.DECODER] = outputs.at(following)
        beside_spans[AttentionKind.DECODER] = outputs.spans_at(following)
        # The token read before a word predicts the word's first token.
        before = outputs.starts[outputs.kept]
        of_cross = (inputs, before) if by_prediction else (outputs, following)
        beside[AttentionKind.CROSS] = of_cross[0].at(of_cross[1])
        beside_spans[AttentionKind.CROSS] = of_cross[0].spans_at(of_cross[1])
    return ReadTrace(
        maps=MappingProxyType(ByName(maps)),
        beside=MappingProxyType(beside),
        source=axes[trace.source].shown,
        target=inputs.shown,
        source_text=trace.source_text,
        notes=(
            *_notes(trace, reading, by_prediction),
            *(() if all(each.bits == 32 for each in trace.maps.values()) else (trace.precision,)),
        ),
        by_prediction=by_prediction,
        reading=reading,
        provenance=trace.provenance,
        spans=MappingProxyType(
            {
                "source": axes[trace.source].spans,
                "input": inputs.spans,
                "output": outputs.spans,
            }
        ),
        beside_spans=MappingProxyType(beside_spans),
    )


def measures_of(reading: Reading) -> tuple[Measure, ...]:
    """Every measure of heads, worded for a reading."""
    return measures(words=reading.words, specials=reading.specials)


def selected_maps(
    trace: ReadTrace,
    attention: AttentionKind | str,
    layer: int | None = None,
    head: int | None = None,
) -> tuple[list[AttentionMap], list[int]]:
    """The maps of one kind of attention, all or of one layer, then the numbers of their heads.

    Layer and head are counted from 0; None takes every one. Raises IndexError if there is no such
    layer or head; the message says which there are.
    """
    kind = AttentionKind(attention)
    maps = [each for site, each in trace.maps.items() if site.kind is kind]
    n_heads = min((each.n_heads for each in maps), default=0)
    selected = [each for each in maps if layer is None or each.site.layer == layer]
    if not selected:
        layers = ", ".join(str(each.site.layer) for each in maps) or "none"
        raise IndexError(f"There is no layer {layer} of {kind} attention; choose one of {layers}.")
    if head is not None and not 0 <= head < n_heads:
        raise IndexError(f"There are the heads 0 to {n_heads - 1}; there is no head {head}.")
    return selected, list(range(n_heads)) if head is None else [head]


def site_map(trace: ReadTrace, attention: AttentionKind | str, layer: int) -> AttentionMap:
    """The map of one site of a trace under a reading; errors as `selected_maps`."""
    return selected_maps(trace, attention, layer)[0][0]


def alignment_note(layers: Mapping[int, bool]) -> str:
    """A sentence on the rows in which layers look at a token's source, from `read_later`; or ""."""
    rows = {True: "that has read it", False: "that predicts it"}
    parts = []
    for later, row in rows.items():
        agreeing = [layer for layer, verdict in sorted(layers.items()) if verdict is later]
        if agreeing:
            verb = "looks" if len(agreeing) == 1 else "look"
            parts.append(f"{_listed(agreeing)} {verb} at a token's source more in the row {row}")
    if not parts:
        return ""
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]} (over this model's examples)."


def _listed(layers: Sequence[int]) -> str:
    """Such as "layer 0", "layers 0 and 2" or "layers 1 to 3"."""
    if len(layers) == 1:
        return f"layer {layers[0]}"
    if len(layers) > 2 and layers[-1] - layers[0] == len(layers) - 1:
        return f"layers {layers[0]} to {layers[-1]}"
    return f"layers {', '.join(map(str, layers[:-1]))} and {layers[-1]}"


@dataclass(frozen=True, slots=True, eq=False)
class _Axis:
    """The tokens of one axis in groups, each shown as one.

    Attributes:
        starts: the position of each group's first token, (group,).
        kept: True for the shown groups, (group,).
    """

    tokens: Tokens
    starts: NDArray[np.intp]
    labels: Tokens
    kept: BoolArray

    @property
    def last(self) -> NDArray[np.intp]:
        """The position of each group's last token, (group,)."""
        return np.append(self.starts[1:], len(self.tokens)) - 1

    @property
    def shown(self) -> Tokens:
        return _pick(self.labels, np.flatnonzero(self.kept))

    @property
    def grouped(self) -> bool:
        return len(self.starts) < len(self.tokens)

    @property
    def whole(self) -> bool:
        return bool(self.kept.all())

    def at(self, positions: NDArray[np.intp]) -> Tokens:
        """The labels of the groups that hold these tokens, shown or not."""
        return _pick(self.labels, self._groups(positions))

    def spans_at(self, positions: NDArray[np.intp]) -> Spans:
        """The tokens of the same groups."""
        return self._spans(self._groups(positions))

    @property
    def spans(self) -> Spans:
        """The tokens of each shown group."""
        return self._spans(np.flatnonzero(self.kept))

    def _groups(self, positions: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.searchsorted(self.starts, positions, side="right") - 1

    def _spans(self, groups: NDArray[np.intp]) -> Spans:
        ends = self.last + 1
        return tuple((int(self.starts[group]), int(ends[group])) for group in groups)


def _pick(tokens: Tokens, positions: NDArray[np.intp]) -> Tokens:
    if np.array_equal(positions, np.arange(len(tokens))):
        return tokens
    return tokens.at(positions.tolist())


def _axis(tokens: Tokens, reading: Reading) -> _Axis:
    kept = np.ones(len(tokens), dtype=np.bool_)
    if not reading.specials:
        kept = np.array([not special(token) for token in tokens], dtype=np.bool_)
    starts = np.arange(len(tokens))
    labels = tokens
    if reading.words and _marked(tokens):
        slices = list(words(tokens))
        starts = np.array([word.start for word in slices], dtype=np.intp)
        pairs = [_word_label(tokens[word]) for word in slices]
        texts, ids = zip(*pairs, strict=True)
        labels = Tokens(texts, ids, "sentencepiece")
        # A special token is a group by itself.
        kept = kept[starts]
    return _Axis(tokens, starts, labels, kept)


def _marked(tokens: Tokens) -> bool:
    """Whether tokens mark the start of words; without marks, words are unknown."""
    return any(token.startswith(WORD_START) for token in tokens)


def _word_label(word: Tokens) -> tuple[str, int]:
    """The label and the id of a word; a single token keeps both unless it continues a word."""
    if len(word) == 1:
        token, token_id = word.tokens[0], word.ids[0]
        if token.startswith(WORD_START) or special(token) or punctuation(token):
            return token, token_id
    return joined(word.tokens).removeprefix(WORD_START), NO_ID


def _read_map(
    attention: AttentionMap, rows: _Axis, columns: _Axis, reading: Reading
) -> AttentionMap:
    if rows.grouped or columns.grouped:
        attention = replace(
            attention,
            weights=_word_weights(attention, rows, columns),
            allowed=_word_allowed(attention.allowed, rows, columns),
            queries=rows.labels,
            keys=columns.labels,
            scores=None,
            q=None,
            k=None,
            v=None,
        )
    elif rows.labels != attention.queries or columns.labels != attention.keys:
        attention = attention.labelled(rows.labels, columns.labels)
    if rows.whole and columns.whole:
        return attention
    return _without_specials(attention, rows, columns, renormalise=reading.renormalise)


def _word_weights(attention: AttentionMap, rows: _Axis, columns: _Axis) -> FloatArray:
    """Keys summed and queries averaged, (head, query word, key word)."""
    looking = np.logical_not(attention.empty_queries)
    weights = word_weights(attention.weights, rows.starts, columns.starts, looking)
    # Rounding can push a sum past 1.
    return np.minimum(weights, 1).astype(np.float32, copy=False)


def _word_allowed(allowed: BoolArray, rows: _Axis, columns: _Axis) -> BoolArray:
    """True if any pair of tokens is allowed, ([head,] query word, key word)."""
    across = np.logical_or.reduceat(allowed, columns.starts, axis=-1)
    return np.logical_or.reduceat(across, rows.starts, axis=-2)


def _without_specials(
    attention: AttentionMap, rows: _Axis, columns: _Axis, *, renormalise: bool
) -> AttentionMap:
    part = attention.part(rows.kept, columns.kept, rows.shown, columns.shown)
    if not renormalise:
        return part
    left = part.weights.sum(axis=-1, keepdims=True)
    # A row without weight stays zero.
    shares = part.weights / np.where(left > 0, left, 1)
    return replace(part, weights=np.minimum(shares, 1).astype(np.float32, copy=False))


def _notes(trace: Trace, reading: Reading, by_prediction: bool) -> Iterator[str]:
    kinds = {site.kind for site in trace.maps} - {AttentionKind.MODULE}
    cross, decoder = AttentionKind.CROSS in kinds, AttentionKind.DECODER in kinds
    if not kinds:
        return
    if reading.words:
        marked = _marked(trace.source) or _marked(trace.target)
        yield WORDS_NOTE if marked else NO_WORDS_NOTE
    if not reading.specials:
        yield RENORMALISED_NOTE if reading.renormalise else HIDDEN_NOTE
        by_input = cross and not by_prediction
        if START in trace.target:
            if decoder and by_input:
                yield FIRST_ROW_NOTE
            elif decoder:
                yield FIRST_ROW_OF_DECODER_NOTE
            elif by_input:
                yield FIRST_ROW_OF_CROSS_NOTE
        if cross and by_prediction and END in trace.predictions:
            yield LAST_ROW_OF_CROSS_NOTE
    if by_prediction and cross:
        yield PREDICTED_NOTE
