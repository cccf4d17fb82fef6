"""A page runs what the server's security policy allows, and no other code (viz/server/server.py).

Every browser test runs under that policy, and fails if it refuses a page anything (conftest.py).
"""

from collections.abc import Callable

from tests.browser.conftest import Watch
from tests.kit.heads_page import LOADING, HeadsPage


def test_a_script_in_the_page_is_refused(
    visitor: Callable[..., HeadsPage], watch: Watch, refused: list[str]
) -> None:
    reader = visitor()
    reader.page.goto(f"{reader.url}/about", timeout=LOADING)
    try_it = """() => new Promise(said => {
        document.addEventListener(
            "securitypolicyviolation", event => said(event.effectiveDirective)
        );
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
    })"""
    assert reader.page.evaluate(try_it).startswith("script-src")
    assert reader.page.evaluate("window.ran") is None
    assert len(refused) == 1
    watch.console_errors.remove(refused.pop())
