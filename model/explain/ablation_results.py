"""What single heads do for a translation: plain values, without torch.

model/explain/head_ablation.py makes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from model.trace.attention_map import FloatArray, Site, Tokens


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Effects:
    """What a translation loses when each head is switched off, one at a time.

    Every head is gated by 0 before W_O while all others stay (Michel et al. 2019, section 3.2), and
    the decoder reads the same translation. A loss is the natural logarithm of a token's probability
    with all heads, less that without the head: above 0, the head made the token likelier.

    Attributes:
        source_text: the sentence.
        text: its translation.
        source: the sentence's tokens, ending with </s>.
        predictions: the translation's, ending with </s> unless the length limit cut it.
        log_probs: of each of these with all heads, (target,).
        losses: by site, (head, target).
    """

    source_text: str
    text: str
    source: Tokens
    predictions: Tokens
    log_probs: FloatArray
    losses: Mapping[Site, FloatArray]

    def __post_init__(self) -> None:
        for array in (self.log_probs, *self.losses.values()):
            array.setflags(write=False)
        object.__setattr__(self, "losses", MappingProxyType(dict(self.losses)))

    def __reduce__(self) -> tuple[object, ...]:
        # A view that cannot be changed cannot be pickled either.
        return _remade, (
            self.source_text,
            self.text,
            self.source,
            self.predictions,
            self.log_probs,
            dict(self.losses),
        )

    def of(self, token: int | None = None) -> Mapping[Site, FloatArray]:
        """Each head's loss by site, (head,): of one target token, or of the whole translation.

        Args:
            token: its position among `predictions`; None adds all of them up.

        Raises:
            IndexError: if there is no such token.
        """
        if token is not None and not 0 <= token < len(self.predictions):
            raise IndexError(
                f"There is no target token {token}; choose one from 0 to "
                f"{len(self.predictions) - 1}."
            )
        return {
            site: loss.sum(axis=1) if token is None else loss[:, token]
            for site, loss in self.losses.items()
        }

    def ranked(self, token: int | None = None) -> list[tuple[Site, int, float]]:
        """Every head with its loss, the greatest change first; arguments and errors as of `of`."""
        heads = [
            (site, head, float(loss))
            for site, losses in self.of(token).items()
            for head, loss in enumerate(losses)
        ]
        return sorted(heads, key=lambda each: -abs(each[2]))

    @property
    def nbytes(self) -> int:
        """What the arrays hold, in bytes."""
        return int(self.log_probs.nbytes + sum(each.nbytes for each in self.losses.values()))


def _remade(
    source_text: str,
    text: str,
    source: Tokens,
    predictions: Tokens,
    log_probs: FloatArray,
    losses: Mapping[Site, FloatArray],
) -> Effects:
    return Effects(
        source_text=source_text,
        text=text,
        source=source,
        predictions=predictions,
        log_probs=log_probs,
        losses=losses,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Removal:
    """What is left of something while a model's heads are removed one after another.

    Attributes:
        removed: how many heads are gone, ascending from 0 to all.
        least_first: what is left, (removed,), when the head whose removal alone costs least goes
            first.
        at_random: the same in random orders, (order, removed).
    """

    removed: tuple[int, ...]
    least_first: FloatArray
    at_random: FloatArray

    def __post_init__(self) -> None:
        self.least_first.setflags(write=False)
        self.at_random.setflags(write=False)


@dataclass(frozen=True, slots=True, eq=False)
class ExamplesRemoval:
    """What is left of a model's translations of its examples while its heads are removed.

    Attributes:
        sentences: how many examples there are.
        log_prob: of a token of the given translations, the mean over all of them.
        chrf: of what the model writes by itself, held against the given translations, 0 to 100.
        chrf_signature: what repeats that score (Post 2018).
    """

    sentences: int
    log_prob: Removal
    chrf: Removal
    chrf_signature: str
