"""Several matrices side by side in the browser, with one pointer and one zoom; one may be painted.

Masks are categories, numbers are weights (0 to 1), signed differences or scores. All panels of one
mount are drawn in the browser, so pointing, zooming and painting never wait for the server.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from viz.browser.envelope import seal
from viz.browser.files import fetched
from viz.browser.kept import Kept
from viz.browser.messages import message_of
from viz.draw import themes
from viz.draw.keys import Keys
from viz.draw.labels import axis_texts
from viz.draw.panels import PAINTING_HELP, Panel

_matrices = st.components.v2.component(
    "headscope_matrices",
    html='<div class="headscope matrices" aria-busy="true"></div>',
    js=fetched("matrices/matrices.js"),
)


def matrices(
    panels: Sequence[Panel],
    *,
    key: str,
    height: float = 0,
    abreast: int = 0,
    epoch: int = 0,
    name: str = "",
    stage: bool = False,
    example: tuple[int, int, int] | None = None,
    on_edit: Callable[[], None] | None = None,
) -> None:
    """Mount panels side by side.

    Args:
        panels: at most one of them with a `base`, which can be painted on.
        height: of a matrix in rem; 0 takes about half of the window.
        abreast: the most panels in one row; 0 for as many as the width has room for.
        epoch: a painted panel begins again at `start` with every new epoch, else it stays as it is.
        name: of what is shown; another one begins with its example. Comes back with every edit.
        stage: lets the matrices alone fill the window; `height` then has no effect.
        example: a panel, a query and a key, from 0: the cells are squares, and a line below the
            pictures reads this cell until another one is pointed at. None for a text at the
            pointer.
        on_edit: called after a stroke; st.session_state[key] then holds it under "edit", for
            `edited` to read.
    """
    _matrices(
        key=key,
        data=pack(
            panels,
            height=height,
            abreast=abreast,
            epoch=epoch,
            name=name,
            stage=stage,
            example=example,
        ),
        on_edit_change=on_edit or _nothing,
        height="content",
    )


def pack(
    panels: Sequence[Panel],
    *,
    height: float = 0,
    abreast: int = 0,
    epoch: int = 0,
    name: str = "",
    stage: bool = False,
    example: tuple[int, int, int] | None = None,
) -> bytes:
    """Everything the browser needs, the "matrices" of payloads.json.

    Arguments as in `matrices`.
    """
    values = {
        "payload": "matrices",
        "panels": [_panel(panel) for panel in panels],
        "stage": stage,
        "themes": themes.STAGE_THEMES if stage else themes.THEMES,
        "height": height,
        "abreast": abreast or len(panels),
        "epoch": epoch,
        "name": name,
        "example": None if example is None else list(example),
        "help": f"{PAINTING_HELP[0].upper()}{PAINTING_HELP[1:]}",
    }
    return seal(values)


def keep_painted(key: str, written: str) -> None:
    """Note that the matrix shows this already, because it was painted there."""
    _painted(key).value = written


def epoch_of(key: str, written: str) -> int:
    """How often the painted panel came from anything but painting: a preset, a link, Back.

    Args:
        written: what the panel is to show, as the address has it.
    """
    epoch = Kept(Keys(key)("epoch"), int)
    if written != _painted(key).value:
        keep_painted(key, written)
        epoch.value += 1
    return epoch.value


def _painted(key: str) -> Kept[str]:
    """What was painted last in the matrices of a key."""
    return Kept(Keys(key)("painted"), str)


def edited(key: str, name: str, shape: tuple[int, int]) -> NDArray[np.bool_] | None:
    """What was painted, True = may attend, (query, key); None if nothing was, or on another mask.

    Args:
        name: as it was mounted.
    """
    return read_edit(message_of(key, "edit"), name, shape)


def read_edit(data: Any, name: str, shape: tuple[int, int]) -> NDArray[np.bool_] | None:
    """A mask from a browser, True = may attend, (query, key).

    Args:
        data: from a browser, so from anyone.
        name: as in `edited`.
        shape: as in `edited`.

    Returns:
        None for anything but a mask of that name and shape.
    """
    if not isinstance(data, Mapping) or data.get("name") != name:
        return None
    if (data.get("rows"), data.get("columns")) != shape:
        return None
    try:
        packed = np.frombuffer(base64.b64decode(str(data.get("bits")), validate=True), np.uint8)
    except (binascii.Error, ValueError):
        return None
    size = shape[0] * shape[1]
    if len(packed) != -(-size // 8):
        return None
    return np.unpackbits(packed, count=size).reshape(shape).astype(np.bool_)


def _nothing() -> None:
    """Streamlit keeps a component's state only for one that has a callback."""


def _panel(panel: Panel) -> dict[str, Any]:
    number = np.uint8 if panel.scale == "category" else np.float32
    return {
        "title": panel.title,
        "note": panel.note,
        "sign": panel.sign,
        "alt": panel.alt,
        "queries": axis_texts(panel.queries),
        "keys": axis_texts(panel.keys),
        "queryTitle": panel.query_title,
        "keyTitle": panel.key_title,
        "scale": panel.scale,
        "names": list(panel.names),
        "legend": list(panel.legend or panel.names),
        "colors": {theme: list(colors) for theme, colors in panel.colors.items()},
        "low": panel.low,
        "high": panel.high,
        "unit": panel.unit,
        "digits": panel.digits,
        "least": None,
        "values": panel.values.astype(number),
        "shown": panel.shown,
        "base": panel.base,
        "start": panel.start,
        "byEdit": panel.by_edit,
        "reasons": panel.reasons,
        "hatched": panel.hatched,
        "reads": [list(each) for each in panel.reads],
        "pointed": panel.pointed,
        "beside": None if panel.beside is None else list(panel.beside),
        "besideTitle": panel.beside_title,
    }
