"""What a toy's card says of its heads, measured on inputs that it was not trained on."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from model.checkpoints.toy_tasks import TASKS
from model.training.toy_recipes import TOYS, toy_pairs
from model.translate.text_models import StackReader
from model.translate.translator import load

pytestmark = pytest.mark.learning

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
INPUTS = 60

Rows = Iterator[tuple[str, int, list[int]]]
"""What a row is about to write, the row, and the source positions that its weight is counted on."""


def to_reverse(source: list[str], predicted: list[str]) -> Rows:
    for row in range(len(source) - 1):
        yield "letter", row, [len(source) - 2 - row]


def to_copy(source: list[str], predicted: list[str]) -> Rows:
    for row in range(len(source) - 1):
        yield "letter", row, [row]


def to_sort(source: list[str], predicted: list[str]) -> Rows:
    for row, token in enumerate(predicted[:-1]):
        yield "letter", row, places(source, token)


def to_count(source: list[str], predicted: list[str]) -> Rows:
    for row, token in enumerate(predicted[:-1]):
        if token.isdigit():
            yield "number", row, places(source, predicted[row - 1])
        else:
            yield "letter", row, places(source, token)


def to_numbers(source: list[str], predicted: list[str]) -> Rows:
    end, last = [len(source) - 1], len(source) - 2
    teens = {*TASKS["numbers"].words[20:30]}
    for row, word in enumerate(predicted[:-1]):
        if word in ("hundred", "thousand"):
            yield word, row, end
        elif predicted[row + 1] in ("hundred", "thousand"):
            yield "thousands or hundreds", row, [last - (3 if predicted[row + 1][0] == "t" else 2)]
        elif word.endswith("ty"):
            yield "tens", row, [last - 1]
        elif word not in teens and word != "zero":
            yield "ones", row, [last]


def to_dates(source: list[str], predicted: list[str]) -> Rows:
    digits = {"year": [1, 2, 3, 4], "month": [6, 7], "day": [9, 10]}
    [month] = [row for row, token in enumerate(predicted[:-1]) if token.isalpha()]
    for row, token in enumerate(predicted[:-1]):
        part = "day" if row < month else "month" if row == month else "year"
        if token:
            yield part, row, digits[part]


def places(source: list[str], token: str) -> list[int]:
    return [place for place, each in enumerate(source) if each == token]


@cache
def shares(name: str, layer: int = 0) -> dict[str, NDArray[np.float64]]:
    """Each head's mean share of weight on the places named, and in the last row an even spread's.

    By what is about to be written, (head + 1,).
    """
    rows_of: Callable[[list[str], list[str]], Rows] = {
        "reverse": to_reverse,
        "copy": to_copy,
        "sort": to_sort,
        "count": to_count,
        "numbers": to_numbers,
        "dates": to_dates,
    }[TOYS[name].task]
    translator = load(CHECKPOINTS / name, device="cpu")
    each: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
    for pair in toy_pairs(CHECKPOINTS / name, TOYS[name])[:INPUTS]:
        trace = translator.trace(pair.source)
        weights = trace.attention("cross", layer).weights
        source, predicted = (
            [token.strip("▁") for token in axis.tokens]
            for axis in (trace.source, trace.predictions)
        )
        for written, row, at in rows_of(source, predicted):
            even = len(at) / len(source)
            each[written].append(np.array([*weights[:, row, at].sum(axis=1), even]))
    return {written: np.mean(found, axis=0) for written, found in each.items()}


def toys(task: str, alone: bool = False) -> list[str]:
    return [
        name
        for name, toy in TOYS.items()
        if toy.task == task and alone is name.endswith(("encoder", "decoder"))
    ]


def require_said(name: str, sentence: str) -> None:
    assert sentence in (CHECKPOINTS / name / "card.md").read_text("utf-8"), name


@pytest.mark.parametrize(
    ("name", "line"),
    [
        *((name, "to the opposite one") for name in toys("reverse")),
        *((name, "the diagonal") for name in toys("copy")),
    ],
)
def test_every_head_looks_along_the_line(name: str, line: str) -> None:
    require_said(name, line)
    assert (shares(name)["letter"] > 0.6)[:-1].all(), shares(name)


@pytest.mark.parametrize("name", toys("reverse", alone=True))
def test_a_head_of_the_last_layer_runs_back_through_the_letters(name: str) -> None:
    require_said(name, "a line runs back")
    reader = StackReader.load(CHECKPOINTS / name, device="cpu")
    found = []
    for pair in toy_pairs(CHECKPOINTS / name, TOYS[name])[:INPUTS]:
        trace, n_letters = reader.read(pair.source).trace, len(pair.source.split())
        [*_, last] = trace.maps.values()
        # A decoder reads the start, the letters and the end before it writes.
        before, first = (1, n_letters + 1) if trace.target else (0, 0)
        found += [
            last.weights[:, first + place, before + n_letters - 1 - place]
            for place in range(n_letters)
        ]
    assert np.mean(found, axis=0).max() > 0.6


@pytest.mark.parametrize("name", toys("sort"))
def test_the_next_letter_gets_more_than_its_even_share_of_every_head(name: str) -> None:
    require_said(name, "a quarter to a half")
    *heads, even = shares(name)["letter"]
    assert all(1.15 * even < share and 0.22 < share < 0.57 for share in heads), (heads, even)


@pytest.mark.parametrize("name", toys("count"))
def test_the_places_of_a_letter_are_looked_at_before_it_and_before_its_number(name: str) -> None:
    require_said(name, "head 2 looks mostly")
    require_said(name, "head 1 gives them")
    by_what = shares(name, layer=1)
    assert by_what["letter"][2] > 0.6
    assert 0.4 < by_what["number"][1] < 0.6
    assert by_what["number"][-1] < 0.3


@pytest.mark.parametrize("name", toys("numbers"))
def test_words_look_at_their_digit_and_those_without_one_at_the_end(name: str) -> None:
    require_said(name, "at least three heads")
    require_said(name, "heads 1 and 2 look")
    by_what = shares(name, layer=1)
    for written in ("thousands or hundreds", "tens", "ones"):
        assert np.count_nonzero(by_what[written][:-1] > 0.5) >= 3, by_what[written]
    for written in ("hundred", "thousand"):
        assert (by_what[written][1:3] > 0.5).all(), by_what[written]


@pytest.mark.parametrize("name", toys("dates"))
def test_a_head_looks_at_the_digits_of_what_is_written(name: str) -> None:
    require_said(name, "one head or more looks")
    by_what = shares(name)
    assert set(by_what) == {"day", "month", "year"}
    in_all = np.min([heads[:-1] for heads in by_what.values()], axis=0)
    assert in_all.max() > 0.5, by_what


def test_every_toy_s_card_says_what_was_measured() -> None:
    for name, toy in TOYS.items():
        task = TASKS[toy.task]
        alone = name.endswith(("encoder", "decoder"))
        require_said(name, task.look_alone if alone else task.look)
