"""The pictures of what heads do, with what is computed for them."""

import numpy as np
import streamlit as st

from model.contrast.results import Contrast
from model.explain.ablation_results import Effects
from model.trace.attention_map import Site, Tokens
from model.translate.translator import Translator
from viz.draw.labels import axis_texts
from viz.effects.contrast_map import ContrastMap
from viz.effects.effect_map import WordMap
from viz.effects.view import EffectsView
from viz.service import session
from viz.service.jobs.removing import measure_effects, write_without
from viz.service.questions import OfModel

WHOLE = "The whole translation"


def token_names(predictions: Tokens) -> list[str]:
    """The choices for the map: everything, or one target token, with its place if it repeats."""
    texts = axis_texts(predictions)
    return [
        WHOLE,
        *(
            f"{text} ({place})" if texts.count(text) > 1 else text
            for place, text in enumerate(texts)
        ),
    ]


def contrast_map(question: OfModel, view: EffectsView, contrast: Contrast) -> ContrastMap:
    """What each head does for one word against another."""
    assert view.place is not None, "two words stand in one place"
    return ContrastMap(contrast, view.place, view.instead, target=question.target, off=view.off)


def word_map(question: OfModel, view: EffectsView, model: Translator) -> WordMap:
    """How many words each head changes, computed site by site."""
    before = session.ask(question.translate).translation.text
    after: dict[Site, tuple[str, ...]] = {}
    slot = st.empty()
    for number, site in enumerate(model.sites):
        slot.progress(number / len(model.sites), f"Translating without heads of {site.kind}…")
        after[site] = session.ask(write_without(question.version, question.sentence, site))
    slot.empty()
    return WordMap(question.sentence, before, after, view.off)


def changing_words(picture: WordMap) -> str:
    """How many heads change the translation alone."""
    count = sum(int(np.count_nonzero(each)) for each in picture.values.values())
    total = sum(map(len, picture.after.values()))
    return f"Removing a single head changes the translation for {count} of the {total} heads."


def effects_of(question: OfModel) -> Effects:
    """The loss of the translation without each head."""
    return session.ask(measure_effects(question.record))
