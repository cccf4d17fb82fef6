"""What a test starts can be interrupted even where the tests run in the background."""

import signal
import subprocess
import sys

from tests.kit.signals import end_group, heed_interrupts


def test_a_process_heeds_interrupts_though_its_parent_ignores_them() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=heed_interrupts,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == -signal.SIGINT
        finally:
            end_group(process.pid)
