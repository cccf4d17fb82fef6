"""Files of a checkpoint folder: read whole, or refused in a sentence, for anyone may write them."""

import functools
import json
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from model.checkpoints.shipped import CheckpointError
from model.files import write_whole

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"

MAX_JSON_BYTES = 16_000_000
"""The largest JSON file, a thousand times the usual size."""

_PICKLES = (b"\x80", b"PK\x03\x04")
"""The first bytes of a pickle, and of the archive that torch.save writes around one."""


def own_file(directory: Path, name: str) -> Path:
    """The path of a file in a checkpoint folder; the file need not exist.

    Raises CheckpointError if a link leads out of the folder, or the path is no file.
    """
    path = directory / name
    # A link in someone else's folder must not show files outside it.
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(directory)):
        raise CheckpointError(
            f"{path} is a link out of its folder; put the file itself into the checkpoint."
        )
    # Reading a pipe would wait for ever.
    if path.exists() and not path.is_file():
        raise CheckpointError(f"The checkpoint lacks a readable {path}: the path is no file.")
    return path


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a checkpoint; CheckpointError also for another JSON value."""
    content = parse_json(path)
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} is damaged: it is not a JSON object.")
    return content


def parse_json(path: Path) -> Any:
    """The content of a JSON file of a checkpoint.

    Raises CheckpointError if the file is missing, too large or no JSON, or an object in it has a
    field twice.
    """
    try:
        with path.open("rb") as opened:
            written = opened.read(MAX_JSON_BYTES + 1)
    except OSError as error:
        raise CheckpointError(f"The checkpoint lacks a readable {path}.") from error
    if len(written) > MAX_JSON_BYTES:
        raise CheckpointError(f"{path} is damaged: it has more than {MAX_JSON_BYTES:,} bytes.")
    try:
        return json.loads(
            written.decode("utf-8"), object_pairs_hook=functools.partial(_object, path)
        )
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged: it is not JSON.") from error
    except RecursionError as error:
        raise CheckpointError(f"{path} is damaged: it nests far too deeply.") from error


def _object(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise CheckpointError(f"{path} is damaged: one of its objects has a field twice.")
    return content


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file that people can read."""
    write_whole(path, f"{json.dumps(content, indent=2, ensure_ascii=False)}\n".encode())


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Named tensors of a safetensors file; CheckpointError if it is missing or damaged."""
    try:
        with path.open("rb") as opened:
            start = opened.read(8)
            # A safetensors file begins with the length of its header, which may begin so too.
            is_longer = int.from_bytes(start, "little") > path.stat().st_size
            if start.startswith(_PICKLES) and is_longer:
                raise CheckpointError(
                    f"{path} is a pickle, whatever its name says, and opening a pickle runs its "
                    "author's code; ask for the weights as safetensors."
                )
        return load_file(path)
    except OSError as error:
        raise CheckpointError(f"The checkpoint lacks a readable {path}.") from error
    except SafetensorError as error:
        raise CheckpointError(f"{path} is damaged: it is not a safetensors file.") from error


def read_weights(directory: Path) -> dict[str, Tensor]:
    """The tensors of model.safetensors, or of its parts; errors as `read_tensors`."""
    state: dict[str, Tensor] = {}
    for path in weights_files(directory):
        state |= read_tensors(path)
    return state


def weights_files(directory: Path) -> list[Path]:
    """The path of model.safetensors, or of each of its parts; CheckpointError as `read_json`."""
    if not (directory / INDEX).exists():
        return [own_file(directory, WEIGHTS)]
    weight_map = read_json(own_file(directory, INDEX)).get("weight_map")
    files = list(weight_map.values()) if isinstance(weight_map, dict) else []
    # An index must name files of its own folder only, since anyone may have written it.
    if not files or any(not isinstance(file, str) or Path(file).name != file for file in files):
        raise CheckpointError(f"{directory / INDEX} is damaged: it names no weights files.")
    return [own_file(directory, file) for file in sorted(set(files))]
