"""The whole heads view as one HTML file that opens anywhere, offline, with its interaction."""

from __future__ import annotations

import base64
import hashlib
import re
import tomllib
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from model.explain.labels import Label, opening_heads
from model.explain.measures import facts_of
from model.explain.reading import ReadTrace, read
from model.trace.attention_map import AttentionKind, FloatArray, Site, TraceError
from model.trace.trace import Trace
from model.trace.trace_file import require_shares
from viz import ROOT
from viz.browser.explorer import CSS, HTML
from viz.browser.files import joined
from viz.draw import style
from viz.draw.labels import escape_html, visible
from viz.heads.payload import pack, require_alike
from viz.heads.view import SELECTED, VIEW

_HERE = Path(__file__)
_THEME = ROOT / ".streamlit" / "config.toml"

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
"""The colours of the app's theme that the explorer uses, and how Streamlit names them to it."""

_USUAL = {
    each.name: each.write(each.default)
    for each in VIEW.parameters
    if each.name in SELECTED and each.name not in ("layer", "head")
}
"""What the explorer begins with, as it spells it; layer and head depend on the model."""

MOST_WEIGHTS = 20_000_000
"""The most weights of one page: each is a byte of the file and of the browser's memory."""


def heads_page(
    seen: ReadTrace,
    facts: Mapping[Site, Mapping[str, NDArray[np.floating]]],
    labels: Mapping[Site, tuple[Label | None, ...]],
    *,
    effects: Mapping[Site, FloatArray] | None = None,
    title: str,
    selection: Mapping[str, str] | None = None,
    dark: bool | None = None,
) -> str:
    """The heads view of one trace as a complete HTML document, to be written as UTF-8.

    It holds the app's own explorer with every weight: overview, large heatmap, lines, comparison,
    what is said under the pointer, and the keyboard. How the trace is read is settled in it, and no
    cell can be looked into: both need the model. Its own policy forbids it every request, and every
    script and style but those it was written with. Browsers from 2023 on open it.

    Args:
        seen: the trace as it is read.
        facts: of model.explain.measures.head_facts, by site.
        labels: of model.explain.labels.Survey, by site; sites may be absent.
        effects: as in viz.heads.payload.pack.
        title: what the file is of, such as the sentence; any text.
        selection: what is selected at first, as the explorer spells it, such as {"layer": "2"};
            what is left out is as in the app.
        dark: None follows the reader's own choice of light or dark.

    Raises:
        TraceError: if the layers of one kind of attention differ in heads or tokens.
    """
    usual = opening(seen, labels)
    payload = pack(seen, facts, labels, effects=effects, selection=usual | dict(selection or {}))
    page_css = page_variables(dark) + _file(".css")
    script = joined(_HERE.with_suffix(".js"))
    policy = (
        f"default-src 'none'; script-src {policy_hash(script)}; "
        f"style-src {policy_hash(page_css)} {policy_hash(CSS)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": escape_html(visible(title)),
        "page_css": page_css,
        "css": CSS,
        "html": HTML,
        "payload": deflated(payload),
        "script": script,
    }
    return filled(_file(".html"), parts)


def drawable(trace: Trace) -> Trace:
    """The trace itself, which one picture of all heads can show.

    Raises:
        TraceError: if the trace holds no attention, too much of it, weights that no softmax made,
            or layers of one kind that differ in heads or tokens.
    """
    weights = sum(each.weights.size for each in trace.maps.values())
    if not weights:
        raise TraceError("The trace holds no attention; record a text of at least one token.")
    if weights > MOST_WEIGHTS:
        raise TraceError(
            f"The trace holds {weights:,} weights, and a picture of all heads takes up to "
            f"{MOST_WEIGHTS:,}; record a shorter text, or fewer layers."
        )
    for each in trace.maps.values():
        require_shares(each)
    for kind in AttentionKind:
        require_alike(kind, [trace.maps[Site(kind, layer)] for layer in trace.layers(kind)])
    return trace


def trace_page(trace: Trace, *, title: str = "", dark: bool | None = None) -> str:
    """The heads view of a trace of any model, as `heads_page` writes it; the model is not needed.

    Args:
        trace: with the kinds of attention that its model has.
        title: what the page is of; empty for the texts of the trace.
        dark: None follows the reader's own choice of light or dark.

    Raises:
        TraceError: as `drawable`.
    """
    seen = read(drawable(trace))
    texts = [text for text in (trace.source_text, trace.text) if text]
    heading = title or " – ".join(texts) or "Every head of one trace"
    return heads_page(seen, facts_of(seen.maps), {}, title=heading, dark=dark)


def opening(seen: ReadTrace, labels: Mapping[Site, tuple[Label | None, ...]]) -> dict[str, str]:
    """What is selected at first, as the explorer spells it.

    That is cross-attention where there is some, or else the first kind, and the head of it that
    says most.
    """
    heads = opening_heads(seen.maps, labels)
    kind = AttentionKind.CROSS if seen.has_sides else next(iter(heads))
    layer, head = heads[kind]
    return _USUAL | {"attention": str(kind), "layer": str(layer), "head": str(head)}


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
    """The theme of a page as CSS; None for the one that its reader's system has."""
    sheets = theme_variables()
    if dark is not None:
        return f":root {{ {sheets['dark' if dark else 'light']} }}\n"
    return (
        f":root {{ {sheets['light']} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {sheets['dark']} }} }}\n"
    )


def _file(suffix: str) -> str:
    return _HERE.with_suffix(suffix).read_text(encoding="utf-8")


def filled(template: str, parts: Mapping[str, str]) -> str:
    """A template of HTML with its parts, in one pass: parts are not looked through again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def deflated(content: bytes) -> str:
    """Bytes as text for inflated.js; base64 has no character that means anything to HTML."""
    return base64.b64encode(zlib.compress(content, 9)).decode("ascii")


def policy_hash(content: str) -> str:
    """What a policy calls a script or a style sheet."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
