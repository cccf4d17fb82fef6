"""The positions page as it declares itself."""

from __future__ import annotations

from dataclasses import dataclass

from model.record.intervention import PositionEdit, Sides
from viz.links.parameters import View, choice, flag, integer, pattern

PARTS = {
    "table": "The table",
    "likeness": "Similarity",
    "words": "Added to the words",
    "without": "Remove positions",
    "shuffle": "Shuffle the words",
    "learned": "Learned positions",
    "formula": "What if",
}

LENGTHS = {"sentence": "This sentence", "limit": "The model's limit", "beyond": "Twice the limit"}

SIDES = {"both": "Both", "encoder": "Encoder", "decoder": "Decoder"}

FARTHEST = 16
"""Positions that a shift moves at most, either way."""

_ORDER = r"([0-9]{1,3}(\.[0-9]{1,3}){0,511})?"

VIEW = View(
    "positions",
    "Positions",
    ":material/pin:",
    (
        choice("topic", "table", PARTS, "what is shown"),
        choice("length", "sentence", LENGTHS, "how long the table is"),
        pattern(
            "waves",
            r"[0-9]{1,4}(\.[0-9]{1,4}){0,7}",
            "up to eight dimensions: 0.1.64",
            "dimensions as waves",
        ),
        integer("pair", 8, low=0, high=4095, meaning="a pair of dimensions on its circle"),
        integer("at", 5, low=0, high=4095, meaning="the position on the circle"),
        flag("cosine", True, "similarity as cosine, not as dot product"),
        integer("scale", 100, low=0, high=100, meaning="the strength of the encoding, in percent"),
        integer("shift", 0, low=-FARTHEST, high=FARTHEST, meaning="how far positions are shifted"),
        flag("reverse", meaning="positions reversed, in the encoder"),
        choice("side", "both", SIDES, "the stacks in which positions change"),
        pattern(
            "shuffled",
            _ORDER,
            "an order of positions such as 2.0.1",
            "the order of the source tokens",
        ),
        integer("d_model", 256, low=2, high=1024, meaning="the width of the formula's table"),
        integer(
            "rows", 128, low=2, high=1024, meaning="the number of positions in the formula's table"
        ),
        integer("base", 10_000, low=2, high=100_000, meaning="the base of the formula"),
    ),
    without_model="Position encodings",
)


@dataclass(frozen=True, slots=True)
class PositionsView:
    """What the positions page shows: a value for each of its parameters."""

    topic: str = "table"
    length: str = "sentence"
    waves: str = ""
    pair: int = 8
    at: int = 5
    cosine: bool = True
    scale: int = 100
    shift: int = 0
    reverse: bool = False
    side: Sides = "both"
    shuffled: str = ""
    d_model: int = 256
    rows: int = 128
    base: int = 10_000

    @property
    def edit(self) -> PositionEdit:
        """What the controls do to positions."""
        return PositionEdit(
            scale=self.scale / 100, shift=self.shift, reverse=self.reverse, side=self.side
        )

    def dimensions(self, d_model: int) -> list[int]:
        """Those shown as waves, each once, of so many; the usual four where none were chosen."""
        usual = [0, d_model // 8, d_model // 4, d_model // 2]
        chosen = dict.fromkeys(map(int, self.waves.split(".")) if self.waves else usual)
        return [each for each in chosen if each < d_model]

    def order(self, n_words: int) -> tuple[int, ...] | None:
        """The words' order, at first the sentence's own; None if it is none of so many words."""
        usual = range(n_words)
        order = tuple(map(int, self.shuffled.split(".")) if self.shuffled else usual)
        return order if sorted(order) == list(usual) else None


def written_order(order: tuple[int, ...]) -> str:
    """An order as the address has it, which needs none for the sentence's own."""
    is_usual = order == tuple(range(len(order)))
    return "" if is_usual else ".".join(map(str, order))
