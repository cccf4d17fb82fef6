"""The arcs between words: where a model looks while, or after, it handles a word.

Of a model with both stacks these are weights of cross-attention. Which head, and in which row, is
what alignments made by hand say: of the three checkpoints that were held against the 100 pairs of
benchmarks/gold, the best head has an alignment error of 14, 12 and 15%, and the best mean of a
layer's heads one of 21, 18 and 28% (en-de, de-en, en-de-learned). Elsewhere nothing was measured,
and the mean over all heads is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.explain.alignment_table import AlignmentTable, Read
from model.trace.attention_map import AttentionKind, FloatArray, Site, Tokens
from model.trace.head import Head
from model.trace.token_schemes import WORD_START, added, special
from model.trace.trace import Trace
from model.trace.word_grouping import words
from viz.draw.constants import CONSTANTS
from viz.draw.labels import plain_text
from viz.draw.style import count_of

LETTERS: int = CONSTANTS["LETTERS"]
"""Tokens of a word, on average, from which on its tokens are shown one by one, as letters are."""


MOST_BY_LAYER = 128
"""Of a text of more words, layers have no arcs of their own: they would be most of a page."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of one side.

    Attributes:
        text: as it is read.
        tokens: what each of its tokens adds to the text, without marks of spaces.
        first: the position of its first token.
        joins: whether it goes on without a space.
        special: whether it stands for no part of the text.
    """

    text: str
    tokens: tuple[str, ...]
    first: int
    joins: bool
    special: bool

    @property
    def end(self) -> int:
        """The position after its last token."""
        return self.first + len(self.tokens)


@dataclass(frozen=True, slots=True, eq=False)
class Arcs:
    """The words of a picture and the weights between them.

    Attributes:
        written: the words that arcs begin at; of an encoder alone those that it reads.
        read: the words that arcs end at.
        weights: (frame, written word, read word): one frame, or one a layer of an encoder alone.
        said: which heads, in one sentence.
        head: the one head whose weights they are; None for a mean.
        later: by how many rows these come after the row that writes a word.
    """

    written: tuple[Word, ...]
    read: tuple[Word, ...]
    weights: FloatArray
    said: str
    head: Head | None = None
    later: int = 0


def words_of(tokens: Tokens) -> tuple[Word, ...]:
    """The words that tokens make, in order; single tokens where words tell nothing apart."""
    places = list(words(tokens))
    if len(places) * LETTERS <= sum(map(bool, added(tokens.tokens))):
        places = [slice(place, place + 1) for place in range(len(tokens))]
    found = []
    for place in places:
        texts = tokens.tokens[place]
        spelled = added(texts)
        before = tokens.tokens[place.start - 1] if place.start else ""
        stands_alone = special(texts[0]) or special(before) or texts[0].startswith(WORD_START)
        named = tokens.ids[place.start] >= 0
        found.append(
            Word(
                text=_bare("".join(spelled)),
                # The space before a word that begins with a token of its own is drawn once.
                tokens=tuple(
                    "" if text in ("", WORD_START) and len(texts) > 1 else _bare(text)
                    for text in spelled
                ),
                first=place.start,
                joins=bool(place.start) and named and not stands_alone,
                special=special(texts[0]),
            )
        )
    return tuple(found)


def _bare(token: str) -> str:
    # A space alone is a token too.
    return "\u00a0" if token == WORD_START else plain_text(token.replace(WORD_START, ""))


def arcs_of(trace: Trace, table: AlignmentTable | None) -> Arcs:
    """The arcs that tell most truly where each word comes from.

    Args:
        trace: with attention.
        table: how far this model's heads are from alignments made by hand; None if not measured.
    """
    if cross := trace.layers(AttentionKind.CROSS):
        return _between(trace, cross, _best(trace, table))
    kind = next(iter(trace.maps)).kind
    return _within(trace, kind)


def _best(trace: Trace, table: AlignmentTable | None) -> Read | None:
    """The head, and its row, with the lowest alignment error among those of this trace."""
    rates = {} if table is None else table.rates
    there = [
        read
        for read in rates
        if read.head is not None
        and (seen := trace.maps.get(Site(AttentionKind.CROSS, read.layer))) is not None
        and read.head < seen.n_heads
    ]
    return min(there, key=lambda read: rates[read].error, default=None)


def _between(trace: Trace, layers: Sequence[int], best: Read | None) -> Arcs:
    """From what was written to the source."""
    # Without predictions, a row is known by what it has read alone.
    reads_alone = not trace.predictions
    written = words_of(trace.target if reads_alone else trace.predictions)
    written = tuple(word for word in written if not word.special)
    every = [trace.attention(AttentionKind.CROSS, layer).weights for layer in layers]
    n_heads = sum(len(weights) for weights in every)
    later = 0
    head = None
    if best is None or best.head is None or reads_alone:
        weights = np.concatenate(every).mean(axis=0)
        when = "after reading" if reads_alone else "while writing"
        said = (
            f"Arcs: where the decoder looks {when} a word, the mean of its "
            f"{count_of(n_heads, 'cross-attention head')}."
        )
    else:
        head = Head(Site(AttentionKind.CROSS, best.layer), best.head)
        weights = trace.maps[head.site].weights[head.number]
        later = int(best.later)
        when = "after reading a word" if best.later else "while writing a word"
        said = (
            f"Arcs: where layer {best.layer}, head {best.head} looks {when}. Of the {n_heads} "
            "cross-attention heads, it agrees best with alignments made by hand."
        )
    read = words_of(trace.source)
    between = _word_weights(weights, written, read, later)[None]
    return Arcs(written, read, between, said, head, later)


def _within(trace: Trace, kind: AttentionKind) -> Arcs:
    """Between the words of one text."""
    maps = [trace.attention(kind, layer) for layer in trace.layers(kind)]
    own = words_of(maps[0].queries)
    keys = words_of(maps[0].keys)
    n_heads = maps[0].n_heads
    means = [each.weights.mean(axis=0) for each in maps]
    if kind is not AttentionKind.DECODER and len(own) > MOST_BY_LAYER:
        said = (
            "Arcs: which words a word looks at, the mean of all "
            f"{count_of(n_heads * len(maps), 'head')}."
        )
        means = [np.mean(means, axis=0)]
    elif kind is AttentionKind.DECODER:
        said = (
            "Arcs: which earlier words the model looks at after reading a word, the mean of its "
            f"{count_of(n_heads * len(maps), 'head')}."
        )
        means = [np.mean(means, axis=0)]
    else:
        said = f"Arcs: which words a word looks at in this layer, the mean of {n_heads} heads."
        if n_heads == 1:
            said = "Arcs: which words a word looks at in this layer, by its only head."
    weights = np.stack([_word_weights(mean, own, keys, 0) for mean in means])
    return Arcs(own, keys, weights, said)


def _word_weights(
    weights: FloatArray, written: Sequence[Word], read: Sequence[Word], later: int
) -> FloatArray:
    """Summed over a word's keys and averaged over its rows, (written word, read word)."""
    found = np.zeros((len(written), len(read)), dtype=np.float32)
    for place, word in enumerate(written):
        # The last token may never be read.
        rows = weights[word.first + later : min(word.end + later, len(weights))]
        if len(rows):
            # A word ends where the next one begins.
            sums = np.add.reduceat(rows, [key.first for key in read], axis=1)
            found[place] = sums.mean(axis=0)
    return found
