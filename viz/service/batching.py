"""How jobs are computed: together where that is faster, on the CPU where a GPU fails."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from model.serving.queue import ServiceError
from model.translate.translator import Translator
from viz.service.jobs import Job, Translate
from viz.service.loaded import Device
from viz.service.results import Timed

MOST_TOGETHER_CHARACTERS = 300
"""A longer sentence is translated alone: others would wait for the last of its words."""

Results = Mapping[Job[Any], Any]


def fit_together(one: Job[Any], other: Job[Any]) -> bool:
    """Whether two jobs are computed in less time together."""
    return (
        isinstance(one, Translate)
        and isinstance(other, Translate)
        and one.version == other.version
        and max(len(one.sentence), len(other.sentence)) <= MOST_TOGETHER_CHARACTERS
    )


def compute(jobs: Sequence[Job[Any]]) -> Iterator[tuple[int, Any]]:
    """What a queue asks for: results of each job by its place, or the exception to be raised.

    Jobs of which the first fits with each of the others are computed together.
    """
    left = dict(enumerate(jobs))
    together = [job for job in jobs if isinstance(job, Translate)]
    if len(together) == len(jobs) > 1:
        # Whatever is wrong with one of them it says alone, as does a GPU.
        with contextlib.suppress(ValueError, RuntimeError):
            for place, results in _translate(together, together[0].model()):
                del left[place]
                yield place, results
    for place, job in left.items():
        try:
            yield place, _results(job)
        except Exception as error:
            yield place, error


def _translate(jobs: Sequence[Translate], model: Translator) -> Iterator[tuple[int, Results]]:
    started = time.perf_counter()
    translations = model.translate_batch([job.sentence for job in jobs])
    seconds = time.perf_counter() - started
    for place, (job, translation) in enumerate(zip(jobs, translations, strict=True)):
        timed = Timed(translation, seconds, model.device.type)
        yield place, {job: timed, **job.beside(timed, model)}


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
    return {job: result, **job.beside(result, model)}
