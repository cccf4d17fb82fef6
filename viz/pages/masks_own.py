"""The masks of a batch's sentence, and its padding."""

import streamlit as st

from viz.browser.matrices import matrices
from viz.masks.own_masks import AttentionMasks, BatchTokens, DecoderFactors, PaddingRows
from viz.masks.view import KEYS, PICTURES, MasksView
from viz.pages.masks_batch import show_batch_menu
from viz.pages.masks_selection import Selection
from viz.shell import address, stage
from viz.shell.save_menu import captioned
from viz.shell.widgets import segments


def show_pictures(_: Selection) -> None:
    """The field for what is seen of the masks."""
    segments("Masks", PICTURES, key=KEYS("of"))


def show_masks(selection: Selection) -> None:
    """Every mask of one sentence, or how the decoder's is made."""
    if address.read(MasksView).of == "decoder":
        show_factors(selection)
    else:
        show_attentions(selection)


def show_attentions(selection: Selection) -> None:
    picture = AttentionMasks(selection.at, selection.masks)
    matrices(picture.panels, key=KEYS("own"), name=selection.at.sentence, example=picture.example)
    with st.container(horizontal=True, vertical_alignment="center", key=KEYS("below")):
        captioned(
            picture.caption,
            [picture, BatchTokens(selection.at, selection.batch.padded)],
            KEYS("own"),
        )
        show_batch_menu(selection)


def show_factors(selection: Selection) -> None:
    """How the decoder's mask is made, and padding as the model holds it."""
    every = selection.masks
    factors, rows = DecoderFactors(selection.at, every), PaddingRows(selection.at, every)
    matrices(
        factors.panels, key=KEYS("factors"), name=selection.at.sentence, example=factors.example
    )
    with st.container(horizontal=True, vertical_alignment="center", key=KEYS("below")):
        captioned(factors.caption, [factors], KEYS("factors"))
        show_batch_menu(selection)
    st.subheader(rows.title, anchor=False)
    matrices(rows.panels, key=KEYS("mask-rows"), height=8)
    captioned(rows.caption, [rows], KEYS("mask-rows"))


def show_masks_on_stage(selection: Selection) -> None:
    """The masks of the three attentions, or how the decoder's is made."""
    of = address.read(MasksView).of
    shows = {"attentions": AttentionMasks, "decoder": DecoderFactors}
    picture = shows[of](selection.at, selection.masks)
    stage.say(picture.title)
    stage.offer(
        "Left and right: sentence · Up and down: what is seen",
        across=stage.Step(
            KEYS("number"), range(1, len(selection.sentences) + 1), selection.number + 1
        ),
        down=stage.Step(KEYS("of"), list(PICTURES), of),
    )
    with stage.picture():
        matrices(picture.panels, key=KEYS("own"), stage=True, example=picture.example)
