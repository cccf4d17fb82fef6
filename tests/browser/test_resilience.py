"""A talk goes on: servers die, machines and phones sleep, networks are slow and break off."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, ViewportSize, expect

from tests.browser.conftest import MILLISECONDS, VIEWPORT
from tests.browser.test_hall import EN, PHONE, SENTENCE, followed, phone_of
from tests.kit.firefox import find_firefox, firefox
from tests.kit.heads_page import LOADING, HeadsPage
from tests.kit.running_app import NOTES_RECONNECTING, free_port, serve
from tests.kit.stage_page import StagePage
from viz.service.model_menu import CHECKPOINTS_VARIABLE

Visitor = Callable[..., HeadsPage]

NOBODY = "0123456789abcdef"
"""The code of a talk that is over."""

HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { get: () => hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
SPEAKER = "**/speaker/*.json*"


class Talk:
    """A speaker with a head on stage, whom phones follow."""

    def __init__(self, reader: HeadsPage) -> None:
        self.reader = reader
        reader.open(sentence=SENTENCE, attention="encoder", layer="1", head="0")
        self.code = followed(reader)
        reader.page.keyboard.press("p")
        expect(StagePage(reader).foot).to_be_visible()

    def turn_to(self, head: int) -> None:
        """Shows another head."""
        self.reader.page.keyboard.press("ArrowRight")
        self.reader.wait_for_query(head=str(head))


def expect_head(phone: Page, head: int) -> None:
    expect(phone.locator(".heads-view h3.name")).to_contain_text(f"head {head}", timeout=LOADING)


@pytest.fixture
def talk(visitor: Visitor) -> Talk:
    return Talk(visitor(locale="en-US"))


@contextmanager
def unwatched(browser: Browser, size: ViewportSize = PHONE) -> Iterator[Page]:
    """A page whose console tells of what a network lost."""
    context = browser.new_context(viewport=size, locale="en-US")
    context.set_default_timeout(MILLISECONDS)
    context.add_init_script(NOTES_RECONNECTING)
    yield context.new_page()
    context.close()


def test_a_talk_goes_on_after_its_server_was_killed(browser: Browser, checkpoints: Path) -> None:
    port, environment = free_port(), {CHECKPOINTS_VARIABLE: str(checkpoints)}
    with unwatched(browser, VIEWPORT) as speaker, unwatched(browser) as phone:
        with serve("app.py", environment, port=port) as server:
            talk = Talk(HeadsPage(speaker, server.url))
            phone.goto(f"{server.url}/site/?follow={talk.code}", timeout=LOADING)
            expect_head(phone, 0)
            os.kill(server.pid, signal.SIGKILL)
        expect_head(phone, 0)
        with serve("app.py", environment, port=port):
            speaker.wait_for_function("() => window.ranAgain")
            StagePage(talk.reader).settle()
            talk.turn_to(1)
            expect_head(phone, 1)


def test_a_phone_asks_anew_where_nothing_is_heard(talk: Talk, visitor: Visitor) -> None:
    phone = visitor(viewport=PHONE, locale="en-US").page
    phone.clock.install()
    asked: list[Route] = []
    # As of a machine that sleeps: the question is never answered, and never refused.
    phone.route(SPEAKER, lambda route: asked.append(route) if asked else _first(asked, route))
    phone.goto(f"{talk.reader.url}/site/?follow={talk.code}", timeout=LOADING)
    expect_head(phone, 0)
    talk.turn_to(1)
    phone.wait_for_timeout(0)
    expect_head(phone, 0)
    phone.unroute(SPEAKER)
    phone.clock.run_for(60_000)
    expect_head(phone, 1)


def _first(asked: list[Route], route: Route) -> None:
    asked.append(route)
    route.continue_()


def test_a_phone_that_slept_turns_to_what_is_shown_by_now(talk: Talk, visitor: Visitor) -> None:
    phone = phone_of(visitor, talk.code, "light")
    expect_head(phone, 0)
    phone.evaluate(HIDE, True)
    talk.turn_to(1)
    talk.turn_to(2)
    expect_head(phone, 0)
    phone.evaluate(HIDE, False)
    expect_head(phone, 2)
    # Who comes late sees the same.
    expect_head(phone_of(visitor, talk.code, "light"), 2)


def test_a_slow_network_that_breaks_off_ends_in_the_right_picture(
    talk: Talk, browser: Browser
) -> None:
    with unwatched(browser) as phone:
        _follow_slowly(talk, phone)


def _follow_slowly(talk: Talk, phone: Page) -> None:
    network = phone.context.new_cdp_session(phone)
    slow = {"offline": False, "latency": 100}
    throughput = dict.fromkeys(("downloadThroughput", "uploadThroughput"), 200_000)
    network.send("Network.enable")
    network.send("Network.emulateNetworkConditions", {**slow, **throughput})
    lost: set[bool] = set()

    def lose_first(route: Route) -> None:
        # The first question, and the first one of a phone that has a picture.
        has_seen = "seen=" in route.request.url
        if has_seen in lost:
            route.continue_()
        else:
            lost.add(has_seen)
            route.abort("connectionreset")

    phone.route(SPEAKER, lose_first)
    phone.goto(f"{talk.reader.url}/site/?follow={talk.code}", timeout=LOADING)
    expect_head(phone, 0)
    talk.turn_to(1)
    expect_head(phone, 1)
    assert len(lost) == 2


def test_a_phone_from_the_talk_before_says_that_nobody_speaks(talk: Talk, browser: Browser) -> None:
    with unwatched(browser) as phone:
        phone.goto(f"{talk.reader.url}/site/?follow={NOBODY}", timeout=LOADING)
        expect(phone.get_by_text(EN["no_speaker"])).to_be_visible(timeout=LOADING)
        # It shows a picture of its own, and the speaker of now is none of its business.
        expect(phone.locator("#view canvas").first).to_be_visible(timeout=LOADING)
        talk.turn_to(1)
        expect(phone.get_by_text(EN["no_speaker"])).to_be_visible()


def test_a_phone_with_firefox_follows(talk: Talk) -> None:
    command = find_firefox()
    if not command:
        pytest.skip("Firefox is not installed.")
    with firefox(command) as phone:
        phone.open(f"{talk.reader.url}/site/?follow={talk.code}")
        for head in (0, 1):
            if head:
                talk.turn_to(head)
            told = f'inside("h3.name")[0]?.textContent.includes("head {head}")'
            phone.evaluate(f"until(() => {told})")
        assert phone.refused == []
