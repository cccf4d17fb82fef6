"""The results of jobs: translations and traces with related data."""

from dataclasses import dataclass

from model.trace.array_values import Sized
from model.trace.text_result import Answer
from model.trace.trace import Trace
from model.trace.translation import Decoding, Translation


@dataclass(frozen=True, slots=True)
class Timed:
    """A translation, the seconds it took when it was made, and the device that made it."""

    translation: Translation
    seconds: float
    device: str


@dataclass(frozen=True, slots=True, eq=False)
class TimedAnswer(Sized):
    """Another model's answer to a text, and the seconds it took."""

    answer: Answer
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Batch(Sized):
    """Several sentences in one padded pass, a trace each, with the model's own translations.

    `n_source` and `n_target` count tokens of each source and decoder input without padding.
    """

    padded: tuple[Trace, ...]
    n_source: tuple[int, ...]
    n_target: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome(Sized):
    """What the model does with one sentence of a batch under an intervention.

    Attributes:
        forced: the pass over its own unchanged translation, with the rows and columns of padding.
        free: the translation it writes under the intervention, token by token, without padding.
    """

    forced: Trace
    free: Trace


@dataclass(frozen=True, slots=True, eq=False)
class Decoded(Sized):
    """A translation with the record of its decoding, and its trace under the same intervention.

    The record is without the distributions of its steps, which are large.
    """

    decoding: Decoding
    trace: Trace
