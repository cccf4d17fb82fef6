"""What the picture of the model asks for beyond what it holds, and the answers.

A question is a mapping, as viz/browser/model_view/questions.d.ts describes it; an answer holds the
values of a payload of that name in payloads.json.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from model.record.head_edits import Gate
from model.record.intervention import UNCHANGED, Intervention
from model.trace.attention_map import AttentionKind, Site, Tokens
from model.trace.head import Head
from model.trace.trace import Trace
from viz.draw.labels import axis_texts
from viz.draw.style import count_of
from viz.effects.price import LogProbs, price
from viz.heads.arithmetic import divisor_of
from viz.links.head_refs import KINDS, MOST_HEADS
from viz.model_page.arcs import words_of
from viz.service import session
from viz.service.jobs.running import read_offer, read_stream
from viz.service.model_menu import toy_task
from viz.service.questions import ModelQuestion

STACKS = (AttentionKind.ENCODER, AttentionKind.DECODER)

MOST = 1_000_000
"""Numbers in a question are below it."""


class QuestionError(ValueError):
    """A question that is none; the message says why."""


class MissingError(ValueError):
    """A question about something that is not there; the message says what is."""


def answer(question: ModelQuestion, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the answer's payload.

    Raises:
        QuestionError: if it is no question.
        MissingError: if the model, or this translation, has nothing of what it is about.
        CheckpointError, DecodingError, ServiceError, TextError: as `session.ask`.
    """
    name = asked.get("ask")
    if not isinstance(name, str) or name not in _ANSWERS:
        raise QuestionError(f"The question must be one of these: {', '.join(_ANSWERS)}.")
    return {"payload": name, **_ANSWERS[name](question, asked)}


def price_of(question: ModelQuestion, before: LogProbs, after: LogProbs) -> str:
    """What a change of the model costs the translation that is shown, in a sentence."""
    priced = "Its usual translation" if toy_task(question.folder) is None else "Its usual output"
    if question.target:
        priced = "The target you typed"
    return f"{priced}: {price(before, after)}."


def _head(question: ModelQuestion, asked: Mapping[str, Any]) -> dict[str, Any]:
    head = _read_head((asked.get("kind"), asked.get("layer"), asked.get("head")))
    seen = _require_heads(session.ask(question.record), [head]).maps[head.site]
    if seen.q is None or seen.k is None or seen.v is None or seen.scores is None:
        raise MissingError("The vectors of this head are not recorded.")
    q, k, v, scores = (each[head.number] for each in (seen.q, seen.k, seen.v, seen.scores))
    return {
        **{"q": q, "k": k, "v": v, "d": q.shape[-1], "dv": v.shape[-1]},
        **{"scores": scores, "divisor": divisor_of(q, k, scores)},
    }


def _added(question: ModelQuestion, asked: Mapping[str, Any]) -> dict[str, Any]:
    stack, layer = asked.get("stack"), _number(asked, "layer")
    if stack not in STACKS:
        raise QuestionError(f"The stack must be one of these: {', '.join(STACKS)}.")
    job = read_stream(question.version, question.sentence, question.target, AttentionKind(stack))
    stream = session.ask(job)
    if layer >= len(stream.into):
        layers = count_of(len(stream.into), "layer")
        raise MissingError(f"The {stack} has {layers}, counted from 0.")
    size = stream.into.shape[-1]
    return {"size": size, "into": stream.into[layer], "gains": stream.gains[layer]}


def _next(question: ModelQuestion, asked: Mapping[str, Any]) -> dict[str, Any]:
    step = _step(session.ask(question.record), asked)
    offer = session.ask(read_offer(question.version, question.sentence, question.target, step))
    return {
        **{"size": len(offer.hidden), "vocabulary": offer.vocabulary},
        **{"hidden": offer.hidden, "rows": offer.rows},
        **{"texts": axis_texts(offer.tokens), "ids": list(offer.tokens.ids)},
        **{"logits": offer.logits, "shares": offer.shares},
    }


def _instead(question: ModelQuestion, asked: Mapping[str, Any]) -> dict[str, Any]:
    trace = session.ask(question.record)
    prefix = (*trace.predictions.ids[: _step(trace, asked)], _number(asked, "id"))
    own = session.translator(question.checkpoint).search
    decoded = session.ask(question.decode(replace(own, prefix=prefix)))
    written = decoded.trace.predictions
    return {"text": decoded.trace.text, "words": _words(written), "tokens": axis_texts(written)}


def _without(question: ModelQuestion, asked: Mapping[str, Any]) -> dict[str, Any]:
    listed = asked.get("heads")
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_HEADS:
        raise QuestionError(f"The heads must be a list of 1 to {MOST_HEADS}.")
    heads = list(dict.fromkeys(map(_read_head, listed)))
    _require_heads(session.ask(question.record), heads)
    under = Intervention(heads=dict.fromkeys(heads, Gate(0)))
    before, after = (session.run(question, each) for each in (UNCHANGED, under))
    usual, left = before.forced.log_probs, after.forced.log_probs
    assert usual is not None, "every trace of a translator holds them"
    assert left is not None, "every trace of a translator holds them"
    free = after.free
    return {
        **{"text": free.text, "words": _words(free.predictions)},
        **{"changed": free.text != before.free.text, "price": price_of(question, usual, left)},
    }


_ANSWERS = {
    "head": _head,
    "added": _added,
    "next": _next,
    "instead": _instead,
    "without": _without,
}


def _words(tokens: Tokens) -> list[dict[str, Any]]:
    """The words of a translation as the picture shows them."""
    return [asdict(word) for word in words_of(tokens) if not word.special]


def _step(trace: Trace, asked: Mapping[str, Any]) -> int:
    step = _number(asked, "step")
    if step >= len(trace.target):
        steps = count_of(len(trace.target), "step")
        raise MissingError(f"The translation has {steps}, counted from 0.")
    return step


def _number(asked: Mapping[str, Any], name: str) -> int:
    number = asked.get(name)
    if type(number) is not int or not 0 <= number < MOST:
        raise QuestionError(f"The {name} must be a whole number from 0.")
    return number


def _read_head(named: Any) -> Head:
    """A head from its kind, layer and number."""
    if not isinstance(named, list | tuple) or len(named) != 3 or named[0] not in KINDS:
        raise QuestionError(f"A head is a kind ({', '.join(KINDS)}), a layer and a number.")
    numbers = dict(zip(("layer", "head"), named[1:], strict=True))
    return Head(Site(named[0], _number(numbers, "layer")), _number(numbers, "head"))


def _require_heads(trace: Trace, heads: list[Head]) -> Trace:
    for head in heads:
        if head.site not in trace.maps or head.number >= trace.maps[head.site].n_heads:
            raise MissingError(f"This model has no {head.name}.")
    return trace
