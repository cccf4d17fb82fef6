"""The pages of the app, and the parameters that every address may hold besides theirs.

`python -m viz.registry.pages docs/parameters.md` writes their tables into that page.
"""

import re
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from viz.about.view import VIEW as ABOUT
from viz.compare.view import VIEW as COMPARE
from viz.corpus.view import VIEW as CORPUS
from viz.decoding.view import VIEW as DECODING
from viz.effects.view import VIEW as EFFECTS
from viz.heads.view import VIEW as HEADS
from viz.links.parameters import (
    MOST_CHARACTERS,
    Parameter,
    View,
    flag,
    integer,
    pattern,
    table,
    text,
)
from viz.masks.view import VIEW as MASKS
from viz.model_page.view import VIEW as MODEL_PAGE
from viz.positions.view import VIEW as POSITIONS

VIEWS: Mapping[str, View] = MappingProxyType(
    {
        view.name: view
        for view in (MODEL_PAGE, HEADS, CORPUS, EFFECTS, COMPARE, DECODING, MASKS, POSITIONS, ABOUT)
    }
)
"""Every page by its name, in the order of the navigation."""

HOME = MODEL_PAGE.name
"""The page that opens first, whose path is empty."""

FORMERLY = {"door": HOME}
"""Pages by the names that older links and talks give them."""

DEFAULT_SENTENCE = "He has bought a new computer."
"""Every word of it is one token, and words change places in German and French."""


SENTENCE = text("sentence", DEFAULT_SENTENCE, most=MOST_CHARACTERS, meaning="what to translate")
TARGET = text(
    "target",
    most=MOST_CHARACTERS,
    meaning="a translation of your own",
    values="text; empty for the model's",
)

CHECKPOINT: Parameter[str | None] = Parameter(
    "checkpoint",
    None,
    str,
    meaning="the model, or a saved trace",
    values="the name of its folder or its file",
)
STEP: Parameter[int | None] = Parameter(
    "step",
    None,
    int,
    meaning="the training step, for a model with snapshots",
    values="one of its steps; default: the last",
)
"""What these two may be depends on the models that there are; the sentence bar parses them."""

SHARED = (SENTENCE, TARGET, CHECKPOINT, STEP)
"""The parameters of the sentence bar."""

PRESENT = flag("present", meaning="on stage")
"""Whether the page is on stage; in the address, so that a link can open on stage."""

MOST_SCENES = 100
SCENE = integer("scene", 0, low=0, high=MOST_SCENES, meaning="the scene shown last")
"""Counted from 1; 0 before the first."""

MARK = r"[0-9a-f]{8}"
TALK = pattern(
    "talk",
    MARK,
    "the mark of a talk, such as 1a2b3c4d",
    "your talk; none: the included one",
)
"""One of a person's own talks; empty for the app's talk."""

READ = flag("read", meaning="the talk as a reading, with its notes at the foot of the page")
"""Whether the talk is read at one's own pace, with its notes below the page."""

ASKED = pattern(
    "asked",
    r"[a-z]{1,20}(-[a-z0-9]{1,20}){0,3}(\.[1-9][0-9]{0,2}(\.\S{1,60})?)?",
    "the name of a question, such as see-future or, with a token and another word, why-not.3.ein",
    "the question whose answer stands above the page",
)
"""The inquiry that led to the page."""

AROUND = (PRESENT, SCENE, TALK, READ, ASKED)
"""Parameters that are no part of a view: how it is shown, in which talk, and why."""


OF_HEADS = {each.name for each in HEADS.parameters} - {each.name for each in MODEL_PAGE.parameters}


def present(page: str, query: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The page and the query that an address, perhaps an older one, stands for today."""
    if page == HOME and not OF_HEADS.isdisjoint(query):
        return HEADS.name, dict(query)
    if page == DECODING.name and query.get("section") == "compare":
        known = names(COMPARE.name) | {each.name for each in AROUND}
        kept = {name: text for name, text in query.items() if name in known}
        return COMPARE.name, {**kept, "versus": "search"}
    return page, dict(query)


def names(page: str) -> frozenset[str]:
    """The parameters of a page and of the sentence bar above it."""
    view = VIEWS[page]
    return frozenset(each.name for each in (*view.parameters, *(SHARED if view.asks else ())))


def page_of(view: object) -> View:
    """The page of a dataclass of parameters: the VIEW that stands beside it."""
    found: View = import_module(type(view).__module__).VIEW
    return found


def with_tables(page: str) -> str:
    """A page with the present tables of parameters, each after its comment.

    A page of the app that it lacks becomes its last section.
    """
    tables = {"shared": (*SHARED, *AROUND)} | {
        view.name: view.parameters for view in VIEWS.values() if view.parameters
    }
    for name, parameters in tables.items():
        start = f"<!-- parameters: {name} -->\n"
        if start not in page:
            page = f"{page.rstrip()}\n\n## {VIEWS[name].title}\n\n{start}"
        before, after = page.split(start)
        rest = re.sub(r"\A(\|.*\n)*", "", after)
        page = f"{before}{start}{table(parameters)}\n{rest}"
    return page


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
