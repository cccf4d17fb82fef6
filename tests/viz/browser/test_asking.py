"""What the picture of the model asks the engine in a page, beside the same numbers in Python."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

import pytest

from model.checkpoints.checkpoint import is_single_stack
from model.checkpoints.shipped import CHECKPOINTS
from model.explain.block_outputs import OFFERED, offer_on, stream_on
from model.explain.examples import read_examples
from model.paper.search import Search
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind
from model.translate.translator import Translator, load
from tests.kit.engine import close, in_node, weights_of
from viz.draw.labels import axis_texts
from viz.heads.arithmetic import divisor_of
from viz.model_page.arcs import words_of

pytestmark = pytest.mark.slow

NAMES = sorted(each.name for each in CHECKPOINTS.iterdir() if not is_single_stack(each))


@cache
def translator(name: str) -> Translator:
    return load(CHECKPOINTS / name, device="cpu")


def ask(name: str, line: str, *questions: dict[str, Any], target: str | None = None) -> list[Any]:
    folder = CHECKPOINTS / name
    options = {"weights": weights_of(folder)}
    asked = {"folder": str(folder), "options": options, "line": line, "target": target}
    return list(in_node("ask", **asked, questions=questions))


@pytest.mark.parametrize("name", NAMES)
def test_heads_streams_and_logits_are_those_of_python(name: str) -> None:
    model, sentence = translator(name), read_examples(CHECKPOINTS / name)[0].source
    trace = model.trace(sentence)
    last = {
        kind: trace.layers(kind)[-1]
        for kind in AttentionKind
        if kind in {s.kind for s in trace.maps}
    }
    heads = [{"ask": "head", "kind": kind, "layer": n, "head": 1} for kind, n in last.items()]
    stacks = (AttentionKind.ENCODER, AttentionKind.DECODER)
    added = [{"ask": "added", "stack": kind, "layer": last[kind]} for kind in stacks]
    step = len(trace.target) - 1
    offers = [{"ask": "next", "step": each} for each in (0, step)]
    found = ask(name, sentence, *heads, *added, *offers)
    for asked, same in zip(heads, found, strict=False):
        seen = trace.attention(asked["kind"], asked["layer"])
        assert seen.q is not None
        assert seen.k is not None
        assert seen.v is not None
        assert seen.scores is not None
        for part in ("q", "k", "v", "scores"):
            close(same[part], getattr(seen, part)[1])
        assert (same["d"], same["dv"]) == (seen.q.shape[-1], seen.v.shape[-1])
        expected = divisor_of(seen.q[1], seen.k[1], seen.scores[1])
        assert same["divisor"] == (None if expected is None else pytest.approx(expected))
    for asked, same in zip(added, found[len(heads) :], strict=False):
        stream = stream_on(model, trace.source.ids, trace.target.ids, asked["stack"])
        close(same["into"], stream.into[-1])
        close(same["gains"], stream.gains[-1])
        assert same["size"] == stream.into.shape[-1]
    for asked, same in zip(offers, found[-2:], strict=True):
        offer = offer_on(model, trace.source.ids, trace.target.ids[: asked["step"] + 1])
        assert same["ids"] == list(offer.tokens.ids)
        assert same["texts"] == axis_texts(offer.tokens)
        for part in ("hidden", "rows", "logits", "shares"):
            close(same[part], getattr(offer, part))
        assert same["vocabulary"] == offer.vocabulary
        # The logits are the products that the picture shows.
        close(same["logits"], offer.rows @ offer.hidden)
        assert len(offer.tokens) == min(OFFERED, offer.vocabulary - 3)


@pytest.mark.parametrize("name", ["en-de", "toy-dates-additive"])
def test_it_writes_on_from_another_token_and_without_heads(name: str) -> None:
    model, sentence = translator(name), read_examples(CHECKPOINTS / name)[0].source
    trace = model.trace(sentence)
    (second,) = ask(name, sentence, {"ask": "next", "step": 1})
    token = second["ids"][1]
    off = [["cross", layer, 0] for layer in trace.layers("cross")]
    instead, without = ask(
        name,
        sentence,
        {"ask": "instead", "step": 1, "id": token},
        {"ask": "without", "heads": off},
    )
    prefix = (*trace.predictions.ids[:1], token)
    other = model.translate(sentence, search=Search(prefix=prefix))
    assert instead["text"] == other.text
    tokens = model.target_tokens(other.token_ids)
    assert instead["tokens"] == axis_texts(tokens)
    words = [asdict(word) for word in words_of(tokens) if not word.special]
    assert instead["words"] == [{**word, "tokens": list(word["tokens"])} for word in words]
    under = Intervention(heads=dict.fromkeys(map(tuple, off), 0))
    free = model.trace(sentence, under=under)
    assert without["text"] == free.text
    assert without["changed"] == (free.text != trace.text)
    forced = model.trace_batch([sentence], [model.translate(sentence)], under=under).traces[0]
    assert trace.log_probs is not None
    assert forced.log_probs is not None
    loss = float(trace.log_probs.sum() - forced.log_probs.sum())
    assert float(without["price"]) == pytest.approx(loss, abs=1e-3)


def test_a_given_translation_is_asked_about_as_it_stands() -> None:
    model, sentence, target = translator("en-de"), "He has it.", "Sie hat ihn."
    trace = model.trace(sentence, target)
    offered, added = ask(
        "en-de",
        sentence,
        {"ask": "next", "step": 2},
        {"ask": "added", "stack": "decoder", "layer": 0},
        target=target,
    )
    close(offered["hidden"], offer_on(model, trace.source.ids, trace.target.ids[:3]).hidden)
    assert len(added["into"]) == len(trace.target) * added["size"]


def test_what_is_not_there_is_said_in_a_sentence() -> None:
    questions: list[dict[str, Any]] = [
        {"ask": "head", "kind": "cross", "layer": 9, "head": 0},
        {"ask": "head", "kind": "cross", "layer": 0, "head": 99},
        {"ask": "added", "stack": "decoder", "layer": 9},
        {"ask": "added", "stack": "module", "layer": 0},
        {"ask": "next", "step": 99},
        {"ask": "instead", "step": 0, "id": 10**6},
        {"ask": "without", "heads": [["cross", 0, 99]]},
        {"ask": "without", "heads": [["cross", 99, 0]]},
    ]
    for answer in ask("toy-reverse", "a b c", *questions):
        assert answer["error"].endswith("."), answer
