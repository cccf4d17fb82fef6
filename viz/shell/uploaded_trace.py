"""A saved trace that a person drops on the page: held in memory, for this session alone."""

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
"""A larger file is not taken; .streamlit/config.toml has the same."""

MOST_ARRAY_BYTES = 256 << 20
"""What the arrays in it may hold together."""

ALL_BYTES = 2 << 30
"""What the dropped traces of all sessions of a server may hold together."""

_DROPPED, _OPENED = "_dropped", "_dropped_opened"
_NUMBER, _REFUSAL = "_dropped_number", "_dropped_refusal"


@dataclass(frozen=True, eq=False)
class _Dropped:
    """A trace, and what its file is called."""

    name: str
    trace: Trace


_held: weakref.WeakSet[_Dropped] = weakref.WeakSet()


def name() -> str | None:
    """What the file was called that this person dropped last; None for none."""
    held: _Dropped | None = st.session_state.get(_DROPPED)
    return None if held is None else held.name


def trace() -> Trace:
    """What it holds."""
    held: _Dropped = st.session_state[_DROPPED]
    return held.trace


def offer() -> None:
    """The button that opens a file; what is wrong with one is said below it."""
    with st.popover(
        "Open a trace",
        icon=":material/upload_file:",
        # Another key is another menu, which is closed: what was opened is below it.
        key=f"open-trace-{st.session_state.get(_OPENED, 0)}",
        help="Open a trace of any model, saved as .npz",
    ):
        st.file_uploader(
            "A trace saved as .npz",
            type="npz",
            key=_key(),
            max_upload_size=MOST_MEGABYTES,
            on_change=_take,
            help="It stays in the memory of this app until you close the page or open another.",
        )
        if refusal := st.session_state.get(_REFUSAL):
            st.error(escape_markdown(refusal), icon=":material/error:")


def _key() -> str:
    return f"trace-file-{st.session_state.get(_NUMBER, 0)}"


def _take() -> None:
    """Open the file that came."""
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
        state[_OPENED] = state.get(_OPENED, 0) + 1
    # Another key is another field, with nothing in it; and what was in this one is let go of.
    state[_NUMBER] = state.get(_NUMBER, 0) + 1
    if (context := get_script_run_ctx()) is not None:
        context.uploaded_file_mgr.remove_session_files(context.session_id)


def _read(content: bytes) -> Trace:
    found = drawable(Trace.load(io.BytesIO(content), most_bytes=MOST_ARRAY_BYTES))
    st.session_state.pop(_DROPPED, None)
    if sum(each.trace.nbytes for each in _held) + found.nbytes > ALL_BYTES:
        raise TraceError(
            "This app holds as many dropped traces as it can; try again when others have left."
        )
    return found
