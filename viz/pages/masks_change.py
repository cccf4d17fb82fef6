"""The part of the masks page on which masks are painted and the model answers."""

import html
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

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
from viz.masks.compared import NamedMask
from viz.masks.log_probs import LogProbs
from viz.masks.mask import mask_title
from viz.masks.painted import EditedWeights, Edits, is_unchanged
from viz.masks.view import KEYS, MasksView
from viz.pages.masks_selection import (
    FIRST_SETTINGS,
    NOTICE,
    Selection,
    current_edits,
    edited_of,
    is_own,
    preset_of,
    presets_of,
    show_caption,
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
from viz.shell.widgets import hint, menu, options

EDITOR = KEYS("editor")
PRESET = KEYS("preset")
"""The key of the matrices, one of which is painted on."""

OWN, EDITED = "own", "edited"
"""What the menu of masks calls the model's own, and one without a name."""


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


def own_of(selection: Selection) -> NamedMask:
    """The model's own mask, by its name."""
    title = f"{mask_title(selection.own)} (the model’s own)"
    return NamedMask(f"{selection.number + 1}.{selection.kind}", title, selection.own)


def named_of(selection: Selection, allowed: BoolArray) -> NamedMask:
    """A mask by the name it has, and the settings of the menu brought to it."""
    last = st.session_state.get(PRESET, "")
    names = presets_of(selection.kind)
    # Several presets may make one mask; the menu stays on the last.
    candidates = [(last, settings_shown())] if last in names else []
    candidates += [(OWN, {})]
    candidates += [(name, settings_of(selection, allowed)) for name in names]
    for name, settings in candidates:
        named = own_of(selection) if name == OWN else preset_of(name, selection, settings)
        if np.array_equal(named.mask.allowed, allowed):
            st.session_state[PRESET] = name
            for setting, value in settings.items():
                st.session_state[KEYS("preset", setting)] = value
            return named
    st.session_state[PRESET] = EDITED
    return edited_of(selection, allowed)


def settings_shown() -> dict[str, Any]:
    """The settings of presets as their fields have them."""
    return {
        name: st.session_state.get(KEYS("preset", name), first)
        for name, first in FIRST_SETTINGS.items()
    }


def settings_of(selection: Selection, allowed: BoolArray) -> dict[str, Any]:
    """The settings with which a preset would make this mask, if it can."""
    ahead = np.subtract(*np.nonzero(allowed)[::-1])
    n_keys = selection.lengths[1]
    blocked = np.flatnonzero(~allowed.any(axis=0)).tolist()
    return {
        "k": max(0, int(ahead.max(initial=0))),
        "width": int(np.abs(ahead).max(initial=0)),
        "keys": [key for key in blocked if key < n_keys],
    }


def show_presets(selection: Selection, edits: tuple[Edit, ...], shown: NamedMask) -> None:
    """The row of masks to choose from, and of the layers to which one applies."""
    named = [(OWN, own_of(selection))]
    for name in presets_of(selection.kind):
        mask = preset_of(name, selection, FIRST_SETTINGS)
        alike = any(np.array_equal(each.mask.allowed, mask.mask.allowed) for _, each in named)
        if not alike or name == st.session_state[PRESET]:
            named.append((name, mask))
    if st.session_state[PRESET] == EDITED:
        named.append((EDITED, shown))
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        menu(
            "Mask",
            {name: each.title for name, each in named},
            key=PRESET,
            hides_label=True,
            width=300,
            on_change=partial(apply_preset, selection),
        )
        if st.session_state[PRESET] in PRESETS:
            show_settings(PRESETS[st.session_state[PRESET]], selection)
        with options(KEYS("mask-options")):
            show_layers(selection, edit_of(edits, selection.kind, selection.layer))
        show_edits(edits)
        show_caption(said_of(selection, edits))


def said_of(selection: Selection, edits: Sequence[Edit]) -> str:
    """What is edited, and by whom; that cells can be painted while nothing is."""
    if not edits:
        layers = len(selection.trace.layers(selection.kind))
        every = f"all {layers} layers obey" if layers > 1 else "the model obeys"
        return f"Click or drag over the cells of the mask to paint it: {every}."
    who = "you" if is_own(address.read(MasksView).edit) else "the link"
    return f"Edited by {who}: {'; '.join(map(str, edits))}."


def show_settings(preset: Preset, selection: Selection) -> None:
    """The settings of a preset, under keys such as masks-preset-k."""
    most = max(len(selection.own.queries), len(selection.own.keys))
    for setting, said in {"k": "Positions ahead", "width": "Positions each way"}.items():
        if setting not in preset.settings:
            continue
        key = KEYS("preset", setting)
        st.session_state[key] = min(st.session_state.get(key, FIRST_SETTINGS[setting]), most)
        st.number_input(
            said,
            0,
            most,
            address.value_of(key),
            key=key,
            label_visibility="collapsed",
            width=130,
            on_change=apply_preset,
            args=(selection,),
        )
    if "keys" in preset.settings:
        texts = axis_texts(selection.own.keys)
        key = KEYS("preset", "keys")
        blocked = st.session_state.get(key, FIRST_SETTINGS["keys"])
        st.session_state[key] = [place for place in blocked if place < len(texts)]
        st.multiselect(
            "Blocked words",
            range(len(texts)),
            address.value_of(key),
            key=key,
            format_func=lambda place: f"{texts[place]} ({place})",
            placeholder="Words to block",
            label_visibility="collapsed",
            width=300,
            on_change=apply_preset,
            args=(selection,),
        )


def apply_preset(selection: Selection) -> None:
    """Let the chosen mask hold."""
    name = st.session_state[PRESET]
    if name == OWN:
        store(edited_to(selection, selection.own.allowed))
    elif name in PRESETS:
        store(edited_to(selection, preset_of(name, selection, settings_shown()).mask.allowed))


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
    key = KEYS("layers", selection.kind)
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
    ticked = tuple(sorted(st.session_state.get(KEYS("layers", selection.kind)) or every))
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
    own = selection.own
    allowed = edit.allowed if edit else own.allowed
    shown = named_of(selection, allowed)
    if stage.is_on():
        tick_layers(selection, edit)
    else:
        show_presets(selection, edits, shown)
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


def show_edits(edits: tuple[Edit, ...]) -> None:
    """Every edit by name, with a button to clear it."""
    counted = f"{len(edits)} edit{'s' * (len(edits) > 1)}" if edits else "No edit"
    with st.popover(counted, key=KEYS("edits-menu"), disabled=not edits):
        for place, edit in enumerate(edits):
            st.button(
                f"Clear {edit}",
                key=KEYS("clear", place),
                icon=":material/close:",
                on_click=store,
                args=([other for other in edits if other is not edit],),
            )
        if len(edits) > 1:
            st.button("Clear all edits", key=KEYS("clear-all"), on_click=store, args=([],))
