"""The heads view as one file: opened from disk, offline, and held to the trace it came from."""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from headscope.__main__ import main
from model.explain.facts import head_facts
from model.explain.reading import Reading, ReadTrace, read
from model.trace.attention_map import Tokens
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit import traces
from tests.kit.heads_page import SENTENCE, HeadsPage, picture, pixels, wrong_cells, wrong_tiles
from viz.draw.labels import axis_texts
from viz.draw.themes import DARK, LIGHT
from viz.heads.standalone import heads_page
from viz.notebook import show

MOST_BYTES = 1_000_000
TOKENS = 30

Opened = Callable[..., HeadsPage]


@pytest.fixture(scope="module")
def trace(model: Translator) -> Trace:
    return model.trace(SENTENCE)


def document(trace: Trace, seen: ReadTrace | None = None, **options: Any) -> str:
    seen = seen or read(trace)
    facts = {site: head_facts(each) for site, each in seen.maps.items()}
    return heads_page(trace, seen, facts, {}, **{"title": SENTENCE, **options})


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """Opens a document from disk in a browser without a network.

    Fails if it asks for anything but itself, or complains in the console.
    """
    requests: list[str] = []
    trouble: list[str] = []
    file = tmp_path / "heads.html"
    with ExitStack() as stack:

        def open_document(text: str, **options: Any) -> HeadsPage:
            file.write_text(text, encoding="utf-8")
            context = browser.new_context(
                **{"viewport": {"width": 1280, "height": 800}, "offline": True, **options}
            )
            stack.callback(context.close)
            page = context.new_page()
            page.on("request", lambda request: requests.append(request.url))
            page.on("pageerror", lambda error: trouble.append(str(error)))
            page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
            page.on(
                "console",
                lambda message: trouble.append(message.text) if message.type == "error" else None,
            )
            heads = HeadsPage(page, file.as_uri())
            page.goto(file.as_uri())
            page.wait_for_function("() => window.painted().id !== undefined")
            return heads

        yield open_document
    assert [url for url in requests if url != file.as_uri() and not url.startswith("data:")] == []
    assert trouble == []


def test_every_cell_has_the_colour_that_the_app_gives_it(opened: Opened, trace: Trace) -> None:
    heads = opened(document(trace, selection={"layer": "1", "head": "2"}, dark=True))
    assert heads.selected == ("cross", 1, 2)
    assert wrong_cells(heads, read(trace), look=DARK) == []
    assert wrong_tiles(heads, read(trace), look=DARK) == []
    for text, attention in (("Decoder", "decoder"), ("All three", "joint")):
        heads.control(text).click()
        heads.wait_for_painted(attention=attention)
        assert wrong_cells(heads, read(trace), look=DARK) == []


def test_in_a_long_text_a_token_is_found_and_come_close_to(opened: Opened) -> None:
    words = [f"w{place}" for place in range(60)]
    long = Trace.load(io.BytesIO(traces.packed(traces.entries(words, "encoder"))))
    heads = opened(document(long))
    page = heads.page

    def cells() -> list[float]:
        found: list[float] = page.evaluate(
            "JSON.parse(window.headsView().querySelector('canvas.space').dataset.cells)"
        )
        return found

    _, _, whole, *_ = cells()
    field = page.get_by_role("searchbox", name="Find a token")
    field.fill("W5")
    # w5, and w50 to w59.
    expect(page.locator(".finding .count")).to_have_text("11 found")
    field.press("Enter")
    field.press("Enter")
    expect(page.locator(".finding .count")).to_have_text("2 of 11")
    page.wait_for_function(
        """least => {
            const canvas = window.headsView().querySelector("canvas.space");
            const [left, , width] = JSON.parse(canvas.dataset.cells);
            const found = left + (50.5 / 60) * width;
            return width > least && found > 0 && found < canvas.getBoundingClientRect().width;
        }""",
        arg=2 * whole,
    )
    field.fill("")
    page.wait_for_function(
        "whole => Math.abs(JSON.parse("
        "window.headsView().querySelector('canvas.space').dataset.cells)[2] - whole) < 1",
        arg=whole,
    )


def test_it_follows_the_readers_choice_of_light_and_dark(opened: Opened, trace: Trace) -> None:
    heads = opened(document(trace), color_scheme="dark")
    assert wrong_cells(heads, read(trace), look=DARK) == []
    heads.page.emulate_media(color_scheme="light")
    expect(heads.page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    heads.page.wait_for_function(
        "() => getComputedStyle(window.headsView()).colorScheme === 'light'"
    )
    assert wrong_cells(heads, read(trace), look=LIGHT) == []


def test_a_head_is_selected_and_a_cell_read_by_pointer_and_by_keys(
    opened: Opened, trace: Trace
) -> None:
    heads = opened(document(trace, selection={"layer": "0", "head": "0"}))
    heads.click_tile(1, 3)
    assert heads.selected == ("cross", 1, 3)
    weights, _ = picture(read(trace), "cross", 1, 3)
    lines = heads.point_at(heads.frame(), 2, 1)
    query, key = axis_texts(trace.target)[2], axis_texts(trace.source)[1]
    assert lines[0] == f"{query} (2) to {key} (1)"
    [told] = re.findall(r"weight ([\d.e-]+)", lines[1])
    # Three digits are shown.
    assert float(told) == pytest.approx(float(weights[2, 1]), rel=5e-3)
    heads.overview.focus()
    heads.page.keyboard.press("ArrowLeft")
    assert heads.selected == ("cross", 1, 2)
    # In the picture, from the head to the strongest row, and to the weight in it.
    heads.page.keyboard.press("Enter")
    for place in ("row", "weight"):
        heads.page.keyboard.press("Enter")
        expect(heads.matrix).to_have_attribute("data-place", place)


def test_lines_and_comparison_work_and_what_needs_python_is_not_offered(
    opened: Opened, trace: Trace
) -> None:
    heads = opened(document(trace))
    expect(heads.page.locator("#trouble")).to_have_count(0)
    for name in ("Whole words", "Special tokens", "Rows add up to 1", "Name rows by prediction"):
        expect(heads.control(name)).to_have_count(0)
    heads.draw_as("Lines")
    heads.wait_for_painted(view="lines")
    assert (pixels(heads.matrix)[..., 3] > 0).any()
    heads.draw_as("Heatmap")
    heads.control("Compare heads").click()
    heads.click_tile(0, 1)
    heads.click_tile(1, 1)
    expect(heads.matrix.get_by_role("button", name=re.compile("^Remove "))).to_have_count(3)


def test_a_trace_is_shown_as_it_was_read(opened: Opened, trace: Trace) -> None:
    seen = read(trace, Reading(words=True, specials=False))
    heads = opened(document(trace, seen))
    attention, layer, head = heads.selected
    weights, _ = picture(seen, attention, layer, head)
    assert wrong_cells(heads, seen) == []
    queries, keys = heads.named_axes()
    assert (len(queries), len(keys)) == weights.shape
    for note in seen.notes:
        expect(heads.caption).to_contain_text(note)


def test_texts_are_shown_letter_by_letter(opened: Opened, model: Translator) -> None:
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)> <!-- {{payload}}"
    heads = opened(document(model.trace("</script> <b>!"), title=hostile))
    expect(heads.page.locator("h1")).to_have_text(hostile)
    assert heads.page.title() == hostile
    expect(heads.page.locator("img")).to_have_count(0)


def test_its_policy_forbids_the_network_and_every_other_script(
    browser: Browser, trace: Trace, tmp_path: Path, refused: list[str]
) -> None:
    file = tmp_path / "heads.html"
    file.write_text(document(trace), encoding="utf-8")
    # Not by `opened`, which takes what the console says of it for trouble.
    page = browser.new_page(offline=True)
    page.goto(file.as_uri())
    blocked = page.evaluate(
        """() => new Promise((resolve) => {
            const seen = [];
            document.addEventListener("securitypolicyviolation", (event) => {
                seen.push(event.effectiveDirective);
                if (seen.length === 3) resolve(seen.sort());
            });
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            const image = document.createElement("img");
            image.src = "https://example.org/pixel.png";
            fetch("https://example.org/").catch(() => {});
        })"""
    )
    assert blocked == ["connect-src", "img-src", "script-src-elem"]
    assert page.evaluate("window.ran === undefined")
    page.close()
    assert refused
    refused.clear()


def test_another_figure_as_html_is_drawn_without_a_request(
    browser: Browser, checkpoints: Path, tmp_path: Path
) -> None:
    file = tmp_path / "head.html"
    folder = str(checkpoints / "en-de")
    assert main(["export", SENTENCE, "--checkpoint", folder, "--out", str(file)]) == 0
    requests: list[str] = []
    page = browser.new_page(offline=True)
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    expect(page.locator(".heatmaplayer image").first).to_be_visible()
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [file.as_uri()]
    page.close()


def test_a_browser_that_cannot_unpack_it_is_told_so(
    browser: Browser, trace: Trace, tmp_path: Path
) -> None:
    file = tmp_path / "heads.html"
    file.write_text(document(trace), encoding="utf-8")
    page = browser.new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(file.as_uri())
    expect(page.locator("#trouble")).to_contain_text("cannot draw the picture")
    page.close()


def test_thirty_tokens_stay_below_a_megabyte(model: Translator) -> None:
    sentence = "The cat sat on the mat."
    while len(model.trace(sentence).source) < TOKENS:
        sentence += " The dog sat on the mat."
    trace = model.trace(sentence)
    size = len(document(trace).encode())
    print(f"{len(trace.source)} by {len(trace.target)} tokens: {size:,} bytes")
    assert size < MOST_BYTES


def test_several_views_draw_in_one_notebook(browser: Browser, tmp_path: Path, trace: Trace) -> None:
    decoder = {site: seen for site, seen in trace.maps.items() if site.kind == "decoder"}
    alone = replace(trace, source=Tokens(), source_text="", maps=decoder)
    cells = [show(each)._repr_html_() for each in (trace, alone)]
    file = tmp_path / "notebook.html"
    file.write_text("<!doctype html>" + "".join(cells), encoding="utf-8")
    trouble: list[str] = []
    with browser.new_context(offline=True) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("console", lambda message: trouble.append(message.text))
        page.goto(file.as_uri())
        for number, kinds in enumerate((["Encoder", "Decoder", "Cross", "All three"], [])):
            frame = page.frame_locator("iframe").nth(number)
            expect(frame.locator(".heads-view[data-painted]")).to_be_visible()
            choices = frame.get_by_role("radiogroup", name="Attention").get_by_role("radio")
            expect(choices).to_have_text(kinds)
        expect(frame.get_by_role("heading", name="Decoder self-attention")).to_be_visible()
    assert trouble == []


@pytest.mark.parametrize(("kinds", "layers"), [(("cross",), (0, 1)), (("decoder", "cross"), (1,))])
def test_what_was_recorded_in_part_is_shown(
    opened: Opened, trace: Trace, kinds: tuple[str, ...], layers: tuple[int, ...]
) -> None:
    """Cross-attention alone, and a decoder of which fewer layers are known."""
    maps = {
        site: seen
        for site, seen in trace.maps.items()
        if site.kind in kinds and (site.kind == "cross" or site.layer in layers)
    }
    part = replace(trace, maps=maps)
    heads = opened(document(part, selection={"layer": "3", "head": "2"}))
    assert heads.selected == ("cross", 3, 2)
    assert wrong_cells(heads, read(part)) == []


def test_a_played_sentence_is_a_space_that_walks_as_far_as_no_model_is_needed(
    browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "played.html"
    given = ("a b c d", "--checkpoint", "toy-reverse", "--figure", "played", "--out", str(file))
    assert main(["export", *given]) == 0
    context = browser.new_context(offline=True, reduced_motion="reduce")
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.locator(".walk-invitation").click()
    place = page.locator(".model-view")
    for _ in range(page.locator(".walk-dot").count()):
        expect(page.locator(".walk-bubble")).to_be_visible()
        expect(page.locator(".walk-act")).to_be_hidden()
        page.locator(".walk-next").click()
    expect(place).to_have_attribute("data-place", "model")
    page.locator(".block.encoder").first.click()
    expect(place).to_have_attribute("data-place", "head")
    page.keyboard.press("Escape")
    expect(place).to_have_attribute("data-place", "block")
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    context.close()


# ---- one head, a place of the model


def test_a_head_is_selected_in_the_panel_and_by_keys_in_the_picture(
    opened: Opened, trace: Trace
) -> None:
    heads = opened(document(trace, selection={"layer": "0", "head": "0"}))
    heads.click_tile(1, 3)
    assert heads.selected == ("cross", 1, 3)
    assert wrong_cells(heads, read(trace)) == []
    heads.overview.focus()
    heads.page.keyboard.press("Enter")
    assert "model-view" in heads.page.evaluate("window.focused().className")
    heads.page.keyboard.press("ArrowLeft")
    assert heads.selected == ("cross", 1, 2)
    heads.page.keyboard.press("ArrowUp")
    assert heads.selected == ("cross", 0, 2)


def test_a_cell_is_read_opened_and_left_again(opened: Opened, trace: Trace) -> None:
    heads = opened(document(trace, selection={"layer": "1", "head": "3"}), reduced_motion="reduce")
    weights, _ = picture(read(trace), "cross", 1, 3)
    frame = heads.frame()
    lines = heads.point_at(frame, 2, 1)
    query, key = axis_texts(trace.target)[2], axis_texts(trace.source)[1]
    assert lines[0] == f"{query} (2) to {key} (1)"
    [told] = re.findall(r"weight ([\d.e-]+)", lines[1])
    assert float(told) == pytest.approx(float(weights[2, 1]), rel=5e-3)
    x, y = frame.middle(2, 1)
    heads.matrix.click(position={"x": x, "y": y})
    expect(heads.matrix).to_have_attribute("data-place", "weight")
    for place in ("row", "head", "head"):
        heads.page.keyboard.press("Escape")
        expect(heads.matrix).to_have_attribute("data-place", place)
    # Farther out lead only hands and the keys − and +.
    heads.matrix.focus()
    for _ in range(12):
        heads.page.keyboard.press("-")
    expect(heads.matrix).to_have_attribute("data-place", "model")
    heads.page.keyboard.press("Escape")
    expect(heads.matrix).to_have_attribute("data-place", "head")
    assert heads.selected == ("cross", 1, 3)


def test_heads_are_compared_and_drawn_as_lines(opened: Opened, trace: Trace) -> None:
    heads = opened(document(trace, selection={"layer": "0", "head": "0"}))
    alone = pixels(heads.matrix)
    heads.unfold()
    heads.control("Compare heads").click()
    heads.click_tile(0, 1)
    heads.click_tile(1, 1)
    shown = heads.matrix.get_by_role("button", name=re.compile("^Remove "))
    expect(shown).to_have_count(3)
    assert not np.array_equal(pixels(heads.matrix), alone)
    heads.page.keyboard.press("Escape")
    expect(heads.spoken).to_have_text("Comparison ended.")
    expect(shown).to_have_count(0)
    heads.draw_as("Lines")
    heads.wait_for_painted(view="lines")
    assert not np.array_equal(pixels(heads.matrix), alone)


@pytest.mark.parametrize("size", [(390, 844), (844, 390), (1920, 1080)])
def test_the_picture_lies_within_its_room(
    opened: Opened, trace: Trace, size: tuple[int, int]
) -> None:
    width, height = size
    heads = opened(document(trace), viewport={"width": width, "height": height})
    box = heads.matrix.bounding_box()
    assert box is not None
    frame = heads.frame()
    rows, columns = picture(read(trace), *heads.selected)[0].shape
    assert 0 < frame.x < frame.x + columns * frame.width < box["width"]
    assert 0 < frame.y < frame.y + rows * frame.height < box["height"]
    across = heads.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert across <= 0
