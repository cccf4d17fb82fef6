"""What a picture can be saved as."""

from __future__ import annotations

from typing import Literal, get_args

Image = Literal["png", "svg", "pdf"]
NumberFormat = Literal["csv", "json", "npz"]

IMAGES, NUMBERS = get_args(Image), get_args(NumberFormat)
FORMATS = (*IMAGES, *NUMBERS, "html", "py")
"""Every kind of file, as its suffix."""

FORMAT_NAMES = {format: format.upper() for format in FORMATS} | {"py": "Python"}
MIME = {
    "png": "image/png",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "csv": "text/csv",
    "json": "application/json",
    "npz": "application/octet-stream",
    "html": "text/html",
}


class ExportError(RuntimeError):
    """A file that cannot be made; the message is one sentence that says why and what to do."""
