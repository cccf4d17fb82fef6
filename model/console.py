"""Standard output and standard error, whatever the console can show."""

import io
import sys

INTERRUPTED = 130
"""The exit status after Ctrl+C, as of a shell."""


def escape_unprintable() -> None:
    """Let the console show an escape for a character that it lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
