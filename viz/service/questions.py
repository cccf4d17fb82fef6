"""What a person asks to see: of a model of ours, of another model, or of a saved trace."""

from dataclasses import dataclass
from pathlib import Path

from model.checkpoints.shipped import checkpoint_name
from model.paper.search import Search
from model.record.intervention import UNCHANGED, Intervention
from model.trace.blocks import Blocks
from model.trace.provenance import Provenance
from model.trace.text_result import FolderFacts
from model.trace.trace import Trace
from viz.service.job import Job
from viz.service.jobs.running import decode, read_blocks, record, record_batch, translate
from viz.service.results import Batch, Decoded, Timed, TimedAnswer
from viz.service.versions import ModelVersion, folder_of, known_of, version_of


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """A sentence for a whole Transformer of ours, of which anything can be asked.

    Attributes:
        checkpoint: its folder, or one of its snapshots.
        target: a translation to look at; empty for the model's own.
        snapshot: which of the folder's snapshots `checkpoint` is, counted from 0; None for a model
            that came without any.
        further: other sentences of the same batch.
        number: which sentence of the batch is looked at, from 0.
    """

    checkpoint: Path
    sentence: str
    target: str = ""
    snapshot: int | None = None
    further: tuple[str, ...] = ()
    number: int = 0

    @property
    def folder(self) -> Path:
        """The model's folder."""
        return folder_of(self.checkpoint)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The whole batch."""
        return (self.sentence, *self.further)

    @property
    def version(self) -> ModelVersion:
        """The model as it is now."""
        return version_of(self.checkpoint)

    @property
    def translate(self) -> Job[Timed]:
        """Asks for the model's own translation."""
        return translate(self.version, self.sentence)

    @property
    def record(self) -> Job[Trace]:
        """Asks for what every head does."""
        return record(self.version, self.sentence, self.target)

    @property
    def read_blocks(self) -> Job[Blocks]:
        """Asks for what the blocks beside attention do."""
        return read_blocks(self.version, self.sentence, self.target)

    @property
    def record_batch(self) -> Job[Batch]:
        """Asks for what every head does on the whole batch."""
        return record_batch(self.version, self.sentences, self.target)

    def decode(self, search: Search, under: Intervention = UNCHANGED) -> Job[Decoded]:
        """Asks for how the sentence is translated."""
        return decode(self.version, self.sentence, search, under)

    @property
    def model_name(self) -> str:
        """The model as `headscope.load` takes it."""
        return checkpoint_name(self.folder)

    @property
    def name(self) -> str:
        """What the model is called."""
        return self.folder.name

    @property
    def provenance(self) -> Provenance:
        """The model, and the version that runs it."""
        return known_of(self.version)

    @property
    def texts(self) -> dict[str, str]:
        """What it is about, by name, to go with numbers."""
        texts = {"sentence": self.sentence, "checkpoint": self.name}
        if self.target:
            texts["target"] = self.target
        if self.snapshot is not None:
            texts["snapshot"] = self.checkpoint.stem
        return texts


@dataclass(frozen=True, slots=True)
class ReaderQuestion:
    """A text for a Hugging Face model, or half a Transformer of ours, which has answered it."""

    folder: Path
    sentence: str
    facts: FolderFacts
    timed: TimedAnswer

    @property
    def trace(self) -> Trace:
        """What every head did."""
        return self.timed.answer.trace

    @property
    def provenance(self) -> Provenance:
        """The trace's."""
        return self.trace.provenance

    @property
    def name(self) -> str:
        """What the model is called."""
        return self.folder.name

    @property
    def texts(self) -> dict[str, str]:
        """What it is about, by name, to go with numbers."""
        return {"sentence": self.sentence, "model": self.name}


@dataclass(frozen=True, slots=True)
class TraceQuestion:
    """A saved trace, by its path or by the bare name of a dropped file; what a model did once."""

    file: Path
    sentence: str
    trace: Trace

    @property
    def provenance(self) -> Provenance:
        """The trace's."""
        return self.trace.provenance

    @property
    def name(self) -> str:
        """What the file is called."""
        return self.file.name

    @property
    def texts(self) -> dict[str, str]:
        """What it is about, by name, to go with numbers."""
        return {"sentence": self.sentence, "trace": self.name}


Question = ModelQuestion | ReaderQuestion | TraceQuestion
