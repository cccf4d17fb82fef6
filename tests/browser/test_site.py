"""The site from a static host: kept on the device, in other pages' frames, in every language."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from headscope.__main__ import main
from model.record.intervention import Intervention
from model.trace.head import Head
from model.translate.translator import load
from tests.kit.first_screen import SCREEN, assert_opens_on_picture
from tests.kit.static_host import hosted
from viz.browser.envelope import content_id
from viz.links.head_refs import read_heads
from viz.site.followed import followed
from viz.site.page import words
from viz.site.static import PAGES

SENTENCE = "d c b a a b"
SECONDS = 60_000
SHOWN = f"body[data-shown='{SENTENCE}']"
READY = f"html[data-engine=ready] {SHOWN}"

WITHOUT_MODEL = ("corpus", "about")
"""Pages that do not load the model."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def site(root: Path) -> Iterator[str]:
    """The address of a site, below a folder as on GitHub Pages."""
    models = ("--model", "toy-reverse", "--model", "toy-sort-alibi", "--model", "en-de")
    assert main(["site", *models, "--out", str(root / "headscope")]) == 0
    article = '<iframe data-headscope src="headscope/heads/?frame=1&sentence=a+b"></iframe>'
    script = '<script src="headscope/frames.js"></script>'
    (root / "article.html").write_text(f"<!doctype html>{article}{script}", encoding="utf-8")
    with hosted(root) as address:
        yield address


def opened(page: Page, address: str, *, runs: bool = True) -> None:
    page.goto(address)
    page.locator(READY if runs else SHOWN).wait_for(timeout=SECONDS)


def choose_language(page: Page, language: str, to: str) -> None:
    """Choose a language in the menu of a page in another one."""
    page.get_by_text(words()[language]["help"], exact=True).click()
    page.get_by_label(words()[language]["language"]).select_option(to)


def test_it_works_on_a_plane_once_it_was_there(browser: Browser, site: str) -> None:
    context = browser.new_context(locale="de-CH", viewport={"width": 390, "height": 844})
    page = context.new_page()
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    query = f"?sentence={SENTENCE.replace(' ', '+')}"
    opened(page, f"{site}/headscope/heads/{query}&attention=encoder&layer=0&head=1")
    german = words()["de"]
    expect(page.get_by_role("link", name=german["page_masks"])).to_be_visible()
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    # From now on its worker answers, which keeps the model.
    page.locator("html[data-kept=yes]").wait_for(timeout=SECONDS)
    context.set_offline(True)
    for name in PAGES:
        address = f"{site}/headscope/{'' if name == PAGES[0] else f'{name}/'}{query}"
        opened(page, address, runs=name not in WITHOUT_MODEL)
        assert page.title().startswith(german[f"page_{name}"])
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
    page.goto(f"{site}/headscope/heads/{query}")
    expected = load("toy-reverse", device="cpu").translate(SENTENCE).text
    expect(page.locator("#translation")).to_have_text(expected, timeout=SECONDS)
    choose_language(page, "de", "fr")
    expect(page.locator("html[lang=fr]")).to_be_attached(timeout=SECONDS)
    expect(page.get_by_role("button", name=words()["fr"]["translate"])).to_be_visible()
    # A model that never came leaves the page as it is, chosen in the menu or named by a link.
    french, names = words()["fr"], {"name": "toy-sort-alibi", "kept": "toy-reverse"}
    address, model = page.url, page.get_by_label(french["model"], exact=True)
    model.select_option(names["name"])
    for _ in range(2):
        expect(page.locator("#trouble")).to_have_text(french["model_away"].format(**names))
        expect(model).to_have_value(names["kept"])
        expect(page.locator("#translation")).to_have_text(expected, timeout=SECONDS)
        expect(page.get_by_role("link", name=french["page_masks"])).to_be_visible()
        expect(page.get_by_role("button", name=french["translate"])).to_be_enabled()
        page.goto(f"{address}&checkpoint={names['name']}")
    assert trouble == []
    context.close()


def test_a_chosen_language_is_remembered_and_nothing_else(browser: Browser, site: str) -> None:
    context = browser.new_context(locale="en-US")
    page = context.new_page()
    page.goto(f"{site}/headscope/")
    page.locator("html[data-engine=ready]").wait_for(timeout=SECONDS)
    sample = page.locator("#sentence").input_value()
    opened(page, f"{site}/headscope/heads/?sentence={SENTENCE.replace(' ', '+')}")
    # A link's language is nobody's choice.
    opened(page, f"{page.url}&lang=fr")
    assert page.evaluate("Object.keys(localStorage)") == []
    with page.expect_event("load"):
        page.get_by_label(words()["fr"]["model"], exact=True).select_option("toy-sort-alibi")
    expect(page.locator("html[lang=fr] #model")).to_have_value("toy-sort-alibi", timeout=SECONDS)
    choose_language(page, "fr", "de")
    expect(page.locator("html[lang=de]")).to_be_attached(timeout=SECONDS)
    page.goto(f"{site}/headscope/")
    expect(page.locator("html[lang=de][data-engine=ready]")).to_be_attached(timeout=SECONDS)
    expect(page.locator("#model")).to_have_value("toy-reverse")
    expect(page.locator("#sentence")).to_have_value(sample)
    assert page.evaluate("Object.entries(localStorage)") == [["headscope-language", "de"]]
    page.goto(f"{site}/headscope/?lang=es")
    expect(page.locator("html[lang=es]")).to_be_attached(timeout=SECONDS)
    context.close()


def test_an_article_gives_a_picture_the_height_it_needs(browser: Browser, site: str) -> None:
    page = browser.new_page(viewport={"width": 900, "height": 700})
    page.goto(f"{site}/article.html")
    inside = page.frame_locator("iframe")
    inside.locator(".heads-view .model-view").first.wait_for(timeout=SECONDS)
    expect(inside.locator("header")).to_be_hidden()
    page.locator("iframe[style*=height]").wait_for(timeout=SECONDS)
    measure = "root => root.getBoundingClientRect().height"
    height = inside.locator("html").evaluate(measure)
    assert page.locator("iframe").evaluate("frame => frame.clientHeight") >= height - 2
    # The picture does not follow its frame in turn: each would chase the other for ever.
    page.locator("iframe").evaluate("frame => { frame.style.height = '1200px'; }")
    after = inside.locator("html").evaluate(
        f"""async root => {{
            do await new Promise(requestAnimationFrame); while (innerHeight !== 1200);
            await new Promise(seen => requestAnimationFrame(() => requestAnimationFrame(seen)));
            return ({measure})(root);
        }}"""
    )
    assert after == height
    page.close()


def test_a_phone_follows_the_speaker_until_somebody_taps(
    browser: Browser, site: str, root: Path
) -> None:
    view = root / "headscope" / "speaker" / f"{7:016x}.json"
    view.parent.mkdir(exist_ok=True)

    def show(page: str, **query: str) -> None:
        at = {"page": page, "query": query}
        view.write_text(json.dumps(at), encoding="utf-8")

    show("heads", sentence="a b", attention="encoder", layer="0", head="1")
    phone = browser.new_page(locale="en-US", viewport={"width": 390, "height": 844})
    # Faster than two seconds.
    quick = "{ apply: (set, _, [act, pause]) => set(act, pause / 20) }"
    phone.add_init_script(f"window.setTimeout = new Proxy(setTimeout, {quick})")
    phone.goto(f"{site}/headscope/?sentence={SENTENCE.replace(' ', '+')}&follow={view.stem}")
    follow = phone.get_by_role("button", name=words()["en"]["follow"])
    expect(phone.locator("#sentence")).to_have_value("a b", timeout=SECONDS)
    expect(phone.locator(".heads-view h3.name")).to_contain_text("head 1", timeout=SECONDS)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    # What it cannot show it says, and shows nothing else in its place.
    lacks = phone.locator(".lacks")
    for name, query, what in (
        ("corpus", {"over": "draw"}, "over=draw"),
        ("masks", {"part": "see"}, "part=see"),
        ("about", {}, "about"),
        ("effects", {"show": "paths", "off": "cross.0.1"}, "show=paths"),
    ):
        show(name, **query)
        expect(lacks).to_have_text(words()["en"]["only_app"].format(what=what))
        expect(phone.locator("#view > *, #translation:not(:empty)")).to_have_count(0)
    show("effects", sentence="a b", off="cross.0.1")
    without = Intervention(heads={("cross", 0, 1): 0})
    text = load("toy-reverse", device="cpu").translate("a b", under=without).text
    expect(phone.locator("#view .outcome strong")).to_have_text(text, timeout=SECONDS)
    show("heads", checkpoint="elsewhere")
    expect(lacks).to_have_text(words()["en"]["needs_model"].format(name="elsewhere"))
    show("masks", sentence="a b c", masked="cross", part="change")
    pressed = phone.locator("#tab-masked-cross[aria-pressed=true]")
    expect(pressed).to_be_visible(timeout=SECONDS)
    show("model", sentence="a b", moment="999", place="encoder.0.0")
    expect(phone.locator(".model-view")).to_have_attribute("data-place", "head", timeout=SECONDS)
    show("model", sentence="a b", moment="999", place="encoder", walk="1")
    expect(phone.locator(".walk-bubble")).to_contain_text("2 tokens", timeout=SECONDS)
    # One's own way, and back.
    phone.get_by_role("link", name="Positions").click()
    expect(follow).to_have_attribute("aria-pressed", "false")
    show("heads", sentence="b a")
    expect(phone.locator("#menu-scale")).to_be_visible(timeout=SECONDS)
    follow.click()
    expect(phone.locator("#translation")).to_have_text("a b", timeout=SECONDS)
    view.unlink()
    expect(phone.locator("main > .aside[aria-live]")).to_have_text(words()["en"]["no_speaker"])
    phone.close()


def test_a_phone_that_follows_has_no_model_until_its_owner_asks(
    browser: Browser, site: str, root: Path
) -> None:
    view = root / "headscope" / "speaker" / f"{8:016x}.json"
    view.parent.mkdir(parents=True, exist_ok=True)
    model = load("toy-reverse", device="cpu")

    def show(page: str, sentence: str, off: str = "", **query: str) -> None:
        heads = read_heads(off)
        answers = followed(
            model, sentence, off=heads, head=Head.of("encoder.0.1"), effects=page == "effects"
        )
        shown = {"sentence": sentence, **query} | ({"off": off} if off else {})
        at = {"page": page, "query": shown, "found": content_id(answers)}
        at["answers"] = b64encode(zlib.compress(answers)).decode()
        view.write_text(json.dumps(at), encoding="utf-8")

    show("heads", "a b", attention="encoder", layer="0", head="1")
    phone = browser.new_page(locale="en-US", viewport={"width": 390, "height": 844})
    asked: list[str] = []
    phone.on("request", lambda request: asked.append(request.url))
    quick = "{ apply: (set, _, [act, pause]) => set(act, pause / 20) }"
    phone.add_init_script(f"window.setTimeout = new Proxy(setTimeout, {quick})")
    phone.goto(f"{site}/headscope/?follow={view.stem}")
    expect(phone.locator(".heads-view h3.name")).to_contain_text("head 1", timeout=SECONDS)
    expect(phone.locator("#translation")).to_have_text(model.translate("a b").text)
    show("heads", "a b", "cross.0.1", attention="encoder", layer="0", head="1")
    without = model.translate("a b", under=Intervention(heads={("cross", 0, 1): 0})).text
    expect(phone.locator("#view .outcome strong")).to_have_text(without, timeout=SECONDS)
    show("model", "c d e", moment="999")
    expect(phone.locator(".model-view .read")).to_contain_text("c", timeout=SECONDS)
    expect(phone.locator(".model-view[data-state=resting]")).to_be_visible(timeout=SECONDS)
    show("effects", "c d e")
    expect(phone.locator("#view .listed li")).to_have_count(5, timeout=SECONDS)
    show("decoding", "c d e", at="2")
    expect(phone.locator("#translation")).to_have_text(model.translate("c d e").text)
    expect(phone.locator("#view .decoding-steps")).to_contain_text("Step 2", timeout=SECONDS)
    # Nor does a picture that the speaker's server has not found make a whole hall load a model.
    show("decoding", "c d e", section="layers")
    expect(phone.locator("#status")).to_have_text(words()["en"]["tap_for_model"], timeout=SECONDS)
    fetched = [url for url in asked if "/model/" in url and "/card." not in url]
    assert not fetched, "nobody asked for more than is on stage"
    assert not any("worker" in url or url.endswith("sw.js") for url in asked)
    # The same holds for the sentences of a survey, whose heads a phone shows at once.
    show("corpus", "c d e", over="find", words="dog", checkpoint="en-de")
    tap = words()["en"]["tap_for_sentences"]
    expect(phone.locator("#status")).to_have_text(tap, timeout=SECONDS)
    assert not any("/sentences." in url for url in asked)
    show("heads", "c d e")
    expect(phone.locator("#translation")).to_have_text(model.translate("c d e").text)
    # What its owner types is answered by a model of their own.
    phone.locator("#sentence").fill("e d")
    phone.locator("#sentence").press("Enter")
    expect(phone.locator("#translation")).to_have_text(model.translate("e d").text, timeout=SECONDS)
    assert any("/weights." in url for url in asked)
    phone.close()


def test_a_browser_that_cannot_read_the_code_is_told_so(browser: Browser, site: str) -> None:
    page = browser.new_page(locale="fr-FR")
    broken = {"body": "let new = ?", "content_type": "text/javascript"}
    page.route(re.compile(r"/code/site\..*js"), lambda route: route.fulfill(**broken))
    page.goto(f"{site}/headscope/heads/")
    expect(page.locator("#old")).to_have_text(words()["fr"]["too_old"])
    # And one with a file missing, in whose place the host has nothing.
    page.unroute_all()
    page.route(re.compile(r"/weights\."), lambda route: route.fulfill(status=404))
    page.goto(f"{site}/headscope/heads/?lang=de")
    expect(page.locator("#trouble")).to_contain_text("weights.", timeout=SECONDS)
    expect(page.locator("#trouble")).to_contain_text("(404)")
    # What the engine refuses is said in the reader's language.
    page.unroute_all()
    page.goto(f"{site}/headscope/heads/?lang=de&sentence=a+" + "b+" * 80)
    expect(page.locator("#trouble")).to_contain_text("Der Text ist zu lang", timeout=SECONDS)
    page.close()


@pytest.mark.parametrize("name", [name for name in PAGES if name != "about"])
def test_a_page_opens_on_its_picture(browser: Browser, site: str, name: str) -> None:
    page = browser.new_page(locale="en-US", viewport=SCREEN)
    folder = "" if name == PAGES[0] else f"{name}/"
    page.goto(f"{site}/headscope/{folder}?checkpoint=en-de")
    ready = "" if name in WITHOUT_MODEL else "html[data-engine=ready] "
    page.locator(f"{ready}body[data-shown]:not([data-shown=''])").wait_for(timeout=SECONDS)
    expect(page.locator("#status")).to_be_empty(timeout=SECONDS)
    assert_opens_on_picture(page)
    page.close()


def space(page: Page, address: str) -> None:
    """Open a sentence in the model, written to its end."""
    opened(page, f"{address}/headscope/?sentence={SENTENCE.replace(' ', '+')}&moment=999&lang=de")


@pytest.mark.parametrize("size", [(390, 844), (844, 390)])
def test_a_walk_fits_a_phone_and_ends_in_ones_own_sentence(
    browser: Browser, site: str, size: tuple[int, int]
) -> None:
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        **{"has_touch": True, "is_mobile": True, "reduced_motion": "reduce"},
    )
    page = context.new_page()
    space(page, site)
    page.locator(".walk-invitation").tap()
    stops = page.locator(".walk-dot").count()
    for stop in range(1, stops + 1):
        page.wait_for_url(f"**walk={stop}")
        if page.locator(".walk-act").is_visible():
            page.locator(".walk-act").tap()
            expect(page.locator(".walk-answer")).to_be_visible()
        for part in (".walk-bubble", ".walk-bar"):
            box = page.locator(part).bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["y"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] <= height + 1, (stop, part)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        expect(page.locator(".ways button", has_text="Rundgang")).to_have_count(0)
        page.locator(".walk-next").tap()
    field = page.locator("#sentence")
    expect(field).to_be_focused()
    assert field.evaluate("field => field.selectionEnd - field.selectionStart") == len(SENTENCE)
    context.close()


def test_a_place_leads_to_the_page_that_shows_more_and_back(browser: Browser, site: str) -> None:
    page = browser.new_page()
    space(page, f"{site}")
    page.keyboard.press("w")
    page.wait_for_url("**walk=1")
    page.goto(page.url.replace("walk=1", "place=cross.0.1.2.3").replace("place=encoder&", ""))
    place = page.locator(".model-view")
    expect(place).to_have_attribute("data-place", "weight", timeout=SECONDS)
    page.keyboard.press("Escape")
    page.wait_for_url("**place=cross.0.1.2")
    page.locator(".ways .link").first.click()
    page.locator(".heads-view .model-view").first.wait_for(timeout=SECONDS)
    for part in ("/heads/", "attention=cross", "layer=0", "head=1", "lang=de"):
        assert part in page.url
    page.go_back()
    expect(place).to_have_attribute("data-place", "row", timeout=SECONDS)
    page.close()


def test_a_kiosk_walks_over_the_examples_while_nobody_is_there(browser: Browser, site: str) -> None:
    page = browser.new_page(reduced_motion="reduce")
    page.clock.install()
    page.goto(f"{site}/headscope/?kiosk=1")
    field = page.locator("#sentence")
    invitation, bar = page.locator(".walk-invitation"), page.locator(".walk-bar")
    expect(invitation).to_be_visible(timeout=SECONDS)
    first = field.input_value()
    page.clock.run_for(2000)
    page.wait_for_url("**walk=1")
    for _ in range(20):
        page.clock.run_for(6000)
        if field.input_value() != first:
            break
    assert field.input_value() != first
    second = field.input_value()
    page.locator(f"body[data-shown={json.dumps(second)}]").wait_for(timeout=SECONDS)
    page.clock.run_for(2000)
    expect(bar).to_be_visible()
    # Whoever touches it has everything, also on other pages.
    page.locator(".walk-next").click()
    page.clock.run_for(1000)
    page.get_by_role("link", name=words()["en"]["page_positions"]).click()
    page.clock.run_for(59_000)
    assert "/positions/" in page.url
    page.clock.run_for(2000)
    expect(invitation).to_be_visible(timeout=SECONDS)
    page.clock.run_for(2000)
    expect(bar).to_be_visible()
    page.close()


def test_nothing_keeps_anybody_out(browser: Browser, site: str) -> None:
    page = browser.new_page(locale="en-US")
    for name in PAGES:
        folder = "" if name == PAGES[0] else f"{name}/"
        query = f"?sentence={SENTENCE.replace(' ', '+')}&moment=3"
        opened(page, f"{site}/headscope/{folder}{query}", runs=name not in WITHOUT_MODEL)
        found = Axe().run(page, options={"rules": {"target-size": {"enabled": True}}})
        assert found.response["violations"] == [], name
    # A page's files are where they were after a turn to a page of another folder.
    page.get_by_role("link", name=words()["en"]["page_model"]).click()
    assert page.url.startswith(f"{site}/headscope/?")
    for icon in page.locator("link[rel~=icon], link[rel=manifest]").all():
        assert page.request.get(icon.evaluate("link => link.href")).ok
    page.close()


def test_acts_play_without_a_server(browser: Browser, site: str) -> None:
    says = words()["en"]
    page = browser.new_page(locale="en-US", viewport=SCREEN, reduced_motion="reduce")
    sentence = "My+brother+lost+his+keys."
    page.goto(f"{site}/headscope/?checkpoint=en-de&act=swap&sentence={sentence}")
    act = page.locator(".part.act")
    # At rest, it shows its end.
    expect(act.locator(".written")).to_have_text(
        "Meine Schwester verlor seine Schlüssel.", timeout=SECONDS
    )
    expect(act.locator(".place")).to_have_text("Any other state")
    page.keyboard.press("ArrowLeft")
    expect(act.locator(".place")).to_have_text("What it writes")
    page.get_by_role("button", name=says["act_minds"]).click()
    expect(act.locator(".says")).to_contain_text("of 20 tries.", timeout=SECONDS)
    page.get_by_role("button", name=says["back_to_model"]).click()
    expect(page.locator(".model-view[data-state]")).to_be_visible(timeout=SECONDS)
    expect(act).to_be_hidden()
    page.close()
