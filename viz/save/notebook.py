"""The Python of a picture: lines for a notebook that make the same figure, the last of them it.

Every text of a person is written as a literal of Python's, so it stays data and becomes no code.
Functions give the lines without the model they run on, which `code` adds.
"""

from __future__ import annotations

from collections.abc import Sequence

Lines = list[str]


def code(
    lines: Sequence[str], *, checkpoint: str | None = None, snapshot: int | None = None
) -> str:
    """Lines as a cell for a notebook that was started in Headscope's folder.

    Args:
        lines: imports among them, which go first; the last one is the figure.
        checkpoint: the model's folder; None for lines that need no model.
        snapshot: which of its snapshots, counted from 0; None for the model as it was trained.
    """
    imports = [line for line in lines if line.startswith("from ")]
    rest = [line for line in lines if not line.startswith("from ")]
    of_step = "" if snapshot is None else f", snapshot={snapshot}"
    if checkpoint is not None:
        imports.insert(0, "from model import load")
        rest.insert(0, f"translator = load({checkpoint!r}{of_step})")
    heading = "# In a notebook that was started in Headscope's folder."
    return "\n".join([heading, *imports, "", *rest, ""])


def recorded(sentence: str, target: str = "") -> str:
    """The line that records a sentence, with a translation of one's own if it is given."""
    given = f"{sentence!r}, {target!r}" if target else repr(sentence)
    return f"trace = translator.trace({given})"


def recorded_elsewhere(folder: str, text: str) -> str:
    """The line that records a text with another model in the folder of checkpoints."""
    return f"trace = load_reader({f'checkpoints/{folder}'!r}).read({text!r}).trace"


def opened(file: str) -> str:
    """The line that reads a saved trace, from the folder in which the notebook was started."""
    return f"trace = Trace.load({file!r})"
