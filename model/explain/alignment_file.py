"""The table of alignment errors that a checkpoint keeps, from disk; see `AlignmentTable`."""

from __future__ import annotations

from pathlib import Path

from model.checkpoints.checkpoint import CheckpointError, own_file, parse_json
from model.explain.alignment_error import AlignmentError
from model.explain.alignment_table import AlignmentTable

ALIGNMENT = "alignment.json"


def read_alignment(directory: Path) -> AlignmentTable | None:
    """How far the heads of a checkpoint are from hand-made alignments.

    None where its file is missing or malformed.
    """
    try:
        return AlignmentTable.from_json(parse_json(own_file(directory, ALIGNMENT)))
    except (AlignmentError, CheckpointError):
        return None
