"""The positions page as it declares itself."""

from __future__ import annotations

from viz.view import View, choice, flag, integer, pattern

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
        integer("scale", 100, low=0, high=100, meaning="strength of the encoding, in percent"),
        integer("shift", 0, low=-FARTHEST, high=FARTHEST, meaning="positions moved on by so many"),
        flag("reverse", meaning="positions turned round, in the encoder"),
        choice("side", "both", SIDES, "where positions are changed"),
        pattern(
            "shuffled",
            _ORDER,
            "an order of places such as 2.0.1",
            "the source's tokens in another order",
        ),
        integer("d_model", 256, low=2, high=1024, meaning="width of the formula's table"),
        integer("rows", 128, low=2, high=1024, meaning="positions of the formula's table"),
        integer("base", 10_000, low=2, high=100_000, meaning="base of the formula"),
    ),
)
