"""The Python of a picture: lines for a notebook that draw the same figure.

A person's text is always written as a Python literal, so it stays data and never becomes code.
These lines do not load the model; `code` adds that.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum

from model.trace.attention_map import AttentionKind, Site

Lines = list[str]

_TOP_LEVEL = ("model.", "viz.charts.", "viz.save.")
"""Where the classes come from that `headscope` itself offers."""


def code(
    lines: Sequence[str], *, checkpoint: str | None = None, snapshot: int | None = None
) -> str:
    """A notebook cell made of these lines; it runs in any folder.

    Args:
        lines: the last one is the figure; imports move to the top.
        checkpoint: the model's name or folder; None for lines that need no model.
        snapshot: one of its snapshots, counted from 0; None for the fully trained model.
    """
    imports = [line for line in lines if line.startswith("from ")]
    rest = [line for line in lines if not line.startswith("from ")]
    of_step = "" if snapshot is None else f", snapshot={snapshot}"
    if checkpoint is not None:
        rest.insert(0, f"translator = hs.load({checkpoint!r}{of_step})")
    return "\n".join(["import headscope as hs", *imports, "", *rest, ""])


def public(value: object) -> str:
    """A value as a cell writes it, without defaults; classes of pictures are in `hs.figures`."""
    match value:
        case AttentionKind():
            return f"hs.figures.AttentionKind({value.value!r})"
        case Enum():
            return repr(value.value)
        case Site():
            return f"hs.Site.of({str(value)!r})"
        case list():
            return f"[{', '.join(map(public, value))}]"
        case tuple():
            return f"({', '.join(map(public, value))}{',' * (len(value) == 1)})"
        case Mapping():
            return f"{{{', '.join(f'{key!r}: {public(each)}' for key, each in value.items())}}}"
    if not is_dataclass(value) or isinstance(value, type):
        return repr(value)
    arguments = []
    for each in fields(value):
        own = getattr(value, each.name)
        if own != each.default:
            is_positional = each.default is MISSING and not each.kw_only
            arguments.append(f"{'' if is_positional else f'{each.name}='}{public(own)}")
    # In the wheel, all of it stands below the package.
    module = type(value).__module__.removeprefix("headscope.")
    place = "hs" if module.startswith(_TOP_LEVEL) else "hs.figures"
    return f"{place}.{type(value).__name__}({', '.join(arguments)})"


def assigned(lines: Sequence[str]) -> set[str]:
    """The names to which lines of Python assign."""
    return {
        node.id
        for statement in ast.parse("\n".join(lines)).body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name)
    }


def traced(sentence: str, target: str = "") -> Lines:
    """The lines that record a sentence, with a person's own translation if there is one.

    They name the texts `sentence` and `target`.
    """
    if not target:
        return [f"sentence = {sentence!r}", "trace = translator.trace(sentence)"]
    return [
        f"sentence, target = {sentence!r}, {target!r}",
        "trace = translator.trace(sentence, target)",
    ]


def recorded_elsewhere(folder: str, text: str) -> str:
    """The line that records a text with a model that only reads, named by its name or folder."""
    return f"trace = hs.load_reader({folder!r}).read({text!r}).trace"


def opened(file: str) -> str:
    """The line that reads a saved trace from the notebook's folder."""
    return f"trace = hs.Trace.load({file!r})"
