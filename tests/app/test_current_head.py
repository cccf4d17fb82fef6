"""The head that a person looks at goes along from page to page."""

import pytest
from streamlit.testing.v1 import AppTest

from model.trace.attention_map import AttentionKind, Site
from tests.kit.apptest import OpenApp, go_to

HEADS, MASKS, DECODING = "heads", "masks", "decoding"


def go(app: AppTest, page: str) -> AppTest:
    """As a click on the page's name: its address then asks for nothing."""
    go_to(app, page)
    app.query_params.clear()
    return app.run()


def shown(app: AppTest, page: str, kind: str) -> tuple[str, int, int]:
    first, layer, head = (app.session_state[f"{page}-{name}"] for name in (kind, "layer", "head"))
    return first, layer, head


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_masks_shows_the_very_head_that_the_heads_page_showed(open_app: OpenApp, kind: str) -> None:
    app = go(open_app(attention=kind, layer="1", head="3"), MASKS)
    assert shown(app, MASKS, "masked") == (kind, 1, 3)


def test_the_heads_page_shows_the_head_that_was_chosen_among_the_masks(open_app: OpenApp) -> None:
    app = go(open_app(attention="cross", layer="2", head="3"), MASKS)
    app.session_state["masks-masked"], app.session_state["masks-layer"] = "encoder", 1
    app = go(app.run(), HEADS)
    assert shown(app, HEADS, "attention") == ("encoder", 1, 3)


def test_decoding_shows_the_attention_of_the_chosen_head_until_it_is_told_otherwise(
    open_app: OpenApp,
) -> None:
    app = go(open_app(attention="cross", layer="2", head="3"), DECODING)
    assert app.session_state["decoding-heads"] == ((Site(AttentionKind.CROSS, 2), 3),)
    app.session_state["decoding-heads"] = ()
    app = go(go(app.run(), HEADS), DECODING)
    assert app.session_state["decoding-heads"] == ()


def test_masks_opens_on_the_head_from_which_its_mask_hides_most(open_app: OpenApp) -> None:
    app = open_app()
    opened = shown(app, HEADS, "attention")
    app = go(app, MASKS)
    kind, layer, head = shown(app, MASKS, "masked")
    assert kind == "decoder", "nobody chose a head, so the page keeps its own"
    app.session_state["masks-part"] = "compare"
    app = app.run()
    assert shown(app, MASKS, "masked") == (kind, layer, head)
    assert shown(go(app, HEADS), HEADS, "attention") == opened
