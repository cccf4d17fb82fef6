"""Settings of decoding, as plain values; model/paper/decoding.py follows them."""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, TypeGuard

from model.arguments import require


class DecodingError(ValueError):
    """Impossible settings of decoding; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling: each token is drawn, in place of a search for the best sentence.

    Attributes:
        temperature: divides the logits; below 1 sharpens, above 1 flattens.
        top_k: draw from the k likeliest tokens; None draws from all.
        top_p: of those, draw from the fewest whose probabilities reach p (Holtzman et al. 2020,
            section 3.1); None draws from all.
        seed: equal seeds give equal draws; None draws anew each time.
        n_samples: sentences to draw; more samples begin with those of a smaller number.

    Raises:
        DecodingError: if a value is impossible.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None
    n_samples: int = 1

    def __post_init__(self) -> None:
        if not (_is_number(self.temperature) and 0 < self.temperature < math.inf):
            raise DecodingError(f"The temperature must be above 0; it is {self.temperature!r}.")
        for name, least in (("top_k", 1), ("seed", 0), ("n_samples", 1)):
            if name == "n_samples" or getattr(self, name) is not None:
                object.__setattr__(self, name, _whole(getattr(self, name), name, least))
        if self.top_p is not None and not (_is_number(self.top_p) and 0 < self.top_p <= 1):
            raise DecodingError(f"top_p must lie above 0 and at most 1; it is {self.top_p!r}.")


def length_penalty(length: int, alpha: float) -> float:
    """((5 + |Y|) / 6)^α (Wu et al. 2016, equation 14), with α = 0.6 in section 6.1."""
    return float(((5 + length) / 6) ** alpha)


PENALTIES: dict[str, Callable[[int, float], float]] = {
    "wu": length_penalty,
    # The mean log-probability of a token, for α = 1.
    "power": lambda length, alpha: float(length**alpha),
}
"""What a log-probability is divided by, for a score, by its name in Rules: of |Y| and α."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a search ranks and ends, beside its width and α; the defaults are Headscope's own.

    Attributes:
        penalty: a name in PENALTIES.
        ends: when a beam search with as many finished hypotheses as it is wide ends. "best": when
            no live one can overtake the best of them; "full": at once; "worst": when no live one
            can overtake the last of them, however long it becomes; "present": nor at the length it
            has now. Except for "best", what the length limit cuts counts as finished.
        renormalized: whether scores share out the probability of what is never written.
        forced_end: whether the last token before the length limit is the end token, at no cost.
        most: tokens of a translation at most; None for those of its source and 50 more.
    """

    penalty: str = "wu"
    ends: str = "best"
    renormalized: bool = False
    forced_end: bool = False
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Search:
    """The method of decoding: beam search, greedy or sampling.

    The score of a translation is always its log-probability, prefix included, over the length
    penalty.

    Attributes:
        beam: width of the beam search; 1 decodes greedily.
        length_penalty: its exponent, the α of section 6.1.
        sampling: sample instead of searching; `beam` then has no effect.
        prefix: token ids that the translation must begin with, from `Translator.prefix`; if the end
            token is their last, they are the whole translation.
        rules: how it ranks and ends.

    Raises:
        DecodingError: if a value is impossible.
    """

    beam: int = 4
    length_penalty: float = 0.6
    sampling: Sampling | None = None
    prefix: Sequence[int] = ()
    rules: Rules = Rules()

    def __post_init__(self) -> None:
        object.__setattr__(self, "beam", _whole(self.beam, "The beam", 1))
        require_alpha(self.length_penalty)
        require("sampling", self.sampling, Sampling | None)
        require("rules", self.rules, Rules)
        try:
            prefix = tuple(operator.index(token_id) for token_id in self.prefix)
        except TypeError:
            prefix = (-1,)
        if min(prefix, default=0) < 0:
            raise DecodingError(
                "A prefix must be token ids, whole numbers from 0; cut a text into them with "
                "Translator.prefix."
            )
        object.__setattr__(self, "prefix", prefix)

    def __repr__(self) -> str:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        unusual = {
            name for name, value in values.items() if value != getattr(AS_IN_THE_PAPER, name)
        }
        shown = (f"{name}={values[name]!r}" for name in values if name in _SAID | unusual)
        return f"Search({', '.join(shown)})"

    def penalty(self, length: int) -> float:
        """What the log-probability of so many tokens is divided by."""
        return PENALTIES[self.rules.penalty](length, self.length_penalty)


def require_alpha(alpha: object) -> None:
    """Raises DecodingError unless the exponent of a length penalty is finite and at least 0."""
    if not (_is_number(alpha) and 0 <= alpha < math.inf):
        raise DecodingError(f"alpha of the length penalty must be at least 0; it is {alpha!r}.")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def _whole(value: Any, name: str, least: int) -> int:
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise DecodingError(f"{name} must be a whole number from {least}; it is {value!r}.")
    return number


AS_IN_THE_PAPER = Search()

_SAID = {"beam", "length_penalty"}
"""What a repr of a search always says."""
"""A beam of 4 and α = 0.6 (section 6.1)."""
