"""Masks: every mask of the model, two side by side, and what the model does under others."""

from collections.abc import Callable
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
from viz.pages.masks_batch import show_batch, show_batch_menu, warn_of_left_out
from viz.pages.masks_change import show_editor, show_editor_on_stage
from viz.pages.masks_compare import show_comparison, show_comparison_on_stage
from viz.pages.masks_inside import show_inside, show_inside_on_stage
from viz.pages.masks_own import show_masks, show_masks_on_stage, show_pictures
from viz.pages.masks_selection import Selection
from viz.service import session
from viz.service.jobs.running import translate
from viz.service.questions import ModelQuestion
from viz.service.results import Batch
from viz.shell import address, bar, current_head, stage, tab_row
from viz.shell.parts import Part, show_parts
from viz.shell.widgets import menu, segments
from viz.shell.width import watch_width

_SUITED: Kept[str | None] = Kept(KEYS("suited"), nothing)
"""The sentences taken from a model's examples while nobody typed any."""


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


def clamp_view(question: ModelQuestion) -> MasksView:
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


def opening_head(question: ModelQuestion, view: MasksView) -> dict[str, int]:
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


def counts(question: ModelQuestion, kind: AttentionKind) -> dict[str, int]:
    """The numbers of layers and heads of a kind of attention."""
    config = session.translator(question.checkpoint).model.config
    is_encoder = kind is AttentionKind.ENCODER
    return {
        "layer": config.n_encoder_layers if is_encoder else config.n_decoder_layers,
        "head": config.n_heads,
    }


def show_everything(selection: Selection) -> None:
    """Fields for the attention, the layer and the head, and the batch."""
    show_places(selection)
    show_batch(selection)


def beside_places(show: Callable[[Selection], None]) -> Callable[[Selection], None]:
    """Show a part that is about one head, whose fields stand beside the tabs."""

    def show_part(selection: Selection) -> None:
        with tab_row.beside():
            show_places(selection)
        show(selection)

    return show_part


def show_places(selection: Selection) -> None:
    """Fields for the attention, the layer and the head."""
    segments("Attention", {str(kind): kind.short_name for kind in EDITABLE}, key=KEYS("masked"))
    for name, count in counts(selection.question, selection.kind).items():
        title = name.capitalize()
        numbers = {number: f"{title} {number}" for number in range(count)}
        menu(title, numbers, key=KEYS(name), hides_label=True, width=116)


def selection_of(question: ModelQuestion, view: MasksView) -> Selection | None:
    """The batch and the selection in it; None if a sentence cannot be translated."""
    asked = replace(
        question, further=tuple(view.further[: MOST_SENTENCES - 1]), number=view.number - 1
    )
    made = batch_of(asked)
    return None if made is None else Selection(asked, made, view.kind, view.layer, view.head)


def batch_of(question: ModelQuestion) -> Batch | None:
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


def suit_batch(question: ModelQuestion) -> None:
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


def name_sentence(selection: Selection) -> None:
    """The texts of the stage's foot."""
    sentence = selection.sentences[selection.number]
    own = session.ask(translate(selection.question.version, sentence)).translation.text
    typed = selection.question.target if selection.number == 0 else ""
    stage.name(sentence, typed or own)


OF_MASKS = {
    "see": Part(show_masks, show_masks_on_stage, short="See", options=show_pictures),
    "compare": Part(show_comparison, show_comparison_on_stage, options=show_everything),
    "change": Part(beside_places(show_editor), show_editor_on_stage, options=show_batch),
    "inside": Part(
        beside_places(show_inside), show_inside_on_stage, short="Inside", options=show_batch
    ),
}


def show(question: ModelQuestion) -> None:
    show_part(question)
    watch_width()


def show_part(question: ModelQuestion) -> None:
    suit_batch(question)
    bring_head()
    view = clamp_view(question)
    current_head.note(VIEW.name, [Head(Site(view.kind, view.layer), view.head)])
    if not stage.is_on():
        warn_of_left_out(view)
    selection = selection_of(question, view)
    if selection is None:
        show_batch_menu(None)
        return
    if stage.is_on():
        name_sentence(selection)
    show_parts(PARTS, OF_MASKS, selection, KEYS, "part", letter="v")
