"""The table of alignment errors in a checkpoint folder: alignment.json."""

import os

from model.checkpoints.folder_files import own_file, parse_json
from model.checkpoints.shipped import CheckpointError, existing_folder
from model.explain.alignment_error import AlignmentError
from model.explain.alignment_table import AlignmentTable

ALIGNMENT = "alignment.json"


def read_alignment(directory: str | os.PathLike[str]) -> AlignmentTable | None:
    """The alignment errors of a checkpoint's heads; None if the file is missing or malformed."""
    directory = existing_folder(directory)
    try:
        return AlignmentTable.from_json(parse_json(own_file(directory, ALIGNMENT)))
    except (AlignmentError, CheckpointError):
        return None
