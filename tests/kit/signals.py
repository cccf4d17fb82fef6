"""Processes that a test can interrupt, whatever the test run itself was started with."""

import os
import signal
from contextlib import suppress


def heed_interrupts() -> None:
    """For `preexec_fn`: let Ctrl+C end the process that is started.

    A shell starts what stands in its background with SIGINT ignored, and every child inherits that.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def end_group(leader: int) -> None:
    """Kill a process that was started in a session of its own, and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
