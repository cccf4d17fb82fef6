"""The parts of a page, of which it shows one at a time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import streamlit as st

from viz.draw.keys import Keys
from viz.shell import address, stage, tab_row
from viz.shell.widgets import segments
from viz.shell.width import is_narrow

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Part(Generic[A]):
    """A part of a page, given what the page was asked.

    Attributes:
        show: its controls and pictures.
        on_stage: its main picture, and what keys change.
        applies: whether what was asked has something to show here; without it, always.
        icon: before its title, in Markdown.
        short: its title on a phone.
        columns: how many figures stand side by side.
        options: what is seldom changed of it, behind *Options*.
        beside: what it is asked, beside the tabs.
        tab: the title of the tab that it shares with others; without it, it has its own.
    """

    show: Callable[[A], None]
    on_stage: Callable[[A], None]
    applies: Callable[[A], bool] | None = None
    icon: str = ""
    short: str = ""
    columns: int = 1
    options: Callable[[A], None] | None = None
    beside: Callable[[A], None] | None = None
    tab: str = ""

    def label(self, title: str) -> str:
        """Its text on the page's list of parts."""
        return self.short if self.short and is_narrow() else f"{self.icon} {title}".strip()


def show_parts(
    titles: Mapping[str, str],
    parts: Mapping[str, Part[A]],
    asked: A,
    keys: Keys,
    chosen: str,
    *,
    letter: str = "",
) -> Part[A]:
    """Offer the parts that apply, and show the chosen one; the first if it does not apply.

    Args:
        titles: what each part shows, plain text, by its name in the address.
        chosen: the page's parameter that holds the name of the chosen part.
        letter: the key to the next part on a stage; without it, the arrows left and right.
    """
    fitting = {
        name: part for name, part in parts.items() if part.applies is None or part.applies(asked)
    }
    key = keys(chosen)
    if address.value_of(key) not in fitting:
        address.change(**{chosen: next(iter(fitting))})
    name = address.value_of(key)
    part = fitting[name]
    if stage.is_on():
        if letter:
            step = stage.Step(key, list(fitting), name, cycles=True)
            stage.offer(f"{letter.upper()}: part", more={letter: step})
        else:
            stage.offer("Left and right: part", across=stage.Step(key, list(fitting), name))
        stage.say(titles[name])
        part.on_stage(asked)
    else:
        with tab_row.tabs():
            choose(titles, fitting, keys, chosen)
            if part.beside is not None:
                part.beside(asked)
        if part.options is not None:
            with tab_row.options():
                part.options(asked)
        part.show(asked)
    return part


def choose(
    titles: Mapping[str, str], fitting: Mapping[str, Part[A]], keys: Keys, chosen: str
) -> None:
    """The tabs of the parts that apply; parts of one tab stand beside these once it is chosen."""
    key = keys(chosen)
    name = address.value_of(key)
    tabs: dict[str, dict[str, str]] = {}
    for other, each in fitting.items():
        title = each.label(titles[other])
        tabs.setdefault(each.tab or title, {})[other] = title
    # The chosen part stands for its tab, every other tab leads to its first part.
    leads = {name if name in parts else next(iter(parts)): tab for tab, parts in tabs.items()}
    segments("Part", leads, key=key)
    shared = next(parts for parts in tabs.values() if name in parts)
    if len(shared) > 1:
        within = keys(chosen, "within")
        st.session_state[within] = name
        segments(
            "Part of it",
            shared,
            key=within,
            on_change=lambda: address.change(**{chosen: st.session_state[within]}),
        )
