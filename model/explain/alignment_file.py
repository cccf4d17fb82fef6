"""The table of alignment errors in a checkpoint folder: alignment.json."""

from pathlib import Path

from model.checkpoints.checkpoint import CheckpointError, own_file, parse_json
from model.explain.alignment_error import AlignmentError
from model.explain.alignment_table import AlignmentTable

ALIGNMENT = "alignment.json"


def read_alignment(directory: Path) -> AlignmentTable | None:
    """The alignment errors of a checkpoint's heads; None if the file is missing or malformed."""
    try:
        return AlignmentTable.from_json(parse_json(own_file(directory, ALIGNMENT)))
    except (AlignmentError, CheckpointError):
        return None
