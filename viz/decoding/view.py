"""The decoding page as it declares itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from model.search import AS_IN_THE_PAPER, Search
from model.trace import AttentionKind, Site
from viz.view import View, choice, integer, pattern

SECTIONS = {
    "steps": "Steps",
    "certainty": "Certainty",
    "beams": "Beams",
    "layers": "Layer by layer",
}
"""What is shown of a decoding."""

WIDEST = 8
"""Live hypotheses of the widest beam."""

MOST_CHOICES = 20
"""So many words can be taken one after another and undone again."""

MOST_FORCED = 500
"""Tokens of a prefix, a few less than any model here takes."""

MOST_HEADS = 256
"""So many can be chosen: more than any model has that comes with the app."""

_ID = r"[0-9]{1,6}"
_CHOICE = rf"[0-9]{{1,3}}\.{_ID}(-{_ID}){{0,{MOST_FORCED - 1}}}"

_HEAD = r"(cross|decoder)\.[0-9]{1,3}\.[0-9]{1,3}"

VIEW = View(
    "decoding",
    "Decoding",
    ":material/stylus_note:",
    (
        choice("section", "steps", SECTIONS, "what is shown of it"),
        integer("at", 1, low=1, high=999, meaning="the step shown"),
        integer(
            "beam", AS_IN_THE_PAPER.beam, low=1, high=WIDEST, meaning="the width of the beam search"
        ),
        integer(
            "penalty",
            round(100 * AS_IN_THE_PAPER.length_penalty),
            low=0,
            high=200,
            meaning="the exponent of its length penalty, in hundredths",
        ),
        pattern(
            "taken",
            rf"{_CHOICE}(_{_CHOICE}){{0,{MOST_CHOICES - 1}}}",
            "tokens such as 0.523_2.88-942",
            "other words taken, one after another, as step.token-token by ids",
        ),
        pattern(
            "lit",
            rf"{_HEAD}(-{_HEAD}){{0,{MOST_HEADS - 1}}}",
            "heads such as cross.3.5-decoder.0.1",
            "the heads whose attention the steps show, as kind.layer.head; none: all",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class DecodingView:
    """What the decoding page shows: a value for each of its parameters."""

    section: str = "steps"
    at: int = 1
    beam: int = AS_IN_THE_PAPER.beam
    penalty: int = round(100 * AS_IN_THE_PAPER.length_penalty)
    taken: str = ""
    lit: str = ""

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
    def heads(self) -> list[tuple[Site, int]]:
        """Those whose attention is shown, each once; none for all."""
        found = []
        for written in filter(None, self.lit.split("-")):
            kind, layer, head = written.split(".")
            found.append((Site(AttentionKind(kind), int(layer)), int(head)))
        return list(dict.fromkeys(found))

    @property
    def search(self) -> Search:
        """How the translation is looked for."""
        return Search(beam=self.beam, length_penalty=self.penalty / 100, prefix=self.prefix)

    @property
    def free(self) -> Search:
        """The same search, without what was taken."""
        return Search(beam=self.beam, length_penalty=self.penalty / 100)

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


def written_heads(heads: Iterable[str]) -> str:
    """Heads, each as kind.layer.head, as the address has them."""
    return "-".join(list(heads)[:MOST_HEADS])


def _choice(kept: int, token_ids: Iterable[int]) -> str:
    return f"{kept}.{'-'.join(map(str, token_ids))}"


def _prefix(choices: Iterable[str]) -> tuple[int, ...]:
    prefix: tuple[int, ...] = ()
    for written in choices:
        kept, ids = written.split(".")
        prefix = (*prefix[: int(kept)], *map(int, ids.split("-")))
    return prefix
