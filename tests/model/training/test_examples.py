"""Which sentences a card shows: chosen by rule, the same every time."""

from pathlib import Path

import pytest

from model.survey.parallel_text import Pair
from model.training.examples import (
    FEATURES,
    WORD_FOR_WORD,
    bad_examples,
    entries,
    good_examples,
    shown,
)
from model.translate.translator import Translator, load
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint

PAIRED = [Pair(*pair) for pair in PAIRS]
TARGETS = [target for _, target in PAIRS]


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder: Path = tmp_path_factory.mktemp("checkpoints") / "tiny"
    return load(write_tiny_checkpoint(folder), device="cpu")


SEEN = [
    ("de", 0, "weil", "He stays because he is ill.", "Er bleibt, weil er krank ist."),
    ("de", 1, "gegessen", "She has eaten the apple.", "Sie hat den Apfel gegessen."),
    ("de", 2, "nicht", "They don't sing.", "Sie singen nicht."),
    ("de", 3, "Kennst", "Do you know him?", "Kennst du ihn?"),
    ("de", 4, "sehen", "You can see it.", "Du kannst es sehen."),
    ("de", 5, "kommen", "He will come soon.", "Er wird bald kommen."),
    ("en", 0, "because", "Er bleibt, weil er krank ist.", "He is staying because he is ill."),
    ("en", 1, "bought", "Sie hat ein Auto gekauft.", "She bought a car."),
    ("en", 2, "don't", "Sie singen nicht.", "They don't sing."),
    ("en", 3, "Do", "Kennst du ihn?", "Do you know him?"),
    ("en", 4, "see", "Du kannst es sehen.", "You can see it."),
    ("en", 5, "auf", "Er steht früh auf.", "He gets up early."),
    ("fr", 0, "pas", "I don't know.", "Je ne sais pas."),
    ("fr", 1, "les", "She sees them.", "Elle les voit."),
    ("fr", 2, "Aimez-vous", "Do you like Paris?", "Aimez-vous Paris ?"),
    ("fr", 3, "venus", "They came home.", "Ils sont venus chez eux."),
    ("fr", 4, "rouge", "I have a red car.", "J'ai une voiture rouge."),
    ("fr", 5, "", "He's reading.", "Il lit."),
]
"""Language, feature, the word that the sentence on it names, source and target."""

ALIKE = [
    ("de", "I have something against it.", "Ich habe etwas dagegen."),
    ("de", "I have no time to go there.", "Ich habe keine Zeit, dorthin zu gehen."),
    ("de", "We have to go.", "Wir haben zu gehen."),
    ("de", "They are often beaten.", "Sie werden oft geschlagen."),
    ("de", "He can do many things.", "Er kann viele Sachen."),
    ("de", "Who is that?", "Wer ist das?"),
    ("en", "Ich habe etwas dagegen.", "I have something against it."),
    ("en", "Wer ist das?", "Who is that?"),
    ("en", "Ich kann das.", "I can do that."),
    ("fr", "He's reading.", "Il est en train de lire."),
    ("fr", "I'm going to eat.", "Je vais manger."),
    ("fr", "It is very particular.", "C'est particulièrement bien."),
    ("fr", "An onion is necessary.", "Un oignon est nécessaire."),
]


def everything_shown(language: str, *pair: str) -> list[str]:
    return [seen for feature in FEATURES[language] if (seen := shown(Pair(*pair), feature))]


@pytest.mark.parametrize(("language", "place", "word", "source", "target"), SEEN)
def test_an_example_says_in_one_sentence_what_there_is_to_see(
    language, place, word, source, target
):
    expected = FEATURES[language][place].shows.format(word)
    assert everything_shown(language, source, target) == [expected]


@pytest.mark.parametrize(("language", "source", "target"), ALIKE)
def test_what_only_looks_alike_is_not_taken_for_something_to_see(language, source, target):
    assert everything_shown(language, source, target) == []


def test_good_examples_come_out_as_promised_and_say_what_they_show(translator):
    found = good_examples(translator, PAIRED, TARGETS, count=3)
    assert [each.source for each in found] == [PAIRS[0][0], PAIRS[1][0], PAIRS[4][0]]
    assert all(translator.translate(each.source).text == each.translation for each in found)
    assert {each.shows for each in found} == {WORD_FOR_WORD}
    assert entries(found)[0] == {
        "source": PAIRS[0][0], "translation": PAIRS[0][1], "shows": WORD_FOR_WORD
    }  # fmt: skip


def test_only_exact_translations_of_a_line_or_less_are_good_examples(translator):
    pairs = [
        *PAIRED[:2],
        Pair("The woman sees the cat.", "Die Frau sah die Katze."),
        Pair("The cat eats.", "Die Katze frisst."),
    ]
    translations = [TARGETS[0], "Der Hund.", "Die Frau sieht die Katze.", "Die Katze frisst."]
    assert [each.source for each in good_examples(translator, pairs, translations)] == [PAIRS[0][0]]


def test_what_comes_out_otherwise_by_itself_is_no_good_example(translator):
    claimed = Pair("The cat sat on the mat.", "Die Matte saß auf der Katze.")
    assert good_examples(translator, [claimed], [claimed.target]) == []


def test_the_features_take_turns_before_one_comes_twice(translator):
    sentence, target = PAIRS[0]
    assert good_examples(translator, [Pair(sentence, target)] * 3, [target] * 3) == [
        good_examples(translator, [Pair(sentence, target)], [target])[0]
    ]


def test_bad_examples_are_the_worst_of_the_short_sentences_worst_first():
    pairs = [
        Pair("the cat sat on the mat", "die Katze saß auf der Matte"),
        Pair("the dog sat on the mat", "der Hund saß auf der Matte"),
        Pair("the man sat on the mat", "der Mann saß auf der Matte"),
        Pair("go", "geh"),
        Pair("the cat " * 9, "die Katze"),
    ]
    translations = [
        "die Katze saß auf der Matte",
        "xyz",
        "der Mann saß auf den Bäumen",
        "xyz",
        "xyz",
    ]
    found = bad_examples(pairs, translations, count=2)
    assert [(each.source, each.translation) for each in found] == [
        (pairs[1].source, "xyz"), (pairs[2].source, "der Mann saß auf den Bäumen")
    ]  # fmt: skip
    assert found[0].reference == pairs[1].target


def test_a_quoted_sentence_is_no_bad_example():
    pairs = [Pair('"Really?" "No, never."', "„Wirklich?“ – „Nein, nie.“"), PAIRED[0]]
    assert [each.source for each in bad_examples(pairs, ["x", "x"])] == [PAIRS[0][0]]


def test_equally_bad_sentences_keep_their_order_and_come_once():
    pairs = [Pair(f"{word} is not here", f"{word} ist nicht hier") for word in "badcab"]
    found = bad_examples(pairs, [""] * len(pairs))
    assert [each.source[0] for each in found] == ["b", "a", "d", "c"]
