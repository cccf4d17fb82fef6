"""A saved trace that a person drops on the page: kept in memory, for this session only."""

import io
import weakref
from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from model.trace.attention_map import TraceError
from model.trace.trace import Trace
from viz.browser.kept import Kept, nothing
from viz.draw.keys import Keys
from viz.draw.labels import escape_markdown
from viz.heads.standalone import drawable
from viz.registry.pages import CHECKPOINT
from viz.service.model_menu import DROPPED
from viz.shell import address

MOST_MEGABYTES = 64
"""A larger file is refused; .streamlit/config.toml has the same."""

MOST_ARRAY_BYTES = 256 << 20
"""The most bytes of its arrays together."""

ALL_BYTES = 2 << 30
"""The most bytes of the dropped traces of all sessions of a server."""


@dataclass(frozen=True, eq=False)
class _Dropped:
    """A trace and the name of its file."""

    name: str
    trace: Trace


KEYS = Keys("dropped")

_DROPPED: Kept[_Dropped | None] = Kept(KEYS("trace"), nothing)
_OPENED, _NUMBER = Kept(KEYS("opened"), int), Kept(KEYS("number"), int)
_REFUSAL = Kept(KEYS("refusal"), str)

_held: weakref.WeakSet[_Dropped] = weakref.WeakSet()


def name() -> str | None:
    """The name of the file that this person dropped last; None for none."""
    held = _DROPPED.value
    return None if held is None else held.name


def trace() -> Trace:
    """The trace that this person dropped."""
    held = _DROPPED.value
    assert held is not None, "somebody dropped one"
    return held.trace


def turn() -> int:
    """How many files were opened."""
    return _OPENED.value


def offer() -> None:
    """The field that opens a file; errors appear below it."""
    st.file_uploader(
        "Open a trace of any model, saved as .npz",
        type="npz",
        key=_key(),
        max_upload_size=MOST_MEGABYTES,
        on_change=_take,
        help="It stays in this app's memory until you close the page or open another trace.",
    )
    if refusal := _REFUSAL.value:
        st.error(escape_markdown(refusal), icon=":material/error:")


def _key() -> str:
    return KEYS("file", _NUMBER.value)


def _take() -> None:
    """Open the uploaded file."""
    file = st.session_state[_key()]
    if file is None:
        return
    _REFUSAL.value = ""
    try:
        opened = _Dropped(file.name, _read(file.getvalue()))
    except TraceError as error:
        _REFUSAL.value = str(error)
    else:
        _held.add(opened)
        _DROPPED.value = opened
        address.put(CHECKPOINT, DROPPED)
        _OPENED.value += 1
    # Another key gives an empty field, and frees what was in this one.
    _NUMBER.value += 1
    if (context := get_script_run_ctx()) is not None:
        context.uploaded_file_mgr.remove_session_files(context.session_id)


def _read(content: bytes) -> Trace:
    trace = drawable(Trace.load(io.BytesIO(content), most_bytes=MOST_ARRAY_BYTES))
    _DROPPED.value = None
    if sum(each.trace.nbytes for each in _held) + trace.nbytes > ALL_BYTES:
        raise TraceError("This app cannot hold more dropped traces now; try again later.")
    return trace
