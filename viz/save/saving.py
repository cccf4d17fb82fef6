"""A picture written as a file, in any format that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from viz.save import image, notebook
from viz.save.film import film
from viz.save.formats import FILMS, IMAGES, NUMBERS, ExportError

if TYPE_CHECKING:
    from viz.save.picture import Layout, Picture


def content(
    picture: Picture,
    format: str,
    layout: Layout,
    *,
    width: str = "two-columns",
    scale: int = 2,
    given: Mapping[str, str] = {},
    checkpoint: str | None = None,
    progress: Callable[[float], object] = lambda _: None,
) -> bytes:
    """The file.

    Args:
        format: its suffix.
        layout: of images and pages.
        width, scale: of images, as of `image`.
        given: what is known besides the picture, by name, such as the sentence and the model.
        checkpoint: which the Python loads, where it needs a model.
        progress: of a film, called with the share that is done.

    Raises:
        ExportError: if the picture has no such format, or as `image` and `film`.
    """
    if format not in picture.formats:
        raise ExportError(
            f"“{picture.title}” cannot be written as .{format}; choose one of "
            f"{' '.join(f'.{each}' for each in picture.formats)}."
        )
    below = {
        name: given.get(name, "") if name in picture.origin else ""
        for name in ("sentence", "model")
    }
    if format == "html" and picture.has("page"):
        return picture.page(layout.dark).encode()
    if format in FILMS:
        return film(picture, format, dark=layout.dark, **below, progress=progress)  # type: ignore[arg-type]
    if format in NUMBERS:
        return picture.saved(given).encode(format)  # type: ignore[arg-type]
    # Python is drawn once too: a picture that cannot be drawn is refused here, not in a notebook.
    figure = picture.figure(layout)
    if format == "html":
        return image.page(figure, picture.title).encode()
    if format in IMAGES:
        return image.image(
            figure,
            format,  # type: ignore[arg-type]
            width,
            scale,
            title=picture.title,
            caption=picture.full_caption,
            **below,
        )
    own = checkpoint if picture.needs_model else None
    return notebook.code(picture.python(layout), checkpoint=own).encode()
