"""Two sentences: the part of the comparing page that puts parts of the second into the first."""

import functools
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from model.patching.causal_trace import streams, traced
from model.patching.results import CausalTrace, Patched
from model.record.patches import Side, Stream, side_of
from model.trace.trace import Trace
from model.translate.translator import Translator
from viz.browser.clicks import clicks, handle_clicks
from viz.compare.paired import PairedTraces
from viz.compare.parts import parts_of
from viz.compare.tracing import TracedWord
from viz.compare.view import KEYS, SHOWN, CompareView, Patches, by_part, listed, part_name
from viz.compare.words import PatchedWords
from viz.draw.labels import axis_texts, escape_markdown
from viz.pages.compare_heads import (
    WRITTEN,
    heads_on_stage,
    on_stage,
    show_heads,
    show_parts_to_put,
    toggle,
    written_patches,
)
from viz.registry.pages import SENTENCE
from viz.service import session
from viz.service.jobs.removing import put_in, restore_tokens
from viz.service.jobs.running import record
from viz.service.questions import ModelQuestion
from viz.shell import address, opening, stage
from viz.shell.save_menu import show_picture
from viz.shell.widgets import hint, menu, segments
from viz.shell.width import is_narrow

TRACING = KEYS("tracing")

NO_SECOND = "Type a second sentence, or choose a pair: two sentences that differ in one thing."

MOST_OWN = 3
"""How many pairs with the visitor's own sentence the menu offers."""

MOST_TRACED = 60
"""With more tokens in a sentence, tracing would take minutes."""


def choose_sentence(question: ModelQuestion) -> None:
    # On a phone in a line of its own.
    st.text_input(
        "Second sentence",
        address.read(CompareView).other,
        key=KEYS("other"),
        label_visibility="collapsed",
        placeholder="Second sentence",
        width=340 if is_narrow() else 460,
    )
    # A model that reads neither English nor the sentences of its folder has none.
    own = opening.own_pairs(question)[:MOST_OWN]
    if pairs := dict.fromkeys([*own, *opening.pairs_for(question.checkpoint)]):
        st.menu_button(
            "Pairs",
            list(pairs),
            key=KEYS("pairs"),
            type="tertiary",
            format_func=lambda pair: escape_markdown(pair[1] if pair in own else " · ".join(pair)),
            on_click=take_pair,
        )


def take_pair() -> None:
    first, second = st.session_state[KEYS("pairs")]
    address.change(sentence=first, other=second, target="", patched="", pair_head="", traced=0)


def swap() -> None:
    address.change(
        sentence=address.read(CompareView).other,
        other=address.now(SENTENCE),
        target="",
        patched="",
    )


def choose_view(_question: ModelQuestion) -> None:
    """Whether heads are shown, or layers and tokens; and which sentence is the first."""
    segments("View", SHOWN, key=KEYS("shown"), hides_label=False)
    st.button(
        "Swap the sentences",
        icon=":material/swap_vert:",
        key=KEYS("swap"),
        on_click=swap,
        disabled=not address.read(CompareView).other.strip(),
    )


def runs_of(question: ModelQuestion) -> tuple[PairedTraces, Patched] | None:
    """Both runs, and the first with what is put in; None without a second sentence."""
    other = address.read(CompareView).other.strip()
    if not other:
        hint(NO_SECOND)
        return None
    pair = paired(session.ask(question.record), session.ask(record(question.version, other)))
    keep_known(address.read(CompareView), session.translator(question.checkpoint), pair)
    parts = tuple(
        (part, None if places is None else tuple(places))
        for part, places in by_part(address.read(CompareView).patches).items()
    )
    asked = question.version, question.sentence, question.target, other
    return pair, session.ask(put_in(*asked, parts))


def show_sentences(question: ModelQuestion) -> None:
    """Both translations, what differs inside, and what parts of the second do in the first."""
    # A typed translation is of the first sentence alone.
    question = replace(question, target="")
    runs = runs_of(question)
    if runs is None:
        return
    pair, patched = runs
    view = address.read(CompareView)
    names = part_names(view.patches, pair)
    lines = [(WRITTEN, patched.text, patched.other_text)]
    if names:
        name = f"First, with {listed(names)} from the second"
        lines.append((name, patched.text, patched.patched_text))
    put = list(zip(map(_written, view.patches), names, strict=True))
    if view.shown == "layers":
        show_layers(question, view, patched)
        layers = layers_of(session.translator(question.checkpoint))
        show_parts_to_put(pair, lines, parts_of(pair, layers), put)
    else:
        show_heads(pair, view, lines=lines, put=put)
    if names:
        show_picture(PatchedWords(patched, view.patched), KEYS("words"))


def _written(patch: Any) -> str:
    return written_patches((patch,))


def show_sentences_on_stage(question: ModelQuestion) -> None:
    """How every head differs, or what tokens after a layer restore."""
    question = replace(question, target="")
    runs = runs_of(question)
    if runs is None:
        return
    view = address.read(CompareView)
    if view.shown == "layers":
        show_layers(question, view, runs[1])
    else:
        heads_on_stage(runs[0], view)


@functools.lru_cache(maxsize=8)
def paired(first: Trace, second: Trace) -> PairedTraces:
    """Both traces with their tokens aligned."""
    return PairedTraces(first, second)


def keep_known(view: CompareView, model: Translator, pair: PairedTraces) -> None:
    """Remove what neither the model nor the sentences have from the address, with a notice."""
    if view.head is not None and view.head not in pair.heads:
        address.note(
            "pair_head", "This model has no such head; the one that differs most is shown."
        )
        address.change(pair_head="")
    known = tuple(each for each in view.patches if is_known(each, model, pair))
    if len(known) < len(view.patches):
        address.note("patched", "The address puts in a part that is not there; it is left out.")
        address.change(patched=written_patches(known))


def is_known(patch: Any, model: Translator, pair: PairedTraces) -> bool:
    part, token = patch
    if not isinstance(part, Stream):
        return part in pair.heads
    if isinstance(part.stage, int) and part.stage >= layers_of(model)[part.side]:
        return False
    if token is None:
        return True
    if side_of(part) == "encoder":
        return token in dict(pair.source)
    return token < len(pair.second.target)


def layers_of(model: Translator) -> dict[Side, int]:
    config = model.model.config
    return {"encoder": config.n_encoder_layers, "decoder": config.n_decoder_layers}


def part_names(patches: Patches, pair: PairedTraces) -> list[str]:
    source, target = axis_texts(pair.first.source), axis_texts(pair.second.target)
    return [part_name(part, token, source, target) for part, token in patches]


def choose_word(patched: Patched) -> None:
    """The word whose probability is traced."""
    texts = axis_texts(patched.predictions)
    if address.read(CompareView).traced > len(texts):
        address.change(traced=0)
    names = {0: "The word that differs most"}
    names |= dict(enumerate(texts, start=1))
    menu("Word", names, key=KEYS("traced"), hides_label=True, width=260)


def show_layers(question: ModelQuestion, view: CompareView, patched: Patched) -> None:
    """What each token's hidden states after each layer restore."""
    if max(len(patched.source), len(patched.predictions)) > MOST_TRACED:
        hint(f"Tracing takes sentences of up to {MOST_TRACED} tokens; shorten them.")
        return
    trace = causal_trace(question, view.other.strip(), patched)
    token = view.traced - 1 if 0 < view.traced <= len(trace.predictions) else None
    marked = tuple(
        (part.side, part.stage, place)
        for part, place in view.patches
        if isinstance(part, Stream) and place is not None
    )
    picture = TracedWord(trace, token, marked)
    if stage.is_on():
        words = range(len(trace.predictions) + 1)
        stage.offer("Up and down: word", down=stage.Step(KEYS("traced"), words, view.traced))
        on_stage(picture, TRACING, picture.brief)
        return
    show_picture(picture, TRACING, after=" Click a cell to put it in.", drawn=picture)
    clicks(TRACING, on_clicks=partial(handle_clicks, TRACING, toggle))
    choose_word(patched)


def causal_trace(question: ModelQuestion, other: str, patched: Patched) -> CausalTrace:
    found = {}
    stages = streams(session.translator(question.checkpoint).model)
    slot = st.empty()
    for number, stream in enumerate(stages):
        slot.progress(number / len(stages), "Putting in one token at a time…")
        asked = question.version, question.sentence, question.target, other
        found[stream] = session.ask(restore_tokens(*asked, stream))
    slot.empty()
    return traced(patched, session.ask(record(question.version, other)).target, found)
