"""What the heads page shows: a trace, read in one way, and the selection in it."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary

import streamlit as st

from model.checkpoints.shipped import CheckpointError, checkpoint_name
from model.explain.facts import facts_of
from model.explain.measures import Facts
from model.explain.reading import AS_RECORDED, Reading, ReadTrace, alignment_note, read
from model.trace.attention_map import AttentionKind, Site, weights_in
from model.trace.trace import Trace
from viz.browser.kept import Kept
from viz.browser.trace_payload import JOINT, Labels
from viz.heads.view import KEYS, VIEW, HeadsView
from viz.service import session
from viz.service.jobs.examples import find_later_rows
from viz.service.questions import ModelQuestion, Question, ReaderQuestion, TraceQuestion

JOINED = (AttentionKind.ENCODER, AttentionKind.CROSS, AttentionKind.DECODER)
"""The kinds of attention in the joint picture, in reading order."""


MANY_WEIGHTS = 16_000_000
"""So many take a second or more to be measured."""

BY_NAME = {parameter.name: parameter for parameter in VIEW.parameters}


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """One trace as the page shows it, read in one way."""

    question: Question
    reading: Reading
    trace: Trace
    seen: ReadTrace
    facts: Facts
    labels: Labels

    @property
    def target(self) -> str:
        """The translation that a person typed; empty for none."""
        return self.question.target if isinstance(self.question, ModelQuestion) else ""

    @property
    def kinds(self) -> list[AttentionKind]:
        """The kinds of attention that there are."""
        return list(dict.fromkeys(site.kind for site in self.trace.maps))


_PREPARED: Kept[tuple[Prepared, ...]] = Kept(KEYS("prepared"), tuple)
"""What was shown last, read in the last two ways: as it was recorded, and as a person reads it."""


def prepare(question: Question, reading: Reading) -> Prepared:
    """The trace as it is read, with its facts; kept while question and reading stay the same."""
    kept = [each for each in _PREPARED.value if each.question == question]
    for each in kept:
        if each.reading == reading:
            return each
    labels: Labels = {}
    facts: Facts | None = None
    match question:
        case ModelQuestion():
            trace = session.ask(question.record)
            seen = read(trace, reading)
            if seen.by_prediction:
                note = alignment_note(session.ask(find_later_rows(question.version)))
                seen = replace(seen, notes=(*seen.notes, *filter(None, [note])))
            seen, labels = with_labels(seen, question.checkpoint)
        case ReaderQuestion(folder=folder, trace=trace):
            seen = replace(read(trace, reading), folder=checkpoint_name(folder))
            seen, labels = with_labels(seen, folder)
        case TraceQuestion(trace=trace):
            # It has no model, and so no heads that anybody surveyed.
            if reading != AS_RECORDED:
                seen = replace(read(trace, reading), file=question.name)
            else:
                seen, facts = _of_file(question)
    prepared = Prepared(question, reading, trace, seen, facts or _measured(seen), labels)
    _PREPARED.value = (*kept[-1:], prepared)
    return prepared


_OF_FILES: WeakKeyDictionary[Trace, tuple[ReadTrace, Facts]] = WeakKeyDictionary()


def _of_file(question: TraceQuestion) -> tuple[ReadTrace, Facts]:
    """A saved trace as it was recorded, and its facts: the same for everybody who opens it."""
    if question.trace not in _OF_FILES:
        seen = replace(read(question.trace), file=question.name)
        _OF_FILES[question.trace] = seen, _measured(seen)
    return _OF_FILES[question.trace]


def _measured(seen: ReadTrace) -> Facts:
    """The facts of a trace, with progress where they take seconds."""
    if weights_in(seen.maps.values()) < MANY_WEIGHTS:
        return facts_of(seen.maps)
    slot = st.empty()
    facts = facts_of(seen.maps, partial(slot.progress, text="Measuring every head…"))
    slot.empty()
    return facts


def with_labels(seen: ReadTrace, checkpoint: Path) -> tuple[ReadTrace, Labels]:
    """The labels of a model's heads, or none and a note of what is wrong with them."""
    try:
        return seen, session.labels(checkpoint)
    except CheckpointError as error:
        return replace(seen, notes=(*seen.notes, str(error))), {}


def selected_sites(prepared: Prepared, view: HeadsView) -> tuple[list[Site], int]:
    """The selected sites and head, or the nearest that the trace has."""
    is_joint = view.attention == JOINT
    kinds = JOINED if is_joint else (AttentionKind(view.attention),)
    sites = []
    for kind in kinds:
        layers = prepared.trace.layers(kind)
        if layers and (not is_joint or view.layer < len(layers)):
            sites.append(Site(kind, layers[min(view.layer, len(layers) - 1)]))
    n_heads = min(prepared.seen.maps[site].n_heads for site in sites)
    return sites, min(view.head, n_heads - 1)
