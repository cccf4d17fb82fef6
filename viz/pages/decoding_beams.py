"""Every hypothesis of the search as a tree, and a list of those that ended."""

from functools import partial
from typing import Any

import streamlit as st

from model.paper.search import Search
from model.trace.attention_map import AttentionKind
from model.trace.translation import Decoding, SearchNode
from viz.browser.branches import branches
from viz.browser.clicks import clicks, handle_clicks
from viz.decoding.attention import mean_weights
from viz.decoding.payload import pack_branches
from viz.decoding.search_tree import SearchTree
from viz.decoding.tree import layout_tree
from viz.decoding.view import KEYS, DecodingView
from viz.draw import style
from viz.draw.labels import escape_html, visible
from viz.draw.word_diff import diff_html
from viz.links.searches import RANGES, search_name
from viz.pages.decoded import Shown
from viz.service import session
from viz.service.jobs.running import read_branches
from viz.service.questions import ModelQuestion
from viz.service.results import Decoded
from viz.shell import address, stage
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.width import is_narrow

TREE = KEYS("tree")
"""The key of the tree's chart."""

MOST_ROWS = 12
"""A tree with more rows is too small to read on a stage."""

STAGE_SIZE = "clamp(1.25rem, 2.2vw, 2.75rem)"
"""The size of a hypothesis that can be read from the back row."""

MOST_CELLS = 20_000
"""Hypotheses times source tokens; reading the attention of more takes seconds."""

CLICK = (
    "Point at a dot to see its hypothesis and attention; click a diamond to study its translation "
    "on every page."
)


def show_beams(asked: Shown) -> None:
    """The tree, the branch that is pointed at, and the hypotheses that ended, best first."""
    question, view, search, decoded = asked.question, asked.view, asked.search, asked.decoded
    decoding = decoded.decoding
    if stage.is_on():
        show_tree_on_stage(view, search, decoding)
        return
    show_picture(
        SearchTree(decoding, search, changes=view.changes),
        TREE,
        further=CLICK,
    )
    clicks(TREE, on_clicks=partial(study_clicked, question, view, decoding, search))
    show_branch(question, view, search, decoded)
    show_hypotheses(question, view, decoding, search)


def show_branch(
    question: ModelQuestion, view: DecodingView, search: Search, decoded: Decoded
) -> None:
    """The hypothesis under the pointer, and what it looked at in the source."""
    decoding, cross = decoded.decoding, None
    if len(decoding.nodes) * len(decoding.translation.source) <= MOST_CELLS:
        asked = question.version, question.sentence, search, view.changes.under
        weights = session.ask(read_branches(*asked))
        cross = mean_weights(weights, AttentionKind.CROSS, view.heads)
    branches(pack_branches(decoding, cross, chart=TREE), key=KEYS("branch"))


def show_tree_on_stage(view: DecodingView, search: Search, decoding: Decoding) -> None:
    """The tree alone; without pruned hypotheses if it would be too small to read."""
    whole = layout_tree(decoding).height <= MOST_ROWS
    name = search_name(search) + view.changes.name
    stage.say(name if whole else f"{name}: finished hypotheses")
    if search.sampling is None:
        low, high = RANGES["beam"]
        stage.offer(
            "Left and right: beam width",
            across=stage.Step(KEYS("beam"), range(low, high + 1), view.beam),
        )
    picture = SearchTree(decoding, search, numbered=False, whole=whole, changes=view.changes)
    stage.show((picture, TREE), narrow=is_narrow())


def show_hypotheses(
    question: ModelQuestion, view: DecodingView, decoding: Decoding, search: Search
) -> None:
    """The hypotheses that ended, each with its score and a button to study it."""
    texts = [text_of(question, decoding, node) for node in decoding.ranked]
    for rank, (node, text) in enumerate(zip(decoding.ranked, texts, strict=True)):
        target = target_of(question, node, text, view, search)
        studied = question.target == target
        with st.container(horizontal=True, vertical_alignment="center", key=KEYS("found", rank)):
            st.html(hypothesis_html(str(rank + 1), node, text, texts[0]))
            if target is not None:
                st.button(
                    "Studied" if studied else "Study",
                    key=KEYS("study", rank),
                    icon=":material/check:" if studied else ":material/visibility:",
                    help=None if studied else STUDY_HELP,
                    disabled=studied,
                    width=110,
                    on_click=address.change,
                    kwargs={"target": target},
                )
    if question.target:
        st.caption(OWN_SEARCH)
        st.button(
            "Return to the model's own translation",
            key=KEYS("study-none"),
            icon=":material/undo:",
            on_click=address.change,
            kwargs={"target": ""},
        )


OWN_SEARCH = "The tree shows the model's own search, not the target sentence above."

STUDY_HELP = "Every page then shows this translation, as if you had typed it as the target."


def text_of(question: ModelQuestion, decoding: Decoding, node: SearchNode) -> str:
    model = session.translator(question.checkpoint)
    return model.tokenizer.target.decode(decoding.token_ids(node))


def hypothesis_html(
    mark: str, node: SearchNode, text: str, best: str, name: str = "", *, bold: bool = False
) -> str:
    """One hypothesis as HTML, with the words marked that the best one lacks."""
    words = escape_html(visible(text)) if text == best else diff_html(best, text, dark=is_dark())
    numbers = [
        *([name] if name else []),
        f"score {style.number(node.score or 0.0)}",
        f"log-probability {style.number(node.log_prob)}",
        "1 token" if node.step == 0 else f"{node.step + 1} tokens",
        *(["cut off at the length limit"] if node.fate == "cut" else []),
    ]
    weight = "600" if bold else "inherit"
    size = STAGE_SIZE if stage.is_on() else "1rem"
    return (
        f'<div style="display: flex; gap: 0.75em; font-size: {size}"><b>{mark}.</b>'
        f'<div style="font-weight: {weight}">{words or "∅"}<br>'
        f'<small style="font-size: 0.8em">{escape_html(", ".join(numbers))}</small></div></div>'
    )


def study_clicked(
    question: ModelQuestion,
    view: DecodingView,
    decoding: Decoding,
    search: Search,
) -> None:
    """Study the translation that ends at a clicked point of the tree, if one does."""

    def study(*click: Any) -> None:
        match click:
            case [int(place)] if place in range(len(decoding.nodes)):
                node = decoding.nodes[place]
            case _:
                # The tree does not send that.
                return
        if node.rank is None:
            return
        target = target_of(question, node, text_of(question, decoding, node), view, search)
        if target is not None:
            address.change(target=target)

    handle_clicks(TREE, study)


def target_of(
    question: ModelQuestion, node: SearchNode, text: str, view: DecodingView, search: Search
) -> str | None:
    """The target that makes every page show a hypothesis; None for one without any words."""
    own = session.translator(question.checkpoint).search
    if node.rank == 0 and search == own and not view.changes:
        # The model's own translation needs no target.
        return ""
    return text.strip() or None
