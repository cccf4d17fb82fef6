"""Whether a page opens on its picture: high up, whole, with few words and controls around it."""

from pathlib import Path

from playwright.sync_api import Page

MEASURE = Path(__file__).with_suffix(".js").read_text(encoding="utf-8").strip().rstrip(";")

LOWEST, LEAST_SHARE, MOST_WORDS, MOST_CONTROLS = 190, 0.98, 110, 28
"""Where a picture begins at the lowest, in pixels, how much of it shows, and what is around it."""

SCREEN = {"width": 1280, "height": 800}


def assert_opens_on_picture(page: Page) -> None:
    """Fail if it does not, on a `SCREEN` and at rest."""
    # A chart fits itself to its place once more after the page is calm.
    page.wait_for_function(
        f"([lowest, least]) => {{ const seen = ({MEASURE})();"
        " return seen.top <= lowest && seen.share >= least }",
        arg=[LOWEST, LEAST_SHARE],
    )
    seen = page.evaluate(MEASURE)
    assert len(seen["words"]) <= MOST_WORDS, seen["words"]
    assert len(seen["controls"]) <= MOST_CONTROLS, seen["controls"]
