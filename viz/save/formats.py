"""The kinds of file that a picture can become."""

from typing import Literal, get_args

Image = Literal["png", "svg", "pdf"]
Motion = Literal["gif", "webm", "mp4"]
NumberFormat = Literal["csv", "json", "npz"]

IMAGES, FILMS, NUMBERS = get_args(Image), get_args(Motion), get_args(NumberFormat)
FORMATS = (*IMAGES, *FILMS, *NUMBERS, "html", "py")
"""Every kind of file, by its suffix."""

FORMAT_NAMES = {format: format.upper() for format in FORMATS} | {
    "webm": "WebM",
    "py": "Python",
}
MIME = {
    "png": "image/png",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "gif": "image/gif",
    "webm": "video/webm",
    "mp4": "video/mp4",
    "csv": "text/csv",
    "json": "application/json",
    "npz": "application/octet-stream",
    "html": "text/html",
}


class ExportError(RuntimeError):
    """A file cannot be made; the message says in one sentence why, and what to do."""
