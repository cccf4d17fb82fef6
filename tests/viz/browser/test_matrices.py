import base64
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from model.trace.attention_map import Tokens
from tests.kit.trace_payload import Decoded
from viz.browser.matrices import pack, read_edit
from viz.draw import themes
from viz.draw.labels import axis_texts
from viz.draw.panels import Panel

HOSTILE = ("▁<s>", "▁<b>x</b>", "*a*", "▁$x$", "</script>", "\"quotes'", "\u202e", "\ud800")
RANDOM = np.random.default_rng(3)


def a_panel(n_queries: int = 3, n_keys: int = 4, **more: Any) -> Panel:
    given: dict[str, Any] = {
        "title": "Weights",
        "values": RANDOM.random((n_queries, n_keys), dtype=np.float32),
        "queries": Tokens.unnamed(range(n_queries)),
        "keys": Tokens.unnamed(range(n_keys)),
        "alt": "A matrix.",
        "scale": "weights",
    }
    return Panel(**(given | more))


def a_mask(cells: NDArray[np.uint8], **more: Any) -> Panel:
    given: dict[str, Any] = {
        "values": cells,
        "scale": "category",
        "names": ["allowed", "future", "by the edit"],
        "colors": {"light": ["#000000"] * 3, "dark": ["#ffffff"] * 3},
    }
    return a_panel(*cells.shape, **(given | more))


def told(allowed: NDArray[np.bool_], **more: Any) -> dict[str, Any]:
    """What the browser tells of a stroke."""
    bits = base64.b64encode(np.packbits(allowed).tobytes()).decode()
    rows, columns = allowed.shape
    return {"name": "0.decoder.0", "rows": rows, "columns": columns, "bits": bits} | more


# ---- what the browser is sent -------------------------------------------------------------------


def test_numbers_arrive_exactly_and_categories_as_bytes() -> None:
    numbers = a_panel(3, 5)
    cells = np.array([[0, 1, 2], [2, 1, 0]], dtype=np.uint8)
    found = Decoded(pack([numbers, a_mask(cells)]))
    first, second = found.header["panels"]
    assert np.array_equal(first["values"], numbers.values.ravel())
    assert np.array_equal(second["values"], cells.ravel())
    assert second["names"] == second["legend"] == ["allowed", "future", "by the edit"]


def test_what_is_taken_out_and_where_painting_begins_arrive_with_their_panel() -> None:
    cells = np.array([[0, 1], [0, 0]], dtype=np.uint8)
    start = np.array([[True, False], [False, True]])
    shown = np.array([[True, False, True]])
    found = Decoded(
        pack([a_panel(1, 3, shown=shown), a_mask(cells, base=cells, start=start, by_edit=2)])
    )
    plain, painted = found.header["panels"]
    assert np.array_equal(plain["shown"], shown.ravel())
    assert plain["base"] is plain["start"] is None
    assert np.array_equal(painted["base"], cells.ravel())
    assert np.array_equal(painted["start"], start.ravel())
    assert painted["byEdit"] == 2
    assert painted["shown"] is None


def test_tokens_travel_as_data_whatever_they_spell() -> None:
    queries = Tokens(HOSTILE, tuple(range(len(HOSTILE))))
    found = Decoded(pack([a_panel(len(HOSTILE), 2, queries=queries)]))
    assert found.header["panels"][0]["queries"] == axis_texts(queries)


def test_both_themes_go_along() -> None:
    sent = Decoded(pack([a_panel()])).header["themes"]
    for name, look in (("light", themes.LIGHT), ("dark", themes.DARK)):
        assert sent[name]["signed"] == list(look.signed)
        assert sent[name]["hatch"] == look.hatch


def test_the_id_changes_with_what_is_shown_and_with_nothing_else() -> None:
    panel = a_panel()
    before = Decoded(pack([panel])).id
    assert Decoded(pack([replace(panel)])).id == before
    values = panel.values.copy()
    values[0, 0] += 1
    others = [
        pack([replace(panel, values=values)]),
        pack([replace(panel, title="Others")]),
        pack([panel, panel]),
        pack([panel], epoch=1),
        pack([panel], name="other"),
        pack([panel], height=3),
    ]
    assert len({before, *(Decoded(other).id for other in others)}) == 1 + len(others)


# ---- what the browser tells ---------------------------------------------------------------------


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_a_painted_mask_is_read_back_exactly(rows: int, columns: int, seed: int) -> None:
    allowed = np.random.default_rng(seed).random((rows, columns)) < 0.5
    found = read_edit(told(allowed), "0.decoder.0", (rows, columns))
    assert found is not None
    assert np.array_equal(found, allowed)


FORGED: list[Any] = [
    None,
    "edit",
    [],
    {},
    told(np.ones((3, 4), dtype=np.bool_), name="1.decoder.0"),
    told(np.ones((3, 4), dtype=np.bool_), name=None),
    told(np.ones((4, 3), dtype=np.bool_)),
    told(np.ones((3, 4), dtype=np.bool_), rows=10**9),
    told(np.ones((3, 4), dtype=np.bool_), rows="3"),
    told(np.ones((3, 4), dtype=np.bool_), columns=None),
    told(np.ones((3, 4), dtype=np.bool_), bits=""),
    told(np.ones((3, 4), dtype=np.bool_), bits=None),
    told(np.ones((3, 4), dtype=np.bool_), bits=17),
    told(np.ones((3, 4), dtype=np.bool_), bits="//8*"),
    told(np.ones((3, 4), dtype=np.bool_), bits="ä" * 4),
    told(np.ones((3, 4), dtype=np.bool_), bits="//8"),
    told(np.ones((3, 4), dtype=np.bool_), bits="/" * 4_000_000),
    told(np.ones((3, 4), dtype=np.bool_), bits={"a": 1}),
]


@pytest.mark.parametrize("forged", FORGED, ids=lambda forged: str(forged)[:40])
def test_a_message_that_is_no_stroke_on_this_mask_is_none(forged: Any) -> None:
    assert read_edit(forged, "0.decoder.0", (3, 4)) is None
