"""`headscope open mine.npz`: a saved trace, or a model's folder, in the app."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import webbrowser
from pathlib import Path

from headscope.commands.outputs import add_output
from headscope.in_app import open as open_in_app
from headscope.in_app import read_trace
from model.checkpoints.shipped import CheckpointError
from model.files import write_whole
from model.trace.attention_map import TraceError
from viz.desktop.desktop import ServerError, signals_raise
from viz.heads.standalone import trace_page

REFUSED = (CheckpointError, ServerError, TraceError)
"""Errors whose message is one sentence for the user."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument(
        "place",
        type=Path,
        metavar="FILE-or-FOLDER",
        help="a saved trace, or the folder of a Headscope or Hugging Face model",
    )
    alone = parser.add_mutually_exclusive_group()
    alone.add_argument(
        "--page", action="store_true", help="write a trace as one HTML page and open it"
    )
    add_output(
        alone,
        "--out",
        kinds=("html",),
        metavar="FILE.html",
        help="write the page there without opening it",
    )


def run(arguments: argparse.Namespace) -> None:
    """Serve the app until Ctrl+C, or write a page."""
    file: Path = arguments.place
    if arguments.page or arguments.out:
        _write_page(file, arguments.out)
        return
    with (
        signals_raise(),
        contextlib.suppress(KeyboardInterrupt),
        open_in_app(file, browser=False) as opened,
    ):
        name = file.resolve().name if file.is_file() or file.is_dir() else file
        print(f"{name} is open at {opened.url}; press Ctrl+C here to end it.", flush=True)
        webbrowser.open(opened.url)
        opened.wait()


def _write_page(file: Path, out: Path | None) -> None:
    trace = read_trace(file)
    has_texts = trace.source_text or trace.text
    page = trace_page(trace, title="" if has_texts else file.name).encode()
    if out is not None:
        write_whole(out, page)
        return
    written = Path(tempfile.mkdtemp(prefix="headscope-")) / "trace.html"
    write_whole(written, page)
    print(written)
    webbrowser.open(written.as_uri())
