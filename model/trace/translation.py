"""Translations with the record of their decoding: plain values, without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from model.brief import Brief, shortened
from model.trace.attention_map import FloatArray, Tokens
from model.trace.forms import form
from model.trace.provenance import UNKNOWN, Provenance

LIKELIEST = 10
"""The number of next tokens that a record names at each step."""

Fate = Literal["continued", "pruned", "finished", "cut"]
"""The end of a hypothesis; see `SearchNode`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Translation(Brief):
    """One translated sentence.

    Attributes:
        text: the translation.
        tokens: its tokens, ending with </s> unless the length limit cut it.
        token_ids: their ids.
        score: log-probability over the length penalty, for any method of decoding; nearer 0 is
            better.
        log_probs: natural logarithm of each token's probability, as long as tokens.
        finished: whether the model wrote </s>.
        source_text: the sentence that was translated.
        source: its tokens, ending with </s>.
        unseen: its characters that the vocabulary lacks.
        provenance: the model, the search and the interventions.
        distributions: (target, vocab) log-probabilities of every step, if kept.
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
    provenance: Provenance = UNKNOWN

    def __repr__(self) -> str:
        cut = "" if self.finished else ", cut at the limit"
        size = f"{len(self.tokens)} tokens, score {self.score:.4g}{cut}"
        return f"Translation({shortened(self.text)!r}, {size})"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingStep(Brief):
    """The model's predictions at one step of a translation, with the token it wrote.

    Probabilities are the model's own: sampling and the search do not change them.

    Attributes:
        likeliest: the ten likeliest tokens that the model can write, likeliest first.
        probabilities: of the likeliest tokens.
        rest: the probability of all other tokens together.
        probability: of the written token.
        rank: of the written token among those the model can write, from 1.
        entropy: of the whole distribution, in bits.
        forced: whether the prefix forced the written token.
    """

    likeliest: Tokens
    probabilities: tuple[float, ...]
    rest: float
    probability: float
    rank: int
    entropy: float
    forced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchNode(Brief):
    """A hypothesis of a search: its parent's tokens with another one.

    Attributes:
        parent: its parent's place among the nodes; None for a first token.
        token: its last token.
        token_id: that token's id.
        step: of its last token, from 0.
        log_prob: of all its tokens together.
        fate: "continued" by other nodes; "pruned" if none of its continuations was among the best,
            or the search ended without it; "finished" with the end token; "cut" at the limit.
        ended: the step at which it was pruned, finished or cut.
        score: of a finished or cut hypothesis, as a translation's.
        rank: among the results of the search, from 0, the translation.
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
class Decoding(Brief):
    """A translation with the record of its decoding.

    Attributes:
        translation: the best result, with the distributions of its steps.
        steps: one for each token of the translation.
        nodes: every hypothesis that the search held or finished, parents first; for greedy decoding
            one path, for sampling a path for each sample.
    """

    translation: Translation
    steps: tuple[DecodingStep, ...]
    nodes: tuple[SearchNode, ...]

    def __repr__(self) -> str:
        size = f"{len(self.steps)} steps, {len(self.nodes)} hypotheses"
        return f"Decoding({shortened(self.translation.text)!r}, {size})"

    def frame(self) -> Any:
        """A pandas table of the search, a row a hypothesis, with the fields of `SearchNode`."""
        return form("table", self)

    @property
    def provenance(self) -> Provenance:
        """That of the translation."""
        return self.translation.provenance

    @property
    def ranked(self) -> tuple[SearchNode, ...]:
        """The last nodes of the search's results, best first; the first is the translation's."""
        results = [node for node in self.nodes if node.rank is not None]
        return tuple(sorted(results, key=lambda node: node.rank or 0))

    def token_ids(self, node: SearchNode) -> tuple[int, ...]:
        """All token ids of a hypothesis."""
        before = () if node.parent is None else self.token_ids(self.nodes[node.parent])
        return (*before, node.token_id)
