"""Masks: every mask of the model, two side by side, and what the model does under others."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import streamlit as st

from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.sentences import TextError
from viz.browser.kept import Kept, nothing
from viz.browser.matrices import matrices
from viz.draw.labels import axis_texts, escape_markdown, visible
from viz.links.mask_edits import EDITABLE
from viz.masks.batch_masks import batch_masks, repeated, token_grid
from viz.masks.compared import (
    ComparedMasks,
    ComparedWeights,
    MovedHeads,
    NamedMask,
    TwoMasks,
    most_moved,
    moved_heads,
)
from viz.masks.head_in_batch import sentence_name
from viz.masks.head_steps import HeadSteps, RowLesson
from viz.masks.log_probs import LogProbs
from viz.masks.mask import mask_title
from viz.masks.own_masks import BatchTokens, DecoderFactors, OtherMasks
from viz.masks.steps import Steps, fill_lesson, head_steps, most_masked
from viz.masks.tables import grid_html, lesson_html
from viz.masks.view import FURTHER, KEYS, MOST_SENTENCES, PARTS, USUAL, VIEW, MasksView
from viz.masks.window import OpeningWindow
from viz.pages.masks_change import show_editor
from viz.pages.masks_selection import (
    FIRST_SETTINGS,
    NO_SCORES,
    Selection,
    current_edits,
    edited_of,
    largest_score,
    preset_of,
    presets_of,
    show_caption,
    show_probabilities,
    show_translations,
)
from viz.pages.masks_stage import offer_keys, show_compared, show_factors, show_steps
from viz.service import session
from viz.service.jobs.running import translate
from viz.service.questions import OfModel
from viz.service.results import Batch
from viz.shell import address, bar, current_head, stage
from viz.shell.save_menu import captioned, save_button
from viz.shell.theme import is_dark
from viz.shell.widgets import brief, hint, menu, segments
from viz.shell.width import watch_width

_SUITED: Kept[str | None] = Kept(KEYS("suited"), nothing)
_USUAL: Kept[dict[str, str]] = Kept(KEYS("usual"), dict)
"""The sentences taken from a model's examples while nobody typed any."""

COMPARED_HEIGHT = 15
"""The height of compared matrices in rem: a small screen then shows the translations as well."""


def bring_head() -> None:
    """Show the head of the page before, or again the one that was shown here."""
    heads = current_head.brought(VIEW.name)
    if heads is None:
        return
    if not heads:
        address.bring(layer=USUAL, head=USUAL)
        return
    # The joint picture shows one of each kind.
    masked = address.read(MasksView).masked
    site, head = next((each for each in heads if str(each[0].kind) == masked), heads[0])
    if str(site.kind) in map(str, EDITABLE):
        address.bring(masked=str(site.kind), layer=site.layer, head=head)


def clamp_view(question: OfModel) -> MasksView:
    """The view, with sentence, layer and head in the range of this batch and model."""
    view = address.read(MasksView)
    places = {"layer": view.layer, "head": view.head}
    if USUAL in places.values():
        opening = opening_head(question, view)
        places = {
            name: opening[name] if place == USUAL else place for name, place in places.items()
        }
        if view.masked == MasksView().masked:
            current_head.open_with(
                VIEW.name, [Head(Site(view.kind, places["layer"]), places["head"])]
            )
    for name, count in counts(question, view.kind).items():
        places[name] = max(0, min(places[name], count - 1))
    address.change(number=min(view.number, view.n_sentences), **places)
    return address.read(MasksView)


def opening_head(question: OfModel, view: MasksView) -> dict[str, int]:
    """The layer and head from which the mask hides most weight; the first if it hides none."""
    number = min(view.number, view.n_sentences)
    selection = selection_of(question, replace(view, number=number, layer=0, head=0))
    place = None
    if selection is not None:
        sites = [
            attention for site, attention in selection.trace.maps.items() if site.kind is view.kind
        ]
        place = most_masked(sites, selection.lengths)
    return dict(zip(("layer", "head"), place or (0, 0), strict=True))


def counts(question: OfModel, kind: AttentionKind) -> dict[str, int]:
    """The numbers of layers and heads of a kind of attention."""
    config = session.translator(question.checkpoint).model.config
    is_encoder = kind is AttentionKind.ENCODER
    return {
        "layer": config.n_encoder_layers if is_encoder else config.n_decoder_layers,
        "head": config.n_heads,
    }


def show_choice(question: OfModel, view: MasksView) -> None:
    """The fields for the part, the batch, the sentence and the head."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        segments("Part", PARTS, key=KEYS("part"))
        show_further(view)
        if view.n_sentences > 1:
            sentences = {number: f"Sentence {number}" for number in range(1, view.n_sentences + 1)}
            menu("Sentence", sentences, key=KEYS("number"), hides_label=True, width=136)
        # All masks together belong to no head.
        if view.part != "see":
            show_heads(question, view)
    if len(view.further) >= MOST_SENTENCES:
        st.warning(
            f"A batch holds at most {MOST_SENTENCES} sentences, including the one above; the last "
            f"{len(view.further) - MOST_SENTENCES + 1} are left out.",
            icon=":material/content_cut:",
        )


def show_further(view: MasksView) -> None:
    """A field for the further sentences of the batch."""
    count = view.n_sentences
    with st.popover(
        f"Batch of {count}" if count > 1 else "One sentence",
        icon=":material/format_list_numbered:",
        key=KEYS("batch-menu"),
    ):
        st.text_area(
            "Further sentences in the batch, one per line",
            view.batch,
            key=KEYS("batch"),
            height=170,
            width=440,
            placeholder="None: a batch of one sentence has no padding",
        )
        show_caption(
            f"At most {MOST_SENTENCES}, including the one above, padded to the same length. "
            "Press Ctrl+Enter to apply."
        )


def show_heads(question: OfModel, view: MasksView) -> None:
    """Fields for the attention, the layer and the head."""
    segments("Attention", {str(kind): kind.short_name for kind in EDITABLE}, key=KEYS("masked"))
    for name, count in counts(question, view.kind).items():
        title = name.capitalize()
        numbers = {number: f"{title} {number}" for number in range(count)}
        menu(title, numbers, key=KEYS(name), hides_label=True, width=116)


def selection_of(question: OfModel, view: MasksView) -> Selection | None:
    """The batch and the selection in it; None if a sentence cannot be translated."""
    asked = replace(
        question, further=tuple(view.further[: MOST_SENTENCES - 1]), number=view.number - 1
    )
    made = batch_of(asked)
    return None if made is None else Selection(asked, made, view.kind, view.layer, view.head)


def batch_of(question: OfModel) -> Batch | None:
    """The traces of a batch; None, with a warning, if something is wrong with a sentence."""
    for number, sentence in enumerate(question.sentences):
        try:
            session.ask(translate(question.version, sentence))
        except TextError as error:
            named = sentence_name(number, sentence)
            st.warning(
                escape_markdown(f"{named}, cannot be translated. {error}"), icon=":material/edit:"
            )
            return None
    try:
        return session.ask(question.record_batch)
    except TextError as error:
        st.warning(
            escape_markdown(f"These sentences do not make a batch. {error}"),
            icon=":material/edit:",
        )
        return None


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


def show_inside(selection: Selection) -> None:
    """From scores to output, with the mask and without it."""
    attention, head = selection.attention, selection.head
    if attention.scores is None or attention.v is None:
        hint(NO_SCORES)
        return
    with_mask = head_steps(attention, head)
    without = head_steps(attention, head, np.ones_like(with_mask.allowed))

    def run(under: Intervention) -> Trace:
        return session.run(selection.question, under).forced

    limit = largest_score(selection, with_mask)
    longest = max(float(without.contributions.max()), float(with_mask.contributions.max()), 1e-6)
    for name, heading, inside in (
        ("with-mask", "With the mask", with_mask),
        ("without-mask", "Without the mask", without),
    ):
        st.subheader(f"{heading}: sentence {selection.number + 1}", anchor=False)
        picture = HeadSteps(
            selection.at, attention, inside, limit, longest, hatched=inside is with_mask
        )
        matrices(picture.panels, key=KEYS(name), height=18)
        windows = [OpeningWindow(attention, head, run)] if inside is with_mask else []
        save_button([picture, *windows], KEYS(name))
    brief(
        [
            "The mask removes scores before the softmax, so other weights grow.",
            "The last picture shows the length of weight times value: how much each key adds to "
            "this head's output, before W_O.",
            "Without the mask, only this head is recomputed.",
        ],
        KEYS("inside"),
    )
    show_lesson(selection, with_mask)


def show_lesson(selection: Selection, inside: Steps) -> None:
    """A row without allowed keys, for each value that may replace its scores."""
    st.subheader("A row with nothing to look at", anchor=False)
    queries, keys = (
        axis_texts(axis) for axis in (selection.attention.queries, selection.attention.keys)
    )
    row = selection.lengths[0] - 1
    lesson = fill_lesson(inside.scores[row], np.zeros(len(keys), dtype=np.bool_))
    st.html(lesson_html(lesson, keys, dark=is_dark()))
    captioned(
        escape_markdown(
            f"All keys of the query {queries[row]} ({row}) are forbidden, in three ways."
        ),
        [RowLesson(selection.at, lesson, selection.attention.keys)],
        KEYS("lesson"),
        further=lesson.explanation,
    )


FACTORS = {
    AttentionKind.DECODER: ("causal", "target-padding"),
    AttentionKind.ENCODER: ("source-padding",),
    AttentionKind.CROSS: ("source-padding",),
}
"""The masks that the model adds to that of an attention."""


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
    with st.container(horizontal=True, gap="medium"):
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
                menu(f"Mask {slot.upper()}", titles, key=KEYS(slot), hides_label=True)
    view = address.read(MasksView)
    return TwoMasks(masks[view.a], masks[view.b])


def show_comparison(selection: Selection) -> None:
    """Two masks, and what changes from one to the other: translation, one head, all heads."""
    masks = slots(selection)
    both = choose_slots(selection, masks)
    picture = ComparedMasks(selection.at, both)
    if stage.is_on():
        show_compared(picture, list(dict.fromkeys(each.name for each in masks.values())))
        return
    show_masks_compared(picture)
    one, other = (
        session.run(selection.question, Intervention(masks={selection.kind: mask.allowed}))
        for mask in both.masks
    )
    show_translations(selection, one, other, both.names)
    show_moved(selection, both, (one.forced, other.forced))
    sides = selection.log_probs(one.forced), selection.log_probs(other.forced)
    show_probabilities(LogProbs(selection.at, both, sides))


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


def show_masks_compared(picture: ComparedMasks) -> None:
    """Two masks, what they hide together, and their difference."""
    matrices(picture.panels, key=KEYS("compared"), height=COMPARED_HEIGHT)
    captioned(picture.caption, [picture], KEYS("compared"))


def suit_batch(question: OfModel) -> None:
    """Give the batch sentences of the model's language or task, while nobody typed any."""
    batch = address.read(MasksView).batch
    if batch not in (FURTHER, _SUITED.value):
        return
    suited = FURTHER
    if not bar.reads(question.folder, FURTHER.splitlines()[0]):
        examples = [each.source for each in session.examples(question.folder)]
        others = sorted((each for each in examples if each != question.sentence), key=len)
        suited = "\n".join([*others[:1], *others[len(others) // 2 :][:1]])
    if suited != batch:
        address.change(batch=suited)
    _SUITED.value = suited


def show(question: OfModel) -> None:
    """Everything, for a question that has an answer."""
    show_part(question)
    watch_width()


def show_part(question: OfModel) -> None:
    """The selected part."""
    suit_batch(question)
    bring_head()
    view = clamp_view(question)
    if not stage.is_on():
        show_choice(question, view)
    current_head.note(VIEW.name, [Head(Site(view.kind, view.layer), view.head)])
    selection = selection_of(question, view)
    if selection is None:
        return
    if stage.is_on():
        offer_keys(selection, view.part)
    match view.part:
        case "inside" if stage.is_on():
            show_steps(selection)
        case "inside":
            show_inside(selection)
        case "compare":
            show_comparison(selection)
        case "change":
            show_editor(selection)
        case _ if stage.is_on():
            show_factors(selection)
        case _:
            show_masks(selection)
