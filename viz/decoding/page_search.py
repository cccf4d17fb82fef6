"""How the page's search is set, and what other searches find beside it."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from itertools import groupby

import streamlit as st

from model.search import Search
from model.translation import Decoding, SearchNode
from model.translator import Translator
from viz.decoding.page_beams import found_html, found_text
from viz.decoding.search import (
    MOST_SAMPLES,
    RANGES,
    WAYS,
    WIDEST,
    Settings,
    search_name,
)
from viz.decoding.view import DecodingView
from viz.draw import style
from viz.draw.labels import escape_markdown
from viz.heads.chosen import head_name
from viz.shell import address, session, stage
from viz.shell.chosen_heads import choose_heads

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


TELLING = 7.0
"""Up to such a difference of log-probabilities, about a thousandfold, the factor is named."""


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
        stage.say("Two searches")
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
    texts = [best_text(question, each) for each in (decoding, other)]
    for mark, each, text, asked in zip(
        "AB", (decoding, other), texts, (search, other_search), strict=True
    ):
        st.html(found_html(mark, each.ranked[0], text, texts[0], search_name(asked)))
    st.markdown(escape_markdown(comparison_words(decoding, other, search, other_search)))


def best_text(question: session.Question, decoding: Decoding) -> str:
    """The translation that a search found."""
    return found_text(question, decoding, decoding.ranked[0])


def comparison_words(one: Decoding, other: Decoding, a: Search, b: Search) -> str:
    """Which translation the model thinks likelier, and what scores can tell."""
    if one.translation.token_ids == other.translation.token_ids:
        return "Both searches find the same translation."
    gap = one.ranked[0].log_prob - other.ranked[0].log_prob
    if gap == 0:
        likelier = "The model gives both translations the same probability."
    else:
        first, second = ("A", "B") if gap > 0 else ("B", "A")
        likelier = f"By log-probability {first} is ahead by {style.number(abs(gap))}"
        if abs(gap) <= TELLING:
            factor = style.number(math.exp(abs(gap)))
            likelier += f": the model gives it {factor} times the probability of {second}"
        likelier += "."
    if a.length_penalty == b.length_penalty:
        return likelier
    return f"{likelier} The scores have different length penalties and do not compare."


def show_widths(question: session.Question, view: DecodingView, search: Search) -> None:
    """What beams of every width find, each decoded while it is waited for."""
    found: list[Decoding] = []
    slot = st.empty()
    for width in range(1, WIDEST + 1):
        slot.progress((width - 1) / WIDEST, f"Searching with a beam of {width}…")
        asked = replace(search, beam=width, sampling=None)
        found.append(
            session.decode(
                question.checkpoint, question.sentence, asked, view.changes.under
            ).decoding
        )
    slot.empty()
    if stage.is_on():
        stage.say("Beams of every width")
    best = [decoding.ranked[0] for decoding in found]
    texts = [best_text(question, decoding) for decoding in found]
    top = max(range(WIDEST), key=lambda place: score(best[place]))
    for _, group in groupby(range(WIDEST), texts.__getitem__):
        first, *rest = group
        named = f"widths {first + 1} to {rest[-1] + 1}" if rest else f"width {first + 1}"
        mark = f"{first + 1}–{rest[-1] + 1}" if rest else str(first + 1)
        winner = len(set(texts)) > 1 and score(best[first]) == score(best[top])
        said = f"{named}, best" if winner else named
        st.html(found_html(mark, best[first], texts[first], texts[top], said, bold=winner))
    st.caption(escape_markdown(widths_words(best, texts, view.penalty / 100)))


def score(node: SearchNode) -> float:
    """Log-probability over length penalty, without what rounding makes of it."""
    return round(node.score or 0.0, 5)


def widths_words(best: list[SearchNode], texts: list[str], alpha: float) -> str:
    """How to read the list, and whether wider was better."""
    scores = [score(node) for node in best]
    narrowest = 1 + scores.index(max(scores))
    count = len(set(texts))
    said = (
        "Every width finds the same translation."
        if count == 1
        else f"{len(best)} widths find {count} translations; a width of {narrowest} is the "
        f"narrowest that finds the one with the best score."
    )
    worse = next(
        (
            width
            for width in range(2, len(best) + 1)
            if scores[width - 1] < max(scores[: width - 1])
        ),
        None,
    )
    if worse is not None:
        said += (
            f" Wider is not always better: a width of {worse} ends with a lower score than a "
            "narrower one."
        )
    return (
        f"{said} A width of 1 is greedy decoding. All are scored alike: log-probability over a "
        f"length penalty of {alpha:g}; nearer 0 is better. Words that differ from the one with "
        "the best score are marked."
    )
