"""Views of the site that explain a decoding, beside what Python finds."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from headscope.__main__ import main
from model.contrast.logit_terms import logit_terms
from model.contrast.pairs import next_likeliest, pair_of
from model.paper.search import Search
from model.translate.translator import load
from tests.kit.static_host import hosted
from viz.draw.labels import axis_texts
from viz.draw.word_diff import word_diff
from viz.site.page import words

SENTENCE = "d c b a a b"
SECONDS = 60_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("site")
    models = ("--model", "toy-reverse", "--model", "toy-sort-alibi")
    assert main(["site", *models, "--out", str(root)]) == 0
    with hosted(root) as address:
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(locale="en-US", viewport={"width": 390, "height": 844})
    page = context.new_page()
    yield page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert Axe().run(page).response["violations"] == []
    context.close()


def opened(page: Page, site: str, path: str) -> None:
    page.goto(f"{site}/{path}&sentence={SENTENCE.replace(' ', '+')}")
    page.locator(f"html[data-engine=ready] body[data-shown='{SENTENCE}']").wait_for(timeout=SECONDS)


def test_a_search_is_a_tree_whose_ends_can_be_studied(page: Page, site: str) -> None:
    decoding = load("toy-reverse", device="cpu").decode(SENTENCE, search=Search())
    opened(page, site, "decoding/?section=beams")
    expect(page.locator(".tree g[data-place]")).to_have_count(len(decoding.nodes), timeout=SECONDS)
    branch = page.locator(".branches .place")
    before = branch.text_content()
    page.get_by_role("button", name="Next branch").click()
    expect(branch).not_to_have_text(before or "")
    second = next(place for place, node in enumerate(decoding.nodes) if node.rank == 1)
    page.locator(f"g[data-place='{second}'] .room").click()
    expect(page.locator("#translation")).not_to_have_text(decoding.translation.text)
    assert "target=" in page.url
    # The tree stays that of the model's own search.
    expect(page.locator(".tree g[data-place]")).to_have_count(len(decoding.nodes), timeout=SECONDS)


def test_each_layer_says_what_it_would_write(page: Page, site: str) -> None:
    model = load("toy-reverse", device="cpu")
    lens = model.logit_lens(model.trace(SENTENCE))
    opened(page, site, "decoding/?section=layers")
    expect(page.locator(".lens tbody tr")).to_have_count(len(lens.ranks), timeout=SECONDS)
    for row, likeliest in zip(page.locator(".lens tbody tr").all(), lens.likeliest, strict=True):
        assert row.locator("td").all_text_contents() == axis_texts(likeliest)


def test_beams_of_every_width_are_listed(page: Page, site: str) -> None:
    opened(page, site, "decoding/?section=widths")
    text = load("toy-reverse", device="cpu").translate(SENTENCE, search=Search(beam=1)).text
    expect(page.locator(".found li").first).to_contain_text(text, timeout=SECONDS)


def test_what_two_words_depend_on_is_said_by_head_and_as_a_sum(page: Page, site: str) -> None:
    model = load("toy-reverse", device="cpu")
    trace = model.trace(SENTENCE)
    other = next_likeliest(model, trace, 1)
    terms = logit_terms(model, trace, pair_of(model, trace, 1, other))
    opened(page, site, "effects/?token=2")
    page.get_by_role("button", name=words()["en"]["why_not"]).click()
    page.wait_for_url(f"**instead={other}*")
    # The controls are made anew, and with them the button.
    page.get_by_label(words()["en"]["against"], exact=True).wait_for(timeout=SECONDS)
    page.get_by_role("button", name=words()["en"]["sum"]).click()
    total = page.locator(".terms li").last
    expect(total).to_contain_text(f"{terms.difference:+.2f}", timeout=SECONDS)
    head = page.locator(".terms .link").first
    (place,) = re.findall(r"layer \d+, head \d+", head.text_content() or "")
    head.click()
    # The address leaves out what the page opens with.
    page.wait_for_url("**/heads/**")
    expect(page.locator(".heads-view h3.name")).to_contain_text(place, timeout=SECONDS)


def test_two_sentences_models_and_searches_are_compared(page: Page, site: str) -> None:
    opened(page, site, "compare/?other=a+b+c")
    root = page.locator(".exchange")
    expect(root.locator(".line")).to_contain_text("First → second", timeout=SECONDS)
    texts = [load("toy-reverse", device="cpu").translate(each).text for each in (SENTENCE, "a b c")]
    removed = root.locator(".line del").all_text_contents()
    changes = [text.strip() for change, text in word_diff(*texts) if change == "removed"]
    assert removed == changes
    page.get_by_label(words()["en"]["other_sentence"]).fill("c b a")
    page.keyboard.press("Enter")
    page.wait_for_url("**other=c+b+a*")
    tiles = root.locator("[role=gridcell][data-part]")
    # One of the two is the head that is large already.
    tiles.first.click()
    tiles.last.click()
    page.wait_for_url("**pair_head=cross*")
    page.get_by_role("button", name=words()["en"]["models"], exact=True).click()
    expect(root.locator("h3")).to_contain_text("beside", timeout=SECONDS)
    page.get_by_role("button", name=words()["en"]["searches"], exact=True).click()
    page.get_by_label("B: Beam").select_option("8")
    page.wait_for_url("**against=search-8-*")
