"""A drawing of the browser as one HTML file that opens anywhere, offline, with its interaction."""

import base64
import hashlib
import json
import re
import tomllib
import zlib
from collections.abc import Mapping
from pathlib import Path

from model.trace.provenance import UNKNOWN, Provenance
from viz import ROOT
from viz.draw import style
from viz.draw.labels import escape_html, visible

_HERE = Path(__file__)
_THEME = ROOT / ".streamlit" / "config.toml"
_SOON_PACKED = 4_000_000
"""Up to so many bytes, the strongest compression is quick; above, it takes seconds."""

_COLORS = {
    "backgroundColor": "background-color",
    "secondaryBackgroundColor": "secondary-background-color",
    "textColor": "text-color",
    "grayTextColor": "gray-text-color",
    "borderColor": "border-color",
    "primaryColor": "primary-color",
    "linkColor": "link-color",
    "orangeColor": "orange-color",
}
"""The colours of the app's theme that drawings use, and how Streamlit names them to those."""


def document(
    payload: bytes,
    *,
    title: str,
    html: str,
    css: str,
    script: str,
    about: str,
    provenance: Provenance = UNKNOWN,
    dark: bool | None = None,
) -> str:
    """A complete HTML document with a drawing in it, to be written as UTF-8.

    Its own policy forbids it every request, and every script and style but those it was written
    with. Browsers from 2023 on open it.

    Args:
        payload: what is drawn; the script reads it, deflated and in base64, from #payload.
        title: what the file is of, such as the sentence; any text.
        html: of the drawing, in the shadow root of #drawing.
        script: a module that draws it, and removes #trouble when it stands.
        about: a sentence on the file.
        provenance: of what is drawn; it is in the page, in words and as JSON.
        dark: None follows the reader's own choice of light or dark.
    """
    page_css = page_variables(dark) + _file(".css")
    policy = (
        f"default-src 'none'; script-src {policy_hash(script)}; "
        f"style-src {policy_hash(page_css)} {policy_hash(css)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": escape_html(visible(title)),
        "page_css": page_css,
        "css": css,
        "html": html,
        "about": escape_html(f"{about} {provenance}."[: None if provenance.texts else -2]),
        "provenance": escape_html(json.dumps(provenance.texts, ensure_ascii=False)),
        "payload": deflated(payload),
        "script": script,
    }
    return filled(_file(".html"), parts)


def filled(template: str, parts: Mapping[str, str]) -> str:
    """A template of HTML with its parts, in one pass: parts are not looked through again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def deflated(content: bytes) -> str:
    """Bytes as text for inflated.js; base64 has no character that means anything to HTML."""
    level = 9 if len(content) < _SOON_PACKED else 6
    return base64.b64encode(zlib.compress(content, level)).decode("ascii")


def theme_variables() -> dict[str, str]:
    """The app's themes, light and dark, as the variables that Streamlit gives to its components."""
    themes = tomllib.loads(_THEME.read_text(encoding="utf-8"))["theme"]
    shared = f"--st-font: {style.FONT}; --st-button-radius: {themes['baseRadius']};"
    return {
        name: shared
        + f"color-scheme: {name};"
        + "".join(f"--st-{theirs}: {themes[name][ours]};" for ours, theirs in _COLORS.items())
        for name in ("light", "dark")
    }


def page_variables(dark: bool | None) -> str:
    """The theme of the page; None for the one that its reader's system has."""
    sheets = theme_variables()
    if dark is not None:
        return f":root {{ {sheets['dark' if dark else 'light']} }}\n"
    # A notebook around the page says which it has.
    return (
        f":root {{ {sheets['light']} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {sheets['dark']} }} }}\n"
        + "".join(f':root[data-theme="{name}"] {{ {sheet} }}\n' for name, sheet in sheets.items())
    )


def _file(suffix: str) -> str:
    return _HERE.with_suffix(suffix).read_text(encoding="utf-8")


def policy_hash(content: str) -> str:
    """What a policy calls a script or a style sheet."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
