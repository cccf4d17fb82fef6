"""A model in one HTML file: it translates offline, shows its heads, and runs without some."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from headscope.__main__ import main
from model.checkpoints.shipped import CHECKPOINTS
from model.record.intervention import Intervention
from model.translate.translator import Translator, load
from tests.kit.readings import head_of

SENTENCE = "d c b a a b"
SECONDS = 60_000

Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def toy() -> Translator:
    return load("toy-reverse", device="cpu")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("packed") / "toy.html"
    assert main(["pack", "--model", "toy-reverse", "--out", str(file)]) == 0
    return file.read_text(encoding="utf-8")


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """Opens a document from disk in a browser without a network.

    Fails if it asks for anything but itself and its worker, or complains in the console.
    """
    requests: list[str] = []
    trouble: list[str] = []
    file = tmp_path / "live.html"
    with ExitStack() as stack:

        def open_document(text: str, *, script: str = "", **options: Any) -> Page:
            file.write_text(text, encoding="utf-8")
            context = browser.new_context(offline=True, **options)
            stack.callback(context.close)
            if script:
                context.add_init_script(script)
            page = context.new_page()
            page.on("request", lambda request: requests.append(request.url))
            page.on("pageerror", lambda error: trouble.append(str(error)))
            page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
            page.goto(file.as_uri())
            return page

        yield open_document
    assert [url for url in requests if url != file.as_uri() and not url.startswith("blob:")] == []
    assert trouble == []


def translate(page: Page, sentence: str) -> None:
    page.locator("#run:enabled").wait_for(timeout=SECONDS)
    page.get_by_label("Sentence").fill(sentence)
    page.get_by_role("button", name="Translate").click()


def translation(page: Page, expected: str) -> None:
    expect(page.locator("#translation")).to_have_text(expected, timeout=SECONDS)


def test_it_translates_ones_own_sentence_and_shows_its_heads(
    opened: Opened, text: str, toy: Translator
) -> None:
    page, trace = opened(text), toy.trace(SENTENCE)
    translate(page, SENTENCE)
    translation(page, trace.text)
    heading = page.locator("#explorer h3.name")
    expect(heading).to_have_text("Cross-attention, layer 0, head 0")
    # Of equally large weights, rounding decides which is the largest.
    sizes = head_of(trace.attention("cross", 0), 0).alt.partition("; the largest")[0]
    drawn = page.locator("#explorer canvas.matrix")
    expect(drawn).to_have_attribute("aria-label", re.compile(re.escape(sizes)), timeout=SECONDS)
    page.get_by_role("radio", name="Encoder").click()
    expect(heading).to_contain_text("Encoder self-attention")


def test_a_head_is_switched_off_and_on_again(opened: Opened, text: str, toy: Translator) -> None:
    page = opened(text)
    translate(page, SENTENCE)
    whole = toy.translate(SENTENCE).text
    translation(page, whole)
    for button in ("Encoder", "Cross"):
        page.get_by_role("radio", name=button).click()
        page.get_by_role("button", name="Switch off").click()
    name = page.locator("#explorer h3.name")
    expect(name).to_have_text("Cross-attention, layer 0, head 0")
    without = page.locator("#without")
    expect(without).to_contain_text("; cross-attention, layer 0, head 0.", timeout=SECONDS)
    opening = int((without.text_content() or "").split("head ")[1].split(";")[0])
    heads = {("encoder", 0, opening): 0, ("cross", 0, 0): 0}
    other = toy.translate(SENTENCE, under=Intervention(heads=heads)).text
    translation(page, other)
    same = "The translation stays the same." if other == whole else f"With all heads: {whole}"
    expect(without).to_contain_text(same)
    page.get_by_role("button", name="Switch all heads on").click()
    expect(without).to_be_hidden(timeout=SECONDS)
    translation(page, whole)


def test_heads_are_ordered_by_what_the_translation_loses(opened: Opened, text: str) -> None:
    page = opened(text)
    page.locator("#run:enabled").wait_for(timeout=SECONDS)
    measured = page.locator("#explorer .explorer")
    before = measured.get_attribute("data-payload")
    page.get_by_label("Order of heads").select_option("effect")
    expect(measured).not_to_have_attribute("data-payload", before or "", timeout=SECONDS)
    expect(page.locator("#status")).to_have_text("")
    expect(page.locator("#trouble")).to_have_text("")


def test_what_cannot_be_translated_is_said_and_the_page_goes_on(
    opened: Opened, text: str, toy: Translator
) -> None:
    page = opened(text)
    translate(page, "漢字")
    expect(page.locator("#trouble")).to_contain_text("never saw any of these", timeout=SECONDS)
    translate(page, '<img src=x onerror="alert(1)"> a b')
    translation(page, toy.translate('<img src=x onerror="alert(1)"> a b').text)
    expect(page.locator("#trouble")).to_have_text("")


def test_a_policy_without_webassembly_leaves_plain_javascript(
    opened: Opened, text: str, toy: Translator
) -> None:
    page = opened(text.replace(" 'wasm-unsafe-eval'", ""))
    translate(page, SENTENCE)
    translation(page, toy.translate(SENTENCE).text)


def test_an_old_browser_is_told_so(opened: Opened, text: str) -> None:
    page = opened(text, script="delete window.DecompressionStream")
    expect(page.locator("#trouble")).to_contain_text(
        "use a browser from 2023 or later", timeout=SECONDS
    )


def test_the_sentence_it_opens_with_is_shown_letter_by_letter(
    opened: Opened, tmp_path: Path, toy: Translator
) -> None:
    hostile = '"><script>alert(1)</script> a b {{payload}}'
    file = tmp_path / "hostile.html"
    asked = ["pack", "--model", "toy-reverse", "--sentence", hostile, "--out", str(file)]
    assert main(asked) == 0
    page = opened(file.read_text(encoding="utf-8"))
    expect(page.get_by_label("Sentence")).to_have_value(hostile)
    translation(page, toy.translate(hostile).text)


def test_it_fits_a_phone(opened: Opened, text: str) -> None:
    page = opened(text, viewport={"width": 390, "height": 844})
    translate(page, SENTENCE)
    page.get_by_role("button", name="Switch off").click()
    page.get_by_role("button", name="Switch all heads on").wait_for(timeout=SECONDS)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_files_are_small(text: str, tmp_path: Path) -> None:
    assert len(text.encode()) <= 3e6
    assert main(["pack", "--out", str(tmp_path / "en-de.html")]) == 0
    assert (tmp_path / "en-de.html").stat().st_size <= 16e6


def test_models_that_no_page_runs_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "refused.html"
    folder = CHECKPOINTS / "toy-reverse-decoder"
    assert main(["pack", "--model", str(folder), "--out", str(out)]) == 1
    assert "takes an encoder and a decoder" in capsys.readouterr().err
    assert not out.exists()
