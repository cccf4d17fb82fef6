"""One head over the corpus: all about it."""

from contextlib import suppress
from pathlib import Path

import pandas as pd
import streamlit as st

from model.checkpoints.shipped import CheckpointError
from model.explain.facts import facts_of
from model.survey.corpus_survey import CorpusSurvey
from model.survey.nearest import Nearest, nearest
from model.trace.head import Head
from viz.corpus.examples import examples_of, main_measure
from viz.corpus.quantities import QUANTITIES, written
from viz.corpus.rule_map import RuleBesideHead
from viz.corpus.sentences import (
    alignment_sentence,
    came_sentence,
    effect_sentence,
    label_sentence,
    rule_sentence,
    rule_text,
    sample_sentence,
)
from viz.corpus.spread import HeadSpread, LookDistances
from viz.corpus.view import KEYS, VIEW, CorpusView
from viz.draw import style
from viz.draw.labels import escape_markdown
from viz.heads.view import VIEW as HEADS
from viz.heads.view import HeadsView
from viz.pages.corpus_parts import Asked, choose_head, in_columns, place_of, show_map
from viz.pages.corpus_rules import show_with_rules
from viz.registry.pages import ASKED
from viz.service import session
from viz.service.jobs.running import record
from viz.service.model_menu import checkpoints
from viz.service.questions import ModelQuestion
from viz.shell import address, current_head, stage
from viz.shell.save_menu import show_picture
from viz.shell.widgets import brief, row
from viz.shell.width import is_narrow

ALIKE = 3
"""The nearest heads that are named of each model."""


def show_head(asked: Asked) -> None:
    question, survey = asked.question, asked.survey
    place = place_of(asked)
    site, head = place
    current_head.note(VIEW.name, [place])
    left, right = st.container(key=KEYS("beside")).columns([3, 2], gap="large")
    with left:
        spread = HeadSpread(survey, question.model_name, site, head)
        show_picture(spread, KEYS("spread"), further=sample_sentence(survey))
    with right:
        with row(at="bottom"):
            choose_head(survey, place)
            st.button(
                "See it on the sentence above",
                icon=HEADS.icon,
                key=KEYS("to-heads"),
                on_click=address.open_view,
                args=(HEADS, HeadsView(attention=str(site.kind), layer=site.layer, head=head)),
            )
        further = (
            effect_sentence(survey, place),
            came(question, survey, place),
            aligned(question, place),
        )
        sentences = [label_sentence(survey, place), " ".join(filter(None, further))]
        brief([*map(escape_markdown, sentences)], KEYS("head"))
        show_picture(LookDistances(survey, question.model_name, site, head), KEYS("distances"))
        show_pairs(survey, place)
    show_sentences(asked, place)
    if survey.rules is not None:
        rule = survey.rules.heads[place]
        st.subheader("Said as a rule", anchor=False)
        st.markdown(escape_markdown(rule_sentence(rule)))
        picture = RuleBesideHead(
            session.ask(question.record).maps[site],
            head,
            rule.weights,
            f"looks {rule_text(rule)}",
            question.sentence,
        )
        show_picture(picture, KEYS("rule"))
        st.toggle(
            "Translate with the rule in its place",
            asked.view.follows,
            key=KEYS("follows"),
        )
        if asked.view.follows:
            show_with_rules(question, (place,))
    show_nearest(question, survey, place)


def show_head_on_stage(asked: Asked) -> None:
    place = place_of(asked)
    with stage.picture():
        stage.say(label_sentence(asked.survey, place))
        picture = HeadSpread(asked.survey, asked.question.model_name, *place)
        stage.show((picture, KEYS("spread")), narrow=is_narrow())


def came(question: ModelQuestion, survey: CorpusSurvey, place: Head) -> str | None:
    """When a head came, in the childhood of a model that has one."""
    with suppress(CheckpointError):
        growth = session.growth(question.checkpoint)
        return None if growth is None else came_sentence(growth, place, survey.label(place))
    return None


def aligned(question: ModelQuestion, place: Head) -> str | None:
    """How well a head links words, where that was measured."""
    table = session.alignment(question.checkpoint)
    return None if table is None else alignment_sentence(table, place)


def show_pairs(survey: CorpusSurvey, place: Head) -> None:
    """The word pairs that say most about a head."""
    pairs = survey.of(place).pairs
    if not pairs:
        return
    st.dataframe(
        pd.DataFrame(
            {
                "Word": [pair.query for pair in pairs],
                "Looks at": [pair.key for pair in pairs],
                "When both occur": [style.percent(pair.share) for pair in pairs],
                "Occurrences": [pair.met for pair in pairs],
            }
        ),
        column_config={"Occurrences": st.column_config.NumberColumn(format="localized")},
        key=KEYS("pairs"),
        hide_index=True,
        height=212,
    )
    st.caption("Pairs of words: from the first, it looks at the second more often than usual.")


def show_strongest(asked: Asked, place: Head) -> None:
    """The first of the sentences of `show_sentences`, if there is any."""
    if measure := main_measure(asked.survey, place):
        for each in [*examples_of(asked.survey, place, measure).items()][:1]:
            show_sentence(asked, place, measure, *each)


def show_sentences(asked: Asked, place: Head) -> None:
    """Sentences from those where a measure is largest to those where it is smallest."""
    measure = main_measure(asked.survey, place)
    if measure is None:
        return
    name = QUANTITIES[measure].name
    st.subheader(
        f"From its strongest sentences to its weakest, by {name[0].lower()}{name[1:]}", anchor=False
    )
    chosen = [*examples_of(asked.survey, place, measure).items()]
    in_columns(chosen, lambda each: show_sentence(asked, place, measure, *each))


def show_sentence(asked: Asked, place: Head, measure: str, tenth: int, number: int) -> None:
    """One sentence as a small map, which opens on the heads page."""
    site, head = place
    source, text = asked.survey.shown[number]
    trace = session.ask(record(asked.question.version, source, text))
    value = facts_of({site: trace.maps[site]})[site].get(measure)
    told = "" if value is None else f" · {written(measure, float(value[head]))}"
    st.caption(f"{tenth_name(tenth)}{told}")
    show_map(trace, place, KEYS("sentence", tenth))


def tenth_name(tenth: int) -> str:
    """Which tenth of the sentences, in words."""
    if tenth == 9:
        return "Strongest tenth"
    return "Weakest tenth" if tenth == 0 else f"Tenth {10 - tenth} of 10"


def show_nearest(question: ModelQuestion, survey: CorpusSurvey, place: Head) -> None:
    """The heads that behave most alike, here and in other models."""
    site, head = place
    if site not in survey.probes:
        return
    st.subheader("The same head elsewhere", anchor=False)
    own = survey.probes[site][head]
    for name, folder, other in comparable(question, survey):
        found = nearest(own, other.probes, site.kind, most=ALIKE + 1)
        if folder == question.folder:
            found = [each for each in found if (each.site, each.head) != place]
        with row():
            st.markdown(
                f"**{escape_markdown('this model' if folder == question.folder else name)}**",
                width=150,
            )
            for each in found[:ALIKE]:
                show_match(question, name, folder, each)
    st.caption(
        "By all measures on 24 sentences that every survey shares. The number is the mean "
        "difference of a measure; in brackets, the same against the other head on another sentence."
    )


def comparable(
    question: ModelQuestion, survey: CorpusSurvey
) -> list[tuple[str, Path, CorpusSurvey]]:
    """This model, then others that read the same language and have a survey."""
    models: list[tuple[str, Path, CorpusSurvey]] = [(question.name, question.folder, survey)]
    for name, folder in checkpoints().items():
        if folder == question.folder:
            continue
        try:
            other = session.corpus_survey(folder)
        except CheckpointError:
            continue
        if other is not None and other.is_german == survey.is_german:
            models.append((name, folder, other))
    return models


def show_match(question: ModelQuestion, name: str, folder: Path, match: Nearest) -> None:
    """A button that shows a head like this one."""
    text = (
        f"{Head(match.site, match.head).short_name} · {style.fixed(match.difference, 2)} "
        f"({style.fixed(match.by_chance, 2)})"
    )
    shared = {ASKED.name: ""} | ({} if folder == question.folder else {"checkpoint": name})
    st.button(
        text,
        key=KEYS("near", name, match.site, match.head),
        on_click=address.open_view,
        args=(VIEW, CorpusView(over="head", one=(Head(match.site, match.head),))),
        kwargs=shared,
    )
