"""Masks: every mask of the model, two side by side, and what the model does under others."""

from dataclasses import replace

import streamlit as st

from model.trace.attention_map import AttentionKind, Site
from model.trace.head import Head
from model.translate.sentences import TextError
from viz.browser.kept import Kept, nothing
from viz.draw.labels import escape_markdown
from viz.links.head_refs import USUAL
from viz.links.mask_edits import EDITABLE
from viz.masks.head_in_batch import sentence_name
from viz.masks.steps import most_masked
from viz.masks.view import FURTHER, KEYS, MOST_SENTENCES, PARTS, VIEW, MasksView
from viz.pages.masks_change import show_editor
from viz.pages.masks_compare import show_comparison, show_comparison_on_stage
from viz.pages.masks_inside import show_inside, show_inside_on_stage
from viz.pages.masks_own import show_masks, show_masks_on_stage
from viz.pages.masks_selection import Selection, show_caption
from viz.service import session
from viz.service.jobs.running import translate
from viz.service.questions import OfModel
from viz.service.results import Batch
from viz.shell import address, bar, current_head, stage
from viz.shell.parts import Part
from viz.shell.widgets import menu, segments
from viz.shell.width import watch_width

_SUITED: Kept[str | None] = Kept(KEYS("suited"), nothing)
"""The sentences taken from a model's examples while nobody typed any."""

OF_MASKS = {
    "see": Part(show_masks, show_masks_on_stage),
    "change": Part(show_editor, show_editor),
    "compare": Part(show_comparison, show_comparison_on_stage),
    "inside": Part(show_inside, show_inside_on_stage),
}


def bring_head() -> None:
    """Show the head of the page before, or again the one that was shown here."""
    heads = current_head.brought(VIEW.name)
    if not heads:
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


def offer_keys(selection: Selection, part: str) -> None:
    """The keys of the part, and the texts of the foot."""
    sentence = selection.sentences[selection.number]
    own = session.ask(translate(selection.question.version, sentence)).translation.text
    typed = selection.question.target if selection.number == 0 else ""
    stage.name(sentence, typed or own)
    more = {"v": stage.Step(KEYS("part"), list(PARTS), part, cycles=True)}
    if part == "compare":
        # The comparison knows the masks, and offers the other keys.
        stage.offer("V: part", more=more)
        return
    if part == "see":
        numbers = range(1, len(selection.sentences) + 1)
        stage.offer(
            "Left and right: sentence · V: part",
            across=stage.Step(KEYS("number"), numbers, selection.number + 1),
            more=more,
        )
        return
    kinds = [str(kind) for kind in EDITABLE]
    stage.offer(
        "Arrow keys: layer and head · V: part · A: attention",
        across=stage.Step(KEYS("head"), range(selection.attention.n_heads), selection.head),
        down=stage.Step(KEYS("layer"), selection.trace.layers(selection.kind), selection.layer),
        more={**more, "a": stage.Step(KEYS("masked"), kinds, str(selection.kind), cycles=True)},
    )
    stage.say(f"{PARTS[part]}: {selection.at.title}")


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
    part = OF_MASKS[view.part]
    if stage.is_on():
        offer_keys(selection, view.part)
        part.on_stage(selection)
    else:
        part.show(selection)
