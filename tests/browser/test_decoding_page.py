"""The decoding page in a real browser: steps are played without the server, and words taken."""

from urllib.parse import urlencode

from playwright.sync_api import Locator, expect

from model.paper.search import Search
from model.translate.translator import Translator
from tests.kit.heads_page import LOADING, HeadsPage, wait_until_calm
from viz.draw.labels import token_text

SENTENCE = "I don't think that Tom is happy."


def test_steps_are_played_without_the_server_and_a_number_writes_on_from_another_word(
    heads: HeadsPage, model: Translator
) -> None:
    page = heads.page
    page.goto(f"{heads.url}/decoding?{urlencode({'sentence': SENTENCE})}", timeout=LOADING)
    steps = page.locator(".decoding-steps[data-painted]")
    expect(steps).to_have_attribute("data-step", "1", timeout=LOADING)
    page.evaluate("window.held = []")
    steps.get_by_role("button", name="Play").click()
    expect(steps).to_have_attribute("data-step", "3")
    assert page.evaluate("window.held") == []
    steps.get_by_role("button", name="Pause").click()
    page.evaluate("window.release()")
    at = steps.get_attribute("data-step")
    assert at is not None
    heads.wait_for_query(at=at)
    page.keyboard.press("Home")
    heads.wait_for_query(at=None)
    # The third likeliest beginning; the focus is on the button that paused.
    page.keyboard.press("3")
    decoding = model.decode(SENTENCE)
    third = decoding.steps[0].likeliest.ids[2]
    heads.wait_for_query(taken=f"0.{third}")
    after = model.translate(SENTENCE, search=Search(prefix=(third,)))
    expect(page.locator(".change")).to_contain_text(after.text.split()[0])
    expect(steps.locator(".candidate").nth(2)).to_have_attribute("aria-selected", "true")
    expect(steps.locator(".token.written")).to_contain_text("given")


def test_a_point_of_the_tree_shows_its_branch_and_a_click_on_a_diamond_studies_it(
    heads: HeadsPage, model: Translator
) -> None:
    page = heads.page
    query = urlencode({"sentence": SENTENCE, "section": "beams"})
    page.goto(f"{heads.url}/decoding?{query}", timeout=LOADING)
    tree = page.locator(".st-key-decoding-tree .js-plotly-plot")
    expect(tree).to_be_visible(timeout=LOADING)
    # Below the tree; nothing moves it any more.
    expect(page.locator(".st-key-decoding-study-1").get_by_role("button")).to_be_enabled()
    wait_until_calm(page)
    decoding = model.decode(SENTENCE)
    second = decoding.ranked[1]
    second_place = decoding.nodes.index(second)
    tree.scroll_into_view_if_needed()
    branch = page.locator(".branches")
    page.evaluate("window.held = []")
    page.mouse.move(*point_of(tree, second_place))
    expect(branch).to_have_attribute("data-place", str(second_place))
    expect(branch.locator(".token.written")).to_contain_text(token_text(second.token))
    expect(branch.locator(".row-name")).to_contain_text("Cross-attention, mean of all")
    branch.get_by_role("button", name="One token back").press("Enter")
    expect(branch).to_have_attribute("data-place", str(second.parent))
    # The server was asked for none of it.
    assert page.evaluate("window.held") == []
    page.evaluate("window.release()")
    # The button came into view; the tree may have moved.
    tree.scroll_into_view_if_needed()
    x, y = point_of(tree, second_place)
    page.mouse.move(x + 1, y)
    expect(tree.locator(".hoverlayer .hovertext")).to_contain_text("rank 2 among the translations")
    page.mouse.click(x, y)
    heads.wait_for_query(target=model.tokenizer.decode(decoding.token_ids(second)))
    expect(page.locator(".st-key-decoding-study-1").get_by_role("button")).to_be_disabled()


def point_of(tree: Locator, place: int) -> tuple[float, float]:
    """Where a hypothesis stands in the window."""
    x, y = tree.evaluate(
        """(plot, place) => {
            const { xaxis, yaxis } = plot._fullLayout;
            const { x, y } = plot.data.at(-1);
            const { left, top } = plot.getBoundingClientRect();
            return [
                left + xaxis._offset + xaxis.d2p(x[place]),
                top + yaxis._offset + yaxis.d2p(y[place]),
            ];
        }""",
        place,
    )
    return x, y
