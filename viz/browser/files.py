"""The scripts and style sheets of our components: written as modules, sent as one file each."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from pathlib import Path

LARGE = {
    "act/act.js": "act/act.css",
    "model_view/component.js": "model_view/model_view.css",
    "exchange/exchange.js": "exchange/exchange.css",
    "hall/hall.js": "hall/hall.css",
    "headline/headline.js": "headline/headline.css",
    "inquiries/inquiries.js": "inquiries/inquiries.css",
    "matrices/matrices.js": "matrices/matrices.css",
    "stage/stage.js": "stage/stage.css",
    "steps/steps.js": "steps/steps.css",
}
"""Scripts that a browser fetches by an address, each with its style sheet.

Streamlit sends the script of a component with every change of its data. A small one costs less than
a request of its own.
"""

ADDRESS = "code"
"""Below which the server has large scripts, seen from every page."""

_FOLDER = Path(__file__).parent

_IMPORT = re.compile(
    r'^(?:import (?P<names>\w+|\{[^}]*\}) from|@import) "(?P<path>\.[^"]+)"'
    r'(?: with \{ type: "json" \})?;\n',
    re.MULTILINE,
)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*(?:[^*]|\*(?!/))*\*/)\n", re.MULTILINE)
_TYPE = re.compile(r"/\*\* @type .*? \*/ ?")
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export|@import)\b.*", re.MULTILINE)
_INDENTED = re.compile(r"^[ \t]+", re.MULTILINE)
_DEFINED = re.compile(
    r"^(?:async )?(?:function\*?|class|const|let) (\w+|\[[^]]*\]|\{[^}]*\})", re.MULTILINE
)


@functools.cache
def code(script: str) -> tuple[str, str]:
    """The file of one of the `LARGE` scripts: its name, which changes with its text, and its text.

    It exports what the script exports, and the style sheet as STYLE.
    """
    text = f"{joined(script)}\nexport const STYLE = {json.dumps(joined(LARGE[script]))};\n"
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return f"{Path(script).parent.name}.{digest}.js", text


def fetched(script: str) -> str:
    """What Streamlit sends in the place of one of the `LARGE` scripts: it fetches that, once."""
    name, _ = code(script)
    return f"const CODE = {json.dumps(f'{ADDRESS}/{name}')};\n{joined('fetched.js')}"


def joined(entry: str | Path) -> str:
    """A script or a style sheet with all that it imports, each file once, before what imports it.

    A component's script is one module that cannot import its neighbours, and there is no build
    step. A JSON file becomes a constant of its name. Comments, types among them, and
    indentation are left out: so no text within a script may go over several lines.

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
    return _INDENTED.sub("", "\n".join(parts.values()))


def _add(path: Path, parts: dict[Path, str], added: set[Path], *, is_entry: bool = False) -> None:
    if path in added:
        return
    added.add(path)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        packed = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
        parts[path] = f"const {path.stem} = {packed};\n"
        return
    for match in _IMPORT.finditer(text):
        other = (path.parent / match["path"]).resolve()
        usual = other.stem if other.suffix == ".json" else "{"
        if " as " in (match["names"] or "") or not (match["names"] or usual).startswith(usual):
            raise ValueError(f"{path.name} renames what it imports: {match[0].rstrip()}")
        _add(other, parts, added)
    text = _EXPORT.sub("", _IMPORT.sub("", _TYPE.sub("", _COMMENT.sub("", text))))
    left = _LEFT.search(text)
    if left and not (is_entry and left[0].startswith("export default")):
        raise ValueError(f"{path.name} has a line that cannot be joined: {left[0]}")
    parts[path] = text
