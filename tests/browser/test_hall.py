"""A speaker asks the hall: phones guess by a tap, the stage counts, then both show the truth."""

import re
from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from model.explain.reading import read
from model.translate.translator import Translator
from tests.kit.heads_page import LOADING, SHORTLY, HeadsPage, wait_until_calm
from tests.kit.stage_page import StagePage
from viz.draw.labels import axis_texts, token_text
from viz.shell import share_panel
from viz.site.page import words

SENTENCE = "The cat sat on the mat."
PHONE: ViewportSize = {"width": 390, "height": 844}
LEAST = 44
"""The least size of what a finger taps, in CSS pixels."""

Visitor = Callable[..., HeadsPage]
EN = words()["en"]


def followed(reader: HeadsPage) -> str:
    """Lets phones follow, as the Share panel does; returns the code."""
    page = reader.page
    page.get_by_test_id("stPopover").filter(has_text="Share").locator("button").click()
    for name in (share_panel.ON_PHONE, share_panel.FOLLOW):
        page.get_by_test_id("stCheckbox").filter(has_text=name).click()
    link = page.get_by_role("textbox", name="Link to this view")
    expect(link).to_have_value(re.compile("[?&]follow="))
    code = dict(parse_qsl(urlsplit(link.input_value()).query))["follow"]
    page.keyboard.press("Escape")
    expect(page.locator(".copy-link")).to_have_count(0)
    wait_until_calm(page, still=SHORTLY)
    return code


def phone_of(visitor: Visitor, code: str, scheme: str) -> Page:
    reader = visitor(viewport=PHONE, locale="en-US", color_scheme=scheme)
    reader.page.goto(f"{reader.url}/site/?follow={code}", timeout=LOADING)
    return reader.page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phones_guess_where_a_head_looks(visitor: Visitor, model: Translator, scheme: str) -> None:
    reader = visitor(locale="en-US", color_scheme=scheme)
    stage = StagePage(reader)
    page = reader.page
    reader.open(sentence=SENTENCE, attention="encoder", layer="1", head="1", cell="1.0")
    code = followed(reader)
    page.keyboard.press("p")
    expect(stage.foot).to_be_visible()
    one, other = (phone_of(visitor, code, scheme) for _ in range(2))
    for phone in (one, other):
        expect(phone.locator(".heads-view h3.name")).to_contain_text("head 1", timeout=LOADING)
        expect(phone.locator(".guess")).to_be_hidden()

    page.keyboard.press("q")
    tiles = page.locator(".over .tiles li")
    seen = read(model.trace(SENTENCE)).maps["encoder", 1]
    texts, row = axis_texts(seen.keys), seen.weights[1, 1]
    expect(tiles).to_have_text(texts)
    expect(page.locator(".over .line")).to_have_text("0 phones have answered")
    for phone in (one, other):
        expect(phone.locator(".guess h2")).to_have_text(EN["guess_key"].format(word=texts[1]))
        expect(phone.locator(".guess button")).to_have_text(texts)
        # The weights are not in sight until it is closed.
        expect(phone.locator("#view")).to_be_hidden()
        boxes = [each.bounding_box() for each in phone.locator(".guess button").all()]
        assert all(box and min(box["width"], box["height"]) >= LEAST for box in boxes)
        assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]

    guess = one.locator(".guess button")
    guess.nth(0).click()
    expect(one.locator(".guess [aria-live]")).to_have_text(EN["guess_counted"])
    expect(page.locator(".over .line")).to_have_text("1 phone has answered")
    guess.nth(2).click()
    expect(guess.nth(2)).to_have_attribute("aria-pressed", "true")
    expect(guess.nth(0)).to_have_attribute("aria-pressed", "false")
    other.locator(".guess button").nth(2).click()
    expect(page.locator(".over .line")).to_have_text("2 phones have answered")
    for place, share in ((0, "0"), (2, "1")):
        expect(tiles.nth(place)).to_have_attribute("style", f"--share: {share};")
    assert stage.weak() == []
    assert stage.chrome() == []
    # A phone that was reloaded is the same one, and knows what it chose.
    one.reload(timeout=LOADING)
    expect(guess.nth(2)).to_have_attribute("aria-pressed", "true", timeout=LOADING)

    page.keyboard.press("q")
    best = int(row.argmax())
    right = 2 if best == 2 else 0
    said = f"This head looks most at “{texts[best]}”. Guessed by {right} of 2."
    expect(page.locator(".over .line")).to_have_text(said)
    expect(page.locator(".over .best .word")).to_have_text(texts[best])
    expect(tiles.nth(2).locator(".bar.guess")).to_have_text("100%")
    expect(tiles.nth(best).locator(".bar.truth")).to_have_text(f"{row[best]:.0%}")
    assert stage.weak() == []
    for phone in (one, other):
        truth = EN["guess_most"].format(word=texts[best], percent=f"{row[best]:.0%}")
        expect(phone.locator(".guess [aria-live]")).to_contain_text(truth)
        expect(phone.locator(".guess [aria-live]")).to_contain_text(f"{right} of 2")
        expect(phone.locator(".guess .best")).to_have_text(texts[best])
        expect(phone.locator(".guess button").first).to_be_disabled()
        expect(phone.locator("#view canvas").first).to_be_visible()

    page.keyboard.press("q")
    expect(page.locator(".over")).to_be_hidden()
    for phone in (one, other):
        expect(phone.locator(".guess")).to_be_hidden()
    # A tap on a guess was no way of one's own: the phones still follow.
    page.keyboard.press("ArrowRight")
    for phone in (one, other):
        expect(phone.locator(".heads-view h3.name")).to_contain_text("head 2")


def test_phones_guess_what_comes_next_until_the_speaker_moves_on(
    visitor: Visitor, model: Translator
) -> None:
    reader = visitor(locale="en-US")
    stage, page = StagePage(reader), reader.page
    page.goto(f"{reader.url}/decoding?at=2&sentence={SENTENCE}", timeout=LOADING)
    expect(page.locator(".decoding-steps[data-painted]")).to_be_visible(timeout=LOADING)
    code = followed(reader)
    page.keyboard.press("p")
    expect(stage.foot).to_be_visible()
    phone = phone_of(visitor, code, "light")
    expect(phone.locator("#view canvas, #view .part").first).to_be_visible(timeout=LOADING)
    page.get_by_role("button", name="Ask the hall").click()
    expect(phone.locator(".guess h2")).to_have_text(EN["guess_next"])
    expect(phone.locator("#translation")).to_be_hidden()
    shown = phone.locator(".guess button").all_inner_texts()
    assert shown == sorted(shown, key=str.casefold)
    step = model.decode(SENTENCE).steps[1]
    assert token_text(step.likeliest.tokens[0]) in shown
    phone.locator(".guess button").first.click()
    expect(page.locator(".over .line")).to_have_text("1 phone has answered")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".over")).to_be_hidden()
    expect(phone.locator(".guess")).to_be_hidden()
    expect(phone.locator("#view")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Ask the hall"))).to_be_visible()
