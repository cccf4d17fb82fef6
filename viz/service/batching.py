"""How jobs are computed: together where that is faster, on the CPU where a GPU fails."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from model.serving.queue import ServiceError
from model.translate.translator import Translator
from viz.service.job import Job
from viz.service.jobs.running import record, translate
from viz.service.loaded import Device
from viz.service.results import Timed

MOST_TOGETHER_CHARACTERS = 300
"""A longer sentence is translated alone: others would wait for the last of its words."""

Results = Mapping[Job[Any], Any]


def fit_together(one: Job[Any], other: Job[Any]) -> bool:
    """Whether two jobs are computed in less time together."""
    return (
        one.kind is other.kind is translate
        and one.version == other.version
        and max(map(len, (*one.arguments, *other.arguments))) <= MOST_TOGETHER_CHARACTERS
    )


def compute(jobs: Sequence[Job[Any]]) -> Iterator[tuple[int, Any]]:
    """What a queue asks for: results of each job by its place, or the exception to be raised.

    Jobs of which the first fits with each of the others are computed together.
    """
    left = dict(enumerate(jobs))
    if len(jobs) > 1 and all(job.kind is translate for job in jobs):
        # Whatever is wrong with one of them it says alone, as does a GPU.
        with contextlib.suppress(ValueError, RuntimeError):
            for place, results in _translate(jobs, jobs[0].model()):
                del left[place]
                yield place, results
    for place, job in left.items():
        try:
            yield place, _results(job)
        except Exception as error:
            yield place, error


def _translate(jobs: Sequence[Job[Any]], model: Translator) -> Iterator[tuple[int, Results]]:
    started = time.perf_counter()
    translations = model.translate_batch([sentence for job in jobs for sentence in job.arguments])
    seconds = time.perf_counter() - started
    for place, (job, translation) in enumerate(zip(jobs, translations, strict=True)):
        timed = Timed(translation, seconds, model.device.type)
        yield place, _with_trace(job, timed, model)


def _with_trace(job: Job[Timed], timed: Timed, model: Translator) -> Results:
    """Adds the translation's trace: most pages show both, and recording takes a tenth as long."""
    return {job: timed, record(job.version, *job.arguments): model.trace_of(timed.translation)}


def _results(job: Job[Any]) -> Results:
    """A job's results, on the GPU where there is one, and else on the CPU; errors as `ask`.

    A GPU that is full, or gone, is left alone for this job; the next one tries it again.
    """
    try:
        try:
            return _results_on("auto", job)
        except RuntimeError:
            if not torch.cuda.is_available():
                raise
        return _results_on("cpu", job)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or "alloc" in str(error):
            raise ServiceError(
                "This machine has too little memory left for this; try something shorter."
            ) from None
        raise


def _results_on(device: Device, job: Job[Any]) -> Results:
    model = job.model(device)
    result = job.result(model)
    return _with_trace(job, result, model) if job.kind is translate else {job: result}
