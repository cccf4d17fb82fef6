"""The selected head beside its rule, and the translation with rules in place of heads."""

import math
from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from model.checkpoints.shipped import CheckpointError
from model.explain.head_rules import HeadRules
from model.numbers import count_of, percent
from model.trace.attention_map import Site
from model.trace.head import Head
from viz.corpus.rule_map import RuleBesideHead
from viz.draw.labels import escape_markdown, upper_first
from viz.heads.view import KEYS, RULED, HeadsView
from viz.pages.corpus_rules import show_with_rules
from viz.pages.heads_trace import Prepared
from viz.service import session
from viz.service.questions import ModelQuestion
from viz.shell import address
from viz.shell.save_menu import show_picture
from viz.shell.widgets import brief, row, segments


def read_rules(prepared: Prepared, sites: Sequence[Site], head: int) -> HeadRules | None:
    """The rules of a model's heads; None where the selected ones have none."""
    question = prepared.question
    if not isinstance(question, ModelQuestion):
        return None
    # What is wrong with the file is said where its labels would stand.
    with suppress(CheckpointError):
        rules = session.head_rules(question.checkpoint)
        if rules is not None and all(Head(site, head) in rules.heads for site in sites):
            return rules
    return None


def show_rule(
    question: ModelQuestion, rules: HeadRules, sites: Sequence[Site], head: int, *, narrow: bool
) -> None:
    """Whether the rules of the selected heads hold on this sentence."""
    view = address.read(HeadsView)
    trace = session.ask(question.record)
    heads = [Head(site, head) for site in sites]
    most = max(len(rules.heads[each].rule.names) for each in heads)
    has_more = any(rules.heads[each].rule != rules.heads[each].said for each in heads)
    said = not (view.fuller and has_more)
    edits = session.rule_edits(question.checkpoint, said=said)
    for place in heads:
        finding = rules.heads[place]
        sentence = escape_markdown(upper_first(finding.text))
        sentences = f"**{sentence}.**", escape_markdown(finding.reason)
        brief(sentences, KEYS("rule-of", place.site))
        terms = finding.said if said else finding.rule
        picture = RuleBesideHead(
            trace.maps[place.site], head, edits[place], terms.text, question.sentence
        )
        show_picture(picture, KEYS("rule", place.site), narrow=narrow)
    with row(at="bottom"):
        segments("Heads that follow their rules", RULED, key=KEYS("ruled"), hides_label=False)
        if has_more:
            st.toggle(
                f"With all {most} terms, not just those of the sentence",
                view.fuller,
                key=KEYS("fuller"),
            )
    if chosen := following(rules, heads):
        show_with_rules(question, tuple(chosen), "said" if said else "whole")


def following(rules: HeadRules, selected: Sequence[Head]) -> Sequence[Head]:
    """The heads that follow their rules."""
    view = address.read(HeadsView)
    match view.ruled:
        case "head":
            return selected
        case "kind":
            kinds = {site.kind for site, _ in selected}
            return [each for each in rules.heads if each.site.kind in kinds]
        case "best":
            count = len(rules.heads)
            if view.best > count:
                address.change(best=count)
            first = "cost least" if rules.has_costs else "overlap most with their heads"
            st.slider(
                f"How many, those first whose rules {first}",
                *(1, count, min(view.best, count)),
                key=KEYS("best"),
                width=420,
            )
            chosen = rules.order[: view.best]
            if (cost := rules.heads[chosen[-1]].cost) is not None:
                st.caption(
                    "The costliest of these rules, alone and with all its terms, leaves a "
                    f"translation {percent(math.exp(-cost), 1)} as likely as it was (geometric "
                    f"mean of {count_of(rules.judged, 'sentence')})."
                )
            return chosen
    return []
