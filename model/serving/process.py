"""A worker process that computes, at the other end of two pipes.

It ends with its parent, however the parent ends, because its input closes. It writes nothing to
disk. Values travel as pickles, with arrays outside them, uncopied; both ends run our code.
"""

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
"""Like `python -m`, but never a module of the same name in the current directory."""


class WorkerProcess:
    """A worker process, started when needed and restarted when lost.

    It is a `Compute`, called by one thread at a time. Its module, as for `python -m`, calls
    `serve`.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, jobs: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """The jobs' outcomes as they become ready; WorkerLostError if the process ends before."""
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
                "The worker process ended twice while computing this; ask for something else, or "
                "try again in a moment."
            ) from None

    def start(self) -> subprocess.Popen[bytes]:
        """The process, started if it does not run."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _RUN, _ROOT, self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Ctrl+C is for the parent.
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
            # Closing flushes, which fails if the process is gone.
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        process.wait()


def serve(compute: Compute) -> NoReturn:
    """Answer jobs from stdin until it closes, as the worker process."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Prints must not come between the answers.
    os.dup2(2, 1)
    waiting: SimpleQueue[list[Any]] = SimpleQueue()

    def listen() -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                waiting.put(receive(questions))
        # Even in the middle of a computation.
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
    """Write a value, with its arrays uncopied."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    sizes = struct.pack(f"<{len(parts) + 1}Q", len(parts), *(part.nbytes for part in parts))
    stream.write(b"".join((sizes, *parts)))
    stream.flush()


def receive(stream: BinaryIO | Any) -> Any:
    """The value that `send` wrote, with read-only arrays; EOFError if the other end is closed."""
    (count,) = struct.unpack("<Q", _read(stream, 8))
    head, *buffers = (
        _read(stream, size) for size in struct.unpack(f"<{count}Q", _read(stream, 8 * count))
    )
    return pickle.loads(head, buffers=buffers)


def _read(stream: BinaryIO | Any, size: int) -> bytes:
    content: bytes = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content
