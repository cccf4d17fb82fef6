"""One word against another: the part of the effects page that speaks of their difference."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from model.contrast.head_sets import RANDOM_SETS
from model.contrast.pairs import least_certain, spelled
from model.contrast.results import Contrast, Question
from model.record.intervention import Intervention
from model.trace.attention_map import FloatArray, Tokens
from model.trace.head import Head
from model.trace.trace import Trace
from viz.browser.clicks import clicks, handle_clicks
from viz.browser.kept import Kept
from viz.draw.labels import escape_markdown, token_text
from viz.draw.word_diff import translations_html
from viz.effects.contrasted import probability, standing
from viz.effects.deciding_heads import DecidingHeads
from viz.effects.logit_waterfall import LogitWaterfall
from viz.effects.path_graph import PathGraph
from viz.effects.two_words import WordsWithoutTokens
from viz.effects.view import AGAINST, KEYS, MOST_WORD, QUESTIONS, EffectsView
from viz.heads.view import VIEW as HEADS
from viz.heads.view import HeadsView
from viz.links.head_refs import ALL_HEADS, named_heads
from viz.service import session
from viz.service.jobs.contrasting import (
    add_terms,
    contrast_words,
    find_head_set,
    find_paths,
    list_rivals,
    try_random_sets,
)
from viz.service.questions import OfModel
from viz.shell import address
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.widgets import brief, segments

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


def choose_other(question: OfModel, view: EffectsView, trace: Trace) -> None:
    """The field for the other word: one of the likeliest, or typed."""
    # With an empty choice, a slow browser could send it for a word that it has not heard of.
    names = {"": WHY_NOT} | dict(others(question, view.place, trace.predictions))
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


def contrast_of(question: OfModel, view: EffectsView) -> Contrast:
    """The two words of the view."""
    return session.ask(contrast_words(question.record, *_pair(view)))


def _pair(view: EffectsView) -> tuple[int, str]:
    assert view.place is not None, "open_pair chose a target token"
    return view.place, view.instead


def show_standing(contrast: Contrast) -> None:
    """Both probabilities, above the picture."""
    st.markdown(f"**{escape_markdown(standing(contrast))}**")


def tokens_picture(question: OfModel, view: EffectsView) -> WordsWithoutTokens:
    """Both words without each source token."""
    return WordsWithoutTokens(contrast_of(question, view), *_pair(view), target=question.target)


def sum_picture(question: OfModel, view: EffectsView) -> LogitWaterfall:
    """What adds up to the difference."""
    terms = session.ask(add_terms(question.record, *_pair(view)))
    contrast = contrast_of(question, view)
    return LogitWaterfall(contrast, *_pair(view), terms, target=question.target)


def paths_picture(question: OfModel, view: EffectsView) -> PathGraph:
    """The ways to the word."""
    ways = session.ask(find_paths(question.record, *_pair(view)))
    contrast = contrast_of(question, view)
    return PathGraph(contrast, *_pair(view), ways, question.model_name, target=question.target)


def set_picture(question: OfModel, view: EffectsView) -> DecidingHeads:
    """The fewest heads that decide, with random sets as large; its making can be stopped."""
    contrast, pair = contrast_of(question, view), _pair(view)
    decide: Question = "keep" if view.decide == "keep" else "remove"
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


def show_set(question: OfModel, view: EffectsView) -> None:
    """The fewest heads that decide, and what the model writes without them."""
    segments("What happens to the heads", QUESTIONS, key=KEYS("decide"))
    picture = set_picture(question, view)
    first, *rest = map(escape_markdown, picture.sentences)
    brief([first], KEYS("contrast-set"))
    if not len(picture.random):
        return
    if picture.removes:
        heads = picture.found.heads
        st.html(without_html(question, heads))
    show_picture(picture, KEYS("set"))
    st.markdown(" ".join([*rest, escape_markdown(picture.listed)]))
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
    """The translation with all heads and without some, as HTML."""
    after = session.run(question, Intervention(heads=dict.fromkeys(heads, 0))).free.text
    before = session.run(question).free.text
    return translations_html(
        before, after, (ALL_HEADS, f"Without {named_heads(heads)}"), dark=is_dark()
    )


def show_view(question: OfModel, view: EffectsView) -> None:
    """Every view of two words but the map of heads."""
    if view.show == "tokens":
        picture = tokens_picture(question, view)
        show_picture(picture, KEYS("tokens"))
        brief([*map(escape_markdown, picture.sentences)], KEYS("contrast-tokens"))
    elif view.show == "set":
        show_set(question, view)
    elif view.show == "sum":
        terms = sum_picture(question, view)
        show_picture(terms, KEYS("sum"), after=f" {AGAIN}")
        _open_clicked(KEYS("sum"))
        brief([escape_markdown(terms.sentence)], KEYS("contrast-sum"))
    else:
        show_picture(paths_picture(question, view), KEYS("paths"))
        _open_clicked(KEYS("paths"))


def picture_of(question: OfModel, view: EffectsView) -> Any:
    """The picture of a view of two words, other than the map of heads, for a stage."""
    makers = {
        "tokens": tokens_picture,
        "set": set_picture,
        "sum": sum_picture,
        "paths": paths_picture,
    }
    return makers[view.show](question, view)


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
