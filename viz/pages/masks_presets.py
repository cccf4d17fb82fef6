"""The masks that one can choose, their settings, and the layers to which an edit applies."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from model.record.mask_presets import PRESETS
from model.record.mask_rules import Preset
from model.trace.attention_map import AttentionKind, BoolArray
from viz.draw.labels import axis_texts
from viz.links.mask_edits import Edit
from viz.masks.compared import NamedMask
from viz.masks.mask import mask_title
from viz.masks.view import KEYS, MasksView
from viz.pages.masks_selection import (
    FIRST_SETTINGS,
    Selection,
    current_edits,
    edited_of,
    is_own,
    preset_of,
    presets_of,
    show_caption,
    store,
)
from viz.shell import address
from viz.shell.widgets import menu

PRESET = KEYS("preset")

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


def show_presets(
    selection: Selection,
    edits: tuple[Edit, ...],
    shown: NamedMask,
    on_layers: Callable[[Selection], None],
) -> None:
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
        with st.popover("Layers", type="tertiary", key=KEYS("mask-layers")):
            show_layers(selection, edit_of(edits, selection.kind, selection.layer), on_layers)
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


def show_layers(
    selection: Selection, edit: Edit | None, on_layers: Callable[[Selection], None]
) -> None:
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


def ticked_layers(selection: Selection) -> tuple[int, ...] | None:
    """The ticked layers; None for all."""
    every = selection.trace.layers(selection.kind)
    ticked = tuple(sorted(st.session_state.get(KEYS("layers", selection.kind)) or every))
    return None if ticked == every else ticked


def show_edits(edits: tuple[Edit, ...]) -> None:
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
