"""Questions to a model, as values that know how to compute their answers.

A job computes all that it needs. What is kept already it can be given along: `Job.prepared` asks
for it, and such fields have no part in whether two jobs are equal.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from model.contrast.contrast import contrast_of
from model.contrast.head_sets import head_set, random_sets
from model.contrast.logit_terms import logit_terms
from model.contrast.pairs import Pair, pair_of, rivals
from model.contrast.passes import Means
from model.contrast.paths import paths
from model.contrast.results import Contrast, HeadSet, LogitTerms, Paths, Question, Rivals
from model.explain import measures, source_rows
from model.explain.ablation_results import Effects, Removal
from model.explain.attribution import Agreements, AttributionPart, Attributions, SelfAttributions
from model.explain.attribution_methods import (
    AttributionPiece,
    attribution_part,
    cross_attributions,
    self_attributions,
)
from model.explain.block_outputs import block_outputs, outputs_on
from model.explain.deletion import deletion_losses
from model.explain.examples import example_traces, read_examples
from model.explain.head_ablation import effects_of, head_means, removal, rewritten
from model.paper.search import Search
from model.patching.causal_trace import restored
from model.patching.patch import SentencePair
from model.patching.results import Patched
from model.record.intervention import UNCHANGED, Intervention
from model.record.patches import Part, Stream
from model.survey.corpus_survey import Place
from model.trace.attention_map import FloatArray, Site
from model.trace.blocks import Blocks
from model.trace.logit_lens import LogitLens
from model.trace.trace import Trace
from model.trace.translation import Decoding, Translation
from model.translate.text_models import Reader
from model.translate.translator import Translator
from viz.positions.score_terms import term_shares
from viz.service.loaded import Device, corpus_survey, reader, translator
from viz.service.results import Batch, Decoded, Outcome, Timed, TimedAnswer
from viz.service.versions import ModelVersion

T = TypeVar("T")


class Ask(Protocol):
    """Gives a job's result, such as `viz.service.session.ask`."""

    def __call__(self, job: Job[T], /) -> T:
        """The result."""


@dataclass(frozen=True, slots=True)
class Job(ABC, Generic[T]):
    """Something to be computed with a model. Equal jobs have equal results."""

    doing: ClassVar[str] = "Comparing…"
    """What a person reads who waits for it."""

    @property
    def texts(self) -> Mapping[str, str]:
        """What a person typed, by what an error calls it."""
        return {}

    def prepared(self, ask: Ask) -> Self:
        """An equal job that brings along what it needs of others."""
        return self

    @abstractmethod
    def model(self, device: Device = "auto") -> Any:
        """What `result` takes, loaded."""

    @abstractmethod
    def result(self, model: Any) -> T:
        """What is asked for; errors as the translator's."""

    def beside(self, result: T, model: Any) -> Mapping[Job[Any], Any]:
        """Results of other jobs that cost little once this one's result is there."""
        return {}


@dataclass(frozen=True, slots=True)
class ModelJob(Job[T]):
    """A job for a translator."""

    version: ModelVersion

    def model(self, device: Device = "auto") -> Translator:
        return translator(self.version, device)


@dataclass(frozen=True, slots=True)
class SentenceJob(ModelJob[T]):
    """A job about a sentence."""

    sentence: str

    @property
    def texts(self) -> Mapping[str, str]:
        return {"text": self.sentence}


@dataclass(frozen=True, slots=True)
class Translate(SentenceJob[Timed]):
    """The model's translation of a sentence; its trace comes with it.

    Nearly every page shows both, and recording takes a tenth of translating.
    """

    doing = "Translating…"

    def result(self, model: Translator) -> Timed:
        started = time.perf_counter()
        translation = model.translate(self.sentence)
        return Timed(translation, time.perf_counter() - started, model.device.type)

    def beside(self, result: Timed, model: Translator) -> Mapping[Job[Any], Any]:
        return {Record(self.version, self.sentence): model.trace_of(result.translation)}


@dataclass(frozen=True, slots=True)
class Read(Job[TimedAnswer]):
    """What a model that reads one text makes of it."""

    version: ModelVersion
    text: str
    doing = "Reading…"

    @property
    def texts(self) -> Mapping[str, str]:
        return {"text": self.text}

    def model(self, device: Device = "auto") -> Reader:
        return reader(self.version, device)

    def result(self, model: Reader) -> TimedAnswer:
        started = time.perf_counter()
        answer = model.read(self.text)
        return TimedAnswer(answer, time.perf_counter() - started)


@dataclass(frozen=True, slots=True)
class Record(SentenceJob[Trace]):
    """Every head's attention on a sentence, with a target, or with the model's own if empty."""

    target: str = ""
    own: Translation | None = field(default=None, compare=False)

    @property
    def texts(self) -> Mapping[str, str]:
        return {"text": self.sentence, "target": self.target}

    def prepared(self, ask: Ask) -> Self:
        if self.target:
            return self
        return replace(self, own=ask(Translate(self.version, self.sentence)).translation)

    def result(self, model: Translator) -> Trace:
        if self.own is not None:
            return model.trace_of(self.own)
        return model.trace(self.sentence, self.target or None)


@dataclass(frozen=True, slots=True)
class RecordBatch(ModelJob[Batch]):
    """Sentences padded to one length, as in training, and recorded in one pass.

    The target is for the first of them; empty for the model's own translation.
    """

    sentences: tuple[str, ...]
    target: str = ""
    own: tuple[Translation, ...] = field(default=(), compare=False)

    @property
    def texts(self) -> Mapping[str, str]:
        return {"target": self.target}

    def prepared(self, ask: Ask) -> Self:
        own = [ask(Translate(self.version, each)).translation for each in self.sentences]
        return replace(self, own=tuple(own))

    def targets(self, model: Translator) -> list[str | Translation]:
        """What the decoder is given."""
        own = self.own or [model.translate(each) for each in self.sentences]
        return [self.target or own[0], *own[1:]]

    def result(self, model: Translator) -> Batch:
        made = model.trace_batch(self.sentences, self.targets(model))
        return Batch(made.padded, made.source_lengths, made.target_lengths)


@dataclass(frozen=True, slots=True)
class Intervene(Job[Outcome]):
    """What the model does with one sentence of a batch under an intervention.

    The number counts from 0, and masks are of the padded lengths. `made` is the batch without any
    intervention, where it is known, and without its traces.
    """

    batch: RecordBatch
    number: int
    under: Intervention
    made: Batch | None = field(default=None, compare=False)

    @property
    def texts(self) -> Mapping[str, str]:
        return self.batch.texts

    def prepared(self, ask: Ask) -> Self:
        # Its traces would only make the way to the worker longer.
        made = replace(ask(self.batch), padded=())
        return replace(self, batch=self.batch.prepared(ask), made=made)

    def model(self, device: Device = "auto") -> Translator:
        return self.batch.model(device)

    def result(self, model: Translator) -> Outcome:
        sentences, number, under = self.batch.sentences, self.number, self.under
        made = self.made or self.batch.result(model)
        # In one pass all sentences stand at the same positions.
        other = Intervention(positions=under.positions)
        each = [under if place == number else other for place in range(len(sentences))]
        targets = self.batch.targets(model)
        forced = model.trace_batch(sentences, targets, under=each).padded[number]
        alone = under.without_padding(made.n_source[number], made.n_target[number])
        if alone is None:
            # Decoded beside the longest sentence, for as much padding as in the batch.
            longest = sentences[made.n_source.index(max(made.n_source))]
            free = model.trace_batch([sentences[number], longest], under=[under, other]).traces[0]
        else:
            free = model.trace(sentences[number], under=alone)
        return Outcome(forced, free)


@dataclass(frozen=True, slots=True)
class Decode(SentenceJob[Decoded]):
    """How a sentence is translated by a search under an intervention."""

    search: Search
    under: Intervention = UNCHANGED
    doing = "Translating…"

    def result(self, model: Translator) -> Decoded:
        decoding = model.decode(self.sentence, search=self.search, under=self.under)
        trace = model.trace_of(decoding.translation, under=self.under)
        translation = replace(decoding.translation, distributions=None)
        return Decoded(replace(decoding, translation=translation), trace)


@dataclass(frozen=True, slots=True)
class DecodeJob(Job[T]):
    """A job about a decoding."""

    decode: Decode

    @property
    def texts(self) -> Mapping[str, str]:
        return self.decode.texts

    def model(self, device: Device = "auto") -> Translator:
        return self.decode.model(device)


@dataclass(frozen=True, slots=True)
class ReadLayers(DecodeJob[LogitLens]):
    """Each decoder layer's prediction at every step of the decoding's translation."""

    trace: Trace | None = field(default=None, compare=False)
    doing = "Reading every layer…"

    def prepared(self, ask: Ask) -> Self:
        return replace(self, trace=ask(self.decode).trace)

    def result(self, model: Translator) -> LogitLens:
        trace = self.trace or self.decode.result(model).trace
        return model.logit_lens(trace, under=self.decode.under)


@dataclass(frozen=True, slots=True)
class ReadBranches(DecodeJob[Mapping[Site, FloatArray]]):
    """What every hypothesis of a search looked at, as `Translator.cross_attention` gives it."""

    decoding: Decoding | None = field(default=None, compare=False)
    doing = "Reading every branch…"

    def prepared(self, ask: Ask) -> Self:
        return replace(self, decoding=ask(self.decode).decoding)

    def result(self, model: Translator) -> Mapping[Site, FloatArray]:
        decoding = self.decoding or self.decode.result(model).decoding
        return model.cross_attention(decoding, under=self.decode.under)


@dataclass(frozen=True, slots=True)
class RecordJob(Job[T]):
    """A job about a translation that is recorded."""

    record: Record

    @property
    def texts(self) -> Mapping[str, str]:
        return self.record.texts

    def prepared(self, ask: Ask) -> Self:
        return replace(self, record=self.record.prepared(ask))

    def model(self, device: Device = "auto") -> Translator:
        return self.record.model(device)

    def result(self, model: Translator) -> T:
        return self.of(model, self.record.result(model))

    @abstractmethod
    def of(self, model: Translator, trace: Trace) -> T:
        """The result, of the translation's trace."""


@dataclass(frozen=True, slots=True)
class MeasureEffects(RecordJob[Effects]):
    """The loss of a translation without each head."""

    doing = "Switching every head off…"

    def of(self, model: Translator, trace: Trace) -> Effects:
        return effects_of(model, trace)


@dataclass(frozen=True, slots=True)
class ReadBlocks(RecordJob[Blocks]):
    """What the blocks beside attention do on a sentence."""

    doing = "Translating…"

    def result(self, model: Translator) -> Blocks:
        if (own := self.record.own) is None:
            return self.of(model, self.record.result(model))
        # One pass instead of two: the tokens are known without the trace.
        return outputs_on(model, own.source.ids, [model.model.config.bos_id, *own.token_ids[:-1]])

    def of(self, model: Translator, trace: Trace) -> Blocks:
        return block_outputs(model, trace)


@dataclass(frozen=True, slots=True)
class RemoveHeads(RecordJob[Removal]):
    """The quality of a translation while heads are removed one after another."""

    doing = "Removing heads one after another…"

    def of(self, model: Translator, trace: Trace) -> Removal:
        return removal(model, trace, effects_of(model, trace))


@dataclass(frozen=True, slots=True)
class Attribute(RecordJob[Attributions]):
    """Maps of cross-attention beside what deleting source tokens does."""

    doing = "Deleting every source token…"

    def of(self, model: Translator, trace: Trace) -> Attributions:
        return cross_attributions(model, trace)


@dataclass(frozen=True, slots=True)
class AttributeInPart(RecordJob[AttributionPart]):
    """Some of these maps."""

    piece: AttributionPiece
    doing = "Estimating what matters…"

    def of(self, model: Translator, trace: Trace) -> AttributionPart:
        return attribution_part(model, trace, self.piece)


@dataclass(frozen=True, slots=True)
class DeleteTokens(RecordJob[FloatArray]):
    """The loss without some source tokens, counted from 0, (target, some of the source)."""

    columns: range
    doing = Attribute.doing

    def of(self, model: Translator, trace: Trace) -> FloatArray:
        return deletion_losses(model, trace, self.columns)


@dataclass(frozen=True, slots=True)
class FindSources(RecordJob[Mapping[int, int]]):
    """The source token of each target token, as `model.explain.source_rows.token_sources`."""

    doing = Attribute.doing

    def of(self, model: Translator, trace: Trace) -> Mapping[int, int]:
        return source_rows.token_sources(model, trace)


@dataclass(frozen=True, slots=True)
class AttributeSelf(RecordJob[SelfAttributions]):
    """Maps of a site of self-attention, with gradients of one target token's prediction or all."""

    site: Site
    token: int | None
    doing = "Making the maps…"

    def of(self, model: Translator, trace: Trace) -> SelfAttributions:
        return self_attributions(model, trace, self.site, token=self.token)


@dataclass(frozen=True, slots=True)
class MeasureAgreement(RecordJob[Agreements]):
    """How well the maps of `Attribute` agree with deletion: small enough to keep."""

    later: Mapping[int, bool] | None = field(default=None, compare=False)
    doing = Attribute.doing

    def prepared(self, ask: Ask) -> Self:
        later = ask(FindLaterRows(self.record.version))
        return replace(self, record=self.record.prepared(ask), later=later)

    def of(self, model: Translator, trace: Trace) -> Agreements:
        later = self.later
        if later is None:
            later = FindLaterRows(self.record.version).result(model)
        return cross_attributions(model, trace).agreements(later=later)


@dataclass(frozen=True, slots=True)
class SentencePairJob(Job[T]):
    """A job about two sentences of one model, whose own translations are recorded."""

    first: Record
    second: Record
    traces: tuple[Trace, Trace] | None = field(default=None, compare=False)

    @property
    def texts(self) -> Mapping[str, str]:
        return {"text": max(self.first.sentence, self.second.sentence, key=len)}

    def prepared(self, ask: Ask) -> Self:
        # The tokens are enough; their attention would only make the way to the worker longer.
        first, second = (replace(ask(each), maps={}) for each in (self.first, self.second))
        return replace(self, traces=(first, second))

    def model(self, device: Device = "auto") -> Translator:
        return self.first.model(device)

    def result(self, model: Translator) -> T:
        own, given = self.traces or (self.first.result(model), self.second.result(model))
        pair = SentencePair(model, self.first.sentence, self.second.sentence, own=own, given=given)
        return self.of(pair)

    @abstractmethod
    def of(self, pair: SentencePair) -> T:
        """The result, of both sentences."""


@dataclass(frozen=True, slots=True)
class PutIn(SentencePairJob[Patched]):
    """The first sentence's run with parts of the second's: each with its positions, None for all.

    Without any part, both runs as they are.
    """

    parts: tuple[tuple[Part, tuple[int, ...] | None], ...] = ()
    doing = "Putting it in…"

    def of(self, pair: SentencePair) -> Patched:
        return pair.patched(dict(self.parts)) if self.parts else pair.unpatched


@dataclass(frozen=True, slots=True)
class RestoreTokens(SentencePairJob[FloatArray]):
    """Log-probabilities with one token's hidden states after a stage put in, (token, target)."""

    stream: Stream = field(kw_only=True)
    doing = "Putting in one token at a time…"

    def of(self, pair: SentencePair) -> FloatArray:
        return restored(pair, self.stream)


@dataclass(frozen=True, slots=True)
class ListRivals(RecordJob[Rivals]):
    """The likeliest tokens in one place of a translation, counted from 0."""

    place: int
    doing = "Reading the likeliest words…"

    def of(self, model: Translator, trace: Trace) -> Rivals:
        return rivals(model, trace, self.place)


@dataclass(frozen=True, slots=True)
class PairJob(RecordJob[T]):
    """A job about a word of a translation and another one in its place."""

    place: int
    other: str

    @property
    def texts(self) -> Mapping[str, str]:
        return {**self.record.texts, "other word": self.other}

    def of(self, model: Translator, trace: Trace) -> T:
        return self.of_pair(model, trace, pair_of(model, trace, self.place, self.other))

    @abstractmethod
    def of_pair(self, model: Translator, trace: Trace, pair: Pair) -> T:
        """The result, of the translation's trace and the two words."""


@dataclass(frozen=True, slots=True)
class ContrastWords(PairJob[Contrast]):
    """The probabilities of two words, and what these depend on."""

    doing = MeasureEffects.doing

    def of_pair(self, model: Translator, trace: Trace, pair: Pair) -> Contrast:
        return contrast_of(model, trace, pair)


@dataclass(frozen=True, slots=True)
class AddTerms(PairJob[LogitTerms]):
    """The terms that sum to the difference of two logits."""

    doing = "Taking the difference apart…"

    def of_pair(self, model: Translator, trace: Trace, pair: Pair) -> LogitTerms:
        return logit_terms(model, trace, pair)


@dataclass(frozen=True, slots=True)
class MeanPairJob(PairJob[T]):
    """A job about two words that may replace heads by their means over the examples."""

    means: Means | None = field(default=None, compare=False, kw_only=True)

    def prepared(self, ask: Ask) -> Self:
        means = ask(AverageHeads(self.record.version))
        return replace(self, record=self.record.prepared(ask), means=means)

    def means_for(self, model: Translator) -> Means:
        """The means; empty without examples."""
        if self.means is None:
            return AverageHeads(self.record.version).result(model)
        return self.means


@dataclass(frozen=True, slots=True)
class FindPaths(MeanPairJob[Paths]):
    """The strongest ways from source tokens through heads to a word."""

    doing = "Measuring the paths…"

    def of_pair(self, model: Translator, trace: Trace, pair: Pair) -> Paths:
        return paths(model, trace, pair, self.means_for(model))


@dataclass(frozen=True, slots=True)
class FindHeadSet(MeanPairJob[HeadSet]):
    """The smallest set of heads found that decides between two words."""

    question: Question
    doing = "Looking for the fewest heads…"

    def of_pair(self, model: Translator, trace: Trace, pair: Pair) -> HeadSet:
        return head_set(model, trace, pair, self.question, self.means_for(model))


@dataclass(frozen=True, slots=True)
class TryRandomSets(MeanPairJob[FloatArray]):
    """Log-probabilities under random sets of heads of one size, (set, 3)."""

    question: Question
    size: int
    numbers: range
    doing = "Trying random sets of heads…"

    def of_pair(self, model: Translator, trace: Trace, pair: Pair) -> FloatArray:
        return random_sets(
            model,
            trace,
            pair,
            self.size,
            self.question,
            self.means_for(model),
            numbers=self.numbers,
        )


@dataclass(frozen=True, slots=True)
class WriteWithout(SentenceJob[tuple[str, ...]]):
    """What the model writes without each head of a site, one at a time, as texts."""

    site: Site
    doing = "Translating without single heads…"

    def result(self, model: Translator) -> tuple[str, ...]:
        return tuple(each.text for each in rewritten(model, self.sentence, self.site))


@dataclass(frozen=True, slots=True)
class FollowRules(RecordJob[Outcome]):
    """A sentence with rules in place of some heads; needs a survey."""

    heads: tuple[Place, ...]
    doing = "Translating with rules…"

    def of(self, model: Translator, trace: Trace) -> Outcome:
        survey = corpus_survey(self.record.version)
        assert survey is not None, "pages ask only with a survey"
        assert survey.rules is not None, "pages ask only with a survey of rules"
        rules = survey.rules.heads
        under = Intervention(heads={place: rules[place].weights for place in self.heads})
        own = self.record.own
        forced = (
            model.trace(self.record.sentence, self.record.target or trace.text, under=under)
            if own is None
            else model.trace_of(own, under=under)
        )
        return Outcome(forced, model.trace(self.record.sentence, under=under))


@dataclass(frozen=True, slots=True)
class TermShares(SentenceJob[Mapping[str, NDArray[np.float64]]]):
    """Which share of each head's scores comes from each term, in the encoder's first layer.

    The terms of a long sentence hold a hundred times what is kept, and take as long to make. There
    are none for additive attention, whose scores are no such sum: it raises PositionError.
    """

    def result(self, model: Translator) -> Mapping[str, NDArray[np.float64]]:
        return term_shares(model.score_terms(self.sentence).terms)


@dataclass(frozen=True, slots=True)
class ExamplesJob(ModelJob[T]):
    """A job about the checkpoint's examples; its result is empty where there are none."""

    doing = "Comparing the heads…"

    def result(self, model: Translator) -> T:
        return self.over(model, example_traces(model, read_examples(self.version.folder)))

    @abstractmethod
    def over(self, model: Translator, traces: Sequence[Trace]) -> T:
        """The result, of the examples' traces."""


@dataclass(frozen=True, slots=True)
class FindLaterRows(ExamplesJob[Mapping[int, bool]]):
    """Which layers look at the source of a token in the row that has read it.

    See model.explain.source_rows.
    """

    doing = "Comparing the rows…"

    def over(self, model: Translator, traces: Sequence[Trace]) -> Mapping[int, bool]:
        sources = [source_rows.token_sources(model, trace) for trace in traces]
        return dict(source_rows.read_later(traces, sources))


@dataclass(frozen=True, slots=True)
class CountResting(ExamplesJob[Mapping[str, tuple[int, int]]]):
    """How many heads rest on the sentence's start or end or on punctuation.

    See model.explain.measures.
    """

    def over(self, model: Translator, traces: Sequence[Trace]) -> Mapping[str, tuple[int, int]]:
        return measures.resting(traces) if traces else {}


@dataclass(frozen=True, slots=True)
class AverageHeads(ExamplesJob[Mapping[Site, FloatArray]]):
    """The mean of what each head gives, before W_O, over all queries; by site, (head, d_v)."""

    def over(self, model: Translator, traces: Sequence[Trace]) -> Mapping[Site, FloatArray]:
        return head_means(traces)
