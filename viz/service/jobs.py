"""What can be asked of a model, as values that know how to compute themselves."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from model.checkpoints.checkpoint import SNAPSHOTS, CheckpointError, snapshot_file, snapshots
from model.explain import measures, source_rows
from model.explain.attribution_methods import (
    AttributionPiece,
    attribution_part,
    cross_attributions,
    self_attributions,
)
from model.explain.deletion import deletion_losses
from model.explain.examples import example_traces, read_examples
from model.explain.head_ablation import effects_of, removal, rewritten
from model.paper.search import Search
from model.record.head_edits import MeanAblation
from model.record.intervention import UNCHANGED, Intervention
from model.serving.queue import ServiceError
from model.trace.attention_map import AttentionMap, FloatArray, Site
from model.trace.text_result import Answer
from model.trace.trace import Trace
from model.trace.translation import Decoding, Translation
from model.translate.sentences import TextError
from model.translate.text_models import Reader, load_reader
from model.translate.translator import Translator, load
from viz.positions.score_terms import term_shares

MAX_MODELS = 2
"""How many trained models are kept."""

MAX_SNAPSHOTS = 16
"""How many models of snapshots are kept: those of a whole run, which are tiny."""

MAX_READERS = 1
"""How many other models are kept; those of Hugging Face's may be large."""

WARM_UP = "One."
"""Translated once at load: a model packs its weights at its first sentence, which takes longer."""

Device = Literal["auto", "cpu"]


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A checkpoint, or one of its snapshots, with the files that it had at one moment.

    A folder that is replaced while the app runs is another version, and nothing that is kept of
    the one before is shown for it.

    Attributes:
        checkpoint: its folder, or one of its snapshots.
        files: name, size, inode and time of the last change of each file, in nanoseconds.
    """

    checkpoint: Path
    files: tuple[tuple[str, int, int, int], ...]

    @property
    def folder(self) -> Path:
        """The checkpoint's folder."""
        return folder_of(self.checkpoint)


def version_of(checkpoint: Path) -> ModelVersion:
    """The version of a checkpoint, or of one of its snapshots, that is there now."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder_of(checkpoint)) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_file():
                    state = os.stat(entry.path)
                    found.append((entry.name, state.st_size, state.st_ino, state.st_mtime_ns))
    if is_snapshot(checkpoint):
        with contextlib.suppress(OSError):
            state = checkpoint.stat()
            found.append((checkpoint.name, state.st_size, state.st_ino, state.st_mtime_ns))
    return ModelVersion(checkpoint, tuple(sorted(found)))


def snapshot_of(folder: Path, step: int) -> Path:
    """A checkpoint as it was after so many steps, for whatever here takes a checkpoint.

    It is the path of the snapshot's file, so that everything kept under a checkpoint is kept apart
    for each of its snapshots.
    """
    return snapshot_file(folder, step)


def folder_of(checkpoint: Path) -> Path:
    """The folder of a checkpoint, or of what `snapshot_of` gave."""
    return checkpoint.parents[1] if is_snapshot(checkpoint) else checkpoint


def is_snapshot(checkpoint: Path) -> bool:
    """Whether it is what `snapshot_of` gave."""
    return checkpoint.suffix == ".safetensors" and checkpoint.parent.name == SNAPSHOTS


_loading = threading.Lock()


def translator(version: ModelVersion, device: Device = "auto") -> Translator:
    """The translator of a version, loaded once a process.

    Args:
        version: as `version_of` gave it.
        device: "auto" for a GPU where there is one, and then ready for its first sentence.

    Raises:
        CheckpointError: if the folder is incomplete or damaged, or has become another version.
    """
    # Apart, so that moving through a run's snapshots does not push the large models out.
    kept = _SNAPSHOTS if is_snapshot(version.checkpoint) else _TRAINED
    with _loading:
        return kept[device](version)


def _loaded(device: Device, version: ModelVersion) -> Translator:
    # Several people's requests share the cores; more threads a request would only fight for them.
    torch.set_num_threads(1)
    checkpoint, folder = version.checkpoint, version.folder
    number = None
    if is_snapshot(checkpoint):
        steps = [snapshot_of(folder, step) for step in snapshots(folder)]
        if checkpoint not in steps:
            raise CheckpointError(
                f"The checkpoint {folder} no longer has the snapshot {checkpoint.name}; choose "
                "another training step."
            )
        number = steps.index(checkpoint)
    loaded = load(folder, device=device, snapshot=number)
    _require_same(version)
    if device == "auto":
        # A vocabulary may hold none of its letters; such a model warms up at its first sentence.
        with contextlib.suppress(TextError):
            loaded.trace(WARM_UP)
    return loaded


def _kept(most: int) -> dict[Device, Callable[[ModelVersion], Translator]]:
    devices: tuple[Device, ...] = ("auto", "cpu")
    return {
        device: functools.lru_cache(most)(functools.partial(_loaded, device)) for device in devices
    }


_TRAINED, _SNAPSHOTS = _kept(MAX_MODELS), _kept(MAX_SNAPSHOTS)


def reader(version: ModelVersion, device: Device = "auto") -> Reader:
    """A Hugging Face folder, or half a Transformer, as a model, loaded once a process.

    Raises:
        CheckpointError: as `load_reader`, or if the folder has become another version.
    """
    with _loading:
        return _reader(version, device)


@functools.lru_cache(MAX_READERS)
def _reader(version: ModelVersion, device: Device) -> Reader:
    torch.set_num_threads(1)
    loaded = load_reader(version.folder, device=device)
    _require_same(version)
    return loaded


def _require_same(version: ModelVersion) -> None:
    if version_of(version.checkpoint) != version:
        # Its files may be of two versions.
        raise CheckpointError(
            f"The checkpoint {version.folder} was replaced while it was read; ask again in a "
            "moment."
        )


@dataclass(frozen=True, slots=True)
class Timed:
    """A translation, the seconds it took when it was made, and the device that made it."""

    translation: Translation
    seconds: float
    device: str


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Several sentences in one padded pass, each with the model's own translation.

    Attributes:
        padded: a trace a sentence, with the rows and columns of its padding.
        n_source: tokens of each source, without padding.
        n_target: tokens of each decoder input, without padding.
    """

    padded: tuple[Trace, ...]
    n_source: tuple[int, ...]
    n_target: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """What all traces hold, in bytes."""
        return sum(trace.nbytes for trace in self.padded)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What the model does with one sentence of a batch under an intervention.

    Attributes:
        forced: the pass over its own unchanged translation, with the rows and columns of padding.
        free: the translation it writes under the intervention, token by token, without padding.
    """

    forced: Trace
    free: Trace

    @property
    def nbytes(self) -> int:
        """What both traces hold, in bytes."""
        return self.forced.nbytes + self.free.nbytes


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """A translation with the record of its decoding, and what every head did for it.

    Attributes:
        decoding: without the distributions of its steps, which are large.
        trace: of its translation, under the same intervention.
    """

    decoding: Decoding
    trace: Trace

    @property
    def nbytes(self) -> int:
        """What its trace holds, in bytes; all else is little."""
        return self.trace.nbytes


@dataclass(frozen=True, slots=True)
class Job(ABC):
    """Something to be computed with a model. Equal jobs have equal results."""

    version: ModelVersion

    @property
    def doing(self) -> str:
        """What a person is told who waits for it."""
        return "Comparing…"

    def model(self, device: Device = "auto") -> Any:
        """What `results` takes, as `translator` gives it."""
        return translator(self.version, device)

    @abstractmethod
    def results(self, model: Any) -> Mapping[Job, Any]:
        """Its result, and results of other jobs that came with it.

        Raises:
            TextError, DecodingError, MaskError, PositionError, HeadError: as the translator does.
        """


@dataclass(frozen=True, slots=True)
class Translate(Job):
    """The model's translation of a sentence, `Timed`; its trace comes with it."""

    sentence: str

    @property
    def doing(self) -> str:
        """As above."""
        return "Translating…"

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        ((_, results),) = translate_together([self], model)
        return results


@dataclass(frozen=True, slots=True, eq=False)
class TimedAnswer:
    """What a model of Hugging Face's made of a text, and the seconds that it took."""

    answer: Answer
    seconds: float

    @property
    def nbytes(self) -> int:
        """What its trace holds, in bytes; all else is little."""
        return self.answer.nbytes


@dataclass(frozen=True, slots=True)
class Read(Job):
    """What a model that reads one text makes of it, `TimedAnswer`."""

    text: str

    @property
    def doing(self) -> str:
        """As above."""
        return "Reading…"

    def model(self, device: Device = "auto") -> Reader:
        """As above."""
        return reader(self.version, device)

    def results(self, model: Reader) -> Mapping[Job, Any]:
        """As above."""
        started = time.perf_counter()
        answer = model.read(self.text)
        return {self: TimedAnswer(answer, time.perf_counter() - started)}


@dataclass(frozen=True, slots=True)
class Record(Job):
    """What every head does on a sentence, as a trace.

    Attributes:
        sentence: the source.
        target: a translation to record; None records the model's own.
        own: the model's own translation, where it is known; None has it translate.
    """

    sentence: str
    target: str | None = None
    own: Translation | None = field(default=None, compare=False)

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        if self.target is None and self.own is not None:
            return {self: model.trace_of(self.own)}
        return {self: model.trace(self.sentence, self.target)}


@dataclass(frozen=True, slots=True)
class RecordBatch(Job):
    """Sentences padded to one length and recorded in one pass, as a `Batch`.

    Attributes:
        sentences: as they are typed.
        target: a target for the first of them; empty for the model's own translation.
        own: the model's own translations.
    """

    sentences: tuple[str, ...]
    target: str
    own: tuple[Translation, ...] = field(compare=False)

    @property
    def targets(self) -> list[str | Translation]:
        """What the decoder is given."""
        return [self.target or self.own[0], *self.own[1:]]

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        made = model.trace_batch(self.sentences, self.targets)
        return {self: Batch(made.padded, made.source_lengths, made.target_lengths)}


@dataclass(frozen=True, slots=True)
class Intervene(Job):
    """What the model does with one sentence of a batch under an intervention, as an `Outcome`.

    Attributes:
        batch: the sentences.
        number: which of them is looked at, from 0.
        under: what the model is asked to do differently with it.
        n_source: tokens of each source of the batch, without padding.
        n_target: of what the decoder reads in the chosen one, likewise.
    """

    batch: RecordBatch
    number: int
    under: Intervention
    n_source: tuple[int, ...] = field(compare=False)
    n_target: int = field(compare=False)

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        sentences, number, under = self.batch.sentences, self.number, self.under
        # In one pass all sentences stand at the same positions.
        other = Intervention(positions=under.positions)
        each = [under if place == number else other for place in range(len(sentences))]
        forced = model.trace_batch(sentences, self.batch.targets, under=each).padded[number]
        alone = under.without_padding(self.n_source[number], self.n_target)
        if alone is None:
            # Decoded beside the longest sentence, for as much padding as in the batch.
            longest = sentences[self.n_source.index(max(self.n_source))]
            free = model.trace_batch([sentences[number], longest], under=[under, other]).traces[0]
        else:
            free = model.trace(sentences[number], under=alone)
        return {self: Outcome(forced, free)}


@dataclass(frozen=True, slots=True)
class Decode(Job):
    """How a sentence is translated, as `Decoded`.

    Attributes:
        sentence: the source.
        search: how a translation is looked for, and what it must begin with.
        under: what the model is asked to do differently.
    """

    sentence: str
    search: Search
    under: Intervention = UNCHANGED

    @property
    def doing(self) -> str:
        """As above."""
        return "Translating…"

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        decoding = model.decode(self.sentence, search=self.search, under=self.under)
        trace = model.trace_of(decoding.translation, under=self.under)
        translation = replace(decoding.translation, distributions=None)
        return {self: Decoded(replace(decoding, translation=translation), trace)}


@dataclass(frozen=True, slots=True)
class ReadLayers(Job):
    """What each decoder layer would say at every step, as `model.trace.logit_lens.LogitLens`.

    Attributes:
        decode: asks for the decoding.
        trace: of its translation.
    """

    decode: Decode
    trace: Trace = field(compare=False)

    @property
    def doing(self) -> str:
        """As above."""
        return "Reading every layer…"

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        return {self: model.logit_lens(self.trace, under=self.decode.under)}


@dataclass(frozen=True, slots=True)
class ReadBranches(Job):
    """What every hypothesis of a search looked at in the source, by site of cross-attention.

    Attributes:
        decode: asks for the decoding.
        decoding: itself.
    """

    decode: Decode
    decoding: Decoding = field(compare=False)

    @property
    def doing(self) -> str:
        """As above."""
        return "Reading every branch…"

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        return {self: model.cross_attention(self.decoding, under=self.decode.under)}


@dataclass(frozen=True, slots=True)
class MeasureEffects(Job):
    """What a translation loses without each head, as `model.explain.ablation_results.Effects`.

    Attributes:
        recorded: asks for the trace of that translation.
    """

    recorded: Record

    @property
    def doing(self) -> str:
        """As above."""
        return "Switching every head off…"

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        (trace,) = self.recorded.results(model).values()
        return {self: effects_of(model, trace)}


@dataclass(frozen=True, slots=True)
class RemoveHeads(MeasureEffects):
    """A translation while heads go one after another; see `model.explain.ablation_results`."""

    @property
    def doing(self) -> str:
        """As above."""
        return "Removing heads one after another…"

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        (trace,) = self.recorded.results(model).values()
        return {self: removal(model, trace, effects_of(model, trace))}


@dataclass(frozen=True, slots=True)
class Attribute(MeasureEffects):
    """Maps of cross-attention beside what deletion does; see `model.explain.attribution`."""

    @property
    def doing(self) -> str:
        """As above."""
        return "Deleting every source token…"

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        (trace,) = self.recorded.results(model).values()
        return {self: cross_attributions(model, trace)}


@dataclass(frozen=True, slots=True)
class AttributeInPart(Attribute):
    """Some of these maps, as `model.explain.attribution.AttributionPart`.

    Attributes:
        piece: which.
    """

    piece: AttributionPiece

    @property
    def doing(self) -> str:
        """As above."""
        return "Estimating what matters…"

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        (trace,) = self.recorded.results(model).values()
        return {self: attribution_part(model, trace, self.piece)}


@dataclass(frozen=True, slots=True)
class DeleteTokens(Attribute):
    """What the translation loses without some of the source tokens, (target, some of the source).

    Attributes:
        columns: which, from 0.
    """

    columns: range

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        (trace,) = self.recorded.results(model).values()
        return {self: deletion_losses(model, trace, self.columns)}


@dataclass(frozen=True, slots=True)
class AttributeSelf(MeasureEffects):
    """Maps of a site of self-attention, as `model.explain.attribution.SelfAttributions`.

    Attributes:
        site: of the encoder or of the decoder.
        token: the target token, from 0, that gradients are of; None as there.
    """

    site: Site
    token: int | None

    @property
    def doing(self) -> str:
        """As above."""
        return "Making the maps…"

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        (trace,) = self.recorded.results(model).values()
        return {self: self_attributions(model, trace, self.site, token=self.token)}


@dataclass(frozen=True, slots=True)
class HoldAgainstTruth(Attribute):
    """How well these maps agree with deletion: small enough to keep.

    Attributes:
        later: the layers that are read one row later.
    """

    later: tuple[int, ...]

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        (trace,) = self.recorded.results(model).values()
        later = dict.fromkeys(self.later, True)
        return {self: cross_attributions(model, trace).agreements(later=later)}


@dataclass(frozen=True, slots=True)
class WriteWithout(Job):
    """What the model writes without each head of a site, one at a time, as texts.

    Attributes:
        sentence: the source.
        site: whose heads.
    """

    sentence: str
    site: Site

    @property
    def doing(self) -> str:
        """As above."""
        return "Translating without single heads…"

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        return {self: tuple(each.text for each in rewritten(model, self.sentence, self.site))}


@dataclass(frozen=True, slots=True)
class Survey(Job):
    """What is measured over the checkpoint's examples; each of its results is asked for alone.

    Attributes:
        about: "read_later", "resting" or "means".
    """

    about: Literal["read_later", "resting", "means"]

    @property
    def doing(self) -> str:
        """As above."""
        return "Comparing the rows…" if self.about == "read_later" else "Comparing the heads…"

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        examples = read_examples(self.version.folder)
        traces = example_traces(model, examples)
        if self.about == "means":
            return {self: head_means(traces)}
        if self.about == "resting":
            return {self: measures.resting(traces) if traces else {}}
        sources = [source_rows.token_sources(model, trace) for trace in traces]
        return {self: dict(source_rows.read_later(traces, sources))}


def head_means(traces: Sequence[Trace]) -> Mapping[Site, FloatArray]:
    """The mean of what each head gives over all queries of recorded sentences.

    By site, (head, d_v); empty without sentences.
    """
    by_site: dict[Site, list[AttentionMap]] = {}
    for trace in traces:
        for site, seen in trace.maps.items():
            by_site.setdefault(site, []).append(seen)
    return {
        site: np.array([MeanAblation.over(maps, head).mean for head in range(maps[0].n_heads)])
        for site, maps in by_site.items()
    }


@dataclass(frozen=True, slots=True)
class TermShares(Job):
    """Which share of each head's scores comes from each term, in the encoder's first layer.

    The terms of a long sentence hold a hundred times what is kept, and take as long to make.
    """

    sentence: str

    def results(self, model: Translator) -> Mapping[Job, Any]:
        """As above."""
        found: Mapping[str, NDArray[np.float64]]
        found = term_shares(model.score_terms(self.sentence).terms)
        return {self: found}


MOST_TOGETHER_CHARACTERS = 300
"""A longer sentence is translated alone: others would wait for the last of its words."""


def fit_together(one: Job, other: Job) -> bool:
    """Whether two jobs are computed in less time together."""
    return (
        isinstance(one, Translate)
        and isinstance(other, Translate)
        and one.version == other.version
        and max(len(one.sentence), len(other.sentence)) <= MOST_TOGETHER_CHARACTERS
    )


def translate_together(
    asked: Sequence[Translate], model: Translator
) -> Iterator[tuple[int, Mapping[Job, Any]]]:
    """The results of each as soon as they are there, by its place.

    Nearly every page shows a translation and its trace, and recording takes a tenth of translating.

    Raises:
        TextError: as the translator does, for any of the sentences.
    """
    started = time.perf_counter()
    translations = model.translate_batch([each.sentence for each in asked])
    seconds = time.perf_counter() - started
    for place, (job, translation) in enumerate(zip(asked, translations, strict=True)):
        timed = Timed(translation, seconds, model.device.type)
        recorded = Record(job.version, job.sentence)
        yield place, {job: timed, recorded: model.trace_of(translation)}


def compute(jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
    """What a queue asks for: results of each job by its place, or the exception to be raised.

    Jobs of which the first fits with each of the others are computed together.
    """
    left = dict(enumerate(jobs))
    together = [job for job in jobs if isinstance(job, Translate)]
    if len(together) == len(jobs) > 1:
        # Whatever is wrong with one of them it says alone, as does a GPU.
        with contextlib.suppress(ValueError, RuntimeError):
            for place, results in translate_together(together, translator(together[0].version)):
                del left[place]
                yield place, results
    for place, job in left.items():
        try:
            yield place, _results(job)
        except Exception as error:
            yield place, error


def _results(job: Job) -> Mapping[Job, Any]:
    """A job's results, on the GPU where there is one, and else on the CPU.

    A GPU that is full, or gone, is left alone for this job; the next one tries it again.

    Raises:
        CheckpointError: if the checkpoint is incomplete or damaged.
        ServiceError: if there is too little memory.
        TextError, MaskError, PositionError, HeadError: as `Job.results`.
    """
    try:
        try:
            return job.results(job.model())
        except RuntimeError:
            if not torch.cuda.is_available():
                raise
        return job.results(job.model("cpu"))
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or "alloc" in str(error):
            raise ServiceError(
                "This machine has too little memory left for this; try something shorter."
            ) from None
        raise
