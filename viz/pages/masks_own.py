"""The masks of a batch's sentence, and its padding."""

import streamlit as st

from viz.browser.matrices import matrices
from viz.masks.batch_masks import token_grid
from viz.masks.own_masks import BatchTokens, DecoderFactors, OtherMasks
from viz.masks.tables import grid_html
from viz.masks.view import KEYS
from viz.pages.masks_selection import Selection
from viz.shell import stage
from viz.shell.save_menu import captioned
from viz.shell.theme import is_dark


def show_masks(selection: Selection) -> None:
    """The batch with its padding, and every mask of one sentence."""
    sides = {
        "Source": token_grid(selection.batch.padded, "source"),
        "Target, as the decoder reads it": token_grid(selection.batch.padded, "target"),
    }
    st.html(grid_html(sides, selection.number, dark=is_dark()))
    captioned(
        "Padding is hatched: no word may look at it. The masks below are of the framed sentence."
        if len(selection.sentences) > 1
        else "One sentence needs no padding; add sentences to the batch to see some.",
        [BatchTokens(selection.at, selection.batch.padded)],
        KEYS("batch"),
    )
    every = selection.masks
    factors, others = DecoderFactors(selection.at, every), OtherMasks(selection.at, every)
    st.subheader(f"How the decoder's mask of sentence {selection.number + 1} is made", anchor=False)
    matrices(factors.panels, key=KEYS("factors"), height=21)
    captioned(
        factors.caption,
        [factors],
        KEYS("factors"),
    )
    st.subheader(f"The other masks of sentence {selection.number + 1}", anchor=False)
    matrices(others.panels[:2], key=KEYS("others"), height=21)
    matrices(others.panels[2:], key=KEYS("mask-rows"), height=8)
    captioned(
        others.caption,
        [others],
        KEYS("others"),
    )


def show_masks_on_stage(selection: Selection) -> None:
    """How the decoder's mask is made."""
    stage.say(f"How the decoder's mask of sentence {selection.number + 1} is made")
    with stage.picture():
        matrices(
            DecoderFactors(selection.at, selection.masks).panels, key=KEYS("factors"), stage=True
        )
