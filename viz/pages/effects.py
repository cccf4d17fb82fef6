"""Effects: what each head does for the translation, and the translation without some heads."""

from functools import partial

from model.trace.attention_map import AttentionKind, Tokens
from model.translate.translator import Translator
from viz.draw.labels import lower_first
from viz.effects.self_maps import PLAIN
from viz.effects.view import AGAINST, EVERY, KEYS, MAPS, EffectsView
from viz.pages import effects_contrast as contrast
from viz.pages import effects_heads as heads
from viz.pages import effects_maps as maps
from viz.pages.effects_asked import Asked
from viz.pages.effects_removal import show_removal, show_removal_on_stage
from viz.pages.effects_words import open_pair
from viz.service import session
from viz.service.questions import ModelQuestion
from viz.shell import address, stage
from viz.shell.head_picker import keep_known
from viz.shell.parts import Part, show_parts
from viz.shell.width import watch_width

OF_HEADS = {
    "probability": Part(heads.show_losses, heads.show_losses_on_stage),
    "words": Part(heads.show_words, heads.show_words_on_stage),
    "removal": Part(show_removal, show_removal_on_stage),
    "maps": Part(maps.show_maps, maps.show_maps_on_stage),
    "alignment": Part(maps.show_alignment, maps.show_alignment_on_stage),
}

OF_TWO_WORDS = {
    "probability": Part(heads.show_advantage, heads.show_advantage_on_stage),
    "tokens": Part(contrast.show_tokens, partial(contrast.present_pair, contrast.tokens_picture)),
    "words": Part(heads.show_words_of_two, heads.show_words_of_two_on_stage),
    "set": Part(
        contrast.show_set,
        partial(contrast.present_pair, contrast.set_picture),
        options=contrast.choose_question,
    ),
    "sum": Part(contrast.show_sum, partial(contrast.present_pair, contrast.sum_picture)),
    "paths": Part(contrast.show_paths, partial(contrast.present_pair, contrast.paths_picture)),
}


def clamp_view(model: Translator, predictions: Tokens) -> EffectsView:
    """The view, brought to the target tokens and heads that there are."""
    view = address.read(EffectsView)
    if view.token > len(predictions):
        address.change(token=0)
    parts = maps.parts_of(model, view.kind)
    if view.layer_head not in parts:
        first = next(iter(parts))
        if view.layer_head:
            kind, instead = view.kind.full_name.lower(), parts[first]
            address.note(
                "layer_head",
                f"This model has no {kind} {view.layer_head}; shown: {lower_first(instead)}.",
            )
        address.change(layer_head=first)
    if view.kind is not AttentionKind.CROSS and view.method == EVERY:
        # Nothing ranks its methods, as the page says.
        address.change(method=PLAIN)
    keep_known("off", view.off, model, "the others stay switched off.")
    return address.read(EffectsView)


def show(question: ModelQuestion) -> None:
    model = session.translator(question.checkpoint)
    trace = session.ask(question.record)
    view = open_pair(question, clamp_view(model, trace.predictions), trace)
    asked = Asked(question, view, trace, model)
    if view.is_against:
        show_parts(AGAINST, OF_TWO_WORDS, asked, KEYS, "show")
    else:
        show_parts(MAPS, OF_HEADS, asked, KEYS, "show")
    watch_width(2 if stage.is_on() else 1)
