"""All heads of a kind beside the picture of one in a real browser: pixels, pointer, keys."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from model.explain.facts import head_facts
from model.explain.head_numbers import head_numbers
from model.explain.reading import Reading, read
from model.trace.attention_map import AttentionKind
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.heads_page import (
    GAMMAS,
    SENTENCE,
    HeadsPage,
    channels,
    has_colour,
    painted,
    picture,
    pixels,
    swatches,
    title,
    wrong_cells,
    wrong_tiles,
)
from tests.kit.readings import cell_of, head_of
from viz.browser.head_sentences import head_words
from viz.draw.labels import axis_texts
from viz.draw.themes import LIGHT

Visitor = Callable[..., HeadsPage]
KINDS = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross", "joint": "All three"}


@pytest.fixture(scope="module")
def trace(model: Translator) -> Trace:
    """What the model did on the sentence that most tests open."""
    return model.trace(SENTENCE)


def last_head(trace: Trace, attention: str) -> tuple[int, int]:
    kind = "cross" if attention == "joint" else attention
    layer = trace.layers(kind)[-1]
    return layer, trace.attention(kind, layer).n_heads - 1


def test_every_cell_of_picture_and_tiles_has_the_colour_of_its_weight(
    heads: HeadsPage, trace: Trace
) -> None:
    heads.open(sentence=SENTENCE, faint="4")
    for attention, text in KINDS.items():
        heads.control(text).click()
        heads.wait_for_painted(attention=attention)
        layer, head = last_head(trace, attention)
        assert len(heads.tiles) == (layer + 1) * (head + 1)
        heads.click_tile(layer, head)
        assert heads.selected == (attention, layer, head)
        assert wrong_cells(heads, read(trace), gamma=GAMMAS[4]) == []
        assert wrong_tiles(heads, read(trace), gamma=GAMMAS[4]) == []


def test_pixels_are_exact_on_a_screen_of_double_density(visitor: Visitor, trace: Trace) -> None:
    heads = visitor(device_scale_factor=2).open(sentence=SENTENCE, attention="decoder", head="2")
    canvas = heads.matrix.locator("canvas.space")
    assert canvas.evaluate("c => c.width / c.getBoundingClientRect().width") == (
        pytest.approx(2, rel=0.01)
    )
    assert wrong_cells(heads, read(trace), density=2) == []
    assert wrong_tiles(heads, read(trace), density=2) == []


def test_a_zoomed_picture_shows_the_same_numbers_wherever_it_is_moved_to(
    heads: HeadsPage, trace: Trace
) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="1", head="3")
    weights, _ = picture(read(trace), "cross", 1, 3)
    whole = heads.frame()
    heads.matrix.hover()
    for _ in range(2):
        heads.control("Zoom the picture in").click()
    expect(heads.matrix).to_have_attribute("data-place", "head")
    heads.wait_for_rest(wider=1.5 * whole.width)
    room = heads.matrix.bounding_box()
    assert room is not None
    # Towards the end, by hand.
    x, y = room["x"] + room["width"] / 2, room["y"] + room["height"] / 2
    heads.page.mouse.move(x + 130, y + 110)
    heads.page.mouse.down()
    heads.page.mouse.move(x - 130, y - 110, steps=4)
    heads.page.mouse.up()
    query, key = (length - 1 for length in weights.shape)
    frame = heads.frame()
    x, y = frame.x + key * frame.width + 6, frame.y + query * frame.height + 6
    assert 0 < x < room["width"]
    assert 0 < y < room["height"]
    # Off the cells, whose row and column a pointer frames.
    heads.page.mouse.move(2, 2)
    painted(heads)
    color = pixels(heads.matrix)[round(y), round(x)]
    assert has_colour(color, weights[query, key]), f"{weights[query, key]}: {color}"
    heads.matrix.hover(position={"x": x, "y": y})
    assert heads.pointed() == (query, key)
    heads.page.keyboard.press("Escape")
    assert heads.frame() == whole


def test_a_wheel_scrolls_the_page_and_with_control_comes_closer(heads: HeadsPage) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="1", head="3")
    whole = heads.frame()
    heads.matrix.hover()
    heads.page.mouse.wheel(0, 300)
    heads.page.wait_for_function("() => document.querySelector('.stMain').scrollTop > 0")
    heads.page.mouse.wheel(0, -300)
    heads.page.wait_for_function("() => document.querySelector('.stMain').scrollTop === 0")
    assert heads.frame() == whole
    heads.page.keyboard.down("Control")
    heads.page.mouse.wheel(0, -60)
    heads.page.keyboard.up("Control")
    heads.wait_for_rest(wider=1.01 * whole.width)
    assert heads.page.evaluate("document.querySelector('.stMain').scrollTop") == 0


def test_pointing_at_a_cell_gives_its_tokens_its_weight_and_what_is_predicted(
    heads: HeadsPage, trace: Trace
) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="1")
    found = trace.attention("cross", 0)
    rows, columns = axis_texts(found.queries), axis_texts(found.keys)
    predictions = axis_texts(trace.predictions)
    frame = heads.frame()
    for query, key in [(0, 0), (1, len(columns) - 1), (len(rows) - 1, 2)]:
        lines = heads.point_at(frame, query, key)
        assert lines[0] == f"{rows[query]} ({query}) to {columns[key]} ({key})"
        value = float(lines[1].removeprefix("weight "))
        assert value == pytest.approx(float(found.weights[1, query, key]), rel=1e-3, abs=1e-6)
        assert lines[2].endswith(f": {predictions[query]}")
    heads.page.mouse.move(2, 2)
    expect(heads.tooltip).to_be_hidden()


def test_pointing_at_a_tile_names_its_head_and_says_what_it_does(
    heads: HeadsPage, trace: Trace
) -> None:
    heads.open(sentence=SENTENCE)
    tile = heads.tile(1, 2)
    heads.overview.hover(position={"x": tile["x"] + 5, "y": tile["y"] + 5})
    expect(heads.tooltip).to_contain_text("Layer 1, head 2")
    entropy = head_facts(trace.attention("cross", 1))["entropy"][2]
    expect(heads.tooltip).to_contain_text(f"{entropy:.2f} bits")


def test_a_click_on_a_tile_selects_its_head_everywhere(heads: HeadsPage) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="0")
    facts = heads.facts.first.inner_text()
    heads.click_tile(1, 2)
    assert heads.selected == ("cross", 1, 2)
    expect(heads.heading).to_have_text(title("cross", 1, 2))
    tile = heads.tile(1, 2)
    ring = heads.page.locator(".heads-view .ring.selected")
    stage = heads.overview.bounding_box()
    box = ring.bounding_box()
    assert stage is not None
    assert box is not None
    assert box["x"] - stage["x"] == pytest.approx(tile["x"] - 3, abs=1)
    # Above a tile there is room for the dot of a label, which the ring holds too.
    assert -8 <= box["y"] - stage["y"] - tile["y"] <= -2
    bottom = tile["y"] + tile["height"]
    assert box["y"] + box["height"] - stage["y"] == pytest.approx(bottom + 3, abs=1)
    heads.settle()
    heads.wait_for_query(layer="1", head="2")
    expect(heads.facts.first).not_to_have_text(facts)
    expect(heads.page.locator("h3", has_text=title("cross", 1, 2))).to_have_count(2)


def test_another_head_is_painted_before_anything_is_sent(heads: HeadsPage) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="0")
    heads.page.evaluate(
        """() => {
            window.sent = 0;
            window.held = [];
            window.sentAtPaint = null;
            new MutationObserver(() => { window.sentAtPaint ??= window.sent; })
                .observe(window.headsView(), { attributeFilter: ["data-painted"] });
        }"""
    )
    heads.click_tile(1, 3)
    heads.wait_for_painted(layer=1, head=3)
    assert heads.page.evaluate("window.sentAtPaint") == 0
    expect(heads.heading).to_have_text(title("cross", 1, 3))
    assert "layer" not in heads.query or heads.query["layer"] == "0"
    heads.page.evaluate("window.release()")
    heads.settle()
    heads.wait_for_query(layer="1", head="3")


def test_opening_a_page_tells_the_server_nothing_that_it_knows(heads: HeadsPage) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="0")
    assert heads.page.evaluate("window.told") == 0
    heads.click_tile(1, 1)
    heads.settle()
    heads.wait_for_query(layer="1", head="1")
    assert heads.page.evaluate("window.told") > 0


def test_quick_steps_among_heads_end_with_the_last_one(heads: HeadsPage, trace: Trace) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="0")
    heads.overview.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowLeft"):
        heads.page.keyboard.press(key)
    assert heads.selected == ("cross", 1, 2)
    heads.settle()
    heads.wait_for_query(layer="1", head="2")
    assert heads.selected == ("cross", 1, 2)
    heads.page.keyboard.press("Home")
    assert heads.selected == ("cross", 0, 0)
    heads.page.keyboard.press("ArrowUp")
    assert heads.selected == ("cross", 0, 0)
    heads.page.keyboard.press("End")
    assert heads.selected == ("cross", *last_head(trace, "cross"))
    expect(heads.spoken).to_contain_text("Layer {}, head {}".format(*last_head(trace, "cross")))
    heads.settle()


def test_a_cell_is_reached_read_and_looked_into_by_keys_alone(
    heads: HeadsPage, trace: Trace
) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="1")
    heads.overview.focus()
    heads.page.keyboard.press("Enter")
    assert heads.page.evaluate(
        "window.focused() === window.headsView().querySelector('.model-view')"
    )
    described = heads.matrix.get_attribute("aria-label")
    shown = head_of(trace.attention("cross", 0), 1).alt
    assert described == (
        f"{shown} Arrow keys choose a head, Enter comes closer, plus and minus zoom."
    )
    weights, _ = picture(read(trace), "cross", 0, 1)
    # To the strongest row, the strongest weight in it, and from there to the first of all.
    query, key = np.unravel_index(weights.argmax(), weights.shape)
    for press in ("Enter", "Enter", *query * ["ArrowUp"], *key * ["ArrowLeft"]):
        heads.page.keyboard.press(press)
    for press in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowLeft"):
        heads.page.keyboard.press(press)
    expect(heads.matrix).to_have_attribute("data-place", "weight")
    found = trace.attention("cross", 0)
    names = axis_texts(found.queries)[1], axis_texts(found.keys)[1]
    said = heads.matrix.locator("> .spoken[aria-live]")
    expect(said).to_contain_text(f"“{names[0]}”")
    expect(said).to_contain_text(f"“{names[1]}”")
    weight = re.search(r"(\d+\.\d+)", said.inner_text().rpartition("”")[2])
    assert weight is not None
    assert float(weight[1]) == pytest.approx(float(found.weights[1, 1, 1]), abs=0.006)
    heads.wait_for_query(cell="1.1", below="query-key")
    expect(heads.chart).to_be_visible()
    expect(heads.page.get_by_label(cell_of(found, 1, 1, 1).alt)).to_have_count(1)
    assert heads.page.evaluate(
        "window.focused() === window.headsView().querySelector('.model-view')"
    )


def test_a_click_on_a_cell_looks_into_it(heads: HeadsPage, trace: Trace) -> None:
    heads.open(sentence=SENTENCE, attention="encoder", layer="1", head="2")
    x, y = heads.frame().middle(2, 3)
    heads.matrix.click(position={"x": x, "y": y})
    expect(heads.matrix).to_have_attribute("data-place", "weight")
    expect(heads.matrix).to_have_attribute("data-filled", "yes")
    heads.wait_for_query(cell="2.3", below="query-key")
    found = trace.attention("encoder", 1)
    expect(heads.page.get_by_label(cell_of(found, 2, 2, 3).alt)).to_have_count(1)
    # Another head keeps the cell, and looks into its own.
    heads.click_tile(0, 0)
    heads.settle()
    expect(heads.matrix).to_have_attribute("data-place", "weight")
    found = trace.attention("encoder", 0)
    expect(heads.page.get_by_label(cell_of(found, 0, 2, 3).alt)).to_have_count(1)


@pytest.mark.parametrize(
    ("width", "height", "compare"), [(1280, 800, ""), (1280, 800, "0.0-1.2"), (390, 844, "")]
)
def test_nothing_that_was_clicked_moves_because_of_the_click(
    visitor: Visitor, width: int, height: int, compare: str
) -> None:
    heads = visitor(viewport={"width": width, "height": height})
    heads.open(sentence=SENTENCE, attention="cross", layer="1", head="2", compare=compare)
    for view in ("Lines", "Heatmap"):
        heads.draw_as(view)
        heads.control("Options").click()
        before = heads.matrix.bounding_box()
        if view == "Lines":
            at = ends(heads)[3]
            heads.matrix.click(position={"x": at["left"] + 10, "y": at["top"] + 10})
            expect(heads.caption).to_have_text("Escape, or a second click, deselects it.")
        else:
            x, y = heads.frame().middle(2, 3)
            heads.matrix.click(position={"x": x, "y": y})
            expect(heads.matrix).to_have_attribute("data-place", "weight")
            expect(heads.caption).to_have_text("Escape leads one step out.")
        heads.settle()
        assert heads.matrix.bounding_box() == before, view
    options = heads.control("Options")
    before = options.bounding_box()
    options.click()
    expect(options).to_have_attribute("aria-expanded", "true")
    assert options.bounding_box() == before


@pytest.mark.parametrize("how", ["the path", "Escape"])
def test_a_weight_is_left_again_and_the_page_says_how(heads: HeadsPage, how: str) -> None:
    heads.open(sentence=SENTENCE, attention="encoder", layer="1", head="2")
    x, y = heads.frame().middle(2, 3)
    heads.matrix.click(position={"x": x, "y": y})
    heads.wait_for_query(cell="2.3")
    expect(heads.caption).to_have_text("Escape leads one step out.")
    if how == "Escape":
        # Wherever the focus is, such as on nothing.
        heads.page.evaluate("window.focused().blur()")
        for place in ("row", "head"):
            heads.page.keyboard.press("Escape")
            expect(heads.matrix).to_have_attribute("data-place", place)
    else:
        path = heads.matrix.get_by_role("navigation", name="Place in the model")
        path.get_by_role("button", name="Head 2").click()
        expect(heads.matrix).to_have_attribute("data-place", "head")
    assert heads.selected == ("encoder", 1, 2)
    expect(heads.caption).to_contain_text("Click a cell to look into it.")
    # It stays marked, in the link too, until that is let go as well.
    assert heads.picked == "2.3"
    heads.wait_for_query(cell="2.3")
    heads.page.keyboard.press("Escape")
    expect(heads.spoken).to_have_text("Cell deselected.")
    heads.wait_for_query(cell=None)
    assert heads.picked == ""


def test_a_cell_of_a_link_is_marked_and_enter_looks_into_it(heads: HeadsPage, trace: Trace) -> None:
    heads.open(sentence=SENTENCE, attention="encoder", layer="1", head="2", cell="2.3")
    assert (heads.place, heads.picked) == ("head", "2.3")
    assert wrong_cells(heads, read(trace)) == []
    frame, mark = heads.frame(), heads.root.locator(".cell.picked").bounding_box()
    room = heads.matrix.bounding_box()
    assert mark is not None
    assert room is not None
    assert mark["x"] - room["x"] == pytest.approx(frame.x + 3 * frame.width, abs=1)
    assert mark["y"] - room["y"] == pytest.approx(frame.y + 2 * frame.height, abs=1)
    assert mark["height"] == pytest.approx(frame.height, abs=1)
    heads.matrix.focus()
    heads.page.keyboard.press("Enter")
    expect(heads.matrix).to_have_attribute("data-place", "weight")
    expect(heads.matrix).to_have_attribute("data-filled", "yes")


def test_a_cell_of_all_three_kinds_opens_in_its_own(heads: HeadsPage, trace: Trace) -> None:
    n_source = len(trace.source)
    for cell, kind, own in (
        ((1, 2), "encoder", (1, 2)),
        ((n_source + 2, 1), "cross", (2, 1)),
        ((n_source + 3, n_source + 1), "decoder", (3, 1)),
    ):
        heads.open(sentence=SENTENCE, attention="joint", layer="1", head="2")
        x, y = heads.frame().middle(*cell)
        heads.matrix.click(position={"x": x, "y": y})
        expect(heads.matrix).to_have_attribute("data-place", "weight")
        heads.wait_for_query(attention=None if kind == "cross" else kind, cell=f"{own[0]}.{own[1]}")
        assert heads.selected == (kind, 1, 2)


def test_a_cell_opens_only_as_it_was_recorded_and_the_page_says_so(heads: HeadsPage) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="1", head="2", words="1")
    expect(heads.caption).not_to_contain_text("look into it")
    x, y = heads.frame().middle(2, 3)
    heads.matrix.click(position={"x": x, "y": y})
    said = "A weight opens where tokens are shown as they were recorded."
    expect(heads.matrix.get_by_text(said).first).to_be_visible()
    assert (heads.place, heads.picked) == ("head", "2.3")
    heads.wait_for_query(cell="2.3", below="query-key")
    expect(heads.caption).to_have_text("Escape, or a second click, deselects it.")
    heads.matrix.click(position={"x": x, "y": y})
    heads.wait_for_query(cell=None)
    assert heads.picked == ""


def test_a_part_to_which_one_has_moved_has_a_link_and_is_seen_of_other_heads(
    heads: HeadsPage,
) -> None:
    heads.open(sentence=SENTENCE, attention="encoder", layer="0", head="0")
    head = heads.page.locator(".seen .model-view")
    whole = heads.frame()

    def seen() -> tuple[int, int]:
        frame = heads.frame()
        return round(frame.x), round(frame.width)

    head.press("+")
    expect(heads.page).to_have_url(re.compile("[?&]range="))
    part = heads.query["range"]
    rows = [int(number) for number in re.split(r"[-.]", part)]
    assert rows[0] > 0 or rows[2] > 0, part
    heads.click_tile(1, 1)
    heads.wait_for_painted(layer=1, head=1)
    heads.settle()
    assert heads.query["range"] == part
    closer = seen()
    assert closer[1] > whole.width
    link = heads.page.url
    heads.page.goto("about:blank")
    heads.page.goto(link)
    heads.settle()
    assert seen() == closer
    head.focus()
    heads.page.keyboard.press("Escape")
    heads.wait_for_query(range=None)
    heads.settle()
    assert seen() == (round(whole.x), round(whole.width))


def test_escape_ends_a_comparison_and_shows_all_heads_again(heads: HeadsPage) -> None:
    heads.open(
        sentence=SENTENCE, compare="0.0-0.1", only="layer.0", layer="0", head="0", cell="1.1"
    )
    hint = heads.page.locator(".heads-view .hint")
    for said in ("Cell deselected.", "Comparison ended.", "All heads are shown."):
        heads.page.keyboard.press("Escape")
        expect(heads.spoken).to_have_text(said)
    expect(hint).to_be_hidden()
    heads.page.keyboard.press("Escape")
    expect(heads.spoken).to_have_text("All heads are shown.")


def test_everything_is_reached_with_the_tab_key(heads: HeadsPage) -> None:
    heads.open(
        sentence=SENTENCE, layer="0", head="1", compare="0.0-0.1", specials="0", renormalise="1"
    )
    heads.field("sentence").focus()
    reached = []
    for _ in range(90):
        heads.page.keyboard.press("Tab")
        reached.append(
            heads.page.evaluate(
                """() => {
                    const node = window.focused();
                    const label = node.getAttribute("aria-label") ?? node.textContent;
                    const group = node.closest('[role="radiogroup"]')?.getAttribute("aria-label");
                    return [node.tagName, node.className, group ?? "", label].join("|");
                }"""
            )
        )
        if reached[-1].startswith("BUTTON|unfold"):
            heads.page.keyboard.press("Enter")
        if "below the picture" in reached[-1].lower() or "Head facts" in reached[-1]:
            break
    stops = "\n".join(reached)
    for expected in (
        "|Attention|",
        "|View|",
        "|Whole words",
        "|Special tokens",
        "|Rows add up to 1",
        "|Name rows by prediction",
        "|Compare heads",
        "|Heads shown",
        "|In numbers",
        "|Switch off",
        "CANVAS|overview|",
        "|Zoom the overview in",
        "|Zoom the overview out",
        "|Order of heads",
        "|Bring out faint weights",
        "|Zoom the picture in",
        "|Zoom the picture out",
        "|Remove Layer 0, head 0 from the picture",
        "DIV|model-view",
        "|The row of “",
        "Head facts",
    ):
        assert expected in stops, f"{expected} is not among\n{stops}"


def test_choices_are_moved_among_with_arrow_keys(heads: HeadsPage) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="1")
    heads.control("Cross").focus()
    heads.page.keyboard.press("ArrowRight")
    heads.wait_for_painted(attention="joint")
    assert heads.page.evaluate("window.focused().textContent") == "All three"
    heads.page.keyboard.press("ArrowLeft")
    heads.page.keyboard.press("ArrowLeft")
    heads.wait_for_painted(attention="decoder")
    expect(heads.control("Decoder")).to_have_attribute("aria-checked", "true")
    heads.unfold()
    heads.control("Heatmap").focus()
    heads.page.keyboard.press("ArrowRight")
    heads.wait_for_painted(view="lines")
    expect(end(heads, 1)).to_be_attached()
    heads.settle()
    heads.wait_for_query(attention="decoder", view="lines")


def test_a_layers_name_shows_only_that_layer_and_the_way_back(heads: HeadsPage) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="1", head="1")
    every = len(heads.tiles)
    heads.root.get_by_title("Only the heads of layer 1").click()
    assert {tile["layer"] for tile in heads.tiles} == {1}
    heads.wait_for_query(only="layer.1")
    heads.overview.focus()
    heads.page.keyboard.press("Home")
    heads.page.keyboard.press("ArrowRight")
    heads.page.keyboard.press("ArrowRight")
    assert heads.selected == ("cross", 1, 2)
    heads.control("Show all heads").click()
    assert len(heads.tiles) == every
    heads.wait_for_query(only=None)
    expect(heads.control("Show all heads")).to_be_hidden()
    heads.unfold()
    heads.root.get_by_label("Heads shown").select_option("Head 2")
    heads.page.keyboard.press("Escape")
    expect(heads.control("Options")).to_have_attribute("aria-expanded", "false")
    assert {tile["head"] for tile in heads.tiles} == {2}
    assert len(heads.tiles) > 1
    heads.wait_for_query(only="head.2")
    heads.overview.focus()
    heads.page.keyboard.press("Escape")
    assert len(heads.tiles) == every
    heads.wait_for_query(only=None)


def end(heads: HeadsPage, place: int) -> Locator:
    """The query of a place, of a head that is drawn as lines."""
    return heads.matrix.locator(".reach button").nth(place)


def ends(heads: HeadsPage) -> list[dict[str, float]]:
    """Where the queries and then the keys of a head are written, in the picture."""
    found: list[dict[str, float]] = heads.matrix.locator(".reach button").evaluate_all(
        """nodes => nodes.map(({ style }) => Object.fromEntries(
            ["left", "top", "width", "height"].map(name => [name, parseFloat(style[name])])))"""
    )
    return found


def line_ink(heads: HeadsPage) -> np.ndarray:
    """Where lines are drawn: which pixels between the columns of tokens are not the ground."""
    columns = ends(heads)
    left, right = columns[0]["left"] + columns[0]["width"], columns[-1]["left"]
    top, bottom = columns[0]["top"], columns[-1]["top"] + columns[-1]["height"]
    middle, quarter = (left + right) / 2, (right - left) / 4
    drawn = pixels(heads.matrix)[
        round(top) : round(bottom), round(middle - quarter) : round(middle + quarter), :3
    ]
    return np.abs(drawn.astype(int) - drawn[0, 0]).max(axis=2) > 0


def test_pointing_at_a_token_leaves_its_lines_alone(heads: HeadsPage, trace: Trace) -> None:
    heads.open(sentence=SENTENCE, attention="decoder", layer="0", head="0", view="lines")
    weights, _ = picture(read(trace), "decoder", 0, 0)
    places = ends(heads)
    every = line_ink(heads)
    together = np.zeros_like(every)
    for query, at in enumerate(places[: len(weights)]):
        y = at["top"] + at["height"] / 2
        heads.matrix.hover(position={"x": at["left"] + at["width"] - 15, "y": y})
        painted(heads)
        alone = line_ink(heads)
        assert alone.any() == bool((weights[query] >= 0.01).any())
        together |= alone
        # No line of this token leads below itself.
        rows = np.flatnonzero(alone.any(axis=1)) + places[0]["top"]
        assert rows.max() <= at["top"] + at["height"]
    assert (together == every).mean() > 0.999
    heads.page.mouse.move(2, 2)
    painted(heads)
    assert np.array_equal(line_ink(heads), every)


def test_a_click_on_a_token_holds_its_lines_until_it_is_let_go(heads: HeadsPage) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="0", view="lines")
    every = line_ink(heads)
    first, second = ends(heads)[:2]
    heads.matrix.click(position={"x": first["left"] + 10, "y": first["top"] + 10})
    heads.page.mouse.move(2, 2)
    painted(heads)
    held = line_ink(heads)
    assert held.any()
    assert held.sum() < every.sum()
    # Without a pointer, the button of another token does the same.
    end(heads, 1).press("Enter")
    painted(heads)
    assert not np.array_equal(line_ink(heads), held)
    assert second["top"] > first["top"]
    expect(heads.caption).to_have_text("Escape, or a second click, deselects it.")
    heads.page.evaluate("window.focused().blur()")
    heads.page.keyboard.press("Escape")
    expect(heads.caption).to_contain_text("Point at a token to see only its lines.")
    painted(heads)
    assert np.array_equal(line_ink(heads), every)


def test_heads_laid_over_each_other_keep_their_colours_and_their_weights(
    heads: HeadsPage, trace: Trace
) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="0")
    heads.click_tile(0, 1, modifiers=["Shift"])
    heads.click_tile(1, 2, modifiers=["Control"])
    expect(heads.heading).to_have_text("Cross-attention, 3 heads")
    names = [f"Layer {layer}, head {head}" for layer, head in ((0, 0), (0, 1), (1, 2))]
    expect(heads.legend).to_have_text([re.compile(name) for name in names])
    heads.page.mouse.move(2, 2)
    colors = [channels(color) for color in LIGHT.heads[:3]]
    assert swatches(heads) == colors
    expect(heads.page.locator(".heads-view .ring.compared")).to_have_count(3)
    heads.settle()
    heads.wait_for_query(compare="0.0-0.1-1.2", layer="1", head="2")
    frame, drawn = heads.frame(), pixels(heads.matrix)
    stripe = frame.width / 3
    for index, (layer, head) in enumerate(((0, 0), (0, 1), (1, 2))):
        weights, _ = picture(read(trace), "cross", layer, head)
        for query, key in np.ndindex(weights.shape):
            x = frame.x + key * frame.width + (index + 0.5) * stripe
            y = frame.middle(query, key)[1]
            shown = drawn[round(y), round(x), :3].astype(float)
            weight = weights[query, key] if weights[query, key] >= 0.004 else 0
            expected = 255 + (np.array(colors[index]) - 255.0) * weight
            assert np.abs(shown - expected).max() <= 4, f"{(query, key)}: {shown}, {expected}"
    left, top, height = heads.legend.first.evaluate(
        "({ style }) => [style.left, style.top, style.height].map(parseFloat)"
    )
    heads.matrix.click(position={"x": left + 5, "y": top + height / 2})
    expect(heads.legend).to_have_count(2)
    heads.legend.filter(has_text="Layer 0, head 1").press("Enter")
    expect(heads.legend).to_have_count(0)
    expect(heads.heading).to_have_text(title("cross", 1, 2))
    assert wrong_cells(heads, read(trace)) == []


def test_up_to_eight_heads_can_be_compared_and_a_ninth_is_refused_in_words(
    heads: HeadsPage,
) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="0")
    expect(heads.control("Compare heads")).to_be_hidden()
    heads.unfold()
    heads.control("Compare heads").click()
    expect(heads.control("Compare heads")).to_have_attribute("aria-pressed", "true")
    hint = heads.root.get_by_text("up to eight in all")
    expect(hint.first).to_be_visible()
    expect(heads.spoken).to_contain_text("Click more heads")
    heads.wait_for_query(compare="0.0")
    places = [(tile["layer"], tile["head"]) for tile in heads.tiles]
    for layer, head in places[1:9]:
        heads.click_tile(layer, head)
    expect(heads.legend).to_have_count(8)
    expect(heads.spoken).to_contain_text("Up to 8 heads can be compared.")
    expect(heads.root.locator(".hint")).to_have_text("Escape ends the comparison.")
    heads.unfold()
    heads.control("Compare heads").click()
    expect(heads.root.locator(".hint")).to_be_hidden()
    expect(heads.legend).to_have_count(0)
    heads.settle()
    heads.wait_for_query(compare=None)


def test_a_link_to_a_comparison_of_one_head_waits_for_the_next(heads: HeadsPage) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="1", compare="0.1")
    expect(heads.control("Compare heads")).to_have_attribute("aria-pressed", "true")
    expect(heads.root.locator(".hint")).to_be_visible()
    expect(heads.heading).to_have_text(title("cross", 0, 1))
    heads.click_tile(0, 2)
    expect(heads.legend).to_have_count(2)
    heads.wait_for_query(compare="0.1-0.2")


def test_the_selected_head_is_described_in_words_with_its_numbers_in_reach(
    heads: HeadsPage, model: Translator
) -> None:
    trace = model.trace(SENTENCE)
    heads.open(sentence=SENTENCE, attention="encoder", layer="1", head="2")
    words = heads.root.locator(".words")
    for layer, head in ((1, 2), (0, 3)):
        heads.click_tile(layer, head)
        seen = trace.attention("encoder", layer)
        facts = head_facts(seen)
        said = head_words(seen, facts)[head]
        # One sentence about the head; without a label, what it does here.
        told = title("encoder", layer, head)
        expect(heads.root.locator(".told")).to_have_text(f"{told}: {said.sentence}")
        names = axis_texts(seen.queries)
        for query, key in said.pairs:
            named = [
                n if names.count(n) == 1 else f"{n} ({at})"
                for n, at in ((names[query], query), (names[key], key))
            ]
            expect(words).to_contain_text(" → ".join(named))
    numbers, opener = heads.root.locator(".numbers"), heads.control("In numbers")
    own = {key: float(values[head]) for key, values in facts.items()}
    written = head_numbers(AttentionKind.ENCODER, own)
    expect(numbers.locator("p")).to_be_hidden()
    opener.press("Enter")
    expect(numbers.locator("p")).to_be_visible()
    expect(words).to_be_visible()
    expect(numbers).to_contain_text(written)
    # Under the pointer, and wherever a title is read.
    expect(words).to_have_attribute("title", re.compile(re.escape(written)))
    opener.press("Enter")
    expect(words).to_be_hidden()
    assert "bits" not in (heads.root.locator(".label-earned").text_content() or "")


@pytest.mark.parametrize(
    "reading", [{}, {"words": "1", "predicted": "1"}, {"specials": "0", "renormalise": "1"}]
)
def test_all_that_is_said_of_a_head_stands_on_the_first_screen(
    heads: HeadsPage, reading: dict[str, str]
) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="1", **reading)
    # Without special tokens there is a further control, and the words are let run a line over.
    words = [] if "specials" in reading else [heads.root.locator(".about-head")]
    for part in (heads.caption, *words):
        box = part.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 800


def test_arrows_move_among_heads_and_the_key_c_compares_those_that_are_chosen(
    heads: HeadsPage,
) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="0")
    heads.unfold()
    heads.control("Compare heads").click()
    heads.overview.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Shift+ArrowDown"):
        heads.page.keyboard.press(key)
    expect(heads.spoken).to_contain_text("Layer 2, head 2")
    expect(heads.legend).to_have_count(0)
    heads.page.keyboard.press("c")
    named = [re.compile(name) for name in ("Layer 0, head 0", "Layer 2, head 2")]
    expect(heads.legend).to_have_text(named)
    heads.page.keyboard.press("ArrowLeft")
    heads.page.keyboard.press("c")
    heads.wait_for_query(compare="0.0-2.2-2.1")
    heads.page.keyboard.press("c")
    heads.wait_for_query(compare="0.0-2.2")
    heads.page.keyboard.press("ArrowRight")
    heads.page.keyboard.press("c")
    expect(heads.legend).to_have_count(0)
    assert heads.selected == ("cross", 0, 0)
    heads.page.keyboard.press("Escape")
    heads.page.keyboard.press("ArrowRight")
    heads.wait_for_query(compare=None, layer="0", head="1")


def test_each_way_of_reading_shows_its_own_axes_and_numbers(heads: HeadsPage, trace: Trace) -> None:
    heads.open(sentence=SENTENCE, attention="cross", layer="0", head="1")
    expect(heads.control("Rows add up to 1")).to_be_hidden()
    for button, query, reading in (
        ("Whole words", {"words": "1"}, Reading(words=True)),
        ("Special tokens", {"specials": "0"}, Reading(words=True, specials=False)),
        ("Rows add up to 1", {"renormalise": "1"}, Reading(True, False, True)),
        ("Name rows by prediction", {"predicted": "1"}, Reading(True, False, True, True)),
        ("Whole words", {"words": None}, Reading(False, False, True, True)),
    ):
        heads.toggle(button)
        heads.wait_for_query(**query)
        seen = read(trace, reading)
        assert wrong_cells(heads, seen) == []
        for note in seen.notes:
            expect(heads.caption).to_contain_text(note)
    found = seen.maps[trace.attention("cross", 0).site]
    assert heads.named_axes() == (axis_texts(found.queries), axis_texts(found.keys))


@pytest.mark.parametrize(
    ("attention", "compare"),
    [
        ("cross", "0.5-0.7-1.1-2.4"),
        ("cross", "0.0-0.6-1.3-1.4-2.0-2.2-3.1-3.2"),
        ("encoder", "0.0-0.1-0.2-0.3-1.0-1.1-1.2-1.3"),
        ("decoder", "0.1-1.0-1.3-2.1-3.2"),
        ("joint", "0.0-0.5-1.1-1.2"),
    ],
)
def test_no_two_compared_heads_are_told_alike(
    heads: HeadsPage, model: Translator, attention: str, compare: str
) -> None:
    if model.model.config.n_heads < 8:
        pytest.skip("the shipped checkpoint en-de is not here")
    layer, head = compare.partition("-")[0].split(".")
    heads.open(sentence=SENTENCE, attention=attention, layer=layer, head=head, compare=compare)
    expect(heads.legend).to_have_count(compare.count("-") + 1)
    rows = heads.root.locator(".words")
    names, said = (rows.locator(each).all_inner_texts() for each in ("dt", "dd"))
    # In the joint picture, a head has a row for every kind of attention.
    told = [(name.split(", ")[2:], text) for name, text in zip(names, said, strict=True)]
    assert told
    assert all(told.count(each) == 1 for each in told)
