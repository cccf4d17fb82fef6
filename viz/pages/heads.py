"""Heads: every head of every layer at once, and any of them large, with its words and numbers."""

import html
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from model.checkpoints.shipped import CheckpointError
from model.explain.measures import EFFECT
from model.explain.reading import AS_RECORDED
from model.record.head_edits import Gate
from model.record.intervention import UNCHANGED, Intervention
from model.trace.attention_map import FloatArray, Site
from model.trace.head import Head
from viz.browser.envelope import content_id
from viz.browser.headline import without
from viz.browser.kept import Kept, nothing
from viz.browser.messages import message_of
from viz.browser.model_view import heads_view
from viz.corpus.view import VIEW as CORPUS
from viz.corpus.view import CorpusView
from viz.draw.labels import visible
from viz.effects.price import price_words
from viz.heads.view import KEYS, SELECTED, VIEW, HeadsView
from viz.links.head_refs import written_heads
from viz.model_page.payload import pack
from viz.model_page.view import VIEW as MODEL_PAGE
from viz.model_page.view import ModelPageView
from viz.pages.heads_below import WIDTH, show_below
from viz.pages.heads_place import bring_head, clamp_off, clamp_place, note_place
from viz.pages.heads_trace import BY_NAME, Prepared, prepare, selected_sites
from viz.pages.model_figure import asks_of, figure_of, key_of, open_asked
from viz.service import session
from viz.service.answers import price_of
from viz.service.jobs.removing import measure_effects
from viz.service.questions import ModelQuestion, Question
from viz.shell import address, current_head, hall, stage, tab_row
from viz.shell.answer import show_large
from viz.shell.fragments import fragment
from viz.shell.headline import headline_of
from viz.shell.polls import Asked

HEADS = KEYS("space")


_KNOWN: Kept[Mapping[str, Any] | None] = Kept(KEYS("known"), nothing)
"""The selection that the picture shows."""


_SENT: Kept[tuple[int, Mapping[str, Any] | None]] = Kept(KEYS("sent"), lambda: (0, None))
"""How many selections the picture was sent that it did not make itself, and the last of them."""


HEADS_STAY = "The pictures go on showing what every head does while all are on."


def on_selection() -> None:
    """Take over a selection from the picture."""
    selected = message_of(HEADS, "rested")
    if not isinstance(selected, Mapping):
        return
    WIDTH.value = selected.get("width")
    if is_stale(selected):
        return
    before = address.read(HeadsView)
    for name in SELECTED:
        with suppress(ValueError):
            address.change(**{name: BY_NAME[name].parse(str(selected.get(name)))})
    view = address.read(HeadsView)
    _KNOWN.value = view.selection
    if view.cell and view.cell != before.cell:
        address.change(below="query-key")


def in_corpus(question: Question) -> bool:
    """Whether what the heads of a model do over many sentences was surveyed."""
    with suppress(CheckpointError):
        return isinstance(question, ModelQuestion) and bool(
            session.corpus_survey(question.checkpoint)
        )
    return False


def open_corpus(prepared: Prepared) -> None:
    """Show what the selected head does over many sentences; call it in a callback."""
    sites, head = selected_sites(prepared, address.read(HeadsView))
    address.open_view(CORPUS, CorpusView(over="head", one=(Head(sites[0], head),)))


def open_model() -> None:
    """Show the selected head where it lies in the model; call it in a callback."""
    with suppress(ValueError):
        place = MODEL_PAGE.parameter("place").parse(str(message_of(HEADS, "model")))
        address.open_view(MODEL_PAGE, ModelPageView(place=place))


def is_stale(message: Mapping[str, Any]) -> bool:
    """Whether it is about the view before: a link, a scene or Back has come between."""
    epoch, _ = _SENT.value
    return message.get("epoch") != epoch or address.is_followed()


@fragment
def show_heads(question: Question) -> None:
    """The picture, and below it what belongs to its selection."""
    if address.is_navigating():
        # A fragment runs alone, and another page concerns the whole app.
        st.rerun()
    view = address.read(HeadsView)
    prepared = prepare(question, view.reading)
    epoch, sent = _SENT.value
    # Sent only what it does not know: a person's selection in it is drawn already.
    if view.selection != _KNOWN.value:
        _KNOWN.value = view.selection
        _SENT.value = epoch, sent = epoch + 1, view.selection
    losses = read_losses(question, view)
    figure, asked = figure_of(question), asks_of(question)
    payload = pack(
        replace(
            figure,
            # Without a model, no head can be switched off.
            effects=losses if isinstance(question, ModelQuestion) else None,
            pages=[each for each in figure.pages if each != VIEW.name],
        ),
        key=key_of(question),
        epoch=epoch,
        selection=sent,
        stage=stage.is_on(),
        asks=asked,
        # Without a model, what was recorded is all that can be asked.
        vectors=asked is None,
        in_corpus=in_corpus(question),
        gives=True,
        reading=None if prepared.reading == AS_RECORDED else (prepared.seen, prepared.facts),
    )
    # Always there: in another place, the picture would begin again with what was sent it last.
    with st.container(key=KEYS("row")):
        if not stage.is_on():
            # The picture draws over it what it changes without the server; Save is below it.
            with tab_row.tabs():
                pass
    with stage.picture():
        if stage.is_on() and view.off and isinstance(question, ModelQuestion):
            show_large(question)
        heads_view(
            payload,
            key=HEADS,
            on_open=partial(open_asked, HEADS),
            on_rested=on_selection,
            on_corpus=partial(open_corpus, prepared),
            on_model=open_model,
        )
    tell_without(question, view)
    if not stage.is_on():
        show_below(prepared, view, losses)
    note_place(question.name, view)
    sites, head = selected_sites(prepared, view)
    current_head.note(VIEW.name, [Head(site, head) for site in sites])
    hall.show(row_to_guess(prepared, view))
    address.write_address()
    shown = "/".join([content_id(payload), view.attention, str(view.layer), str(view.head)])
    # Tests and measurements wait for this.
    st.html(f'<span class="headscope-done" data-done="{html.escape(shown)}"></span>')


def row_to_guess(prepared: Prepared, view: HeadsView) -> Asked | None:
    """What the hall can be asked: the row of the selected weight, where one head is shown."""
    sites, head = selected_sites(prepared, view)
    if not view.cell or view.compare or len(sites) > 1:
        return None
    query, _ = view.cell.split(".")
    return hall.of_row(prepared.seen.maps[sites[0]], head, int(query))


def tell_without(question: Question, view: HeadsView) -> None:
    """Let the translation above become what the model writes without the heads switched off."""
    outcome: dict[str, Any] | None = None
    if view.off and isinstance(question, ModelQuestion):
        outcome = {"off": written_heads(view.off)}
        with session.refusals():
            outcome |= what_comes(question, view)
    without(outcome)


def what_comes(question: ModelQuestion, view: HeadsView) -> dict[str, Any]:
    """What the model writes without the heads, and what they cost, as the browser takes it."""
    under = Intervention(heads=dict.fromkeys(view.off, Gate(0)))
    before, after = (session.run(question, each) for each in (UNCHANGED, under))
    usual, left = before.forced.log_probs, after.forced.log_probs
    assert usual is not None, "every trace of a translator holds them"
    assert left is not None, "every trace of a translator holds them"
    more = [price_words(before.forced.predictions, usual, left), HEADS_STAY]
    free = after.free
    words = headline_of(free.text, free.predictions, free.log_probs)
    if question.target:
        more.insert(0, f"By itself, the model now writes “{visible(free.text)}”")
    elif free.text != before.free.text:
        more.insert(0, f"With all heads: “{visible(before.free.text)}”")
    return {
        "words": None if question.target else words.entries,
        "price": price_of(question, usual, left),
        "more": more,
    }


def read_losses(question: Question, view: HeadsView) -> Mapping[Site, FloatArray]:
    """What the translation loses without each head, if heads are ordered by it; else nothing."""
    losses: Mapping[Site, FloatArray] = {}
    if view.order == EFFECT.key and isinstance(question, ModelQuestion):
        # Without an answer, the heads stand in their usual order.
        with session.refusals():
            losses = session.ask(measure_effects(question.record)).of()
    return losses


def offer_keys(prepared: Prepared) -> None:
    """Offer the keys that do something on a stage."""
    keys = ["Arrow keys: layer and head", "V: lines"]
    if len(prepared.kinds) > 1:
        keys.append("A: attention")
    if isinstance(prepared.question, ModelQuestion):
        keys.append("X: switch the head off")
    if hall.is_there():
        keys.append(hall.KEY_HELP)
    stage.offer(" · ".join(keys))


def show(question: Question) -> None:
    """Everything, for a question that has an answer."""
    bring_head()
    prepared = prepare(question, address.read(HeadsView).reading)
    clamp_place(prepared)
    clamp_off(prepared)
    offer_keys(prepared)
    if HEADS not in st.session_state:
        # Another page was shown meanwhile, and this picture knows nothing yet.
        _KNOWN.value = None
    show_heads(question)
