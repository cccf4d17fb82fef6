"""Open a trace or a model in the app, on a server that ends with this process."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from pathlib import Path
from types import TracebackType
from urllib.parse import urlencode

from model.checkpoints.folder_files import CONFIG
from model.checkpoints.shipped import CHECKPOINTS, CheckpointError
from model.files import unread
from model.trace.attention_map import TraceError
from model.trace.trace import Trace
from viz.desktop.desktop import Server
from viz.heads.standalone import drawable
from viz.service.model_menu import CHECKPOINTS_VARIABLE, TRACES_VARIABLE

_opened: list[Opened] = []
"""Keeps apps open whose return value was not kept."""


class Opened:
    """A running app.

    Attributes:
        url: its address, reachable only from this machine.
    """

    def __init__(
        self, server: Server, query: str, folder: tempfile.TemporaryDirectory[str] | None = None
    ) -> None:
        self._server = server
        # The folder is deleted with this value.
        self._folder = folder
        self.url = f"{server.url}/?{query}"

    def wait(self) -> None:
        """Wait until the server ends.

        Raises ServerError if it ends by itself.
        """
        self._server.wait()

    def close(self) -> None:
        """End the server."""
        if self in _opened:
            _opened.remove(self)
            self._server.__exit__()

    def __enter__(self) -> Opened:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Opened({self.url!r})"


def open(place_or_trace: str | os.PathLike[str] | Trace, *, browser: bool = True) -> Opened:
    """Open a trace or a model in the app.

    Args:
        place_or_trace: a trace, the file of a saved one, or a model's folder, of Headscope or of
            Hugging Face.
        browser: whether the person's browser is sent there.

    Returns:
        The running app, which ends with this process, or with `close()`.

    Raises:
        TraceError: if the trace cannot be drawn or its file cannot be read.
        CheckpointError: if the folder holds no model.
        ServerError: if the server does not start.
    """
    folder = None
    if not isinstance(place_or_trace, Trace) and _is_stream(Path(place_or_trace)):
        # The server could not read it again.
        place_or_trace = read_trace(Path(place_or_trace))
    if isinstance(place_or_trace, Trace):
        folder = tempfile.TemporaryDirectory(prefix="headscope-")
        place = Path(folder.name, "trace.npz")
        place_or_trace.save(place)
    else:
        # Its name appears in the address, so "." must be resolved.
        place = Path(place_or_trace).resolve()
    if place.is_dir():
        _require_model(place)
        variable, usual = CHECKPOINTS_VARIABLE, str(CHECKPOINTS)
    else:
        read_trace(place)
        variable, usual = TRACES_VARIABLE, ""
    if os.pathsep in str(place):
        raise TraceError(
            f"The app cannot open a path with “{os.pathsep}” in it: rename {place.name}, or open a "
            "trace with --page."
        )
    named = os.pathsep.join(filter(None, [str(place), os.environ.get(variable) or usual]))
    server = Server({**os.environ, variable: named}).__enter__()
    opened = Opened(server, urlencode({"checkpoint": place.name}), folder)
    _opened.append(opened)
    if browser:
        webbrowser.open(opened.url)
    return opened


def _is_stream(place: Path) -> bool:
    """Whether it is a pipe or a device."""
    return place.exists() and not place.is_file() and not place.is_dir()


def _require_model(folder: Path) -> None:
    if not (folder / CONFIG).is_file():
        raise CheckpointError(
            f"{folder} holds no model: there is no {CONFIG} in it; name a checkpoint's folder or a "
            "Hugging Face folder."
        )


def read_trace(file: Path) -> Trace:
    """Load a saved trace that can be drawn.

    Raises TraceError if it cannot, or if the file cannot be read.
    """
    try:
        return drawable(Trace.load(file))
    except OSError as error:
        raise TraceError(unread(file, error)) from None
