"""The scripts and style sheets of our components: written as modules, sent as one file each."""

from __future__ import annotations

import re
from pathlib import Path

_FOLDER = Path(__file__).parent

_IMPORT = re.compile(
    r'^(?:import (?P<names>\w+|\{[^}]*\}) from|@import) "(?P<path>\.[^"]+)"'
    r'(?: with \{ type: "json" \})?;\n',
    re.MULTILINE,
)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export|@import)\b.*", re.MULTILINE)
_DEFINED = re.compile(
    r"^(?:async )?(?:function\*?|class|const|let) (\w+|\[[^]]*\]|\{[^}]*\})", re.MULTILINE
)


def joined(entry: str | Path) -> str:
    """A script or a style sheet with all that it imports, each file once, before what imports it.

    A component's script is one module that cannot import its neighbours, and there is no build
    step. A JSON file becomes a constant of its name.

    Args:
        entry: a path; one that is relative begins in this folder.

    Raises:
        ValueError: if two modules define the same name, or one imports or exports in a way that
            cannot be joined.
    """
    parts: dict[Path, str] = {}
    _add((_FOLDER / entry).resolve(), parts, set(), is_entry=True)
    owners: dict[str, Path] = {}
    for path, text in parts.items():
        for defined in _DEFINED.findall(text):
            for name in re.findall(r"\w+", defined):
                if owners.setdefault(name, path) is not path:
                    raise ValueError(
                        f"{path.name} and {owners[name].name} both define {name}, and one script "
                        "holds a name once; rename one of them."
                    )
    return "\n".join(parts.values())


def _add(path: Path, parts: dict[Path, str], seen: set[Path], *, is_entry: bool = False) -> None:
    if path in seen:
        return
    seen.add(path)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        parts[path] = f"const {path.stem} = {text.rstrip()};\n"
        return
    for found in _IMPORT.finditer(text):
        other = (path.parent / found["path"]).resolve()
        usual = other.stem if other.suffix == ".json" else "{"
        if " as " in (found["names"] or "") or not (found["names"] or usual).startswith(usual):
            raise ValueError(f"{path.name} renames what it imports: {found[0].rstrip()}")
        _add(other, parts, seen)
    text = _EXPORT.sub("", _IMPORT.sub("", text))
    left = _LEFT.search(text)
    if left and not (is_entry and left[0].startswith("export default")):
        raise ValueError(f"{path.name} has a line that cannot be joined: {left[0]}")
    parts[path] = text
