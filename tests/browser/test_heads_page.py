"""The heads page in a real browser: the address, the bar, what stands below, and its looks."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from model.explain.examples import Example
from model.explain.reading import read
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.heads_page import (
    SENTENCE,
    HeadsPage,
    channels,
    painted,
    pictures,
    pixels,
    same_pictures,
    swatches,
    title,
    wrong_cells,
    wrong_tiles,
)
from tests.kit.readings import cell_of
from viz.draw.themes import DARK, LIGHT
from viz.service.session import examples

Visitor = Callable[..., HeadsPage]
SECTIONS = {
    "facts": "Head facts",
    "numbers": "Numbers",
    "query-key": "Query and key",
    "matrices": "Weight matrices",
}
WORD_JOINER = "\u2060"


@pytest.fixture(scope="module")
def trace(model: Translator) -> Trace:
    return model.trace(SENTENCE)


# ---- asking ------------------------------------------------------------------------------------


def test_typing_a_sentence_and_pressing_enter_translates_it_and_paints_its_heads(
    heads: HeadsPage, model: Translator
) -> None:
    heads.open(attention="cross", layer="0", head="1")
    for sentence in ("The dog sleeps.", "She reads a book."):
        heads.ask(sentence)
        trace = model.trace(sentence)
        expect(heads.translation).to_have_text(trace.text)
        assert heads.query["sentence"] == sentence
        assert heads.selected == ("cross", 0, 1)
        assert wrong_cells(heads, read(trace)) == []
        assert wrong_tiles(heads, read(trace)) == []


def test_a_target_of_ones_own_is_what_the_heads_then_read(
    heads: HeadsPage, model: Translator
) -> None:
    heads.open(sentence=SENTENCE, attention="decoder", layer="1", head="0")
    before = heads.root.get_attribute("data-payload")
    target = "Ich denke nicht."
    heads.type("target", target)
    heads.wait_for_payload_other_than(before)
    heads.settle()
    expect(heads.translation).to_have_text(target)
    expect(heads.page.get_by_text("You typed this target")).to_be_visible()
    heads.wait_for_query(target=target)
    assert wrong_cells(heads, read(model.trace(SENTENCE, target))) == []
    heads.type("target", "")
    heads.wait_for_query(target=None)
    expect(heads.translation).to_have_text(model.trace(SENTENCE).text)


def test_an_example_is_asked_for_with_one_click(
    heads: HeadsPage, model: Translator, known_examples: tuple[Example, ...]
) -> None:
    heads.open()
    before = heads.root.get_attribute("data-payload")
    example = known_examples[1]
    heads.page.get_by_role("button", name="Examples").click()
    heads.page.get_by_text(example.source).click()
    heads.wait_for_payload_other_than(before)
    heads.settle()
    trace = model.trace(example.source)
    expect(heads.translation).to_have_text(trace.text)
    heads.wait_for_query(sentence=example.source)
    assert wrong_cells(heads, read(trace)) == []


@pytest.fixture
def known_examples(checkpoints: Path) -> tuple[Example, ...]:
    found = examples(checkpoints / "en-de")
    if not found:
        pytest.skip("this checkpoint comes without examples")
    return found


def test_two_people_never_see_each_others_sentence(visitor: Visitor, model: Translator) -> None:
    one, other = (visitor().open(attention="encoder", layer="0", head="1") for _ in range(2))
    rounds = [
        ("The man eats.", "A woman reads a book."),
        ("The woman sees the cat.", "The man eats."),
        ("A woman reads a book.", "The dog sat on the mat."),
    ]
    for sentences in rounds:
        payloads = [heads.root.get_attribute("data-payload") for heads in (one, other)]
        for heads, sentence in zip((one, other), sentences, strict=True):
            heads.type("sentence", sentence)
        for heads, sentence, before in zip((one, other), sentences, payloads, strict=True):
            heads.wait_for_payload_other_than(before)
            heads.settle()
            trace = model.trace(sentence)
            expect(heads.translation).to_have_text(trace.text)
            assert heads.query["sentence"] == sentence
            assert wrong_cells(heads, read(trace)) == []
            assert wrong_tiles(heads, read(trace)) == []


# ---- below the picture --------------------------------------------------------------------------


def test_each_section_below_shows_what_its_name_says(heads: HeadsPage, trace: Trace) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="1", cell="1.2")
    for section, name in SECTIONS.items():
        heads.page.get_by_role("radio", name=name).click()
        heads.wait_for_query(below=None if section == "facts" else section)
        if section == "facts":
            expect(heads.facts).to_be_visible()
        elif section == "numbers":
            expect(heads.page.get_by_test_id("stDataFrame")).to_have_count(1)
            expect(heads.page.get_by_text("every query and key")).to_be_visible()
        elif section == "query-key":
            found = trace.attention("cross", 0)
            expect(heads.page.get_by_label(cell_of(found, 1, 1, 2).alt)).to_have_count(1)
        else:
            expect(heads.chart).to_have_count(1)
            expect(heads.chart.locator(".gtitle")).to_contain_text(title("cross", 0, 1))


# ---- the address --------------------------------------------------------------------------------


def is_pressed(heads: HeadsPage, button: str) -> bool:
    # By its text, since one that is hidden has no role.
    toggle = heads.page.locator(".heads-view .toggle", has_text=button)
    return toggle.get_attribute("aria-pressed") == "true"


def state(heads: HeadsPage) -> dict[str, Any]:
    """What a reader sees of every parameter."""
    painted = heads.painted
    return {
        "attention": painted["attention"],
        "layer": painted["layer"],
        "head": painted["head"],
        "view": painted["view"],
        "cell": heads.picked,
        "compare": heads.legend.all_inner_texts(),
        "order": heads.root.get_by_label("Order of heads").input_value(),
        "faint": heads.root.get_by_label("Bring out faint weights").input_value(),
        "only": {(tile["layer"], tile["head"]) for tile in heads.tiles},
        "words": is_pressed(heads, "Whole words"),
        "specials": is_pressed(heads, "Special tokens"),
        "renormalise": is_pressed(heads, "Rows add up to 1"),
        "predicted": is_pressed(heads, "Name rows by prediction"),
        "sentence": heads.field("sentence").input_value(),
        "target": heads.target,
    }


ADDRESSES = [
    {
        "sentence": "The dog sleeps.",
        "attention": "encoder",
        "layer": "1",
        "head": "2",
        "cell": "1.2",
        "order": "entropy",
        "faint": "3",
        "only": "layer.1",
        "below": "query-key",
        "checkpoint": "en-de",
    },
    {
        "target": "Der Hund.",
        "attention": "cross",
        "layer": "1",
        "head": "1",
        "view": "lines",
        "compare": "0.3-1.1-1.2",
        "words": "1",
        "specials": "0",
        "renormalise": "1",
        "predicted": "1",
        "below": "numbers",
    },
]


@pytest.mark.parametrize("query", ADDRESSES, ids=lambda query: query["attention"])
def test_an_address_opens_what_it_says_and_the_same_again_after_a_reload(
    heads: HeadsPage, query: dict[str, str]
) -> None:
    heads.open(**query)
    expect(heads.alerts).to_have_count(0)
    seen = state(heads)
    for name in ("attention", "view", "sentence", "target", "order", "faint"):
        assert name not in query or seen[name] == query[name]
    assert (seen["layer"], seen["head"]) == (int(query["layer"]), int(query["head"]))
    assert seen["cell"] == query.get("cell", "")
    assert len(seen["compare"]) == len(query.get("compare", "").split("-")) * ("compare" in query)
    for name in ("words", "specials", "renormalise", "predicted"):
        assert seen[name] == (query.get(name, "1" if name == "specials" else "0") == "1")
    if only := query.get("only"):
        place = 0 if only.startswith("layer") else 1
        assert {tile[place] for tile in seen["only"]} == {int(only.partition(".")[2])}
    chosen = heads.page.get_by_role("radio", name=SECTIONS[query.get("below", "facts")])
    expect(chosen).to_have_attribute("aria-checked", "true")
    kept = {name: value for name, value in query.items() if name != "checkpoint"}
    assert kept.items() <= heads.query.items()
    drawn = pictures(heads)
    heads.reload()
    assert state(heads) == seen
    assert same_pictures(pictures(heads), drawn)


def test_every_choice_is_written_into_the_address(heads: HeadsPage) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="0")
    heads.control("Encoder").click()
    heads.wait_for_query(attention="encoder")
    heads.click_tile(1, 2)
    heads.wait_for_query(layer="1", head="2")
    x, y = heads.frame().middle(1, 2)
    heads.matrix.click(position={"x": x, "y": y})
    heads.wait_for_query(cell="1.2", below="query-key")
    for _ in range(2):
        heads.page.keyboard.press("Escape")
    expect(heads.matrix).to_have_attribute("data-place", "head")
    heads.unfold()
    heads.root.get_by_label("Order of heads").select_option("previous")
    heads.wait_for_query(order="previous")
    heads.root.get_by_label("Bring out faint weights").press("ArrowRight")
    heads.wait_for_query(faint="1")
    heads.root.get_by_label("Order of heads").select_option("")
    heads.root.get_by_title("Only head 2 of every layer").click()
    heads.wait_for_query(only="head.2", order=None)
    heads.click_tile(0, 2, modifiers=["Shift"])
    heads.wait_for_query(compare="1.2-0.2")
    heads.draw_as("Lines")
    heads.wait_for_query(view="lines")
    heads.toggle("Special tokens")
    heads.wait_for_query(specials="0", cell=None)
    heads.toggle("Rows add up to 1")
    heads.wait_for_query(renormalise="1")
    heads.toggle("Whole words")
    heads.wait_for_query(words="1")
    heads.page.get_by_role("radio", name="Numbers").click()
    heads.wait_for_query(below="numbers")
    drawn, seen = pictures(heads), state(heads)
    heads.reload()
    assert state(heads) == seen
    assert same_pictures(pictures(heads), drawn)


def test_back_undoes_a_selection_and_forward_does_it_again(heads: HeadsPage) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="1")
    first = pixels(heads.matrix)
    heads.click_tile(1, 2)
    heads.settle()
    heads.wait_for_query(layer="1", head="2")
    second = pixels(heads.matrix)
    heads.page.go_back()
    heads.wait_for_painted(layer=0, head=1)
    heads.settle()
    assert np.array_equal(pixels(heads.matrix), first)
    expect(heads.page.locator("h3", has_text=title("cross", 0, 1))).to_have_count(2)
    heads.page.go_forward()
    heads.wait_for_painted(layer=1, head=2)
    heads.settle()
    assert np.array_equal(pixels(heads.matrix), second)


def test_back_returns_to_the_sentence_before(heads: HeadsPage, trace: Trace) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="1")
    first = heads.root.get_attribute("data-payload")
    heads.ask("The dog sleeps.")
    second = heads.root.get_attribute("data-payload")
    heads.page.go_back()
    heads.wait_for_payload_other_than(second)
    heads.settle()
    expect(heads.translation).to_have_text(trace.text)
    assert heads.field("sentence").input_value() == SENTENCE
    assert heads.selected == ("cross", 0, 1)
    assert wrong_cells(heads, read(trace)) == []
    assert first != second


def test_values_that_no_one_may_ask_for_are_named_and_the_usual_ones_shown(
    heads: HeadsPage, trace: Trace
) -> None:
    illegal = {
        "attention": "*a* $x$ :cat: -> :red[b] <i>",
        "layer": "1.5",
        "view": "<b>x</b>",
        "cell": "1,2",
        "compare": "1.1-x",
        "below": "../..",
        "checkpoint": "../en-de",
    }
    heads.open(sentence=SENTENCE)
    usual, drawn = state(heads), pictures(heads)
    heads.open(sentence=SENTENCE, **illegal)
    notices = heads.page.locator(".st-key-notices")
    notices.locator("summary").click()
    expect(notices.get_by_role("listitem").last).to_be_visible()
    said = notices.inner_text().replace(WORD_JOINER, "")
    for name, value in illegal.items():
        assert f"The address asks for {name} “{value}”" in said
    assert (
        notices.get_by_role("listitem")
        .locator("em, code, a, i, b, .katex, .stMarkdownColoredText")
        .count()
        == 0
    )
    assert state(heads) == usual
    assert np.array_equal(pixels(heads.overview), drawn["overview"])
    heads.click_tile(1, 2)
    heads.settle()
    heads.wait_for_query(layer="1", head="2", view=None, faint=None, checkpoint=None)


def test_a_head_of_a_longer_trace_stays_selected_when_the_sentence_is_shorter(
    heads: HeadsPage,
) -> None:
    heads.open(sentence=SENTENCE, attention="encoder", layer="1", head="2", cell="8.8")
    assert heads.picked == "8.8"
    heads.ask("The dog sleeps.")
    assert heads.selected == ("encoder", 1, 2)
    assert heads.picked == ""
    heads.wait_for_query(cell=None, layer="1", head="2")


# ---- light, dark, small and large ---------------------------------------------------------------


def lightness(page: Page) -> float:
    color = page.evaluate("getComputedStyle(window.headsView()).color")
    return sum(map(int, re.findall(r"\d+", color)[:3])) / (3 * 255)


def test_a_reader_of_dark_pages_gets_the_dark_colours(visitor: Visitor, trace: Trace) -> None:
    heads = visitor(color_scheme="dark").open(
        sentence=SENTENCE, attention="decoder", layer="0", head="1"
    )
    assert lightness(heads.page) > 0.8
    assert wrong_cells(heads, read(trace), look=DARK) == []
    assert wrong_tiles(heads, read(trace), look=DARK) == []
    heads.control("Cross").click()
    heads.click_tile(0, 2, modifiers=["Shift"])
    expect(heads.legend).to_have_count(2)
    assert swatches(heads) == [channels(color) for color in DARK.heads[:2]]


def test_the_menu_switches_the_theme_of_page_and_picture_at_once(
    visitor: Visitor, trace: Trace
) -> None:
    heads = visitor().open(sentence=SENTENCE, attention="decoder", layer="0", head="1")
    assert lightness(heads.page) < 0.2
    assert wrong_cells(heads, read(trace), look=LIGHT) == []
    for choice, look in (("Dark", DARK), ("Light", LIGHT)):
        heads.page.get_by_test_id("stMainMenu").click()
        heads.page.get_by_test_id(f"stMainMenuItem-theme-{choice}").click()
        heads.page.wait_for_function(
            "dark => (window.headsView().style.colorScheme === 'dark') === dark",
            arg=choice == "Dark",
        )
        heads.page.keyboard.press("Escape")
        # The menu has closed over the sentence, whose words light up under a pointer.
        heads.page.mouse.move(1, 1)
        heads.settle()
        painted(heads)
        assert (lightness(heads.page) > 0.8) == (choice == "Dark")
        assert wrong_cells(heads, read(trace), look=look) == []
        assert wrong_tiles(heads, read(trace), look=look) == []


# What lies on what, of all that is read or clicked; a part of another lies on it rightly.
OVERLAPS = """() => {
  const seen = node => {
    const { width, height } = node.getBoundingClientRect();
    return width > 0 && height > 0 && getComputedStyle(node).visibility === "visible";
  };
  const main = document.querySelector('[data-testid="stMain"]');
  const nodes = [
    ...main.querySelectorAll('input, button, p[lang], [data-testid="stCaptionContainer"]'),
    ...window.headsView().querySelectorAll(
      "button, select, input, canvas, .told, .caption, .note, .words"
    ),
  // The picture's own are its canvas.
  ].filter(node => seen(node) && !node.closest(".reach"));
  // As much of a box as is scrolled into view.
  const box = node => {
    const { left, top, right, bottom } = node.getBoundingClientRect();
    const scroller = node.closest(".overview-scroll");
    const view = scroller?.getBoundingClientRect() ?? { left, top, right, bottom };
    return {
      left: Math.max(left, view.left),
      top: Math.max(top, view.top),
      right: Math.min(right, view.right),
      bottom: Math.min(bottom, view.bottom),
    };
  };
  const name = node =>
    [node.tagName, node.className, node.getAttribute("aria-label") ?? node.textContent.slice(0, 20)]
      .join(" ");
  const found = [];
  for (const [index, one] of nodes.entries()) {
    for (const other of nodes.slice(index + 1)) {
      if (one.contains(other) || other.contains(one)) continue;
      const [first, second] = [box(one), box(other)];
      const across = Math.min(first.right, second.right) - Math.max(first.left, second.left);
      const down = Math.min(first.bottom, second.bottom) - Math.max(first.top, second.top);
      // A pixel is rounding.
      if (across > 1.5 && down > 1.5) found.push(`${name(one)} and ${name(other)}`);
    }
  }
  return found;
}"""


def overlaps(heads: HeadsPage) -> list[str]:
    """Which controls and texts of the page lie on each other."""
    found: list[str] = heads.page.evaluate(OVERLAPS)
    return found


def cut(heads: HeadsPage) -> list[str]:
    """Which controls have a text that they do not hold, or leave the page on a side."""
    found: list[str] = heads.page.locator(
        ".heads-view :is(.toolbar, .scale, .ways) :is(button, select, input):visible"
    ).evaluate_all(
        """nodes => nodes.filter(node => {
            const { left, right } = node.getBoundingClientRect();
            const wide = node.scrollWidth > node.clientWidth + 1 && node.tagName === "BUTTON";
            return wide || left < 0 || right > document.documentElement.clientWidth + 1;
        }).map(node => node.getAttribute("aria-label") ?? node.textContent)"""
    )
    return found


def scrolls_sideways(heads: HeadsPage) -> bool:
    wide: bool = heads.page.evaluate(
        """() => {
            const main = document.querySelector('[data-testid="stMain"]');
            return main.scrollWidth > main.clientWidth + 1
                || document.documentElement.scrollWidth > window.innerWidth + 1;
        }"""
    )
    return wide


def test_on_a_phone_everything_fits_and_a_tap_selects(visitor: Visitor, trace: Trace) -> None:
    heads = visitor(
        viewport={"width": 390, "height": 844},
        device_scale_factor=3,
        has_touch=True,
        is_mobile=True,
    ).open(sentence=SENTENCE, attention="cross", layer="0", head="0")
    assert not scrolls_sideways(heads)
    assert overlaps(heads) == []
    assert cut(heads) == []
    tile = heads.tile(1, 2)
    assert tile["width"] >= 24, "a tile is too small for a finger"
    heads.overview.tap(position={"x": tile["x"] + 10, "y": tile["y"] + 10})
    heads.wait_for_painted(layer=1, head=2)
    heads.settle()
    assert not scrolls_sideways(heads)
    assert wrong_cells(heads, read(trace), density=3) == []
    for head in range(trace.attention("cross", 0).weights.shape[0]):
        tile = heads.tile(0, head)
        heads.overview.tap(position={"x": tile["x"] + 10, "y": tile["y"] + 10})
        heads.wait_for_painted(layer=0, head=head)
        label = heads.root.locator(".told")
        assert label.inner_text()
        assert label.evaluate(
            "node => node.scrollWidth <= node.clientWidth && node.scrollHeight <= node.clientHeight"
        ), "what the head does is cut"
    heads.draw_as("Lines")
    for name in ("Encoder", "All three"):
        heads.control(name).click()
        heads.settle()
        assert not scrolls_sideways(heads)


def test_on_a_projector_the_picture_ends_on_the_first_screen(visitor: Visitor) -> None:
    heads = visitor(viewport={"width": 1920, "height": 1080}).open(sentence=SENTENCE)
    for canvas in (heads.overview, heads.matrix):
        box = canvas.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 1080
    assert overlaps(heads) == []
    assert not scrolls_sideways(heads)


def test_on_a_laptop_the_picture_ends_on_the_first_screen(heads: HeadsPage) -> None:
    heads.open(sentence=SENTENCE)
    for canvas in (heads.overview, heads.matrix):
        box = canvas.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 800
    assert overlaps(heads) == []
    assert cut(heads) == []
    assert not scrolls_sideways(heads)


def test_zoomed_to_twice_its_size_the_page_is_still_whole(visitor: Visitor, trace: Trace) -> None:
    heads = visitor(viewport={"width": 640, "height": 400}, device_scale_factor=2).open(
        sentence=SENTENCE, attention="cross", layer="0", head="1"
    )
    assert not scrolls_sideways(heads)
    assert overlaps(heads) == []
    assert cut(heads) == []
    assert wrong_cells(heads, read(trace), density=2) == []


def test_with_text_of_twice_the_size_nothing_is_cut_or_covered(
    visitor: Visitor, trace: Trace
) -> None:
    heads = visitor()
    heads.page.add_init_script(
        """document.addEventListener("DOMContentLoaded", () => {
            const style = document.createElement("style");
            style.textContent = "html { font-size: 32px !important; }";
            document.head.append(style);
        });"""
    )
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="1")
    size = heads.root.evaluate("node => getComputedStyle(node).fontSize")
    assert size == "32px"
    assert not scrolls_sideways(heads)
    assert overlaps(heads) == []
    assert cut(heads) == []
    assert wrong_cells(heads, read(trace)) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_text_is_folded_until_a_click_and_never_wider_than_the_page(
    visitor: Callable[..., HeadsPage], width: int
) -> None:
    heads = visitor(viewport={"width": width, "height": 800})
    target = "Donaudampfschiff" * 19
    heads.open(sentence=SENTENCE, target=target)
    text = heads.page.locator(".answer summary > span")
    expect(text).to_have_text(target)

    def height() -> float:
        box = text.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width
        return box["height"]

    def is_within() -> bool:
        return bool(
            heads.page.evaluate(
                """() => [document.documentElement, document.querySelector(".stMain")].every(
                    each => each.scrollWidth <= innerWidth)"""
            )
        )

    folded = height()
    assert is_within()
    heads.page.locator(".answer summary").click()
    expect(heads.page.locator(".answer details")).to_have_attribute("open", "")
    assert height() > folded
    assert is_within()
    heads.page.locator(".answer summary").click()
    expect(heads.page.locator(".answer details")).not_to_have_attribute("open", "")
    assert height() == folded
