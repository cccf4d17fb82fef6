"""The rooms of the house: an import points to a floor below, and each library has its rooms."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

FLOORS = (
    (
        "model.arguments",
        "model.brief",
        "model.console",
        "model.files",
        "model.numbers",
        "model.side_by_side",
        "model.version",
    ),
    ("model.trace", "model.paper"),
    ("model.rules",),
    ("model.record",),
    ("model.checkpoints", "model.watch"),
    ("model.translate",),
    ("model.explain", "model.patching"),
    ("model.survey", "model.contrast"),
    ("model.serving",),
    ("viz.draw",),
    ("viz.charts",),
    ("viz.save", "viz.browser"),
    ("viz.links",),
    ("viz.model_page",),
    (
        *(
            "viz.heads",
            "viz.effects",
            "viz.decoding",
            "viz.masks",
            "viz.positions",
        ),
        *("viz.corpus", "viz.compare", "viz.about"),
    ),
    ("viz.acts",),
    ("viz.registry",),
    ("viz.site",),
    ("viz.service",),
    ("viz.inquiries",),
    ("viz.shell",),
    ("viz.talk",),
    ("viz.server", "viz.desktop", "viz.pages"),
    ("viz.widget", "app"),
    ("viz.frames", "viz.notebook"),
    ("headscope",),
    # The laboratory, which the wheel lacks: nothing imports it.
    ("model.training",),
)
"""From the ground up. A room imports from floors below its own; rooms of one floor do not meet."""

FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}

LIBRARIES: Mapping[str, frozenset[str]] = {
    "torch": frozenset({"model", "viz.service", "viz.server", "headscope"}),
    "streamlit": frozenset(
        {"viz.browser", "viz.service", "viz.shell", "viz.talk", "viz.server", "viz.desktop"}
        | {"viz.pages", "app", "headscope"}
    ),
    "plotly": frozenset({"viz"}),
    "pandas": frozenset({"viz"}),
}
"""Who may import a library that not everybody may: a room, or all rooms below a name."""

WITHOUT_TORCH = (
    "model.trace",
    "viz.draw",
    "viz.charts",
    "viz.save",
    "viz.browser",
    "viz.links",
    "viz.model_page",
    *FLOORS[14],
    *FLOORS[15],
)
"""Rooms that are loaded, with all that they import, where there is no torch."""


@cache
def modules() -> Mapping[str, Path]:
    """Every file of ours by its dotted name; a package by the name of its folder."""
    found = {"app": ROOT / "app.py"}
    for top in ("model", "viz", "headscope"):
        for path in (ROOT / top).rglob("*.py"):
            dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[dotted.removesuffix(".__init__")] = path
    return found


@cache
def imports(name: str) -> frozenset[str]:
    """What a file of ours imports: files of ours by their dotted name, and libraries."""
    return frozenset(_imports(modules()[name]))


def _imports(path: Path, loading: bool = False) -> Iterator[str]:
    """The imports in a file; while it is being loaded, not those for types or within functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    later = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if loading and node in later:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{path} imports by dots"
            assert not node.level, f"{path} imports by dots"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules() else node.module


def room(name: str) -> str:
    """The folder of a file, or the file itself where it stands in no folder."""
    if below(name, "headscope"):
        return "headscope"
    return ".".join(name.split(".")[:2])


def below(name: str, place: str) -> bool:
    return f"{name}.".startswith(f"{place}.")


FILES = sorted(name for name in modules() if name not in {"model", "viz"})


@pytest.mark.parametrize("name", FILES)
def test_every_file_stands_in_a_room(name: str) -> None:
    assert room(name) in FLOOR


def test_imports_point_to_the_floors_below() -> None:
    """Also what makes circles of rooms impossible."""
    wrong = [
        f"{name} imports {other}"
        for name in FILES
        for other in imports(name) & modules().keys() - {"model", "viz"}
        if room(other) != room(name) and FLOOR[room(other)] >= FLOOR[room(name)]
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_no_two_files_load_each_other() -> None:
    open_files: list[str] = []
    done: set[str] = set()

    def visit(name: str) -> None:
        assert name not in open_files, " → ".join([*open_files, name])
        if name in done:
            return
        open_files.append(name)
        for other in {*_imports(modules()[name], loading=True)} & modules().keys():
            visit(other)
        done.add(open_files.pop())

    for name in FILES:
        visit(name)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_stays_in_its_rooms(library: str) -> None:
    wrong = [
        f"{name} imports {library}"
        for name in FILES
        if any(below(other, library) for other in imports(name))
        and not any(below(name, place) for place in LIBRARIES[library])
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("place", WITHOUT_TORCH)
def test_what_draws_is_loaded_without_torch(place: str) -> None:
    waiting = [name for name in FILES if room(name) == place]
    assert waiting
    reached: dict[str, str] = dict.fromkeys(waiting, "")
    while waiting:
        name = waiting.pop()
        for other in imports(name):
            assert not below(other, "torch"), f"{name}, by way of {reached[name]}, imports torch"
            if other in modules() and other not in reached:
                reached[other] = name
                waiting.append(other)
