"""The masks page in a real browser: its pixels, painting, and an edit's way through the address."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator, expect

from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, BoolArray
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.heads_page import LOADING, Frame, HeadsPage, channels, pixels, wait_until_calm
from viz.draw.labels import axis_texts
from viz.draw.themes import DARK, LIGHT, Theme
from viz.links.mask_edits import EDITABLE, Edit, parse, write
from viz.masks.batch_masks import batch_masks
from viz.masks.difference import mask_difference
from viz.masks.mask import Cell, Mask
from viz.masks.preset_masks import edited_mask

SENTENCES = ("The cat sat on the mat.", "A man reads.", "He doesn't come to work because he's ill.")
BATCH = {"sentence": SENTENCES[0], "batch": "\n".join(SENTENCES[1:])}
CROSS, DECODER, ENCODER = AttentionKind.CROSS, AttentionKind.DECODER, AttentionKind.ENCODER


WORD_JOINER = "\u2060"
"""Keeps Markdown from taking what stands before it for something else."""

# Counts how often the mask is painted anew.
COUNT_STROKES = """() => {
  window.strokes = 0;
  const seen = new MutationObserver(() => { window.strokes += 1; });
  for (const host of document.querySelectorAll("*")) {
    const root = host.shadowRoot?.querySelector(".matrices");
    if (!root?.querySelector("canvas.editable")) continue;
    seen.observe(root, { attributeFilter: ["data-painted"] });
  }
}"""


class MasksPage:
    """A browser's page that shows the masks."""

    def __init__(self, reader: HeadsPage) -> None:
        self.reader = reader
        self.page = reader.page
        self.alerts = reader.alerts
        self.tooltip = self.page.locator(".matrices .tooltip:visible")
        self.change = self.page.locator(".change section")

    def open(self, **query: str) -> MasksPage:
        address = f"{self.reader.url}/masks?{urlencode(BATCH | query, quote_via=quote)}"
        self.page.goto(address, timeout=LOADING)
        self.page.locator(".matrices[data-painted]").first.wait_for(timeout=LOADING)
        self.settle()
        return self

    def reload(self) -> None:
        self.page.reload(timeout=LOADING)
        self.page.locator(".matrices[data-painted]").first.wait_for(timeout=LOADING)
        self.settle()

    def settle(self) -> None:
        """Waits until nothing runs and, in the editor, until its end stands for the address."""
        wait_until_calm(
            self.page,
            """() => {
                const done = document.querySelector(".headscope-done");
                const edit = new URLSearchParams(location.search).get("edit") ?? "";
                return !done || done.dataset.done === edit || done.dataset.done === "";
            }""",
        )

    def wait_for_edit(self, matching: str) -> str:
        """Waits until the address holds an edit of that form and the page stands for it."""
        self.page.wait_for_function(
            """pattern => {
                const edit = new URLSearchParams(location.search).get("edit") ?? "";
                const done = document.querySelector(".headscope-done")?.dataset.done;
                return new RegExp(pattern).test(edit) && done === edit;
            }""",
            arg=matching,
        )
        self.settle()
        return self.reader.query.get("edit", "")

    def panel(self, title: str) -> Locator:
        """The first panel of that title."""
        named = self.page.locator(".title", has_text=title)
        return self.page.locator(".matrices section.panel").filter(has=named).first

    def canvas(self, title: str) -> Locator:
        return self.panel(title).locator("canvas")

    def mark(self, title: str) -> tuple[float, float, float, float]:
        """The frame around the cell that a panel marks: its place and its size, in CSS pixels."""
        style = self.panel(title).locator(".cell:not(.picked)")
        x, y, width, height = style.evaluate(
            "node => [...node.style.transform.matchAll(/[-\\d.]+/g), node.style.width, "
            "node.style.height].map(text => parseFloat(text))"
        )
        return x, y, width, height

    def frame(self, title: str) -> Frame:
        self.canvas(title).focus()
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("ArrowRight")
        if self.page.locator(".matrices.reads").count():
            # There, arrows go on from the cell that was read last.
            for key in ("ArrowUp", "ArrowLeft"):
                for _ in range(max(len(each) for each in SENTENCES)):
                    self.page.keyboard.press(key)
        x, y, width, height = self.mark(title)
        self.page.keyboard.press("Escape")
        return Frame(x, y, width, height)

    def drag(self, title: str, start: tuple[float, float], *steps: tuple[float, float]) -> None:
        """Presses at a place of the canvas, moves along others and lets go."""
        canvas = self.canvas(title)
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        assert box is not None
        mouse = self.page.mouse
        mouse.move(box["x"] + start[0], box["y"] + start[1])
        mouse.down()
        for x, y in steps:
            mouse.move(box["x"] + x, box["y"] + y, steps=4)
        mouse.up()


@pytest.fixture
def masks(heads: HeadsPage) -> MasksPage:
    return MasksPage(heads)


@pytest.fixture(scope="module")
def padded(model: Translator) -> tuple[Trace, ...]:
    targets = [model.translate(sentence).text for sentence in SENTENCES]
    return model.trace_batch(SENTENCES, targets).padded


@pytest.fixture(scope="module")
def own(padded: tuple[Trace, ...]) -> dict[str, Mask]:
    return batch_masks(padded, 0)


def closed(mask: Mask, *places: Any) -> BoolArray:
    allowed = mask.allowed.copy()
    for place in places:
        allowed[place] = False
    return allowed


def link(kind: AttentionKind, allowed: BoolArray) -> str:
    return write([Edit(kind, None, allowed)])


def wrong_cells(
    masks: MasksPage,
    title: str,
    cells: NDArray[np.uint8],
    colors: tuple[str, ...],
    hatched: Theme | None = None,
) -> list[str]:
    """The cells that do not have the one colour of their category all over, in words.

    With the colours of `hatched`, those of padding are hatched instead.
    """
    frame = masks.frame(title)
    drawn = pixels(masks.canvas(title))
    wrong = []
    for query, key in np.ndindex(cells.shape):
        left, top = frame.x + key * frame.width, frame.y + query * frame.height
        rows = slice(round(top + 2), round(top + frame.height - 2))
        columns = slice(round(left + 2), round(left + frame.width - 2))
        found = np.unique(drawn[rows, columns, :3].reshape(-1, 3), axis=0)
        wanted = [colors[cells[query, key]]]
        if hatched and cells[query, key] == Cell.PADDING:
            wanted = [hatched.forbidden, hatched.hatch]
        if sorted(found.tolist()) != sorted(list(channels(color)) for color in wanted):
            wrong.append(f"({query}, {key}) is {found.tolist()}")
    return wrong


# ---- what is seen -------------------------------------------------------------------------------


def test_every_cell_of_every_mask_has_the_colour_of_its_reason(
    visitor: Callable[..., HeadsPage], padded: tuple[Trace, ...]
) -> None:
    masks = MasksPage(visitor(color_scheme="dark")).open(number="2")
    own = batch_masks(padded, 1)
    assert set(np.unique(own["decoder"].cells)) == {0, 1, 2, 3}
    for title, name in {
        "Decoder": "decoder",
        "Encoder": "encoder",
        "Cross-attention": "cross",
    }.items():
        assert wrong_cells(masks, title, own[name].cells, DARK.cells, DARK) == [], title
    expect(masks.page.locator(".matrices .key")).to_have_text(
        ["may look", "later word", "padding", "both"]
    )
    swatches = masks.page.locator(".matrices .key .swatch")
    shown = [swatch.evaluate("node => node.style.background") for swatch in swatches.all()]
    assert shown == [f"rgb{channels(DARK.cells[cell])}" for cell in (0, 1, 3)]
    masks.open(number="2", of="decoder")
    for title, name in {"Causal": "causal", "Source padding": "source-padding"}.items():
        assert wrong_cells(masks, title, own[name].cells, DARK.cells, DARK) == [], title


def test_one_line_says_of_the_cell_pointed_at_whether_and_by_which_mask(
    masks: MasksPage, own: dict[str, Mask]
) -> None:
    masks.open()
    line = masks.page.locator(".matrices .line")
    for canvas in (masks.canvas(title) for title in ("Encoder", "Decoder", "Cross-attention")):
        expect(canvas).to_be_in_viewport(ratio=0.99)
    expect(line).to_be_in_viewport(ratio=1)
    expect(line).to_contain_text("it comes later")
    frame = masks.frame("Decoder")
    words = axis_texts(own["decoder"].queries)
    padding = len(words) - 1
    assert own["decoder"].cells[1, padding] == Cell.BOTH
    for (query, key), text in {
        (2, 1): f"{words[2]} may look at {words[1]}.No mask forbids it.",
        (1, 3): f"{words[1]} may not look at {words[3]}: it comes later."
        "The causal mask forbids it; the padding mask would allow it.",
        (1, padding): f"{words[1]} may not look at {words[padding]}: it comes later and is padding."
        "The causal mask and the padding mask both forbid it.",
    }.items():
        x, y = frame.middle(query, key)
        masks.canvas("Decoder").hover(position={"x": x, "y": y})
        expect(line).to_have_text(text)
    # It stays when the pointer leaves, and the arrow keys go on from there.
    masks.page.mouse.move(1, 1)
    expect(line).to_contain_text("both forbid it")
    masks.canvas("Decoder").focus()
    masks.page.keyboard.press("ArrowDown")
    masks.page.keyboard.press("ArrowDown")
    expect(line).to_contain_text(f"{words[2]} may not look at {words[padding]}")
    expect(masks.tooltip).to_have_count(0)


def test_two_masks_and_their_difference_are_pointed_at_together(
    masks: MasksPage, own: dict[str, Mask], padded: tuple[Trace, ...]
) -> None:
    masks.open(part="compare", a="1.decoder", b="2.decoder")
    difference = mask_difference(own["decoder"], batch_masks(padded, 1)["decoder"])
    assert difference.cells.max() > 1
    colors = tuple(LIGHT.compared[answer] for answer in range(4))
    assert wrong_cells(masks, "What differs", difference.cells, colors) == []
    query, key = (int(place) for place in np.argwhere(difference.cells == 2)[0])
    x, y = masks.frame("A:").middle(query, key)
    masks.canvas("A:").hover(position={"x": x, "y": y})
    words = axis_texts(own["decoder"].queries)
    line = masks.page.locator(".matrices .line:visible").first
    expect(line).to_have_text(
        f"{words[query]} may look at {words[key]} only under A.B forbids it: padding."
    )
    marks = [masks.mark(title) for title in ("A:", "B:", "What differs")]
    # Of one cell; words of another length leave a little more or less room for the cells.
    nearly = marks[0][-1] / 4
    assert all(mark == pytest.approx(marks[0], abs=nearly) for mark in marks)
    compared = masks.page.locator(".matrices.reads")
    compared.get_by_role("button", name="Zoom the matrices in").click()
    sizes = {masks.canvas(title).get_attribute("style") for title in ("A:", "B:", "What differs")}
    assert len(sizes) == 1


def test_two_masks_and_what_differs_stand_in_one_row_on_the_first_screen(masks: MasksPage) -> None:
    masks.open(part="compare")
    row = [masks.canvas(title) for title in ("A:", "B:", "What differs")]
    for canvas in row:
        expect(canvas).to_be_in_viewport(ratio=0.99)
    assert len({canvas.bounding_box()["y"] for canvas in row}) == 1  # type: ignore[index]
    masks.canvas("How much each head moved").focus()
    masks.page.keyboard.press("ArrowDown")
    masks.page.keyboard.press("ArrowRight")
    expect(masks.tooltip).to_contain_text("Encoder·0, head 1")
    masks.page.keyboard.press("Escape")


# ---- painting -----------------------------------------------------------------------------------


def expected(model: Translator, kind: AttentionKind, allowed: BoolArray, n_source: int) -> str:
    """What the model writes on its own under a mask that opens no padding."""
    rows = n_source if kind is ENCODER else None
    columns = None if kind is DECODER else n_source
    under = Intervention(masks={kind: allowed[:rows, :columns]})
    return model.trace(SENTENCES[0], under=under).text


def test_a_rectangle_dragged_over_words_changes_the_translation_until_it_is_undone(
    masks: MasksPage, model: Translator, own: dict[str, Mask], padded: tuple[Trace, ...]
) -> None:
    masks.open(part="change", masked="cross")
    before, place = pixels(masks.canvas("The mask")), masks.canvas("The mask").bounding_box()
    frame = masks.frame("The mask")
    n_queries = len(own["cross"].queries)
    masks.drag("The mask", frame.middle(0, 3), frame.middle(4, 2), frame.middle(n_queries - 1, 1))
    edit = masks.wait_for_edit("^cross")
    allowed = closed(own["cross"], np.s_[:, 1:4])
    assert np.array_equal(parse(edit)[0].allowed, allowed)
    cells = edited_mask(own["cross"], allowed).cells
    assert wrong_cells(masks, "The mask", cells, LIGHT.cells) == []
    n_source = int(own["cross"].allowed[0].sum())
    free = expected(model, CROSS, allowed, n_source)
    usual = model.translate(SENTENCES[0]).text
    assert free != usual
    expect(masks.page.get_by_role("heading", name="the translation changes")).to_be_visible()
    assert written(masks) == free
    assert masks.canvas("The mask").bounding_box() == place
    painted = pixels(masks.canvas("The mask"))
    masks.reload()
    assert np.array_equal(pixels(masks.canvas("The mask")), painted)
    # Back returns to what was before the stroke, on the matrix too.
    masks.page.go_back()
    masks.wait_for_edit("^$")
    assert np.array_equal(pixels(masks.canvas("The mask")), before)
    masks.drag("The mask", frame.middle(2, 2))
    masks.wait_for_edit("^cross")
    masks.page.get_by_role("button", name="Undo").click()
    masks.wait_for_edit("^$")
    assert np.array_equal(pixels(masks.canvas("The mask")), before)
    expect(masks.page.get_by_role("heading", name="translation stays the same")).to_be_visible()
    masks.page.get_by_role("button", name="Redo").click()
    assert np.array_equal(
        parse(masks.wait_for_edit("^cross"))[0].allowed, closed(own["cross"], (2, 2))
    )
    masks.page.get_by_role("button", name="Reset", exact=True).click()
    masks.wait_for_edit("^$")


def test_labels_turn_whole_rows_and_columns_and_keys_paint_too(
    masks: MasksPage, own: dict[str, Mask]
) -> None:
    masks.open(part="change", masked="decoder")
    frame = masks.frame("The mask")
    masks.drag("The mask", (frame.x - 12, frame.middle(3, 0)[1]))
    edit = masks.wait_for_edit("^decoder")
    assert np.array_equal(parse(edit)[0].allowed, closed(own["decoder"], 3))
    expect(masks.alerts).to_contain_text("Nothing left to look at")
    masks.drag("The mask", (frame.middle(0, 0)[0], frame.y - 12))
    edit = masks.wait_for_edit(f"^(?!{re.escape(edit)}$)decoder")
    assert np.array_equal(parse(edit)[0].allowed, closed(own["decoder"], 3, np.s_[:, 0]))
    masks.page.get_by_role("button", name="Reset", exact=True).click()
    masks.wait_for_edit("^$")
    masks.canvas("The mask").focus()
    for key in ("Escape", "ArrowDown", "ArrowDown", "ArrowDown", "Space"):
        masks.page.keyboard.press(key)
    edit = masks.wait_for_edit("^decoder")
    assert np.array_equal(parse(edit)[0].allowed, closed(own["decoder"], (2, 0)))
    # The cursor outlives the answer of the model.
    for key in ("ArrowRight", "Shift+ArrowRight", "Shift+ArrowUp", "Space"):
        masks.page.keyboard.press(key)
    edit = masks.wait_for_edit(f"^(?!{re.escape(edit)}$)decoder")
    turned = closed(own["decoder"], (2, 0), np.s_[1:3, 1:3])
    assert np.array_equal(parse(edit)[0].allowed, turned)
    masks.page.keyboard.press("Control+z")
    masks.page.keyboard.press("Control+z")
    masks.wait_for_edit("^$")


def test_while_dragging_nothing_is_sent_and_every_stroke_shows_at_once(masks: MasksPage) -> None:
    long = " ".join(["The man sees the dog and the cat"] * 4)
    masks.open(part="change", masked="encoder", sentence=f"{long}.", batch="")
    frame = masks.frame("The mask")
    masks.page.evaluate(COUNT_STROKES)
    box = masks.canvas("The mask").bounding_box()
    assert box is not None
    (x, y), (right, bottom) = frame.middle(1, 1), frame.middle(12, 14)
    masks.page.mouse.move(box["x"] + x, box["y"] + y)
    sent = masks.page.evaluate("window.sent")
    masks.page.mouse.down()
    masks.page.mouse.move(box["x"] + right, box["y"] + bottom, steps=20)
    masks.page.wait_for_function("() => window.strokes >= 15")
    assert masks.page.evaluate("window.sent") == sent
    masks.page.mouse.up()
    allowed = parse(masks.wait_for_edit("^encoder"))[0].allowed
    assert not allowed[1:13, 1:15].any()
    assert allowed.sum() == allowed.size - 12 * 14


def test_another_attention_is_never_painted_with_the_strokes_of_the_last(
    masks: MasksPage, own: dict[str, Mask]
) -> None:
    masks.open(part="change", masked="cross")
    frame = masks.frame("The mask")
    masks.drag("The mask", frame.middle(1, 1))
    edit = masks.wait_for_edit("^cross")
    masks.page.get_by_role("radio", name="Decoder", exact=True).click()
    masks.reader.wait_for_query(masked=None)
    masks.settle()
    assert wrong_cells(masks, "The mask", own["decoder"].cells, LIGHT.cells) == []
    assert masks.reader.query["edit"] == edit
    frame = masks.frame("The mask")
    masks.drag("The mask", frame.middle(4, 1))
    both = parse(masks.wait_for_edit("decoder"))
    found = {each.kind: each.allowed for each in both}
    assert np.array_equal(found[CROSS], closed(own["cross"], (1, 1)))
    assert np.array_equal(found[DECODER], closed(own["decoder"], (4, 1)))
    masks.page.get_by_role("button", name="2 edits").click()
    masks.page.get_by_role("button", name="Clear all edits").click()
    masks.wait_for_edit("^$")
    assert wrong_cells(masks, "The mask", own["decoder"].cells, LIGHT.cells) == []


def written(masks: MasksPage) -> str:
    """The translation under the mask, without what it no longer has of the one before."""
    kept = (
        masks.change.nth(1)
        .locator("div")
        .evaluate(
            "node => [...node.childNodes].filter(part => part.nodeName !== 'DEL')"
            ".map(part => part.textContent).join('')"
        )
    )
    # The words that are struck out before a mark stand apart from it.
    return re.sub(r" (?=[.,!?])", "", " ".join(kept.split()))


def test_two_readers_with_different_edits_never_get_each_others_result(
    masks: MasksPage,
    visitor: Callable[..., HeadsPage],
    model: Translator,
    own: dict[str, Mask],
) -> None:
    other = MasksPage(visitor())
    n_source = int(own["cross"].allowed[0].sum())
    masks.open(part="change", masked="cross")
    other.open(part="change", masked="cross")
    frame = masks.frame("The mask")
    n_queries = len(own["cross"].queries)
    wanted = {masks: own["cross"].allowed.copy(), other: own["cross"].allowed.copy()}
    rounds = [(1, 2), (3, 4), (2, 1)]
    for columns in rounds:
        edits = {reader: reader.reader.query.get("edit", "") for reader in wanted}
        for reader, key in zip(wanted, columns, strict=True):
            wanted[reader][:, key] ^= True
            reader.drag("The mask", frame.middle(0, key), frame.middle(n_queries - 1, key))
        for reader, allowed in wanted.items():
            edit = reader.wait_for_edit(f"^(?!{re.escape(edits[reader])}$)cross")
            assert np.array_equal(parse(edit)[0].allowed, allowed)
            cells = edited_mask(own["cross"], allowed).cells
            assert wrong_cells(reader, "The mask", cells, LIGHT.cells) == []
            free = expected(model, CROSS, allowed, n_source)
            assert written(reader) == free


# ---- links --------------------------------------------------------------------------------------


def test_a_batch_is_typed_one_sentence_a_line(masks: MasksPage) -> None:
    masks.open(batch="")
    masks.page.get_by_role("button", name="One sentence needs no padding").click()
    field = masks.page.get_by_role("textbox", name="Further sentences")
    field.fill("A man reads.\n\nThe dog sleeps.")
    field.press("Control+Enter")
    masks.reader.wait_for_query(batch="A man reads.\n\nThe dog sleeps.")
    masks.settle()
    button = masks.page.get_by_role("button", name="Sentence 1 of a batch of 3")
    expect(button).to_be_visible()
    grid = masks.page.locator(".token-grid table").first.locator("tr")
    if not grid.count():
        button.click()
    expect(grid).to_have_count(3)
    assert masks.page.locator(".token-grid td.padding").count() > 0


# ---- looks --------------------------------------------------------------------------------------


def test_on_a_phone_nothing_leaves_the_page_sideways(visitor: Callable[..., HeadsPage]) -> None:
    masks = MasksPage(visitor(viewport={"width": 390, "height": 844})).open()
    for part in ("Inside", "Compare", "Change", "See"):
        masks.page.get_by_role("radio", name=part, exact=True).click()
        masks.reader.wait_for_query(part=None if part == "See" else part.lower())
        masks.settle()
        assert masks.page.evaluate(
            """() => {
                const main = document.querySelector('[data-testid="stMain"]');
                return main.scrollWidth <= main.clientWidth + 1;
            }"""
        ), part


def test_on_a_laptop_the_mask_and_what_becomes_of_the_translation_share_the_first_screen(
    masks: MasksPage, own: dict[str, Mask]
) -> None:
    edit = link(CROSS, closed(own["cross"], np.s_[:, 1:4]))
    masks.open(part="change", masked="cross", edit=edit)
    for shown in (masks.canvas("The mask"), masks.change.first):
        box = shown.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 800


def test_the_kinds_of_attention_are_those_that_can_be_edited(masks: MasksPage) -> None:
    masks.open(part="change")
    group = masks.page.get_by_role("radiogroup", name="Attention").get_by_role("radio")
    assert group.count() == len(EDITABLE)
