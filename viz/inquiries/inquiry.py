"""What an inquiry is: a question in words, who can be asked it, and how its answer is computed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from model.explain.facts import facts_of
from model.explain.head_rows import Values
from model.explain.labels import Label
from model.numbers import percent
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, AttentionMap, Site
from model.trace.token_schemes import special
from model.trace.trace import Trace
from model.translate.translator import Translator
from viz.draw.labels import NOTHING, axis_texts, visible
from viz.links.parameters import View
from viz.registry.pages import page_of
from viz.service import session
from viz.service.model_menu import toy_task
from viz.service.questions import ModelQuestion, Question, TraceQuestion
from viz.service.results import Outcome

T = TypeVar("T")

MOST_QUOTED = 90
"""Characters of a text that an answer repeats: it has to stay one line."""


class once(Generic[T]):
    """A property that each object computes once, without a lock.

    functools.cached_property of Python 3.11 has one lock for all objects. A page that asks the
    model within it lets other pages in, and they would wait for that lock in their turn.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> T:
        # From now on the object's own value hides the property.
        found = owner.__dict__[self.name] = self.compute(owner)
        return found


# Without slots, so that it can keep what was read off its trace.
@dataclass(frozen=True)
class Subject:
    """What is asked about: a sentence and its model, or a trace, and perhaps words of them.

    Attributes:
        place: of a token that the person named, from 0; None for whichever stands out.
        other: a word that the person set against the one named; empty for none.
    """

    question: Question
    place: int | None = None
    other: str = ""

    @once
    def trace(self) -> Trace:
        """What every head did."""
        if isinstance(self.question, ModelQuestion):
            return session.ask(self.question.record)
        return self.question.trace

    @property
    def is_model(self) -> bool:
        """Whether it is a whole Transformer of ours, which can be run again."""
        return isinstance(self.question, ModelQuestion)

    @property
    def of_model(self) -> ModelQuestion:
        """The question to a whole Transformer; only of a subject that `is_model`."""
        assert isinstance(self.question, ModelQuestion)
        return self.question

    @property
    def model(self) -> Translator:
        """The same Transformer, loaded."""
        return session.translator(self.of_model.checkpoint)

    @property
    def labels(self) -> Mapping[Site, tuple[Label | None, ...]]:
        """The labels of its heads; empty without any."""
        match self.question:
            case ModelQuestion(checkpoint=checkpoint):
                return session.labels(checkpoint)
            case TraceQuestion():
                return {}
            case _:
                return session.labels(self.question.folder)

    @property
    def facts(self) -> Mapping[Site, Mapping[str, Values]]:
        """Every measure of every head, by site."""
        return _facts(self.trace)

    @property
    def written(self) -> str:
        """What the model's text is called."""
        is_toy = self.is_model and toy_task(self.of_model.folder) is not None
        return "output" if is_toy else "translation"

    @property
    def own(self) -> str:
        """What the model writes by itself."""
        return session.ask(self.of_model.translate).translation.text

    def maps(self, *kinds: AttentionKind) -> list[AttentionMap]:
        """The maps of these kinds of attention."""
        return [each for site, each in self.trace.maps.items() if site.kind in kinds]

    @property
    def n_heads(self) -> int:
        """The number of heads of the whole trace."""
        return sum(each.n_heads for each in self.trace.maps.values())

    @once
    def hardest(self) -> int | None:
        """The predicted token that was named, or else the one of the lowest probability, from 0.

        None where no probability is known. The end of the text counts for none.
        """
        if self.place is not None:
            return self.place
        log_probs = self.trace.log_probs
        if log_probs is None:
            return None
        words = [n for n, token in enumerate(self.trace.predictions) if not special(token)]
        return min(words, key=lambda place: float(log_probs[place]), default=None)

    @once
    def predicted(self) -> list[str]:
        """The predicted tokens as people read them."""
        return axis_texts(self.trace.predictions)

    def under(self, intervention: Intervention) -> Outcome:
        """The sentence under an intervention."""
        return session.run(self.of_model, intervention)

    def change(self, after: str) -> str:
        """How what the model writes differs, as the end of a sentence with its full stop."""
        if after == self.own:
            return f"the {self.written} stays the same."
        if not after:
            return "it writes nothing."
        return ended(f"it writes {quoted(after)}")


def always(subject: Subject) -> bool:
    """For what every subject can be asked."""
    return True


def is_model(subject: Subject) -> bool:
    """For what a whole Transformer can be asked."""
    return subject.is_model


def has_word(subject: Subject) -> bool:
    """For what can be asked of a word that it wrote."""
    return subject.is_model and subject.hardest is not None


def quoted(text: str) -> str:
    """A text in quotation marks, cut where it is long."""
    shown = " ".join(visible(text).split()) or NOTHING
    return f"“{shown if len(shown) <= MOST_QUOTED else shown[: MOST_QUOTED - 1].rstrip() + '…'}”"


def share_of(share: float) -> str:
    """A probability, never rounded to certain or impossible."""
    if share > 0.995:
        return "more than 99%"
    if share >= 0.01:
        return percent(share)
    return f"1 in {round(1 / share):,}" if share > 1e-9 else "less than 1 in a billion"


def ended(sentence: str) -> str:
    """A sentence with a full stop, unless what it quotes at its end has one."""
    return sentence if sentence.endswith((".”", "!”", "?”", "…”")) else f"{sentence}."


@lru_cache(maxsize=8)
def _facts(trace: Trace) -> Mapping[Site, Mapping[str, Values]]:
    return facts_of(trace.maps)


@dataclass(frozen=True, slots=True)
class Answer:
    """What an inquiry found.

    Attributes:
        sentence: with the number, as plain text.
        view: of the page that shows it, as a value of its dataclass.
    """

    sentence: str
    view: Any

    @property
    def page(self) -> View:
        """The page that shows it."""
        return page_of(self.view)


WORD, SOURCE, OTHER = "{word}", "{source}", "{other}"
"""In the text of a question: a word that was written, a word that was read, and another word."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One question. `viz/browser/inquiries/ways.json` has the ways in which people type it.

    Attributes:
        text: the question; WORD stands for the least certain token.
        fits: whether it has an answer for a subject; costs next to nothing.
        answer: computes it; raises what `session.ask` raises.
        named: the question where the person names words, if that is another; with WORD, SOURCE
            or OTHER.
    """

    key: str
    text: str
    fits: Callable[[Subject], bool]
    answer: Callable[[Subject], Answer]
    named: str = ""

    def text_for(self, subject: Subject) -> str:
        """The question with the subject's own words in it."""
        is_named = subject.other if OTHER in self.named else subject.place is not None
        text = self.named if self.named and is_named else self.text
        if WORD in text:
            place = subject.hardest
            text = text.replace(WORD, "" if place is None else subject.predicted[place])
        if SOURCE in text and subject.place is not None:
            text = text.replace(SOURCE, axis_texts(subject.trace.source)[subject.place])
        return text.replace(OTHER, subject.other)

    def takes(self, subject: Subject) -> bool:
        """Whether it can be asked of the words that the person named."""
        if subject.place is None:
            return not subject.other
        every = self.text + self.named
        if subject.other and OTHER not in every:
            return False
        tokens = subject.trace.predictions if WORD in every else subject.trace.source
        return (WORD in every or SOURCE in every) and 0 <= subject.place < len(tokens)


Compute = Callable[[Subject], Answer]


class Inquiries:
    """The questions of a module, in order. As a decorator, it adds what a function answers."""

    def __init__(self) -> None:
        self.listed: list[Inquiry] = []

    def __call__(
        self, key: str, text: str, fits: Callable[[Subject], bool] = always, *, named: str = ""
    ) -> Callable[[Compute], Compute]:
        """Arguments are as of `Inquiry`."""

        def add(answer: Compute) -> Compute:
            self.listed.append(Inquiry(key, text, fits, answer, named))
            return answer

        return add


def best_head(
    facts: Mapping[Site, Mapping[str, Values]], measure: str, *, least: bool = False
) -> tuple[Site, int, float] | None:
    """The head with the greatest value of a measure, or the least; None where none can be told."""
    found = list(_values(facts, measure))
    if not found:
        return None
    return (min if least else max)(found, key=lambda each: each[2])


def _values(
    facts: Mapping[Site, Mapping[str, Values]], measure: str
) -> Iterator[tuple[Site, int, float]]:
    for site, values in facts.items():
        for head, value in enumerate(values[measure]):
            if not np.isnan(value):
                yield site, head, float(value)
