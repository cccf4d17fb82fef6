"""Every hypothesis of the search as a tree, and what was found."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from model.paper.search import AS_IN_THE_PAPER, Search
from model.trace.attention_map import AttentionKind
from model.trace.translation import Decoding, SearchNode
from viz.browser.branches import branches
from viz.browser.clicks import clicks, do_clicks
from viz.decoding.attention import mean_weights
from viz.decoding.payload import pack_branches
from viz.decoding.search import RANGES, search_name
from viz.decoding.search_tree import SearchTree
from viz.decoding.tree import layout_tree
from viz.decoding.view import DecodingView
from viz.draw import style
from viz.draw.labels import escape_html, visible
from viz.draw.word_diff import diff_html
from viz.pages.decoding_steps import show_heads
from viz.service import session
from viz.service.jobs import Decoded
from viz.shell import address, stage
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.width import is_narrow

TREE = "search-tree"
"""The key of the tree's chart."""

MOST_ROWS = 12
"""More rows of a tree than that are too small on a stage."""

STAGE_SIZE = "clamp(1.25rem, 2.2vw, 2.75rem)"
"""Of what was found, to be read from the back row."""

MOST_CELLS = 20_000
"""Of hypotheses times source tokens; attention to more takes seconds to read."""

CLICK = (
    " Point at a dot to see its hypothesis and its attention below; click a diamond to study its "
    "translation on every page."
)


def show_beams(
    question: session.Question, view: DecodingView, search: Search, found: Decoded
) -> None:
    """The tree, below it the branch that is pointed at, and what was found, best first."""
    decoding = found.decoding
    if stage.is_on():
        show_tree_on_stage(view, search, decoding)
        return
    show_picture(
        SearchTree(decoding, search, changes=view.changes),
        TREE,
        after=CLICK,
    )
    clicks(TREE, on_clicks=partial(study_clicked, question, view, decoding, search))
    show_branch(question, view, search, found)
    show_found(question, view, decoding, search)


def show_branch(
    question: session.Question, view: DecodingView, search: Search, found: Decoded
) -> None:
    """The hypothesis that is pointed at in the tree, and what it looked at in the source."""
    decoding, cross = found.decoding, None
    if len(decoding.nodes) * len(decoding.translation.source) <= MOST_CELLS:
        weights = session.branches(
            question.checkpoint, question.sentence, search, view.changes.under
        )
        cross = mean_weights(weights, AttentionKind.CROSS, view.shown_heads)
    branches(pack_branches(decoding, cross, chart=TREE), key="branch")
    show_heads(view, found)


def show_tree_on_stage(view: DecodingView, search: Search, decoding: Decoding) -> None:
    """The tree alone, without what was pruned where that would be too small to read."""
    whole = layout_tree(decoding).height <= MOST_ROWS
    name = search_name(search) + view.changes.name
    stage.say(name if whole else f"{name}: what was found")
    if search.sampling is None:
        low, high = RANGES["beam"]
        stage.offer(
            "Left and right: width of the beam",
            across=stage.Step("beam", range(low, high + 1), view.beam),
        )
    picture = SearchTree(decoding, search, numbered=False, whole=whole, changes=view.changes)
    stage.show((picture, TREE), narrow=is_narrow())


def show_found(
    question: session.Question, view: DecodingView, decoding: Decoding, search: Search
) -> None:
    """What was found, each with its score, its words that differ, and a button to study it."""
    texts = [found_text(question, decoding, node) for node in decoding.ranked]
    for rank, (node, text) in enumerate(zip(decoding.ranked, texts, strict=True)):
        target = target_of(node, text, view, search)
        studied = question.target == target
        with st.container(horizontal=True, vertical_alignment="center", key=f"found-{rank}"):
            st.html(found_html(str(rank + 1), node, text, texts[0]))
            if target is not None:
                st.button(
                    "Studied" if studied else "Study",
                    key=f"study-{rank}",
                    icon=":material/check:" if studied else ":material/visibility:",
                    help=None if studied else STUDY_HELP,
                    disabled=studied,
                    width=110,
                    on_click=address.change,
                    kwargs={"target": target},
                )
    if question.target:
        st.caption("The tree is of the model's own search, not of the target sentence above.")
        st.button(
            "Study the model's own translation again",
            key="study-none",
            icon=":material/undo:",
            on_click=address.change,
            kwargs={"target": ""},
        )


STUDY_HELP = (
    "Every page then shows the sentence with this translation, as if you had typed it: its text is "
    "cut into tokens anew and ended."
)


def found_text(question: session.Question, decoding: Decoding, node: SearchNode) -> str:
    """What a hypothesis reads as."""
    model = session.translator(question.checkpoint)
    return model.tokenizer.target.decode(decoding.token_ids(node))


def found_html(
    mark: str, node: SearchNode, text: str, best: str, name: str = "", *, bold: bool = False
) -> str:
    """One line of what was found, its words that the best has not marked.

    Args:
        mark: stands before it.
        node: that ends it.
        text: of it.
        best: what it is compared with.
        name: of how it was found.
        bold: whether it stands out.
    """
    words = escape_html(visible(text)) if text == best else diff_html(best, text, dark=is_dark())
    numbers = [
        *([name] if name else []),
        f"score {style.number(node.score or 0.0)}",
        f"log-probability {style.number(node.log_prob)}",
        "1 token" if node.step == 0 else f"{node.step + 1} tokens",
        *(["cut at the most tokens it may have"] if node.fate == "cut" else []),
    ]
    weight = "600" if bold else "inherit"
    size = STAGE_SIZE if stage.is_on() else "1rem"
    return (
        f'<div style="display: flex; gap: 0.75em; font-size: {size}"><b>{mark}.</b>'
        f'<div style="font-weight: {weight}">{words or "∅"}<br>'
        f'<small style="font-size: 0.8em">{escape_html(", ".join(numbers))}</small></div></div>'
    )


def study_clicked(
    question: session.Question,
    view: DecodingView,
    decoding: Decoding,
    search: Search,
) -> None:
    """Study the translation that ends at the point of the tree clicked last, if one does."""

    def study(*click: Any) -> None:
        match click:
            case [int(place)] if place in range(len(decoding.nodes)):
                node = decoding.nodes[place]
            case _:
                # Nothing that the tree sends.
                return
        if node.rank is None:
            return
        target = target_of(node, found_text(question, decoding, node), view, search)
        if target is not None:
            address.change(target=target)

    do_clicks(TREE, study)


def target_of(node: SearchNode, text: str, view: DecodingView, search: Search) -> str | None:
    """What makes a hypothesis the translation of every page; None for one without any words."""
    if node.rank == 0 and search == AS_IN_THE_PAPER and not view.changes:
        # What the model finds by itself needs no text.
        return ""
    return text.strip() or None
