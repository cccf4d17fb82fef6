"""Saved traces and Hugging Face folders in a real browser: from the menu to the stage and back."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.browser.conftest import VIEWPORT, Watch
from tests.kit import traces
from tests.kit.foreign_folders import save_foreign
from tests.kit.heads_page import HeadsPage, title
from tests.kit.running_app import serve
from tests.kit.tiny_checkpoint import write_tiny_checkpoint
from viz.service.model_menu import CHECKPOINTS_VARIABLE, TRACES_VARIABLE


def write_long(file: Path) -> None:
    """Of a text so long that its heads are sent coarsely; in one, a row has a strong weight."""
    arrays = traces.entries([f"w{place}" for place in range(850)], "encoder")
    row = arrays["encoder.1.weights"][2, 30]
    row[:] = 0.5 / (len(row) - 1)
    row[40] = 0.5
    file.write_bytes(traces.packed(arrays))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app with a tiny model, two Hugging Face folders, and traces of two families."""
    folder = tmp_path_factory.mktemp("traces")
    write_tiny_checkpoint(folder / "checkpoints" / "en-de")
    for family in ("gpt2", "bert"):
        save_foreign(folder / "checkpoints" / family, family)
    (folder / "traces").mkdir()
    traces.write_traces(folder / "traces")
    write_long(folder / "traces" / "long.npz")
    environment = {
        CHECKPOINTS_VARIABLE: str(folder / "checkpoints"),
        TRACES_VARIABLE: str(folder / "traces"),
    }
    with serve("app.py", environment) as server:
        yield server.url
        assert "Traceback" not in server.log()


@pytest.fixture
def reader(browser: Browser, url: str, watch: Watch) -> Iterator[HeadsPage]:
    context = browser.new_context(viewport=VIEWPORT)
    watch.watch(context)
    yield HeadsPage(context.new_page(), url)
    context.close()


def test_from_the_menu_to_a_head_to_the_stage_and_back(reader: HeadsPage) -> None:
    page = reader.page
    reader.open()
    with reader.asked():
        page.locator(".st-key-checkpoint").get_by_role("combobox").click()
        page.get_by_role("option", name="Trace: gpt").click()
    reader.wait_for_query(checkpoint="gpt.npz", attention="decoder")
    reader.settle()
    expect(page.get_by_role("textbox", name="Text of the trace")).to_have_value("The cat <b> down")
    expect(page.get_by_role("textbox", name="Text of the trace")).to_be_disabled()
    reader.click_tile(1, 2)
    expect(reader.heading).to_have_text(title("decoder", 1, 2))
    reader.wait_for_query(layer="1", head="2")
    expect(reader.control("Switch off")).to_be_hidden()
    expect(reader.control("Name rows by prediction")).to_be_hidden()
    before = page.url
    reader.overview.press("x")
    page.keyboard.press("p")
    foot = page.locator(".stage-foot")
    expect(foot).to_contain_text("The cat <b> down")
    expect(foot).not_to_contain_text("switch the head off")
    page.keyboard.press("ArrowLeft")
    reader.wait_for_query(present="1", head="1", layer="1")
    page.keyboard.press("Escape")
    expect(foot).to_have_count(0)
    expect(reader.heading).to_have_text(title("decoder", 1, 1))
    reader.settle()
    assert urlsplit(page.url).path == urlsplit(before).path
    page.get_by_role("link", name="Masks").click()
    expect(page.get_by_test_id("stAlert")).to_contain_text("cannot be shown here")
    page.get_by_role("button", name="Show its heads").click()
    expect(reader.heading).to_have_text(title("decoder", 1, 1))
    assert reader.query["checkpoint"] == "gpt.npz"


def test_the_heads_of_a_long_text_come_as_they_are_shown(reader: HeadsPage) -> None:
    held: list[Route] = []
    holds = True
    reader.page.route("**/ask", lambda each: held.append(each) if holds else each.continue_())
    reader.open(checkpoint="long.npz", layer="1", head="2", range="28-33.38-43")
    at = reader.frame()
    # In patches, its neighbours look as strong as the one strong weight.
    assert reader.point_at(at, 30, 41)[1] == "its weight is on the way"
    holds = False
    for route in held:
        route.continue_()
    expect(reader.root).to_have_attribute("data-come", "6")
    reader.matrix.hover(position={"x": 2, "y": 2})
    assert reader.point_at(at, 30, 40)[1] == "weight about 0.50"
    reader.matrix.hover(position={"x": 2, "y": 2})
    assert reader.point_at(at, 30, 41)[1].startswith("weight about 0.00")


def test_heads_that_do_not_come_are_explained(reader: HeadsPage, watch: Watch) -> None:
    sentence = "This trace is no longer open on the server; reload the page."
    refusal = {"error": sentence}
    reader.page.route("**/ask", lambda route: route.fulfill(status=404, json=refusal))
    reader.open(checkpoint="long.npz")
    expect(reader.tooltip).to_have_text(sentence)
    expect(reader.root.locator(".spoken").last).to_have_text(sentence)
    # The browser tells of every answer with this status.
    watch.forget()


def test_a_file_is_dropped_and_a_bad_one_before_it_is_refused(
    reader: HeadsPage, tmp_path: Path
) -> None:
    page = reader.page
    reader.open()
    menu = page.locator('[class*="st-key-bar-model-"] button')
    menu.click()
    field = page.get_by_test_id("stPopoverBody").locator('input[type="file"]')
    (tmp_path / "bad.npz").write_bytes(traces.DECODER[:300])
    field.set_input_files(tmp_path / "bad.npz")
    expect(page.get_by_test_id("stPopoverBody").get_by_test_id("stAlert")).to_contain_text(
        "no saved trace"
    )
    # More than a megabyte, from where on uploads would go by way of a file.
    large = traces.packed(traces.entries([f"w{place}" for place in range(300)], "encoder"))
    assert len(large) > 1 << 20
    (tmp_path / "mine.npz").write_bytes(large)
    # Another field takes its place, and until the run has ended both are there.
    expect(field).to_have_count(1)
    field.set_input_files(tmp_path / "mine.npz")
    reader.wait_for_query(checkpoint="dropped", attention="encoder")
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    reader.settle()
    with reader.asked():
        expect(page.get_by_test_id("stPopoverBody")).to_contain_text("2 encoder layers of 3 heads")
    # With a sign between them, lest Markdown reads the colon.
    expect(menu).to_contain_text(re.compile("Dropped.?: mine"))
    assert "mine" not in page.url
    # Its 300 words would fill the window: they scroll above the picture.
    page.get_by_role("link", name="Model").click()
    words = page.locator(".headline.long .written")
    expect(words).to_be_visible()
    assert words.evaluate("words => words.scrollHeight > words.clientHeight")
    assert page.locator(".model-view .figure").bounding_box()["y"] < 250
    expect(page.locator(".said")).to_be_empty()
    page.reload()
    expect(page.get_by_test_id("stAlert")).to_contain_text("drop it again")


def test_from_the_menu_to_a_hugging_face_folder_to_another_text_on_stage_and_back(
    reader: HeadsPage, url: str
) -> None:
    page = reader.page
    page.goto(f"{url}/?sentence=the+cat+sat")
    page.locator('[class*="st-key-bar-model-"] button').first.click()
    page.locator(".st-key-checkpoint").get_by_role("combobox").click()
    page.get_by_role("option", name="gpt2").click()
    expect(page.get_by_test_id("stPopoverBody")).to_contain_text("GPT2LMHeadModel of transformers")
    expect(page.get_by_role("group", name="The model")).to_be_visible()
    page.get_by_role("link", name="Heads").first.click()
    expect(page.locator(".st-key-heads-space").first).to_be_visible()
    done = page.locator(".headscope-done")
    before = done.get_attribute("data-done")
    text = page.locator(".st-key-sentence input")
    text.fill("a dog saw the bird")
    text.press("Enter")
    expect(page.locator(".answer p").first).to_contain_text("a dog saw the bird")
    expect(done).not_to_have_attribute("data-done", str(before))
    page.locator(".answer p").first.click()
    page.keyboard.press("p")
    # The bar goes before the button that hears Escape comes.
    expect(page.get_by_role("button", name="Back")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".answer p").first).to_contain_text("a dog saw the bird")
    page.goto(f"{url}/?checkpoint=bert&sentence=the+%5BMASK%5D+sat")
    expect(page.locator(".answer")).to_contain_text("The gap:")
