"""Who may import whom, by folder: draw ← browser and save ← wings ← shell ← pages ← app."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

VALUES = tuple(
    f"model.{name}"
    for name in (
        *("files", "numbers", "trace", "trace_file", "terms", "words", "measures", "labels"),
        *("head_effects", "search", "translation", "logit_lens"),
        *("mask_rules", "head_edits", "intervention"),
        *("agreement", "attribution"),
        *("alignment_error", "alignment_table"),
    )
)
"""Of the model, what knows no torch."""
WINGS = (
    *("viz.heads", "viz.effects", "viz.decoding"),
    *("viz.masks", "viz.positions", "viz.about"),
)

OURS = {
    "values": VALUES,
    "model": ("model",),
    "draw": (*VALUES, "viz.draw"),
    "browser": (*VALUES, "viz.draw", "viz.browser"),
    "save": (*VALUES, "viz.draw", "viz.save"),
    "registry": (*VALUES, "viz.draw", "viz.save", *WINGS, "viz.links.parameters"),
    "wing": (*VALUES, "viz.draw", "viz.browser", "viz.save", "viz.heads", "viz.links.parameters"),
    "shell": ("model", "viz"),
    "page": ("model", "viz"),
    "window": (),
    "face": ("headscope", "model", "viz"),
    "notebook": ("model", "viz.heads", "viz.browser", "viz.widget"),
    "app": ("viz.draw", "viz.browser", "viz.shell", "viz.registry.pages"),
}
"""What of our own the files of a folder may import."""

THEIRS = {
    "streamlit": {"browser", "shell", "page", "app", "window", "face"},
    "torch": {"model", "shell", "face"},
    "plotly": {"draw", "wing", "save", "shell", "page"},
    "pandas": {"wing", "save", "shell", "page"},
}
"""Who may import a library that not everybody may."""


def layer(path: Path) -> str:
    match path.relative_to(ROOT).parts:
        case ("app.py",):
            return "app"
        case ("model", name) if f"model.{name.removesuffix('.py')}" in VALUES:
            return "values"
        case ("model", *_):
            return "model"
        case ("headscope", *_):
            return "face"
        case ("viz", "notebook.py" | "widget.py"):
            return "notebook"
        # Starts the app as a process of its own.
        case ("viz", "shell", "desktop.py"):
            return "window"
        case ("viz", room, name) if f"viz.{room}" in WINGS:
            return "page" if name.startswith("page") else "wing"
        case ("viz", "views.py" | "pictures.py"):
            return "registry"
        case ("viz", room, _):
            return room
    # What a page says of itself, below every wing.
    return "draw"


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports by dots"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(f"{name}.".startswith(f"{package}.") for package in packages)


def violations(path: Path) -> list[str]:
    here = layer(path)
    own = ".".join(path.relative_to(ROOT).parts[:2])
    return [
        f"{path.relative_to(ROOT)} ({here}) imports {name}"
        for name in imports(path)
        if (
            within(name, ("headscope", "model", "viz", "app", "tests", "benchmarks"))
            and name != "viz.ROOT"
            and not within(name, (*OURS[here], own))
        )
        or (within(name, WINGS) and ".page" in name and here != "page")
        or any(within(name, (library,)) and here not in may for library, may in THEIRS.items())
    ]


def test_imports_only_point_down() -> None:
    files = [
        ROOT / "app.py",
        *(path for top in ("headscope", "model", "viz") for path in (ROOT / top).rglob("*.py")),
    ]
    found = [violation for path in files for violation in violations(path)]
    assert not found, "\n".join(found)
