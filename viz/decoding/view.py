"""The decoding page as it declares itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from model.paper.search import Search
from model.trace.attention_map import AttentionKind
from viz.decoding.search import RANGES, USUAL, WAYS, Settings, written_settings
from viz.links.head_refs import Head, heads_parameter, read_heads
from viz.links.link_interventions import Changes
from viz.links.mask_edits import MAX_CHARACTERS
from viz.links.parameters import Parameter, View, choice, integer, pattern, text

SECTIONS = {
    "steps": "Steps",
    "certainty": "Certainty",
    "beams": "Beams",
    "compare": "Compare searches",
    "widths": "Widths",
    "layers": "Layer by layer",
}
"""What is shown of a decoding."""

SEARCHES = ("beams", "compare", "widths")
"""Those that are of the model's own search, whatever the target sentence says."""

MOST_CHOICES = 20
"""So many words can be taken one after another and undone again."""

MOST_FORCED = 500
"""Tokens of a prefix, a few less than any model here takes."""

_ID = r"[0-9]{1,6}"
_CHOICE = rf"[0-9]{{1,3}}\.{_ID}(-{_ID}){{0,{MOST_FORCED - 1}}}"

LIT = (AttentionKind.CROSS, AttentionKind.DECODER)
"""Kinds of attention that the steps show."""

MEANINGS = {
    "beam": "the width of the beam search; 1 decodes greedily",
    "penalty": "the exponent of the length penalty, in hundredths",
    "temperature": "the sampling temperature, in hundredths",
    "top_k": "sample from this many likeliest tokens; 0: all",
    "top_p": "sample from the fewest tokens with this probability, in hundredths",
    "seed": "the seed of the samples",
    "samples": "the number of samples",
}
"""What each number of `Settings` says."""


def parse_against(written: str) -> str:
    """Settings of a second search as the address has them, or none."""
    try:
        return written_settings(written).written if written else ""
    except ValueError:
        raise ValueError("which are no settings of a search") from None


VIEW = View(
    "decoding",
    "Decoding",
    ":material/stylus_note:",
    (
        choice("section", "steps", SECTIONS, "what is shown"),
        integer("at", 1, low=1, high=999, meaning="the step shown"),
        choice("how", "search", WAYS, "search or sampling"),
        *(
            integer(
                name,
                getattr(USUAL, name),
                low=RANGES[name][0],
                high=RANGES[name][1],
                meaning=meaning,
            )
            for name, meaning in MEANINGS.items()
        ),
        Parameter(
            "against",
            "",
            parse_against,
            meaning="a second search, with its settings in the order above",
            values="settings such as `search-1-60-100-0-100-1-4`",
        ),
        pattern(
            "taken",
            rf"{_CHOICE}(_{_CHOICE}){{0,{MOST_CHOICES - 1}}}",
            "tokens such as 0.523_2.88-942",
            "words forced, one after another, as step.token-token by ids",
        ),
        heads_parameter(
            "lit",
            "the heads whose attention the steps show, as kind.layer.head; none: all",
            LIT,
            "decoder.0.1",
        ),
        heads_parameter("off", "heads switched off while decoding, as kind.layer.head"),
        text(
            "mask",
            most=MAX_CHARACTERS,
            meaning="edited masks that apply while decoding",
            values="as the masks page writes them",
        ),
    ),
    without_model="Decoding",
)


@dataclass(frozen=True, slots=True)
class DecodingView:
    """What the decoding page shows: a value for each of its parameters."""

    section: str = "steps"
    at: int = 1
    how: str = USUAL.how
    beam: int = USUAL.beam
    penalty: int = USUAL.penalty
    temperature: int = USUAL.temperature
    top_k: int = USUAL.top_k
    top_p: int = USUAL.top_p
    seed: int = USUAL.seed
    samples: int = USUAL.samples
    against: str = ""
    taken: str = ""
    lit: str = ""
    off: str = ""
    mask: str = ""

    @property
    def step(self) -> int:
        """The step shown, from 0."""
        return self.at - 1

    @property
    def prefix(self) -> tuple[int, ...]:
        """The token ids that the translation must begin with, after all that was taken."""
        return _prefix(self._choices)

    @property
    def _choices(self) -> list[str]:
        return list(filter(None, self.taken.split("_")))

    @property
    def heads(self) -> list[Head]:
        """Those whose attention is shown, each once; none for all."""
        return read_heads(self.lit)

    @property
    def changes(self) -> Changes:
        """What the model is asked to do differently."""
        return Changes(self.mask, self.off)

    @property
    def search(self) -> Search:
        """How the translation is looked for."""
        return self.settings.search(self.prefix)

    @property
    def free(self) -> Search:
        """The same search, without what was taken."""
        return self.settings.search()

    @property
    def settings(self) -> Settings:
        """Those of the search."""
        return Settings(self.how, **{name: getattr(self, name) for name in RANGES})

    @property
    def other(self) -> Settings:
        """Those of the second search: greedy decoding unless others are given."""
        if self.against:
            return written_settings(self.against)
        return replace(self.settings, how="search", beam=1)

    def and_taken(self, step: int, token_ids: Sequence[int], before: Sequence[int]) -> str:
        """`taken` with more tokens written from a step on.

        Args:
            step: from 0; what stood there and after it goes.
            token_ids: to be written there.
            before: the translation now, which stays as it is up to that step.
        """
        prefix = self.prefix
        # What the model wrote since then stays as it is, and so becomes part of what is forced.
        choices = [
            *self._choices,
            _choice(min(step, len(prefix)), (*before[len(prefix) : step], *token_ids)),
        ]
        if len(choices) > MOST_CHOICES:
            # The oldest two become one.
            choices[:2] = [_choice(0, _prefix(choices[:2]))]
        return "_".join(choices)

    @property
    def undone(self) -> str:
        """`taken` without its last choice."""
        return "_".join(self._choices[:-1])


def _choice(kept: int, token_ids: Iterable[int]) -> str:
    return f"{kept}.{'-'.join(map(str, token_ids))}"


def _prefix(choices: Iterable[str]) -> tuple[int, ...]:
    prefix: tuple[int, ...] = ()
    for written in choices:
        kept, ids = written.split(".")
        prefix = (*prefix[: int(kept)], *map(int, ids.split("-")))
    return prefix
