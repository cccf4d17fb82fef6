"""A translation and how it was found: plain values, without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.trace.attention_map import FloatArray, Tokens

LIKELIEST = 10
"""How many of a step's next tokens a record names."""

Fate = Literal["continued", "pruned", "finished", "cut"]
"""What became of a hypothesis; see `SearchNode`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Translation:
    """One translated sentence.

    Attributes:
        text: the translation.
        tokens: its tokens, which end with </s> unless the length limit cut it.
        token_ids: their ids.
        score: log-probability over the length penalty, however it was decoded; nearer 0 is better.
        log_probs: natural logarithm of each token's probability, as long as tokens.
        finished: whether the model ended the sentence by itself.
        source_text: the sentence that was translated.
        source: its tokens, ending with </s>.
        unseen: its characters that the model never saw in training.
        distributions: (target, vocab) log-probabilities of every step, if they were asked for.
    """

    text: str
    tokens: tuple[str, ...]
    token_ids: tuple[int, ...]
    score: float
    log_probs: tuple[float, ...]
    finished: bool
    source_text: str
    source: Tokens
    unseen: tuple[str, ...]
    distributions: FloatArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingStep:
    """What the model said at one step of a translation, and what was taken of it.

    Probabilities are the model's own: sampling and masks of the search do not change them.

    Attributes:
        likeliest: the ten likeliest next tokens among those that may be chosen, likeliest first.
        probabilities: theirs.
        rest: the probability of all other tokens together.
        probability: of the chosen token.
        rank: of the chosen token among those that may be chosen, from 1.
        entropy: of the whole distribution, in bits.
        forced: whether the prefix chose it.
    """

    likeliest: Tokens
    probabilities: tuple[float, ...]
    rest: float
    probability: float
    rank: int
    entropy: float
    forced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchNode:
    """A hypothesis of a search: its parent's tokens and one more.

    Attributes:
        parent: its place among the nodes, or None for a first token.
        token: its last token.
        token_id: that token's id.
        step: at which it was written, from 0; the length less 1.
        log_prob: of all its tokens together.
        fate: "continued" by other nodes; "pruned" if none of its continuations was among the best
            or the search was over without it; "finished" with the end token; "cut" at the limit.
        ended: the step at which it was pruned, finished or cut.
        score: of a finished or cut hypothesis, as that of a translation.
        rank: among what was found, from 0, the translation.
    """

    parent: int | None
    token: str
    token_id: int
    step: int
    log_prob: float
    fate: Fate
    ended: int | None
    score: float | None
    rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decoding:
    """A translation with a record of its decoding.

    Attributes:
        translation: the best that was found, with the distributions of its steps.
        steps: one a token of the translation.
        nodes: every hypothesis that the search held or finished, parents before children; of
            greedy decoding one path, of samples one path each.
    """

    translation: Translation
    steps: tuple[DecodingStep, ...]
    nodes: tuple[SearchNode, ...]

    @property
    def ranked(self) -> tuple[SearchNode, ...]:
        """The last nodes of what was found, best first; the first is the translation's."""
        found = [node for node in self.nodes if node.rank is not None]
        return tuple(sorted(found, key=lambda node: node.rank or 0))

    def token_ids(self, node: SearchNode) -> tuple[int, ...]:
        """All tokens of a hypothesis, to its last."""
        before = () if node.parent is None else self.token_ids(self.nodes[node.parent])
        return (*before, node.token_id)
