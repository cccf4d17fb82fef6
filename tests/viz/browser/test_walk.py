"""What the walk says of a sentence, held against the model's own trace of it."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from model.checkpoints.folder_files import CONFIG, read_json
from model.checkpoints.shipped import CHECKPOINTS
from model.explain.block_outputs import block_outputs
from model.explain.labels_file import read_labels
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.trace import Trace
from model.translate.translator import Translator, load
from tests.kit.engine import in_node
from viz.draw.labels import axis_texts
from viz.model_page.arcs import words_of
from viz.site.model import openings

pytestmark = pytest.mark.slow

TOLD = [
    ("en-de", "He has bought a new computer."),
    ("en-de", "I don't think that Tom is happy."),
    ("en-de", "Hi"),
    ("en-de", "Unfathomable ξ bureaucracies!"),
    ("en-de", " ".join(["The old man sees the small dog"] * 7)),
    ("de-en", "Ich stehe jeden Morgen um sechs Uhr auf."),
    ("en-fr", "I'm not very happy, either."),
    ("en-de-learned", "Tom didn't hear it."),
    ("en-de-cheating", "He has bought a new computer."),
    ("toy-reverse", "c i c e f h f a"),
    ("toy-reverse-learned", "a b"),
    ("toy-sort-alibi", "g f e e j f k b"),
    ("toy-dates-additive", "2031-12-03"),
    ("toy-dates-rotary", "2031-12-03"),
    ("toy-count-temperature", "d b e f e"),
]
OFF = 0.5 / 255 + 1e-4
"""Half a step of a weight that was sent as a byte."""

ALL = {"instead": True, "without": True}


class Told:
    """One stop beside the trace that it speaks of."""

    def __init__(self, stop: dict[str, Any], model: Translator, trace: Trace, name: str) -> None:
        self.stop, self.model, self.trace, self.name = stop, model, trace, name
        self.says: str = stop["says"]
        self.quoted: list[str] = re.findall(r"“(.+?)”", self.says)

    @property
    def site(self) -> Site:
        return Site(AttentionKind(self.stop["place"]["kind"]), self.stop["place"]["layer"])

    @property
    def weights(self) -> FloatArray:
        """Of the head at the stop's place, (query, key)."""
        return self.trace.maps[self.site].weights[self.stop["place"]["head"]]

    @property
    def texts(self) -> tuple[list[str], list[str]]:
        found = self.trace.maps[self.site]
        return axis_texts(found.queries), axis_texts(found.keys)

    def number(self, after: str) -> int:
        found = re.search(rf"{after} (\d+)", self.says)
        assert found, self.says
        return int(found[1])


def as_share(text: str, share: float, off: float = OFF) -> bool:
    """Whether a share is the one in words, up to what a byte leaves open."""
    if text.startswith("more than"):
        return share >= 0.99 - off
    if text.startswith("less than"):
        return share < 0.01 + off
    return abs(int(text.rstrip("%")) / 100 - share) <= 0.005 + off


def tokens(told: Told) -> None:
    own = [text for text in axis_texts(told.trace.source) if text != "</s>"]
    assert ("single token" in told.says) == (len(own) == 1)
    if len(own) > 1:
        assert told.number("into") == len(own)
    if "single character" in told.says:
        assert all(len(text.removeprefix("…")) == 1 for text in own)
    for word in told.quoted:
        places = [len(each.tokens) for each in words_of(told.trace.source) if each.text == word]
        assert told.number("takes") in places
    assert ("</s>" in told.stop["aside"]) == (told.trace.source.tokens[-1] == "</s>")


def numbers(told: Told) -> None:
    encoding = told.model.positions
    assert ("inside attention" in told.says) == (not encoding.is_added)
    assert ("waves" in told.says) == (encoding.is_added and not encoding.is_learned)
    if encoding.is_added:
        assert told.number("becomes") == read_json(CHECKPOINTS / told.name / CONFIG)["d_model"]


def heads(told: Told) -> None:
    seen = told.trace.maps[told.site]
    assert "every other" in told.says
    assert seen.allowed.all()
    assert told.number("these") == seen.n_heads
    total = sum(each.n_heads for each in told.trace.maps.values())
    assert told.stop["aside"] == f"The whole model has {total} heads."


def self_site(told: Told) -> Site:
    return Site(AttentionKind(told.stop["place"]["kind"]), told.stop["place"]["layer"])


KEYS: dict[str, Callable[[int, int], int]] = {
    "one token back": lambda query, _: query - 1,
    "one token ahead": lambda query, count: query + 1 if query + 1 < count else -1,
    "at themselves": lambda query, _: query,
    "end of the sentence": lambda query, count: count - 1 if query + 1 < count else -1,
    "start of the sentence": lambda query, _: 0 if query else -1,
}
LABELS = {
    "one token back": "looks at the previous token",
    "one token ahead": "looks at the next token",
    "at themselves": "looks at the same token",
    "end of the sentence": "looks at the sentence end",
    "start of the sentence": "looks at the sentence start",
}


def head(told: Told) -> None:
    query = told.stop["lit"]["query"]
    queries, keys = told.texts
    assert told.quoted[0] == queries[query]
    if len(told.quoted) > 1:
        assert told.quoted[1] == keys[int(told.weights[query].argmax())]
    [pattern] = [each for each in KEYS if each in told.says] or [""]
    if not pattern:
        assert "looks most at" in told.says
        return
    meant = [KEYS[pattern](row, len(queries)) for row in range(len(queries))]
    able = [row for row in range(len(queries)) if meant[row] >= 0]
    if pattern == "at themselves":
        able = able[1:]
    held = [row for row in able if told.weights[row].argmax() == meant[row]]
    assert query in held
    if told.stop["aside"].startswith("It does"):
        rows = [
            row
            for row, key in enumerate(meant)
            if key >= 0 and told.weights[row].argmax() == key and told.weights[row, key] >= 0.5
        ]
        counts = f"{len(rows)} of {len(queries)}"
        assert told.stop["aside"] == f"It does so in {counts} rows of this sentence."
    assert len(held) >= 0.8 * len(able)
    assert told.weights[held, [meant[row] for row in held]].mean() >= 0.5 - OFF
    if "Nobody" in told.stop["aside"]:
        survey = read_labels(CHECKPOINTS / told.name)
        assert survey is not None
        label = survey.labels[told.site][told.stop["place"]["head"]]
        assert label is not None
        assert label.earned
        assert label.text == LABELS[pattern]


def weight(told: Told) -> None:
    if len(told.quoted) > 1:
        assert ("their places" in told.says) == (not told.model.positions.is_added)
    place = told.stop["place"]
    queries, keys = told.texts
    assert told.quoted[0] == queries[place["query"]]
    assert told.quoted[-1] == keys[place["key"]]
    share = told.weights[place["query"], place["key"]]
    assert as_share(told.says.rsplit("weight, ", 1)[1].rstrip("."), share)


def row(told: Told) -> None:
    shares = told.weights[told.stop["place"]["query"]]
    assert shares.sum() == pytest.approx(1, abs=1e-4)
    named = re.findall(r"“([^”]+)”(?: gets)? ((?:more than |less than )?\d+%)", told.says)
    assert 1 <= len(named) <= 2
    places = np.argsort(-shares)
    for (text, share), place in zip(named, places, strict=False):
        assert as_share(share, shares[place])
        # Of equal bytes, the first is named.
        near = [told.texts[1][key] for key in places if shares[key] >= shares[place] - 2 * OFF]
        assert text in near


def mask(told: Told) -> None:
    query = told.stop["lit"]["query"]
    count = len(told.trace.target)
    [allowed, *_] = told.trace.maps[told.site].allowed.reshape(-1, count, count)
    assert told.quoted == axis_texts(told.trace.target)[query : query + 2]
    assert np.array_equal(allowed, np.tril(np.ones_like(allowed)))
    assert told.trace.predictions.ids[query] == told.trace.target.ids[query + 1]


def cross(told: Told) -> None:
    query, key = told.stop["lit"]["query"], told.stop["lit"]["key"]
    source, written = words_of(told.trace.source), words_of(told.trace.predictions)
    at = told.weights.argmax(axis=1)
    assert at[query] == key
    assert told.weights[query, key] >= 0.5 - OFF
    read = [next(i for i, each in enumerate(source) if each.first <= k < each.end) for k in at]
    assert source[read[query]].text == told.quoted[-1]
    later = int(not told.says.startswith("To write"))
    rows = [each.end - 1 + 1 if later else each.first for each in written if not each.special]
    if "in order" in told.says:
        # Which of nearly equal weights is the largest, bytes do not tell.
        tops = [np.sort(told.weights[each])[-2:] for each in rows]
        clear = [
            row for row, (second, most) in zip(rows, tops, strict=True) if most - second > 2 * OFF
        ]
        seen = [read[each] for each in clear if not source[read[each]].special]
        assert seen == sorted(seen)
        return
    place = rows.index(query)
    assert written[place].text == told.quoted[0]
    if "jumps" in told.says:
        jump = read[query] - read[rows[place - 1]]
        assert ("back" in told.says) == (jump < 0)
        one = "back one place" in told.says
        assert abs(jump) == (1 if one else told.number("jumps (?:back|ahead)"))


def next_words(told: Told) -> None:
    step = told.stop["place"]["step"]
    blocks = block_outputs(told.model, told.trace)
    likeliest = axis_texts(blocks.likeliest[step])
    shares = dict(zip(likeliest, blocks.probabilities[step], strict=True))
    own = axis_texts(told.trace.predictions)[step]
    word, other = told.quoted
    assert word == own
    number = blocks.likeliest[step].ids[likeliest.index(other)]
    assert told.stop["does"] == {"ask": "instead", "step": step, "id": number}
    assert other == next(text for text in likeliest if text != own)
    found = re.findall(r"(?:more than |less than )?\d+%", told.says)
    assert told.trace.log_probs is not None
    assert as_share(found[0], float(np.exp(told.trace.log_probs[step])), 1e-4)
    assert as_share(found[1], shares[other], 1e-4)
    assert ("second comes" in told.says) == (likeliest[0] == own)


def off(told: Told) -> None:
    place, does = told.stop["place"], told.stop["does"]
    assert does["ask"] == "without"
    if place["at"] == "head":
        assert does["heads"] == [[place["kind"], place["layer"], place["head"]]]
        assert told.trace.maps[told.site].n_heads > place["head"]
        return
    assert place == {"at": "stack", "stack": "decoder"}
    cross = [seen for site, seen in told.trace.maps.items() if site.kind is AttentionKind.CROSS]
    assert does["heads"] == [
        ["cross", seen.site.layer, head] for seen in cross for head in range(seen.n_heads)
    ]


CHECKS = {
    **{"tokens": tokens, "numbers": numbers, "heads": heads, "head": head, "weight": weight},
    **{"row": row, "mask": mask, "cross": cross, "next": next_words, "off": off},
}


@pytest.mark.parametrize(("name", "line"), TOLD, ids=lambda text: text[:24])
def test_a_stop_says_what_the_trace_shows(name: str, line: str) -> None:
    model = load(CHECKPOINTS / name, device="cpu")
    trace = model.trace(line)
    envelope = base64.b64encode(openings(model, CHECKPOINTS / name, line)["model"]).decode()
    found = in_node("walk", envelope=envelope, can=ALL)
    names = [stop["name"] for stop in found["stops"]]
    assert found["offered"]
    # A model that writes nothing has no decoder to speak of.
    assert set(CHECKS) - set(names) <= (
        {"mask", "cross", "next", "off"} if not trace.text else {"cross"}
    )
    for stop in found["stops"]:
        CHECKS[stop["name"]](Told(stop, model, trace, name))
