"""Inquiries about the pairs of words that ship with a model, each on its own sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from model.explain.experiments import Experiment
from viz.effects.contrast_map import contrast_sentences
from viz.effects.contrasted import quoted
from viz.effects.head_map import lower_first
from viz.effects.view import VIEW as EFFECTS
from viz.effects.view import EffectsView
from viz.inquiries.inquiry import Answer, Inquiry, Subject
from viz.service import session
from viz.service.jobs import ContrastWords


def pairs(subject: Subject) -> Mapping[str, Inquiry]:
    """The pairs of a subject's model by their keys in the address, such as "pair-3"."""
    if not subject.is_model:
        return {}
    listed = session.experiments(subject.of_model.checkpoint).get("words", ())
    numbered = (_inquiry(f"pair-{number}", each) for number, each in enumerate(listed, start=1))
    return {each.key: each for each in numbered}


def _inquiry(key: str, pair: Experiment) -> Inquiry:
    token, _, other = pair.setting.partition(".")
    # What it shows begins with the word and its probability.
    named = re.match("Why “(.+?)” ", pair.shows)
    word = quoted(named[1]) if named else f"target token {token}"
    text = f"Why {word} and not {quoted(other)} in {quoted(pair.source)}?"
    return Inquiry(
        key,
        text.replace("{", "{{").replace("}", "}}"),
        "word instead other rather than contrast against alternative pair example",
        lambda subject: subject.is_model,
        partial(_answer, pair.source, int(token), other),
    )


def _answer(source: str, token: int, other: str, subject: Subject) -> Answer:
    """The head whose removal changes most how far a word is ahead of the other."""
    question = replace(subject.of_model, sentence=source, target="")
    contrast = session.ask(ContrastWords(question.record, token - 1, other))
    found = contrast_sentences(contrast, 1)[0]
    said = f"Of all heads, removed one at a time, one matters most: {lower_first(found)}"
    view = EffectsView(show="probability", token=token, instead=other)
    return Answer(said, EFFECTS, view, source)
