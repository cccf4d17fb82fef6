"""The part of the masks page on which masks are painted, and the model answers."""

import html
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial

import numpy as np
import streamlit as st

from model.record.mask_presets import PRESETS
from model.record.mask_rules import Preset
from model.trace.attention_map import AttentionKind, BoolArray
from viz.browser.matrices import edited, matrices
from viz.decoding.view import VIEW as DECODING
from viz.decoding.view import DecodingView
from viz.draw.labels import axis_texts, escape_markdown
from viz.draw.panels import PAINTING_HELP
from viz.links.mask_edits import Edit, intervention, write
from viz.links.parameters import write as write_view
from viz.masks.mask import edited_mask
from viz.masks.panels import empty_words, is_unchanged, translations_html
from viz.masks.pictures import EditedWeights, Edits, LogProbs
from viz.masks.view import VIEW, MasksView
from viz.pages.masks_selection import (
    FIRST_SETTINGS,
    Chosen,
    current_edits,
    preset_allowed,
    show_caption,
    show_probabilities,
    show_translations,
    store,
)
from viz.registry.pages import SENTENCE, TARGET
from viz.service import jobs, session
from viz.shell import address, stage
from viz.shell.fragments import fragment
from viz.shell.theme import is_dark

HAS_CAUSAL = {"none", "causal", "strictly_causal", "look_ahead", "causal_window"}
"""Presets that are no use together with the causal mask, or hold it already."""


def edit_of(edits: Sequence[Edit], kind: AttentionKind, layer: int) -> Edit | None:
    """The edit of one kind of attention that holds in a layer, or else another of that kind."""
    of_kind = [edit for edit in edits if edit.kind is kind]
    here = [edit for edit in of_kind if edit.layers is not None and layer in edit.layers]
    everywhere = [edit for edit in of_kind if edit.layers is None]
    return next(iter([*here, *everywhere, *of_kind]), None)


def edited_to(chosen: Chosen, allowed: BoolArray) -> list[Edit]:
    """All edits, with this mask in the place of the one that is shown."""
    edits = current_edits(chosen)
    old = edit_of(edits, chosen.kind, chosen.layer)
    others = [edit for edit in edits if edit is not old]
    # Beside another edit of the same attention, the model's own mask in some layers is an edit too.
    alone = all(edit.kind is not chosen.kind for edit in others)
    if alone and np.array_equal(allowed, chosen.own.allowed):
        return others
    return [*others, Edit(chosen.kind, chosen_layers(chosen), allowed)]


def show_presets(chosen: Chosen, edits: tuple[Edit, ...]) -> None:
    """Masks to begin with."""
    known = {name: each for name, each in PRESETS.items() if chosen.kind in each.kinds}
    if st.session_state.get("preset") not in known:
        st.session_state["preset"] = next(iter(known))
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        name = st.selectbox(
            "Preset",
            list(known),
            list(known).index(address.value_of("preset")),
            key="preset",
            format_func=lambda name: known[name].title,
            label_visibility="collapsed",
            width=200,
        )
        preset = known[name]
        show_settings(preset, chosen)
        if has_causal_toggle(chosen):
            st.toggle(
                "And causal",
                value=True,
                key="preset-causal",
                help="Forbids later positions as well, as in training.",
            )
        show_layers(chosen, edit_of(edits, chosen.kind, chosen.layer))
        st.button("Apply", type="primary", on_click=apply_preset, args=(chosen,), key="apply")
        show_edits(edits)
        show_caption(f"{preset.description} Or paint on the mask below.")


def show_settings(preset: Preset, chosen: Chosen) -> None:
    """What a preset can be told, under keys such as preset-k."""
    most = max(len(chosen.own.queries), len(chosen.own.keys))
    for setting, said in {"k": "Positions ahead", "width": "Positions each way"}.items():
        if setting not in preset.settings:
            continue
        key = f"preset-{setting}"
        st.session_state[key] = min(st.session_state.get(key, FIRST_SETTINGS[setting]), most)
        st.number_input(
            said, 0, most, address.value_of(key), key=key, label_visibility="collapsed", width=130
        )
    if "keys" in preset.settings:
        texts = axis_texts(chosen.own.keys)
        blocked = st.session_state.get("preset-keys", FIRST_SETTINGS["keys"])
        st.session_state["preset-keys"] = [place for place in blocked if place < len(texts)]
        st.multiselect(
            "Words that nobody may look at",
            range(len(texts)),
            address.value_of("preset-keys"),
            key="preset-keys",
            format_func=lambda place: escape_markdown(f"{texts[place]} ({place})"),
            placeholder="Words to block",
            label_visibility="collapsed",
            width=300,
        )


def has_causal_toggle(chosen: Chosen) -> bool:
    """Whether the chosen preset can be joined with the causal mask."""
    return chosen.kind is AttentionKind.DECODER and st.session_state["preset"] not in HAS_CAUSAL


def apply_preset(chosen: Chosen) -> None:
    """Put the chosen preset in the place of the mask."""
    settings = {
        name: st.session_state.get(f"preset-{name}", first)
        for name, first in FIRST_SETTINGS.items()
    }
    preset = PRESETS[st.session_state["preset"]]
    allowed = preset_allowed(preset, chosen, settings)
    if has_causal_toggle(chosen) and st.session_state.get("preset-causal", True):
        allowed = allowed & chosen.masks["causal"].allowed
    edits = edited_to(chosen, allowed)
    store(edits)
    if np.array_equal(allowed, chosen.own.allowed):
        st.session_state["_mask_notice"] = (
            f"“{preset.title}” is the model's own mask here, so it edits nothing."
        )


def show_layers(chosen: Chosen, edit: Edit | None) -> None:
    """In which layers an edit holds."""
    every, key = tick_layers(chosen, edit)
    layers = chosen_layers(chosen)
    if layers is None:
        said = f"In all {len(every)} layers" if len(every) > 1 else "In the one layer"
    else:
        said = f"In layer{'s' * (len(layers) > 1)} {', '.join(map(str, layers))}"
    with st.popover(said, key="layers-menu"):
        st.pills(
            "The mask holds in the layers",
            every,
            selection_mode="multi",
            default=address.value_of(key),
            key=key,
            on_change=on_layers,
            args=(chosen,),
        )


def tick_layers(chosen: Chosen, edit: Edit | None) -> tuple[tuple[int, ...], str]:
    """Every layer there is, and the key of those in which the edit holds, which are then set."""
    every = chosen.trace.layers(chosen.kind)
    key = f"layers-{chosen.kind}"
    if edit is not None:
        st.session_state[key] = list(edit.layers or every)
    elif not st.session_state.get(key):
        st.session_state[key] = list(every)
    return every, key


def store_shown(edits: Sequence[Edit]) -> None:
    """Keep edits that the painted matrix shows already; any other text begins it anew."""
    store(edits)
    st.session_state["_mask_heard"] = address.read(MasksView).edit


def on_edit(chosen: Chosen) -> None:
    """Take over what was painted."""
    allowed = edited("editor", chosen.painted, chosen.own.cells.shape)
    if allowed is not None:
        store_shown(edited_to(chosen, allowed))


def on_layers(chosen: Chosen) -> None:
    """Take over in which layers an edit holds."""
    edits = current_edits(chosen)
    old = edit_of(edits, chosen.kind, chosen.layer)
    layers = chosen_layers(chosen)
    store_shown([Edit(edit.kind, layers, edit.allowed) if edit is old else edit for edit in edits])


def chosen_layers(chosen: Chosen) -> tuple[int, ...] | None:
    """The layers that are ticked; None for all of them."""
    every = chosen.trace.layers(chosen.kind)
    ticked = tuple(sorted(st.session_state.get(f"layers-{chosen.kind}") or every))
    return None if ticked == every else ticked


def epoch(written: str) -> int:
    """Counts how often the mask came from elsewhere than from painting: a preset, a link, Back."""
    if written != st.session_state.get("_mask_heard", ""):
        st.session_state["_mask_heard"] = written
        st.session_state["_mask_epoch"] = st.session_state.get("_mask_epoch", 0) + 1
    count: int = st.session_state.get("_mask_epoch", 0)
    return count


@fragment
def show_editor(chosen: Chosen) -> None:
    """The mask to paint on, and what the model does with it."""
    if address.is_navigating():
        # A fragment runs alone, and another page concerns the whole app.
        st.rerun()
    edits = current_edits(chosen)
    # Only now, since edits that do not fit were dropped.
    written = address.read(MasksView).edit
    edit = edit_of(edits, chosen.kind, chosen.layer)
    if stage.is_on():
        tick_layers(chosen, edit)
    else:
        show_presets(chosen, edits)
    own = chosen.own
    allowed = edit.allowed if edit else own.allowed
    before = session.run(chosen.question)
    after = session.run(chosen.question, intervention(edits))
    first, second = (each.forced.attention(chosen.kind, chosen.layer) for each in (before, after))
    picture = EditedWeights(chosen.at, Edits(edits), own, allowed, (first, second))
    with stage.picture():
        if stage.is_on():
            names = ("Before", "After")
            texts = before.free.text, after.free.text
            given = typed_log_probs(chosen, before, after)
            st.html(translations_html(*texts, names, dark=is_dark(), given=given))
        matrices(
            # Three are as many as can be read from the back row.
            picture.panels[:3] if stage.is_on() else picture.panels,
            key="editor",
            height=15,
            epoch=epoch(written),
            name=chosen.painted,
            stage=stage.is_on(),
            on_edit=partial(on_edit, chosen),
        )
    if not stage.is_on():
        show_change(chosen, picture, before, after)
    address.write_address()
    st.html(f'<span class="headscope-done" data-done="{html.escape(written)}"></span>')


def typed_log_probs(
    chosen: Chosen, before: jobs.Outcome, after: jobs.Outcome
) -> tuple[float, float] | None:
    """The mean log-probability of a token of the typed target in two runs; None without one."""
    if not chosen.at.is_typed:
        return None
    one, other = (chosen.log_probs(run.forced)[1] for run in (before, after))
    return float(one.mean()), float(other.mean())


def show_change(
    chosen: Chosen, picture: EditedWeights, before: jobs.Outcome, after: jobs.Outcome
) -> None:
    """What edits change, below the matrices, which are `picture`."""
    show_translations(chosen, before, after, ("Before", "After"), [picture])
    offer_decoding(chosen, picture.edits.edits)
    show_caption(f"{chosen.at.sentence}: the model reads its own words so far.")
    show_notices(chosen, picture.edits.edits, before, after)
    sides = chosen.log_probs(before.forced), chosen.log_probs(after.forced)
    show_probabilities(LogProbs(chosen.at, picture.edits, sides))
    show_caption(
        "Painting: drag on the first matrix to turn cells, on its labels to turn rows or columns; "
        f"{PAINTING_HELP} Beside it: "
        f"{chosen.at.title}, under teacher forcing."
    )


def offer_decoding(chosen: Chosen, edits: tuple[Edit, ...]) -> None:
    """A button to how the sentence is decoded under its edits."""
    if not edits:
        return
    n_source, n_target = (
        counts[chosen.number] for counts in (chosen.batch.n_source, chosen.batch.n_target)
    )
    alone = [own for edit in edits if (own := edit.without_padding(n_source, n_target)) is not None]
    fits = len(alone) == len(edits)
    st.button(
        "Decode under this mask",
        key="decode-under",
        icon=DECODING.icon,
        help="Opens the decoding page: step by step, as a tree, with other searches."
        if fits
        else "This mask lets words look at padding, and a sentence that is decoded alone has none.",
        disabled=not fits,
        on_click=decode_under,
        args=(chosen, alone),
    )


def decode_under(chosen: Chosen, edits: Sequence[Edit]) -> None:
    """Show how the chosen sentence is decoded under edits that say nothing of padding."""
    _, query = address.current()
    ours = {each.name for each in (*VIEW.parameters, TARGET)}
    around = {name: text for name, text in query.items() if name not in ours}
    # Words that were taken there once are not what was asked for now.
    shown = replace(address.last(DecodingView), mask=write(edits), taken="", at=1)
    address.navigate(
        DECODING.name,
        around
        | {SENTENCE.name: chosen.sentences[chosen.number]}
        | write_view(asdict(shown), DECODING.parameters),
    )


def show_notices(
    chosen: Chosen, edits: tuple[Edit, ...], before: jobs.Outcome, after: jobs.Outcome
) -> None:
    """What has to be said of the edits."""
    if notice := st.session_state.pop("_mask_notice", None):
        st.info(escape_markdown(notice), icon=":material/info:")
    unchanged = is_unchanged((before.forced, before.free), (after.forced, after.free))
    if edits and unchanged:
        st.info(
            "This edit changes nothing: every weight, every probability and the translation are as "
            "before.",
            icon=":material/info:",
        )
    shown = edit_of(edits, chosen.kind, chosen.layer)
    if shown and (said := empty_words(edited_mask(chosen.own, shown.allowed))):
        st.warning(escape_markdown(said), icon=":material/visibility_off:")


def show_edits(edits: tuple[Edit, ...]) -> None:
    """Every edit by name, and how to be rid of it."""
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
