"""The ways from source words through heads to a word, each measured by path patching.

An edge from a sender to a receiver is measured in two passes (Wang et al. 2023, "Interpretability
in the Wild", section 3.1; Goldowsky-Dill et al. 2023, "Localizing Model Behavior with Path
Patching"). In the first, the sender is replaced while every head of the encoder and of
cross-attention gives what it always gave, so that the change reaches the receiver only along the
residual stream, feed-forward layers and the decoder's self-attention. In the second, the receiver
gives what it computed from that, and everything after it runs as usual.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from model.contrast.pairs import Pair, set_passes_of
from model.contrast.passes import Means, SetPasses
from model.contrast.results import Edge, Paths, ahead
from model.explain.agreement import rank_correlation
from model.explain.passes import Own
from model.trace.attention_map import AttentionKind, Site
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.translator import Translator

MOST_EDGES = 30
"""The most edges that are given."""

HEADS_OF_KIND = 6
"""How many heads of the encoder, and how many of cross-attention, are held against each other."""

MOST_TOKENS = 12
"""The most source tokens whose edges are measured."""

Sender = int | Head


def paths(translator: Translator, trace: Trace, pair: Pair, means: Means | None = None) -> Paths:
    """The strongest edges from source tokens through heads to the difference of two words.

    Measured are all edges among the source tokens and the heads with the strongest effects, at most
    MOST_TOKENS and HEADS_OF_KIND of either kind of attention.

    Args:
        trace: of the sentence, without an intervention.
        means: what a replaced head gives, by site, (head, d_v); None for nothing. A replaced source
            token has the mean embedding of the sentence's tokens.
    """
    return _Graph(set_passes_of(translator, trace, pair, means)).paths()


class _Graph:
    """The nodes of one sentence, and the passes that measure its edges."""

    def __init__(self, passes: SetPasses) -> None:
        self._passes = passes
        alone = ~torch.eye(len(passes.heads), dtype=torch.bool)
        every = torch.ones_like(alone[:1])
        device = passes.source.device
        before, *without = passes.judge_kept(torch.cat([every, alone]).to(device)).log_probs
        self._before = ahead(before)
        effects = [self._before - ahead(each) for each in without]
        self._effects = dict(zip(passes.heads, effects, strict=True))
        self._given = passes.heads_given()
        self.heads = [
            *self._strongest(AttentionKind.ENCODER),
            *self._strongest(AttentionKind.CROSS),
        ]

    def _strongest(self, kind: AttentionKind) -> list[Head]:
        of_kind = [head for head in self._effects if head[0].kind is kind]
        return sorted(sorted(of_kind, key=lambda head: -abs(self._effects[head]))[:HEADS_OF_KIND])

    def paths(self) -> Paths:
        senders: list[Sender] = [*self._tokens(), *self.heads]
        received, to_word = self._replaced(senders)
        pairs = [
            (row, receiver)
            # Rows that differ in the encoder come first.
            for receiver in self.heads
            for row, sender in enumerate(senders)
            if isinstance(sender, int) or sender[0] < receiver[0]
        ]
        effects = self._onward(pairs, received)
        edges = [
            Edge(senders[row], receiver, effect)
            for (row, receiver), effect in zip(pairs, effects, strict=True)
        ]
        edges += [
            Edge(sender, None, effect)
            for sender, effect in zip(senders, to_word, strict=True)
            if not isinstance(sender, int) and sender[0].kind is AttentionKind.CROSS
        ]
        head_effects = np.array([self._effects[head] for head in self.heads])
        outgoing = [
            max((abs(each.effect) for each in edges if each.sender == head), default=0.0)
            for head in self.heads
        ]
        return Paths(
            edges=tuple(sorted(edges, key=lambda each: -abs(each.effect))[:MOST_EDGES]),
            measured=len(edges),
            heads=tuple(self.heads),
            head_effects=head_effects,
            by_mean=self._passes.by_mean,
            correlation=rank_correlation(np.array([outgoing]), np.abs(head_effects)[None]).mean,
        )

    def _tokens(self) -> list[int]:
        """The source tokens whose replacement changes the difference most."""
        n_source = self._passes.source.shape[1]
        if n_source <= MOST_TOKENS:
            return list(range(n_source))
        effects = np.concatenate(
            [
                self._lost(self._passes.run(lambda site, own: own(), embedded=self._without(each)))
                for start in range(0, n_source, self._passes.together)
                for each in [range(n_source)[start : start + self._passes.together]]
            ]
        )
        return sorted(np.argsort(-np.abs(effects))[:MOST_TOKENS].tolist())

    def _without(self, tokens: Sequence[int]) -> Tensor:
        """The source's embeddings, in each row with another token replaced by their mean."""
        embedded = self._passes.embedded()
        rows = embedded.repeat(len(tokens), 1, 1)
        rows[range(len(tokens)), list(tokens)] = embedded[0].mean(dim=0)
        return rows

    def _lost(self, hidden: Tensor) -> list[float]:
        return [self._before - ahead(each) for each in self._passes.judge(hidden).log_probs]

    @torch.inference_mode()
    def _replaced(self, senders: Sequence[Sender]) -> tuple[dict[Head, Tensor], list[float]]:
        """What each receiver computes where each sender is replaced, (sender, query, d_v).

        Beside it, what the difference loses as heads give what they always gave.
        """
        tokens = [each for each in senders if isinstance(each, int)]
        n_rows = len(senders)
        embedded = self._passes.embedded().repeat(n_rows, 1, 1)
        embedded[: len(tokens)] = self._without(tokens)
        received: dict[Head, Tensor] = {}

        def attend(site: Site, own: Own) -> Tensor:
            if site.kind is AttentionKind.DECODER:
                return own()
            receivers = [head for head in self.heads if head[0] == site]
            if receivers:
                computed = own()
                for receiver in receivers:
                    received[receiver] = computed[:, receiver[1]]
            given = self._given[site].repeat(n_rows, 1, 1, 1)
            for row, sender in enumerate(senders):
                if not isinstance(sender, int) and sender[0] == site:
                    given[row, sender[1]] = self._passes.instead(sender)
            return given

        lost = self._lost(self._passes.run(attend, embedded=embedded))
        return received, lost

    def _onward(
        self, pairs: Sequence[tuple[int, Head]], received: Mapping[Head, Tensor]
    ) -> list[float]:
        """What the difference loses where one receiver gives what it received from one sender."""
        together = self._passes.together
        return [
            effect
            for start in range(0, len(pairs), together)
            for effect in self._onward_together(pairs[start : start + together], received)
        ]

    @torch.inference_mode()
    def _onward_together(
        self, pairs: Sequence[tuple[int, Head]], received: Mapping[Head, Tensor]
    ) -> list[float]:
        in_encoder = sum(head[0].kind is AttentionKind.ENCODER for _, head in pairs)
        # The encoder's first row is the unchanged one, which all receivers outside it read.
        spread = [*range(1, in_encoder + 1), *[0] * (len(pairs) - in_encoder)]
        changed: defaultdict[Site, list[tuple[int, int, Tensor]]] = defaultdict(list)
        for place, (row, head) in enumerate(pairs):
            is_encoder = head.site.kind is AttentionKind.ENCODER
            changed[head.site].append((place + is_encoder, head.number, received[head][row]))

        def attend(site: Site, own: Own) -> Tensor:
            given = own()
            if site not in changed:
                return given
            n_rows = in_encoder + 1 if site.kind is AttentionKind.ENCODER else len(pairs)
            given = given.expand(n_rows, -1, -1, -1).clone()
            for row, head, value in changed[site]:
                given[row, head] = value
            return given

        device = self._passes.source.device
        hidden = self._passes.run(attend, spread=torch.tensor(spread, device=device))
        return self._lost(hidden.expand(len(pairs), -1, -1))
