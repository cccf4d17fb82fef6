"""How a translation is searched for: the page's settings, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

from model.paper.search import AS_IN_THE_PAPER, Sampling, Search

WAYS = {"search": "Beam search", "sampling": "Sampling"}
"""The two ways; a beam of one is greedy decoding."""

WIDEST = 8
"""The width of the widest beam."""

MOST_SAMPLES = 8

RANGES = {
    "beam": (1, WIDEST),
    "penalty": (0, 200),
    "temperature": (10, 300),
    "top_k": (0, 1000),
    "top_p": (1, 100),
    "seed": (0, 9999),
    "samples": (1, MOST_SAMPLES),
}
"""The smallest and the largest value of each number."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a search, in whole numbers.

    Attributes:
        how: a name in WAYS; sampling ignores the beam, and a beam search the last five.
        beam: its width.
        penalty: exponent of the length penalty, in hundredths.
        temperature: in hundredths.
        top_k: 0 for all tokens.
        top_p: in hundredths; 100 for all tokens.
        seed: of the draws.
        samples: the number of translations drawn.
    """

    how: str = "search"
    beam: int = AS_IN_THE_PAPER.beam
    penalty: int = round(100 * AS_IN_THE_PAPER.length_penalty)
    temperature: int = 100
    top_k: int = 0
    top_p: int = 100
    seed: int = 1
    samples: int = 4

    def search(self, prefix: Sequence[int] = ()) -> Search:
        """The search for the model, with a prefix to begin with."""
        sampling = None
        if self.how == "sampling":
            sampling = Sampling(
                temperature=self.temperature / 100,
                top_k=self.top_k or None,
                top_p=None if self.top_p == 100 else self.top_p / 100,
                seed=self.seed,
                n_samples=self.samples,
            )
        penalty = self.penalty / 100
        return Search(
            beam=self.beam, length_penalty=penalty, sampling=sampling, prefix=tuple(prefix)
        )

    @property
    def written(self) -> str:
        """The settings as the address writes them."""
        return "-".join(map(str, astuple(self)))


USUAL = Settings()
"""The search of the paper."""


def written_settings(written: str) -> Settings:
    """The settings that `written` wrote.

    Raises:
        ValueError: if the page has no such settings.
    """
    how, *numbers = written.split("-")
    if how not in WAYS or len(numbers) != len(RANGES):
        raise ValueError(written)
    values = {name: int(number) for name, number in zip(RANGES, numbers, strict=True)}
    if not all(low <= values[name] <= high for name, (low, high) in RANGES.items()):
        raise ValueError(written)
    return Settings(how, **values)


def of_every_width(search: Search) -> list[Search]:
    """The search with every beam width, from greedy decoding to the widest beam."""
    return [replace(search, beam=width, sampling=None) for width in range(1, WIDEST + 1)]


def search_name(search: Search) -> str:
    """The name of a search, with its settings."""
    penalty = f"length penalty {search.length_penalty:g}"
    sampling = search.sampling
    if sampling is None:
        name = "Greedy decoding" if search.beam == 1 else f"Beam of {search.beam}"
        return f"{name}, {penalty}"
    settings = [f"temperature {sampling.temperature:g}"]
    if sampling.top_k is not None:
        settings.append(f"top-k {sampling.top_k}")
    if sampling.top_p is not None:
        settings.append(f"top-p {sampling.top_p:g}")
    if sampling.seed is not None:
        settings.append(f"seed {sampling.seed}")
    number = "One sample" if sampling.n_samples == 1 else f"{sampling.n_samples} samples"
    return ", ".join([number, *settings, penalty])
