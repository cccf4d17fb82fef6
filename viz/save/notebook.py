"""The Python of a picture: lines for a notebook that make the same figure, the last of them it.

Every text of a person is written as a literal of Python's, so it stays data and becomes no code.
Functions give the lines without the model they run on, which `code` adds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Lines = list[str]


def code(
    lines: Sequence[str], *, checkpoint: str | None = None, snapshot: int | None = None
) -> str:
    """Lines as a cell for a notebook, wherever it was started.

    Args:
        lines: imports among them, which go first; the last one is the figure.
        checkpoint: the model's name or folder; None for lines that need no model.
        snapshot: which of its snapshots, counted from 0; None for the model as it was trained.
    """
    imports = [line for line in lines if line.startswith("from ")]
    rest = [line for line in lines if not line.startswith("from ")]
    of_step = "" if snapshot is None else f", snapshot={snapshot}"
    if checkpoint is not None:
        rest.insert(0, f"translator = hs.load({checkpoint!r}{of_step})")
    return "\n".join(["import headscope as hs", *imports, "", *rest, ""])


def public(value: object) -> str:
    """A search or a layout as a cell writes it, by the names of `headscope`."""
    return re.sub(r"\b(Search|Sampling|Layout)\(", r"hs.\1(", repr(value))


def recorded(sentence: str, target: str = "") -> str:
    """The line that records a sentence, with a translation of one's own if it is given."""
    given = f"{sentence!r}, {target!r}" if target else repr(sentence)
    return f"trace = translator.trace({given})"


def recorded_elsewhere(folder: str, text: str) -> str:
    """The line that records a text with a model that only reads, by its name or folder."""
    return f"trace = hs.load_reader({folder!r}).read({text!r}).trace"


def opened(file: str) -> str:
    """The line that reads a saved trace, from the folder in which the notebook was started."""
    return f"trace = hs.Trace.load({file!r})"
