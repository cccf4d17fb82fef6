"""Inquiries about many sentences, answered from the model's survey."""

from functools import partial

from model.checkpoints.shipped import CheckpointError
from model.explain.label_rules import HALF
from model.explain.measures import EFFECT
from model.survey.corpus_survey import CorpusSurvey
from viz.corpus.quantities import ranked
from viz.corpus.sentences import all_sentence, effect_sentence, rules_sentence
from viz.corpus.view import CorpusView
from viz.draw.style import count_of, percent
from viz.inquiries.inquiry import Answer, Inquiries, Subject
from viz.service import session

inquiry = Inquiries()


def survey_of(subject: Subject) -> CorpusSurvey | None:
    """The survey of a subject's model; None where there is none to be read."""
    if not subject.is_model:
        return None
    try:
        return session.corpus_survey(subject.of_model.checkpoint)
    except CheckpointError:
        # The corpus page says what is wrong with it.
        return None


def has(measure: str, subject: Subject) -> bool:
    """Whether the model's survey has a measure."""
    survey = survey_of(subject)
    return survey is not None and bool(ranked(survey, measure))


def look_there(measure: str, place: str, subject: Subject) -> Answer:
    """How many heads look there, and what the strongest of them is worth."""
    survey = survey_of(subject)
    assert survey is not None, "it was asked whether it fits"
    found = ranked(survey, measure)
    many = sum(value >= HALF for _, value in found)
    sentence = (
        f"{count_of(many, 'head')} of {len(survey.places)} "
        f"{'looks' if many == 1 else 'look'} {place} with at least {percent(HALF)} of "
        f"the weight. {all_sentence(survey, measure, EFFECT.key)}"
    )
    return Answer(sentence, CorpusView(across=measure, up=EFFECT.key))


for _measure, _place in (
    ("previous", "one word back"),
    ("next", "one word ahead"),
    ("end", "at the sentence end"),
):
    inquiry(
        f"corpus-{_measure}",
        f"Which heads look {_place}, and does it matter?",
        partial(has, _measure),
    )(partial(look_there, _measure, _place))


@inquiry(
    "corpus-needed",
    "Which head does the model need most, over many sentences?",
    partial(has, EFFECT.key),
)
def needed_answer(subject: Subject) -> Answer:
    survey = survey_of(subject)
    assert survey is not None, "it was asked whether it fits"
    place = ranked(survey, EFFECT.key)[0][0]
    sentence = f"{place.name}. {effect_sentence(survey, place)}"
    return Answer(sentence, CorpusView(over="head", one=(place,)))


def has_rules(subject: Subject) -> bool:
    """Whether the model's survey has rules."""
    survey = survey_of(subject)
    return survey is not None and survey.rules is not None


@inquiry("corpus-rules", "How many heads can be replaced by simple rules?", has_rules)
def rules_answer(subject: Subject) -> Answer:
    survey = survey_of(subject)
    assert survey is not None, "it was asked whether it fits"
    assert survey.rules is not None, "it was asked whether it fits"
    count = survey.rules.counts[survey.rules.cheap]
    return Answer(rules_sentence(survey), CorpusView(over="rules", ruled=count))
