"""How heads emerged in training, as growth.json of a checkpoint folder."""

import os
from pathlib import Path

from model.checkpoints.folder_files import own_file, read_json, write_json
from model.checkpoints.shipped import CheckpointError, existing_folder
from model.explain.growth import Growth
from model.explain.labels_file import read_labels

FILE = "growth.json"


def write_growth(directory: Path, growth: Growth) -> None:
    """Write growth.json of a checkpoint folder."""
    write_json(directory / FILE, growth.to_json())


def read_growth(directory: str | os.PathLike[str]) -> Growth | None:
    """The content of a checkpoint folder's growth.json; None without the file.

    growth.json takes labels from the examples; only those that the trained model's heads earn on
    new sentences, by labels.json, are kept. Raises CheckpointError if a file is damaged.
    """
    directory = existing_folder(directory)
    path = own_file(directory, FILE)
    if not path.exists():
        return None
    content = read_json(path)
    survey = read_labels(directory)
    try:
        return Growth.from_json(content).with_labels(survey.labels if survey else {})
    except ValueError as error:
        raise CheckpointError(
            f"{path} is damaged: {error}. Delete it, or write it anew with python -m "
            "model.training.growth."
        ) from None
