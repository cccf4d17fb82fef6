"""Compare: two sentences, with parts of one put into the other, two models, or two searches."""

import functools
from collections.abc import Sequence
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
from viz.browser.exchange import exchange, handle_moves
from viz.compare.paired import PairedTraces
from viz.compare.parts import parts_of
from viz.compare.texts import runs_html
from viz.compare.tracing import TracedWord
from viz.compare.view import (
    KEYS,
    SHOWN,
    VERSUS,
    CompareView,
    Patches,
    by_part,
    listed,
    part_name,
)
from viz.compare.words import PatchedWords
from viz.draw.labels import axis_texts, escape_markdown
from viz.pages.compare_heads import on_stage, show_heads, toggle, written_patches
from viz.pages.compare_models import choose_model, models, show_models
from viz.pages.compare_searches import show_searches
from viz.registry.pages import SENTENCE
from viz.service import session
from viz.service.jobs.removing import put_in, restore_tokens
from viz.service.jobs.running import record
from viz.service.questions import OfModel
from viz.shell import address, opening, stage
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.widgets import hint, menu, row, segments
from viz.shell.width import is_narrow, watch_width

PUT_IN, TRACING = KEYS("put-in"), KEYS("tracing")


NO_SECOND = "Type a second sentence, or choose a pair: two sentences that differ in one thing."


MOST_TRACED = 60
"""With more tokens in a sentence, tracing would take minutes."""


def show(question: OfModel) -> None:
    """Everything, for a question that has an answer."""
    bring_pair(question)
    view = address.read(CompareView)
    if not stage.is_on():
        with row(at="bottom"):
            segments("Compare", VERSUS, key=KEYS("versus"))
            if view.versus == "model" and models(question):
                choose_model(question)
    if view.versus == "search":
        show_searches(question)
    # A typed translation is of the first sentence alone, and in the first model's words.
    elif view.versus == "model":
        show_models(replace(question, target=""))
    else:
        show_sentences(replace(question, target=""), view)
    watch_width()


def bring_pair(question: OfModel) -> None:
    """Let the page open with the second sentence of a pair whose first one is asked."""
    second = dict(opening.pairs_for(question.checkpoint)).get(question.sentence)
    if second and address.is_plain() and not address.read(CompareView).other:
        opening.bring(other=second)


def show_sentences(question: OfModel, view: CompareView) -> None:
    """Both sentences, and what parts of the second do in the first."""
    if not stage.is_on():
        choose_sentence(question, view)
        view = address.read(CompareView)
    other = view.other.strip()
    if not other:
        hint(NO_SECOND)
        return
    pair = paired(session.ask(question.record), session.ask(record(question.version, other)))
    model = session.translator(question.checkpoint)
    keep_known(view, model, pair)
    view = address.read(CompareView)
    asked = question.version, question.sentence, question.target, other
    patched = session.ask(put_in(*asked, _parts(view.patches)))
    names = part_names(view.patches, pair)
    if not stage.is_on():
        show_texts(patched, 0, 2)
        config = model.model.config
        layers: dict[Side, int] = {
            "encoder": config.n_encoder_layers,
            "decoder": config.n_decoder_layers,
        }
        exchange(
            parts_of(pair, view.patches, names, layers),
            key=PUT_IN,
            on_moves=partial(handle_moves, PUT_IN, toggle),
        )
        if names:
            show_texts(patched, 2, 3, names)
        with row(at="bottom"):
            segments("View", SHOWN, key=KEYS("shown"))
            if view.shown == "layers":
                choose_word(patched)
    if view.shown == "layers":
        show_layers(question, view, model, patched, names)
    else:
        show_heads(pair, view)
    if names and not stage.is_on():
        show_picture(PatchedWords(patched, view.patched), KEYS("words"))


def choose_sentence(question: OfModel, view: CompareView) -> None:
    """The second sentence: typed, chosen with its first, or the two exchanged."""
    with row(at="bottom"):
        # On a phone in a line of its own.
        width: Any = 340 if is_narrow() else "stretch"
        st.text_input("Second sentence", view.other, key=KEYS("other"), width=width)
        st.menu_button(
            "Pairs",
            opening.pairs_for(question.checkpoint),
            key=KEYS("pairs"),
            icon=":material/lightbulb:",
            format_func=lambda pair: f"{escape_markdown(pair[0])} · {escape_markdown(pair[1])}",
            on_click=take_pair,
        )
        st.button(
            "Swap",
            icon=":material/swap_vert:",
            key=KEYS("swap"),
            on_click=swap,
            disabled=not view.other.strip(),
        )


def take_pair() -> None:
    """Show the chosen pair."""
    first, second = st.session_state[KEYS("pairs")]
    address.change(sentence=first, other=second, target="", patched="", pair_head="", traced=0)


def swap() -> None:
    """Exchange both sentences."""
    address.change(
        sentence=address.read(CompareView).other,
        other=address.now(SENTENCE),
        target="",
        patched="",
    )


def show_texts(patched: Patched, since: int, until: int, names: Sequence[str] = ()) -> None:
    """Sentences with their translations: the first, the second, and the first with parts put in."""
    name = f"First sentence, with {listed(names)} from the second" if names else ""
    runs = [
        ("First sentence", patched.sentence, patched.text),
        ("Second sentence", patched.other, patched.other_text),
        (name, patched.sentence, patched.patched_text),
    ]
    st.html(runs_html(runs[:until], dark=is_dark(), since=since))


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
    """Whether a part can be put in."""
    part, token = patch
    if not isinstance(part, Stream):
        return part in pair.heads
    config = model.model.config
    layers = config.n_encoder_layers if part.side == "encoder" else config.n_decoder_layers
    if isinstance(part.stage, int) and part.stage >= layers:
        return False
    if token is None:
        return True
    if side_of(part) == "encoder":
        return token in dict(pair.source)
    return token < len(pair.second.target)


def part_names(patches: Patches, pair: PairedTraces) -> list[str]:
    """What is put in, in words."""
    source, target = axis_texts(pair.first.source), axis_texts(pair.second.target)
    return [part_name(part, token, source, target) for part, token in patches]


def _parts(patches: Patches) -> tuple[Any, ...]:
    return tuple(
        (part, None if places is None else tuple(places))
        for part, places in by_part(patches).items()
    )


def choose_word(patched: Patched) -> None:
    """The word whose probability is traced."""
    texts = axis_texts(patched.predictions)
    if address.read(CompareView).traced > len(texts):
        address.change(traced=0)
    names = {0: "The word that differs most"}
    names |= dict(enumerate(texts, start=1))
    menu("Word", names, key=KEYS("traced"), width=230)


def show_layers(
    question: OfModel,
    view: CompareView,
    model: Translator,
    patched: Patched,
    names: Sequence[str],
) -> None:
    """What each token's hidden states after each layer restore."""
    if max(len(patched.source), len(patched.predictions)) > MOST_TRACED:
        hint(f"Tracing takes sentences of up to {MOST_TRACED} tokens; shorten them.")
        return
    trace = causal_trace(question, view.other.strip(), model, patched)
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


def causal_trace(question: OfModel, other: str, model: Translator, patched: Patched) -> CausalTrace:
    """The trace of both sentences, computed stage by stage."""
    found = {}
    stages = streams(model.model)
    slot = st.empty()
    for number, stream in enumerate(stages):
        slot.progress(number / len(stages), "Putting in one token at a time…")
        asked = question.version, question.sentence, question.target, other
        found[stream] = session.ask(restore_tokens(*asked, stream))
    slot.empty()
    return traced(patched, session.ask(record(question.version, other)).target, found)
