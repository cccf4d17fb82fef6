"""Which sentences a card shows: chosen by rule, the same every time."""

from __future__ import annotations

import pytest

from model import Translator
from model.training.corpus import Pair
from model.training.examples import FEATURES, bad_examples, entries, good_examples
from tests.tiny_checkpoint import PAIRS

PAIRED = [Pair(*pair) for pair in PAIRS]
TARGETS = [target for _, target in PAIRS]

SHOWN = {
    "A clause with “weil”: its verb waits for the end.": Pair(
        "He stays because he is ill.", "Er bleibt, weil er krank ist."
    ),
    "The perfect: the participle “gegessen” goes to the end.": Pair(
        "She has eaten the apple.", "Sie hat den Apfel gegessen."
    ),
    "“do” has no word of its own in German; what stays is “nicht”.": Pair(
        "They don't sing.", "Sie singen nicht."
    ),
    "English asks with “do”; German begins with the verb, “Kennst”.": Pair(
        "Do you know him?", "Kennst du ihn?"
    ),
    "A verb after a modal verb: “sehen” goes to the end.": Pair(
        "You can see it.", "Du kannst es sehen."
    ),
    "The future: “kommen” goes to the end.": Pair("He will come soon.", "Er wird bald kommen."),
}
SHOWING_NOTHING = [
    Pair("I don't remember.", "Ich habe es gegen gehen."),
    Pair("I have something against it.", "Ich habe etwas dagegen."),
    Pair("I have no time to go there.", "Ich habe keine Zeit, dorthin zu gehen."),
    Pair("They are being beaten.", "Sie werden oft geschlagen."),
    Pair("Who is that?", "Wer ist das?"),
]


class Parrot(Translator):
    """Translates each of these pairs as its reference, and nothing else."""

    def __init__(self, pairs: list[Pair]) -> None:
        self._known = dict(pairs)

    def translate(self, text, **settings):
        return type("Said", (), {"text": self._known.get(text, "")})()


@pytest.mark.parametrize("shows", SHOWN)
def test_an_example_says_what_there_is_to_see_in_it(shows):
    pair = SHOWN[shows]
    (found,) = good_examples(Parrot([pair]), [pair], [pair.target])[:1] or [None]
    if len(pair.source.split()) < 4:
        assert found is None
    else:
        assert found.shows == shows
