"""Heads over the corpus that follow rules."""

from typing import Literal

import streamlit as st

from model.trace.head import Head
from viz.corpus.rule_curve import SCORES, RulesCurve
from viz.corpus.sentences import rules_sentence
from viz.corpus.view import KEYS
from viz.draw.labels import escape_markdown
from viz.draw.word_diff import translations_html
from viz.effects.price import price_words
from viz.pages.corpus_parts import Asked, show_all_on_stage
from viz.service import session
from viz.service.jobs.removing import follow_rules
from viz.service.questions import ModelQuestion
from viz.shell import address, stage
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.widgets import hint
from viz.shell.width import is_narrow


def show_rules(asked: Asked) -> None:
    """How many heads can be rules, and the sentence above with some of them in place."""
    question, survey, view = asked.question, asked.survey, asked.view
    rules = survey.rules
    if rules is None:
        hint("This survey has no rules: it was made with --rules 0, or of too few sentences.")
        return
    for column, score in zip(st.columns(2, gap="large"), SCORES, strict=True):
        with column:
            show_picture(
                RulesCurve(survey, question.model_name, score), KEYS("curve", score), columns=2
            )
    st.markdown(escape_markdown(rules_sentence(survey)))
    st.subheader("This sentence with rules in place", anchor=False)
    if view.ruled > len(rules.heads):
        address.change(ruled=len(rules.heads))
        view = asked.view
    st.slider(
        "Heads replaced by their rules, least costly first",
        0,
        len(rules.heads),
        view.ruled,
        key=KEYS("ruled"),
        width=420,
    )
    if not view.ruled:
        hint("Move the slider to put rules in place of heads; the model then translates with them.")
        return
    show_with_rules(question, tuple(rules.order[: view.ruled]))


def show_rules_on_stage(asked: Asked) -> None:
    """What rules cost in BLEU; every head where none were tried."""
    survey = asked.survey
    if survey.rules is None:
        show_all_on_stage(asked)
        return
    with stage.picture():
        stage.say(rules_sentence(survey))
        picture = RulesCurve(survey, asked.question.model_name, "bleu")
        stage.show((picture, KEYS("curve")), narrow=is_narrow())


def show_with_rules(
    question: ModelQuestion, heads: tuple[Head, ...], words: Literal["", "said", "whole"] = ""
) -> None:
    """What the model writes with rules in place of heads, as `follow_rules` takes them."""
    trace = session.ask(question.record)
    asked = question.version, question.sentence, question.target, heads, words
    outcome = session.ask(follow_rules(*asked))
    names = ("With its heads", "With the rule" if len(heads) == 1 else "With rules")
    own = session.ask(question.translate).translation.text
    st.html(translations_html(own, outcome.free.text, names, dark=is_dark()))
    assert trace.log_probs is not None, "every trace of a translator holds them"
    assert outcome.forced.log_probs is not None, "every trace of a translator holds them"
    st.markdown(
        escape_markdown(price_words(trace.predictions, trace.log_probs, outcome.forced.log_probs))
    )
