"""What is asked of many texts: kept in a folder, resumed, and shared by processes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypedDict

from model.paper.search import Search
from model.record.intervention import Intervention
from model.survey.engine import Engine, loaded
from model.survey.part import SurveyError
from model.trace.provenance import exactly
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.translate.translator import Translator

Item = tuple[str, str | None]
"""A text with its target; None for the model's own translation."""


Ask = Callable[..., list[Any]]
"""What is asked of some items and models: for each item, numbers or texts."""


class Running(TypedDict, total=False):
    """How functions over many texts run.

    keep: a folder for what is found; a run that was interrupted goes on from it.
    workers: processes on this machine; more than 1 need Dask, and models from folders.
    scheduler: the address of a Dask scheduler, in place of processes on this machine.
    progress: whether to show a progress bar.
    """

    keep: str | os.PathLike[str] | None
    workers: int
    scheduler: str | None
    progress: bool


@dataclass(frozen=True, slots=True)
class _Batch:
    """Some items for another process, with the folders of the models."""

    ask: Ask
    items: tuple[Item, ...]
    folders: tuple[str, ...]

    def __call__(self) -> bytes:
        return _answered(self.ask, self.items, [loaded(folder) for folder in self.folders])


def asked(
    ask: Ask,
    items: Sequence[Item],
    models: Sequence[Translator],
    name: str,
    together: int,
    how: Running,
) -> list[Any]:
    """What is found for each item, in their order.

    Args:
        ask: a value, which is also the key of what is kept.
        name: of files, and of the bar.
        together: items of a part, which is done or not.
        how: as in `Running`.
    """
    others = {key: value for key, value in how.items() if key != "keep"}
    engine = Engine(**others)  # type: ignore[arg-type]
    is_here = engine.workers == 1 and engine.scheduler is None
    folders = [model.folder for model in models]
    if not is_here and None in folders:
        raise SurveyError(
            "Other processes load a model from its folder, and this translator is no folder's "
            "trained model as it is; leave workers and scheduler out."
        )
    tasks: dict[str, Callable[[], bytes]] = {}
    sizes = []
    known = [model.provenance.texts for model in models]
    for first in range(0, len(items), together):
        some = tuple(items[first : first + together])
        key = hashlib.sha256(repr([exactly(ask), some, known]).encode()).hexdigest()[:24]
        file = f"{name}-{first:06}-{key}.json"
        here = partial(_answered, ask, some, models)
        tasks[file] = here if is_here else _Batch(ask, some, tuple(map(str, folders)))
        sizes.append(len(some))
    with TemporaryDirectory() as passing:
        folder = Path(how.get("keep") or passing)
        done = engine.done({folder / file: task for file, task in tasks.items()}, sizes, name)
    return [each for content in done for each in json.loads(content)]


def traces(
    items: Sequence[Item],
    translator: Translator,
    search: Search | None,
    under: Intervention,
) -> Iterator[Trace]:
    """The traces of items, one after another."""
    own = [text for text, target in items if target is None]
    if len(own) == len(items):
        yield from translator.trace(own, search=search, under=under)
    else:
        for text, target in items:
            yield translator.trace(text, target, search=search, under=under)


def items_of(
    translator: Translator, texts: Sequence[str], target: str | Sequence[str] | None = None
) -> list[Item]:
    """The texts with their targets; a text that the model cannot read is refused before any run."""
    if not len(texts):
        raise TextError("There are no texts; give at least one.")
    if target is not None and (isinstance(target, str) or len(target) != len(texts)):
        raise TextError("Each text needs its own target; give as many of both.")
    texts = list(map(str, texts))
    translator.require_all_readable(texts)
    targets = [None] * len(texts) if target is None else map(str, target)
    return list(zip(texts, targets, strict=True))


def _answered(ask: Ask, items: Sequence[Item], models: Sequence[Translator]) -> bytes:
    return json.dumps(ask(items, *models)).encode()
