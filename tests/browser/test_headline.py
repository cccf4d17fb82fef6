"""The translation above a page: words that are doubtful, and what it becomes without heads."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import expect

from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, Site
from model.translate.translator import Translator
from tests.kit.heads_page import HeadsPage, pixels
from viz.shell.headline import headline_of

Visitor = Callable[..., HeadsPage]
SENTENCE = "He has bought a new computer."


@pytest.fixture(scope="module")
def changing(model: Translator) -> tuple[int, int, str]:
    """A cross-attention head without which another translation is written, and that one."""
    usual = model.translate(SENTENCE).text
    for site in (site for site in model.sites if site.kind is AttentionKind.CROSS):
        for head in range(model.model.config.n_heads):
            text = model.translate(SENTENCE, under=Intervention(heads={(site, head): 0})).text
            if text != usual:
                return site.layer, head, text
    raise AssertionError("the model writes the same without any one head")


def test_a_head_is_switched_off_where_it_stands_and_the_translation_turns_into_that_without_it(
    heads: HeadsPage, model: Translator, changing: tuple[int, int, str]
) -> None:
    layer, head, text = changing
    usual = model.translate(SENTENCE).text
    heads.open(sentence=SENTENCE, layer=str(layer), head=str(head))
    answer = heads.page.locator(".answer")
    heads.overview.press("x")
    expect(heads.translation).to_have_text(text)
    heads.wait_for_query(off=f"cross.{layer}.{head}")
    assert heads.tile(layer, head)["off"]
    expect(heads.page.locator(".price")).to_contain_text(f"Without Cross {layer}.{head}")
    new = [word for word in text.rstrip(".").split() if word not in usual.rstrip(".").split()]
    expect(answer.locator(".changed")).to_have_text(new)
    heads.overview.press("x")
    expect(heads.translation).to_have_text(usual)
    heads.wait_for_query(off=None)
    expect(heads.page.locator(".answer .changed, .price")).to_have_count(0)


def test_a_click_anywhere_on_a_tile_opens_its_head_and_switches_nothing(heads: HeadsPage) -> None:
    heads.open(sentence=SENTENCE, layer="0", head="0")
    tile = heads.tile(1, 2)
    for share in (0.03, 0.5, 0.97):
        # Pointed at first, as a hand does: what appears there must not be in the way.
        place = {side: tile[side] + share * tile["width"] for side in ("x", "y")}
        heads.overview.hover(position=place)
        heads.page.mouse.down()
        heads.page.mouse.up()
        expect(heads.heading).to_contain_text("layer 1, head 2")
        heads.click_tile(0, 0)
        expect(heads.heading).to_contain_text("layer 0, head 0")
        assert not any(each["off"] for each in heads.tiles)


def test_the_button_beside_the_name_and_all_on_do_the_same_by_pointer(
    heads: HeadsPage, changing: tuple[int, int, str]
) -> None:
    layer, head, text = changing
    heads.open(sentence=SENTENCE, layer=str(layer), head=str(head))
    heads.root.get_by_role("button", name="Switch off").click()
    expect(heads.spoken).to_contain_text("switched off.")
    heads.click_tile(1, 1, modifiers=["Shift"])
    expect(heads.translation).to_have_text(text)
    heads.page.get_by_role("button", name="All on").click()
    heads.wait_for_query(off=None)
    assert not any(tile["off"] for tile in heads.tiles)


def test_off_is_seen_before_the_server_hears_of_it(
    heads: HeadsPage, changing: tuple[int, int, str]
) -> None:
    layer, head, text = changing
    heads.open(sentence=SENTENCE, layer=str(layer), head=str(head))
    heads.page.evaluate("window.held = []")
    heads.overview.press("x")
    expect(heads.page.locator(".answer .awaited")).to_have_count(1)
    assert heads.tile(layer, head)["off"]
    heads.page.evaluate("window.release()")
    expect(heads.translation).to_have_text(text)


def test_an_address_opens_with_its_heads_off_and_back_switches_them_on(
    heads: HeadsPage, model: Translator
) -> None:
    off = {(Site(AttentionKind.CROSS, layer), head): 0 for layer, head in ((0, 5), (1, 0))}
    text = model.translate(SENTENCE, under=Intervention(heads=off)).text
    heads.open(sentence=SENTENCE, layer="0", head="5", off="cross.0.5")
    assert heads.tile(0, 5)["off"]
    heads.click_tile(1, 0)
    heads.overview.press("x")
    heads.wait_for_query(off="cross.0.5-cross.1.0")
    expect(heads.translation).to_have_text(text)
    heads.page.go_back()
    heads.wait_for_query(off="cross.0.5")
    expect(heads.page.locator(".price")).to_contain_text("Without Cross 0.5")
    heads.settle()
    two = re.compile(r'"off":\s*true.*"off":\s*true')
    expect(heads.overview).not_to_have_attribute("data-tiles", two)
    assert [(tile["layer"], tile["head"]) for tile in heads.tiles if tile["off"]] == [(0, 5)]


def test_whoever_wants_no_motion_sees_the_other_translation_at_once(
    visitor: Visitor, changing: tuple[int, int, str]
) -> None:
    layer, head, text = changing
    reader = visitor()
    reader.open(sentence=SENTENCE, layer=str(layer), head=str(head))
    reader.page.evaluate(
        """() => {
            window.moved = 0;
            const animate = Element.prototype.animate;
            Element.prototype.animate = function (...given) {
                window.moved += 1;
                return animate.apply(this, given);
            };
        }"""
    )
    reader.overview.press("x")
    expect(reader.translation).to_have_text(text)
    assert reader.page.evaluate("window.moved") == 0


def test_the_underlined_words_are_those_to_which_the_model_gave_less_than_half(
    heads: HeadsPage, model: Translator
) -> None:
    trace = model.trace(SENTENCE)
    assert trace.log_probs is not None
    heads.open(sentence=SENTENCE)
    words = headline_of(trace.text, trace.predictions, trace.log_probs).words
    doubtful = [word for word in words if word.is_doubtful]
    for word in words:
        share = np.exp(trace.log_probs[word.first : word.end].astype(np.float64)).prod()
        assert word.is_doubtful == (share < 0.5)
    shown = heads.page.locator(".answer .doubtful")
    expect(shown).to_have_text([word.text for word in doubtful])
    for place, word in enumerate(doubtful):
        expect(shown.nth(place)).to_have_attribute("title", str(word.entry["said"]))
    with heads.asked():
        menu = heads.page.get_by_test_id("stPopoverBody")
        expect(menu).to_contain_text("million parameters")
        assert ("underlined" in menu.inner_text()) == bool(doubtful)


# ---- words that are pointed at -------------------------------------------------------------------


def test_a_word_pointed_at_in_the_translation_lights_its_row_in_every_head(
    heads: HeadsPage, model: Translator
) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="5")
    before, large = pixels(heads.overview), pixels(heads.matrix)
    heads.page.evaluate("window.held = []")
    words = heads.page.locator(".answer .word")
    words.nth(1).hover()
    expect(words.nth(1)).to_have_class(re.compile(r"\blit\b"))
    heads.page.evaluate("() => new Promise(seen => requestAnimationFrame(seen))")
    assert (pixels(heads.overview) != before).any()
    assert heads.page.evaluate("window.held.length") == 0
    heads.page.evaluate("window.release()")
    frame = heads.frame()
    x, y = frame.middle(1, 3)
    lit = np.flatnonzero((pixels(heads.matrix) != large)[:, round(x)].any(axis=1))
    # The second word is written in the second row, which has read the first.
    assert frame.y + frame.height - 1 <= lit.min() <= lit.max() <= frame.y + 2 * frame.height + 1
    heads.matrix.hover(position={"x": x, "y": y})
    expect(heads.tooltip).to_contain_text("(1) to")
    expect(heads.tooltip).to_contain_text(f"predicted next: {words.nth(1).inner_text()}")


def test_a_cell_and_a_label_pointed_at_light_their_words_in_the_translation(
    heads: HeadsPage,
) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="5")
    words = heads.page.locator(".answer .word")
    lit = heads.page.locator(".answer .lit")
    frame = heads.frame()
    heads.point_at(frame, 3, 3)
    expect(lit).to_have_text([words.nth(3).inner_text()])
    _, y = frame.middle(4, 0)
    heads.matrix.hover(position={"x": frame.x - 12, "y": y})
    expect(lit).to_have_text([words.nth(4).inner_text()])
    heads.page.mouse.move(5, 5)
    heads.matrix.hover(position={"x": frame.x + frame.width * 8 + 40, "y": y})
    expect(lit).to_have_text([words.nth(4).inner_text()])
    heads.page.mouse.move(5, 5)
    expect(lit).to_have_count(0)


@pytest.mark.parametrize(
    ("page", "query", "lit"),
    [
        ("masks", {}, ".band.lit"),
        ("decoding", {"at": "4"}, ".token.lit"),
        ("decoding", {"section": "certainty"}, ".word-lit"),
        ("effects", {"show": "maps"}, ".word-lit"),
    ],
)
def test_a_word_pointed_at_lights_on_every_page_that_shows_it_without_the_server(
    heads: HeadsPage, page: str, query: dict[str, str], lit: str
) -> None:
    heads.walk(page, sentence=SENTENCE, **query)
    words = heads.page.locator(".answer .word")
    expect(words.first).to_be_visible()
    expect(heads.page.locator(lit)).to_have_count(0)
    heads.page.evaluate("window.held = []")
    words.nth(1).hover()
    expect(heads.page.locator(lit)).not_to_have_count(0)
    heads.page.mouse.move(5, 5)
    expect(heads.page.locator(lit)).to_have_count(0)
    words.nth(1).hover()
    expect(heads.page.locator(lit)).not_to_have_count(0)
    # Drawn anew, as after a change of theme.
    words.nth(1).evaluate(
        """word => {
            const anew = word.cloneNode(true);
            word.replaceWith(anew);
            window.putBack = () => anew.replaceWith(word);
        }"""
    )
    heads.page.mouse.move(5, 5)
    expect(heads.page.locator(lit)).to_have_count(0)
    heads.page.evaluate("window.putBack()")
    assert heads.page.evaluate("window.held.length") == 0
    heads.page.evaluate("window.release()")


def test_a_row_of_a_map_is_the_word_it_writes_though_it_is_named_by_the_one_before(
    heads: HeadsPage,
) -> None:
    heads.walk("effects", sentence=SENTENCE, show="maps", mapped="decoder", token="4")
    words = heads.page.locator(".answer .word")
    words.nth(3).hover()
    lit = heads.page.locator(".word-lit")
    expect(lit).to_have_count(2)
    assert set(lit.all_text_contents()) == {words.nth(2).inner_text(), words.nth(3).inner_text()}


@pytest.mark.parametrize("page", ["heads", "decoding"])
def test_a_click_on_a_word_asks_why_it_was_written(heads: HeadsPage, page: str) -> None:
    heads.walk(page, sentence=SENTENCE)
    word = heads.page.locator(".answer .word.asks").nth(3)
    expect(word).to_have_attribute("title", re.compile("click to ask why"))
    asked = word.inner_text()
    word.click()
    heads.wait_for_query(asked="why-not.4", token="4")
    expect(heads.page.locator(".st-key-answer-line")).to_contain_text(f"Why “{asked}” and not")


def test_the_app_remembers_neither_sentence_nor_view(heads: HeadsPage, app_url: str) -> None:
    sentence = "The dog sleeps in the garden."
    heads.open(sentence=sentence, layer="1", head="1")
    stored = "() => [...Object.keys(localStorage), ...Object.keys(sessionStorage)]"
    # A talk's windows have names; Streamlit keeps its theme, and what of its menu is put away.
    known = re.compile("headscope-window|stActiveTheme-.*|stSidebar(SectionsState|Collapsed)-.*")
    assert [each for each in heads.page.evaluate(stored) if not known.fullmatch(each)] == []
    values = heads.page.evaluate("() => JSON.stringify([localStorage, sessionStorage])")
    assert sentence not in values
    heads.page.goto(app_url)
    field = heads.page.get_by_label("English sentence")
    expect(field).not_to_have_value("")
    expect(field).not_to_have_value(sentence)
    assert "?" not in heads.page.url
