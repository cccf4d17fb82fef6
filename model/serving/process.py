"""A process of its own that computes, at the other end of two pipes.

It ends with whoever started it, in whichever way that ends: its input is then closed. It writes
nothing to a disk. Values travel as pickles, arrays beside them and uncopied; both ends are ours.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, NoReturn

from model.serving.queue import Compute, WorkerLostError

_ROOT = str(Path(str(sys.modules[__name__.partition(".")[0]].__file__)).parents[1])

_RUN = (
    "import runpy, sys; root, module = sys.argv[1:]; root in sys.path or sys.path.insert(0, root); "
    "runpy.run_module(module, run_name='__main__', alter_sys=True)"
)
"""As `python -m`, but never a module of the same name in the current directory."""


class WorkerProcess:
    """Computes in a process of its own, which starts when it is needed and again when it was lost.

    It is a `Compute`: called by one thread at a time.

    Args:
        module: what the process runs, as `python -m` takes it; it calls `serve`.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, jobs: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The jobs' outcomes as they come.

        Raises:
            WorkerLostError: if the process ended before the last.
        """
        process = self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, list(jobs))
            for _ in jobs:
                yield receive(process.stdout)
        except (OSError, EOFError):
            self.close()
            raise WorkerLostError(
                "The process that computes ended twice while it worked on this; ask for something "
                "else, or try again in a moment."
            ) from None

    def start(self) -> subprocess.Popen[bytes]:
        """The process, started if it does not run."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _RUN, _ROOT, self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Ctrl+C is for whoever started it.
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        return self._process

    def close(self) -> None:
        """End the process, if it runs."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            # What was still to be written to a process that is gone comes back as an error.
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        process.wait()


def serve(compute: Compute) -> NoReturn:
    """Be the process: answer what comes in on stdin, and end with whoever writes there."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Nothing that is printed may come between the answers.
    os.dup2(2, 1)
    waiting: SimpleQueue[list[Any]] = SimpleQueue()

    def listen() -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                waiting.put(receive(asked))
        # In the middle of a computation as well.
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        for place, outcome in compute(waiting.get()):
            try:
                send(answers, (place, outcome))
            except OSError:
                os._exit(0)
            except Exception as error:
                send(answers, (place, RuntimeError(f"A result could not be sent: {error!r}")))


def send(stream: BinaryIO | Any, value: Any) -> None:
    """Write a value; arrays follow it as they are."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    sizes = struct.pack(f"<{len(parts) + 1}Q", len(parts), *(part.nbytes for part in parts))
    stream.write(b"".join((sizes, *parts)))
    stream.flush()


def receive(stream: BinaryIO | Any) -> Any:
    """Read what `send` wrote; arrays are read-only.

    Raises:
        EOFError: if the other end was closed.
    """
    (count,) = struct.unpack("<Q", _read(stream, 8))
    head, *buffers = (
        _read(stream, size) for size in struct.unpack(f"<{count}Q", _read(stream, 8 * count))
    )
    return pickle.loads(head, buffers=buffers)


def _read(stream: BinaryIO | Any, size: int) -> bytes:
    found: bytes = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found
