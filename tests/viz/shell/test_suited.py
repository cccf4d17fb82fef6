"""Text that a person reads with ease and a model may not."""

import json
from pathlib import Path

import pytest

from model.checkpoints.checkpoint import language_pair
from model.paper.tokenizer import Tokenizer
from viz.shell.suited import Unsuited, unsuited

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"

UNSUITED = [
    ("THE CAT SAT ON THE MAT.", "capitals", "The cat sat on the mat."),
    ("I AM NOT TIRED. DON'T WAIT!", "capitals", "I am not tired. Don't wait!"),
    ("HE LIVES IN LONDON AND I'M THERE.", "capitals", "He lives in London and I'm there."),
    ("tHE cAT sAT oN tHE mAT.", "capitals", "The cat sat on the mat."),
    ("The cat 😀 sat on the mat 👩‍👩‍👧.", "emoji", "The cat sat on the mat."),
    ("I ❤️ you.", "emoji", "I you."),
    ("The ca\ue000t sat \u202eon the mat.\uf8ff", "U+E000, U+F8FF", "The cat sat on the mat."),
    ("<b>The cat</b> sat <i class='x'>on</i> the mat.", "markup", "The cat sat on the mat."),
    ("&lt;b&gt;Hello&lt;/b&gt; to you", "markup", "Hello to you"),
    ("**The cat** sat on [the mat](http://x.org).", "markup", "The cat sat on the mat."),
    ("The cat sat. See https://www.example.com/x?y=1.", "address,", "The cat sat. See."),
    ("Write to me@example.com today.", "address,", "Write to today."),
    ("https://www.example.com/index.html?x=1", "address,", ""),
    ("www.example.com", "address,", ""),
    ("😀😀", "emoji", ""),
    ("supercalifragilisticexpialidocious", "long word", ""),
    ("THE <b>CAT</b> 😀 SAT.", "capitals", "The cat sat."),
]

SUITED = [
    "",
    "OK",
    "USA",
    "I said NO!",
    "The NASA and ESA launched a rocket.",
    "My iPhone and his eBay account",
    "Tom McCoy lives in New York.",
    "5 < 6 and 7 > 3",
    "I paid 20 € for two © signs at 30 °C.",
    "He earns $5 * 3 a day, i.e. 15.",
    "x * y ** z",
    "The internationalization of electroencephalography",
    "It is 3:30 p.m. here.",
    "AT&T is a company.",
    "Tab\tand\nline",
    "The ca\u200bt\ufeff sat \u202eon the m\xadat.\x07",
]


def found(text: str, language: str = "en", model: str = "en-de") -> Unsuited | None:
    tokenizer = Tokenizer.load(CHECKPOINTS / model / "tokenizer.model")
    return unsuited(text, language, tokenizer.count)


@pytest.mark.parametrize(("text", "about", "offered"), UNSUITED)
def test_what_a_model_cannot_read_is_named_and_the_rest_offered(
    text: str, about: str, offered: str
) -> None:
    wrong = found(text)
    assert wrong is not None
    assert about in " ".join(wrong.says)
    assert wrong.text == offered


def test_words_keep_the_capitals_that_their_language_has() -> None:
    wrong = found("DIE KATZE SITZT AUF DEM TISCH.", "de", "de-en")
    assert wrong is not None
    assert wrong.text == "Die Katze sitzt auf dem Tisch."


@pytest.mark.parametrize("text", SUITED)
def test_what_a_model_can_read_is_left_alone(text: str) -> None:
    assert found(text) is None


def test_no_shipped_example_is_found_fault_with() -> None:
    examples = [
        (example["source"], file.parent.name)
        for file in sorted(CHECKPOINTS.glob("??-??*/examples.json"))
        for example in json.loads(file.read_text(encoding="utf-8"))
    ]
    assert len(examples) >= 40
    wrong = [text for text, name in examples if found(text, language_pair(name)[0], name)]
    assert wrong == []


def test_a_text_that_is_offered_is_itself_left_alone() -> None:
    for text in ("THE CAT <b>SAT</b>.", "The \ue000cat 😀 sat.", "WE SAW IT AT www.x.org TODAY."):
        wrong = found(text)
        assert wrong is not None
        assert found(wrong.text) is None
