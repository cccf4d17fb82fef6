"""Who may import whom: app → pages → session → model, and pages → figures → model/trace."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

ABOVE_FIGURES = {
    "app",
    "viz.pages",
    "viz.bar",
    "viz.fragments",
    "viz.keep",
    "viz.stage",
    "viz.tools",
    "viz.scene_panel",
    "viz.share_panel",
    "viz.welcome",
    "viz.reader",
    "viz.session",
    "viz.examples",
    "viz.address",
    "viz.__main__",
}
# What pages share: widgets, and the session behind them.
SHARED = {
    *("bar.py", "fragments.py", "keep.py", "stage.py", "tools.py"),
    *("scene_panel.py", "share_panel.py", "welcome.py", "reader.py"),
}

FORBIDDEN = {
    "model": {"app", "viz", "streamlit", "plotly", "pandas"},
    "trace": {"app", "viz", "streamlit", "plotly", "pandas", "torch"},
    "figure": {*ABOVE_FIGURES, "viz.components", "viz.standalone", "streamlit", "torch", "model"},
    "component": {*ABOVE_FIGURES, "torch", "model"},
    "address": {"app", "viz.pages", "viz.session", "viz.bar", "viz.components", "torch", "model"},
    "session": {"app", "viz.pages", "viz.bar"},
    # What the session and the command line both ask of a model.
    "examples": {*(ABOVE_FIGURES - {"viz.examples"}), "streamlit"},
    "page": {"app", "viz.__main__"},
    "window": {"app", "viz", "model", "torch"},
    "command": {
        "app",
        "viz.pages",
        "viz.bar",
        "viz.keep",
        "viz.session",
        "viz.address",
        "streamlit",
    },
}
# Values, without torch.
ALLOWED = {"figure": ("model.trace", "model.terms"), "component": ("model.trace",)}


def layer(path: Path) -> str:
    match path.relative_to(ROOT).parts:
        case ("model", "trace.py" | "trace_file.py" | "terms.py"):
            return "trace"
        case ("model", *_):
            return "model"
        case ("viz", "session.py"):
            return "session"
        case ("viz", "examples.py"):
            return "examples"
        case ("viz", "address.py"):
            return "address"
        case ("viz", name) if name in SHARED:
            return "page"
        case ("viz", "pages", *_):
            return "page"
        # Starts the app as a process of its own.
        case ("viz", "desktop.py"):
            return "window"
        # A component in a file of its own instead of on a page.
        case ("viz", "components", *_) | ("viz", "standalone.py"):
            return "component"
        case ("viz", "__main__.py"):
            return "command"
    return "figure"


def imports(path: Path) -> Iterator[str]:
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            origin = ".".join((*above, *filter(None, [node.module])))
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def within(name: str, package: str) -> bool:
    return f"{name}.".startswith(f"{package}.")


def violations(path: Path) -> list[str]:
    here = layer(path)
    return [
        f"{path.relative_to(ROOT)} ({here}) imports {name}"
        for name in imports(path)
        if any(within(name, package) for package in FORBIDDEN[here])
        and not any(within(name, value) for value in ALLOWED.get(here, ()))
    ]


def test_imports_only_point_down() -> None:
    files = [path for top in ("model", "viz") for path in (ROOT / top).rglob("*.py")]
    assert files, "no source file found, so nothing was checked"
    found = [violation for path in files for violation in violations(path)]
    assert not found, "\n".join(found)
