"""Pages that tests share are as new ones, and nothing that leaves the machine goes unseen."""

import pytest
from playwright.sync_api import Browser, Error, expect

from tests.browser.conftest import VIEWPORT, Lending, Watch, _context

ELSEWHERE = "198.51.100.7"
"""An address that RFC 5737 gives to no machine."""

DARK = "matchMedia('(prefers-color-scheme: dark)').matches"


@pytest.mark.parametrize("host", [ELSEWHERE, "example.org"])
def test_what_a_page_asks_of_another_machine_is_refused_and_noted(
    browser: Browser, host: str
) -> None:
    watch = Watch()
    with _context(browser, watch) as context:
        page = context.new_page()
        # Here no policy refuses it before it is asked.
        page.goto("about:blank")
        refused = page.evaluate(
            """async host => {
                const failure = target => new Promise(resolve => {
                    target.onerror = () => resolve("refused");
                });
                const image = new Image();
                image.src = `http://${host}/image.png`;
                const fetched = fetch(`https://${host}/`, { mode: "no-cors" });
                return Promise.all([
                    failure(new WebSocket(`ws://${host}/socket`)),
                    failure(image),
                    fetched.then(() => "loaded", () => "refused"),
                ]);
            }""",
            host,
        )
        assert refused == ["refused"] * 3
        with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
            page.goto(f"http://{host}/page")
    paths = {url.partition(host)[2] for url in watch.left_the_machine}
    assert paths == {"/socket", "/image.png", "/", "/page"}
    with pytest.raises(AssertionError, match=host):
        watch.settle()


def test_a_reader_lent_again_keeps_nothing(lending: Lending, watch: Watch, app_url: str) -> None:
    origin = f"{app_url}/_stcore/health"
    heard: list[str] = []
    wide = {"width": 1920, "height": 1080}
    with lending.reader(locale="de-CH", viewport=wide, color_scheme="dark") as reader:
        page = reader.page
        assert page.evaluate("[innerWidth, innerHeight]") == list(wide.values())
        assert page.evaluate(DARK)
        page.goto(origin)
        page.evaluate("localStorage.a = sessionStorage.b = 1; document.cookie = 'c=1'")
        with page.expect_popup():
            page.evaluate("open(location.href)")
        page.add_init_script("window.added = true")
        page.on("framenavigated", lambda frame: heard.append(frame.url))
        page.context.route("**/*", lambda route: route.abort())
        page.set_viewport_size({"width": 500, "height": 400})
    heard.clear()
    with lending.reader(locale="de-CH") as again, lending.reader(locale="de-CH") as other:
        assert again.page is page
        assert other.page.context is not page.context
        page.goto(origin)
        kept = "[localStorage.a ?? null, sessionStorage.b ?? null, window.added ?? null]"
        assert page.evaluate(kept) == [None, None, None]
        assert "c=1" not in page.evaluate("document.cookie")
        assert page.evaluate("[innerWidth, innerHeight]") == list(VIEWPORT.values())
        assert not page.evaluate(DARK)
        assert page.context.pages == [page]
        assert heard == []
        again.open()
        expect(again.overview).to_be_visible()
