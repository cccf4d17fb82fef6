"""The declaration of the decoding page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from model.paper.search import Search
from model.trace.attention_map import AttentionKind
from viz.decoding.search import RANGES, USUAL, WAYS, Settings, written_settings
from viz.links.head_refs import Head, heads_parameter
from viz.links.link_interventions import Changes
from viz.links.mask_edits import MAX_CHARACTERS
from viz.links.parameters import (
    Parameter,
    View,
    choice,
    integer,
    kept,
    kept_in,
    pattern,
    text,
)

SECTIONS = {
    "steps": "Steps",
    "certainty": "Certainty",
    "beams": "Beams",
    "compare": "Compare searches",
    "widths": "Widths",
    "layers": "Layer by layer",
}
"""The sections of the page."""

SEARCHES = ("beams", "compare", "widths")
"""Sections that show the model's own search, whatever the target sentence."""

MOST_CHOICES = 20
"""The number of forced words that can be undone one by one."""

MOST_FORCED = 500
"""The largest number of tokens in a prefix, a few less than any model here takes."""

_ID = r"[0-9]{1,6}"
_CHOICE = rf"[0-9]{{1,3}}\.{_ID}(-{_ID}){{0,{MOST_FORCED - 1}}}"

STEP_KINDS = (AttentionKind.CROSS, AttentionKind.DECODER)
"""The kinds of attention that the steps show."""


def parse_against(written: str) -> str:
    """The settings of a second search as the address writes them, or ""."""
    try:
        return written_settings(written).written if written else ""
    except ValueError:
        raise ValueError("which are no settings of a search") from None


def _setting(name: str, meaning: str) -> int:
    """The field of a number in `Settings`."""
    low, high = RANGES[name]
    return kept(integer(name, getattr(USUAL, name), low=low, high=high, meaning=meaning))


@dataclass(frozen=True, slots=True)
class DecodingView:
    """The state of the decoding page."""

    section: str = kept(choice("section", "steps", SECTIONS, "the section shown"))
    at: int = kept(integer("at", 1, low=1, high=999, meaning="the step shown"))
    how: str = kept(choice("how", USUAL.how, WAYS, "search or sampling"))
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
        Parameter(
            "against",
            "",
            parse_against,
            meaning="the settings of a second search, in the order of those above",
            values="settings such as `search-1-60-100-0-100-1-4`",
        )
    )
    taken: str = kept(
        pattern(
            "taken",
            rf"{_CHOICE}(_{_CHOICE}){{0,{MOST_CHOICES - 1}}}",
            "tokens such as 0.523_2.88-942",
            "forced words, one after another, as step.token-token by ids",
        )
    )
    heads: tuple[Head, ...] = kept(
        heads_parameter(
            "heads",
            "the heads whose attention the steps show, as kind.layer.head; none: all",
            STEP_KINDS,
            "decoder.0.1",
        ),
        was="lit",
    )
    off: tuple[Head, ...] = kept(
        heads_parameter("off", "heads switched off during decoding, as kind.layer.head")
    )
    mask: str = kept(
        text(
            "mask",
            most=MAX_CHARACTERS,
            meaning="edited masks during decoding",
            values="as the masks page writes them",
        )
    )

    @property
    def step(self) -> int:
        """The step shown, from 0."""
        return self.at - 1

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
    def search(self) -> Search:
        """The search."""
        return self.settings.search(self.prefix)

    @property
    def free(self) -> Search:
        """The same search without forced words."""
        return self.settings.search()

    @property
    def settings(self) -> Settings:
        """The settings of the search."""
        return Settings(self.how, **{name: getattr(self, name) for name in RANGES})

    @property
    def other(self) -> Settings:
        """The settings of the second search, by default greedy decoding."""
        if self.against:
            return written_settings(self.against)
        return replace(self.settings, how="search", beam=1)

    def and_taken(self, step: int, token_ids: Sequence[int], before: Sequence[int]) -> str:
        """`taken` with more tokens forced from a step on.

        Args:
            step: from 0; tokens there and after it are dropped.
            token_ids: to be written there.
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


VIEW = View(
    "decoding",
    "Decoding",
    ":material/stylus_note:",
    kept_in(DecodingView),
    without_model="Decoding",
)
