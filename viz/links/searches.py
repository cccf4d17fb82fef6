"""How a translation is searched for: settings, their names, and what an address holds."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace

from model.paper.search import AS_IN_THE_PAPER, Sampling, Search
from viz.draw.constants import CONSTANTS
from viz.links.head_refs import SwitchedOff
from viz.links.link_interventions import Changes
from viz.links.mask_edits import MAX_CHARACTERS
from viz.links.parameters import Parameter, choice, integer, kept, pattern, text

WAYS = {"search": "Beam search", "sampling": "Sampling"}
"""The two ways; a beam of one is greedy decoding."""

_NUMBERS: dict[str, tuple[int, int, int]] = CONSTANTS["SEARCHES"]
"""The smallest, the usual and the largest value of each number."""

RANGES = {name: (low, high) for name, (low, _, high) in _NUMBERS.items()}

_, WIDEST = RANGES["beam"]
"""The width of the widest beam."""

_, MOST_SAMPLES = RANGES["samples"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a search, in whole numbers.

    Attributes:
        how: a name in WAYS; sampling ignores the beam, and a beam search the last five.
        penalty: exponent of the length penalty, in hundredths.
        temperature: in hundredths.
        top_k: 0 for all tokens.
        top_p: in hundredths; 100 for all tokens.
    """

    how: str = "search"
    beam: int = _NUMBERS["beam"][1]
    penalty: int = _NUMBERS["penalty"][1]
    temperature: int = _NUMBERS["temperature"][1]
    top_k: int = _NUMBERS["top_k"][1]
    top_p: int = _NUMBERS["top_p"][1]
    seed: int = _NUMBERS["seed"][1]
    samples: int = _NUMBERS["samples"][1]

    def search(self, prefix: Sequence[int] = (), own: Search = AS_IN_THE_PAPER) -> Search:
        """The search for the model, with a prefix to begin with.

        Until somebody changes a setting, it is the model's own.
        """
        if self == USUAL:
            return replace(own, prefix=tuple(prefix))
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
    if search.rules.penalty == "power":
        penalty = f"score = log-probability / length^{search.length_penalty:g}"
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


MOST_CHOICES = 20
"""The number of forced words that can be undone one by one."""

MOST_FORCED = 500
"""The largest number of tokens in a prefix, a few less than any model here takes."""

_ID = r"[0-9]{1,6}"
_CHOICE = rf"[0-9]{{1,3}}\.{_ID}(-{_ID}){{0,{MOST_FORCED - 1}}}"


def parse_against(written: str) -> str:
    """The settings of a second search as the address writes them, or ""."""
    try:
        return written_settings(written).written if written else ""
    except ValueError:
        raise ValueError("which are no settings of a search") from None


def _setting(name: str, meaning: str) -> int:
    """The field of a number in `Settings`."""
    low, high = RANGES[name]
    return kept(integer, getattr(USUAL, name), low=low, high=high, meaning=meaning)


@dataclass(frozen=True, slots=True)
class SearchView(SwitchedOff):
    """What a page with searches keeps in the address."""

    how: str = kept(choice, USUAL.how, WAYS, "search or sampling")
    beam: int = _setting("beam", "the width of the beam search; 1 decodes greedily")
    penalty: int = _setting("penalty", "the exponent of the length penalty, in hundredths")
    temperature: int = _setting("temperature", "the sampling temperature, in hundredths")
    top_k: int = _setting("top_k", "sample from this many likeliest tokens; 0: all")
    top_p: int = _setting(
        "top_p", "sample from the fewest tokens with this probability, in hundredths"
    )
    seed: int = _setting("seed", "the seed of the samples")
    samples: int = _setting("samples", "the number of samples")
    against: str = kept(
        Parameter,
        "",
        parse_against,
        meaning="the settings of a second search, in the order of those above",
        values="settings such as `search-1-60-100-0-100-1-4`",
    )
    taken: str = kept(
        pattern,
        rf"{_CHOICE}(_{_CHOICE}){{0,{MOST_CHOICES - 1}}}",
        "tokens such as 0.523_2.88-942",
        "forced words, one after another, as step.token-token by ids",
    )
    mask: str = kept(
        text,
        most=MAX_CHARACTERS,
        meaning="edited masks during decoding",
        values="as the masks page writes them",
    )

    @property
    def prefix(self) -> tuple[int, ...]:
        """The token ids that the translation must begin with, because of forced words."""
        return _prefix(self._choices)

    @property
    def _choices(self) -> list[str]:
        return list(filter(None, self.taken.split("_")))

    @property
    def changes(self) -> Changes:
        """The changes to the model."""
        return Changes(self.mask, self.off)

    @property
    def settings(self) -> Settings:
        """The settings of the search."""
        return Settings(self.how, **{name: getattr(self, name) for name in RANGES})

    @property
    def second(self) -> Settings:
        """The settings of the second search, by default greedy decoding."""
        if self.against:
            return written_settings(self.against)
        return replace(self.settings, how="search", beam=1)

    def and_taken(self, step: int, token_ids: Sequence[int], before: Sequence[int]) -> str:
        """`taken` with more tokens forced from a step on.

        Args:
            step: from 0; tokens there and after it are dropped.
            before: the present translation, kept up to that step.
        """
        prefix = self.prefix
        # Tokens written since then stay and become part of the prefix.
        choices = [
            *self._choices,
            _choice(min(step, len(prefix)), (*before[len(prefix) : step], *token_ids)),
        ]
        if len(choices) > MOST_CHOICES:
            # Merge the oldest two.
            choices[:2] = [_choice(0, _prefix(choices[:2]))]
        return "_".join(choices)

    @property
    def undone(self) -> str:
        """`taken` without its last forced word."""
        return "_".join(self._choices[:-1])


def _choice(kept: int, token_ids: Iterable[int]) -> str:
    return f"{kept}.{'-'.join(map(str, token_ids))}"


def _prefix(choices: Iterable[str]) -> tuple[int, ...]:
    prefix: tuple[int, ...] = ()
    for written in choices:
        kept, ids = written.split(".")
        prefix = (*prefix[: int(kept)], *map(int, ids.split("-")))
    return prefix
