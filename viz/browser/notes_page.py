"""The window with the speaker's notes: a document that the server sends at an address of its own.

A document made by the page would inherit its security policy, and its script would not run.
"""

from __future__ import annotations

from pathlib import Path

from viz.browser.files import ADDRESS, joined
from viz.draw import themes

NAME = "notes.html"
NOTES_ADDRESS = f"{ADDRESS}/{NAME}"
"""Seen from every page."""

PAGE = (
    Path(__file__)
    .with_name("speaker")
    .joinpath("notes.html")
    .read_text(encoding="utf-8")
    .replace("/* colours */", "".join(f"--{n}: {c}; " for n, c in themes.NOTES_COLORS.items()))
    .replace("/* script */", joined("speaker/notes.js"))
)
