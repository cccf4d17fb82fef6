"""All heads beside the model's picture, as tests drive them."""

from __future__ import annotations

import re

from playwright.sync_api import Page

from tests.kit.heads_page import Frame, HeadsPage

POINTED = """(root, steps) => {
    const { left, top } = root.getBoundingClientRect();
    const tip = root.querySelector(".tip");
    const names = steps.map(([x, y]) => {
        const at = { clientX: left + x, clientY: top + y, pointerType: "mouse", bubbles: true };
        root.dispatchEvent(new PointerEvent("pointermove", at));
        return tip.innerText.split("\\n")[0];
    });
    root.dispatchEvent(new PointerEvent("pointerleave"));
    return names;
}"""


class HeadsViewPage(HeadsPage):
    """A page in which one head is a place of the model's picture."""

    ROOT = ".heads-view"

    def __init__(self, page: Page, url: str) -> None:
        super().__init__(page, url)
        self.matrix = self.lines = page.locator(f"{self.ROOT} .model-view")
        self.tooltip = page.locator(f"{self.ROOT} :is(.tooltip, .tip):not([hidden])")

    def frame(self) -> Frame:
        """The place of the cells, as the picture has drawn them."""
        x, y, width, height, rows, columns = self.matrix.evaluate(
            "root => JSON.parse(root.querySelector('canvas.space').dataset.cells)"
        )
        return Frame(x, y, width / columns, height / rows)

    def named_axes(self) -> tuple[list[str], list[str]]:
        """Every query and every key, as the tooltip names them along the first column and row."""
        frame = self.frame()
        *_, rows, columns = self.matrix.evaluate(
            "root => JSON.parse(root.querySelector('canvas.space').dataset.cells)"
        )
        down = [frame.middle(query, 0) for query in range(rows)]
        across = [frame.middle(0, key) for key in range(columns)]
        names = [self.matrix.evaluate(POINTED, steps) for steps in (down, across)]
        queries = [re.sub(r" \(\d+\) to .* \(0\)$", "", line) for line in names[0]]
        keys = [re.sub(r"^.* \(0\) to (.*) \(\d+\)$", r"\1", line) for line in names[1]]
        return queries, keys

    @property
    def place(self) -> str | None:
        """What kind of place one is at."""
        return self.matrix.get_attribute("data-place")
