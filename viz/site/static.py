"""The site: the same pictures as files for any static host, with models to choose from."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from viz.browser.files import joined
from viz.draw import themes
from viz.registry.pages import VIEWS
from viz.site.model import Packed, written
from viz.site.page import DESCRIPTION, HERE, ICON, PARTS, old_script, page_css, shell

PAGES = (
    *("model", "heads", "corpus", "effects", "compare", "decoding", "masks", "positions"),
    "about",
)
"""The pages in the order of their links; the first one's path is empty."""

POLICY = {
    "default-src": ("'none'",),
    "script-src": ("'self'", "'wasm-unsafe-eval'"),
    "style-src": ("'self'",),
    "worker-src": ("'self'",),
    "connect-src": ("'self'",),
    "img-src": ("'self'",),
    "manifest-src": ("'self'",),
    "base-uri": ("'none'",),
    "form-action": ("'none'",),
}
"""What every page of the site may do."""

NAMED = ("code/", "model/")
"""Folders whose files have names that change with their content."""

PART = 1 << 20
"""Bytes of a file that a browser fetches at once; one that was cut off goes on after them."""

_PNG = ICON.with_suffix(".png")


def site_files(models: Iterable[Packed]) -> Iterator[tuple[str, bytes]]:
    """The files of a site by their paths, the pages last.

    Args:
        models: to choose from; the first one opens.
    """
    listed = []
    known: list[str] = []
    for model in models:
        folder = f"model/{model.name}"
        own = {"weights": model.weights, "tokenizer": model.tokenizer}
        # Hosts compress no files that they do not know.
        survey = {name: zlib.compress(each, 9) for name, each in model.survey.items()}
        contents = own | survey
        files = {
            name: [
                (_named(f"{folder}/{name}.bin", content[first : first + PART]), first)
                for first in range(0, len(content), PART)
            ]
            for name, content in contents.items()
        }
        paths = {name: [path for path, _ in parts] for name, parts in files.items()}
        listing = {
            "files": {name: paths[name] for name in own},
            "survey": {name: paths[name] for name in survey},
        }
        card = written({**model.card, **listing}).encode()
        path = _named(f"{folder}/card.json", card)
        yield path, card
        for name, parts in files.items():
            for part, first in parts:
                yield part, contents[name][first : first + PART]
        listed.append({"name": model.name, "card": path})
        known += [path, *(part for parts in paths.values() for part in parts)]
    code = {}
    for name, text in _scripts():
        path = _named(f"code/{name}.js", text.encode())
        yield path, text.encode()
        code[name] = path
    style = page_css().encode()
    sheet = _named("code/site.css", style)
    yield sheet, style
    yield "icon.svg", ICON.read_bytes()
    yield "icon.png", _PNG.read_bytes()
    yield "manifest.webmanifest", _manifest().encode()
    yield "frames.js", (HERE / "frames.js").read_bytes()
    # GitHub Pages would leave out what it takes for its own.
    yield ".nojekyll", b""
    # Those that the site lacks say so.
    pages = {
        "" if page == PAGES[0] else f"{page}/": _page(
            "./" if page == PAGES[0] else "../", sheet, code, listed
        )
        for page in VIEWS
    }
    shell_files = [
        "./",
        *(page for page in pages if page),
        *code.values(),
        sheet,
        "icon.svg",
        "icon.png",
        "manifest.webmanifest",
    ]
    yield "sw.js", _service_worker(shell_files, known, pages.values()).encode()
    for path, text in pages.items():
        yield f"{path}index.html", text.encode()


def _page(root: str, sheet: str, code: dict[str, str], models: list[dict[str, str]]) -> str:
    return shell(
        POLICY,
        title="Headscope",
        head=f'<link rel="icon" href="{root}icon.svg">\n'
        f'<link rel="apple-touch-icon" href="{root}icon.png">\n'
        f'<link rel="manifest" href="{root}manifest.webmanifest">\n'
        f'<meta name="theme-color" content="{themes.LIGHT.accent}">\n'
        f'<link rel="stylesheet" href="{root}{sheet}">',
        icon=f"{root}icon.svg",
        site={"models": models, "code": code},
        scripts=[
            f'<script src="{root}{code["old"]}"></script>',
            f'<script type="module" src="{root}{code["site"]}"></script>',
        ],
        root=root,
    )


def _scripts() -> Iterator[tuple[str, str]]:
    yield "old", old_script()
    yield "site", joined(HERE / "site.js")
    yield "worker", joined("engine/worker.js")
    for name, (script, style) in PARTS.items():
        yield name, f"{joined(script)}\nexport const STYLE = {json.dumps(joined(style))};\n"


def _service_worker(files: list[str], models: list[str], pages: Iterable[str]) -> str:
    # The pages have no digest in their names, so theirs is in that of the cache.
    version = hashlib.blake2b("".join([*files, *pages]).encode(), digest_size=8).hexdigest()
    known = {"version": version, "files": files, "models": models, "named": NAMED}
    return f"const SITE = {json.dumps(known)};\n\n{(HERE / 'sw.js').read_text(encoding='utf-8')}"


def _manifest() -> str:
    icons = [
        {"src": "icon.svg", "sizes": "any", "type": "image/svg+xml"},
        {"src": "icon.png", "sizes": "256x256", "type": "image/png"},
    ]
    return json.dumps(
        {
            "name": "Headscope",
            "short_name": "Headscope",
            "description": DESCRIPTION,
            "start_url": "./",
            "scope": "./",
            "display": "standalone",
            "theme_color": themes.LIGHT.accent,
            "background_color": "#ffffff",
            "icons": icons,
        }
    )


def _named(path: str, content: bytes) -> str:
    """A path that changes with the content."""
    stem, _, suffix = path.rpartition(".")
    return f"{stem}.{hashlib.blake2b(content, digest_size=8).hexdigest()}.{suffix}"


def write_site(folder: Path, models: Iterable[Packed]) -> None:
    """Write a site into a folder, which may hold other files.

    Args:
        folder: created if missing.
        models: as of `site_files`.

    Raises:
        OSError: if a file cannot be written.
    """
    for path, content in site_files(models):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
