"""Questions as visitors type them: the first one that the field offers, or none."""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from model.checkpoints.shipped import CHECKPOINTS
from tests.kit.engine import NODE
from viz.inquiries.inquiry import SOURCE, WORD, Subject
from viz.inquiries.registry import INQUIRIES, find, offered
from viz.registry.pages import ASKED, DEFAULT_SENTENCE
from viz.service.questions import ModelQuestion
from viz.shell.inquiry_field import entries, named_words

HERE = Path(__file__).parent
FIELD = HERE.parents[2] / "viz" / "browser" / "inquiries"
NONE = "-"
"""Stands for a question without an answer."""

FIRST = """
const { matching } = await import(process.argv[1]);
let text = "";
for await (const part of process.stdin) text += part;
const { questions, words, typed } = JSON.parse(text);
console.log(JSON.stringify(typed.map((each) => matching(each, questions, words)[0] ?? null)));
"""


pytestmark = pytest.mark.usefixtures("no_process")


def collected(name: str) -> list[tuple[str, list[str]]]:
    """What people type, each with the keys of which any answers it."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [(typed, keys.split()) for typed, keys in (line.split("\t") for line in lines)]


def subject(sentence: str = DEFAULT_SENTENCE) -> Subject:
    return Subject(ModelQuestion(CHECKPOINTS / "en-de", sentence))


def first_of(typed: Sequence[str], of: Subject) -> list[Any]:
    """The key and the text of the first question that the field offers, or None."""
    sides = {"written": of.trace.predictions, "read": of.trace.source}
    asked = {
        "questions": entries(offered(of), of),
        "words": {side: named_words(tokens) for side, tokens in sides.items()},
        "typed": list(typed),
    }
    command = [str(NODE), "--input-type=module", "-e", FIRST, (FIELD / "matching.js").as_uri()]
    run = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, check=True, timeout=120
    )
    found: list[Any] = json.loads(run.stdout)
    return found


def answered(name: str) -> list[tuple[str, str, list[str]]]:
    """What is typed, the key that comes first, and the keys that would be right."""
    known = collected(name)
    found = first_of([typed for typed, _ in known], subject())
    return [
        (typed, first[0] if first else NONE, keys)
        for (typed, keys), first in zip(known, found, strict=True)
    ]


def test_every_question_that_was_collected_gets_its_answer_or_none() -> None:
    every = answered("questions.tsv")
    assert len(every) >= 500
    assert [each for each in every if each[1] not in each[2]] == []


def test_most_questions_that_the_rules_never_saw_get_theirs() -> None:
    every = answered("held_out.tsv")
    assert len(every) == 40
    wrong = [each for each in every if each[1] not in each[2]]
    assert len(wrong) <= 6, wrong


def test_questions_held_out_are_none_of_the_ways() -> None:
    ways = json.loads((FIELD / "ways.json").read_text(encoding="utf-8"))

    def plain(text: str) -> str:
        return re.sub(r"\W+", " ", text.lower()).strip()

    known = {plain(each) for listed in ways.values() for each in listed}
    known |= {plain(typed) for typed, _ in collected("questions.tsv")}
    assert not known & {plain(typed) for typed, _ in collected("held_out.tsv")}


def test_every_question_says_how_people_type_it() -> None:
    ways = json.loads((FIELD / "ways.json").read_text(encoding="utf-8"))
    assert ways.keys() == INQUIRIES.keys()
    for key, listed in ways.items():
        named = INQUIRIES[key].text + INQUIRIES[key].named
        for slot in (WORD, SOURCE):
            has_slot = any(slot in each for each in listed)
            # In passing, as in "why is {word} underlined", a word changes nothing.
            assert not has_slot or slot in named or len(listed) > 1, key


def test_what_is_offered_first_can_be_asked() -> None:
    of = subject()
    for key, text in filter(None, first_of([typed for typed, _ in collected("questions.tsv")], of)):
        asked_of = find(ASKED.parse(key), of)
        assert asked_of is not None, key
        inquiry, about = asked_of
        assert inquiry.text_for(about) == text


@pytest.mark.parametrize(
    ("sentence", "typed", "key"),
    [
        ("My sister lost his keys.", "Why seine and not seinen?", "why-not.4.seinen"),
        ("My sister lost his keys.", "why not ihre instead of seine", "why-not.4.ihre"),
        (DEFAULT_SENTENCE, "Why seine and not seinen?", None),
    ],
)
def test_a_question_of_two_words_is_about_the_sentence_that_stands(
    sentence: str, typed: str, key: str | None
) -> None:
    (found,) = first_of([typed], subject(sentence))
    assert (found and found[0]) == key
