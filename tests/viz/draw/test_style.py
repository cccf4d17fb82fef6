"""The colours of .streamlit/config.toml, on which viz/draw/themes.py builds; costly style rules."""

import re
import tomllib
from pathlib import Path

import pytest

from viz.draw import css, themes

CONFIG = Path(__file__).parents[3] / ".streamlit" / "config.toml"
SELECTED = 0.1
"""How much of the primary colour Streamlit lays on the ground of what is selected."""


def contrast(one: str, other: str) -> float:
    low, high = sorted((themes.luminance(one), themes.luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mixed(color: str, ground: str, share: float) -> str:
    channels = (
        round(share * int(color[at : at + 2], 16) + (1 - share) * int(ground[at : at + 2], 16))
        for at in (1, 3, 5)
    )
    return "#" + "".join(f"{channel:02x}" for channel in channels)


@pytest.mark.parametrize(("theme", "least"), [("light", 4.5), ("dark", 7)])
def test_the_primary_colour_reads_on_every_ground_and_below_its_text(
    theme: str, least: float
) -> None:
    colors = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["theme"][theme]
    primary, ground = colors["primaryColor"], colors["backgroundColor"]
    # White or dark, as viz/draw/themes.py and canvas.css have it.
    assert contrast(primary, ground) >= least
    assert contrast(primary, colors["secondaryBackgroundColor"]) >= least
    assert contrast(primary, mixed(primary, ground, SELECTED)) >= least
    if theme == "dark":
        assert f"color: {ground} !important" in css.DARK_PAGE_CSS


def test_no_rule_depends_on_everything_in_the_page() -> None:
    # With one, each answer styled the whole page anew, up to four times.
    root = re.compile(r"(?:body|:root|html|\.stApp)\S*:has\(")
    sheets = [css.PAGE_CSS, css.DARK_PAGE_CSS, css.TOOLS_CSS, css.MODEL_CSS, css.ANSWER_CSS]
    assert root.search(".stApp:not(:has(input)) p {}")
    assert [found for sheet in sheets for found in root.findall(sheet)] == []
