"""The part of the masks page on which masks are painted and the model answers."""

import html
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from model.record.mask_presets import PRESETS
from model.record.mask_rules import Preset
from model.trace.attention_map import AttentionKind, BoolArray
from viz.browser.matrices import edited, epoch_of, keep_painted, matrices
from viz.decoding.view import VIEW as DECODING
from viz.decoding.view import DecodingView
from viz.draw.labels import axis_texts, escape_markdown
from viz.draw.word_diff import translations_html, typed_in
from viz.links.mask_edits import Edit, intervention, write
from viz.masks.log_probs import LogProbs
from viz.masks.mask import edited_mask
from viz.masks.painted import EditedWeights, Edits, is_unchanged
from viz.masks.view import MasksView
from viz.pages.masks_selection import (
    FIRST_SETTINGS,
    Selection,
    current_edits,
    preset_allowed,
    show_probabilities,
    show_translations,
    store,
)
from viz.registry.pages import SENTENCE, TARGET
from viz.service import session
from viz.service.results import Outcome
from viz.shell import address, opening, stage
from viz.shell.fragments import fragment
from viz.shell.theme import is_dark
from viz.shell.widgets import hint, menu, options

EDITOR = "editor"
"""The key of the matrices, one of which is painted on."""

HAS_CAUSAL = {"none", "causal", "strictly_causal", "look_ahead", "causal_window"}
"""Presets that make no sense together with the causal mask, or contain it."""


def edit_of(edits: Sequence[Edit], kind: AttentionKind, layer: int) -> Edit | None:
    """The edit of a kind of attention that applies to a layer, or else another of that kind."""
    of_kind = [edit for edit in edits if edit.kind is kind]
    here = [edit for edit in of_kind if edit.layers is not None and layer in edit.layers]
    everywhere = [edit for edit in of_kind if edit.layers is None]
    return next(iter([*here, *everywhere, *of_kind]), None)


def edited_to(selection: Selection, allowed: BoolArray) -> list[Edit]:
    """All edits, with this mask instead of the one that is shown."""
    edits = current_edits(selection)
    old = edit_of(edits, selection.kind, selection.layer)
    others = [edit for edit in edits if edit is not old]
    # Beside another edit of the same attention, the model's own mask in some layers is an edit.
    alone = all(edit.kind is not selection.kind for edit in others)
    if alone and np.array_equal(allowed, selection.own.allowed):
        return others
    return [*others, Edit(selection.kind, ticked_layers(selection), allowed)]


def show_presets(selection: Selection, edits: tuple[Edit, ...]) -> None:
    """The row of presets and of the layers to which a mask applies."""
    known = {name: each for name, each in PRESETS.items() if selection.kind in each.kinds}
    if st.session_state.get("preset") not in known:
        st.session_state["preset"] = next(iter(known))
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        titles = {name: each.title for name, each in known.items()}
        menu("Preset", titles, key="preset", hides_label=True, width=200)
        preset = known[st.session_state["preset"]]
        show_settings(preset, selection)
        st.button(
            "Apply",
            type="primary",
            on_click=apply_preset,
            args=(selection,),
            key="apply",
            help=preset.description,
            width=100,
        )
        with options("mask-options"):
            if has_causal_toggle(selection):
                st.toggle(
                    "And causal",
                    value=True,
                    key="preset-causal",
                    help="Also forbids later positions, as in training.",
                )
            show_layers(selection, edit_of(edits, selection.kind, selection.layer))
        show_edits(edits)


def open_unmasked(selection: Selection) -> None:
    """Let the editor open with no mask, where nothing was edited yet and no link asked for that."""
    if opening.is_first("change") and not address.read(MasksView).edit:
        allowed = preset_allowed(PRESETS["none"], selection, FIRST_SETTINGS)
        store(edited_to(selection, allowed))


def show_settings(preset: Preset, selection: Selection) -> None:
    """The settings of a preset, under keys such as preset-k."""
    most = max(len(selection.own.queries), len(selection.own.keys))
    for setting, said in {"k": "Positions ahead", "width": "Positions each way"}.items():
        if setting not in preset.settings:
            continue
        key = f"preset-{setting}"
        st.session_state[key] = min(st.session_state.get(key, FIRST_SETTINGS[setting]), most)
        st.number_input(
            said, 0, most, address.value_of(key), key=key, label_visibility="collapsed", width=130
        )
    if "keys" in preset.settings:
        texts = axis_texts(selection.own.keys)
        blocked = st.session_state.get("preset-keys", FIRST_SETTINGS["keys"])
        st.session_state["preset-keys"] = [place for place in blocked if place < len(texts)]
        st.multiselect(
            "Blocked words",
            range(len(texts)),
            address.value_of("preset-keys"),
            key="preset-keys",
            format_func=lambda place: f"{texts[place]} ({place})",
            placeholder="Words to block",
            label_visibility="collapsed",
            width=300,
        )


def has_causal_toggle(selection: Selection) -> bool:
    """Whether the selected preset can be combined with the causal mask."""
    return selection.kind is AttentionKind.DECODER and st.session_state["preset"] not in HAS_CAUSAL


def apply_preset(selection: Selection) -> None:
    """Replace the mask by the selected preset."""
    settings = {
        name: st.session_state.get(f"preset-{name}", first)
        for name, first in FIRST_SETTINGS.items()
    }
    preset = PRESETS[st.session_state["preset"]]
    allowed = preset_allowed(preset, selection, settings)
    if has_causal_toggle(selection) and st.session_state.get("preset-causal", True):
        allowed = allowed & selection.masks["causal"].allowed
    edits = edited_to(selection, allowed)
    store(edits)
    if np.array_equal(allowed, selection.own.allowed):
        st.session_state["_mask_notice"] = (
            f"“{preset.title}” is the model's own mask here, so nothing is edited."
        )


def show_layers(selection: Selection, edit: Edit | None) -> None:
    """A field for the layers to which an edit applies."""
    every, key = tick_layers(selection, edit)
    st.pills(
        "Layers to which the mask applies",
        every,
        selection_mode="multi",
        default=address.value_of(key),
        key=key,
        on_change=on_layers,
        args=(selection,),
    )


def tick_layers(selection: Selection, edit: Edit | None) -> tuple[tuple[int, ...], str]:
    """Every layer, and the key of the edit's layers, which are then set."""
    every = selection.trace.layers(selection.kind)
    key = f"layers-{selection.kind}"
    if edit is not None:
        st.session_state[key] = list(edit.layers or every)
    elif not st.session_state.get(key):
        st.session_state[key] = list(every)
    return every, key


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


def ticked_layers(selection: Selection) -> tuple[int, ...] | None:
    """The ticked layers; None for all."""
    every = selection.trace.layers(selection.kind)
    ticked = tuple(sorted(st.session_state.get(f"layers-{selection.kind}") or every))
    return None if ticked == every else ticked


@fragment
def show_editor(selection: Selection) -> None:
    """The mask to paint on, and what the model does under it."""
    if address.is_navigating():
        # A fragment runs alone, and another page concerns the whole app.
        st.rerun()
    edits = current_edits(selection)
    # Only now, since edits that do not fit were dropped.
    written = address.read(MasksView).edit
    edit = edit_of(edits, selection.kind, selection.layer)
    if stage.is_on():
        tick_layers(selection, edit)
    else:
        show_presets(selection, edits)
    own = selection.own
    allowed = edit.allowed if edit else own.allowed
    before = session.run(selection.question)
    after = session.run(selection.question, intervention(edits))
    first, second = (
        each.forced.attention(selection.kind, selection.layer) for each in (before, after)
    )
    picture = EditedWeights(selection.at, Edits(edits), own, allowed, (first, second))
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
            height=15,
            epoch=epoch_of(EDITOR, written),
            name=selection.painted,
            stage=stage.is_on(),
            on_edit=partial(on_edit, selection),
        )
    if not stage.is_on():
        show_change(selection, picture, before, after)
    address.write_address()
    st.html(f'<span class="headscope-done" data-done="{html.escape(written)}"></span>')


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
        key="decode-under",
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
    if notice := st.session_state.pop("_mask_notice", None):
        hint(escape_markdown(notice))
    unchanged = is_unchanged((before.forced, before.free), (after.forced, after.free))
    if edits and unchanged:
        hint("This edit changes nothing: weights, probabilities and translation stay the same.")
    shown = edit_of(edits, selection.kind, selection.layer)
    if shown and (said := edited_mask(selection.own, shown.allowed).empty_words):
        st.warning(escape_markdown(said), icon=":material/visibility_off:")


def show_edits(edits: tuple[Edit, ...]) -> None:
    """Every edit by name, with a button to clear it."""
    counted = f"{len(edits)} edit{'s' * (len(edits) > 1)}" if edits else "No edit"
    with st.popover(counted, key="edits-menu", disabled=not edits):
        for place, edit in enumerate(edits):
            st.button(
                f"Clear {edit}",
                key=f"clear-{place}",
                icon=":material/close:",
                on_click=store,
                args=([other for other in edits if other is not edit],),
            )
        if len(edits) > 1:
            st.button("Clear all edits", key="clear-all", on_click=store, args=([],))
