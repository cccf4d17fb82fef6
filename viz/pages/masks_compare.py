"""Two masks, and what changes from one to the other: translation, one head, all heads."""

from collections.abc import Mapping
from contextlib import nullcontext

import numpy as np
import streamlit as st

from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.trace import Trace
from viz.browser.kept import Kept
from viz.browser.matrices import matrices
from viz.draw.labels import visible
from viz.masks.batch_masks import batch_masks, repeated
from viz.masks.compared import (
    ComparedMasks,
    ComparedWeights,
    MovedHeads,
    NamedMask,
    TwoMasks,
    most_moved,
    moved_heads,
)
from viz.masks.log_probs import LogProbs
from viz.masks.mask import mask_title
from viz.masks.view import KEYS, MasksView
from viz.pages.masks_selection import (
    FIRST_SETTINGS,
    Selection,
    current_edits,
    edited_of,
    preset_of,
    presets_of,
    show_probabilities,
    show_translations,
)
from viz.service import session
from viz.shell import address, stage, tab_row
from viz.shell.save_menu import captioned
from viz.shell.widgets import menu

_USUAL: Kept[dict[str, str]] = Kept(KEYS("usual"), dict)
"""The masks A and B that nobody chose."""

COMPARED_HEIGHT = 15
"""The height of compared matrices in rem: a small screen then shows the translations as well."""

FACTORS = {
    AttentionKind.DECODER: ("causal", "target-padding"),
    AttentionKind.ENCODER: ("source-padding",),
    AttentionKind.CROSS: ("source-padding",),
}
"""The masks that the model adds to that of an attention."""


def show_comparison(selection: Selection) -> None:
    """Two masks, and what changes from one to the other: translation, one head, all heads."""
    both = choose_slots(selection, slots(selection))
    picture = ComparedMasks(selection.at, both)
    name = f"{both.a.name} {both.b.name}"
    matrices(picture.beside, key=KEYS("compared"), name=name, example=picture.example)
    captioned(picture.caption, [picture], KEYS("compared"))
    one, other = (
        session.run(selection.question, Intervention(masks={selection.kind: mask.allowed}))
        for mask in both.masks
    )
    show_translations(selection, one, other, both.names)
    show_moved(selection, both, (one.forced, other.forced))
    sides = selection.log_probs(one.forced), selection.log_probs(other.forced)
    show_probabilities(LogProbs(selection.at, both, sides))
    if picture.together:
        st.subheader("What A and B hide together", anchor=False)
        matrices(picture.together, key=KEYS("together"), height=COMPARED_HEIGHT)


def show_comparison_on_stage(selection: Selection) -> None:
    """Two masks and their difference."""
    masks = slots(selection)
    both = choose_slots(selection, masks)
    names = list(dict.fromkeys(each.name for each in masks.values()))
    stage.say("Two masks compared")
    stage.offer(
        "Up and down: mask A · Left and right: mask B",
        across=stage.Step(KEYS("b"), names, both.b.name),
        down=stage.Step(KEYS("a"), names, both.a.name),
    )
    with stage.picture():
        picture = ComparedMasks(selection.at, both)
        matrices(picture.beside, key=KEYS("compared"), stage=True, example=picture.example)


def slots(selection: Selection) -> dict[str, NamedMask]:
    """Every mask that this attention can have, by its names in the address; of equals, the first.

    All are of its size: a row for all queries is repeated, as the model broadcasts it.
    """
    masks: dict[str, NamedMask] = {}

    def add(name: str, named: NamedMask) -> None:
        alike = (each for each in masks.values() if is_same(each, named))
        masks[name] = next(alike, named)

    def add_own(number: int, prefix: str = "") -> None:
        of_sentence = batch_masks(selection.batch.padded, number)
        queries = of_sentence[str(selection.kind)].queries
        for name in (str(selection.kind), *FACTORS[selection.kind]):
            mask = repeated(of_sentence[name], queries)
            full = f"{number + 1}.{name}"
            add(full, NamedMask(full, f"{prefix}{mask_title(mask)}", mask))

    add_own(selection.number)
    for name in presets_of(selection.kind):
        add(f"preset.{name}", preset_of(name, selection, FIRST_SETTINGS))
    for edit in current_edits(selection):
        if edit.kind is selection.kind:
            add(f"edited.{edit.kind}", edited_of(selection, edit.allowed))
    for number in range(len(selection.sentences)):
        if number != selection.number:
            add_own(number, f"Sentence {number + 1}: ")
    return masks


def is_same(one: NamedMask, other: NamedMask) -> bool:
    """Whether two masks are equal, so that they have one name."""
    return np.array_equal(one.mask.allowed, other.mask.allowed)


def choose_slots(selection: Selection, masks: Mapping[str, NamedMask]) -> TwoMasks:
    """The masks A and B."""
    number, kind = selection.number + 1, selection.kind
    if kind is AttentionKind.DECODER:
        first, second = (f"{number}.{name}" for name in FACTORS[kind])
    else:
        first, second = f"{number}.{kind}", "preset.window"
    usual = {"a": masks[first].name, "b": masks[second].name}
    before, _USUAL.value = _USUAL.value, usual
    view = address.read(MasksView)
    with nullcontext() if stage.is_on() else tab_row.beside():
        for slot, asked in {"a": view.a, "b": view.b}.items():
            # A default follows the sentence and the attention.
            if asked not in masks or asked == before.get(slot):
                if asked and asked not in masks:
                    address.note(
                        slot,
                        f"There is no mask “{visible(asked)}” here; shown instead: "
                        f"{visible(masks[usual[slot]].title)}.",
                    )
                asked = usual[slot]
            address.change(**{slot: masks[asked].name})
            if not stage.is_on():
                titles = {
                    name: visible(f"{slot.upper()}: {each.title}")
                    for name, each in masks.items()
                    if name == each.name
                }
                menu(f"Mask {slot.upper()}", titles, key=KEYS(slot), hides_label=True, width=220)
    view = address.read(MasksView)
    return TwoMasks(masks[view.a], masks[view.b])


def show_moved(selection: Selection, both: TwoMasks, passes: tuple[Trace, Trace]) -> None:
    """One head's weights under both masks, and how much the weights of every head moved."""
    first, second = (each.attention(selection.kind, selection.layer) for each in passes)
    weights = ComparedWeights(selection.at, both, (first, second))
    lengths = selection.batch.n_source[selection.number], selection.batch.n_target[selection.number]
    moved = moved_heads(*passes, lengths)
    overview = MovedHeads(selection.at, both, moved)
    head, heads = st.columns((3, 1), gap="small")
    with head:
        matrices(weights.panels, key=KEYS("compared-weights"), height=COMPARED_HEIGHT)
    with heads:
        matrices(overview.panels, key=KEYS("moved-heads"), height=COMPARED_HEIGHT)
    captioned(
        f"{selection.at.title}, with A or B in all layers of this attention.",
        [weights, overview],
        KEYS("compared-weights"),
        further=f"Under teacher forcing. {overview.caption}",
    )
    offer_most_moved(selection, moved)


def offer_most_moved(selection: Selection, moved: Mapping[Site, FloatArray]) -> None:
    """A button to the head of this attention whose weights moved most, unless it is shown."""
    here = {site: heads for site, heads in moved.items() if site.kind is selection.kind}
    site, head = most_moved(here)
    if (site.layer, head) == (selection.layer, selection.head) or not here[site][head]:
        return
    st.button(
        f"Show layer {site.layer}, head {head}, whose weights moved most",
        icon=":material/trending_up:",
        key=KEYS("most-moved"),
        on_click=address.change,
        kwargs={"layer": site.layer, "head": head},
    )
