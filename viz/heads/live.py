"""A model in one HTML file: it translates and shows its heads offline, without Python."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from pathlib import Path

from model.explain.labels import Label
from model.explain.measures import facts_of
from model.explain.reading import read
from model.trace.attention_map import Site
from model.trace.trace import Trace
from viz.browser.explorer import CSS, HTML
from viz.browser.files import joined
from viz.draw.labels import escape_html, visible
from viz.heads.payload import pack
from viz.heads.standalone import deflated, filled, opening, page_variables, policy_hash

_HERE = Path(__file__)

LACKING = {"scoring": {"additive_shared"}, "activation": {"gelu"}}
"""Choices of a configuration that viz/browser/engine/config.js refuses."""


class PackError(ValueError):
    """A model that no page can run; the message says why and what to do."""


def live_page(
    trace: Trace,
    labels: Mapping[Site, tuple[Label | None, ...]],
    *,
    config: Mapping[str, object],
    weights: bytes,
    tokenizer: bytes,
    title: str,
    about: str = "",
    dark: bool | None = None,
) -> str:
    """A model as a complete HTML document, to be written as UTF-8.

    It translates sentences, shows every head in the app's own explorer, orders heads by their
    effects, and translates without heads that are switched off. Its own policy forbids it every
    request. Browsers from 2023 on open it.

    Args:
        trace: of the sentence that it opens with.
        labels: of model.explain.labels.Survey, by site; sites may be absent.
        config: the fields of config.json.
        weights: a safetensors file.
        tokenizer: a SentencePiece model.
        title: of the page.
        about: a sentence on the model, such as its licence.
        dark: None follows the reader's own choice of light or dark.

    Raises:
        PackError: if the engine in the page does not run such a model.
        TraceError: if the layers of one kind of attention differ in heads or tokens.
    """
    require_runs(config)
    seen = read(trace)
    start = opening(seen, labels)
    payload = pack(
        seen, facts_of(seen.maps), labels, effects={}, selection=start, opens_cells=False
    )
    page_css = page_variables(dark) + _file(".css")
    script = joined(_HERE.with_suffix(".js"))
    policy = (
        f"default-src 'none'; script-src {policy_hash(script)} 'wasm-unsafe-eval'; "
        f"style-src {policy_hash(page_css)} {policy_hash(CSS)}; "
        "worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": escape_html(visible(title)),
        "page_css": page_css,
        "css": CSS,
        "html": HTML,
        "sentence": html.escape(trace.source_text),
        "translation": escape_html(visible(trace.text)),
        "about": escape_html(about),
        "payload": deflated(payload),
        "config": json.dumps(dict(config)).replace("<", "\\u003c"),
        "weights": deflated(weights),
        "tokenizer": deflated(tokenizer),
        "worker": joined("engine/worker.js"),
        "script": script,
    }
    return filled(_file(".html"), parts)


def require_runs(config: Mapping[str, object]) -> None:
    """Raises PackError if the engine in a page does not run models of this configuration."""
    for field, choices in LACKING.items():
        if config.get(field) in choices:
            raise PackError(
                f"A page cannot run a model whose {field} is {config[field]}; open it in the app."
            )
    if not (config.get("n_encoder_layers", 1) and config.get("n_decoder_layers", 1)):
        raise PackError(
            "A page translates, which takes an encoder and a decoder, and this model has one of "
            "the two; open it in the app."
        )
    if config.get("target_vocab_size") is not None:
        raise PackError("A page holds one vocabulary, and this model has two; open it in the app.")


def _file(suffix: str) -> str:
    return _HERE.with_suffix(suffix).read_text(encoding="utf-8")
