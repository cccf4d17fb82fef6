"""Every page after every other: each shows its own values, whatever was done on the one before."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from streamlit.elements.lib.utils import user_key_from_element_id
from streamlit.testing.v1 import AppTest

from tests.kit.apptest import OpenApp, go_to, nodes, run_with, widget_states
from viz.links.parameters import Key, View, flag
from viz.registry import pages
from viz.registry.pages import AROUND, SHARED, VIEWS

OF_BAR = {each.name for each in (*SHARED, *AROUND)}

HANDED_ON = {"attention", "layer", "head", "masked", "compare", "heads"}
"""The head looked at goes along from page to page, on purpose."""

SEARCH = {
    "off": "cross.0.1",
    "how": "sampling",
    "beam": "2",
    "penalty": "100",
    "temperature": "50",
    "top_k": "3",
    "top_p": "90",
    "seed": "2",
    "samples": "2",
    "against": "search-1-60-100-0-100-1-4",
    "taken": "0.5",
    "mask": "encoder.0.1-block-0.1",
}

MOVED = {
    "model": {
        "moment": "3",
        "play": "1",
        "place": "cross.0.5",
        "walk": "2",
        "kiosk": "1",
        "act": "swap",
    },
    "heads": {
        "attention": "encoder",
        "layer": "1",
        "head": "2",
        "view": "lines",
        "cell": "1.1",
        "range": "0-1.1-2",
        "compare": "1.2-1.3",
        "order": "previous",
        "faint": "1",
        "only": "layer.1",
        "words": "1",
        "specials": "0",
        "renormalise": "1",
        "predicted": "1",
        "off": "cross.0.1",
        "below": "numbers",
        "grown": "next",
        "fuller": "1",
        "ruled": "best",
        "best": "20",
    },
    "corpus": {
        "over": "find",
        "one": "cross.1.1",
        "across": "next",
        "up": "same",
        "top": "up",
        "words": "cat",
        "does": "previous",
        "follows": "1",
        "drawn_in": "cross",
        "drawn": "2x2.AAAA",
        "ruled": "2",
    },
    "effects": {
        "show": "maps",
        "token": "2",
        "instead": "Hund",
        "decide": "keep",
        "method": "rollout",
        "mapped": "encoder",
        "layer_head": "1.1",
        "examples": "1",
        "curve": "chrf",
        "off": "cross.0.1",
        "way": "uniform",
        "gate": "40",
    },
    "compare": {
        **SEARCH,
        "versus": "search",
        "other": "The cat sleeps.",
        "shown": "layers",
        "pair_head": "cross.1.1",
        "traced": "2",
        "patched": "cross.1.1",
        "other_model": "en-de",
    },
    "decoding": {**SEARCH, "section": "beams", "at": "3", "heads": "cross.1.1"},
    "masks": {
        "batch": "A dog.",
        "number": "2",
        "part": "compare",
        "of": "decoder",
        "masked": "cross",
        "layer": "1",
        "head": "2",
        "a": "1.decoder",
        "b": "preset.window",
        "edit": "encoder.0.1-block-0.1",
    },
    "positions": {
        "topic": "likeness",
        "length": "limit",
        "waves": "0.2",
        "pair": "3",
        "at": "7",
        "cosine": "0",
        "scale": "50",
        "shift": "3",
        "reverse": "1",
        "side": "encoder",
        "shuffled": "1.0.2",
        "d_model": "64",
        "rows": "20",
        "base": "100",
    },
    "about": {},
}
"""An address of every page in which nothing is as usual."""

PARTS = {
    "heads": "below",
    "corpus": "over",
    "effects": "show",
    "compare": "versus",
    "decoding": "section",
    "masks": "part",
    "positions": "topic",
}
"""The parameter that says which part of a page is shown."""


def test_every_parameter_is_moved() -> None:
    assert {page: set(moved) for page, moved in MOVED.items()} == {
        name: {each.name for each in view.parameters} for name, view in VIEWS.items()
    }


def click_page(app: AppTest, page: str) -> AppTest:
    """Does what a click on a page's name does."""
    app.query_params = {}
    go_to(app, page).run()
    assert not app.exception, (page, app.exception)
    others = tuple(VIEWS[name].keys("") for name in VIEWS if name != page)
    assert not [key for key in widget_keys(app) if key.startswith(others)], "of another page"
    return app


def widget_keys(app: AppTest) -> set[str]:
    """The keys of everything on the page that has a value in the session state."""
    ids = (getattr(getattr(each, "proto", None), "id", "") for each in nodes(app))
    keys = {user_key_from_element_id(each) or "" for each in ids if each}
    return {key for key in keys if key in app.session_state}


def owned(app: AppTest, view: View) -> dict[Key, Any]:
    """What a page shows of its own: nothing that it shares, and not the head looked at."""
    shared = {
        each.key for other in VIEWS.values() if other is not view for each in other.parameters
    }
    kept = app.session_state["address-visit.kept"].kept
    return {
        each.key: kept[each.key]
        for each in view.parameters
        if each.key not in shared and each.name not in HANDED_ON
    }


def move_all(app: AppTest) -> set[str]:
    """Move every control below the sentence bar, as a browser does; the keys of all of them."""
    states = widget_states(app)
    by_id = {each.id: each for each in states.widgets}
    moved = set()
    for each in nodes(app):
        proto = getattr(each, "proto", None)
        key, state = getattr(each, "key", None), by_id.get(getattr(proto, "id", ""))
        if not key or key in OF_BAR or state is None:
            continue
        match each.type:
            case "selectbox" if each.options:
                state.string_value = after(each.options, state.string_value)
            case "button_group" if each.options:
                shown = state.string_array_value.data
                shown[:] = [after(each.options, shown[0] if shown else "")]
            case "toggle":
                state.bool_value = not state.bool_value
            case "slider":
                ends = [proto.min, proto.max]
                state.double_array_value.data[:] = [
                    ends[state.double_array_value.data[0] != ends[1]]
                ]
            case "text_input" | "text_area":
                state.string_value = "cat"
            case _:
                continue
        moved.add(key)
    run_with(app, states)
    assert not app.exception, (moved, app.exception)
    return moved


def after(options: list[str], shown: str) -> str:
    place = options.index(shown) if shown in options else -1
    return options[(place + 1) % len(options)]


def open_view(open_app: OpenApp, page: str, **query: str) -> AppTest:
    """A page with a sentence of one's own, to which no page prefers another."""
    own = {"sentence": "The man eats."}
    if VIEWS[page].asks:
        return open_app(page=page, **own, **query)
    return click_page(open_app(**own), page)


@pytest.fixture(scope="module")
def usual() -> dict[str, dict[Key, Any]]:
    """What the pages met so far show to somebody who comes from one as it opens."""
    return {}


@pytest.mark.parametrize("first", VIEWS)
def test_a_page_shows_its_own_values_after_any_other(
    open_app: OpenApp, usual: dict[str, dict[Key, Any]], first: str
) -> None:
    app = open_view(open_app, first, **MOVED[first])
    for part in parts_of(first):
        if part:
            app.session_state[VIEWS[first].keys(PARTS[first])] = part
            app.run()
        move_all(app)
    left = owned(app, VIEWS[first])
    for name, view in VIEWS.items():
        if name == first:
            continue
        if name not in usual:
            fresh = open_view(open_app, "decoding" if name != "decoding" else "heads")
            usual[name] = owned(click_page(fresh, name), view)
        assert owned(click_page(app, name), view) == usual[name], name
    assert owned(click_page(app, first), VIEWS[first]) == left


def test_no_widget_around_the_pages_has_a_key_that_a_parameter_could_have(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    around = set.intersection(*(widget_keys(open_app(page=name)) for name in ("about", "model")))
    assert around - OF_BAR
    named = replace(VIEWS["about"], parameters=(flag("share"), flag("scenes"), flag("glossary")))
    monkeypatch.setattr(pages, "VIEWS", VIEWS | {"about": named})
    app = open_app(page="about", share="1")
    assert app.session_state["about-share"] is True


def parts_of(page: str) -> Iterator[str]:
    """Every part of a page."""
    if page not in PARTS:
        yield ""
        return
    yield from re.findall(r"`([^`]+)`", VIEWS[page].parameter(PARTS[page]).values)
