"""Decoding: how the translation is written, step by step, and what else it could be."""

from collections.abc import Callable
from dataclasses import fields, replace

import streamlit as st

from model.trace.attention_map import Tokens
from viz.browser.kept import Kept, nothing
from viz.compare.view import VIEW as COMPARE
from viz.compare.view import CompareView
from viz.decoding.view import KEYS, SECTIONS, STEP_KINDS, VIEW, DecodingView
from viz.draw.labels import escape_markdown
from viz.draw.style import count_of
from viz.links.searches import SearchView, search_name
from viz.pages.decoded import (
    Asked,
    Shown,
    asked_of,
    decode,
    forget_forced,
    free_search,
    keep_fitting,
    show_differences,
)
from viz.pages.decoding_beams import show_beams
from viz.pages.decoding_certainty import show_certainty
from viz.pages.decoding_layers import show_layers
from viz.pages.decoding_search import choose_search, show_widths
from viz.pages.decoding_steps import show_heads, show_step_options, show_steps
from viz.service import session
from viz.service.questions import ModelQuestion
from viz.service.results import Decoded
from viz.shell import address, current_head, hall, stage
from viz.shell.head_picker import keep_known
from viz.shell.parts import Part, show_parts
from viz.shell.width import watch_width

_STEP_OF: Kept[Asked | None] = Kept(KEYS("step-of"), nothing)


def bring_head() -> None:
    """Show the attention of the head selected on another page, if the steps can."""
    selected = current_head.selected_since(VIEW.name) or ()
    if heads := [each for each in selected if each[0].kind in STEP_KINDS]:
        address.bring(heads=tuple(heads))


def forget_step(question: ModelQuestion) -> None:
    """Show another translation from its first step."""
    before, now = _STEP_OF.value, asked_of(question)
    if before not in (None, now) and not address.is_followed():
        address.change(at=1)
    _STEP_OF.value = now


def clamp_step(decoded: Decoded) -> DecodingView:
    """The view, with its step brought into the range of the steps."""
    view = address.read(DecodingView)
    count = len(decoded.decoding.steps)
    if view.at > count:
        address.change(at=count)
        address.note(
            "at",
            f"This translation has {count_of(count, 'step')} and no step {view.at}; the last one "
            "is shown.",
        )
    return address.read(DecodingView)


def open_comparison() -> None:
    """Open this search beside another one; call it in a callback."""
    view = address.read(DecodingView)
    search = {each.name: getattr(view, each.name) for each in fields(SearchView)}
    address.open_view(COMPARE, CompareView(**search, versus="search"))


def within(
    show: Callable[[Shown], None], options: Callable[[Shown], None] | None = None
) -> Part[Shown]:
    """A part whose picture stands below what forced words and changes to the model lead to."""

    def shown(asked: Shown) -> None:
        searched = replace(asked.question, target="") if asked.view.searches else asked.question
        with stage.picture():
            # The pictures of a search have its name as their title.
            free = free_search(asked.question, asked.view)
            own = session.translator(asked.question.checkpoint).search
            if not asked.view.searches and free != own and not stage.is_on():
                st.caption(escape_markdown(search_name(free)))
            show_differences(searched, asked.view, asked.decoded)
            show(asked)

    def offered(asked: Shown) -> None:
        if options is not None:
            options(asked)
        choose_search(asked.view, session.translator(asked.question.checkpoint))
        st.button(
            "Compare with another search",
            icon=":material/compare:",
            key=KEYS("to-compare"),
            on_click=open_comparison,
        )

    return Part(shown, shown, options=offered)


OF_DECODING = {
    "steps": within(show_steps, show_step_options),
    "certainty": within(show_certainty),
    "beams": within(show_beams, show_heads),
    "widths": within(show_widths),
    "layers": within(show_layers),
}


def show_question(asked: Shown) -> None:
    """Offer to ask the hall what comes next, where the steps are shown."""
    decoding, view = asked.decoded.decoding, address.read(DecodingView)
    if view.section != "steps":
        return
    written = decoding.translation
    before = Tokens(written.tokens, written.token_ids)[: view.step]
    hall.show(hall.of_step(decoding.steps[view.step], before, asked.question.sentence))
    stage.offer(hall.KEY_HELP)


def show(question: ModelQuestion) -> None:
    forget_forced(question)
    forget_step(question)
    bring_head()
    model, view = session.translator(question.checkpoint), address.read(DecodingView)
    keep_known("off", view.off, model, "the others stay switched off.")
    keep_fitting(question, view)
    keep_known("heads", view.heads, model, "the attention of the others is shown.")
    # A typed translation leaves nothing to search for.
    searches = address.read(DecodingView).searches
    search, decoded = decode(replace(question, target="") if searches else question)
    view = clamp_step(decoded)
    if stage.is_on() and view.changes:
        # The foot would name what the model writes as it is.
        stage.name(question.sentence, "")
    asked = Shown(question, view, search, decoded)
    show_parts(SECTIONS, OF_DECODING, asked, KEYS, "section", letter="v")
    if hall.is_there():
        show_question(asked)
    watch_width()
