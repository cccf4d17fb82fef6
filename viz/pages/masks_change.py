"""The part of the masks page on which masks are painted and the model answers."""

import html
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from viz.browser.matrices import edited, epoch_of, keep_painted, matrices
from viz.decoding.view import VIEW as DECODING
from viz.decoding.view import DecodingView
from viz.draw.labels import escape_markdown
from viz.draw.word_diff import translations_html, typed_in
from viz.links.mask_edits import Edit, intervention, write
from viz.masks.log_probs import LogProbs
from viz.masks.painted import EditedWeights, Edits, is_unchanged
from viz.masks.view import KEYS, PARTS, MasksView
from viz.pages.masks_presets import (
    edit_of,
    edited_to,
    named_of,
    show_presets,
    tick_layers,
    ticked_layers,
)
from viz.pages.masks_selection import (
    NOTICE,
    Selection,
    current_edits,
    edited_of,
    offer_head_keys,
    show_probabilities,
    show_translations,
    store,
)
from viz.registry.pages import SENTENCE, TARGET
from viz.service import session
from viz.service.results import Outcome
from viz.shell import address, stage
from viz.shell.fragments import fragment
from viz.shell.theme import is_dark
from viz.shell.widgets import hint

EDITOR = KEYS("editor")
"""The key of the matrices, one of which is painted on."""


@fragment
def show_editor(selection: Selection) -> None:
    if address.is_navigating():
        # A fragment runs alone, and another page concerns the whole app.
        st.rerun()
    edits = current_edits(selection)
    # Only now, since edits that do not fit were dropped.
    written = address.read(MasksView).edit
    edit = edit_of(edits, selection.kind, selection.layer)
    own = selection.own
    allowed = edit.allowed if edit else own.allowed
    shown = named_of(selection, allowed)
    tick_layers(selection, edit)
    before = session.run(selection.question)
    after = session.run(selection.question, intervention(edits))
    first, second = (
        each.forced.attention(selection.kind, selection.layer) for each in (before, after)
    )
    picture = EditedWeights(selection.at, Edits(edits), own, allowed, (first, second), shown)
    with stage.picture():
        if stage.is_on():
            names = ("Before", "After")
            texts = before.free.text, after.free.text
            sides = (selection.log_probs(each.forced)[1] for each in (before, after))
            typed = typed_in(selection.question.target if selection.at.is_typed else "", *sides)
            st.html(translations_html(*texts, names, dark=is_dark(), typed=typed))
        matrices(
            # More than three cannot be read from the back row.
            picture.panels[:3] if stage.is_on() else picture.panels,
            key=EDITOR,
            epoch=epoch_of(EDITOR, written),
            name=selection.painted,
            stage=stage.is_on(),
            example=picture.example,
            on_edit=partial(on_edit, selection),
        )
    if not stage.is_on():
        show_presets(selection, edits, shown, on_layers)
        show_change(selection, picture, before, after)
    address.write_address()
    st.html(f'<span class="headscope-done" data-done="{html.escape(written)}"></span>')


def show_editor_on_stage(selection: Selection) -> None:
    """The mask to paint on, and the weights before and after."""
    offer_head_keys(selection, PARTS["change"])
    show_editor(selection)


def store_shown(edits: Sequence[Edit]) -> None:
    """Keep edits that the painted matrix shows already, so that it does not begin again."""
    store(edits)
    keep_painted(EDITOR, address.read(MasksView).edit)


def on_edit(selection: Selection) -> None:
    """Take over a painted mask."""
    allowed = edited(EDITOR, selection.painted, selection.own.cells.shape)
    if allowed is not None:
        store_shown(edited_to(selection, allowed))


def on_layers(selection: Selection) -> None:
    """Take over the layers of an edit."""
    edits = current_edits(selection)
    old = edit_of(edits, selection.kind, selection.layer)
    layers = ticked_layers(selection)
    store_shown([Edit(edit.kind, layers, edit.allowed) if edit is old else edit for edit in edits])


def show_change(
    selection: Selection, picture: EditedWeights, before: Outcome, after: Outcome
) -> None:
    """The effects of edits, below the matrices of `picture`."""
    show_translations(selection, before, after, ("Before", "After"), [picture])
    offer_decoding(selection, picture.edits.edits)
    show_notices(selection, picture.edits.edits, before, after)
    sides = selection.log_probs(before.forced), selection.log_probs(after.forced)
    show_probabilities(LogProbs(selection.at, picture.edits, sides))


def offer_decoding(selection: Selection, edits: tuple[Edit, ...]) -> None:
    """A button to the decoding of the sentence under its edits."""
    if not edits:
        return
    n_source, n_target = (
        counts[selection.number] for counts in (selection.batch.n_source, selection.batch.n_target)
    )
    alone = [own for edit in edits if (own := edit.without_padding(n_source, n_target)) is not None]
    fits = len(alone) == len(edits)
    st.button(
        "Decode under this mask",
        key=KEYS("decode-under"),
        icon=DECODING.icon,
        help="Opens the decoding page."
        if fits
        else "This mask opens padding, but a sentence decoded alone has none.",
        disabled=not fits,
        on_click=decode_under,
        args=(selection, alone),
    )


def decode_under(selection: Selection, edits: Sequence[Edit]) -> None:
    """Show how the sentence is decoded under edits without padding."""
    # Words that were forced there once were not asked for now.
    view = replace(address.last(DecodingView), mask=write(edits), taken="", at=1)
    sentence = selection.sentences[selection.number]
    address.open_view(DECODING, view, **{SENTENCE.name: sentence, TARGET.name: ""})


def show_notices(
    selection: Selection, edits: tuple[Edit, ...], before: Outcome, after: Outcome
) -> None:
    """Notices about the edits."""
    if notice := NOTICE.take():
        hint(escape_markdown(notice))
    unchanged = is_unchanged((before.forced, before.free), (after.forced, after.free))
    if edits and unchanged:
        hint("This edit changes nothing: weights, probabilities and translation stay the same.")
    shown = edit_of(edits, selection.kind, selection.layer)
    if shown and (said := edited_of(selection, shown.allowed).mask.empty_words):
        st.warning(escape_markdown(said), icon=":material/visibility_off:")
