"""The folders of the models that come with Headscope, in a checkout and in an installation."""

import os
from pathlib import Path

from model.arguments import nearest, require


class CheckpointError(ValueError):
    """A checkpoint that is missing, incomplete or damaged; the message says what and where."""


CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
"""A folder of checkpoint folders."""


def checkpoint_folder(checkpoint: str | os.PathLike[str]) -> Path:
    """The folder of a checkpoint.

    Args:
        checkpoint: the name of a model that comes with Headscope, such as "en-de", or a path.
            A folder of that name in the current directory is "./en-de".
    """
    path = Path(checkpoint)
    if isinstance(checkpoint, str) and checkpoint == path.name:
        shipped = CHECKPOINTS / checkpoint
        return shipped if shipped.is_dir() else path
    return path


def existing_folder(checkpoint: str | os.PathLike[str]) -> Path:
    """The folder of a checkpoint, which is there.

    Args:
        checkpoint: as of `checkpoint_folder`.

    Raises:
        CheckpointError: if there is no such folder; the message lists the models that there are.
    """
    require("checkpoint", checkpoint, str | os.PathLike)
    folder = checkpoint_folder(checkpoint)
    if not folder.is_dir():
        raise CheckpointError(no_folder(folder))
    return folder


def no_folder(path: Path) -> str:
    """A sentence on a folder that is not there, with the models whose names come near."""
    if path.name != str(path):
        return f"There is no checkpoint folder {path}; name one with a config.json."
    shipped = sorted(each.parent.name for each in CHECKPOINTS.glob("*/config.json"))
    return (
        f"There is no checkpoint folder {path}.{nearest(path.name, shipped)} Headscope comes with "
        f"{', '.join(shipped)}; any other model is a folder with a config.json."
    )


def checkpoint_name(folder: Path) -> str:
    """A name or a whole path by which `checkpoint_folder` finds a folder from any directory."""
    whole = folder.resolve()
    return whole.name if whole.parent == CHECKPOINTS else str(whole)
