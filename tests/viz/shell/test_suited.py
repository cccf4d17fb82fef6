"""Text that a person reads with ease and a model may not."""

import json
from pathlib import Path

import pytest

from model.checkpoints.checkpoint import language_pair
from viz.shell.suited import beginnings, unsuited

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"

UNSUITED = [
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
]

SUITED = [
    "",
    "THE CAT SAT ON THE MAT.",
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


@pytest.mark.parametrize(("text", "about", "offered"), UNSUITED)
def test_what_a_model_cannot_read_is_named_and_the_rest_offered(
    text: str, about: str, offered: str
) -> None:
    wrong = unsuited(text, "en")
    assert wrong is not None
    assert about in " ".join(wrong.says)
    assert wrong.text == offered


@pytest.mark.parametrize("text", SUITED)
def test_what_a_model_can_read_is_left_alone(text: str) -> None:
    assert unsuited(text, "en") is None


def test_no_shipped_example_is_found_fault_with() -> None:
    examples = [
        (example["source"], file.parent.name)
        for file in sorted(CHECKPOINTS.glob("??-??*/examples.json"))
        for example in json.loads(file.read_text(encoding="utf-8"))
    ]
    assert len(examples) >= 40
    wrong = [text for text, name in examples if unsuited(text, language_pair(name)[0])]
    assert wrong == []


def test_a_text_that_is_offered_is_itself_left_alone() -> None:
    for text in ("THE CAT <b>SAT</b>.", "The \ue000cat 😀 sat.", "We saw it at www.x.org today."):
        wrong = unsuited(text, "en")
        assert wrong is not None
        assert unsuited(wrong.text, "en") is None


SENTENCES = {
    "The cat sat. It slept!": ["The cat sat."],
    "Mr. Smith met Dr. J. Brown. Who? Nobody knows.": [
        "Mr. Smith met Dr. J. Brown.",
        "Mr. Smith met Dr. J. Brown. Who?",
    ],
    "“Where are my shoes?” asked the boy.": ["“Where are my shoes?”"],
    "It costs 3.50 euros, see example.org": [],
    "The cat sat.  ": [],
}
"""Texts, and what they begin with: the first sentence, the first two, and so on."""


@pytest.mark.parametrize("text", SENTENCES)
def test_a_text_begins_with_its_first_sentences(text: str) -> None:
    assert beginnings(text) == SENTENCES[text]
