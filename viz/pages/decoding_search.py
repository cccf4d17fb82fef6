"""How the page's search is set, and what other searches find beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import streamlit as st

from model.paper.search import Search
from model.trace.translation import Decoding
from model.translate.translator import Translator
from viz.decoding.search import (
    MOST_SAMPLES,
    RANGES,
    WAYS,
    WIDEST,
    Settings,
    of_every_width,
    search_name,
)
from viz.decoding.search_results import ComparedSearches, SearchResult, SearchWidths, score
from viz.decoding.view import DecodingView
from viz.draw.labels import escape_markdown
from viz.links.head_refs import head_name
from viz.pages.decoding_beams import found_html
from viz.service import session
from viz.shell import address, stage
from viz.shell.head_picker import choose_heads
from viz.shell.save_menu import captioned

OFF = "heads-switched-off"
"""The widget of the heads that the decoding goes without; the address has them as one text."""

OTHER = "second-"
"""Stands before the keys of the second search's widgets."""


def show_settings(view: DecodingView, model: Translator) -> None:
    """The button with what the page's search is, its settings, and heads to go without."""
    name = search_name(view.free) + view.changes.name
    with st.popover(name, icon=":material/tune:", key="search-settings"):
        choose(view.settings, "")
        choose_heads(
            "Heads switched off meanwhile",
            {
                f"{site}.{head}": head_name(site, head)
                for site in model.sites
                for head in range(model.model.config.n_heads)
            },
            view.changes.removed,
            key=OFF,
            parameter="off",
            placeholder="None: all heads take part",
        )


def choose(settings: Settings, of: str) -> None:
    """The widgets of a search's settings.

    Args:
        settings: as they are.
        of: stands before the name of each; "" for those that the address has by name.
    """
    for field in fields(Settings):
        if of:
            st.session_state[of + field.name] = getattr(settings, field.name)
    on_change = keep_other if of else None
    key = f"{of}how"
    st.segmented_control(
        "How a translation is looked for",
        WAYS,
        default=address.value_of(key),
        key=key,
        required=True,
        format_func=WAYS.__getitem__,
        label_visibility="collapsed",
        on_change=on_change,
    )
    shown = (
        ["samples", "temperature", "top_k", "top_p", "seed"]
        if settings.how == "sampling"
        else ["beam"]
    )
    for name in [*shown, "penalty"]:
        low, high = RANGES[name]
        label, help = LABELS[name]
        key = f"{of}{name}"
        if name in ("top_k", "seed"):
            st.number_input(
                label,
                low,
                high,
                address.value_of(key),
                key=key,
                help=help,
                on_change=on_change,
            )
        else:
            st.select_slider(
                label,
                range(low, high + 1),
                address.value_of(key),
                key=key,
                help=help,
                format_func=hundredths if name in HUNDREDTHS else str,
                on_change=on_change,
            )


LABELS = {
    "beam": ("Width of the beam", "Live hypotheses at each step; 1 is greedy decoding."),
    "penalty": (
        "Length penalty",
        "α of ((5 + length) / 6)^α, by which log-probabilities are divided into scores. 0 leaves "
        "lengths alone; more favours longer translations.",
    ),
    "temperature": ("Temperature", "Divides the logits: below 1 sharper, above 1 flatter."),
    "top_k": ("Top-k", "Draws from so many of the likeliest tokens; 0 draws from all."),
    "top_p": (
        "Top-p",
        "Draws from the fewest tokens whose probabilities reach p together; 1 draws from all.",
    ),
    "seed": ("Seed", "The same seed draws the same samples."),
    "samples": ("Samples", f"Translations that are drawn, up to {MOST_SAMPLES}."),
}

HUNDREDTHS = ("penalty", "temperature", "top_p")


def hundredths(value: int) -> str:
    """A setting as it is used."""
    return f"{value / 100:g}"


def keep_other() -> None:
    """Keep the second search's settings for the address."""
    before = address.read(DecodingView).other
    chosen = {
        field.name: st.session_state.get(OTHER + field.name, getattr(before, field.name))
        for field in fields(Settings)
    }
    address.change(against=Settings(**chosen).written)


def show_comparison(
    question: session.Question, view: DecodingView, search: Search, decoding: Decoding
) -> None:
    """The page's search beside another one: what each finds."""
    other_search = view.other.search(search.prefix)
    if stage.is_on():
        stage.say(f"Two searches{view.changes.name}")
    else:
        with st.popover(
            f"B: {search_name(view.other.search())}",
            icon=":material/tune:",
            key="second-settings",
        ):
            choose(view.other, OTHER)
    other = session.decode(
        question.checkpoint, question.sentence, other_search, view.changes.under
    ).decoding
    picture = ComparedSearches((decoding, other), (search, other_search), view.changes)
    show_list(picture.results)
    words = escape_markdown(picture.words)
    if stage.is_on():
        st.markdown(words)
    else:
        captioned(f"{words} {escape_markdown(MARKED)}", [picture], "compare")


MARKED = "Words that differ from the first are marked."


def show_list(found: Sequence[SearchResult], best: int = 0) -> None:
    """What was found, with the words that differ from one of them marked."""
    for each in found:
        st.html(
            found_html(each.mark, each.node, each.text, found[best].text, each.name, bold=each.best)
        )


def show_widths(question: session.Question, view: DecodingView, search: Search) -> None:
    """What beams of every width find, each decoded while it is waited for."""
    decodings: list[Decoding] = []
    slot = st.empty()
    for asked in of_every_width(search):
        slot.progress(len(decodings) / WIDEST, f"Searching with a beam of {asked.beam}…")
        decodings.append(
            session.decode(
                question.checkpoint, question.sentence, asked, view.changes.under
            ).decoding
        )
    slot.empty()
    picture = SearchWidths(decodings, search, view.changes)
    if stage.is_on():
        stage.say(picture.title)
    best = max(range(len(picture.results)), key=lambda place: score(picture.results[place].node))
    show_list(picture.results, best)
    words = escape_markdown(
        f"{picture.words} Words that differ from the one with the best score are marked."
    )
    if stage.is_on():
        st.caption(words)
    else:
        captioned(words, [picture], "widths")
