"""One word against another: the part of the effects page that speaks of their difference."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from model.contrast.head_sets import RANDOM_SETS
from model.contrast.pairs import least_certain, spelled
from model.contrast.results import Question
from model.record.intervention import Intervention
from model.trace.attention_map import FloatArray, Tokens
from model.trace.head import Head
from model.trace.trace import Trace
from viz.browser.clicks import clicks, handle_clicks
from viz.browser.kept import Kept
from viz.draw.labels import escape_markdown, token_text
from viz.draw.word_diff import change_line
from viz.effects.contrasted import probability, quoted, standing
from viz.effects.deciding_heads import DecidingHeads
from viz.effects.logit_waterfall import LogitWaterfall
from viz.effects.path_graph import PathGraph
from viz.effects.two_words import WordsWithoutTokens
from viz.effects.view import AGAINST, KEYS, MOST_WORD, QUESTIONS, EffectsView
from viz.heads.view import VIEW as HEADS
from viz.heads.view import HeadsView
from viz.links.head_refs import named_heads
from viz.pages.effects_asked import Asked
from viz.save.picture import Picture
from viz.service import session
from viz.service.jobs.contrasting import (
    add_terms,
    find_head_set,
    find_paths,
    list_rivals,
    try_random_sets,
)
from viz.service.questions import OfModel
from viz.shell import address, stage
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.widgets import brief, menu, row, segments
from viz.shell.width import is_narrow

FIELD = KEYS("other-word")
"""The key of the field for the other word; the address has it as a text."""

WHY_NOT = "Why not another word?"
"""The field's label, and what it shows without another word."""

_ANEW = Kept(KEYS("anew"), bool)
"""Whether a target token waits for another word of its own."""

TOGETHER = 50
"""Random sets of one job: whoever leaves ends the rest."""

AGAIN = "Click a bar to open its head."


def open_pair(question: OfModel, view: EffectsView, trace: Trace) -> EffectsView:
    """The view with both words: where one is missing, the least certain, or the next likeliest."""
    anew = _ANEW.take()
    if not view.is_against and not anew:
        return view
    if not view.token:
        address.change(token=least_certain(trace) + 1)
    if view.show not in AGAINST:
        address.change(show="probability")
    if not view.instead:
        place = address.read(EffectsView).place
        address.change(instead=others(question, place, trace.predictions)[0][0])
    return address.read(EffectsView)


def others(question: OfModel, place: int | None, predictions: Tokens) -> list[tuple[str, str]]:
    """The likeliest other tokens in one place: as the address spells them, and for people."""
    assert place is not None, "the view has a target token"
    found = session.ask(list_rivals(question.record, place))
    listed = {
        spelled(piece): f"{token_text(piece)} {probability(float(np.log(share)))}"
        for piece, token, share in reversed(
            list(zip(found.tokens.tokens, found.tokens.ids, found.probabilities, strict=True))
        )
        if token != predictions.ids[place]
    }
    return list(listed.items())[::-1]


@contextmanager
def above_words(asked: Asked) -> Iterator[DeltaGenerator]:
    """A picture, shown within, above the choice of its words; gives the place beside that."""
    above = st.container()
    # These come first: what is typed may be no word, and is then to be changed.
    with row():
        with st.popover(_chosen(asked), icon=":material/compare_arrows:", key=KEYS("words-of")):
            choose_token(asked)
            if asked.view.token:
                choose_other(asked)
            else:
                st.button(WHY_NOT, key=KEYS("why-not"), on_click=ask_why_not)
        beside = st.container()
    with above:
        yield beside


def _chosen(asked: Asked) -> str:
    """The words of the picture, as its button has them."""
    view = asked.view
    if not view.token:
        return "Choose a word"
    word = escape_markdown(quoted(asked.token_names[view.token]))
    return f"{word}, not {escape_markdown(quoted(view.instead))}" if view.instead else word


def choose_token(asked: Asked) -> None:
    """The field for the target token."""
    menu(
        "Target token",
        enumerate(asked.token_names),
        key=KEYS("token"),
        hides_label=True,
        width=230,
        on_change=change_token,
    )


def choose_other(asked: Asked) -> None:
    """The field for the other word: one of the likeliest, or typed."""
    view = asked.view
    # With an empty choice, a slow browser could send it for a word that it has not heard of.
    names = {"": WHY_NOT} | dict(others(asked.question, view.place, asked.trace.predictions))
    names.setdefault(view.instead, view.instead)
    st.session_state[FIELD] = view.instead
    st.selectbox(
        WHY_NOT,
        list(names),
        list(names).index(view.instead),
        key=FIELD,
        format_func=lambda word: names.get(word, word),
        label_visibility="collapsed",
        accept_new_options=True,
        on_change=_keep_other,
        width=290,
    )


def _keep_other() -> None:
    word = st.session_state[FIELD].strip()[:MOST_WORD]
    address.change(instead=word)
    if not word and address.read(EffectsView).is_against:
        address.change(show="probability")


def ask_why_not() -> None:
    """Hold the word of which the model was least sure against the next likeliest."""
    _ANEW.value = True


def change_token() -> None:
    """Let another target token be held against its own next likeliest."""
    if address.read(EffectsView).instead:
        address.change(instead="")
        _ANEW.value = bool(address.read(EffectsView).token)


def tokens_picture(asked: Asked) -> WordsWithoutTokens:
    """Both words without each source token."""
    return WordsWithoutTokens(asked.contrast, *asked.pair, target=asked.question.target)


def sum_picture(asked: Asked) -> LogitWaterfall:
    """What adds up to the difference."""
    terms = session.ask(add_terms(asked.question.record, *asked.pair))
    return LogitWaterfall(asked.contrast, *asked.pair, terms, target=asked.question.target)


def paths_picture(asked: Asked) -> PathGraph:
    """The ways to the word."""
    question = asked.question
    ways = session.ask(find_paths(question.record, *asked.pair))
    return PathGraph(asked.contrast, *asked.pair, ways, question.model_name, target=question.target)


def set_picture(asked: Asked) -> DecidingHeads:
    """The fewest heads that decide, with random sets as large; its making can be stopped."""
    question, contrast, pair = asked.question, asked.contrast, asked.pair
    decide: Question = "keep" if asked.view.decide == "keep" else "remove"
    slot = st.empty()
    with slot.container(horizontal=True, vertical_alignment="center"):
        progress = st.progress(0.0, "Looking for the fewest heads…")
        st.button(
            "Stop",
            key=KEYS("set-stop"),
            type="tertiary",
            on_click=address.change,
            kwargs={"show": "probability"},
        )
    found = session.ask(find_head_set(question.record, *pair, decide))
    parts: list[FloatArray] = []
    size = len(found.heads)
    for start in range(0, RANDOM_SETS, TOGETHER) if found.decides and size else ():
        progress.progress(
            0.4 + 0.6 * start / RANDOM_SETS, f"{start} of {RANDOM_SETS} random sets tried…"
        )
        numbers = range(start, min(start + TOGETHER, RANDOM_SETS))
        parts.append(session.ask(try_random_sets(question.record, *pair, decide, size, numbers)))
    slot.empty()
    random = np.concatenate(parts) if parts else np.empty((0, 3), np.float32)
    return DecidingHeads(
        contrast, *pair, found, random, question.model_name, target=question.target
    )


def show_tokens(asked: Asked) -> None:
    """Both words without each source token."""
    with above_words(asked) as beside:
        picture = tokens_picture(asked)
        show_picture(picture, KEYS("tokens"))
        beside.markdown(escape_markdown(standing(asked.contrast)))
    brief([*map(escape_markdown, picture.sentences)], KEYS("contrast-tokens"))


def show_sum(asked: Asked) -> None:
    """What adds up to the difference."""
    with above_words(asked) as beside:
        picture = sum_picture(asked)
        show_picture(picture, KEYS("sum"), after=f" {AGAIN}")
        _open_clicked(KEYS("sum"))
        beside.markdown(escape_markdown(standing(asked.contrast)))
    brief([escape_markdown(picture.sentence)], KEYS("contrast-sum"))


def show_paths(asked: Asked) -> None:
    """The ways to the word."""
    with above_words(asked) as beside:
        show_picture(paths_picture(asked), KEYS("paths"))
        _open_clicked(KEYS("paths"))
        beside.markdown(escape_markdown(standing(asked.contrast)))


def choose_question(asked: Asked) -> None:
    """What is asked of the fewest heads."""
    segments("What happens to the heads", QUESTIONS, key=KEYS("decide"), hides_label=False)


def show_set(asked: Asked) -> None:
    """The fewest heads that decide, and what the model writes without them."""
    with above_words(asked) as beside:
        picture = set_picture(asked)
        if len(picture.random):
            show_picture(picture, KEYS("set"))
            if picture.removes:
                st.html(without_html(asked.question, picture.found.heads))
        beside.markdown(escape_markdown(standing(asked.contrast)))
    first, *rest = picture.sentences
    if not len(picture.random):
        st.markdown(escape_markdown(first))
        return
    st.markdown(escape_markdown(" ".join([first, *rest, picture.listed])))
    if picture.removes:
        st.button(
            "Switch these heads off",
            icon=":material/toggle_off:",
            key=KEYS("set-off"),
            on_click=address.change,
            kwargs={
                **{"off": picture.found.heads, "way": "gate", "gate": 0},
                "show": "probability",
            },
        )


def without_html(question: OfModel, heads: tuple[Head, ...]) -> str:
    """The translation without some heads, with its changes marked, as HTML."""
    after = session.run(question, Intervention(heads=dict.fromkeys(heads, 0))).free.text
    before = session.run(question).free.text
    return change_line(before, after, f"Without {named_heads(heads)}", dark=is_dark())


def present_pair(making: Callable[[Asked], Picture], asked: Asked) -> None:
    """A picture of two words on a stage."""
    stage.say(standing(asked.contrast))
    with stage.picture():
        picture = making(asked)
        stage.show((picture, KEYS(picture.name)), narrow=is_narrow())


def _open_clicked(chart: str) -> None:
    clicks(chart, on_clicks=partial(handle_clicks, chart, open_head))


def open_head(*place: Any) -> None:
    """Open the head of a clicked line or bar; `place` comes from a browser."""
    try:
        (named,) = place
        site, number = Head.of(".".join(map(str, named)))
    except (TypeError, ValueError):
        # No picture of this page sends that.
        return
    if address.is_followed():
        return
    values = replace(
        address.last(HeadsView),
        attention=str(site.kind),
        layer=site.layer,
        head=number,
        cell="",
        compare="",
    )
    address.open_view(HEADS, values)
