"""Swap one thought: a hidden state of another sentence crosses over, and its translation too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from model.patching.results import CausalTrace, Patched
from model.trace.provenance import Provenance
from viz.acts.act import Act, Frame, States, changed, n_changed, plain
from viz.draw.constants import CONSTANTS
from viz.draw.labels import axis_texts
from viz.draw.style import number_change, percent
from viz.effects.contrasted import quoted

MOST_TRIED: int = CONSTANTS["ACTS"]["MOST_TRIED"]
"""Other sentences that are tried until one has another translation."""

_WORD = re.compile(r"[^\W\d_]+")


@cache
def _swaps() -> Mapping[str, Mapping[str, str]]:
    written = json.loads(Path(__file__).with_name("swaps.json").read_text(encoding="utf-8"))
    swaps: dict[str, dict[str, str]] = {}
    for language, listed in written.items():
        words = swaps.setdefault(language, {})
        for one, other in listed["both"]:
            words.setdefault(one, other)
            words.setdefault(other, one)
        words |= listed["one way"]
    return swaps


def neighbours(sentence: str, language: str) -> Iterator[str]:
    """Sentences in which one word is replaced by another of its kind, nouns first.

    Args:
        language: its code, such as "en"; of a language without a list, there are none.
    """
    found = {each[0].lower(): each for each in reversed([*_WORD.finditer(sentence)])}
    for word, other in _swaps().get(language, {}).items():
        if place := found.get(word):
            shown = other.capitalize() if place[0][0].isupper() else other
            yield f"{sentence[: place.start()]}{shown}{sentence[place.end() :]}"


def crossing(trace: CausalTrace, row: int) -> int:
    """The source token whose state after a stage of the encoder brings the other word back most."""
    shares = _shares(trace)[row]
    return int(np.nanargmax(shares))


def _shares(trace: CausalTrace) -> np.ndarray:
    return trace.probabilities("encoder", trace.telling)


def swapped(trace: CausalTrace, patched: Patched, row: int, d_model: int, known: Provenance) -> Act:
    """The act.

    Args:
        trace: of the encoder's stages.
        patched: the first sentence's run with the state in it.
        row: the stage whose state crosses over, from the embedding at 0.
        d_model: the numbers of a state.
    """
    token = crossing(trace, row)
    there = dict(patched.pairs)[token]
    first, second = axis_texts(patched.source), axis_texts(patched.other_source)
    shares = _shares(trace)
    told = trace.telling
    word = quoted(axis_texts(trace.predictions)[told])
    before = float(np.exp(trace.log_probs[told]))
    arrives = patched.patched_text == patched.other_text
    stages = ("Embedding", *(f"Layer {layer}" for layer in range(len(shares) - 1)))
    where = "the embedding" if row == 0 else f"encoder layer {row - 1}"
    one, other = quoted(first[token]), quoted(second[there])
    came = (
        "All else is the first sentence’s, and the translation is the second’s."
        if arrives
        else f"{word} {number_change(before, float(shares[row, token]), percent)}."
    )
    frames = (
        Frame("One sentence", plain(patched.text), f"“{patched.sentence}”"),
        Frame(
            "Another",
            changed(patched.text, patched.other_text),
            f"“{patched.other}” {_differing(patched)}",
            stage=1,
        ),
        Frame(
            "One state crosses",
            plain(patched.text),
            f"The first sentence once more; but after {where}, the {d_model:,} numbers of {one} "
            f"are those of {other} in the second.",
            stage=2,
        ),
        Frame("What it writes", changed(patched.text, patched.patched_text), came, stage=2),
        Frame(
            "Any other state",
            changed(patched.text, patched.patched_text),
            f"How likely {word} becomes if this one state crosses instead: "
            f"{percent(before)} without any.",
            stage=3,
        ),
    )
    return Act(
        act="swap",
        caption="Every square is the state of a token after a layer of the encoder, lowest first. "
        "One of the second sentence stands in for one of the first.",
        read=patched.sentence,
        frames=frames,
        states=States(stages, tuple(first), tuple(second), (row, token, there), shares),
        known=known,
    )


def _differing(patched: Patched) -> str:
    count = n_changed(patched.sentence, patched.other)
    return "differs in one word." if count == 1 else f"differs in {count} words."
