"""The image that is seen under the patches of a row."""

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

import headscope as hs
from model.trace.attention_map import AttentionKind, AttentionMap, Site
from viz.heads.under_patches import MOST_PIXELS, under_patches

PIXELS = np.zeros((8, 12, 3), np.uint8)
PIXELS[:, 6:] = 200, 40, 40


def opened(picture: Any) -> Image.Image:
    return Image.open(io.BytesIO(under_patches(picture).tobytes()))


@pytest.mark.parametrize(
    "picture",
    [
        *(PIXELS, Image.fromarray(PIXELS), PIXELS.tolist(), (PIXELS / 255).astype(np.float32)),
        Image.fromarray(PIXELS).convert("RGBA"),
    ],
)
def test_an_image_and_an_array_of_pixels_are_taken(picture: Any) -> None:
    image = opened(picture)
    assert image.size == (12, 8)
    assert np.asarray(image, float)[4, 10] == pytest.approx([200, 40, 40], abs=30)
    assert np.asarray(image, float)[4, 1] == pytest.approx([0, 0, 0], abs=30)


def test_grey_and_large_images_are_taken() -> None:
    assert opened(np.full((5, 4), 9, np.uint8)).size == (4, 5)
    assert opened(np.zeros((900, 1800), np.uint8)).size == (MOST_PIXELS, MOST_PIXELS // 2)


@pytest.mark.parametrize("wrong", ["cat.png", b"PNG", None, object(), [["a"]]])
def test_what_is_no_picture_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^Give the picture as a PIL image or as an array"):
        under_patches(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        *(np.zeros((2, 2, 5), np.uint8), np.zeros(4, np.uint8), np.zeros((0, 4), np.uint8)),
        *(np.full((2, 2), 300), np.full((2, 2), -1), np.full((2, 2), 1.5), np.full((2, 2), np.nan)),
    ],
)
def test_an_array_that_is_no_picture_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"^The picture's (array|numbers)"):
        under_patches(wrong)


def test_a_page_holds_the_picture() -> None:
    tokens = hs.Tokens.grid(2, 2)
    site = Site(AttentionKind.ENCODER, 0)
    weights, allowed = np.full((1, 4, 4), 0.25, np.float32), np.ones((4, 4), bool)
    seen = AttentionMap(site, weights=weights, allowed=allowed, queries=tokens, keys=tokens)
    trace = hs.Trace(
        source=tokens,
        target=hs.Tokens(),
        predictions=hs.Tokens(),
        maps={site: seen},
        text="",
        source_text="",
    )
    plain, pictured = (hs.show(trace, picture=each).page for each in (None, PIXELS))
    assert len(pictured) > len(plain) + under_patches(PIXELS).size // 2
    assert "createImageBitmap" in pictured
