"""The entries of the model menu, by name: our models, other models, and saved traces."""

import contextlib
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any

from model.checkpoints.checkpoint import CARD, METRICS, trained_without_causal_mask
from model.checkpoints.folder_files import CONFIG, own_file, read_json
from model.checkpoints.shipped import CHECKPOINTS, CheckpointError
from model.checkpoints.toy_tasks import Task, task_of
from model.translate.text_models import is_reader
from viz.draw.labels import visible

DEFAULT_CHECKPOINT = "en-de"

CHECKPOINTS_VARIABLE = "HEADSCOPE_CHECKPOINTS"
"""Names another folder of checkpoints than the app's own, one checkpoint, or several as in PATH."""

TRACES_VARIABLE = "HEADSCOPE_TRACES"
"""Names a folder of saved traces, or one trace, or several, as in PATH."""

TOY = "toy-"
"""How the names of toys begin: tiny models of a task that is no translation."""

DROPPED = "dropped"
"""The name in the address of a trace that a person dropped on the page; its own stays private."""

TRACE_SUFFIX = ".npz"


MOST_READ, LONGEST_TITLE, LONGEST_LINE = 4096, 60, 160
"""Bytes that are read of a card; characters that a menu shows of its title, and of its text."""

_HEADING = re.compile(r"# [^:]+: +(.+)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class Kind(Enum):
    """The kinds of entries."""

    CHECKPOINT = "checkpoint"
    """One of our checkpoint folders: every page shows it."""
    READER = "reader"
    """A Hugging Face folder, or half a Transformer of ours: the heads page shows it on a text."""
    TRACE = "trace"
    """A saved trace, without a model to run."""


@dataclass(frozen=True, slots=True)
class Openable:
    """One entry of the menu: a folder or file, or the bare name of a trace that was dropped.

    A dropped one is held by this session alone, in memory.
    """

    kind: Kind
    path: Path
    is_dropped: bool = False


def checkpoints() -> dict[str, Path]:
    """The folders of whole Transformers to choose from, by name: en-de first, toys last.

    Raises CheckpointError if there is none.
    """
    folders = {name: path for name, path in _configured().items() if not is_reader(path)}
    for folder in _folders():
        usual = folder / DEFAULT_CHECKPOINT
        # A folder en-de without a configuration counts all the same: it is damaged, not absent.
        if usual.is_dir() and not is_reader(usual):
            folders.setdefault(DEFAULT_CHECKPOINT, usual)
    if not folders:
        named = " or ".join(map(str, _folders()))
        raise CheckpointError(
            f"There is no trained model in {named} yet: put a checkpoint folder there, or set "
            f"{CHECKPOINTS_VARIABLE} to a folder that holds one."
        )
    return {name: folders[name] for name in sorted(folders, key=_usual_first)}


def checkpoints_if_any() -> dict[str, Path]:
    """The same, or nothing where there is none."""
    with contextlib.suppress(CheckpointError):
        return checkpoints()
    return {}


def readers() -> dict[str, Path]:
    """The folders of other models, by name: toys first, then alphabetically."""
    folders = {name: path for name, path in _configured().items() if is_reader(path)}
    return {
        name: folders[name]
        for name in sorted(folders, key=lambda name: (not name.startswith(TOY), name))
    }


def _folders() -> list[Path]:
    named = os.environ.get(CHECKPOINTS_VARIABLE, "").split(os.pathsep)
    return [Path(each) for each in named if each] or [CHECKPOINTS]


def _configured() -> dict[str, Path]:
    """The folders with a configuration, by name; of two of one name, the first counts."""
    folders: dict[str, Path] = {}
    for folder in _folders():
        with contextlib.suppress(OSError):
            for config in (*folder.glob(CONFIG), *folder.glob(f"*/{CONFIG}")):
                folders.setdefault(config.parent.name, config.parent)
    return folders


def _usual_first(name: str) -> tuple[bool, bool, str]:
    return name.startswith(TOY), name != DEFAULT_CHECKPOINT, name


def toy_task(folder: Path) -> Task | None:
    """What the toy in a checkpoint folder learned to do; None for any other model."""
    if not folder.name.startswith(TOY):
        return None
    return task_of(_metrics(folder))


def copies(folder: Path) -> bool:
    """Whether a model was trained without a causal mask, so that it copies and cannot write."""
    return trained_without_causal_mask(_metrics(folder))


def _metrics(folder: Path) -> dict[str, Any]:
    """The record of a checkpoint's training; empty where it cannot be read."""
    try:
        return read_json(own_file(folder, METRICS))
    except CheckpointError:
        return {}


def titles(entries: Mapping[str, Openable]) -> dict[str, str]:
    """The title of each entry in the menu, in plain text; no two are alike.

    A model has its card's title, or its folder's name and type; a trace has its file's name.
    """
    named = {name: _shortened(_title(name, each), LONGEST_TITLE) for name, each in entries.items()}
    counts = Counter(named.values())
    return {
        name: title if counts[title] == 1 else f"{title} ({visible(name)})"
        for name, title in named.items()
    }


def description(openable: Openable) -> str:
    """The first sentence of a model's card, in plain text; empty where there is none."""
    if openable.kind is Kind.TRACE:
        return ""
    paragraphs = re.split(r"\n\s*\n", _card(openable.path))[1:2]
    text = " ".join(_LINK.sub(r"\1", " ".join(paragraphs)).replace("`", "").split())
    first = re.split(r"(?<!\bet al)\. |: ", text.removeprefix("A toy: "))[0].removesuffix(".")
    return f"{_shortened(first, LONGEST_LINE)}." if first else ""


def _title(name: str, openable: Openable) -> str:
    if openable.kind is Kind.TRACE:
        came = "Dropped" if openable.is_dropped else "Trace"
        return f"{came}: {openable.path.stem}"
    heading = _HEADING.fullmatch(_card(openable.path).partition("\n")[0].strip())
    if name.startswith(TOY):
        return f"Toy: {heading[1] if heading else name.removeprefix(TOY)}"
    if heading:
        return heading[1]
    kind = _model_type(openable.path) if openable.kind is Kind.READER else ""
    return f"{name} ({kind})" if kind and kind not in name.lower() else name


def _model_type(folder: Path) -> str:
    """The type of a Hugging Face model; empty for others."""
    try:
        kind = read_json(own_file(folder, CONFIG)).get("model_type")
    except CheckpointError:
        return ""
    return kind if isinstance(kind, str) else ""


def _card(folder: Path) -> str:
    """The beginning of a model's card; empty where it cannot be read."""
    try:
        state = (folder / CARD).stat()
    except OSError:
        return ""
    return _read_card(folder, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=256)
def _read_card(folder: Path, changed: int, size: int) -> str:
    # Every run of a page shows the menu, and there may be many models.
    try:
        with own_file(folder, CARD).open("rb") as file:
            return file.read(MOST_READ).decode("utf-8", "replace")
    except (CheckpointError, OSError):
        return ""


def _shortened(text: str, most: int) -> str:
    shown = visible(text)
    return shown if len(shown) <= most else f"{shown[: most - 1].rstrip()}…"


def traces() -> dict[str, Path]:
    """The files of the saved traces to choose from, by name and by alphabet; there may be none.

    Of two files of one name, the one of the first folder counts.
    """
    files: dict[str, Path] = {}
    for named in filter(None, os.environ.get(TRACES_VARIABLE, "").split(os.pathsep)):
        try:
            for file in _files(Path(named)):
                files.setdefault(file.name, file)
        except OSError:
            continue
    return dict(sorted(files.items()))


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return [file for file in place.iterdir() if file.suffix == TRACE_SUFFIX and file.is_file()]


def openables(dropped: str | None = None) -> Mapping[str, Openable]:
    """Every entry by its name in the address, which never becomes a path; a dropped file is one.

    Raises CheckpointError if there is nothing.
    """
    saved = {name: Openable(Kind.TRACE, path) for name, path in traces().items()}
    if dropped is not None:
        saved[DROPPED] = Openable(Kind.TRACE, Path(dropped), is_dropped=True)
    others = {name: Openable(Kind.READER, path) for name, path in readers().items()}
    try:
        trained = {name: Openable(Kind.CHECKPOINT, path) for name, path in checkpoints().items()}
    except CheckpointError:
        if not saved and not others:
            raise
        trained = {}
    models = trained | others
    # A model's name goes before that of a trace.
    return models | {name: each for name, each in saved.items() if name not in models}
