"""A talk in a real browser: stepped through with keys alone, its notes, and where it is kept."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.kit.heads_page import LOADING, SLOWDOWN, HeadsPage, path_of, wait_until_calm
from viz.talk import scenes, talk_reader
from viz.talk.scene_panel import SAVE_VIEW
from viz.talk.scenes import Scene, Talk

READY = talk_reader.parse(
    (Path(scenes.__file__).with_name("talks") / "attention-in-twelve-scenes.json").read_bytes()
)
SHIPPED = Path(__file__).parents[2] / "checkpoints" / "en-de"
HOSTILE = "<img src=x onerror=alert(1)> <script>alert(2)</script> **b** $x$"

COLOURS = 40
"""How many colours a picture has at least; an empty page has fewer."""

pytestmark = pytest.mark.skipif(
    not SHIPPED.is_dir(), reason="the shipped checkpoint en-de is not here"
)


class TalkPage:
    """A browser's page that shows a talk."""

    def __init__(self, reader: HeadsPage) -> None:
        self.reader = reader
        self.page = reader.page
        self.title = self.page.locator(".scene-title")
        self.rows = self.page.locator('[class*="st-key-talks-go-"] button')

    def open(self, **query: str) -> TalkPage:
        self.reader.open(**query)
        return self

    def settle(self) -> None:
        """Waits until nothing runs and nothing old stands."""
        wait_until_calm(self.page)

    def press(self, key: str, scene: int, talk: Talk = READY) -> None:
        """Presses a key and waits until the scene stands."""
        self.page.keyboard.press(key)
        self.wait_for(scene, talk)

    def wait_for(self, scene: int, talk: Talk = READY) -> None:
        expect(self.title).to_have_text(talk.scenes[scene - 1].title)
        self.reader.wait_for_query(scene=str(scene))
        self.settle()

    def open_panel(self) -> None:
        if not self.page.locator(".st-key-talks-panel").count():
            self.page.get_by_role("button", name="Scenes").click()
        expect(self.page.get_by_role("button", name="Save this view")).to_be_visible()

    def save(self, title: str, note: str) -> None:
        """Saves what is shown as a scene."""
        self.page.get_by_role("button", name=SAVE_VIEW).click()
        self.page.get_by_label("Title of the scene").fill(title)
        self.page.get_by_label("Note, for the speaker").fill(note)
        self.page.get_by_role("button", name="Save scene").click()
        expect(self.page.get_by_role("button", name=SAVE_VIEW)).to_be_visible()
        self.settle()

    def upload(self, name: str, data: bytes) -> None:
        self.page.locator('.st-key-talks-panel input[type="file"]').set_input_files(
            {"name": name, "mimeType": "application/json", "buffer": data}
        )

    def open_notes(self) -> Page:
        self.open_panel()
        with self.page.context.expect_page() as opened:
            self.page.get_by_role("button", name="Speaker notes").click()
        return opened.value


NOTES = Path(__file__).parents[2] / "viz" / "browser" / "model_view" / "walk" / "notes.json"
"""What a speaker may say at each stop of the walk."""


@pytest.fixture
def talk(visitor: Callable[..., HeadsPage]) -> TalkPage:
    return TalkPage(visitor())


def wait_for_picture(talk: TalkPage) -> None:
    """Waits until the page's own picture is painted."""
    talk.page.wait_for_function(
        """() => {
            const drawn = (root) => [...root.querySelectorAll("*")].some((each) =>
                each.dataset?.painted
                || each.matches(".js-plotly-plot .main-svg, .model-view[data-state]")
                || (each.shadowRoot && drawn(each.shadowRoot)));
            return drawn(document);
        }""",
        timeout=LOADING,
    )
    talk.settle()


def test_a_talk_that_is_begun_from_its_panel_stands_free_and_one_escape_ends_it(
    talk: TalkPage,
) -> None:
    talk.open()
    talk.open_panel()
    talk.page.get_by_role("button", name="Present from scene 1").click()
    talk.wait_for(1)
    expect(talk.page.locator(".st-key-talks-panel")).to_have_count(0)
    talk.page.keyboard.press("Escape")
    talk.reader.wait_for_query(present=None)


def test_buttons_of_the_panel_are_not_cut_on_a_laptop(visitor: Callable[..., HeadsPage]) -> None:
    talk = TalkPage(visitor(viewport={"width": 1280, "height": 800})).open()
    talk.open_panel()
    panel = talk.page.locator(".st-key-talks-panel")
    read = panel.get_by_role("button", name=re.compile(r"\bRead\b"))
    for button in read.all():
        text = button.locator("p").first
        assert text.evaluate(
            """text => {
                const range = document.createRange();
                range.selectNodeContents(text);
                const [words, box] = [range, text.closest("button")].map(
                    each => each.getBoundingClientRect());
                return words.left >= box.left && words.right <= box.right
                    && text.scrollWidth <= text.clientWidth + 1;
            }"""
        ), button.inner_text()
    assert read.count()


def test_a_keyboard_is_where_the_panel_has_something_new(talk: TalkPage) -> None:
    talk.open()
    page = talk.page
    page.get_by_role("button", name="Scenes").press("Enter")
    expect(page.get_by_role("button", name="Present from scene 1")).to_be_focused()
    page.get_by_role("button", name=SAVE_VIEW).press("Enter")
    expect(page.get_by_label("Title of the scene")).to_be_focused()
    page.get_by_role("button", name="Cancel").press("Enter")
    expect(page.get_by_role("button", name=SAVE_VIEW)).to_be_focused()
    page.get_by_role("button", name="Change scene 2").click()
    page.get_by_role("menuitem", name="Edit").click()
    expect(page.get_by_label("Title of scene 2")).to_be_focused()
    page.get_by_role("button", name="Cancel").press("Enter")
    expect(page.get_by_role("button", name="Change scene 2")).to_be_focused()


def test_the_title_stands_over_its_own_view_alone(talk: TalkPage) -> None:
    scene = READY.scenes[2]
    talk.open(present="1", scene="3", **scene.view)
    talk.wait_for(3)
    left = f"Left the scene “{scene.title}”"
    talk.page.keyboard.press("ArrowRight")
    expect(talk.title).to_have_text(left)
    talk.page.keyboard.press("ArrowLeft")
    expect(talk.title).to_have_text(scene.title)
    talk.page.keyboard.press("ArrowDown")
    expect(talk.title).to_have_text(left)
    talk.press("3", 3)
    talk.open(present="1", scene="1")
    expect(talk.title).to_have_text(f"Left the scene “{READY.scenes[0].title}”")
    # Never in between: what stands while the next scene comes is the one before it.
    talk.page.evaluate(
        """() => {
            window.titles = [];
            const look = () => {
                for (const host of document.querySelectorAll("*")) {
                    const title = host.shadowRoot?.querySelector(".scene-title");
                    if (title) window.titles.push(title.textContent);
                }
                requestAnimationFrame(look);
            };
            look();
        }"""
    )
    talk.press("1", 1)
    talk.press("6", 6)
    talk.press("2", 2)
    first, *_, last = talk.page.evaluate("window.titles")
    assert (first, last) == (f"Left the scene “{READY.scenes[0].title}”", READY.scenes[1].title)
    seen = set(talk.page.evaluate("window.titles")) - {first}
    assert seen == {READY.scenes[at].title for at in (0, 5, 1)}


@pytest.mark.slow
def test_the_talk_is_given_from_end_to_end_with_keys_alone(talk: TalkPage, tmp_path: Path) -> None:
    talk.open()
    talk.page.keyboard.press("p")
    talk.reader.wait_for_query(present="1")
    talk.settle()
    seen: list[Any] = []
    for number, scene in enumerate(READY.scenes, 1):
        talk.press("PageDown", number)
        wait_for_picture(talk)
        expect(talk.title).to_have_text(scene.title)
        expect(talk.reader.alerts).to_have_count(0)
        for name, value in scene.view.items():
            assert talk.reader.query[name] == value
        assert talk.reader.query["present"] == "1"
        shot = talk.page.screenshot(path=tmp_path / f"scene-{number:02d}.png")
        image = Image.open(io.BytesIO(shot)).convert("RGB")
        assert image.getcolors(COLOURS) is None, "there are few colours, as on an empty page"
        picture = np.asarray(image)
        assert all(not np.array_equal(picture, other) for other in seen)
        seen.append(picture)
    talk.page.keyboard.press("PageDown")
    talk.wait_for(12)
    talk.page.keyboard.press("Escape")
    talk.reader.wait_for_query(present=None)
    expect(talk.title).to_have_count(0)


def test_keys_pressed_faster_than_scenes_are_drawn_are_all_counted(talk: TalkPage) -> None:
    """The talk's scenes are on five pages, and Streamlit forgets what is told while one opens."""
    talk.open(present="1")
    talk.press("1", 1)
    for key, end in (("PageDown", 12), ("PageUp", 1)):
        for _ in range(11):
            talk.page.keyboard.press(key)
        talk.wait_for(end)


def test_off_stage_the_keys_do_what_they_always_do(talk: TalkPage) -> None:
    talk.open()
    talk.page.evaluate(
        """() => window.addEventListener("keydown", (event) => {
            window.taken = event.defaultPrevented;
        })"""
    )
    for key in ("PageDown", " ", "7"):
        talk.page.keyboard.press(key)
        assert talk.page.evaluate("window.taken") is False
    talk.page.keyboard.press("5")
    talk.reader.type("sentence", "1 2 n b 3")
    talk.reader.wait_for_query(sentence="1 2 n b 3", scene=None)


def test_a_scene_is_painted_soon_after_its_key(talk: TalkPage) -> None:
    talk.open(present="1")
    talk.press("2", 2)
    talk.press("3", 3)
    talk.page.evaluate(
        """() => {
            window.begun = performance.now();
            const before = window.headsView().dataset.painted;
            const seen = new MutationObserver(() => {
                if (window.headsView().dataset.painted === before) return;
                window.took = performance.now() - window.begun;
                seen.disconnect();
            });
            seen.observe(window.headsView(), { attributeFilter: ["data-painted"] });
        }"""
    )
    talk.press("2", 2)
    # About 60 ms on an idle machine; this says no more than that nothing waits for a second run.
    assert talk.page.evaluate("window.took") < 1500 * SLOWDOWN


def test_a_reload_in_the_midst_of_a_talk_comes_back_to_its_scene(talk: TalkPage) -> None:
    talk.open(present="1")
    talk.press("4", 4)
    talk.page.reload(timeout=LOADING)
    talk.wait_for(4)
    talk.press("PageDown", 5)


@pytest.mark.parametrize("way", ["key", "notes"])
def test_back_is_the_scene_before(talk: TalkPage, way: str) -> None:
    talk.open()
    keys = (talk.page if way == "key" else talk.open_notes()).keyboard
    talk.open_panel()
    talk.page.get_by_role("button", name="Present from scene 1").click()
    talk.wait_for(1)
    # The second is on the same page, the others on two more, and the last on the first again.
    ways = (1, 2, 6, 8, 4)
    for scene in ways[1:]:
        keys.press(str(scene))
        talk.wait_for(scene)
    for scene in ways[-2::-1]:
        talk.page.go_back()
        talk.wait_for(scene)
    for scene in ways[1:]:
        talk.page.go_forward()
        talk.wait_for(scene)


def test_the_notes_follow_the_talk_and_drive_it(talk: TalkPage) -> None:
    talk.open()
    notes = talk.open_notes()
    expect(notes.locator("#place")).to_have_text("No scene yet; the talk has 12")
    expect(notes.locator("#next")).to_have_text(f"Next: {READY.scenes[0].title}")
    talk.page.get_by_role("button", name="Present from scene 1").click()
    talk.wait_for(1)
    expect(notes.locator("#place")).to_have_text("Scene 1 of 12")
    expect(notes.locator("#note")).to_have_text(READY.scenes[0].note)
    expect(notes.locator("#next-note")).to_have_text(READY.scenes[1].note)
    ahead = notes.frame_locator("#headscope-ahead")
    expect(ahead.locator(".stage-foot .shown")).to_contain_text("Cross-attention, layer 0, head 5")
    notes.keyboard.press("PageDown")
    talk.wait_for(2)
    expect(notes.locator("#title")).to_have_text(READY.scenes[1].title)
    expect(ahead.locator(".stage-foot .shown")).to_contain_text("Encoder self-attention")
    notes.keyboard.press("5")
    talk.wait_for(5)
    # Now the next one is on another page.
    expect(ahead.locator(".headscope.matrices")).to_be_visible()
    talk.page.keyboard.press("ArrowRight")
    expect(notes.locator("#away")).not_to_be_empty()
    notes.get_by_role("button", name="Back").click()
    talk.wait_for(4)
    talk.page.keyboard.press("0")
    talk.wait_for(10)
    for number in (11, 12):
        notes.keyboard.press("PageDown")
        talk.wait_for(number)
    expect(notes.locator("#next")).to_have_text("End of talk")
    expect(notes.locator("#next-note")).to_be_empty()
    expect(notes.locator("#next-picture")).to_be_hidden()
    expect(notes.get_by_role("button", name="Next")).to_be_disabled()
    expect(notes.locator("#time")).to_have_text(re.compile(r"^\d+:\d\d$"))
    # What the speaker reads stands nowhere in the window that is projected.
    assert READY.scenes[11].note not in talk.page.content()


def test_the_notes_follow_the_walk_and_lead_along_it(talk: TalkPage) -> None:
    talk.reader.walk("", sentence="The cat sat on the mat.", present="1", moment="999")
    wait_for_picture(talk)
    with talk.page.context.expect_page() as opened:
        talk.page.keyboard.press("s")
    notes = opened.value
    expect(notes.locator("#place")).to_have_text("No scene yet; the talk has 12")
    expect(talk.page.locator(".stage-foot .help")).to_contain_text("W: walk")
    talk.page.keyboard.press("w")
    spoken = json.loads(NOTES.read_text(encoding="utf-8"))
    expect(notes.locator("#place")).to_have_text(re.compile(r"^Stop 1 of \d+ of the walk$"))
    expect(notes.locator("#note")).to_have_text(spoken["tokens"])
    expect(notes.locator("#next-note")).to_have_text(spoken["numbers"])
    expect(notes.get_by_role("button", name="Back")).to_be_disabled()
    notes.get_by_role("button", name="Next").click()
    expect(notes.locator("#note")).to_have_text(spoken["numbers"])
    talk.page.keyboard.press("PageDown")
    expect(notes.locator("#note")).to_have_text(spoken["heads"])
    talk.reader.wait_for_query(walk="3")
    expect(talk.page.locator(".stage-foot .shown")).to_have_text("Encoder self-attention, layer 0")
    # Who walks is not invited to.
    expect(talk.page.locator(".trail .ways")).not_to_contain_text("walk", ignore_case=True)
    talk.page.keyboard.press("Escape")
    expect(notes.locator("#place")).to_have_text("No scene yet; the talk has 12")
    talk.reader.wait_for_query(walk=None)
    notes.keyboard.press("PageDown")
    talk.wait_for(1)


def test_the_notes_outlive_a_reload_of_the_talk(talk: TalkPage) -> None:
    talk.open()
    notes = talk.open_notes()
    talk.page.get_by_role("button", name="Present from scene 1").click()
    talk.wait_for(1)
    talk.page.reload(timeout=LOADING)
    talk.wait_for(1)
    expect(notes.locator("#place")).to_have_text("Scene 1 of 12")
    notes.keyboard.press(" ")
    talk.wait_for(2)
    # The key on stage brings the same window up again and opens no other.
    talk.page.keyboard.press("s")
    talk.press("3", 3)
    expect(notes.locator("#title")).to_have_text(READY.scenes[2].title)
    assert len(talk.page.context.pages) == 2


def test_a_talk_of_ones_own_is_there_again_after_a_reload(talk: TalkPage) -> None:
    talk.open(head="3", layer="1")
    talk.open_panel()
    talk.save("Mine, all mine", "Say this.")
    expect(talk.rows).to_have_text(["1. Mine, all mine"])
    talk.settle()
    talk.page.reload(timeout=LOADING)
    talk.open_panel()
    expect(talk.rows).to_have_text(["1. Mine, all mine"])
    (kept,) = talk.page.evaluate("Object.entries(localStorage).filter(([n]) => n.includes('talk'))")
    scene = talk_reader.parse(kept[1].encode()).scenes[-1]
    assert (scene.note, scene.view["layer"], scene.view["head"]) == ("Say this.", "1", "3")


def test_a_scene_is_dragged_and_moved_with_keys(talk: TalkPage) -> None:
    talk.open()
    talk.open_panel()
    talk.settle()
    first, second, third = (scene.title for scene in READY.scenes[:3])
    handles = talk.page.locator(".handles button")
    at, to = handles.nth(0).bounding_box(), handles.nth(2).bounding_box()
    assert at
    assert to
    talk.page.mouse.move(at["x"] + 5, at["y"] + 5)
    talk.page.mouse.down()
    talk.page.mouse.move(at["x"] + 5, to["y"] + 0.8 * to["height"], steps=5)
    expect(talk.page.locator(".handles .line")).to_be_visible()
    talk.page.mouse.up()
    expect(talk.rows.nth(2)).to_have_text(f"3. {first}")
    expect(handles.nth(2)).to_be_focused()
    # Faster than the app answers.
    for key in ("ArrowUp", "ArrowUp", "ArrowDown"):
        talk.page.keyboard.press(key)
    expect(talk.rows.nth(0)).to_have_text(f"1. {second}")
    expect(talk.rows.nth(1)).to_have_text(f"2. {first}")
    expect(talk.rows.nth(2)).to_have_text(f"3. {third}")
    expect(talk.page.locator(".handles .spoken")).to_have_text(f"{first}: now scene 2 of 12")
    # The talk that comes with the app has become one of one's own, and only one.
    talk.page.wait_for_function(
        "() => Object.keys(localStorage).filter(n => n.includes('talk-')).length === 1"
    )


def test_a_deleted_talk_is_gone_from_the_browser(talk: TalkPage) -> None:
    talk.open()
    talk.open_panel()
    talk.page.get_by_role("button", name="New talk").click()
    talk.page.wait_for_function("() => Object.keys(localStorage).some(n => n.includes('talk-'))")
    talk.page.get_by_role("button", name="Edit talk").click()
    talk.page.get_by_role("menuitem", name="Delete").click()
    talk.page.wait_for_function("() => !Object.keys(localStorage).some(n => n.includes('talk-'))")
    expect(talk.rows).to_have_count(12)


def test_a_talk_is_downloaded_edited_by_hand_and_opened_again(talk: TalkPage) -> None:
    talk.open()
    talk.open_panel()
    with talk.page.expect_download() as download:
        talk.page.get_by_role("button", name="Download the talk").click()
    assert download.value.suggested_filename == "attention-in-twelve-scenes.json"
    written = download.value.path().read_bytes()
    assert talk_reader.parse(written) == READY
    told = json.loads(written)
    told["title"] = "By hand"
    told["scenes"] = told["scenes"][1:3]
    told["scenes"][0]["view"]["layer"] = 2
    talk.upload("by-hand.json", json.dumps(told).encode())
    expect(talk.rows).to_have_count(2)
    talk.rows.first.click()
    talk.reader.wait_for_query(layer="2", scene="1")


def test_fifty_megabytes_are_refused(talk: TalkPage, tmp_path: Path) -> None:
    talk.open()
    talk.open_panel()
    large = tmp_path / "large.json"
    large.write_bytes(b"[" * 50_000_000)
    talk.page.locator('.st-key-talks-panel input[type="file"]').set_input_files(large)
    expect(talk.page.locator(".st-key-talks-panel")).to_contain_text("must be 1.0MB or smaller")
    expect(talk.rows).to_have_count(12)


def test_markup_in_a_title_is_shown_as_plain_text_everywhere(talk: TalkPage) -> None:
    hostile = Talk(HOSTILE, (Scene(HOSTILE, HOSTILE, "heads"), Scene(HOSTILE, "", "about")))
    talk.open()
    talk.open_panel()
    talk.upload("hostile.json", scenes.write(hostile).encode())
    expect(talk.rows).to_have_count(2)
    shown = talk.rows.first.inner_text().replace("\u2060", "")
    assert shown == f"1. {HOSTILE}"
    notes = talk.open_notes()
    talk.page.get_by_role("button", name="Present from scene 1").click()
    talk.wait_for(1, hostile)
    for place in ("#title", "#note"):
        expect(notes.locator(place)).to_have_text(HOSTILE)
    expect(notes.locator("#next")).to_have_text(f"Next: {HOSTILE}")
    for page in (talk.page, notes):
        assert page.locator('img[src="x"]').count() == 0


# ---- touch ---------------------------------------------------------------------------------------

UPRIGHT, SIDEWAYS = {"width": 390, "height": 844}, {"width": 844, "height": 390}
PHONE = "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"
KEYS = re.compile(r"Page Down|Page Up|Arrow|Esc|\bF\b|\bP\b|Space")


@pytest.fixture
def phone(visitor: Callable[..., HeadsPage]) -> TalkPage:
    return TalkPage(visitor(viewport=UPRIGHT, has_touch=True, is_mobile=True, user_agent=PHONE))


def swipe(talk: TalkPage, across: int, down: int = 0) -> None:
    """Draws a finger over the middle of the window, so many pixels."""
    size = talk.page.viewport_size
    assert size
    x, y = size["width"] / 2 - across / 2, size["height"] / 2 - down / 2
    touch = talk.page.context.new_cdp_session(talk.page)

    began = time.time()

    def send(kind: str, at: float, *points: dict[str, float]) -> None:
        event = {"type": kind, "touchPoints": list(points), "timestamp": began + at}
        touch.send("Input.dispatchTouchEvent", event)

    send("touchStart", 0, {"x": x, "y": y})
    # It rests before it is lifted: after a fling the browser takes the next tap as its end.
    for at, part in ((0.05, 0.3), (0.1, 0.6), (0.15, 1), (0.4, 1)):
        send("touchMove", at, {"x": x + part * across, "y": y + part * down})
    send("touchEnd", 0.45)


def test_a_talk_is_given_by_touch_alone(phone: TalkPage) -> None:
    phone.open()
    phone.page.get_by_role("button", name="Scenes").tap()
    expect(phone.page.locator(".st-key-talks-panel")).to_contain_text("swipe left")
    assert not KEYS.search(phone.page.locator(".st-key-talks-panel").inner_text())
    phone.page.get_by_role("button", name="Present from scene 1").tap()
    phone.wait_for(1)
    swipe(phone, -120)
    phone.wait_for(2)
    phone.page.get_by_role("button", name="Next scene").tap()
    phone.wait_for(3)
    # Neither a scroll nor a tap is a swipe; the swipe after them is.
    swipe(phone, -70, 200)
    swipe(phone, 5)
    swipe(phone, 120)
    phone.wait_for(2)
    phone.page.get_by_role("button", name="Previous scene").tap()
    phone.wait_for(1)
    expect(phone.page.get_by_role("button", name="Previous scene")).to_be_disabled()
    assert not KEYS.search(phone.page.locator("body").inner_text())
    for name in ("Next scene", "Full screen"):
        box = phone.page.get_by_role("button", name=name).bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 44
    phone.page.get_by_role("button", name="Back").tap()
    phone.reader.wait_for_query(present=None)


def test_a_title_takes_two_lines_on_a_phone_and_the_picture_begins_below(phone: TalkPage) -> None:
    longest = max(range(12), key=lambda at: len(READY.scenes[at].title))
    scene = READY.scenes[longest]
    query = urlencode({**scene.view, "present": "1", "scene": str(longest + 1)})
    phone.page.goto(f"{phone.reader.url}/{path_of(scene.page)}?{query}", timeout=LOADING)
    phone.wait_for(longest + 1)
    fits = "node => node.scrollHeight <= node.clientHeight + 1 && node.clientWidth <= innerWidth"
    assert phone.title.evaluate(fits)
    title = phone.title.bounding_box()
    picture = phone.page.locator(".st-key-picture").bounding_box()
    assert title
    assert picture
    line = phone.title.evaluate("node => parseFloat(getComputedStyle(node).lineHeight)")
    assert title["height"] > 2 * line
    assert picture["y"] >= title["y"] + title["height"] - 1


def test_on_a_phone_the_picture_comes_first_and_the_rest_unfolds(phone: TalkPage) -> None:
    page = phone.page
    phone.open()
    for size in (UPRIGHT, SIDEWAYS):
        page.set_viewport_size(size)
        phone.settle()
        expect(page.get_by_text("Whole words")).to_be_hidden()
        top = phone.reader.overview.bounding_box()
        assert top
        assert top["y"] < min(size["height"] - 100, 500)
    with phone.reader.asked():
        expect(phone.reader.field("target")).to_be_visible()
    page.get_by_role("button", name="Options").tap()
    expect(page.get_by_text("Whole words")).to_be_visible()
