"""Sharing in a real browser: the panel, the clipboard, the code as a phone sees it, the link."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.kit.heads_page import (
    LOADING,
    SHORTLY,
    HeadsPage,
    pictures,
    same_pictures,
    wait_until_calm,
)
from tests.kit.running_app import NAMED
from viz.shell import share as links
from viz.shell import share_panel

Visitor = Callable[..., HeadsPage]

HOSTILE = "Die Straße & the+cat #1 = 50 % <b>🐈</b> القط"

VIEWS: dict[str, dict[str, str]] = {
    "heads": {"sentence": HOSTILE, "layer": "1", "head": "2", "view": "lines", "below": "numbers"},
    "effects": {"sentence": HOSTILE, "token": "2", "off": "cross.1.0-encoder.0.3"},
    "decoding": {"sentence": HOSTILE, "at": "2", "heads": "cross.1.0"},
    "masks": {"sentence": HOSTILE, "batch": "A dog.", "part": "inside", "masked": "cross"},
    "positions": {"sentence": HOSTILE, "topic": "likeness", "cosine": "0"},
    "about": {},
}
"""On every page something that is not its default; the last one keeps nothing of its own."""

PAINTED = {
    "heads": ".heads-view[data-painted]",
    "effects": "[data-testid=stPlotlyChart] .main-svg",
    "decoding": ".decoding-steps[data-painted]",
    "masks": ".matrices[data-painted]",
    "positions": "[data-testid=stPlotlyChart] .main-svg",
    "about": "h1",
}


class Share:
    """The share panel of a browser's page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.button = page.get_by_test_id("stPopover").filter(has_text="Share").locator("button")
        self.root = page.locator(".copy-link")
        self.text = page.get_by_role("textbox", name="Link to this view")
        self.copy = self.root.locator("button.copy")
        self.notes = self.root.locator("> .notes p")
        self.small = self.root.locator("> svg.code")
        self.dialog = self.root.locator("dialog")

    def open(self) -> Share:
        self.button.click()
        self.page.locator(".copy-link[data-painted]").wait_for()
        return self

    @property
    def link(self) -> str:
        return self.text.input_value()

    @property
    def query(self) -> dict[str, str]:
        return query_of(self.link)

    def wait_for_query(self, **wanted: str) -> None:
        self.page.wait_for_function(
            """wanted => {
                for (const host of document.querySelectorAll("*")) {
                    const link = host.shadowRoot?.querySelector(".copy-link textarea")?.value;
                    if (!link) continue;
                    const all = new URL(link).searchParams;
                    return Object.entries(wanted).every(([name, value]) => all.get(name) === value);
                }
                return false;
            }""",
            arg=wanted,
        )


@pytest.fixture
def guest(visitor: Visitor) -> Visitor:
    """Gives a reader who knows the server by a name in the network, and not as this machine."""

    def come(**options: Any) -> HeadsPage:
        reader = visitor(**options)
        reader.url = links.with_host(reader.url, NAMED)
        return reader

    return come


def query_of(link: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))


def scanned(picture: Locator) -> str:
    """What a phone held against a picture reads."""
    image = Image.open(io.BytesIO(picture.screenshot())).convert("L")
    # In one code of some two hundred it would also find the bars of four digits.
    found = zxingcpp.read_barcodes(image, formats=zxingcpp.BarcodeFormat.QRCode)
    assert len(found) == 1, f"{len(found)} codes found"
    return found[0].text


def go(reader: HeadsPage, path: str, link: str) -> None:
    """Opens a link and waits until its page stands."""
    reader.page.goto(link, timeout=LOADING)
    reader.page.locator(PAINTED[path]).first.wait_for(timeout=LOADING)
    wait_until_calm(reader.page)
    if not path:
        reader.settle()


def texts(reader: HeadsPage) -> list[str]:
    """All that a page says, but for how long it took and what no two loads have in common."""
    said = reader.page.get_by_test_id("stMain").inner_text()
    return [re.sub(r"· [\d.]+ s$", "", line) for line in said.split("\n")]


def opened(reader: HeadsPage) -> tuple[Any, ...]:
    """What a page shows, to be compared."""
    wait_until_calm(reader.page, still=SHORTLY)
    fields = reader.page.locator("input, textarea")
    return texts(reader), fields.evaluate_all("all => all.map(e => e.value)")


@pytest.mark.parametrize("path", VIEWS)
def test_a_link_opened_by_somebody_else_shows_the_same_view(guest: Visitor, path: str) -> None:
    sender, receiver = guest(), guest()
    go(sender, path, f"{sender.url}/{path}?{urlencode(VIEWS[path])}")
    shown = opened(sender)
    drawn = pictures(sender) if not path else {}
    share = Share(sender.page).open()
    link = share.link
    assert urlsplit(link).path == f"/{path}"
    assert query_of(link).items() >= VIEWS[path].items()
    assert scanned(share.small) == link

    go(receiver, path, link)
    assert opened(receiver) == shown
    assert same_pictures(pictures(receiver) if not path else {}, drawn)
    assert Share(receiver.page).open().link == link


def test_the_link_has_the_head_that_was_just_chosen(visitor: Visitor) -> None:
    reader = visitor().open()
    reader.click_tile(2, 3)
    share = Share(reader.page).open()
    share.wait_for_query(layer="2", head="3")
    share.button.click()
    expect(share.root).to_have_count(0)
    # Told to the server only a moment after the last step: the panel is open by then.
    reader.click_tile(1, 6)
    reader.matrix.focus()
    reader.page.keyboard.press("PageDown")
    share.open()
    reader.wait_for_query(layer=str(reader.selected[1]), head=str(reader.selected[2]))
    share.wait_for_query(layer=str(reader.selected[1]), head=str(reader.selected[2]))


def test_the_link_follows_the_view_while_the_panel_is_open(visitor: Visitor) -> None:
    reader = visitor().open(layer="1", head="1")
    reader.click_tile(2, 3)
    reader.wait_for_query(layer="2", head="3")
    share = Share(reader.page).open()
    share.wait_for_query(layer="2", head="3")
    reader.page.go_back()
    reader.wait_for_painted(layer=1, head=1)
    share.wait_for_query(layer="1", head="1")


def test_phones_follow_under_the_same_code_after_a_reload(visitor: Visitor) -> None:
    reader = visitor(locale="en-US")
    reader.open(sentence="the cat")
    share = Share(reader.page).open()

    def switch(name: str) -> Locator:
        return reader.page.get_by_test_id("stCheckbox").filter(has_text=name)

    switch(share_panel.ON_PHONE).click()
    switch(share_panel.FOLLOW).click()
    reader.page.wait_for_function("() => sessionStorage.getItem('headscope-followed')")
    # Another component than the one that keeps it, and perhaps a moment later.
    expect(share.text).to_have_value(re.compile("[?&]follow="))
    before = share.query["follow"]
    reader.page.reload()
    share.open()
    share.wait_for_query(follow=before)
    expect(switch(share_panel.FOLLOW).get_by_role("switch")).to_be_checked()
    switch(share_panel.FOLLOW).click()
    reader.page.wait_for_function("() => sessionStorage.getItem('headscope-followed') === ''")


def test_the_link_is_copied_and_that_is_said(visitor: Visitor) -> None:
    reader = visitor(permissions=["clipboard-read", "clipboard-write"]).open(sentence="The dog.")
    share = Share(reader.page).open()
    expect(share.copy).to_have_text("Copy link")
    share.copy.click()
    expect(share.copy).to_have_text("Copied")
    assert reader.page.evaluate("navigator.clipboard.readText()") == share.link
    expect(share.copy).to_have_text("Copy link")


def test_where_the_browser_has_no_clipboard_for_scripts_the_link_is_copied_too(
    visitor: Visitor,
) -> None:
    reader = visitor()
    # As on a page that came over plain http from another machine.
    reader.page.add_init_script(
        "Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })"
    )
    reader.open(sentence="The dog.")
    share = Share(reader.page).open()
    share.copy.click()
    expect(share.copy).to_have_text("Copied")
    link = share.link
    share.button.click()
    with reader.asked():
        field = reader.field("target")
        field.click()
        field.press("ControlOrMeta+v")
        expect(field).to_have_value(link)


def test_where_nothing_can_be_copied_the_link_is_selected_and_the_keys_are_named(
    visitor: Visitor,
) -> None:
    reader = visitor()
    reader.page.add_init_script(
        "Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined });"
        "document.execCommand = () => false;"
    )
    reader.open()
    share = Share(reader.page).open()
    share.copy.click()
    expect(share.copy).to_have_text("Press Ctrl+C or Cmd+C")
    chosen = share.text.evaluate("e => e.value.slice(e.selectionStart, e.selectionEnd)")
    assert chosen == share.link


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_code_is_read_small_and_large_in_both_themes(guest: Visitor, scheme: str) -> None:
    reader = guest(color_scheme=scheme).open(sentence="Where is the library?")
    share = Share(reader.page).open()
    assert scanned(share.small) == share.link
    share.root.get_by_role("button", name="Show large").click()
    expect(share.dialog).to_be_visible()
    assert scanned(share.dialog) == share.link
    large = share.dialog.locator("svg.code").bounding_box()
    viewport = reader.page.viewport_size
    assert large is not None
    assert viewport is not None
    assert large["height"] >= 0.7 * viewport["height"]
    box = share.dialog.bounding_box()
    assert box is not None
    assert (box["width"], box["height"]) == (viewport["width"], viewport["height"])


def test_escape_leaves_the_large_code_and_then_the_panel(guest: Visitor) -> None:
    reader = guest().open()
    share = Share(reader.page).open()
    share.root.get_by_role("button", name="Show large").click()
    expect(share.dialog).to_be_visible()
    reader.page.keyboard.press("Escape")
    expect(share.dialog).to_be_hidden()
    expect(share.small).to_be_visible()
    reader.page.keyboard.press("Escape")
    expect(share.root).to_have_count(0)


def test_a_link_too_long_for_a_code_says_so_and_can_still_be_copied(guest: Visitor) -> None:
    reader = guest()
    # Refused by the model, yet the address keeps it.
    reader.goto(sentence="the cat " * 500)
    expect(reader.alerts.first).to_be_visible(timeout=LOADING)
    share = Share(reader.page).open()
    expect(share.notes.filter(has_text="more than the 2,953")).to_have_count(1)
    expect(share.small).to_be_hidden()
    expect(share.root.get_by_role("button", name="Show large")).to_be_hidden()
    share.copy.click()
    expect(share.copy).to_have_text("Copied")
    assert share.query["sentence"] == "the cat " * 500


@pytest.mark.parametrize("size", [(1280, 800), (1024, 600), (844, 390), (390, 844)])
def test_the_code_is_never_cut(guest: Visitor, size: tuple[int, int]) -> None:
    width, height = size
    reader = guest(viewport={"width": width, "height": height}).open(sentence="The dog sees it.")
    share = Share(reader.page).open()
    for switch in ("Let the phone run the model", "Let phones follow what I show"):
        reader.page.get_by_test_id("stPopoverBody").get_by_text(switch).click()
        wait_until_calm(reader.page)
    expect(share.text).to_have_value(re.compile("[?&]follow="))
    body = reader.page.get_by_test_id("stPopoverBody")
    body.evaluate("body => body.scrollTo(0, 0)")
    panel, code = body.bounding_box(), share.small.bounding_box()
    assert panel is not None
    assert code is not None
    assert panel["y"] <= code["y"]
    assert code["y"] + code["height"] <= min(panel["y"] + panel["height"], height)
    found = zxingcpp.read_barcodes(Image.open(io.BytesIO(reader.page.screenshot())))
    assert [each.text for each in found] == [share.link]
    if height >= 800:
        assert body.evaluate("body => body.scrollHeight <= body.clientHeight")


def test_the_code_has_a_name_for_those_who_cannot_see_it(guest: Visitor) -> None:
    share = Share(guest().open().page).open()
    expect(share.root.get_by_role("img", name="QR code of the link")).to_be_visible()
