"""What a job is: a call of a function with a model, as a value that is its own cache key.

    @of_model("Counting…")
    def count_letters(model: Translator, sentence: str) -> int:
        return len(model.translate(sentence).text)

    letters = session.ask(count_letters(version, "The cat sat."))

A decorated function gives a `Job`; whoever computes it passes the model.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from model.trace.trace import Trace
from viz.service.loaded import Device, translator
from viz.service.versions import ModelVersion

P = ParamSpec("P")
T = TypeVar("T")
Brought = TypeVar("Brought")

Load = Callable[[ModelVersion, Device], Any]

TYPED = {
    "sentence": "text",
    "other_sentence": "text",
    "text": "text",
    "target": "target",
    "other": "other word",
}
"""What a person typed, by the name of the parameter that takes it: what an error calls it."""

COMPARING = "Comparing…"


class Ask(Protocol):
    """Gives a job's result, such as `viz.service.session.ask`."""

    def __call__(self, job: Job[T], /) -> T:
        """The result."""


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """Something to be computed with a model. Equal jobs have equal results.

    Attributes:
        about: the model, or the recording whose trace the function takes.
        brought: what the function takes of other jobs, once `prepared` has asked for it.
    """

    kind: JobKind[..., T]
    about: ModelVersion | Job[Trace]
    arguments: tuple[Any, ...] = ()
    brought: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def version(self) -> ModelVersion:
        """The model that computes it."""
        return self.about.version if isinstance(self.about, Job) else self.about

    @property
    def texts(self) -> list[tuple[str, str]]:
        """What an error calls each text that a person typed, and the text."""
        before = self.about.texts if isinstance(self.about, Job) else []
        given = zip(self.kind.parameters, self.arguments, strict=True)
        return [*before, *((TYPED[name], text) for name, text in given if name in TYPED)]

    def model(self, device: Device = "auto") -> Any:
        """What `result` takes, loaded."""
        return self.kind.load(self.version, device)

    def prepared(self, ask: Ask) -> Job[T]:
        """The same job with the results that it needs from others; some may be kept already."""
        brought: list[Any] = []
        if isinstance(self.about, Job):
            # The way to the worker is longer for a trace than recording it anew.
            brought.append(self.about.prepared(ask))
        if self.kind.brings:
            brought.append(self.kind.brings(ask, self.about, *self.arguments))
        return replace(self, brought=tuple(brought))

    def result(self, model: Any) -> T:
        """What is asked for; errors as the translator's."""
        brought = self.brought
        if brought is None:
            brought = self.prepared(lambda other: other.result(model)).brought or ()
        made = (each.result(model) if isinstance(each, Job) else each for each in brought)
        return self.kind.function(model, *made, *self.arguments)


class JobKind(Generic[P, T]):
    """A decorated function. Calling it gives the job; pickles hold no more than its name."""

    def __init__(
        self,
        function: Callable[..., T],
        doing: str,
        *,
        load: Load = translator,
        brings: Callable[..., Any] | None = None,
        takes_trace: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.doing = doing
        self.load = load
        self.brings = brings
        first = 1 + takes_trace + (brings is not None)
        taken = list(inspect.signature(function).parameters.values())[first:]
        self.parameters = [each.name for each in taken]
        about = inspect.Parameter("about", inspect.Parameter.POSITIONAL_ONLY)
        self._call = inspect.Signature([about, *taken])

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Job[T]:
        """The job with these arguments, defaults included."""
        bound = self._call.bind(*args, **kwargs)
        bound.apply_defaults()
        about, *arguments = bound.args
        return Job(self, about, tuple(arguments))

    def __reduce__(self) -> str:
        return self.__name__  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return self.__reduce__()


@overload
def of_model(
    doing: str = COMPARING, *, load: Load = translator
) -> Callable[[Callable[Concatenate[Any, P], T]], JobKind[Concatenate[ModelVersion, P], T]]: ...
@overload
def of_model(
    doing: str = COMPARING, *, brings: Callable[Concatenate[Ask, ModelVersion, ...], Brought]
) -> Callable[
    [Callable[Concatenate[Any, Brought, P], T]], JobKind[Concatenate[ModelVersion, P], T]
]: ...
def of_model(
    doing: str = COMPARING, *, load: Load = translator, brings: Callable[..., Any] | None = None
) -> Any:
    """Make a job of a function of a model and any arguments; it is called with a version of one.

    Args:
        doing: what a person reads who waits for it.
        brings: asks for results of other jobs, with the same arguments; what it returns is the
            function's second argument.
    """
    return lambda function: JobKind(function, doing, load=load, brings=brings)


@overload
def of_trace(
    doing: str = COMPARING,
) -> Callable[
    [Callable[Concatenate[Any, Trace, P], T]], JobKind[Concatenate[Job[Trace], P], T]
]: ...
@overload
def of_trace(
    doing: str = COMPARING, *, brings: Callable[Concatenate[Ask, Job[Trace], ...], Brought]
) -> Callable[
    [Callable[Concatenate[Any, Trace, Brought, P], T]], JobKind[Concatenate[Job[Trace], P], T]
]: ...
def of_trace(doing: str = COMPARING, *, brings: Callable[..., Any] | None = None) -> Any:
    """Make a job of a function of a model and a trace; it is called with the job that records it.

    `brings` is as of `of_model`, for the function's third argument.
    """
    return lambda function: JobKind(function, doing, brings=brings, takes_trace=True)
