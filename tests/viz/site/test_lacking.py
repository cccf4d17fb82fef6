"""The table of what the site leaves to the app: what it refuses, page by page, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import viz.compare.view as compare
import viz.corpus.view as corpus
import viz.decoding.view as decoding
import viz.effects.view as effects
import viz.heads.view as heads
import viz.masks.view as masks
import viz.model_page.view as model
import viz.positions.view as positions
from tests.kit.engine import in_node
from viz.registry.pages import VIEWS
from viz.site.keys import known_keys

DOCS = Path(__file__).parents[3] / "docs" / "figures.md"

PARTS = {
    ("model", "act"): model.ACTS,
    ("heads", "below"): heads.SECTIONS,
    ("effects", "show"): {**effects.MAPS, **effects.AGAINST},
    ("compare", "versus"): compare.VERSUS,
    ("compare", "shown"): compare.SHOWN,
    ("corpus", "over"): corpus.SHOWN,
    ("decoding", "section"): decoding.SECTIONS,
    ("masks", "part"): masks.PARTS,
    ("positions", "topic"): positions.PARTS,
}
"""The parts of each page by the parameter that chooses one."""


def refused() -> dict[str, list[str]]:
    """The titles of the parts that the site does not show, by page."""
    asked = [
        (page, parameter, part, title)
        for (page, parameter), parts in PARTS.items()
        for part, title in parts.items()
    ]
    views = [(page, {parameter: part}) for page, parameter, part, _ in asked]
    shows = in_node("shows", views=views, keys=known_keys())
    found: dict[str, list[str]] = {}
    for (page, _, _, title), shown in zip(asked, shows, strict=True):
        if not shown:
            found.setdefault(VIEWS[page].title, []).append(title)
    return found


@pytest.mark.slow
def test_the_table_names_what_the_site_refuses_and_nothing_else() -> None:
    text = DOCS.read_text(encoding="utf-8").partition("| page | in the app alone | why |")[2]
    table: dict[str, list[str]] = {}
    for page, parts in re.findall(
        r"^\| (\w+) \| (.*?) \|", text.partition("\n\n")[0], re.MULTILINE
    ):
        table.setdefault(page, []).extend(parts.split(", "))
    assert {page: sorted(parts) for page, parts in table.items()} == {
        page: sorted(parts) for page, parts in refused().items()
    }


def test_every_part_of_every_page_is_asked_for() -> None:
    """A page that is new, or has its parts elsewhere, is entered in PARTS or has no parts."""
    assert VIEWS.keys() - {page for page, _ in PARTS} == {"about"}
