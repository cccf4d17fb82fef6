"""One word against another: the part of the effects page that speaks of their difference."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from model.contrast.head_sets import RANDOM_SETS
from model.contrast.results import Question
from model.record.intervention import Intervention
from model.trace.attention_map import FloatArray
from model.trace.head import Head
from viz.browser.clicks import clicks, handle_clicks
from viz.draw.labels import escape_markdown
from viz.draw.word_diff import change_line
from viz.effects.contrasted import standing
from viz.effects.deciding_heads import DecidingHeads
from viz.effects.logit_waterfall import LogitWaterfall
from viz.effects.path_graph import PathGraph
from viz.effects.two_words import WordsWithoutTokens
from viz.effects.view import KEYS, QUESTIONS
from viz.heads.view import VIEW as HEADS
from viz.heads.view import HeadsView
from viz.links.head_refs import named_heads
from viz.pages.effects_asked import Asked
from viz.pages.effects_words import above_words
from viz.save.picture import Picture
from viz.service import session
from viz.service.jobs.contrasting import (
    add_terms,
    find_head_set,
    find_paths,
    try_random_sets,
)
from viz.service.questions import ModelQuestion
from viz.shell import address, stage
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.widgets import brief, segments
from viz.shell.width import is_narrow

TOGETHER = 50
"""Random sets of one job: whoever leaves ends the rest."""

AGAIN = "Click a bar to open its head."


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
    with above_words(asked) as beside:
        picture = tokens_picture(asked)
        show_picture(picture, KEYS("tokens"))
        beside.markdown(escape_markdown(standing(asked.contrast)))
    brief([*map(escape_markdown, picture.sentences)], KEYS("contrast-tokens"))


def show_sum(asked: Asked) -> None:
    with above_words(asked) as beside:
        picture = sum_picture(asked)
        show_picture(picture, KEYS("sum"), after=f" {AGAIN}")
        _open_clicked(KEYS("sum"))
        beside.markdown(escape_markdown(standing(asked.contrast)))
    brief([escape_markdown(picture.sentence)], KEYS("contrast-sum"))


def show_paths(asked: Asked) -> None:
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


def without_html(question: ModelQuestion, heads: tuple[Head, ...]) -> str:
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
