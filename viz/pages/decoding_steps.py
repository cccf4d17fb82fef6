"""The steps of a decoding, played one after another."""

import hashlib
from functools import partial

import streamlit as st

from model.paper.search import Search
from model.trace.attention_map import AttentionKind
from viz.browser.kept import Kept, nothing
from viz.browser.messages import message_of
from viz.browser.steps import read_shown, read_taken, steps
from viz.decoding.attention import head_mean
from viz.decoding.payload import pack
from viz.decoding.steps import OneStep
from viz.decoding.view import KEYS, STEP_KINDS, DecodingView
from viz.pages.decoded import Shown
from viz.pages.decoding_forced_words import show_beginning
from viz.service.questions import ModelQuestion
from viz.service.results import Decoded
from viz.shell import address, stage
from viz.shell.head_picker import choose_heads
from viz.shell.save_menu import save_button

PLAYER = KEYS("player")

_SHOWN: Kept[int | None] = Kept(KEYS("shown"), nothing)
_SENT = Kept(KEYS("sent"), int)
"""The step that the browser shows; how many steps it was sent that it did not choose itself."""


def name_of(question: ModelQuestion, view: DecodingView, search: Search) -> str:
    """A name for a decoding, by which the browser's messages are matched to it."""
    written = repr((question, search, view.changes)).encode()
    return hashlib.blake2b(written, digest_size=8).hexdigest()


def on_shown(name: str, count: int) -> None:
    """Keep the step at which the browser came to rest."""
    step = read_shown(message_of(PLAYER, "shown"), name, count)
    if step is not None and not address.is_followed():
        _SHOWN.value = step
        address.change(at=step + 1)


def on_taken(name: str, decoded: Decoded) -> None:
    """Continue from another token."""
    decoding = decoded.decoding
    counts = [len(step.likeliest) for step in decoding.steps]
    choice = read_taken(message_of(PLAYER, "taken"), name, counts)
    if choice is None or address.is_followed():
        return
    step, place = choice
    token_id = decoding.steps[step].likeliest.ids[place]
    view = address.read(DecodingView)
    address.change(
        taken=view.and_taken(step, [token_id], decoding.translation.token_ids), at=step + 1
    )


def show_steps(asked: Shown) -> None:
    """The steps, with the likeliest tokens of each beside it."""
    question, view, search, decoded = asked.question, asked.view, asked.search, asked.decoded
    decoding, trace = decoded.decoding, decoded.trace
    picture = OneStep(decoding, trace, search, view.step, view.heads, view.changes)
    if PLAYER not in st.session_state or _SHOWN.value != view.step:
        _SENT.value += 1
        _SHOWN.value = view.step
    name = name_of(question, view, search)
    steps(
        pack(
            decoding,
            trace.target,
            head_mean(trace, AttentionKind.CROSS, view.heads),
            head_mean(trace, AttentionKind.DECODER, view.heads),
            name=name,
            epoch=_SENT.value,
            step=view.step,
            stage=stage.is_on(),
        ),
        key=PLAYER,
        on_shown=partial(on_shown, name, len(decoding.steps)),
        on_taken=partial(on_taken, name, decoded),
    )
    if stage.is_on():
        # The foot would give away the end.
        stage.name(question.sentence, "")
        stage.offer("Arrow keys: step · K: play")
        return
    save_button([picture], KEYS("step"))


def show_step_options(asked: Shown) -> None:
    """Fields for the beginning of the translation, and for the heads that are shown."""
    show_beginning(asked.question)
    show_heads(asked)


def show_heads(asked: Shown) -> None:
    """A field for the heads whose attention is shown."""
    choose_heads(
        "Heads whose attention is shown",
        {
            str(head): head.short_name
            for kind in STEP_KINDS
            for head in asked.decoded.trace.heads
            if head.site.kind is kind
        },
        asked.view.heads,
        key=KEYS("step-heads"),
        parameter="heads",
        placeholder="The mean of all heads; choose some to see only these",
    )
