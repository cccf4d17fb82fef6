"""A Hugging Face folder in a real browser: from the menu to its heads, on stage and back."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.kit.foreign_folders import save_foreign
from tests.kit.running_app import CAME_BEFORE, is_local, serve
from tests.kit.tiny_checkpoint import write_tiny_checkpoint

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("models")
    write_tiny_checkpoint(folder / "en-de")
    for family in ("gpt2", "bert"):
        save_foreign(folder / family, family)
    with serve("app.py", {"HEADSCOPE_CHECKPOINTS": str(folder)}) as server:
        yield server.url
        assert "Traceback" not in server.log()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, bypass_csp=True)
    context.set_default_timeout(60_000)
    context.add_init_script(CAME_BEFORE)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    yield context.new_page()
    assert all(map(is_local, asked))
    context.close()


def test_from_the_menu_to_its_heads_to_another_text_on_stage_and_back(page: Page, url: str) -> None:
    page.goto(f"{url}/?sentence=the+cat+sat")
    page.locator('[class*="st-key-asked-of-"] button').first.click()
    page.locator(".st-key-checkpoint").get_by_role("combobox").click()
    page.get_by_role("option", name="gpt2").click()
    expect(page.locator(".answer .model")).to_contain_text("GPT2LMHeadModel of transformers")
    expect(page.get_by_role("group", name="The model")).to_be_visible()
    page.get_by_role("link", name="Heads").first.click()
    expect(page.locator(".headscope-explorer, .st-key-explorer").first).to_be_visible()
    done = page.locator(".headscope-done")
    before = done.get_attribute("data-done")
    text = page.locator(".st-key-sentence input")
    text.fill("a dog saw the bird")
    text.press("Enter")
    expect(page.locator(".answer p").first).to_contain_text("a dog saw the bird")
    expect(done).not_to_have_attribute("data-done", str(before))
    page.locator(".answer .model").click()
    page.keyboard.press("p")
    expect(page.locator(".st-key-sentence-bar")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator(".answer .model")).to_contain_text("GPT2LMHeadModel")
    page.goto(f"{url}/?checkpoint=bert&sentence=the+%5BMASK%5D+sat")
    expect(page.locator(".answer")).to_contain_text("The gap:")
