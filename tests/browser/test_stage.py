"""The stage in a real browser: nothing but the picture, its size, its contrast, and its keys."""

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from model.checkpoints.checkpoint import snapshots
from model.translate.translator import Translator
from tests.browser.conftest import (
    CHECKPOINTS_VARIABLE,
    MILLISECONDS,
    VIEWPORT,
    Lending,
    Watch,
)
from tests.kit.heads_page import LOADING, SHORTLY, HeadsPage, title, wait_until_calm
from tests.kit.running_app import NOTES_RECONNECTING, free_port, serve
from tests.kit.stage_page import CHROME, StagePage
from viz.draw import themes

SENTENCE = "The cat sat on the mat."
CHILDHOOD = "en-de-childhood"
HOSTILE = '<img src=x onerror=alert(1)> *a* $x$ <b>x</b> & "q"'

LARGE = 24
"""Pixels of a token's letters in a window of 1920 by 1080."""


@pytest.fixture
def stage(visitor: Callable[..., HeadsPage]) -> StagePage:
    """A reader of their own at 1280 × 800."""
    return StagePage(visitor())


# ---- to the stage and back --------------------------------------------------------------------


def test_p_leaves_the_picture_alone_and_escape_brings_everything_back(
    visitor: Callable[..., HeadsPage],
) -> None:
    reader = visitor()
    stage = StagePage(reader)
    reader.open(layer="1", head="2")
    reader.page.keyboard.press("p")
    expect(stage.foot).to_be_visible()
    stage.settle()
    assert stage.chrome() == []
    reader.wait_for_query(present="1", layer="1", head="2")
    stage.press("ArrowRight")
    stage.press("ArrowUp")
    stage.press("v")
    reader.wait_for_query(layer="0", head="3", view="lines")
    stage.press("Escape")
    expect(stage.foot).to_have_count(0)
    expect(reader.heading).to_have_text(title("cross", 0, 3))
    reader.settle()
    expect(reader.overview).to_be_visible()
    reader.wait_for_query(present=None, layer="0", head="3", view="lines")
    assert reader.painted["view"] == "lines"


def test_a_cell_that_was_picked_stays_picked_on_stage_and_after(
    visitor: Callable[..., HeadsPage],
) -> None:
    reader = visitor()
    stage = StagePage(reader)
    reader.open(layer="1", head="2", cell="1.2")
    reader.page.keyboard.press("p")
    expect(stage.foot).to_be_visible()
    stage.settle()
    assert reader.picked == "1.2"
    stage.back.click()
    expect(stage.foot).to_have_count(0)
    reader.settle()
    reader.wait_for_query(cell="1.2", present=None)
    assert reader.picked == "1.2"


def test_p_pressed_on_stage_leaves_it(stage: StagePage) -> None:
    stage.open()
    stage.press("p")
    expect(stage.foot).to_have_count(0)


def test_another_width_told_before_the_stage_is_shown_does_not_leave_it(
    visitor: Callable[..., HeadsPage],
) -> None:
    """As on a slow machine: the browser tells its width with the address it had before."""
    reader = visitor(viewport={"width": 390, "height": 844})
    page = reader.page
    page.goto(f"{reader.url}/masks?part=see", timeout=LOADING)
    page.get_by_role("button", name="Present").wait_for(timeout=LOADING)
    wait_until_calm(page, still=SHORTLY)
    page.evaluate("window.held = []")
    page.get_by_role("button", name="Present").click()
    page.wait_for_function("() => window.held.length >= 1")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_function("() => window.held.length >= 2")
    page.evaluate(
        """() => {
          const [click, width] = window.held;
          window.held = [click];
          window.release();
          window.held = [width];
        }"""
    )
    page.locator(".st-key-stage-leave").wait_for()
    page.wait_for_url(re.compile("present=1"))
    page.evaluate("window.release()")
    wait_until_calm(page, still=SHORTLY)
    expect(page.locator(".st-key-stage-leave")).to_be_visible()
    expect(page).to_have_url(re.compile("present=1"))


def test_a_p_that_is_typed_is_a_letter(visitor: Callable[..., HeadsPage]) -> None:
    reader = visitor()
    reader.open()
    field = reader.field("sentence")
    field.fill("")
    field.press_sequentially("pfv")
    expect(field).to_have_value("pfv")
    expect(reader.page.locator(".stage-foot")).to_have_count(0)


@pytest.mark.parametrize("window", [(1280, 800), (1920, 1080), (390, 844)])
def test_the_button_covers_neither_the_navigation_nor_the_menu(
    visitor: Callable[..., HeadsPage], window: tuple[int, int]
) -> None:
    width, height = window
    reader = visitor(viewport={"width": width, "height": height})
    reader.open()
    button = reader.page.get_by_role("button", name="Present")
    expect(button).to_be_visible()
    tools = reader.page.locator(".st-key-tools").bounding_box()
    assert tools
    assert tools["x"] + tools["width"] <= width
    others = reader.page.locator(
        '[data-testid="stTopNavLink"], [data-testid="stMainMenuButton"], .st-key-bar-fields, '
        '[data-testid="stExpandSidebarButton"], [data-testid="stHeaderLogo"]'
    )
    for place in range(others.count()):
        box = others.nth(place).bounding_box()
        if not box or not box["width"]:
            continue
        beside = box["x"] >= tools["x"] + tools["width"] or box["x"] + box["width"] <= tools["x"]
        below = box["y"] >= tools["y"] + tools["height"]
        assert beside or below, others.nth(place).evaluate("node => node.outerHTML.slice(0, 200)")


RINGED = """() => [...document.querySelectorAll("*")]
    .flatMap(each => [each, ...(each.shadowRoot?.querySelectorAll("*") ?? [])])
    .filter(each => each.matches(":focus-visible")).map(each => each.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("clicked", ["nothing", "canvas", "button"])
def test_no_ring_frames_what_was_clicked_when_the_page_takes_the_stage(
    visitor: Callable[..., HeadsPage], clicked: str
) -> None:
    reader = visitor()
    stage = StagePage(reader)
    reader.open()
    match clicked:
        case "canvas":
            # Within one component, where the page hears nothing of a focus that moves.
            reader.overview.focus()
            reader.matrix.click()
        case "button":
            reader.control("Options").click()
        case _:
            # In the margin, which lies on the page's container: it scrolls, and can have the focus.
            reader.page.mouse.click(VIEWPORT["width"] - 20, VIEWPORT["height"] / 2)
            assert reader.page.evaluate("document.activeElement.dataset.testid") == "stMain"
    stage.press("p")
    expect(stage.foot).to_be_visible()
    stage.settle()
    assert reader.page.evaluate(RINGED) == []
    reader.matrix.click()
    stage.press("ArrowRight")
    stage.settle()
    assert reader.page.evaluate(RINGED) == []
    stage.press("Tab")
    assert len(reader.page.evaluate(RINGED)) >= 1
    width = reader.page.evaluate("parseFloat(getComputedStyle(window.focused()).outlineWidth)")
    assert width >= 2


def test_f_fills_the_screen_and_escape_leaves_that_first(stage: StagePage) -> None:
    stage.open()
    is_full = "document.fullscreenElement !== null"
    stage.press("f")
    stage.page.wait_for_function(f"() => {is_full}")
    stage.press("Escape")
    stage.page.wait_for_function(f"() => !({is_full})")
    expect(stage.foot).to_be_visible()
    stage.press("Escape")
    expect(stage.foot).to_have_count(0)


# ---- what is seen -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def _walking(lending: Lending) -> Iterator[StagePage]:
    with lending.reader() as reader:
        yield StagePage(reader)


@pytest.fixture
def walking(_walking: StagePage, watch: Watch) -> Iterator[StagePage]:
    """A reader at 1280 × 800 who walks from view to view."""
    yield _walking
    _walking.page.set_viewport_size(VIEWPORT)


TOKENS = {"heatmap": {}, "lines": {"view": "lines"}, "joint": {"attention": "joint"}}
"""Queries of the heads page, by the picture that they show."""


@pytest.mark.parametrize("picture", TOKENS)
def test_tokens_reach_the_back_row(visitor: Callable[..., HeadsPage], picture: str) -> None:
    stage = StagePage(visitor(viewport={"width": 1920, "height": 1080}))
    stage.open(sentence=SENTENCE, **TOKENS[picture])
    # The picture may come before the room that it is given, and grows into it.
    stage.page.wait_for_function(
        """large => {
            const here = window.written.filter(each => each.node.isConnected);
            const tokens = here.filter(each => each.text === "cat");
            return tokens.length > 0 && tokens.every(each => each.size >= large);
        }""",
        arg=LARGE,
    )


def test_the_foot_says_what_is_shown_and_of_which_sentence(
    walking: StagePage, model: Translator
) -> None:
    walking.walk(sentence=SENTENCE, layer="1", head="2")
    expect(walking.shown).to_contain_text(title("cross", 1, 2))
    translation = model.translate(SENTENCE).text
    expect(walking.sentence).to_have_text(f"{SENTENCE}→{translation}")
    help = walking.page.locator(".stage-foot .help")
    expect(help).to_contain_text("layer and head")
    expect(help).to_contain_text("Esc: back")


def test_the_audience_sees_the_keys_only_when_the_speaker_asks(stage: StagePage) -> None:
    stage.open(layer="0", head="5")
    help = stage.page.locator(".stage-foot .help")
    expect(help).to_contain_text("Esc: back")
    expect(help).to_be_hidden()
    stage.page.mouse.move(300, 300)
    stage.page.mouse.move(320, 310)
    stage.page.keyboard.press("ArrowRight")
    expect(stage.shown).to_contain_text("head 6")
    expect(help).to_be_hidden()
    stage.page.keyboard.press("?")
    expect(help).to_be_visible()


BACK_ROW = 26
"""Pixels of 1080: a fortieth of the screen's height."""

TEXTS = """() => {
  const found = {};
  const look = (root) => {
    for (const each of root.querySelectorAll("*")) {
      if (each.shadowRoot) look(each.shadowRoot);
      if (!each.matches(".scene-title, .shown, .sentence, .said, .written, .read")) continue;
      const { fontSize, color } = getComputedStyle(each);
      if (!each.textContent || !each.offsetHeight) continue;
      found[each.className] = [parseFloat(fontSize), color];
    }
  };
  look(document);
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_captions_on_stage_are_read_from_the_back_row(
    visitor: Callable[..., HeadsPage], scheme: str
) -> None:
    reader = visitor(viewport={"width": 1920, "height": 1080}, color_scheme=scheme)
    reader.page.goto(f"{reader.url}/?present=1&scene=1&moment=1")
    reader.page.locator(".model-view[data-state]").wait_for(timeout=LOADING)
    expect(reader.page.locator(".shown")).not_to_be_empty()
    texts = reader.page.evaluate(TEXTS)
    assert {"shown", "sentence", "said", "written", "read"} <= set(texts)
    ground = reader.page.evaluate(
        "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    )
    for name, (size, color) in texts.items():
        assert size >= BACK_ROW, name
        low, high = sorted(themes.luminance(as_hex(each)) for each in (color, ground))
        assert (high + 0.05) / (low + 0.05) >= 7, name


def as_hex(color: str) -> str:
    """A colour as the browser writes it: rgb(11, 15, 20)."""
    return "#" + "".join(f"{int(channel):02x}" for channel in re.findall(r"\d+", color)[:3])


def test_no_caption_on_stage_is_cut(stage: StagePage) -> None:
    stage.open(layer="0", head="5")
    stage.page.evaluate(
        """() => document.dispatchEvent(new CustomEvent("headscope-shown",
            {detail: {text: "Cross-attention, layer 0, head 5, ".repeat(4), map: null}}))"""
    )
    expect(stage.shown).to_contain_text("head 5, Cross")
    assert stage.shown.evaluate("node => node.scrollWidth <= node.clientWidth")
    foot, shown, sentence = (
        each.bounding_box() for each in (stage.foot, stage.shown, stage.sentence)
    )
    assert foot is not None
    assert shown is not None
    assert sentence is not None
    assert foot["y"] <= shown["y"]
    assert sentence["y"] + sentence["height"] <= foot["y"] + foot["height"]


def test_hostile_text_stays_text_in_the_foot(walking: StagePage) -> None:
    walking.walk(sentence=SENTENCE, target=HOSTILE)
    expect(walking.sentence).to_have_text(f"{SENTENCE}→{HOSTILE}")
    assert walking.sentence.locator("img, b, em, a").count() == 0


# ---- the keys ---------------------------------------------------------------------------------


def test_arrow_keys_choose_a_head_without_the_server(walking: StagePage) -> None:
    walking.walk(layer="0", head="0")
    page = walking.page
    page.evaluate("window.held = []")
    walking.press("ArrowLeft")
    walking.press("ArrowUp")
    assert walking.reader.selected == ("cross", 0, 0), "nothing goes round"
    walking.press("ArrowRight")
    walking.press("ArrowDown")
    assert walking.reader.selected == ("cross", 1, 1)
    expect(walking.shown).to_contain_text(title("cross", 1, 1))
    walking.press("a")
    assert walking.reader.painted["attention"] != "cross"
    page.evaluate("window.release()")
    walking.reader.wait_for_query(layer="1", head="1")


def test_arrow_keys_choose_a_head_wherever_the_focus_is(walking: StagePage) -> None:
    walking.walk(layer="0", head="0")
    walking.reader.matrix.click(position={"x": 5, "y": 5})
    walking.press("ArrowRight")
    assert walking.reader.selected == ("cross", 0, 1)
    walking.page.locator(".stage-foot .full").focus()
    walking.press("ArrowDown")
    assert walking.reader.selected == ("cross", 1, 1)


def test_keys_lead_through_the_masks_and_nothing_of_the_page_flashes_up(stage: StagePage) -> None:
    stage.open("masks", part="inside", masked="decoder", layer="0", head="0")
    stage.page.evaluate(
        f"""() => {{
            window.flashes = [];
            const look = () => {{
                window.flashes.push(...({CHROME})());
                requestAnimationFrame(look);
            }};
            look();
        }}"""
    )
    for key, wanted in {
        "ArrowDown": {"layer": "1"},
        "ArrowRight": {"head": "1"},
        "v": {"part": None},
    }.items():
        stage.press(key)
        stage.reader.wait_for_query(**wanted)
    stage.settle()
    assert stage.page.evaluate("window.flashes") == []


def test_quick_presses_are_all_heard(walking: StagePage) -> None:
    walking.walk("positions", topic="table")
    # What the foot says is what the keys stand for; the address may come before it.
    expect(walking.shown).to_have_text("The table: this sentence")
    for _ in range(3):
        walking.press("ArrowRight")
    expect(walking.shown).to_have_text("100% of the encoding")
    walking.reader.wait_for_query(topic="without")
    for _ in range(4):
        walking.press("ArrowDown")
    walking.reader.wait_for_query(scale="60")
    expect(walking.shown).to_have_text("60% of the encoding")


def test_no_press_is_done_again_for_a_server_that_was_started_anew(
    browser: Browser, checkpoints: Path
) -> None:
    port, environment = free_port(), {CHECKPOINTS_VARIABLE: str(checkpoints)}
    context = browser.new_context(viewport=VIEWPORT)
    context.set_default_timeout(MILLISECONDS)
    context.add_init_script(NOTES_RECONNECTING)
    with serve("app.py", environment, port=port) as server:
        stage = StagePage(HeadsPage(context.new_page(), server.url))
        stage.open("positions", topic="table")
        for _ in range(3):
            stage.press("ArrowRight")
        stage.reader.wait_for_query(topic="without")
        stage.settle()
        # As the switch of the Share panel has the window keep it.
        stage.page.evaluate("sessionStorage.setItem('headscope-followed', 'ab'.repeat(16))")
    with serve("app.py", environment, port=port):
        stage.page.wait_for_function("() => window.ranAgain")
        stage.settle()
        stage.press("ArrowDown")
        stage.reader.wait_for_query(topic="without", scale="90")
        expect(stage.shown).to_have_text("90% of the encoding")
        # Phones go on under the code that they have.
        code = hashlib.blake2b(("ab" * 16).encode(), digest_size=8).hexdigest()
        stage.page.wait_for_function(
            """async (code) => {
              const found = await fetch(`site/speaker/${code}.json`);
              return found.ok && (await found.json()).query.scale === "90";
            }""",
            arg=code,
        )
    context.close()


@pytest.mark.parametrize(
    ("page", "asked"),
    [
        ("heads", {"order": "none", "scene": "2"}),
        ("masks", {"layer": "x", "talk": "01234567"}),
        ("decoding", {"talk": "01234567"}),
        ("positions", {"topic": "shuffle", "shuffled": "1.0", "scale": "x"}),
    ],
)
def test_what_is_said_of_the_address_covers_no_picture(
    stage: StagePage, page: str, asked: dict[str, str]
) -> None:
    stage.open(page, **asked)
    notices = stage.page.locator(".st-key-notices, [data-testid=stMain] [data-testid=stAlert]")
    expect(notices.first).to_be_visible()
    stage.page.wait_for_function(
        """() => {
          const box = (each) => each.getBoundingClientRect();
          const [foot] = [...document.querySelectorAll("*")].flatMap(
            (each) => [...(each.shadowRoot?.querySelectorAll(".stage-foot") ?? [])]);
          const picture = document.querySelector(".st-key-picture");
          const within = [picture, ...picture.querySelectorAll("*")].flatMap((each) =>
            [...(each.shadowRoot?.querySelectorAll("canvas, .legend, .candidates") ?? [])])
            .filter((each) =>
              each.checkVisibility({ visibilityProperty: true, opacityProperty: true }));
          const said = [...document.querySelectorAll(
            ".st-key-notices, .st-key-notices button, [data-testid=stMain] [data-testid=stAlert]")];
          const lowest = Math.max(...said.map((each) => box(each).bottom));
          const shown = within.map(box).filter(({ height }) => height);
          return lowest > 0 && box(picture).top >= lowest
            && shown.every(({ top, bottom }) => top >= lowest && bottom <= box(foot).top + 1);
        }"""
    )


def test_a_mask_is_painted_on_stage(walking: StagePage) -> None:
    walking.walk("masks", part="change", masked="decoder")
    canvas = walking.page.locator("canvas.editable")
    box = canvas.bounding_box()
    assert box
    canvas.click(position={"x": 0.9 * box["width"], "y": 0.6 * box["height"]})
    walking.page.wait_for_function("() => new URLSearchParams(location.search).get('edit')")


def test_a_text_on_stage_is_scrolled_with_the_arrow_keys(walking: StagePage) -> None:
    walking.walk("about")
    scrolled = """document.querySelector('[data-testid="stMain"]').scrollTop"""
    walking.press("ArrowDown")
    walking.page.wait_for_function(f"() => {scrolled} > 100")


def test_brackets_lead_through_the_training(walking: StagePage, checkpoints: Path) -> None:
    *_, before, last = steps = snapshots(checkpoints / CHILDHOOD)
    walking.walk(sentence=SENTENCE, checkpoint=CHILDHOOD)
    expect(walking.sentence).to_contain_text(f"after {last:,} of {last:,} steps")
    walking.press("[")
    walking.reader.wait_for_query(step=str(before))
    walking.press("Shift+ArrowLeft")
    walking.reader.wait_for_query(step=str(steps[-3]))
    walking.press("]")
    walking.press("]")
    walking.reader.wait_for_query(step=None)
    expect(walking.sentence).to_contain_text(f"after {last:,} of {last:,} steps")
