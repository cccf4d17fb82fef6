"""A model in one HTML file: it translates and shows its heads offline, without Python."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from viz.browser.files import joined
from viz.draw import css
from viz.draw.labels import escape_html, visible
from viz.save.document import deflated, filled, page_variables, policy_hash
from viz.site.corpus import SURVEY
from viz.site.keys import known_keys
from viz.site.model import Packed, written

HERE = Path(__file__).parent

PARTS = {
    "act": ("act/act.js", "act/act.css"),
    "model_view": ("model_view/component.js", "model_view/model_view.css"),
    "steps": ("steps/steps.js", "steps/steps.css"),
    "exchange": ("exchange/exchange.js", "exchange/exchange.css"),
    "branches": ("branches/branches.js", "branches/branches.css"),
    "matrices": ("matrices/matrices.js", "matrices/matrices.css"),
    "reader": ("reader/reader.js", "reader/reader.css"),
}
"""Script and style of the app's components that the page shows, by their names in parts.js."""

ICON = HERE.parent / "draw" / "icon.svg"

DESCRIPTION = "Every attention head of a Transformer while it translates your sentence."


def words() -> dict[str, dict[str, Any]]:
    """The catalogues of the page's words, by language."""
    return _catalogues("words")


def wording() -> dict[str, dict[str, Any]]:
    """The catalogues of the components' words, by language, each by the English ones."""
    return _catalogues("wording")


def _catalogues(folder: str) -> dict[str, dict[str, Any]]:
    files = sorted((HERE / folder).glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


def live_page(
    model: Packed,
    *,
    title: str,
    talk: Mapping[str, Any] | None = None,
    dark: bool | None = None,
) -> str:
    """A model as a complete HTML document, to be written as UTF-8.

    It shows sentences in the app's own pictures: the whole model at work, every head, the decoding
    step by step, effects, masks and positions. Its own policy forbids it every request. Browsers
    from 2023 on open it.

    Args:
        model: to run.
        title: of the document.
        talk: that it opens with, as a talk's file has it, with its `texts` in other languages.
        dark: None follows the reader's own choice of light or dark.
    """
    scripts = [*map(_part, PARTS), joined(HERE / "site.js")]
    style = page_css(dark)
    policy = {
        "default-src": ["'none'"],
        "script-src": [*map(policy_hash, (old_script(), *scripts)), "'wasm-unsafe-eval'"],
        "style-src": [policy_hash(style)],
        "worker-src": ["blob:"],
        "img-src": ["data:"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    held = {
        "card": ("application/json", written(model.card)),
        "tokenizer": ("text/plain", deflated(model.tokenizer)),
        "weights": ("text/plain", deflated(model.weights)),
        "worker": ("text/plain", deflated(joined("engine/worker.js").encode())),
    }
    if SURVEY in model.survey:
        held[SURVEY] = ("text/plain", deflated(model.survey[SURVEY]))
    if talk is not None:
        held["talk"] = ("application/json", written(talk))
    icon = f"data:image/svg+xml;base64,{base64.b64encode(ICON.read_bytes()).decode()}"
    return shell(
        policy,
        title=title,
        head=f'<link rel="icon" href="{icon}">\n<style>{style}</style>',
        icon=icon,
        site={"models": [], "code": {}},
        scripts=[
            *(
                f'<script type="{kind}" id="{name}">{text}</script>'
                for name, (kind, text) in held.items()
            ),
            f"<script>{old_script()}</script>",
            *(f'<script type="module">{text}</script>' for text in scripts),
        ],
    )


def shell(
    policy: Mapping[str, Iterable[str]],
    *,
    title: str,
    head: str,
    icon: str,
    site: Mapping[str, Any],
    scripts: Iterable[str],
    root: str = "./",
) -> str:
    """The HTML around the pictures.

    Args:
        policy: the page's own.
        title: any text.
        head: HTML that loads styles and icons.
        icon: the address of the icon.
        site: what the script knows of models and code; keys of links and words are added.
        scripts: HTML of the scripts.
        root: of the site, from the page.
    """
    parts = {
        "root": root,
        "policy": "; ".join(f"{name} {' '.join(values)}" for name, values in policy.items()),
        "description": DESCRIPTION,
        "title": escape_html(visible(title)),
        "head": head,
        "icon": icon,
        "site": written({**site, "keys": known_keys(), "words": words(), "wording": wording()}),
        "scripts": "\n".join(scripts),
    }
    return filled((HERE / "page.html").read_text(encoding="utf-8"), parts)


def old_script() -> str:
    """The script that tells a reader whose browser is too old for the others."""
    return (HERE / "old.js").read_text(encoding="utf-8")


def page_css(dark: bool | None = None) -> str:
    """The style sheet around the pictures."""
    own = [
        (HERE / f"{name}.css").read_text(encoding="utf-8") for name in ("site", "frame", "corpus")
    ]
    return "\n".join([page_variables(dark) + css.CERTAINTY_CSS, *own])


def _part(name: str) -> str:
    """A component's script, which leaves what it exports to the page's."""
    script, style = PARTS[name]
    before, after = joined(script).split("\nexport default ")
    return (
        f"{before}\n(globalThis.headscopeParts ??= {{}}).{name} = "
        f"{{ mount: {after.rstrip().rstrip(';')}, style: {written(joined(style))} }};\n"
    )
