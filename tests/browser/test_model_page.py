"""The first page in a real browser: it plays by itself, is led by keys, and leads to the others."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote, urlencode, urlsplit

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from model.trace.attention_map import AttentionKind
from model.translate.translator import Translator
from tests.kit.heads_page import LOADING, HeadsPage, wait_until_calm

SENTENCE = "She gave the book to the man."


class ModelPage:
    """The first page as its tests drive it."""

    def __init__(self, reader: HeadsPage) -> None:
        self.reader = reader
        self.page: Page = reader.page
        self.view: Locator = self.page.locator(".model-view[data-state]")
        self.written = self.view.locator(".written")

    def open(self, **query: str) -> ModelPage:
        asked = urlencode({"sentence": SENTENCE} | query, quote_via=quote)
        self.page.goto(f"{self.reader.url}/?{asked}", timeout=LOADING)
        expect(self.view).to_be_visible(timeout=LOADING)
        return self

    def expect_rest(self, moment: int) -> None:
        expect(self.view).to_have_attribute("data-state", "resting")
        expect(self.view).to_have_attribute("data-moment", str(moment))


@pytest.fixture
def first_page(visitor: Callable[..., HeadsPage]) -> ModelPage:
    return ModelPage(visitor(reduced_motion="no-preference"))


@pytest.fixture
def still(heads: HeadsPage) -> ModelPage:
    return ModelPage(heads)


def n_tokens(model: Translator) -> int:
    return len(model.translate(SENTENCE).tokens)


def test_a_new_sentence_plays_once_to_its_end_without_the_server(
    first_page: ModelPage, model: Translator
) -> None:
    first_page.open()
    expect(first_page.view).to_have_attribute("data-state", "playing")
    wait_until_calm(first_page.page)
    first_page.page.evaluate("window.held = []")
    expect(first_page.view).to_have_attribute("data-moment", "2")
    first_page.expect_rest(n_tokens(model))
    assert first_page.page.evaluate("window.held") == []
    first_page.page.evaluate("window.release()")
    expect(first_page.written).to_contain_text(model.translate(SENTENCE).text.split()[0])
    # Once: a run of the page that brings nothing new leaves it at rest.
    first_page.reader.type("sentence", "The dog sleeps.")
    expect(first_page.view).to_have_attribute("data-state", "playing")
    expect(first_page.written).to_contain_text(model.translate("The dog sleeps.").text.split()[0])


def test_whoever_wants_no_motion_sees_all_of_it_at_once(
    still: ModelPage, model: Translator
) -> None:
    still.open()
    still.expect_rest(n_tokens(model))
    still.page.keyboard.press("Home")
    still.view.get_by_role("button", name="Play").click()
    # Asked for, it plays all the same.
    expect(still.view).to_have_attribute("data-state", "playing")
    # On paper it has ended.
    printed = "view => { dispatchEvent(new Event('beforeprint')); return { ...view.dataset }; }"
    shown = still.view.evaluate(printed)
    assert (shown["state"], shown["moment"]) == ("resting", str(n_tokens(model)))


def test_keys_go_from_token_to_token_and_the_address_keeps_where(
    still: ModelPage, model: Translator
) -> None:
    still.open()
    last = n_tokens(model)
    still.expect_rest(last)
    wait_until_calm(still.page)
    still.view.get_by_role("slider", name="Moment").focus()
    still.page.keyboard.press("ArrowLeft")
    still.expect_rest(last - 1)
    still.reader.wait_for_query(moment=str(last - 1))
    still.page.keyboard.press("Home")
    still.expect_rest(0)
    still.page.keyboard.press("ArrowRight")
    still.expect_rest(1)
    still.reader.wait_for_query(moment="1")
    still.page.reload()
    still.expect_rest(1)


def test_a_click_on_a_head_comes_close_to_it_and_from_there_opens_the_heads(
    still: ModelPage, model: Translator
) -> None:
    still.open()
    wait_until_calm(still.page)
    block = still.view.get_by_role("gridcell", name="Cross-attention, layer 0")
    box = block.bounding_box()
    assert box is not None
    n_heads = model.model.config.n_heads
    head = n_heads - 1
    block.click(position={"x": (head + 0.5) * box["width"] / n_heads, "y": box["height"] / 2})
    still.reader.wait_for_query(place=f"cross.0.{head}")
    still.view.get_by_role("button", name="Open in Heads").click()
    still.page.wait_for_url("**/heads?**")
    still.reader.wait_for_query(sentence=SENTENCE, layer="0", head=str(head), attention=None)
    expect(still.reader.heading).to_contain_text(f"layer 0, head {head}", timeout=LOADING)
    assert AttentionKind.CROSS.full_name in still.reader.heading.inner_text()
    still.page.go_back()
    expect(still.view).to_have_attribute("data-place", "head", timeout=LOADING)


def test_the_blocks_are_one_stop_of_the_tab_key_and_open_by_enter(still: ModelPage) -> None:
    still.open()
    wait_until_calm(still.page)
    moment = still.view.get_attribute("data-moment")
    block = still.view.get_by_role("gridcell", name="Masked self-attention, layer 0")
    block.focus()
    still.page.keyboard.press("ArrowUp")
    still.page.keyboard.press("ArrowRight")
    expect(still.view.get_by_role("gridcell", name="Cross-attention, layer 1")).to_be_focused()
    expect(block).to_have_attribute("tabindex", "-1")
    expect(still.view).to_have_attribute("data-moment", str(moment))
    still.page.keyboard.press("Enter")
    still.reader.wait_for_query(place="cross.1")
    still.page.keyboard.press("Escape")
    still.page.keyboard.press("Escape")
    still.reader.wait_for_query(place=None)


def test_an_address_of_the_heads_when_they_were_the_first_page_opens_the_head(
    heads: HeadsPage,
) -> None:
    heads.page.goto(f"{heads.url}/?sentence=The+dog+sleeps.&layer=1&head=2", timeout=LOADING)
    expect(heads.heading).to_contain_text("layer 1, head 2", timeout=LOADING)
    assert urlsplit(heads.page.url).path == "/heads"


def test_a_word_is_followed_wherever_it_is(still: ModelPage) -> None:
    still.open()
    wait_until_calm(still.page)
    word = still.view.locator(".read .word", has_text="book")
    word.hover()
    expect(word).to_have_class(re.compile("lit"))
    chip = still.view.locator(".encoder .chip", has_text="book")
    expect(chip).to_have_class(re.compile("lit"))
    word.click()
    still.page.mouse.move(5, 5)
    expect(chip).to_have_class(re.compile("lit"))
    said = still.view.locator(".said")
    expect(said).to_have_text("Following “book”. Escape, or a second click, lets it go.")
    still.view.get_by_role("slider", name="Moment").focus()
    still.page.keyboard.press("Escape")
    expect(chip).not_to_have_class(re.compile("lit"))
    expect(said).not_to_contain_text("Following")
    for let_go in (word.click, lambda: still.page.keyboard.press("Escape")):
        word.click()
        expect(said).to_contain_text("Following")
        # Wherever the focus is, such as on nothing.
        still.page.evaluate("document.activeElement.blur()")
        let_go()
        still.page.mouse.move(5, 5)
        expect(chip).not_to_have_class(re.compile("lit"))
        expect(still.view.locator(".spoken").last).to_have_text("No token is followed.")


def test_keys_follow_a_token_and_what_comes_after_it(still: ModelPage, model: Translator) -> None:
    still.open()
    wait_until_calm(still.page)
    chips = still.view.get_by_role("listbox", name="Decoder")
    chips.focus()
    still.page.keyboard.press("Home")
    expect(chips.get_by_role("option").first).to_have_class(re.compile("lit"))
    still.page.keyboard.press("ArrowRight")
    expect(chips.get_by_role("option").nth(1)).to_have_class(re.compile("lit"))
    written = model.trace(SENTENCE).predictions.tokens
    expect(still.view.locator(".offer.chosen .text")).to_have_text(written[1].replace("▁", ""))
    expect(still.view.locator(".spoken").last).to_contain_text("Token 2 of")
    # The moment stays where it was.
    still.expect_rest(n_tokens(model))
    still.page.keyboard.press("Escape")
    expect(chips.locator(".lit")).to_have_count(0)
    # At another temperature, the last token has another probability; nothing else moves.
    slider = still.view.get_by_role("slider", name="Temperature")
    slider.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "2")
    trace = model.trace(SENTENCE)
    with torch.inference_mode():
        ids = (torch.tensor([tokens.ids]) for tokens in (trace.source, trace.target))
        logits = model.model(*ids)[0, -1].float()
    share = float(torch.softmax(logits / 2, dim=-1)[trace.predictions.ids[-1]])
    said = "< 1%" if share < 0.01 else f"{min(99, round(100 * share))}%"
    expect(still.view.locator(".offer.chosen .share")).to_have_text(said)
    still.expect_rest(n_tokens(model))


def test_a_long_sentence_brings_each_token_into_sight(still: ModelPage) -> None:
    words = " ".join(["the old man saw the small dog and"] * 5)
    still.open(sentence=f"{words} the cat.", moment="25")
    wait_until_calm(still.page)
    chips = still.view.get_by_role("listbox", name="Decoder")
    expect(chips).to_have_class(re.compile("long"))
    now = chips.locator(".now")
    room, chip = chips.bounding_box(), now.bounding_box()
    assert room is not None
    assert chip is not None
    assert room["x"] <= chip["x"]
    assert chip["x"] + chip["width"] <= room["x"] + room["width"]


@pytest.mark.parametrize(
    ("width", "height"), [(1280, 800), (1920, 1080), (390, 844)], ids=["laptop", "hall", "phone"]
)
@pytest.mark.parametrize(
    "checkpoint", ["en-de", "toy-dates-rotary", "toy-reverse-decoder", "toy-reverse-encoder"]
)
def test_everything_fits(still: ModelPage, checkpoint: str, width: int, height: int) -> None:
    still.page.set_viewport_size({"width": width, "height": height})
    asked = {} if checkpoint == "en-de" else {"sentence": "c i c e"}
    if "dates" in checkpoint:
        asked = {"sentence": "2031-12-03"}
    still.open(checkpoint=checkpoint, **asked)
    wait_until_calm(still.page)
    main = still.page.get_by_test_id("stMain")
    assert main.evaluate("each => each.scrollWidth - each.clientWidth") <= 0
    box = still.view.locator(".controls").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= height
    for part in (".stack", ".next", ".written"):
        for each in still.view.locator(part).all():
            place = each.bounding_box()
            assert place is not None
            assert place["x"] >= 0, part
            assert place["x"] + place["width"] <= width + 1, part
            if width > 1000:
                assert place["y"] + place["height"] <= box["y"] + 1, part


class Act:
    """An act as its tests drive it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.root = page.locator(".act:not([aria-busy])")
        self.written = self.root.locator(".written")
        self.slider = self.root.get_by_role("slider")

    def expect_at(self, moment: str) -> None:
        expect(self.slider).to_have_attribute("aria-valuetext", moment)


def test_an_act_plays_and_is_led_by_keys(first_page: ModelPage) -> None:
    page = first_page.page
    page.goto(f"{first_page.reader.url}/?{urlencode({'sentence': SENTENCE, 'act': 'minds'})}")
    act = Act(page)
    expect(act.root).to_be_visible(timeout=LOADING)
    play = act.root.get_by_role("button")
    expect(play).to_have_accessible_name("Pause (K)")
    page.keyboard.press("k")
    expect(play).to_have_accessible_name("Play (K)")
    count = int(act.slider.get_attribute("max") or 0)
    for _ in range(count + 1):
        page.keyboard.press("ArrowRight")
    act.expect_at("1 head off" if count == 1 else f"{count} heads off")
    expect(act.written.locator(".other")).to_have_count(1)
    for _ in range(count + 1):
        page.keyboard.press("ArrowLeft")
    act.expect_at("All heads")
    expect(act.written.locator(".word")).to_have_count(1)


def test_whoever_wants_no_motion_sees_the_end_of_an_act(still: ModelPage) -> None:
    page = still.page
    page.goto(f"{still.reader.url}/?{urlencode({'sentence': SENTENCE, 'act': 'minds'})}")
    act = Act(page)
    expect(act.root).to_be_visible(timeout=LOADING)
    expect(act.root.get_by_role("button")).to_have_accessible_name("Play (K)")
    expect(act.slider).to_have_value(act.slider.get_attribute("max") or "")
    page.get_by_role("button", name="Back to the model").click()
    expect(still.view).to_be_visible(timeout=LOADING)


def test_acts_are_offered_at_the_end_of_the_walk(still: ModelPage) -> None:
    still.open()
    acts = still.view.get_by_role("group", name="Acts")
    expect(acts).to_be_hidden()
    still.page.keyboard.press("w")
    bar = still.view.get_by_role("group", name="The walk")
    expect(bar).to_be_visible()
    turn = bar.get_by_role("button", name="Your turn")
    forward = bar.locator(".walk-next")
    for _ in range(40):
        if turn.is_visible():
            break
        forward.click()
        expect(still.view.locator("[aria-busy=true]")).to_have_count(0)
    turn.click()
    expect(acts).to_be_visible()
    acts.get_by_role("button", name="The model’s two minds").click()
    expect(Act(still.page).root).to_be_visible(timeout=LOADING)
    expect(still.page).to_have_url(re.compile("act=minds"))
