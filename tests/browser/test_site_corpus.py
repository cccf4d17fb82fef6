"""What the heads of a model do over many sentences, on a site that has its survey."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from headscope.__main__ import main
from model.checkpoints.shipped import CHECKPOINTS
from model.survey.survey_file import read_sentences, read_survey
from model.trace.head import Head
from tests.kit.static_host import hosted
from viz.corpus.examples import examples_of, main_measure
from viz.corpus.quantities import QUANTITIES, ranked, written
from viz.site.page import words

SAYS: dict[str, Any] = words()["en"]
SECONDS = 60_000
MODEL = CHECKPOINTS / "en-de"
FOUND = {"over": "find", "words": "dog*", "one": "encoder.1.3", "does": "previous"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def site(root: Path) -> Iterator[str]:
    assert main(["site", "--model", "en-de", "--out", str(root)]) == 0
    with hosted(root) as address:
        yield address


@pytest.fixture(params=[(1280, 800), (390, 844)], ids=["desktop", "phone"])
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    width, height = request.param
    context = browser.new_context(
        locale="en-US", viewport={"width": width, "height": height}, has_touch=width < height
    )
    page = context.new_page()
    yield page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert Axe().run(page).response["violations"] == []
    context.close()


def opened(page: Page, site: str, **query: str) -> list[str]:
    """Open the page; gives the addresses that it asks for, now and later."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{site}/corpus/?{urlencode(query)}")
    page.locator("body[data-shown]:not([data-shown=''])").wait_for(timeout=SECONDS)
    return asked


def test_a_click_on_a_point_opens_its_head_without_the_model(page: Page, site: str) -> None:
    survey = read_survey(MODEL)
    assert survey is not None
    asked = opened(page, site)
    first, value = ranked(survey, "previous")[0]
    row = page.locator(".corpus tbody tr").first
    expect(row).to_contain_text(first.short_name)
    expect(row).to_contain_text(written("previous", value))
    # The head farthest to the right, which is named by pointing or by a first tap.
    marks = page.locator(".scatter .at").all()
    boxes = [mark.bounding_box() for mark in marks]
    assert len(boxes) == sum(each.site.kind != "cross" for each in survey.places)
    at = max((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes if box)
    is_phone = page.evaluate("navigator.maxTouchPoints > 0")
    if is_phone:
        page.touchscreen.tap(*at)
    else:
        page.mouse.move(*at)
    expect(page.locator(".tip strong")).to_have_text(first.short_name)
    expect(page.locator(".tip")).to_contain_text(written("previous", value))
    if is_phone:
        page.touchscreen.tap(*at)
    else:
        page.mouse.click(*at)
    expect(page.locator(".says h3")).to_have_text(first.name)
    assert "over=head" in page.url
    assert not [each for each in asked if "weights." in each or "sentences." in each]
    page.go_back()
    expect(page.locator(".scatter svg[role=img]")).to_be_visible()


def test_a_head_has_its_measures_and_sentences(page: Page, site: str) -> None:
    survey = read_survey(MODEL)
    assert survey is not None
    place = Head.of("cross.3.5")
    opened(page, site, over="head", one=str(place))
    profile = survey.of(place)
    rows = page.locator(".corpus tbody tr")
    expect(rows).to_have_count(sum(place in dict(ranked(survey, key)) for key in QUANTITIES))
    for key in ("entropy", "punctuation", "diagonal"):
        row = rows.filter(has_text=QUANTITIES[key].name).first
        expect(row).to_contain_text(written(key, profile.measures[key].mean))
    examples = examples_of(survey, place, main_measure(survey, place) or "")
    texts = [survey.shown[number][0] for number in examples.values()]
    assert page.locator(".sentences a").all_text_contents() == texts


def test_a_sentence_opens_on_the_heads_page_with_its_head(page: Page, site: str) -> None:
    index = read_sentences(MODEL)
    assert index is not None
    found = index.found("dog*", Head.of("encoder.1.3"), "previous")
    asked = opened(page, site, **FOUND)
    expect(page.locator(".outcome")).to_contain_text(f"{len(found)} of {len(found)} sentences")
    listed = page.locator(".sentences a")
    expect(listed).to_have_count(30)
    texts = [index.sources[number] for number, _ in found[:30]]
    assert listed.all_text_contents() == texts
    expect(page.locator("mark").first).to_have_text("dog")
    assert not [each for each in asked if "weights." in each]
    listed.first.click()
    expect(page.locator("#sentence")).to_have_value(texts[0])
    expect(page.locator(".heads-view h3.name")).to_contain_text("layer 1", timeout=SECONDS)
    expect(page.locator(".heads-view h3.name")).to_contain_text("head 3")
    assert [each for each in asked if "weights." in each]


def test_words_are_typed_and_what_is_read_once_stays(
    browser: Browser, site: str, root: Path
) -> None:
    context = browser.new_context(locale="de-CH")
    page = context.new_page()
    opened(page, site, over="find")
    page.get_by_label(words()["de"]["words_field"]).fill("dog nosuchword")
    page.keyboard.press("Enter")
    said = words()["de"]["have_words"]["other"].format(n=0, all="20’000")
    expect(page.locator(".outcome")).to_contain_text(said.partition(" ")[0])
    expect(page.locator(".sentences a")).to_have_count(0)
    kept = "caches.open('headscope-models').then((cache) => cache.keys())"
    names = "all.filter(({ url }) => /\\/(survey|sentences)\\./.test(url))"
    parts = [each for name in ("survey", "sentences") for each in root.rglob(f"{name}.*")]
    assert len(parts) > 2
    page.wait_for_function(f"{kept}.then((all) => {names}.length === {len(parts)})")
    context.set_offline(True)
    opened(page, site, over="find", words="dog")
    expect(page.locator(".sentences a")).to_have_count(30)
    context.close()


def test_each_key_changes_the_page_or_is_named(browser: Browser, site: str) -> None:
    page = browser.new_page(locale="en-US")

    def shown(**query: str) -> tuple[str, str]:
        opened(page, site, **query)
        held = page.locator("#view").inner_html()
        return held, page.locator("main").inner_text()

    plain = shown()[0]
    for name, value in {
        "across": "next",
        "up": "overlap",
        "top": "up",
        "one": "encoder.1.3",
    }.items():
        assert shown(**{name: value})[0] != plain, name
    for name, value in {"words": "cat", "one": "decoder.1.3", "does": "same"}.items():
        assert shown(**FOUND | {name: value})[0] != shown(**FOUND)[0], name
    for name, value in {"follows": "1", "across": "nothing", "one": "encoder.9.9"}.items():
        assert SAYS["not_used"].format(what=f"{name}={value}") in shown(**{name: value})[1], name
    unfit = {**FOUND, "does": "aligned"}
    assert SAYS["not_used"].format(what="does=aligned") in shown(**unfit)[1]
    for over in ("draw", "rules"):
        assert SAYS["only_app"].format(what=f"over={over}") in shown(over=over)[1]
    assert SAYS["no_points"] in shown(across="previous", up="predicted_source")[1]
    page.close()
