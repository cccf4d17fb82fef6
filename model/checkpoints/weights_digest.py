"""What tells the weights of a checkpoint from all others, and what a trace says of them."""

from functools import lru_cache, partial
from hashlib import file_digest, sha256
from pathlib import Path

from model.checkpoints.checkpoint import snapshot_file, snapshots
from model.trace.provenance import Later, Provenance
from model.version import VERSION


def weights_digest(directory: Path, snapshot: int | None = None) -> str:
    """The SHA-256 of the weights in a folder, ours or a Hugging Face one, or of a snapshot.

    Where a model has only snapshots, these are the last one's.
    """
    return _digest(_states(directory, snapshot))


def provenance_of(directory: Path, snapshot: int | None = None) -> Provenance:
    """The part of a trace's provenance that its model's folder tells, as it is now."""
    states = _states(directory, snapshot)
    weights = Later(partial(_digest_if_same, states, directory, snapshot))
    return Provenance(model=directory.resolve().name, weights=weights, headscope=VERSION)


_States = tuple[tuple[Path, int, int, int], ...]
"""Files, each with its inode, size and time of change."""


def _digest_if_same(states: _States, directory: Path, snapshot: int | None) -> str:
    # Other weights may have been written since they were loaded.
    return _digest(states) if _states(directory, snapshot) == states else ""


def _states(directory: Path, snapshot: int | None) -> _States:
    """The files of weights, each with its inode, size and time."""
    steps = snapshots(directory)
    whole = sorted(directory.glob("*.safetensors")) if snapshot is None else []
    last = [snapshot_file(directory, steps[-1 if snapshot is None else snapshot])] if steps else []
    states = ((path, path.stat()) for path in whole or last)
    return tuple((path, each.st_ino, each.st_size, each.st_mtime_ns) for path, each in states)


@lru_cache(maxsize=64)
def _digest(states: _States) -> str:
    digest = sha256()
    for path, *_ in states:
        with path.open("rb") as file:
            file_digest(file, lambda: digest)
    return digest.hexdigest()
