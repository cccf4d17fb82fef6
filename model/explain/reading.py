"""A trace as a person chooses to read it: whole words, without special tokens, by prediction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

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
from model.trace.trace import Trace
from model.trace.word_grouping import (
    END,
    START,
    WORD_START,
    punctuation,
    special,
    word_weights,
    words,
)

WORDS_NOTE = (
    "Whole words: weights are added up over the tokens of a key word and averaged over those of a "
    "query word (Clark et al. 2019)."
)
NO_WORDS_NOTE = "These tokens do not say where words start, so each is read as a word of its own."
HIDDEN_NOTE = "Special tokens are hidden, so rows may add up to less than 1."
RENORMALISED_NOTE = (
    "Special tokens are hidden, and each row is divided by what is left of it; a row that looked "
    "mostly at special tokens is enlarged the most."
)
FIRST_ROW_NOTE = "The first row of the decoder, that of <s>, is hidden with them."
FIRST_ROW_OF_DECODER_NOTE = (
    "The first row of decoder self-attention, that of <s>, is hidden with them."
)
FIRST_ROW_OF_CROSS_NOTE = "The first row of cross-attention, that of <s>, is hidden with them."
LAST_ROW_OF_CROSS_NOTE = (
    "The row of cross-attention that predicts </s>, its last, is hidden with them."
)
PREDICTED_NOTE = "Rows of cross-attention are named by what they predict."

_BYTES = re.compile(r"(?:<0x[0-9A-F]{2}>)+")
# Where Python's "surrogateescape" puts the bytes 80 to FF that are part of no character.
_UNDECODED = re.compile("[\udc80-\udcff]")
_ESCAPE = 0xDC00


@dataclass(frozen=True, slots=True)
class Reading:
    """How a trace is read; the default is as it was recorded.

    Attributes:
        words: whole words instead of subwords.
        specials: show <s>, </s> and <pad>; <unk> stands for text and always shows.
        renormalise: after special tokens are hidden, divide each row by what is left of it.
        predicted: rows of cross-attention are named by the token predicted, and not by the token
            just read.
    """

    words: bool = False
    specials: bool = True
    renormalise: bool = False
    predicted: bool = False


AS_RECORDED = Reading()
"""Nothing changed."""


# Compared by identity, as the maps in it are.
@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A trace as it was chosen to be read.

    Attributes:
        maps: every attention map by its site, the same sites as in the trace; cannot be changed.
        beside: what stands to the right of each row, for the kinds of attention that have it, one
            label a row. It goes with a row, so a special token stands here even where the rows and
            columns of special tokens are hidden.
        source: the source as read.
        target: the target, which the decoder read, as read.
        source_text: the input as text, as it was recorded.
        notes: what was done to the trace, in plain sentences; none for the default.
        by_prediction: whether the rows of cross-attention are named by what they predict, with what
            they read beside them.
        reading: the choices.
        file: what the trace was read from; empty where a model was recorded.
        folder: of the model of Hugging Face's that was recorded; empty for any other.
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

    @property
    def has_sides(self) -> bool:
        """Whether tokens are of a source and of a target, as cross-attention makes them.

        A model that has an encoder or a decoder alone reads one text.
        """
        return any(site.kind is AttentionKind.CROSS for site in self.maps)


def read(trace: Trace, reading: Reading = Reading()) -> Seen:
    """The maps of a trace with their axes, as chosen.

    Whole words: a key word's weight is the sum over its tokens, a query word's row is the mean over
    the rows of its tokens, so a row still adds up to 1 ("What Does BERT Look At?", Clark et al.
    2019, section 4.1). Token rows without any allowed key attended to nothing and take no part in
    that mean; a word of such rows alone stays zeros. A pair of words is allowed where any pair of
    their tokens is. Words are what spaces part, with punctuation before and after them set apart;
    special tokens, and labels that are no tokens, stand alone. A map in which no word has more
    than one token keeps its scores and vectors; in others they are None, as a word has none.

    Hidden special tokens lose their rows and their columns. A row left without weight stays zeros
    when rows are renormalised.

    Maps of the kind MODULE, whose axes are of no known text, pass as they are, as does every map
    that a choice leaves alone.

    Args:
        trace: what was recorded; it is not changed.
        reading: the choices.
    """
    axes = {
        tokens: _axis(tokens, reading)
        for tokens in (
            trace.source,
            trace.target,
            trace.predictions,
            *(seen.keys for seen in trace.maps.values()),
        )
    }
    inputs, outputs = axes[trace.target], axes[trace.predictions]
    by_prediction = reading.predicted and len(trace.predictions) > 0
    maps = {}
    for site, seen in trace.maps.items():
        if site.kind is AttentionKind.MODULE:
            maps[site] = seen
            continue
        named = by_prediction and site.kind is AttentionKind.CROSS
        rows = outputs if named else axes[seen.queries]
        maps[site] = _read_map(seen, rows, axes[seen.keys], reading)
    beside: dict[AttentionKind, Tokens] = {}
    if len(trace.predictions) > 0:
        # A word's last token predicts what comes after it.
        following = outputs.at(inputs.last[inputs.kept])
        beside[AttentionKind.DECODER] = following
        # And what was read before a word is what its first token is predicted from.
        before = inputs.at(outputs.starts[outputs.kept])
        beside[AttentionKind.CROSS] = before if by_prediction else following
    return Seen(
        maps=MappingProxyType(maps),
        beside=MappingProxyType(beside),
        source=axes[trace.source].shown,
        target=inputs.shown,
        source_text=trace.source_text,
        notes=tuple(_notes(trace, reading, by_prediction)),
        by_prediction=by_prediction,
        reading=reading,
    )


def measures_of(reading: Reading) -> tuple[Measure, ...]:
    """Every measure of heads, in the words of a reading."""
    return measures(words=reading.words, specials=reading.specials)


def chosen_maps(
    seen: Seen, attention: AttentionKind | str, layer: int | None = None, head: int | None = None
) -> tuple[list[AttentionMap], list[int]]:
    """The maps and the heads of one kind of attention, all of them or those of a layer or a head.

    Args:
        seen: the trace as it is read.
        attention: the kind.
        layer: counted from 0; None takes every layer.
        head: counted from 0; None takes every head.

    Raises:
        IndexError: if there is no such layer or head; the sentence says which there are.
    """
    kind = AttentionKind(attention)
    maps = [each for site, each in seen.maps.items() if site.kind is kind]
    n_heads = min((each.n_heads for each in maps), default=0)
    chosen = [each for each in maps if layer is None or each.site.layer == layer]
    if not chosen:
        layers = ", ".join(str(each.site.layer) for each in maps) or "none"
        raise IndexError(f"There is no layer {layer} of {kind} attention; choose one of {layers}.")
    if head is not None and not 0 <= head < n_heads:
        raise IndexError(f"There are the heads 0 to {n_heads - 1}; there is no head {head}.")
    return chosen, list(range(n_heads)) if head is None else [head]


def site_map(seen: Seen, attention: AttentionKind | str, layer: int) -> AttentionMap:
    """The map of one site of a trace as it is read.

    Raises:
        IndexError: if there is none; the sentence lists the layers there are.
    """
    kind = AttentionKind(attention)
    for site, found in seen.maps.items():
        if (site.kind, site.layer) == (kind, layer):
            return found
    there = ", ".join(str(site.layer) for site in seen.maps if site.kind is kind)
    raise IndexError(
        f"There is no layer {layer} of {kind} attention; choose one of {there or 'none'}."
    )


def alignment_note(layers: Mapping[int, bool]) -> str:
    """In which row each layer of cross-attention looks at the source of a token, in one sentence.

    Args:
        layers: of model.explain.source_rows.read_later; the sentence is empty where it found
            nothing.
    """
    rows = {True: "that has read it", False: "that predicts it"}
    parts = []
    for later, row in rows.items():
        named = [layer for layer, verdict in sorted(layers.items()) if verdict is later]
        if named:
            parts.append(f"more in the row {row} in {_listed(named)}")
    if not parts:
        return ""
    return f"A token's source is looked at {' and '.join(parts)} (over this model's examples)."


def _listed(layers: Sequence[int]) -> str:
    """Such as "layer 0", "layers 0 and 2" or "layers 1 to 3"."""
    if len(layers) == 1:
        return f"layer {layers[0]}"
    if len(layers) > 2 and layers[-1] - layers[0] == len(layers) - 1:
        return f"layers {layers[0]} to {layers[-1]}"
    return f"layers {', '.join(map(str, layers[:-1]))} and {layers[-1]}"


@dataclass(frozen=True, slots=True, eq=False)
class _Axis:
    """The tokens of one axis, cut into groups that are shown as one.

    Attributes:
        tokens: as recorded.
        starts: the position of each group's first token, (group,).
        labels: one a group.
        kept: which groups are shown, (group,).
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
        return _pick(self.labels, np.searchsorted(self.starts, positions, side="right") - 1)


def _pick(tokens: Tokens, positions: NDArray[np.intp]) -> Tokens:
    if np.array_equal(positions, np.arange(len(tokens))):
        return tokens
    return Tokens(
        tuple(tokens.tokens[position] for position in positions),
        tuple(tokens.ids[position] for position in positions),
    )


def _axis(tokens: Tokens, reading: Reading) -> _Axis:
    kept = np.ones(len(tokens), dtype=np.bool_)
    if not reading.specials:
        kept = np.array([not special(token) for token in tokens], dtype=np.bool_)
    starts = np.arange(len(tokens))
    labels = tokens
    if reading.words and _marked(tokens):
        slices = list(words(tokens))
        starts = np.array([word.start for word in slices], dtype=np.intp)
        named = [_word_label(tokens[word]) for word in slices]
        labels = Tokens(tuple(name for name, _ in named), tuple(token_id for _, token_id in named))
        # A special token is a group of its own.
        kept = kept[starts]
    return _Axis(tokens, starts, labels, kept)


def _marked(tokens: Tokens) -> bool:
    """Whether some token says that it starts a word; else nothing is known of words."""
    return any(token.startswith(WORD_START) for token in tokens)


def _word_label(word: Tokens) -> tuple[str, int]:
    """The label of a word and its id; a single token keeps both unless it reads as a remainder."""
    if len(word) == 1:
        token, token_id = word.tokens[0], word.ids[0]
        if token.startswith(WORD_START) or special(token) or punctuation(token):
            return token, token_id
    return _decoded("".join(word).removeprefix(WORD_START)), NO_ID


def _decoded(text: str) -> str:
    """The text with its runs of byte tokens read as UTF-8; bytes of no character stay."""
    return _BYTES.sub(lambda run: _characters(run[0]), text)


def _characters(byte_tokens: str) -> str:
    values = bytes(int(value, 16) for value in re.findall("0x(..)", byte_tokens))
    return _UNDECODED.sub(
        lambda found: f"<0x{ord(found[0]) - _ESCAPE:02X}>",
        values.decode("utf-8", "surrogateescape"),
    )


def _read_map(seen: AttentionMap, rows: _Axis, columns: _Axis, reading: Reading) -> AttentionMap:
    if rows.grouped or columns.grouped:
        seen = replace(
            seen,
            weights=_word_weights(seen, rows, columns),
            allowed=_word_allowed(seen.allowed, rows, columns),
            queries=rows.labels,
            keys=columns.labels,
            scores=None,
            q=None,
            k=None,
            v=None,
        )
    elif rows.labels != seen.queries or columns.labels != seen.keys:
        seen = replace(seen, queries=rows.labels, keys=columns.labels)
    if rows.whole and columns.whole:
        return seen
    return _without_specials(seen, rows, columns, renormalise=reading.renormalise)


def _word_weights(seen: AttentionMap, rows: _Axis, columns: _Axis) -> FloatArray:
    """Keys summed and queries averaged, (head, query word, key word)."""
    looking = np.logical_not(seen.empty_queries)
    weights = word_weights(seen.weights, rows.starts, columns.starts, looking)
    # Rounding can carry a sum past 1.
    return np.minimum(weights, 1).astype(np.float32, copy=False)


def _word_allowed(allowed: BoolArray, rows: _Axis, columns: _Axis) -> BoolArray:
    """Where any pair of tokens is allowed, ([head,] query word, key word)."""
    across = np.logical_or.reduceat(allowed, columns.starts, axis=-1)
    return np.logical_or.reduceat(across, rows.starts, axis=-2)


def _without_specials(
    seen: AttentionMap, rows: _Axis, columns: _Axis, *, renormalise: bool
) -> AttentionMap:
    def cells(array: FloatArray) -> FloatArray:
        return array[:, rows.kept][:, :, columns.kept]

    weights = cells(seen.weights)
    if renormalise:
        left = weights.sum(axis=-1, keepdims=True)
        # A row without weight is all zeros, and stays so.
        shares = weights / np.where(left > 0, left, 1)
        weights = np.minimum(shares, 1).astype(np.float32, copy=False)
    return replace(
        seen,
        weights=weights,
        allowed=seen.allowed[..., rows.kept, :][..., columns.kept],
        queries=rows.shown,
        keys=columns.shown,
        scores=None if seen.scores is None else cells(seen.scores),
        q=None if seen.q is None else seen.q[:, rows.kept],
        k=None if seen.k is None else seen.k[:, columns.kept],
        v=None if seen.v is None else seen.v[:, columns.kept],
    )


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
