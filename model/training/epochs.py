"""The batches of each epoch: pairs drawn by weight, varied and encoded, in processes if asked.

A GPU reads an epoch of a small corpus in seconds, faster than one process can prepare the next.
"""

import multiprocessing
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass

from model.paper.tokenizer import Tokenizer
from model.survey.parallel_text import Pair
from model.training.batches import Batches, Sentences
from model.training.mixture import drawn
from model.training.settings import TrainingSettings
from model.training.starting_point import varied

Encoded = tuple[Sentences, Sentences]
"""The sources and the targets of an epoch, or of one share of it."""

SHARES = 16
"""Parts of an epoch that processes prepare at the same time. A constant, so that what an epoch
contains does not depend on the number of processes."""

AHEAD = 2
"""Epochs prepared while another one trains."""


@dataclass(frozen=True, slots=True)
class Epochs:
    """The epochs of a training.

    Attributes:
        weights: how often an epoch contains each pair (`drawn`); None for once.
    """

    pairs: Sequence[Pair]
    weights: Sequence[float] | None
    tokenizer: Tokenizer
    settings: TrainingSettings

    @property
    def varies(self) -> bool:
        """Whether two epochs differ in more than the order of their batches."""
        settings = self.settings
        varies = (
            *(settings.sampling_alpha, settings.rename_share, settings.capital_share),
            *(settings.typed_share, settings.noun_copies, self.weights),
        )
        return any(varies)

    def share(self, epoch: int, number: int) -> Encoded:
        """One of the SHARES of an epoch: those of its pairs whose place leaves this remainder."""
        # By epoch, so that a resumed run and every process draw the same.
        seed = (self.settings.seed * 1_000_003 + epoch * SHARES + number) % 2**31
        pairs = list(self.pairs[number::SHARES])
        if self.weights is not None:
            pairs = drawn(pairs, self.weights[number::SHARES], seed)
        pairs = varied(pairs, self.settings, seed)
        return encoded(pairs, self.tokenizer, self.settings.sampling_alpha, seed)

    def batches(self, shares: Sequence[Encoded]) -> Batches:
        """The batches of an epoch's shares."""
        sources, targets = (Sentences.joined(side) for side in zip(*shares, strict=True))
        return Batches(sources, targets, tokens=self.settings.batch_tokens)

    def follow(self, first: int) -> Iterator[Batches]:
        """The batches of one epoch after another, from `first` on, without end."""
        if not self.varies:
            batches = self.batches([self.share(0, number) for number in range(SHARES)])
            while True:
                yield batches
        if self.settings.workers:
            yield from self._prepared(first)
        epoch = first
        while True:
            yield self.batches([self.share(epoch, number) for number in range(SHARES)])
            epoch += 1

    def _prepared(self, first: int) -> Iterator[Batches]:
        # Forked, as torch's DataLoader does beside a GPU: they share the parent's pairs and use
        # nothing of torch. Spawned ones would import torch and receive all pairs, one by one.
        pool = ProcessPoolExecutor(
            self.settings.workers,
            mp_context=multiprocessing.get_context("fork"),
            initializer=_keep,
            initargs=(self,),
        )
        waiting: deque[list[Future[Encoded]]] = deque()
        epoch = first
        try:
            while True:
                while len(waiting) <= AHEAD:
                    waiting.append([pool.submit(_share, epoch, n) for n in range(SHARES)])
                    epoch += 1
                yield self.batches([share.result() for share in waiting.popleft()])
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def encoded(
    pairs: Sequence[Pair], tokenizer: Tokenizer, sampling_alpha: float = 0.0, seed: int = 0
) -> Encoded:
    """The token ids of both sides of pairs; with alpha, by `Tokenizer.sample_all`."""
    sides = (
        (tokenizer, [pair.source for pair in pairs]),
        (tokenizer.target, [pair.target for pair in pairs]),
    )
    source, target = (
        vocabulary.sample_all(texts, alpha=sampling_alpha, seed=seed)
        if sampling_alpha
        else vocabulary.encode_all(texts)
        for vocabulary, texts in sides
    )
    return Sentences.of(source), Sentences.of(target)


_epochs: Epochs | None = None
"""Of a process that prepares shares."""


def _keep(epochs: Epochs) -> None:
    global _epochs
    _epochs = epochs


def _share(epoch: int, number: int) -> Encoded:
    assert _epochs is not None
    return _epochs.share(epoch, number)
