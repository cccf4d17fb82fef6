"""The parts of the effects page that are maps of all heads, on which clicks switch heads off."""

from dataclasses import replace
from functools import partial

import streamlit as st

from model.contrast.results import Contrast
from viz.browser.clicks import handle_clicks
from viz.browser.switches import switches
from viz.draw.labels import escape_markdown, lower_first
from viz.effects.contrast_map import ContrastMap, contrast_sentences, replaced_sentence
from viz.effects.contrasted import standing
from viz.effects.effect_map import EffectMap, WordMap, effect_sentences
from viz.effects.head_map import cross_colors
from viz.effects.view import KEYS
from viz.pages.effects_asked import Asked
from viz.pages.effects_switches import (
    offer_switches,
    outcomes,
    show_without,
    switch_head,
    what_changes,
    written_line,
)
from viz.pages.effects_words import above_words
from viz.shell import stage
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.width import is_narrow

CLICK = " Click a head to switch it off."


def show_clickable(
    asked: Asked,
    picture: EffectMap | WordMap | ContrastMap,
    key: str,
    contrast: Contrast | None = None,
    *,
    further: str = "",
) -> None:
    """A map on which clicks switch heads off and on, and below it what comes of that."""
    show_picture(
        picture, key, after=CLICK, further=further, drawn=replace(picture, off=()), fills=True
    )
    switches(
        key,
        [(str(site.kind), site.layer, head) for site, head in picture.off],
        cross_colors(picture.values, picture.unit, dark=is_dark()),
        on_clicks=partial(handle_clicks, key, switch_head),
    )
    # Below the map, which stays where it is clicked.
    show_without(asked, contrast)


def show_losses(asked: Asked) -> None:
    """What the translation, or one of its tokens, loses without each head."""
    with above_words(asked):
        view, effects = asked.view, asked.effects
        picture = EffectMap(effects, view.place, asked.question.target, off=view.off)
        further = " ".join(effect_sentences(effects, view.place))
        show_clickable(asked, picture, KEYS("map"), further=further)
    offer_switches(view, effects.ranked(view.place))


def show_advantage(asked: Asked) -> None:
    """How far one word stays ahead of another without each head."""
    with above_words(asked) as beside:
        contrast = asked.contrast
        further = " ".join(contrast_sentences(contrast))
        show_clickable(asked, asked.contrast_map, KEYS("contrast"), contrast, further=further)
        beside.markdown(escape_markdown(standing(contrast)))
    offer_switches(asked.view, contrast.ranked())


def show_words(asked: Asked) -> None:
    """How many words change without each head."""
    show_clickable(asked, asked.word_map(), KEYS("words"))
    offer_switches(asked.view, asked.effects.ranked())


def show_words_of_two(asked: Asked) -> None:
    """The same, and without which heads the other of two words is written."""
    with above_words(asked) as beside:
        contrast, picture = asked.contrast, asked.word_map()
        show_clickable(asked, picture, KEYS("words"), contrast, further=standing(contrast))
        said = replaced_sentence(contrast, picture.before, picture.after)
        beside.markdown(escape_markdown(said))
    offer_switches(asked.view, contrast.ranked())


def show_losses_on_stage(asked: Asked) -> None:
    """The map of the translation, or of one of its tokens; keys lead to the next."""
    view, names, effects = asked.view, asked.token_names, asked.effects
    stage.offer(
        "Up and down: target token",
        down=stage.Step(KEYS("token"), range(len(names)), view.token),
    )
    stage.say(f"Effect of each head on: {lower_first(names[view.token])}")
    if is_narrow():
        most = effects.ranked(view.place)[0][0].kind
        losses = {site: each for site, each in effects.losses.items() if site.kind is most}
        effects = replace(effects, losses=losses)
    present(asked, EffectMap(effects, view.place, asked.question.target, off=view.off))


def show_advantage_on_stage(asked: Asked) -> None:
    stage.say(standing(asked.contrast))
    present(asked, asked.contrast_map, asked.contrast)


def show_words_on_stage(asked: Asked) -> None:
    words = asked.word_map()
    stage.say(words.changing)
    if is_narrow():
        changed = words.values
        most = max(changed, key=lambda site: changed[site].max()).kind
        words = replace(
            words, after={site: each for site, each in words.after.items() if site.kind is most}
        )
    present(asked, words)


def show_words_of_two_on_stage(asked: Asked) -> None:
    words = asked.word_map()
    stage.say(replaced_sentence(asked.contrast, words.before, words.after))
    present(asked, words)


def present(
    asked: Asked,
    picture: EffectMap | WordMap | ContrastMap,
    contrast: Contrast | None = None,
) -> None:
    """A map on a stage, and above it in a line what comes of the heads that are off."""
    # Else cells of three maps beside each other have no room for numbers for the back row.
    picture = replace(picture, numbered=not is_narrow(2))
    with stage.picture():
        if asked.view.off and (both := outcomes(asked)):
            st.html(written_line(asked, both))
            if asked.view.show == "probability":
                stage.say(f"{asked.view.changed_heads}, {what_changes(asked, both, contrast)}.")
        stage.show((picture, KEYS(picture.name)), narrow=is_narrow())
