"""A trace of the browser's engine, packed in the browser: the payload that Python packs."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from model.checkpoints.shipped import CHECKPOINTS
from model.explain.examples import read_examples
from model.explain.head_ablation import effects_of
from model.explain.labels_file import read_labels
from model.explain.measures import facts_of
from model.explain.reading import read
from model.trace.trace import Trace
from model.translate.translator import load
from tests.kit.engine import NODE, in_node
from viz.browser.envelope import MAGIC
from viz.heads.payload import pack
from viz.site.model import openings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NODE.is_file(), reason="Playwright came without its Node"),
]

START = len(MAGIC) + 20


def opened(envelope: bytes) -> tuple[dict[str, Any], bytes]:
    """An envelope's header and body."""
    end = START + int.from_bytes(envelope[START - 4 : START], "little")
    return json.loads(envelope[START:end]), envelope[end:]


def assert_alike(found: Any, expected: Any, place: str = "") -> None:
    """Equal, but for the last digits of numbers."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        for key, value in expected.items():
            assert_alike(found[key], value, f"{place}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_alike(one, other, f"{place}[{number}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1e-4), place
    else:
        assert found == expected, place


def in_the_browser(page: str, **job: Any) -> tuple[dict[str, Any], bytes]:
    """The header and the body of what the browser packs for a page."""
    return opened(base64.b64decode(in_node("pack", page=page, **job)["envelope"]))


@pytest.mark.parametrize(
    "name", ["en-de", "toy-numbers-fused", "toy-dates-rotary", "toy-sort-alibi"]
)
def test_the_engine_packs_the_opening_pictures_as_python_does(name: str) -> None:
    """The whole model at work and the decoding, for another sentence than the template's."""
    folder = CHECKPOINTS / name
    model = load(folder, device="cpu")
    first, line = (each.source for each in read_examples(folder)[:2])
    line = f"{line} “quoted”, and-so on"
    templates, expected = (openings(model, folder, each) for each in (first, line))
    for page in ("door", "decoding"):
        template, _ = opened(templates[page])
        header, body = opened(expected[page])
        job = {"folder": str(folder), "options": {}, "line": line, "template": template}
        found, own = in_the_browser(page, **job)
        floats = body_floats(page, header)
        for start, count in floats:
            one, other = (np.frombuffer(each, np.float32, count, start) for each in (own, body))
            np.testing.assert_allclose(one, other, atol=1e-4)
        assert len(own) == len(body)
        bytes_of = bytes_left(len(body), floats)
        one, other = (np.frombuffer(each, np.uint8)[bytes_of].astype(int) for each in (own, body))
        assert np.abs(one - other).max(initial=0) <= 1
        assert_alike(found, header)


def body_floats(page: str, header: dict[str, Any]) -> list[tuple[int, int]]:
    """Where 32-bit floats lie in a body, as their start and their number."""
    if page == "decoding":
        n = len(header["steps"])
        return [
            (header["cross"]["start"], n * len(header["source"])),
            (header["own"]["start"], n * n),
        ]
    arcs = header["arcs"]["start"], len(header["written"]) * len(header["read"])
    return [
        arcs,
        *(
            (stack["added"]["start"], len(stack["blocks"][0]["layers"]) * len(stack["tokens"]))
            for stack in header["stacks"]
        ),
    ]


def bytes_left(length: int, floats: list[tuple[int, int]]) -> Any:
    kept = np.ones(length, dtype=bool)
    for start, count in floats:
        kept[start : start + 4 * count] = False
    return kept


@pytest.mark.parametrize("name", ["en-de", "toy-count-temperature", "toy-dates-rotary"])
def test_the_engine_packs_what_python_packs(name: str) -> None:
    folder = CHECKPOINTS / name
    model, survey = load(folder, device="cpu"), read_labels(folder)
    labels = survey.labels if survey else {}
    first, line = (each.source for each in read_examples(folder)[:2])
    trace = model.trace(line)

    def packed(given: Trace, effects: Any) -> bytes:
        return pack(read(given), facts_of(given.maps), labels, effects=effects)

    template, _ = opened(packed(model.trace(first), {}))
    losses = effects_of(model, trace).of()
    expected, body = opened(packed(trace, losses))
    job = {"folder": str(folder), "options": {}, "line": line, "template": template}
    found, own = in_the_browser("heads", **job, effects=True)
    assert len(own) == len(body)
    for kind, same in zip(expected["kinds"], found["kinds"], strict=True):
        n_queries, n_keys = (len(expected["axes"][kind[side]]) for side in ("queries", "keys"))
        shape = len(kind["layers"]), kind["heads"], n_queries, n_keys
        one, other = (
            np.frombuffer(each, np.float32, int(np.prod(shape)), kind["weights"]).reshape(shape)
            for each in (own, body)
        )
        np.testing.assert_allclose(one, other, atol=1e-4)
        for place in kind["allowed"]:
            assert place is None or own[place : place + 9] == body[place : place + 9]
        for layer, heads in enumerate(kind["facts"]):
            for head, facts in enumerate(heads):
                # Of equally strong pairs, rounding decides which comes first.
                pairs = facts.pop("pairs"), same["facts"][layer][head].pop("pairs")
                strengths = [[other[layer, head, *cell] for cell in each] for each in pairs]
                assert strengths[0] == pytest.approx(strengths[1], abs=1e-4)
    assert_alike(found, expected)
