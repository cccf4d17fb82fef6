"""Recomputes positions as they are edited, while a block lasts."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from model.record.intervention import PositionEdit
from model.record.recording import CaptureError
from model.record.scopes import Scope


class PositionEditing:
    """The positions in place of the model's own, in one thread."""

    def __init__(self, edit: PositionEdit) -> None:
        self.edit = edit
        self.met = False


active_position_editing: Scope[PositionEditing] = Scope("editing_positions()")


@contextmanager
def editing_positions(edit: PositionEdit) -> Generator[None, None, None]:
    """Edit positions of every tapped model that runs in this thread, until the block ends.

    In nested blocks, only the inner one applies. In a padded batch, `reverse` counts from the end
    of the padding.

    Raises:
        PositionError: if a shift leads beyond the model's positions, or the decoder's positions are
            reversed while decoding.
        CaptureError: if, when the block ends, no edited encoding ran.
    """
    moving = PositionEditing(edit)
    with active_position_editing.holding(moving):
        yield
    if not (moving.met or edit.at_rest):
        raise CaptureError(
            "The edited position encoding did not run, so nothing changed; call "
            "install_taps(model) once, and run the side that the edit names."
        )
