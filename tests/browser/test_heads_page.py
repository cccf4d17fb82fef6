import io
import re
from collections.abc import Iterator
from itertools import pairwise
from urllib.parse import quote

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

SECOND = 1000
PLOT = ".js-plotly-plot"
LIGHT_PAGE, DARK_PAGE = (255, 255, 255), (18, 22, 28)


@pytest.fixture(autouse=True)
def nothing_goes_wrong_unseen(page: Page, console_errors: list[str], app_server) -> Iterator[None]:
    # The first page of a server loads torch; everything is slow on a machine with other work.
    page.set_default_timeout(120 * SECOND)
    expect.set_options(timeout=120 * SECOND)
    yield
    log = app_server.log()
    assert console_errors == []
    assert "Traceback" not in log, log
    assert "deprecat" not in log.lower(), log


def open_page(page: Page, url: str, query: str = "") -> Page:
    page.goto(f"{url}/{query}")
    expect(page.locator(f"{PLOT} .xtick").first).to_be_visible()
    settled(page)
    return page


def settled(page: Page) -> None:
    """Waits until Streamlit runs nothing and Plotly draws nothing."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.wait_for_timeout(SECOND // 2)


def translation(page: Page) -> Locator:
    return page.locator("p[lang=de]")


def expect_title(page: Page, title: str) -> None:
    # Two for a moment: the old figure goes when the new one stands.
    expect(page.locator(f"{PLOT} .gtitle")).to_have_text([re.compile(title)])


def type_sentence(page: Page, text: str) -> None:
    field = page.get_by_label("English sentence")
    field.fill(text)
    field.press("Enter")


def labels(page: Page, axis: str) -> list[str]:
    return page.locator(f"{PLOT} .{axis}tick text").all_text_contents()


def drawn(page: Page) -> Image.Image:
    """The pixels of the heatmap's cells."""
    box = page.locator(f"{PLOT} .nsewdrag").first.bounding_box()
    return Image.open(io.BytesIO(page.screenshot(clip=box))).convert("RGB")


def blues(image: Image.Image) -> int:
    """How many clearly different steps of the colour scale there are."""
    colors = image.getcolors(image.width * image.height)
    cells = {color for count, color in colors if count > 200 and color[2] >= color[0]}
    return len({(r // 8, g // 8, b // 8) for r, g, b in cells})


def test_typing_a_sentence_and_pressing_enter_translates_it_and_draws_its_weights(
    page: Page, app_url: str
) -> None:
    open_page(page, app_url)
    before = translation(page).inner_text()
    assert before.strip()
    type_sentence(page, "A man sees the dog.")
    expect(translation(page)).not_to_have_text(before)
    settled(page)
    assert labels(page, "x")[-1] == "</s>"
    assert labels(page, "y")[0] == "<s>"
    assert blues(drawn(page)) >= 4


def test_the_whole_picture_fits_and_can_be_read_on_a_projector(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    box = page.get_by_test_id("stPlotlyChart").bounding_box()
    assert box["y"] + box["height"] <= 800
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    for text in page.locator(f"{PLOT} :is(.xtick, .ytick, .y2tick) text").all():
        assert float(text.evaluate("node => parseFloat(getComputedStyle(node).fontSize)")) >= 14
    assert translation(page).evaluate("node => parseFloat(getComputedStyle(node).fontSize)") >= 32
    boxes = [text.bounding_box() for text in page.locator(f"{PLOT} .xtick text").all()]
    for left, right in pairwise(boxes):
        assert left["x"] + left["width"] <= right["x"] + 1, "labels run into each other"


def test_markup_in_a_sentence_is_shown_as_text(page: Page, app_url: str) -> None:
    open_page(page, app_url, "?attention=Encoder")
    type_sentence(page, "<b>the cat</b> <img src=x onerror=alert(1)> <s> &amp; $x$")
    page.wait_for_function(
        "selector => document.querySelectorAll(selector).length > 20", arg=f"{PLOT} .ytick"
    )
    settled(page)
    shown = "".join(labels(page, "y")).replace("…", "").replace("␣", "")
    # A character that the vocabulary lacks is shown as the byte it is read as.
    shown = re.sub(r"<0x([0-9A-F]{2})>", lambda byte: chr(int(byte[1], 16)), shown)
    assert shown.startswith("<b>thecat</b><imgsrc=xonerror=alert(1)><s>&amp;")
    assert shown.endswith("</s>")
    styles = page.locator(f"{PLOT} .ytick text").evaluate_all(
        "nodes => nodes.map(node => getComputedStyle(node).fontWeight)"
    )
    assert set(styles) == {"400"}
    assert page.locator("img[src=x]").count() == 0


def test_pointing_at_a_cell_gives_its_tokens_and_its_weight(page: Page, app_url: str) -> None:
    open_page(page, app_url, "?attention=Decoder")
    box = page.locator(f"{PLOT} .nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    hover = page.locator(f"{PLOT} .hoverlayer .hovertext")
    expect(hover).to_have_text(re.compile(r"<s> \(0\) to <s> \(0\).*weight 1$"))
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + 5)
    expect(hover).to_have_text(re.compile("not allowed"))


def test_cells_that_may_not_be_attended_to_are_hatched(page: Page, app_url: str) -> None:
    open_page(page, app_url, "?attention=Decoder")
    assert page.locator(f"{PLOT} pattern").count() >= 1
    image = drawn(page)
    corner = image.crop((image.width - 60, 2, image.width - 2, 28))
    assert len(corner.getcolors(10_000)) > 4, "the upper right corner has a single colour"
    expect(page.locator(f"{PLOT} .legend")).to_contain_text("not allowed")


def test_the_choice_of_a_head_is_in_the_address_and_comes_back_with_it(
    page: Page, app_url: str
) -> None:
    open_page(page, app_url)
    choices = page.get_by_test_id("stButtonGroup")
    choices.nth(0).get_by_text("Encoder", exact=True).click()
    expect_title(page, "Encoder self-attention")
    choices.nth(1).get_by_text("0", exact=True).click()
    choices.nth(2).get_by_text("3", exact=True).click()
    expect_title(page, "Encoder self-attention, layer 0, head 3")
    before = translation(page).inner_text()
    type_sentence(page, "The dog sleeps.")
    expect(translation(page)).not_to_have_text(before)
    german = translation(page).inner_text()
    expect(page).to_have_url(re.compile("sentence=The"))
    assert {"attention=Encoder", "layer=0", "head=3"} <= set(page.url.partition("?")[2].split("&"))
    page.reload()
    expect_title(page, "Encoder self-attention, layer 0, head 3")
    expect(translation(page)).to_have_text(german)


def test_an_address_that_asks_for_what_is_not_there_is_answered_letter_by_letter(
    page: Page, app_url: str
) -> None:
    asked = "*a* $x$ :cat: -> :red[b] www.a.b `c` <i>"
    open_page(page, app_url, f"?attention={quote(asked)}&layer=99")
    warning = page.get_by_test_id("stAlert")
    text = warning.inner_text().replace("\u2060", "")
    assert f"no attention “{asked}”, no layer “99”" in text
    assert warning.locator("em, code, a, i, .katex, .stMarkdownColoredText").count() == 0
    expect_title(page, "Cross-attention")


def test_an_empty_sentence_is_answered_and_the_next_one_is_translated(
    page: Page, app_url: str
) -> None:
    open_page(page, app_url)
    type_sentence(page, "")
    expect(page.get_by_test_id("stAlert")).to_contain_text("type a sentence")
    expect(page.locator(PLOT)).to_have_count(0)
    type_sentence(page, "The cat eats.")
    expect(page.locator(f"{PLOT} .xtick").first).to_be_visible()
    expect(page.get_by_test_id("stAlert")).to_have_count(0)


def test_the_picture_has_a_description_in_words(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    described = page.get_by_label(re.compile(r"^Layer \d, head 0, cross-attention: \d+ target"))
    expect(described).to_have_count(1)


@pytest.mark.parametrize(("scheme", "background"), [("light", LIGHT_PAGE), ("dark", DARK_PAGE)])
def test_page_and_picture_follow_the_readers_theme(
    page: Page, app_url: str, scheme: str, background: tuple[int, int, int]
) -> None:
    page.emulate_media(color_scheme=scheme)
    open_page(page, app_url)
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    assert shot.getpixel((4, 400)) == background
    assert lightness_of_labels(page) > 0.8 if scheme == "dark" else lightness_of_labels(page) < 0.2


def test_a_change_of_theme_recolours_the_picture_at_once(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    assert lightness_of_labels(page) < 0.2
    page.get_by_test_id("stMainMenu").click()
    page.get_by_test_id("stMainMenuItem-theme-Dark").click()
    page.wait_for_function(
        """selector => {
            const label = document.querySelector(selector);
            return label && getComputedStyle(label).fill.includes("230");
        }""",
        arg=f"{PLOT} .xtick text",
    )
    assert lightness_of_labels(page) > 0.8


def lightness_of_labels(page: Page) -> float:
    fill = page.locator(f"{PLOT} .xtick text").first.evaluate("node => getComputedStyle(node).fill")
    return sum(map(int, re.findall(r"\d+", fill)[:3])) / (3 * 255)
