"""The declaration of the positions page."""

from dataclasses import dataclass
from typing import Any

from model.record.intervention import PositionEdit, Sides
from viz.links.parameters import View, choice, flag, integer, kept, kept_in, pattern

PARTS = {
    "table": "Table",
    "likeness": "Similarity",
    "words": "Added to the words",
    "without": "Remove positions",
    "shuffle": "Shuffle the words",
    "formula": "Another formula",
    "learned": "Learned positions",
}

LENGTHS = {"sentence": "This sentence", "limit": "The model's limit", "beyond": "Twice the limit"}

SIDES: dict[Any, str] = {"both": "Both", "encoder": "Encoder", "decoder": "Decoder"}

FARTHEST = 16
"""The largest shift of positions in either direction."""

_ORDER = r"([0-9]{1,3}(\.[0-9]{1,3}){0,511})?"


@dataclass(frozen=True, slots=True)
class PositionsView:
    """The state of the positions page."""

    topic: str = kept(choice, "table", PARTS, "what is shown")
    length: str = kept(choice, "sentence", LENGTHS, "the length of the table")
    waves: str = kept(
        pattern,
        r"[0-9]{1,4}(\.[0-9]{1,4}){0,7}",
        "up to eight dimensions: 0.1.64",
        "the dimensions shown as waves",
    )
    pair: int = kept(integer, 8, low=0, high=4095, meaning="a pair of dimensions on its circle")
    at: int = kept(
        integer, 5, low=0, high=4095, meaning="the position on the circle, and of the word"
    )
    cosine: bool = kept(flag, True, "similarity as cosine, not dot product")
    scale: int = kept(
        integer, 100, low=0, high=100, meaning="the strength of the encoding, in percent"
    )
    shift: int = kept(
        integer, 0, low=-FARTHEST, high=FARTHEST, meaning="how far positions are shifted"
    )
    reverse: bool = kept(flag, meaning="positions reversed, in the encoder")
    side: Sides = kept(choice, "both", SIDES, "the stacks in which positions change")
    shuffled: str = kept(
        pattern, _ORDER, "an order of places such as 2.0.1", "another order of the source's tokens"
    )
    d_model: int = kept(integer, 256, low=2, high=1024, meaning="the width of the formula's table")
    rows: int = kept(
        integer, 128, low=2, high=1024, meaning="the number of positions of the formula's table"
    )
    base: int = kept(integer, 10_000, low=2, high=100_000, meaning="the base of the formula")

    @property
    def edit(self) -> PositionEdit:
        """The edit set by the controls."""
        return PositionEdit(
            scale=self.scale / 100, shift=self.shift, reverse=self.reverse, side=self.side
        )

    def dimensions(self, d_model: int) -> list[int]:
        """The dimensions shown as waves, without duplicates; by default four."""
        usual = [0, d_model // 8, d_model // 4, d_model // 2]
        dimensions = dict.fromkeys(map(int, self.waves.split(".")) if self.waves else usual)
        return [each for each in dimensions if each < d_model]

    def order(self, n_words: int) -> tuple[int, ...] | None:
        """The order of words, by default the sentence's; None if it does not fit their number."""
        usual = range(n_words)
        order = tuple(map(int, self.shuffled.split(".")) if self.shuffled else usual)
        return order if sorted(order) == list(usual) else None


def written_order(order: tuple[int, ...]) -> str:
    """An order as the address spells it; empty for the sentence's own."""
    is_usual = order == tuple(range(len(order)))
    return "" if is_usual else ".".join(map(str, order))


VIEW = View(
    "positions",
    "Positions",
    ":material/pin:",
    kept_in(PositionsView),
    without_model="Position encodings",
)

KEYS = VIEW.keys
