"""A saved trace that a person drops on the page: kept in memory, for this session only."""

from __future__ import annotations

import io
import weakref
from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from model.trace.attention_map import TraceError
from model.trace.trace import Trace
from viz.draw.labels import escape_markdown
from viz.heads.standalone import drawable
from viz.service.model_menu import DROPPED

MOST_MEGABYTES = 64
"""A larger file is refused; .streamlit/config.toml has the same."""

MOST_ARRAY_BYTES = 256 << 20
"""The most bytes of its arrays together."""

ALL_BYTES = 2 << 30
"""The most bytes of the dropped traces of all sessions of a server."""

_DROPPED, _OPENED = "_dropped", "_dropped_opened"
_NUMBER, _REFUSAL = "_dropped_number", "_dropped_refusal"


@dataclass(frozen=True, eq=False)
class _Dropped:
    """A trace and the name of its file."""

    name: str
    trace: Trace


_held: weakref.WeakSet[_Dropped] = weakref.WeakSet()


def name() -> str | None:
    """The name of the file that this person dropped last; None for none."""
    held: _Dropped | None = st.session_state.get(_DROPPED)
    return None if held is None else held.name


def trace() -> Trace:
    """The trace that this person dropped."""
    held: _Dropped = st.session_state[_DROPPED]
    return held.trace


def turn() -> int:
    """How many files were opened."""
    opened: int = st.session_state.get(_OPENED, 0)
    return opened


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
    if refusal := st.session_state.get(_REFUSAL):
        st.error(escape_markdown(refusal), icon=":material/error:")


def _key() -> str:
    return f"trace-file-{st.session_state.get(_NUMBER, 0)}"


def _take() -> None:
    """Open the uploaded file."""
    state = st.session_state
    file = state[_key()]
    if file is None:
        return
    state.pop(_REFUSAL, None)
    try:
        opened = _Dropped(file.name, _read(file.getvalue()))
    except TraceError as error:
        state[_REFUSAL] = str(error)
    else:
        _held.add(opened)
        state[_DROPPED] = opened
        state["checkpoint"] = DROPPED
        state[_OPENED] = turn() + 1
    # Another key gives an empty field, and frees what was in this one.
    state[_NUMBER] = state.get(_NUMBER, 0) + 1
    if (context := get_script_run_ctx()) is not None:
        context.uploaded_file_mgr.remove_session_files(context.session_id)


def _read(content: bytes) -> Trace:
    trace = drawable(Trace.load(io.BytesIO(content), most_bytes=MOST_ARRAY_BYTES))
    st.session_state.pop(_DROPPED, None)
    if sum(each.trace.nbytes for each in _held) + trace.nbytes > ALL_BYTES:
        raise TraceError("This app cannot hold more dropped traces now; try again later.")
    return trace
