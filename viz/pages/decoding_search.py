"""The settings of searches, and the results of beams of every width."""

from collections.abc import Sequence
from dataclasses import fields

import streamlit as st

from model.trace.head import Head
from model.trace.translation import Decoding
from model.translate.translator import Translator
from viz.decoding.search_results import SearchResult, SearchWidths
from viz.decoding.search_words import score
from viz.draw.labels import escape_markdown
from viz.links.searches import (
    MOST_SAMPLES,
    RANGES,
    USUAL,
    WAYS,
    WIDEST,
    SearchView,
    Settings,
    of_every_width,
    search_name,
)
from viz.pages.decoded import Shown
from viz.pages.decoding_beams import hypothesis_html
from viz.service import session
from viz.shell import address, stage
from viz.shell.head_picker import choose_heads
from viz.shell.save_menu import captioned
from viz.shell.widgets import segments

OTHER = "second"
"""What the keys of the second search's widgets have before a setting's name."""


def show_settings(view: SearchView, model: Translator, mark: str = "") -> None:
    """The button that names the search; in it, `choose_search`."""
    name = mark + search_name(view.settings.search(own=model.search)) + view.changes.name
    with st.popover(name, icon=":material/tune:", key=address.key("search-settings")):
        choose_search(view, model)


def choose_search(view: SearchView, model: Translator) -> None:
    """The widgets of a search's settings, and of heads to switch off."""
    if model.search != USUAL.search():
        own = search_name(model.search)
        st.caption(escape_markdown(f"Until you change a setting, the model's own: {own}."))
    choose(view.settings)
    choose_heads(
        "Heads switched off",
        {
            str(head): head.short_name
            for site in model.sites
            for number in range(model.model.config.n_heads)
            for head in [Head(site, number)]
        },
        view.off,
        key=address.key("heads-off"),
        parameter="off",
        placeholder="None: all heads take part",
    )


def show_second_settings(view: SearchView) -> None:
    """The same for a second search, under which the model is as changed as under the first."""
    name = f"B: {search_name(view.second.search())}"
    with st.popover(name, icon=":material/tune:", key=address.key("second-settings")):
        choose(view.second, OTHER)


def choose(settings: Settings, *of: str) -> None:
    """The widgets of a search's settings.

    Args:
        of: what the widgets' keys have before its name; nothing for those of the address.
    """
    for field in fields(Settings):
        if of:
            st.session_state[address.key(*of, field.name)] = getattr(settings, field.name)
    on_change = keep_other if of else None
    key = address.key(*of, "how")
    segments("Search", WAYS, key=key, on_change=on_change)
    shown = (
        ["samples", "temperature", "top_k", "top_p", "seed"]
        if settings.how == "sampling"
        else ["beam"]
    )
    for name in [*shown, "penalty"]:
        low, high = RANGES[name]
        label, help = LABELS[name]
        key = address.key(*of, name)
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
    "beam": ("Beam width", "Hypotheses kept at each step; 1 is greedy decoding."),
    "penalty": (
        "Length penalty",
        "α in score = log-probability / ((5 + length) / 6)^α. 0 ignores the length; larger values "
        "favour longer translations.",
    ),
    "temperature": (
        "Temperature",
        "Divides the logits: below 1 sharpens the distribution, above 1 flattens it.",
    ),
    "top_k": ("Top-k", "Samples from this many of the likeliest tokens; 0 means all."),
    "top_p": (
        "Top-p",
        "Samples from the fewest tokens whose probabilities add up to p; 1 means all.",
    ),
    "seed": ("Seed", "The same seed gives the same samples."),
    "samples": ("Samples", f"Number of translations to sample, at most {MOST_SAMPLES}."),
}

HUNDREDTHS = ("penalty", "temperature", "top_p")


def hundredths(value: int) -> str:
    return f"{value / 100:g}"


def keep_other() -> None:
    before = address.read(SearchView).second
    chosen = {
        field.name: st.session_state.get(
            address.key(OTHER, field.name), getattr(before, field.name)
        )
        for field in fields(Settings)
    }
    address.change(against=Settings(**chosen).written)


def show_list(hypotheses: Sequence[SearchResult], best: int = 0) -> None:
    """Hypotheses, with the words marked that differ from the best one's."""
    for each in hypotheses:
        st.html(
            hypothesis_html(
                each.mark, each.node, each.text, hypotheses[best].text, each.name, bold=each.best
            )
        )


def show_widths(asked: Shown) -> None:
    question, view, search = asked.question, asked.view, asked.search
    decodings: list[Decoding] = []
    slot = st.empty()
    for each in of_every_width(search):
        slot.progress(len(decodings) / WIDEST, f"Searching with a beam of {each.beam}…")
        decodings.append(session.ask(question.decode(each, view.changes.under)).decoding)
    slot.empty()
    picture = SearchWidths(decodings, search, view.changes)
    stage.say(picture.title)
    best = max(range(len(picture.results)), key=lambda place: score(picture.results[place].node))
    show_list(picture.results, best)
    words = f"{picture.words} Words that differ from the one with the best score are marked."
    captioned(escape_markdown(words), [picture], address.key("widths"))
