"""What a phone that follows is told of a sentence is what its own engine would find."""

from __future__ import annotations

import base64
import gzip
from typing import Any

import numpy as np
import pytest

from model.checkpoints.shipped import CHECKPOINTS
from model.trace.head import Head
from model.translate.translator import Translator, load
from tests.kit.engine import in_node
from viz.site.followed import SHORT, followed
from viz.site.model import packed
from viz.site.static import PART, site_files

pytestmark = pytest.mark.slow

SENTENCE = "The animal didn't cross the street because it was too tired."
LONG = (
    "When the old man came home late last night, he saw that somebody had left the window in the "
    "kitchen open."
)
HEAD = Head.of("cross.0.5")

PHONE = 400_000
"""Bytes that a phone loads before it shows the sentence on stage."""

CHANGE = 60_000
"""Bytes of another sentence on stage."""


@pytest.fixture(scope="module")
def model() -> Translator:
    return load("en-de", device="cpu")


def compared(told: Any, found: Any, least: float, place: str = "") -> None:
    """What was told is in what the engine found, to rounding."""
    if isinstance(told, dict):
        for name, each in told.items():
            # A head's vectors stand among zeros for those of the others.
            if name not in ("only", "q", "k", "v", "scores", "positions", "candidates"):
                compared(each, found[name], least, f"{place}.{name}")
    elif isinstance(told, list) and told and not isinstance(told[0], float | int):
        for number, (one, other) in enumerate(zip(told, found, strict=True)):
            compared(one, other, least, f"{place}[{number}]")
    elif isinstance(told, list | float):
        np.testing.assert_allclose(told, found, rtol=1e-3, atol=least, err_msg=place)
    else:
        assert told == found, place


@pytest.mark.parametrize(
    ("sentence", "given", "least"),
    [
        (SENTENCE, {"off": (HEAD,), "effects": True}, 2e-4),
        (SENTENCE, {"target": "Das Tier war müde.", "off": (HEAD, Head.of("encoder.1.3"))}, 2e-4),
        # In a byte, half a step of the largest weight's root.
        (LONG, {}, 5e-3),
    ],
    ids=["own", "given", "long"],
)
def test_the_engine_would_answer_the_same(
    model: Translator, sentence: str, given: dict[str, Any], least: float
) -> None:
    envelope = base64.b64encode(followed(model, sentence, head=HEAD, **given)).decode()
    folder = str(CHECKPOINTS / "en-de")
    calls = in_node("follow", folder=folder, options={}, envelope=envelope)
    methods = [call["method"] for call in calls]
    expected = ["trace", "translate", *(["translate", "trace"] if given else [])]
    assert methods == expected + ["effects"] * ("effects" in given)
    for call in calls:
        # Only the price of a trace without heads is asked for.
        if call["method"] == "trace" and call["options"]["ids"]:
            compared(call["told"]["logProbs"], call["found"]["logProbs"], 2e-4)
        else:
            compared(call["told"], call["found"], least)
    (own,) = (each for each in calls[0]["told"]["maps"] if each["only"] is not None)
    (same,) = (
        each
        for each in calls[0]["found"]["maps"]
        if (each["kind"], each["layer"]) == (own["kind"], own["layer"])
    )
    size = own["queries"] * own["keys"]
    head = slice(HEAD.number * size, (HEAD.number + 1) * size)
    np.testing.assert_allclose(own["scores"][head], same["scores"][head], rtol=1e-3, atol=1e-3)
    for name, tokens in (("q", own["queries"]), ("k", own["keys"]), ("v", own["keys"])):
        shape = tokens, own["heads"], -1
        ours, theirs = (np.reshape(each[name], shape)[:, HEAD.number] for each in (own, same))
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)


def test_a_phone_loads_little(model: Translator) -> None:
    files = dict(site_files([packed(CHECKPOINTS / "en-de")]))
    assert max(len(each) for path, each in files.items() if path.startswith("model/")) <= PART
    before = ("index.html", "model/en-de/card.", "code/site.", "code/model_view.", "code/old.")
    page = sum(
        len(gzip.compress(content)) for path, content in files.items() if path.startswith(before)
    )
    changes = [
        len(gzip.compress(followed(model, sentence, head=HEAD, effects=sentence != LONG)))
        for sentence in (SENTENCE, LONG)
    ]
    assert max(changes) <= CHANGE
    assert page + max(changes) <= PHONE
    n_weights = sum(each.weights.size for each in model.trace(LONG).maps.values())
    assert n_weights > SHORT, "the long one is sent in bytes"
