"""Removal curves over a checkpoint's examples on disk: removal.json."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from model.checkpoints.checkpoint import REMOVAL
from model.checkpoints.folder_files import own_file, read_json, write_json
from model.checkpoints.shipped import CheckpointError, existing_folder
from model.explain.ablation_results import ExamplesRemoval, Removal

_DIGITS = 4


def save_removal(directory: Path, removal: ExamplesRemoval) -> None:
    """Write removal.json of a checkpoint folder, with numbers to four digits."""
    content = {
        "sentences": removal.sentences,
        "chrf_signature": removal.chrf_signature,
        "removed": list(removal.log_prob.removed),
    }
    for name, each in (("log_prob", removal.log_prob), ("chrf", removal.chrf)):
        content[name] = {
            "least_first": each.least_first.astype(np.float64).round(_DIGITS).tolist(),
            "at_random": each.at_random.astype(np.float64).round(_DIGITS).tolist(),
        }
    write_json(directory / REMOVAL, content)


def read_removal(directory: str | os.PathLike[str], n_heads: int) -> ExamplesRemoval | None:
    """The curves in removal.json of a model's checkpoint folder; None without the file.

    Raises CheckpointError if the file is damaged, or belongs to a model with other heads.
    """
    directory = existing_folder(directory)
    path = own_file(directory, REMOVAL)
    if not path.exists():
        return None
    content = read_json(path)
    try:
        removed = tuple(content["removed"])
        if not all(type(count) is int for count in removed) or (
            removed[:1] + removed[-1:] != (0, n_heads) or list(removed) != sorted(set(removed))
        ):
            raise ValueError
        sentences, signature = content["sentences"], content["chrf_signature"]
        if type(sentences) is not int or sentences < 1 or not isinstance(signature, str):
            raise ValueError
        return ExamplesRemoval(
            sentences,
            _curves(content["log_prob"], removed, -np.inf, 0),
            _curves(content["chrf"], removed, 0, 100),
            signature,
        )
    except (KeyError, OverflowError, TypeError, ValueError):
        raise CheckpointError(
            f"{path} is damaged or belongs to another model: it lacks the scores while {n_heads} "
            "heads are removed. Delete it, or write it anew with python -m "
            "model.training.removal."
        ) from None


def _curves(
    content: Mapping[str, Any], removed: tuple[int, ...], low: float, high: float
) -> Removal:
    least_first, at_random = (
        np.asarray(content[name], np.float32) for name in ("least_first", "at_random")
    )
    count = len(removed)
    if least_first.shape != (count,) or at_random.shape[1:] != (count,) or not len(at_random):
        raise ValueError
    for values in (least_first, at_random):
        if not (np.isfinite(values) & (values >= low) & (values <= high)).all():
            raise ValueError
    return Removal(removed, least_first, at_random)
