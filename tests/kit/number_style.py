"""Numbers as nobody writes them in English, found in what an app or a figure shows."""

import json
import re
from collections.abc import Iterator
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.kit.shown import html, plain

_NOUNS = (
    "beams cells characters dimensions examples heads hypotheses keys layers links masks pairs "
    "positions queries rows samples sentences snapshots steps tokens translations words"
).replace(" ", "|")

FAULTS = {
    "a negative zero": re.compile(r"(?<![\d.,])[-−]0(?:\.0+)?(?![\d.,]*\d)"),
    "a hyphen for a minus": re.compile(r"(?<![\w.,…)\]–/-])-\d"),
    "a space before a percent sign": re.compile(r"\d[\s\u00a0\u202f]%"),
    "a plural of one": re.compile(rf"(?<![\w.,/–−-])1 (?:(?!to|of|and|or)\w+ )?(?:{_NOUNS})\b"),
}


def faults(text: str) -> list[str]:
    """What is wrong with the numbers of a text, each with its surroundings."""
    return [
        f"{name}: …{text[max(0, found.start() - 30) : found.end() + 20]}…"
        for name, pattern in FAULTS.items()
        for found in pattern.finditer(text)
    ]


def texts(app: AppTest) -> Iterator[str]:
    """Every text that a page shows outside its components, those of figures among them."""
    for kind in (app.markdown, app.caption, app.subheader, app.warning, app.info, app.error):
        yield from (plain(each.value) for each in kind)
    yield re.sub(r"<style>.*?</style>|<[^>]*>", " ", html(app), flags=re.DOTALL)
    for widget in (*app.selectbox, *app.button, *app.toggle, *app.slider):
        yield from (plain(text) for text in (widget.label, widget.help or ""))
    for chart in app.get("plotly_chart"):
        yield chart.proto.alt
        yield from _strings(json.loads(chart.proto.spec))


def _strings(part: Any) -> Iterator[str]:
    match part:
        case str():
            yield part
        case list():
            for each in part:
                yield from _strings(each)
        case dict():
            # Arrays in base64 are no texts.
            yield from (
                text for key, each in part.items() if key != "bdata" for text in _strings(each)
            )
