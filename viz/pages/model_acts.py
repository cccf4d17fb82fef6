"""The acts of the first page: what they are made of, and where they are shown."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from model.checkpoints.checkpoint import language_pair, snapshots
from model.contrast.results import HeadSet
from model.patching.causal_trace import streams, traced
from model.patching.results import CausalTrace, Patched
from viz.acts.act import Act, n_changed
from viz.acts.grow import grown
from viz.acts.minds import RANDOM_ORDERS, close_words, divided, strongest_first
from viz.acts.swap import MOST_TRIED, crossing, swapped
from viz.browser.act import act as act_view
from viz.draw.constants import CONSTANTS
from viz.model_page.view import ACTS, VIEW
from viz.service import session
from viz.service.jobs.contrasting import contrast_words, darken_heads, find_head_set
from viz.service.jobs.removing import put_in, restore_tokens
from viz.service.jobs.running import record, translate
from viz.service.model_menu import checkpoints, copies
from viz.service.questions import ModelQuestion, Question
from viz.service.versions import snapshot_of, version_of
from viz.shell import address, opening, stage
from viz.shell.save_menu import captioned
from viz.shell.widgets import hint

KEYS = VIEW.keys

MOST_PAIRS: int = CONSTANTS["ACTS"]["MOST_PAIRS"]
"""Pairs of words that are tried until heads decide between two."""

MOST_TOKENS: int = CONSTANTS["ACTS"]["MOST_TOKENS"]
"""Tokens of a sentence, at most: with more, an act would take minutes to be made."""


Make = Callable[[ModelQuestion], Act]

_ACTS: dict[str, tuple[Callable[[ModelQuestion], bool], Make]] = {}
"""Where there may be each act, and what makes it."""


class NoAct(Exception):
    """What there is no act of; the message says so in a sentence."""


def an_act(
    name: str, may_be: Callable[[ModelQuestion], bool] = lambda _: True
) -> Callable[[Make], Make]:
    """Enter what makes an act.

    Args:
        name: in `ACTS`.
        may_be: whether there may be one of a question; this has to cost next to nothing.
    """

    def enter(make: Make) -> Make:
        _ACTS[name] = may_be, make
        return make

    return enter


def acts_of(question: Question) -> tuple[str, ...]:
    """The acts that there may be of a sentence."""
    if not isinstance(question, ModelQuestion) or copies(question.folder):
        return ()
    return tuple(name for name in ACTS if _ACTS[name][0](question))


def grower_of(question: ModelQuestion) -> ModelQuestion | None:
    """The question to a model that kept its training: the same one, or one of its languages."""
    pair = language_pair(question.folder.name)
    for folder in (question.folder, *checkpoints().values()):
        is_alike = folder == question.folder or (pair[0] and language_pair(folder.name) == pair)
        if is_alike and len(snapshots(folder)) > 1:
            return ModelQuestion(folder, question.sentence)
    return None


def show_act(question: ModelQuestion, name: str) -> None:
    """One act instead of the model, with buttons for the others and for the way back."""
    if not stage.is_on():
        _show_ways(question, name)
    try:
        made = _made(question, name)
    except NoAct as without:
        hint(str(without))
        return
    with stage.picture():
        key = f"{name} {question.folder} {question.sentence}"
        act_view(made.pack(key=key, stage=stage.is_on()), key=KEYS("act"))
    if stage.is_on():
        stage.say(made.title)
        stage.offer("Left and right: step · K: play")
        return
    captioned(made.caption, [made], KEYS("act"))


def _show_ways(question: ModelQuestion, name: str) -> None:
    with st.container(horizontal=True, gap="small", key=KEYS("acts")):
        for each in acts_of(question):
            st.button(
                ACTS[each],
                key=KEYS("act", each),
                type="tertiary",
                disabled=each == name,
                on_click=address.change,
                kwargs={"act": each},
            )
        st.button(
            "Back to the model",
            key=KEYS("act-back"),
            type="tertiary",
            icon=":material/arrow_back:",
            on_click=address.change,
            kwargs={"act": ""},
        )


def _made(question: ModelQuestion, name: str) -> Act:
    if name not in acts_of(question):
        raise NoAct(f"“{ACTS[name]}” needs a model that this one is not; choose another model.")
    trace = session.ask(record(question.version, question.sentence))
    if max(len(trace.source), len(trace.target)) > MOST_TOKENS:
        raise NoAct(f"Acts take sentences of up to {MOST_TOKENS} tokens; shorten this one.")
    return _ACTS[name][1](question)


@an_act("grow", lambda question: grower_of(question) is not None)
def _grow(question: ModelQuestion) -> Act:
    grower = grower_of(question)
    assert grower is not None, "it was asked whether there is one"
    steps = snapshots(grower.folder)
    last = version_of(grower.checkpoint)
    final = session.ask(translate(last, question.sentence)).translation.text
    versions = [version_of(snapshot_of(grower.folder, step)) for step in steps]
    written = [
        session.ask(translate(each, question.sentence)).translation.text for each in versions
    ]
    traces = [session.ask(record(each, question.sentence, final)) for each in versions]
    return grown(steps, written, traces, grower.name)


@an_act("minds")
def _minds(question: ModelQuestion) -> Act:
    alone = ModelQuestion(question.checkpoint, question.sentence, snapshot=question.snapshot)
    trace, blocks = session.ask(alone.record), session.ask(alone.read_blocks)
    for place, other in close_words(trace, blocks)[:MOST_PAIRS]:
        found: HeadSet = session.ask(find_head_set(alone.record, place, other, "remove"))
        if not found.decides or not found.heads:
            continue
        contrast = session.ask(contrast_words(alone.record, place, other))
        heads = strongest_first(found, contrast)
        log_probs = session.ask(darken_heads(alone.record, place, other, heads, RANDOM_ORDERS))
        return divided(trace, contrast, place, heads, log_probs)
    raise NoAct(
        "In this translation no other word comes close enough for heads to decide. Try "
        "“My sister lost his keys.”"
    )


@an_act("swap", lambda question: bool(opening.pairs_for(question.checkpoint)))
def _swap(question: ModelQuestion) -> Act:
    d_model = session.translator(question.checkpoint).model.config.d_model
    made = None
    for first, second in _others(question):
        trace, row, runs = _crossed(question, first, second)
        arrives = runs.patched_text == runs.other_text
        if made is None or arrives:
            made = swapped(trace, runs, row, d_model, question.provenance)
        if arrives:
            break
    if made is None:
        raise NoAct("No sentence was found that differs in one word and has another translation.")
    return made


def _others(question: ModelQuestion) -> list[tuple[str, str]]:
    """Pairs that differ in one word and in their translations, the most different first.

    Where the visitor's sentence has none, pairs that come with the model.
    """

    def differing(first: str, second: str) -> int:
        one, other = (
            session.ask(translate(question.version, each)).translation.text
            for each in (first, second)
        )
        return n_changed(one, other)

    own, listed = opening.own_pairs(question), opening.pairs_for(question.checkpoint)
    for pairs in (own[:MOST_TRIED], listed[:1]):
        counts = {pair: differing(*pair) for pair in pairs}
        if found := [pair for pair in pairs if counts[pair]]:
            return sorted(found, key=lambda pair: -counts[pair])
    return []


def _crossed(question: ModelQuestion, first: str, second: str) -> tuple[CausalTrace, int, Patched]:
    """The highest layer of the encoder of which one state brings the other translation.

    Where none brings all of it, the one that brings its most telling word nearest.
    """
    runs = session.ask(put_in(question.version, first, "", second))
    stages = [
        each
        for each in streams(session.translator(question.checkpoint).model)
        if each.side == "encoder"
    ]
    rows = {
        each: session.ask(restore_tokens(question.version, first, "", second, each))
        for each in stages
    }
    trace = traced(runs, session.ask(record(question.version, second)).target, rows)
    tried = []
    for row in reversed(range(len(stages))):
        part = stages[row], (crossing(trace, row),)
        tried.append((row, session.ask(put_in(question.version, first, "", second, (part,)))))
        if tried[-1][1].patched_text == runs.other_text:
            return trace, *tried[-1]
    return trace, *max(tried, key=lambda each: float(each[1].patched_log_probs[trace.telling]))
