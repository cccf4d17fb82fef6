"""Whether a text is in the language that a model reads."""

import json
from pathlib import Path

import pytest

from model.checkpoints.checkpoint import language_pair
from viz.shell.language import is_foreign

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"

FOREIGN = [
    "Die Katze saß auf der Matte.",
    "Guten Morgen",
    "Je ne sais pas.",
    "Привет",
    "日本語の文です。",
]

FAMILIAR = [
    "",
    "Tom",
    "Berlin",
    "OK",
    "123",
    "No, Dad!",
    "I'm Bulgarian.",
    "Tom Müller lives in München.",
]

EXAMPLES = [
    (example["source"], language_pair(file.parent.name)[0])
    for file in sorted(CHECKPOINTS.glob("??-??*/examples.json"))
    for example in json.loads(file.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("text", FOREIGN)
def test_other_languages_are_told(text: str) -> None:
    assert is_foreign(text, "en")


@pytest.mark.parametrize("text", FAMILIAR)
def test_what_fits_many_languages_or_borrows_from_one_is_not_foreign(text: str) -> None:
    assert not is_foreign(text, "en")


def test_a_language_that_is_not_known_to_the_classifier_is_never_foreign() -> None:
    assert not is_foreign("Die Katze saß auf der Matte.", "xx")


def test_no_shipped_example_is_taken_for_foreign() -> None:
    assert len(EXAMPLES) >= 40
    assert [each for each in EXAMPLES if is_foreign(*each)] == []
