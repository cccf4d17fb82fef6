"""The app below a path: its links, its codes and its scenes hold there."""

import io
from urllib.parse import parse_qsl, urlsplit

import zxingcpp
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.deployment.conftest import PATH
from tests.deployment.test_replicas import VIEW, open_page
from tests.kit.heads_page import wait_until_calm
from tests.kit.running_app import NAMED, AppServer
from viz.shell.share import with_host


def shared(page: Page) -> str:
    """The link to the view, which the code must say too."""
    page.get_by_test_id("stPopover").filter(has_text="Share").locator("button").click()
    page.locator(".copy-link[data-painted]").wait_for()
    link = page.get_by_role("textbox", name="Link to this view").input_value()
    code = page.locator(".copy-link > svg.code").screenshot()
    assert [found.text for found in zxingcpp.read_barcodes(Image.open(io.BytesIO(code)))] == [link]
    return link


def wait_for_path(page: Page, path: str) -> None:
    page.wait_for_function("path => location.pathname === path", arg=path)
    wait_until_calm(page)


def test_links_codes_and_scenes_hold_below_a_path(
    browser: Browser, replicas: list[AppServer]
) -> None:
    url = with_host(replicas[0].url, NAMED)
    sender = open_page(browser, url)
    link = shared(sender.page)
    assert urlsplit(link).path == f"{PATH}/heads"
    assert dict(parse_qsl(urlsplit(link).query)) == VIEW
    receiver = open_page(browser, url)
    # Also as people type it, and as some programs write links: without the slash.
    query = urlsplit(link).query
    for address in (link, f"{url}/?{query}", f"{url}?{query}"):
        receiver.page.goto("about:blank")
        receiver.page.goto(address)
        receiver.wait_for_painted(attention="encoder", layer=1, head=3)
    sender.page.keyboard.press("Escape")
    sender.page.get_by_role("link", name="Masks").click()
    wait_for_path(sender.page, f"{PATH}/masks")
    assert urlsplit(shared(sender.page)).path == f"{PATH}/masks"
    # The sixth scene of the talk is on the masks page, and the eighth on that of positions.
    receiver.page.goto(f"{url}/?present=1&scene=5")
    wait_until_calm(receiver.page)
    receiver.page.keyboard.press("PageDown")
    wait_for_path(receiver.page, f"{PATH}/masks")
    receiver.page.keyboard.press("PageDown")
    receiver.page.wait_for_function("() => location.search.includes('scene=7')")
    with receiver.page.expect_popup() as opened:
        receiver.page.keyboard.press("s")
    expect(opened.value.locator("#place")).to_have_text("Scene 7 of 12")
    opened.value.close()
    receiver.page.keyboard.press("PageUp")
    receiver.page.keyboard.press("PageUp")
    wait_for_path(receiver.page, f"{PATH}/heads")
    for reader in (sender, receiver):
        reader.page.context.close()
