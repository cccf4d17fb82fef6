"""What widgets and components begin with, in every run."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.kit.apptest import OpenApp, go_to

WRITTEN = {"sentence": "The man eats.", "target": "Der Hund frisst."}
PLACES = [
    ("heads", {**WRITTEN, "below": "numbers"}),
    ("effects", {**WRITTEN, "token": "2", "off": "cross.1.0", "gate": "50"}),
    ("effects", {"show": "maps", "mapped": "encoder", "layer_head": "1", "method": "rollout"}),
    ("compare", {"versus": "search", "beam": "2", "penalty": "100", "against": "sampling"}),
    ("decoding", {"how": "sampling", "top_k": "3", "seed": "4", "temperature": "50"}),
    ("decoding", {"heads": "cross.1.2", "off": "encoder.0.1"}),
    ("masks", {"part": "change", "number": "2", "masked": "cross", "layer": "1", "head": "2"}),
    ("masks", {"part": "compare", "a": "preset.window", "b": "2.decoder"}),
    ("positions", {"waves": "1.3", "pair": "2", "at": "5", "length": "limit"}),
    ("positions", {"topic": "without", "scale": "50", "shift": "-3", "side": "encoder"}),
    ("positions", {"topic": "likeness", "cosine": "0"}),
    ("positions", {"topic": "formula", "d_model": "64", "rows": "10", "base": "100"}),
]
"""Pages with what their widgets show, none of it as usual."""


def first_and_present(app: AppTest) -> dict[str, tuple[Any, Any]]:
    """By key, what each widget would begin with and what it shows; options by their places."""
    pairs: dict[str, tuple[Any, Any]] = {}
    for kind in ("text_input", "text_area", "toggle", "number_input"):
        pairs |= {each.key: (each.proto.default, each.value) for each in getattr(app, kind)}
    for each in app.selectbox:
        pairs[each.key] = each.proto.default, each.index
    for each in app.slider:
        pairs[each.key] = [*each.proto.default], [each.value]
    for each in app.multiselect:
        pairs[each.key] = [*each.proto.default], each.indices
    for each in app.segmented_control:
        options = [each.proto.options[place] for place in each.proto.default]
        texts = [f"{option.content_icon} {option.content}".strip() for option in options]
        pairs[each.key] = texts, [*each.formatted_values]
    for each in app.select_slider:
        (place,) = each.proto.default
        shown = each.proto.options[int(place)]
        written = {f"{each.value:,}", f"{each.value / 100:g}"}
        pairs[each.key] = shown in written, True
    return pairs


@pytest.mark.parametrize(("page", "query"), PLACES, ids=str)
def test_a_widget_would_begin_with_what_it_shows(
    open_app: OpenApp, page: str, query: dict[str, str]
) -> None:
    """A slow browser that missed a run hears only of the default, and sends it back as chosen."""
    app = go_to(open_app(), page)
    app.query_params = query
    # In the run after it, Streamlit sends no value, for the script sets none.
    pairs = first_and_present(app.run().run())
    assert pairs
    wrong = {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}
    assert not wrong


def test_a_component_is_busy_until_its_script_has_come(open_app: OpenApp) -> None:
    """Whoever waits for a page asks for this; the script takes it away."""
    mounted = set()
    for page, query in PLACES:
        app = go_to(open_app(), page)
        app.query_params = query
        for each in app.run().get("bidi_component"):
            mounted.add(each.proto.component_name)
            assert 'aria-busy="true"' in each.proto.html_content, each.proto.component_name
    assert len(mounted) > 8
