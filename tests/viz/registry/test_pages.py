"""The pages as they declare themselves."""

from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from viz.compare.view import CompareView
from viz.corpus.view import CorpusView
from viz.decoding.view import DecodingView
from viz.effects.view import EffectsView
from viz.heads.view import HeadsView
from viz.masks.view import MasksView
from viz.model_page.view import ModelPageView
from viz.positions.view import PositionsView
from viz.registry import pages

ROOT = Path(__file__).parents[3]
VALUES = {
    "model": ModelPageView(),
    "heads": HeadsView(),
    "corpus": CorpusView(),
    "effects": EffectsView(),
    "compare": CompareView(),
    "decoding": DecodingView(),
    "masks": MasksView(),
    "positions": PositionsView(),
}


def test_the_reference_of_parameters_is_that_of_the_pages() -> None:
    reference = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert pages.with_tables(reference) == reference, "make format writes docs/parameters.md"


def test_a_new_page_gets_a_section_in_the_reference() -> None:
    reference = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    title = f"\n## {pages.VIEWS['positions'].title}\n"
    before = reference.partition(title)[0] + "\n"
    # The last page of all is the one that stands last when it was missing.
    assert pages.with_tables(before) == reference


def test_every_page_can_be_shown_and_says_what_its_parameters_are() -> None:
    for name in pages.VIEWS:
        assert callable(import_module(f"viz.pages.{name}").show)
    every = [*pages.SHARED, *pages.AROUND, *(p for v in pages.VIEWS.values() for p in v.parameters)]
    assert all(each.meaning and each.values for each in every)


def test_no_page_keeps_what_another_page_means_otherwise() -> None:
    around = {each.name for each in (*pages.SHARED, *pages.AROUND)}
    for view in pages.VIEWS.values():
        assert not around & {each.name for each in view.parameters}


def test_a_page_reads_exactly_its_parameters_which_begin_with_their_defaults() -> None:
    for name, view in pages.VIEWS.items():
        defaults = {each.name: each.default for each in view.parameters}
        assert defaults == (asdict(VALUES[name]) if name in VALUES else {})
