"""No page needs what the server's security policy forbids (viz/server/server.py, headers)."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.conftest import Watch
from tests.kit.heads_page import LOADING, HeadsPage

FIGURE = ".js-plotly-plot .main-svg"
CANVAS = "canvas:visible"


def test_pages_stand_under_their_policy(visitor: Callable[..., HeadsPage]) -> None:
    # Whatever the policy refuses is an error in the console, which fails every test.
    reader = visitor(bypass_csp=False)
    page = reader.page
    for address, drawn in (
        ("", CANVAS),
        ("heads?below=numbers", "[data-testid=stDataFrame] canvas"),
        ("positions", FIGURE),
        ("masks?present=1", CANVAS),
    ):
        answer = page.goto(f"{reader.url}/{address}", timeout=LOADING)
        assert answer is not None
        assert "script-src" in answer.headers["content-security-policy"]
        expect(page.locator(drawn).first).to_be_visible(timeout=LOADING)
        ended = page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]')
        expect(ended).to_be_visible(timeout=LOADING)
        expect(page.locator("[aria-busy=true]")).to_have_count(0)


def test_a_script_in_the_page_is_refused(visitor: Callable[..., HeadsPage], watch: Watch) -> None:
    reader = visitor(bypass_csp=False)
    reader.page.goto(f"{reader.url}/about", timeout=LOADING)
    refused = """() => new Promise(said => {
        document.addEventListener(
            "securitypolicyviolation", event => said(event.effectiveDirective)
        );
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
    })"""
    assert reader.page.evaluate(refused).startswith("script-src")
    assert reader.page.evaluate("window.ran") is None
    allowed = [said for said in watch.console_errors if "Content Security Policy" not in said]
    assert len(allowed) < len(watch.console_errors)
    watch.console_errors[:] = allowed
