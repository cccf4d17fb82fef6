"""Effects: what each head does for the translation, and the translation without some heads."""

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from model.contrast.results import Contrast
from model.explain.ablation_results import Effects
from model.trace.attention_map import AttentionKind, Tokens
from model.trace.trace import Trace
from model.translate.translator import Translator
from viz.browser.clicks import handle_clicks
from viz.browser.switches import switches
from viz.draw.labels import escape_markdown, lower_first
from viz.effects.contrast_map import ContrastMap, contrast_sentences, replaced_sentence
from viz.effects.contrasted import standing
from viz.effects.effect_map import EffectMap, WordMap, effect_sentences
from viz.effects.head_map import cross_colors
from viz.effects.self_maps import PLAIN
from viz.effects.view import AGAINST, EVERY, KEYS, MAPS, EffectsView
from viz.pages.effects_contrast import (
    WHY_NOT,
    ask_why_not,
    change_token,
    choose_other,
    contrast_of,
    open_pair,
    picture_of,
    show_standing,
    show_view,
)
from viz.pages.effects_maps import (
    parts_of,
    show_alignment,
    show_alignment_on_stage,
    show_maps,
    show_maps_on_stage,
)
from viz.pages.effects_pictures import (
    changing_words,
    contrast_map,
    effects_of,
    token_names,
    word_map,
)
from viz.pages.effects_removal import show_removal, show_removal_on_stage
from viz.pages.effects_switches import (
    change_of,
    outcomes,
    show_switches,
    show_without,
    switch_head,
    written_html,
)
from viz.service import session
from viz.service.questions import OfModel
from viz.shell import address, stage
from viz.shell.head_picker import keep_known
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.widgets import brief, menu, row, segments
from viz.shell.width import is_narrow, watch_width

CLICK = " Click a head to switch it off, and once more to switch it on."


def clamp_view(model: Translator, predictions: Tokens) -> EffectsView:
    """The view, brought to the target tokens and heads that there are."""
    view = address.read(EffectsView)
    if view.token > len(predictions):
        address.change(token=0)
    parts = parts_of(model, view.kind)
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


def show_choice(question: OfModel, view: EffectsView, trace: Trace) -> None:
    """Choose the view, the target token, and another word for it."""
    with row(at="bottom"):
        segments("View", AGAINST if view.is_against else MAPS, key=KEYS("show"))
        if view.has_token:
            menu(
                "Target token",
                enumerate(token_names(trace.predictions)),
                key=KEYS("token"),
                hides_label=True,
                width=230,
                on_change=change_token,
            )
        if view.has_token and view.show != "maps":
            if view.token:
                choose_other(question, view, trace)
            else:
                st.button(
                    WHY_NOT,
                    key=KEYS("why-not"),
                    icon=":material/compare_arrows:",
                    on_click=ask_why_not,
                )


def show_map(question: OfModel, view: EffectsView, effects: Effects) -> None:
    """The map of log-probabilities, and its largest effects in words."""
    picture = EffectMap(effects, view.place, question.target, off=view.off)
    show_clickable(question, view, picture, KEYS("map"))
    sentences = effect_sentences(effects, view.place)
    brief([*map(escape_markdown, sentences)], KEYS("map"))


def show_contrast_map(question: OfModel, view: EffectsView, contrast: Contrast) -> None:
    """The map of a word's advantage over another, and its largest effects in words."""
    picture = contrast_map(question, view, contrast)
    show_clickable(question, view, picture, KEYS("contrast"))
    brief([*map(escape_markdown, contrast_sentences(contrast))], KEYS("contrast"))


def show_clickable(
    question: OfModel, view: EffectsView, picture: EffectMap | WordMap | ContrastMap, key: str
) -> None:
    """A map on which clicks switch heads off and on, and below it what comes of that."""
    show_picture(picture, key, after=CLICK, drawn=replace(picture, off=()))
    switches(
        key,
        [(str(site.kind), site.layer, head) for site, head in picture.off],
        cross_colors(picture.values, picture.unit, dark=is_dark()),
        on_clicks=partial(handle_clicks, key, switch_head),
    )
    # Below the map, which stays where it is clicked.
    with st.container():
        if view.off:
            show_without(question, view)


def show_word_map(question: OfModel, view: EffectsView, model: Translator) -> WordMap:
    """Show the map of words, and the number of heads that change any."""
    picture = word_map(question, view, model)
    show_clickable(question, view, picture, KEYS("words"))
    st.markdown(changing_words(picture))
    return picture


def show_on_stage(question: OfModel, view: EffectsView, predictions: Tokens) -> None:
    """The map, and both translations above it if heads are switched off."""
    names = token_names(predictions)
    if view.is_against:
        show_against_on_stage(question, view)
        return
    if view.show == "alignment":
        show_alignment_on_stage(question)
        return
    if view.show == "removal":
        show_removal_on_stage(question, view)
        return
    if view.has_token:
        stage.offer(
            "Up and down: target token",
            down=stage.Step(KEYS("token"), range(len(names)), view.token),
        )
    if view.show == "maps":
        show_maps_on_stage(question, view)
        return
    # A phone has no room for three maps.
    picture: EffectMap | WordMap
    if view.show == "words":
        words = word_map(question, view, session.translator(question.checkpoint))
        stage.say(changing_words(words))
        if is_narrow():
            changed = words.values
            most = max(changed, key=lambda site: changed[site].max()).kind
            after = {site: each for site, each in words.after.items() if site.kind is most}
            words = replace(words, after=after)
        picture = words
    else:
        stage.say(f"Effect of each head on: {lower_first(names[view.token])}")
        effects = effects_of(question)
        if is_narrow():
            most = effects.ranked(view.place)[0][0].kind
            losses = {site: each for site, each in effects.losses.items() if site.kind is most}
            effects = replace(effects, losses=losses)
        picture = EffectMap(effects, view.place, question.target, off=view.off)
    picture = replace(picture, numbered=has_room())
    with stage.picture():
        if view.off and (both := outcomes(question, view)):
            st.html(written_html(question, view, *both))
            if view.show == "probability":
                stage.say(change_of(view, predictions, both, None))
        stage.show((picture, KEYS(picture.name)), narrow=is_narrow())


def show_against_on_stage(question: OfModel, view: EffectsView) -> None:
    """One picture of two words; keys lead to the next."""
    stage.offer(
        "Left and right: view",
        across=stage.Step(KEYS("show"), list(AGAINST), view.show, cycles=True),
    )
    contrast = contrast_of(question, view)
    stage.say(standing(contrast))
    with stage.picture():
        if view.show == "probability":
            picture: Any = replace(contrast_map(question, view, contrast), numbered=has_room())
            if view.off and (both := outcomes(question, view)):
                st.html(written_html(question, view, *both))
                stage.say(change_of(view, contrast.predictions, both, contrast))
        elif view.show == "words":
            words = word_map(question, view, session.translator(question.checkpoint))
            stage.say(replaced_sentence(contrast, words.before, words.after))
            picture = replace(words, numbered=has_room())
        else:
            picture = picture_of(question, view)
        stage.show((picture, KEYS(picture.name)), narrow=is_narrow())


def has_room() -> bool:
    """Whether cells of three maps beside each other hold numbers for the back row."""
    return not is_narrow(2)


def show(question: OfModel) -> None:
    """Everything, for a question that has an answer."""
    show_part(question)
    watch_width(2 if stage.is_on() else 1)


def show_part(question: OfModel) -> None:
    """What is chosen, of the translation."""
    model = session.translator(question.checkpoint)
    trace = session.ask(question.record)
    view = open_pair(question, clamp_view(model, trace.predictions), trace)
    if stage.is_on():
        show_on_stage(question, view, trace.predictions)
        return
    show_choice(question, view, trace)
    if view.is_against:
        show_against(question, view)
        return
    if view.show == "maps":
        # Heads that are switched off change neither these maps nor the next.
        show_maps(question, view, model)
        return
    if view.show == "alignment":
        show_alignment(question)
        return
    effects = effects_of(question)
    if view.show == "words":
        show_word_map(question, view, model)
    elif view.show == "removal":
        show_removal(question)
        if view.off:
            show_without(question, view)
    else:
        show_map(question, view, effects)
    show_switches(view, effects.ranked(view.place))


def show_against(question: OfModel, view: EffectsView) -> None:
    """One word against another."""
    contrast = contrast_of(question, view)
    show_standing(contrast)
    if view.show == "words":
        above = st.container()
        picture = show_word_map(question, view, session.translator(question.checkpoint))
        above.markdown(escape_markdown(replaced_sentence(contrast, picture.before, picture.after)))
        return
    if view.show != "probability":
        show_view(question, view)
        return
    show_contrast_map(question, view, contrast)
    show_switches(view, contrast.ranked())
