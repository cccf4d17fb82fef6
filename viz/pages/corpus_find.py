"""Sentences of the corpus by words and by what a head does there, and heads by a drawn pattern."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from model.checkpoints.shipped import CheckpointError
from model.rules.weight_rules import RULES
from model.survey.sentence_index import WORTH_READING, Does, SentenceIndex
from model.trace.attention_map import AttentionKind, AttentionMap, BoolArray
from model.trace.head import Head
from model.trace.trace import Trace
from viz.browser.matrices import edited, epoch_of, keep_painted, matrices
from viz.corpus.found_maps import FoundMaps
from viz.corpus.pattern_heads import DrawnHeads
from viz.corpus.pattern_search import drawing_panel, drawn_sentence, matches, rule_drawn
from viz.corpus.sentences import found_sentence, label_sentence
from viz.corpus.small_map import small_map
from viz.corpus.view import KEYS, CorpusView
from viz.draw import style
from viz.draw.labels import escape_markdown
from viz.links.head_refs import KINDS
from viz.links.mask_edits import decode, encode
from viz.pages.corpus_parts import (
    Asked,
    choose_head,
    in_columns,
    open_head,
    place_of,
    show_all_on_stage,
    show_map,
)
from viz.service import session
from viz.service.jobs.running import record
from viz.service.questions import ModelQuestion
from viz.shell import address, stage
from viz.shell.save_menu import save_button
from viz.shell.theme import is_dark
from viz.shell.widgets import hint, menu, row, segments
from viz.shell.width import is_narrow

FOUND = 6
"""How many of the sentences found are shown."""

STAGED = 3
"""Of these, on a stage."""

ALIKE = 3
"""Sentences in which a head does what was drawn."""

Found = Sequence[tuple[int, Does]]
"""Numbers of sentences, and how far a head follows a rule there."""

GRID = KEYS("grid")


def indexed(question: ModelQuestion) -> SentenceIndex | None:
    """The sentences of the survey; None, with the reason shown, without any."""
    try:
        index = session.sentence_index(question.checkpoint)
    except CheckpointError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return None
    if index is None:
        hint("This survey was written without its sentences; headscope survey writes it anew.")
    return index


def show_search(asked: Asked) -> None:
    """Sentences with some words, in which a head looks somewhere."""
    question, view = asked.question, asked.view
    index = indexed(question)
    if index is None:
        return
    place = place_of(asked)
    kind = place.site.kind
    if view.does not in ("", *index.found_by(kind)):
        address.change(does="")
        view = asked.view
    found = index.found(view.words, place if view.does else None, view.does or None)
    # Without a question, it says what can be asked.
    said = found_sentence(index, found, view.words, place, view.does)
    st.markdown(f"**{escape_markdown(said)}**")
    with row(at="bottom"):
        st.text_input(
            "Words",
            view.words,
            key=KEYS("words"),
            max_chars=200,
            width=260,
            placeholder="such as: work* day",
            help="Sentences need all of them. work* stands for work, works and worker.",
        )
        choose_head(asked.survey, place)
        menu(
            "Looks",
            {"": "anywhere", **{name: RULES[name].text for name in index.found_by(kind)}},
            key=KEYS("does"),
            width=300,
        )
    if asks(view) and found:
        traces = show_found(question, index, place, found[:FOUND], KEYS("found"))
        if len(found) > FOUND:
            st.caption(
                f"The first {FOUND}, those where it looks there most first; among equals, "
                f"sentences of {WORTH_READING.start} to {WORTH_READING.stop - 1} tokens."
            )
        save_button([FoundMaps(traces, *place, said)], KEYS("found"))


def asks(view: CorpusView) -> bool:
    """Whether words or a rule are searched for."""
    return bool(view.words.strip() or view.does)


def show_search_on_stage(asked: Asked) -> None:
    """The first sentences that were found; every head where nothing is asked for."""
    question, view = asked.question, asked.view
    if not asks(view):
        show_all_on_stage(asked)
        return
    with stage.picture():
        index = indexed(question)
        if index is None:
            return
        place = place_of(asked)
        rule = view.does if view.does in index.found_by(place.site.kind) else ""
        found = index.found(view.words, place if rule else None, rule or None)
        said = found_sentence(index, found, view.words, place, rule)
        stage.say(said)
        if found:
            traces = traced(question, index, found[:STAGED])
            stage.show((FoundMaps(traces, *place, said), KEYS("found")), narrow=is_narrow())


def traced(question: ModelQuestion, index: SentenceIndex, found: Found) -> list[Trace]:
    """The sentences that were found, with the model's translations."""
    return [session.ask(record(question.version, index.sources[number])) for number, _ in found]


def show_found(
    question: ModelQuestion, index: SentenceIndex, place: Head, found: Found, key: str
) -> list[Trace]:
    """Sentences as small maps of a head; returns their traces."""
    traces = traced(question, index, found)
    numbered = list(zip(traces, (number for number, _ in found), strict=True))
    in_columns(numbered, lambda each: show_map(each[0], place, f"{key}-{each[1]}"))
    return traces


def drawing(trace: Trace, view: CorpusView) -> tuple[AttentionMap, BoolArray]:
    """The map that is drawn on, and what is drawn; nothing for another sentence."""
    kind = AttentionKind(view.drawn_in)
    attention = next(each for site, each in trace.maps.items() if site.kind is kind)
    shape = len(attention.queries), len(attention.keys)
    try:
        return attention, decode(view.drawn, shape)
    except ValueError:
        return attention, np.zeros(shape, dtype=np.bool_)


def on_draw(name: str, shape: tuple[int, int]) -> None:
    """Take over a stroke."""
    left = edited(GRID, name, shape)
    if left is not None:
        pattern = encode(~left) if not left.all() else ""
        keep_painted(GRID, pattern)
        address.change(drawn=pattern)


def show_drawing(asked: Asked) -> None:
    """A grid to draw on, and the heads that look there."""
    question, survey, view = asked.question, asked.survey, asked.view
    trace = session.ask(question.record)
    with row():
        segments("Attention", {str(kind): kind.full_name for kind in KINDS}, key=KEYS("drawn_in"))
        st.markdown(f"**{escape_markdown(drawn_sentence([]))}**")
    kind = AttentionKind(view.drawn_in)
    attention, drawn = drawing(trace, view)
    shape = drawn.shape
    name = f"{kind}/{question.sentence}"
    found = matches(trace.maps, drawn, kind)
    # Beside the grid, which stays where it is clicked.
    left, right = st.columns([1, 1], gap="large")
    with left:
        matrices(
            [drawing_panel(attention, drawn)],
            key=GRID,
            height=20,
            epoch=epoch_of(GRID, view.drawn if drawn.any() else ""),
            name=name,
            on_edit=partial(on_draw, name, shape),
        )
    with right:
        if found:
            st.markdown(escape_markdown(drawn_sentence(found)))
        for column, match in zip(st.columns(2), found[:2], strict=False):
            place = Head(match.site, match.head)
            with column:
                st.caption(f"{style.percent(match.share)} of its weight there")
                st.html(small_map(trace.maps[match.site], match.head, dark=is_dark()))
                st.button(
                    # The attention is chosen above.
                    f"Layer {match.site.layer}, head {match.head}",
                    key=KEYS("pattern", match.site, match.head),
                    help=label_sentence(survey, place),
                    width="stretch",
                    on_click=open_head,
                    args=(place,),
                )
    if found:
        save_button([drawn_heads(question, trace, view)], KEYS("pattern"))
    if found and found[0].is_one:
        show_like(question, attention, drawn, Head(found[0].site, found[0].head))


def show_drawing_on_stage(asked: Asked) -> None:
    """The pattern beside the heads that look there; every head where it fits no map here."""
    question, view = asked.question, asked.view
    trace = session.ask(question.record)
    if not drawing(trace, view)[1].any():
        show_all_on_stage(asked)
        return
    with stage.picture():
        picture = drawn_heads(question, trace, view)
        stage.say(picture.caption)
        stage.show((picture, KEYS("pattern")), narrow=is_narrow())


def drawn_heads(question: ModelQuestion, trace: Trace, view: CorpusView) -> DrawnHeads:
    """The pattern in the address beside the heads that look there."""
    return DrawnHeads(trace, AttentionKind(view.drawn_in), view.drawn, target=question.target)


def show_like(
    question: ModelQuestion, attention: AttentionMap, drawn: BoolArray, place: Head
) -> None:
    """Other sentences in which a head does what was drawn, where a rule says what that is."""
    index = session.sentence_index(question.checkpoint)
    rule = rule_drawn(attention, drawn)
    if index is None or rule not in index.found_by(place.site.kind):
        return
    found = index.found("", place, rule)[:ALIKE]
    if found:
        st.subheader(
            f"Sentences in which {place.short_name} looks {RULES[rule].text}", anchor=False
        )
        show_found(question, index, place, found, KEYS("like"))
