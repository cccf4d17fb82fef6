"""What the parts of the effects page were asked, and what is computed for several of them."""

from dataclasses import dataclass

import streamlit as st

from model.contrast.results import Contrast
from model.explain.ablation_results import Effects
from model.trace.attention_map import Site
from model.trace.trace import Trace
from model.translate.translator import Translator
from viz.draw.labels import axis_texts
from viz.effects.contrast_map import ContrastMap
from viz.effects.effect_map import WordMap
from viz.effects.view import EffectsView
from viz.service import session
from viz.service.jobs.contrasting import contrast_words
from viz.service.jobs.removing import measure_effects, write_without
from viz.service.questions import ModelQuestion

WHOLE = "The whole translation"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a translation, the page as the address describes it, and the model."""

    question: ModelQuestion
    view: EffectsView
    trace: Trace
    model: Translator

    @property
    def token_names(self) -> list[str]:
        """The choices of a map: everything, or one target token, with its place if it repeats."""
        texts = axis_texts(self.trace.predictions)
        return [
            WHOLE,
            *(
                f"{text} ({place})" if texts.count(text) > 1 else text
                for place, text in enumerate(texts)
            ),
        ]

    @property
    def effects(self) -> Effects:
        """The loss of the translation without each head."""
        return session.ask(measure_effects(self.question.record))

    @property
    def pair(self) -> tuple[int, str]:
        """The target token, from 0, and the other word that it is held against."""
        assert self.view.place is not None, "open_pair chose a target token"
        return self.view.place, self.view.instead

    @property
    def contrast(self) -> Contrast:
        return session.ask(contrast_words(self.question.record, *self.pair))

    @property
    def contrast_map(self) -> ContrastMap:
        """What each head does for one word against another."""
        return ContrastMap(
            self.contrast, *self.pair, target=self.question.target, off=self.view.off
        )

    def word_map(self) -> WordMap:
        """How many words each head changes, computed site by site, with its progress shown."""
        question, sites = self.question, self.model.sites
        before = session.ask(question.translate).translation.text
        after: dict[Site, tuple[str, ...]] = {}
        slot = st.empty()
        for number, site in enumerate(sites):
            slot.progress(number / len(sites), f"Translating without heads of {site.kind}…")
            after[site] = session.ask(write_without(question.version, question.sentence, site))
        slot.empty()
        return WordMap(question.sentence, before, after, self.view.off)
