"""The numbers of answers are those of the trace, computed here another way."""

import math
from dataclasses import replace

import numpy as np
import pytest

from model.checkpoints.shipped import CHECKPOINTS
from model.numbers import count_of, fixed, number, percent
from model.record.intervention import Intervention, PositionEdit
from model.trace.attention_map import AttentionKind
from model.trace.trace import Trace
from model.translate.translator import Translator, load
from viz.heads.view import HeadsView
from viz.inquiries.inquiry import Answer, Subject, quoted
from viz.inquiries.registry import INQUIRIES
from viz.service import session
from viz.service.jobs.removing import remove_heads
from viz.service.questions import ModelQuestion

TOY = CHECKPOINTS / "toy-reverse"
SENTENCE = "c i c e f h f a"


pytestmark = pytest.mark.usefixtures("no_process")


@pytest.fixture(scope="module")
def model() -> Translator:
    return load(TOY, device="cpu")


@pytest.fixture(scope="module")
def trace(model: Translator) -> Trace:
    return model.trace(SENTENCE)


def answer(key: str, question: ModelQuestion | None = None) -> Answer:
    subject = Subject(question or ModelQuestion(TOY, SENTENCE))
    assert INQUIRIES[key].fits(subject)
    return INQUIRIES[key].answer(subject)


@pytest.mark.parametrize(("key", "offset"), [("head-previous", -1), ("head-next", 1)])
def test_a_neighbour_s_head_has_the_largest_mean_of_its_diagonal(
    trace: Trace, key: str, offset: int
) -> None:
    found = {}
    for site, each in trace.maps.items():
        if site.kind is AttentionKind.CROSS or (offset > 0 and site.kind is AttentionKind.DECODER):
            continue
        for head, weights in enumerate(each.weights):
            found[str(site.kind), site.layer, head] = float(np.diagonal(weights, offset).mean())
    best = max(found, key=lambda place: found[place])
    told = answer(key)
    assert told.view == HeadsView(attention=best[0], layer=best[1], head=best[2])
    assert percent(found[best]) in told.sentence


def test_the_token_that_is_looked_at_most_has_the_largest_column(trace: Trace) -> None:
    every = np.concatenate([trace.maps[s].weights for s in trace.maps if s.kind == "cross"])
    shares = every.mean(axis=(0, 1))
    told = answer("most-looked-at").sentence
    token = trace.source.tokens[int(shares.argmax())].replace("▁", "")
    assert told.startswith(f"“{token}” gets {percent(float(shares.max()))} of")
    assert count_of(len(shares), "source token") in told


def test_a_repeated_token_s_weight_lies_on_its_other_places(trace: Trace) -> None:
    told = answer("head-repeats")
    site = next(
        s for s in trace.maps if (s.kind, s.layer) == (told.view.attention, told.view.layer)
    )
    seen = trace.maps[site]
    shares = []
    for row, token in enumerate(seen.queries.ids):
        others = [
            key
            for key, other in enumerate(seen.keys.ids)
            if other == token and key != row and seen.allowed[row, key]
        ]
        if others:
            shares.append(float(seen.weights[told.view.head, row, others].sum()))
    assert f"gives {percent(float(np.mean(shares)))} of its weight" in told.sentence


def test_twins_share_the_weight_that_both_put_on_a_cell(trace: Trace) -> None:
    told = answer("twins")
    one, other = (tuple(map(int, each.split("."))) for each in told.view.compare.split("-"))
    weights = [
        trace.attention(told.view.attention, layer).weights[head] for layer, head in (one, other)
    ]
    allowed = trace.attention(told.view.attention, one[0]).allowed
    rows = [row for row in range(len(allowed)) if allowed[row].sum() >= 2]
    shared = np.mean([np.minimum(weights[0][row], weights[1][row]).sum() for row in rows])
    assert f"{percent(float(shared))} of their weight" in told.sentence


def test_a_weight_is_computed_from_its_score(trace: Trace) -> None:
    told = answer("computed")
    seen = trace.attention(told.view.attention, told.view.layer)
    query, key = map(int, told.view.cell.split("."))
    assert seen.scores is not None
    assert f"score {fixed(float(seen.scores[told.view.head, query, key]), 2)}" in told.sentence
    row = np.where(seen.allowed[query], seen.scores[told.view.head, query], -np.inf)
    weight = float(np.exp(row[key]) / np.exp(row).sum())
    assert f"weight of {fixed(weight, 2)}" in told.sentence


def test_certainty_is_that_of_the_trace() -> None:
    sentence = "She is rich but he is poor."
    folder = CHECKPOINTS / "en-de"
    trace = load(folder, device="cpu").trace(sentence)
    assert trace.log_probs is not None
    question = ModelQuestion(folder, sentence)
    place = int(trace.log_probs[:-1].argmin())
    told = answer("hardest", question)
    assert told.view.at == place + 1
    assert percent(float(np.exp(trace.log_probs[place]))) in told.sentence
    whole = math.exp(float(trace.log_probs.sum()))
    assert percent(whole) in answer("how-sure", question).sentence
    assert percent(whole ** (1 / len(trace.log_probs))) in answer("how-sure", question).sentence


def test_a_typed_target_is_what_certainty_is_about(model: Translator) -> None:
    question = ModelQuestion(TOY, SENTENCE, "a f h f e c i i")
    trace = model.trace(SENTENCE, question.target)
    assert trace.log_probs is not None
    place = int(trace.log_probs[:-1].argmin())
    assert f"step {place + 1}:" in answer("hardest", question).sentence


def test_the_future_is_seen_where_all_of_the_target_is_given(model: Translator) -> None:
    trace = model.trace(SENTENCE)
    everything = np.ones((len(trace.target),) * 2, dtype=np.bool_)
    forced = model.trace(
        SENTENCE, trace.text, under=Intervention(masks={AttentionKind.DECODER: everything})
    )
    assert trace.log_probs is not None
    assert forced.log_probs is not None
    before, after = (number(float(each.sum())) for each in (trace.log_probs, forced.log_probs))
    assert answer("see-future").sentence.endswith(f"from {before} to {after}.")


@pytest.mark.parametrize(
    ("key", "under"),
    [
        ("no-positions", Intervention(positions=PositionEdit(scale=0))),
        ("shifted", Intervention(positions=PositionEdit(shift=1))),
        ("reversed", Intervention(source_order=tuple(reversed(range(8))))),
    ],
)
def test_what_would_be_written_is_what_the_model_writes(
    model: Translator, key: str, under: Intervention
) -> None:
    before, after = model.trace(SENTENCE).text, model.trace(SENTENCE, under=under).text
    told = answer(key).sentence
    assert ("stays the same" in told) == (before == after)
    assert before == after or (quoted(after) if after else "writes nothing") in told


def test_all_heads_of_a_kind_are_named_in_the_address(model: Translator) -> None:
    told = answer("no-cross")
    heads = [(site, head) for site in model.sites if site.kind == "cross" for head in range(4)]
    assert told.view.off == tuple(heads)
    after = model.trace(SENTENCE, under=Intervention(heads=dict.fromkeys(heads, 0))).text
    assert quoted(after) in told.sentence


def test_heads_that_can_go_leave_half_the_probability() -> None:
    question = ModelQuestion(TOY, SENTENCE)
    left = session.ask(remove_heads(question.record))
    told = answer("spared").sentence
    kept = [
        count
        for count, score in zip(left.removed, left.least_first, strict=True)
        if left.least_first[0] - score <= math.log(2)
    ]
    first = told.split()[0]
    assert first == "All" or int(first.replace("None", "0")) in kept


def test_what_the_model_cannot_tell_is_not_told() -> None:
    """A sentence of one word has too few sources, and no second place for any token."""
    subject = Subject(ModelQuestion(TOY, "c i"))
    assert not INQUIRIES["source"].fits(subject)
    assert not INQUIRIES["head-repeats"].fits(subject)
    assert not INQUIRIES["heads-came"].fits(subject)
    # Another sentence of the same model has them.
    assert INQUIRIES["head-repeats"].fits(replace(subject, question=ModelQuestion(TOY, SENTENCE)))


def test_a_model_that_writes_nothing_has_no_hardest_word() -> None:
    folder = CHECKPOINTS / "en-de-cheating"
    subject = Subject(ModelQuestion(folder, "The dog sleeps."))
    assert subject.trace.text == ""
    for key in ("hardest", "what-else", "matters-for-word", "depends-on", "see-future"):
        assert not INQUIRIES[key].fits(subject), key
