"""The image that a model read, which is seen under the patches of a row."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MOST_PIXELS = 640
"""A side that is longer is made so long."""


def under_patches(picture: Any) -> NDArray[np.uint8]:
    """A picture as the browser takes it: the bytes of a JPEG file.

    Args:
        picture: a PIL image, or an array (row, column) or (row, column, colour) of whole numbers
            from 0 to 255, or of shares from 0 to 1.

    Raises:
        TypeError: for anything else, a file's name among it.
        ValueError: for an array of another shape, or of other numbers.
    """
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(_pixels(picture))
    image = image.convert("RGB")
    image.thumbnail((MOST_PIXELS, MOST_PIXELS))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=85)
    return np.frombuffer(file.getvalue(), np.uint8)


def _pixels(picture: Any) -> NDArray[np.uint8]:
    array = None if isinstance(picture, (str, bytes)) else np.asarray(picture)
    if array is None or array.dtype.kind not in "biuf":
        raise TypeError(
            "Give the picture as a PIL image or as an array of its pixels; open a file with "
            f"PIL.Image.open. This is {type(picture).__name__}."
        )
    if array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,), (4,)) or not array.size:
        raise ValueError(
            "The picture's array must be (row, column) or (row, column, colour) with 3 or 4 "
            f"colours; it is {array.shape}."
        )
    most = 1 if array.dtype.kind in "bf" else 255
    if not np.isfinite(array).all() or array.min() < 0 or array.max() > most:
        raise ValueError(
            "The picture's numbers must be whole ones from 0 to 255, or shares from 0 to 1."
        )
    return (array * (255 // most)).round().astype(np.uint8)
