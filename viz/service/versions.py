"""Which checkpoint is meant, and which files it had at one moment."""

import contextlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from model.checkpoints.checkpoint import SNAPSHOTS, snapshot_file, snapshots
from model.checkpoints.weights_digest import provenance_of
from model.trace.provenance import Provenance


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A checkpoint, or one of its snapshots, with the files that it had at one moment.

    A folder that is replaced while the app runs is another version: nothing computed for the one
    before is shown for it. Files are name, size, inode and time of the last change, in nanoseconds.
    """

    checkpoint: Path
    files: tuple[tuple[str, int, int, int], ...]

    @property
    def folder(self) -> Path:
        """The checkpoint's folder."""
        return folder_of(self.checkpoint)


def version_of(checkpoint: Path) -> ModelVersion:
    """The version of a checkpoint, or of one of its snapshots, that is there now."""
    files = []
    with contextlib.suppress(OSError), os.scandir(folder_of(checkpoint)) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_file():
                    state = os.stat(entry.path)
                    files.append((entry.name, state.st_size, state.st_ino, state.st_mtime_ns))
    if is_snapshot(checkpoint):
        with contextlib.suppress(OSError):
            state = checkpoint.stat()
            files.append((checkpoint.name, state.st_size, state.st_ino, state.st_mtime_ns))
    return ModelVersion(checkpoint, tuple(sorted(files)))


@lru_cache(maxsize=64)
def known_of(version: ModelVersion) -> Provenance:
    """The part of a trace's provenance that the files of its model tell."""
    folder = version.folder
    snapshot = version.checkpoint.stem if is_snapshot(version.checkpoint) else None
    number = None if snapshot is None else snapshots(folder).index(int(snapshot))
    return provenance_of(folder, number)


def snapshot_of(folder: Path, step: int) -> Path:
    """A checkpoint as it was after so many steps, for whatever here takes a checkpoint.

    It is the path of the snapshot's file, so that results are kept for each snapshot separately.
    """
    return snapshot_file(folder, step)


def folder_of(checkpoint: Path) -> Path:
    """The folder of a checkpoint, or of what `snapshot_of` gave."""
    return checkpoint.parents[1] if is_snapshot(checkpoint) else checkpoint


def is_snapshot(checkpoint: Path) -> bool:
    """Whether it is what `snapshot_of` gave."""
    return checkpoint.suffix == ".safetensors" and checkpoint.parent.name == SNAPSHOTS
