"""A checkpoint on disk: config.json, *.safetensors, tokenizer.model, metrics.json and card.md.

One that shows how a model learned holds its weights at several steps of the training as
snapshots/STEP.safetensors; without a model.safetensors beside them, the last is the model.

Weights are safetensors and everything else is JSON or SentencePiece's own format, so loading one
runs no code of whoever made it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from model.config import ConfigError, TransformerConfig
from model.tokenizer import Tokenizer, TokenizerError
from model.transformer import Transformer

CONFIG, WEIGHTS, TOKENIZER, METRICS = (
    "config.json",
    "model.safetensors",
    "tokenizer.model",
    "metrics.json",
)
INDEX = "model.safetensors.index.json"
EXAMPLES = "examples.json"
SNAPSHOTS = "snapshots"
SHARD_BYTES = 45_000_000
"""A weights file larger than this is split, for code hosts warn above 50 MB."""

_NAMED_PAIR = re.compile(r"([a-z]{2,3})-([a-z]{2,3})(?![a-z])")
_SNAPSHOT = re.compile(r"(0|[1-9][0-9]{0,8})\.safetensors")
"""The name of a snapshot's file: its step, written in one way only."""

_TIED = ("target_embedding.weight", "output.weight")


class CheckpointError(ValueError):
    """A checkpoint that is missing, incomplete or damaged; the message says what and where."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a checkpoint folder holds, in memory."""

    model: Transformer
    tokenizer: Tokenizer
    metrics: dict[str, Any]


def save_checkpoint(
    directory: Path,
    model: Transformer,
    tokenizer: Tokenizer,
    *,
    metrics: dict[str, Any] | None = None,
    half: bool = True,
) -> None:
    """Write a checkpoint folder.

    Args:
        directory: made if missing; files of the same names are replaced.
        model: the Transformer.
        tokenizer: its vocabulary.
        metrics: for metrics.json.
        half: whether weights are stored in float16.
    """
    _save_all_but_weights(directory, model, tokenizer, metrics)
    state = _stored(model, half=half)
    shards = _shards(state)
    if len(shards) == 1:
        (directory / WEIGHTS).write_bytes(save(state))
        return
    weight_map: dict[str, str] = {}
    for number, names in enumerate(shards, start=1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        (directory / file).write_bytes(save({name: state[name] for name in names}))
        weight_map |= dict.fromkeys(names, file)
    write_json(directory / INDEX, {"weight_map": weight_map})


def save_snapshots(
    directory: Path,
    models: Mapping[int, Transformer],
    tokenizer: Tokenizer,
    *,
    metrics: dict[str, Any] | None = None,
) -> None:
    """Write a checkpoint folder of one model at several steps of its training, in float16.

    Args:
        directory: as in save_checkpoint.
        models: by step, of one configuration; that of the last step is the checkpoint's model.
        tokenizer: as in save_checkpoint.
        metrics: for metrics.json.

    Raises:
        ValueError: if there is no model, or their configurations differ.
    """
    if len({model.config for model in models.values()}) != 1:
        raise ValueError("Snapshots are one or more models of the same configuration.")
    _save_all_but_weights(directory, models[max(models)], tokenizer, metrics)
    (directory / SNAPSHOTS).mkdir(exist_ok=True)
    for step, model in models.items():
        snapshot_file(directory, step).write_bytes(save(_stored(model, half=True)))


def snapshots(directory: str | PathLike[str]) -> tuple[int, ...]:
    """The steps of training that a checkpoint folder keeps the weights of, ascending.

    Empty where it keeps the weights of the trained model alone, and where there is no such folder.
    """
    try:
        names = [file.name for file in (Path(directory) / SNAPSHOTS).iterdir()]
    except OSError:
        return ()
    return tuple(sorted(int(match[1]) for match in map(_SNAPSHOT.fullmatch, names) if match))


def snapshot_file(directory: Path, step: int) -> Path:
    """Where a checkpoint folder keeps its weights after so many steps."""
    return directory / SNAPSHOTS / f"{step}.safetensors"


def load_checkpoint(directory: Path, *, snapshot: int | None = None) -> Checkpoint:
    """Read a checkpoint folder; the model is on the CPU, in float32 and in eval mode.

    Args:
        directory: the folder.
        snapshot: which of `snapshots`, counted from 0, or from the end if negative; None gives the
            trained model.

    Raises:
        CheckpointError: if a file is missing or damaged, the files do not belong together, or there
            is no such snapshot.
    """
    if not directory.is_dir():
        raise CheckpointError(
            f"There is no checkpoint folder {directory}; name one that holds a {CONFIG}."
        )
    try:
        config = TransformerConfig.from_dict(read_json(directory / CONFIG))
        tokenizer = Tokenizer.load(directory / TOKENIZER)
    except (ConfigError, TokenizerError) as error:
        raise CheckpointError(f"The checkpoint {directory} is damaged: {error}") from error
    if len(tokenizer) != config.vocab_size:
        raise CheckpointError(
            f"The checkpoint {directory} is damaged: its tokenizer has {len(tokenizer)} pieces "
            f"and its model {config.vocab_size}."
        )
    model = Transformer(config)
    load_weights(model, _read_weights(directory, snapshot), directory)
    metrics = read_json(directory / METRICS) if (directory / METRICS).exists() else {}
    return Checkpoint(model.eval(), tokenizer, metrics)


def unique_state(model: Transformer) -> dict[str, Tensor]:
    """The model's state, with a tied matrix once."""
    state = model.state_dict()
    if model.config.tie_embeddings:
        for name in _TIED:
            del state[name]
    return state


def load_weights(model: Transformer, state: dict[str, Tensor], origin: Path) -> None:
    """Fill a model with what unique_state gave, of any floating type.

    Raises:
        CheckpointError: if names or shapes are not the model's.
    """
    expected = {name: value.shape for name, value in unique_state(model).items()}
    found = {name: value.shape for name, value in state.items()}
    if expected != found:
        wrong = sorted(
            name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)
        )
        raise CheckpointError(
            f"The weights in {origin} do not fit its configuration, first at {wrong[0]}."
        )
    model.load_state_dict(state, strict=False)


def longest_trained(metrics: Mapping[str, Any]) -> dict[str, int] | None:
    """How many tokens the longest "source" and "target" had that a model was trained on.

    Args:
        metrics: of its checkpoint, by anyone.

    Returns:
        both with their end token, at least 1; None where the metrics do not say.
    """
    found = metrics.get("longest")
    lengths = found if isinstance(found, dict) else {}
    known = {
        side: length
        for side in ("source", "target")
        if type(length := lengths.get(side)) is int and length > 0
    }
    return known if len(known) == 2 else None


def language_pair(name: str) -> tuple[str, str]:
    """The codes of source and target language by a checkpoint's name: en-de, or en-de-small.

    Two empty texts where the name gives none.
    """
    named = _NAMED_PAIR.match(name)
    return (named[1], named[2]) if named else ("", "")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file of a checkpoint.

    Raises:
        CheckpointError: if the file is missing or holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"The checkpoint lacks a readable {path}.") from error
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged: it is not JSON.") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} is damaged: it is not a JSON object.")
    return content


def write_json(path: Path, content: dict[str, Any]) -> None:
    """A JSON file that a person can read."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Named tensors of a safetensors file.

    Raises:
        CheckpointError: if the file is missing or damaged.
    """
    try:
        return load_file(path)
    except OSError as error:
        raise CheckpointError(f"The checkpoint lacks a readable {path}.") from error
    except SafetensorError as error:
        raise CheckpointError(f"{path} is damaged: it is not a safetensors file.") from error


def _save_all_but_weights(
    directory: Path, model: Transformer, tokenizer: Tokenizer, metrics: dict[str, Any] | None
) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    write_json(directory / CONFIG, model.config.to_dict())
    tokenizer.save(directory / TOKENIZER)
    write_json(directory / METRICS, metrics or {})
    for stale in [*directory.glob("model*.safetensors"), directory / INDEX]:
        stale.unlink(missing_ok=True)
    for step in snapshots(directory):
        snapshot_file(directory, step).unlink()


def _stored(model: Transformer, *, half: bool) -> dict[str, Tensor]:
    dtype = torch.float16 if half else torch.float32
    return {
        name: value.detach().to("cpu", dtype).contiguous()
        for name, value in unique_state(model).items()
    }


def _read_weights(directory: Path, snapshot: int | None) -> dict[str, Tensor]:
    steps = snapshots(directory)
    if snapshot is not None:
        if not steps:
            raise CheckpointError(
                f"The checkpoint {directory} has no snapshots of its training; load it without one."
            )
        if not -len(steps) <= snapshot < len(steps):
            raise CheckpointError(
                f"The checkpoint {directory} has no snapshot {snapshot}; choose one from 0 to "
                f"{len(steps) - 1}, or a negative number to count from the end."
            )
        return read_tensors(snapshot_file(directory, steps[snapshot]))
    if not (directory / INDEX).exists():
        if steps and not (directory / WEIGHTS).exists():
            return read_tensors(snapshot_file(directory, steps[-1]))
        return read_tensors(directory / WEIGHTS)
    weight_map = read_json(directory / INDEX).get("weight_map")
    files = sorted(set(weight_map.values())) if isinstance(weight_map, dict) else []
    # An index may name files of its own folder alone, whoever wrote it.
    if not files or any(not isinstance(file, str) or Path(file).name != file for file in files):
        raise CheckpointError(f"{directory / INDEX} is damaged: it names no weights files.")
    state: dict[str, Tensor] = {}
    for file in files:
        state |= read_tensors(directory / file)
    return state


def _shards(state: dict[str, Tensor]) -> list[list[str]]:
    shards: list[list[str]] = [[]]
    size = 0
    for name, value in state.items():
        if shards[-1] and size + value.nbytes > SHARD_BYTES:
            shards.append([])
            size = 0
        shards[-1].append(name)
        size += value.nbytes
    return shards
