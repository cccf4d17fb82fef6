"""Results of head ablation, from model/explain/head_ablation.py: plain values, without torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from model.arguments import checked_methods
from model.brief import Brief
from model.trace.array_values import ArrayValue, Sized
from model.trace.attention_map import FloatArray, Site, Tokens
from model.trace.forms import form
from model.trace.head import strongest_first
from model.trace.provenance import UNKNOWN, Provenance


@checked_methods
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Effects(ArrayValue, Sized):
    """The losses of a translation without each head, one at a time.

    A gate of 0 before W_O removes the head while all others stay (Michel et al. 2019, section 3.2),
    and the decoder reads the same translation. A loss is the drop in a token's log-probability:
    above 0, the head made the token likelier.

    Attributes:
        source: the sentence's tokens, ending with </s>.
        predictions: the translation's tokens, ending with </s> unless the length limit cut it.
        log_probs: of the predictions with all heads, (target,).
        losses: by site, (head, target).
    """

    source_text: str
    text: str
    source: Tokens
    predictions: Tokens
    log_probs: FloatArray
    losses: Mapping[Site, FloatArray]
    provenance: Provenance = UNKNOWN

    def of(self, token: int | None = None) -> Mapping[Site, FloatArray]:
        """Each head's loss by site, (head,): of one prediction, or of all together."""
        if token is not None and not 0 <= token < len(self.predictions):
            raise IndexError(
                f"There is no target token {token}; choose one from 0 to "
                f"{len(self.predictions) - 1}."
            )
        return {
            site: loss.sum(axis=1) if token is None else loss[:, token]
            for site, loss in self.losses.items()
        }

    def frame(self) -> Any:
        """A pandas table with a row a head and token: kind, layer, head, position, token, loss."""
        return form("table", self)

    def ranked(self, token: int | None = None) -> list[tuple[Site, int, float]]:
        """Every head with its loss, the largest change first; arguments and errors as in `of`."""
        return strongest_first(self.of(token))


@dataclass(frozen=True, slots=True, eq=False)
class Removal(ArrayValue):
    """A score while a model's heads are removed one after another, in numbers from 0 to all.

    `least_first` removes them by their cost alone, (removed,); `at_random` in random orders,
    (order, removed).
    """

    removed: tuple[int, ...]
    least_first: FloatArray
    at_random: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ExamplesRemoval(Brief):
    """The scores of a model's example translations while its heads are removed.

    `log_prob` is the mean log-probability of a token of these translations, `chrf` that of the
    model's own against them, 0 to 100, with its signature (Post 2018).
    """

    sentences: int
    log_prob: Removal
    chrf: Removal
    chrf_signature: str
