"""What the picture of the model is answered, beside what the library and the pages say."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from model.checkpoints.checkpoint import snapshots
from model.checkpoints.shipped import CHECKPOINTS
from model.explain.block_outputs import offer_on, stream_on
from model.paper.search import Search
from model.record.intervention import UNCHANGED, Intervention
from model.trace.attention_map import AttentionKind
from model.translate.text_models import is_reader
from model.translate.translator import load
from tests.kit.asking import ABOUT, HEAD, QUESTIONS, answered, ask, require_refused
from viz.browser.asking import asks
from viz.draw.labels import axis_texts
from viz.effects.price import price
from viz.heads.arithmetic import divisor_of
from viz.model_page.arcs import words_of
from viz.service import session
from viz.service.questions import ModelQuestion
from viz.service.versions import snapshot_of

NAMES = sorted(each.name for each in CHECKPOINTS.iterdir() if not is_reader(each))


pytestmark = pytest.mark.usefixtures("no_process")


def of_example(name: str) -> tuple[ModelQuestion, dict[str, Any]]:
    """A model's first example, and what a page would send of it."""
    folder = CHECKPOINTS / name
    steps = snapshots(folder)
    number = len(steps) - 1 if steps else None
    checkpoint = snapshot_of(folder, steps[-1]) if steps else folder
    sentence = session.examples(folder)[0].source
    question = ModelQuestion(checkpoint, sentence, "", number)
    return question, asks(question.name, sentence, snapshot=number)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_model_answers_as_the_library_does(name: str) -> None:
    question, about = of_example(name)
    model = load(CHECKPOINTS / name, device="cpu", snapshot=question.snapshot)
    trace = model.trace(question.sentence)
    for kind in ("encoder", "decoder", "cross"):
        layer = trace.layers(kind)[-1]
        seen = trace.attention(kind, layer)
        number = seen.n_heads - 1
        found = answered({"ask": "head", "kind": kind, "layer": layer, "head": number}, about)
        q, k, v, scores = (getattr(seen, part)[number] for part in ("q", "k", "v", "scores"))
        for part, expected in {"q": q, "k": k, "v": v, "scores": scores}.items():
            np.testing.assert_allclose(found[part], expected.ravel(), atol=1e-4)
        assert (found["d"], found["dv"]) == (q.shape[-1], v.shape[-1])
        divisor = divisor_of(q, k, scores)
        assert (found["divisor"] is None) == (divisor is None)
        assert divisor is None or found["divisor"] == pytest.approx(divisor)
    for kind in ("encoder", "decoder"):
        layer = trace.layers(kind)[-1]
        found = answered({"ask": "added", "stack": kind, "layer": layer}, about)
        stream = stream_on(model, trace.source.ids, trace.target.ids, AttentionKind(kind))
        np.testing.assert_allclose(found["into"], stream.into[-1].ravel(), atol=1e-4)
        np.testing.assert_allclose(found["gains"], stream.gains[-1].ravel(), atol=1e-4)
    step = len(trace.target) // 2
    found = answered({"ask": "next", "step": step}, about)
    offer = offer_on(model, trace.source.ids, trace.target.ids[: step + 1])
    assert found["texts"] == axis_texts(offer.tokens)
    assert found["ids"] == list(offer.tokens.ids)
    np.testing.assert_allclose(found["logits"], offer.logits, atol=1e-4)
    np.testing.assert_allclose(found["rows"], offer.rows.ravel(), atol=1e-4)
    rows = np.reshape(found["rows"], (-1, found["size"]))
    np.testing.assert_allclose(rows @ found["hidden"], found["logits"], atol=1e-4)
    assert found["vocabulary"] == model.model.config.output_size


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["de-en", "en-de", "en-de-cheating", "en-fr", "toy-count-temperature"]
)
def test_other_words_and_prices_are_those_of_the_pages(name: str) -> None:
    question, about = of_example(name)
    trace = session.ask(question.record)
    # A model that cheats writes nothing but the end.
    step = min(1, len(trace.target) - 1)
    second = answered({"ask": "next", "step": step}, about)["ids"][1]
    found = answered({"ask": "instead", "step": step, "id": second}, about)
    # As the decoding page takes a token.
    decoded = session.ask(question.decode(Search(prefix=(*trace.predictions.ids[:step], second))))
    assert found["text"] == decoded.trace.text
    assert found["tokens"] == axis_texts(decoded.trace.predictions)
    words = [asdict(word) for word in words_of(decoded.trace.predictions) if not word.special]
    assert found["words"] == [{**word, "tokens": list(word["tokens"])} for word in words]
    heads = [head for head in trace.heads if str(head.site.kind) == "cross"][:3]
    found = answered(
        {"ask": "without", "heads": [["cross", site.layer, number] for site, number in heads]},
        about,
    )
    outcome = session.run(question, Intervention(heads=dict.fromkeys(heads, 0)))
    before = session.run(question, UNCHANGED)
    assert found["text"] == outcome.free.text
    assert found["changed"] == (outcome.free.text != before.free.text)
    assert before.forced.log_probs is not None
    assert outcome.forced.log_probs is not None
    costs = price(before.forced.log_probs, outcome.forced.log_probs)
    what = "output" if name.startswith("toy") else "translation"
    assert found["price"] == f"Its usual {what}: {costs}."


def test_a_given_translation_is_what_is_asked_about() -> None:
    about = {**ABOUT, "target": "b"}
    assert len(answered(HEAD, about)["scores"]) == 2 * 4
    require_refused(ask({"ask": "next", "step": 2}, about=about), 404)
    found = answered({"ask": "without", "heads": [["cross", 0, 0]]}, about)
    assert found["price"].startswith("The target you typed: ")


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked["ask"])
def test_an_answer_needs_no_page(asked: dict[str, Any]) -> None:
    assert answered(asked)["payload"] == asked["ask"]
