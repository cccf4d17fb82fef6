"""A checkpoint on disk: config.json, *.safetensors, tokenizer.model, metrics.json and card.md.

If the target has its own vocabulary, there is a target_tokenizer.model. The app also shows
examples.json, removal.json and labels.json.

A checkpoint with snapshots has weights at several steps of the training, as
snapshots/STEP.safetensors; without a model.safetensors, the last one is the model.

Weights are safetensors, and everything else is JSON or SentencePiece's own format, so loading a
checkpoint runs no code of its author.
"""

import functools
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from model.checkpoints.eight_bits import QuantizationError, dequantized, quantized
from model.checkpoints.shipped import no_folder
from model.files import write_whole
from model.paper.config import ConfigError, TransformerConfig
from model.paper.single_stack import SingleStack, single_stack
from model.paper.tokenizer import Tokenizer, TokenizerError
from model.paper.transformer import Transformer

CARD = "card.md"
CONFIG, WEIGHTS, TOKENIZER, METRICS = (
    "config.json",
    "model.safetensors",
    "tokenizer.model",
    "metrics.json",
)
TARGET_TOKENIZER = "target_tokenizer.model"
INDEX = "model.safetensors.index.json"
EXAMPLES, REMOVAL, LABELS = "examples.json", "removal.json", "labels.json"
EXPERIMENTS = "experiments.json"
SNAPSHOTS = "snapshots"
SHARD_BYTES = 45_000_000
"""Larger weights files are split, because code hosts warn above 50 MB."""

MAX_JSON_BYTES = 16_000_000
"""The largest JSON file, a thousand times the usual size."""

_NAMED_PAIR = re.compile(r"([a-z]{2,3})-([a-z]{2,3})(?![a-z])")
_SNAPSHOT = re.compile(r"(0|[1-9][0-9]{0,8})\.safetensors")
"""The name of a snapshot's file, its step without leading zeros."""

_PICKLES = (b"\x80", b"PK\x03\x04")
"""The first bytes of a pickle, and of the archive that torch.save writes around one."""

_Model = TypeVar("_Model", Transformer, SingleStack)


class CheckpointError(ValueError):
    """A checkpoint that is missing, incomplete or damaged; the message says what and where."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded checkpoint."""

    model: Transformer
    tokenizer: Tokenizer
    metrics: dict[str, Any]


def save_checkpoint(
    directory: Path,
    model: Transformer | SingleStack,
    tokenizer: Tokenizer,
    *,
    metrics: dict[str, Any] | None = None,
    bits: Literal[8, 16, 32] = 16,
) -> None:
    """Write a checkpoint folder, replacing files of the same names; metrics.json gets the metrics.

    A stored weight has 32 bits, 16, or 8 with a scale for each row of a matrix.
    """
    _save_all_but_weights(directory, model, tokenizer, metrics)
    state = _stored(model, bits)
    shards = _shards(state)
    if len(shards) == 1:
        write_whole(directory / WEIGHTS, save(state))
        return
    weight_map: dict[str, str] = {}
    for number, names in enumerate(shards, start=1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        write_whole(directory / file, save({name: state[name] for name in names}))
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

    The last of the models, which are keyed by step, is the checkpoint's own. Raises ValueError if
    there is no model, or their configurations differ.
    """
    if len({model.config for model in models.values()}) != 1:
        raise ValueError("Snapshots are one or more models of the same configuration.")
    _save_all_but_weights(directory, models[max(models)], tokenizer, metrics)
    (directory / SNAPSHOTS).mkdir(exist_ok=True)
    for step, model in models.items():
        write_whole(snapshot_file(directory, step), save(_stored(model, 16)))


def snapshots(directory: str | PathLike[str]) -> tuple[int, ...]:
    """The steps of a checkpoint folder's snapshots, ascending; empty if there are none."""
    try:
        names = [file.name for file in (Path(directory) / SNAPSHOTS).iterdir()]
    except OSError:
        return ()
    return tuple(sorted(int(match[1]) for match in map(_SNAPSHOT.fullmatch, names) if match))


def snapshot_file(directory: Path, step: int) -> Path:
    """The path of a snapshot in a checkpoint folder."""
    return directory / SNAPSHOTS / f"{step}.safetensors"


def load_checkpoint(directory: Path, *, snapshot: int | None = None) -> Checkpoint:
    """The checkpoint in a folder; the model is on the CPU, in float32 and in eval mode.

    Args:
        snapshot: an index into `snapshots`, negative to count from the end; None gives the trained
            model.

    Raises:
        CheckpointError: if a file is missing or damaged, the files do not belong together, or there
            is no such snapshot.
    """
    return Checkpoint(*_load(directory, Transformer, snapshot))


def load_single_stack(directory: Path) -> tuple[SingleStack, Tokenizer, dict[str, Any]]:
    """Model, vocabulary and metrics of an encoder or a decoder alone; errors as load_checkpoint."""
    return _load(directory, single_stack, None)


def is_single_stack(directory: Path) -> bool:
    """Whether a folder's configuration describes an encoder or a decoder alone."""
    try:
        return bool(read_config(directory).single_stack)
    except CheckpointError:
        return False


def read_config(directory: Path) -> TransformerConfig:
    """The configuration in a folder; CheckpointError if it is missing or damaged."""
    try:
        return TransformerConfig.from_dict(read_json(own_file(directory, CONFIG)))
    except ConfigError as error:
        raise CheckpointError(f"The checkpoint {directory} is damaged: {error}") from error


def _load(
    directory: Path, make: Callable[[TransformerConfig], _Model], snapshot: int | None
) -> tuple[_Model, Tokenizer, dict[str, Any]]:
    if not directory.is_dir():
        raise CheckpointError(no_folder(directory))
    config = read_config(directory)
    try:
        tokenizer = read_tokenizer(directory, separate=config.target_vocab_size is not None)
    except TokenizerError as error:
        raise CheckpointError(f"The checkpoint {directory} is damaged: {error}") from error
    if bool(config.single_stack) == (make is Transformer):
        content = config.single_stack or "an encoder and a decoder"
        opens = "headscope.load_reader" if config.single_stack else "headscope.load"
        raise CheckpointError(
            f"The checkpoint {directory} has {content}; open it in the app, or with {opens}."
        )
    sides = ((tokenizer, config.vocab_size), (tokenizer.target, config.output_size))
    for vocabulary, size in sides:
        if len(vocabulary) != size:
            raise CheckpointError(
                f"The checkpoint {directory} is damaged: its "
                f"{'tokenizer' if vocabulary is tokenizer else 'target tokenizer'} has "
                f"{len(vocabulary)} pieces and its model {size}."
            )
    try:
        state = dequantized(_read_weights(directory, snapshot))
    except QuantizationError as error:
        raise CheckpointError(f"The weights in {directory} are damaged: {error}") from error
    # Before the model is built: large sizes in a configuration must not cost memory.
    count, least = sum(value.numel() for value in state.values()), _least_parameters(config)
    if count < least:
        raise CheckpointError(
            f"The weights in {directory} do not fit its configuration: it has {count:,} numbers, "
            f"but such a model has more than {least:,}."
        )
    _require_weights(state, directory)
    model = make(config)
    load_weights(model, state, directory)
    has_metrics = (directory / METRICS).exists()
    metrics = read_json(own_file(directory, METRICS)) if has_metrics else {}
    return model.eval(), tokenizer, metrics


def read_tokenizer(directory: Path, *, separate: bool) -> Tokenizer:
    """The vocabulary of a folder, with the target's own if there are two.

    Raises:
        CheckpointError: if a file is a link out of the folder.
        TokenizerError: if a file is missing or damaged.
    """
    tokenizer = Tokenizer.load(own_file(directory, TOKENIZER))
    if not separate:
        return tokenizer
    target = Tokenizer.load(own_file(directory, TARGET_TOKENIZER))
    return Tokenizer(tokenizer.serialized, target)


def save_tokenizer(directory: Path, tokenizer: Tokenizer) -> None:
    """Write the vocabulary, after the target's own if there are two."""
    if tokenizer.target is not tokenizer:
        tokenizer.target.save(directory / TARGET_TOKENIZER)
    else:
        (directory / TARGET_TOKENIZER).unlink(missing_ok=True)
    tokenizer.save(directory / TOKENIZER)


def unique_state(model: Transformer | SingleStack) -> dict[str, Tensor]:
    """The model's state dict, with a tied matrix once."""
    state = model.state_dict()
    if model.config.tie_embeddings:
        for name in model.tied:
            del state[name]
    return state


def load_weights(model: Transformer | SingleStack, state: dict[str, Tensor], origin: Path) -> None:
    """Load a state from `unique_state` into a model, of any floating type.

    Raises CheckpointError if names or shapes differ from the model's.
    """
    expected = {name: value.shape for name, value in unique_state(model).items()}
    shapes = {name: value.shape for name, value in state.items()}
    if expected != shapes:
        names = expected.keys() | shapes.keys()
        wrong = sorted(name for name in names if expected.get(name) != shapes.get(name))
        raise CheckpointError(
            f"The weights in {origin} do not fit its configuration, first at {wrong[0]}."
        )
    model.load_state_dict(state, strict=False)


def longest_trained(metrics: Mapping[str, Any]) -> dict[str, int] | None:
    """The tokens, with end token, of the longest "source" and "target" in a model's training.

    None if the metrics of its checkpoint, by any author, do not say.
    """
    longest = metrics.get("longest")
    lengths = longest if isinstance(longest, dict) else {}
    known = {
        side: length
        for side in ("source", "target")
        if type(length := lengths.get(side)) is int and length > 0
    }
    return known if len(known) == 2 else None


def training_runs(metrics: Mapping[str, Any]) -> list[dict[str, int]] | None:
    """The "steps" and "target_tokens" of each run that trained a checkpoint's weights, in order.

    None if its metrics, by any author, do not say.
    """
    before = metrics.get("started_from", [])
    runs = [*before, metrics] if isinstance(before, list) else []
    counts = [
        {
            name: count
            for name in ("steps", "target_tokens")
            if isinstance(run, dict) and type(count := run.get(name)) is int and 0 <= count < 10**15
        }
        for run in runs
    ]
    return counts if counts and all(len(count) == 2 for count in counts) else None


def trained_without_causal_mask(metrics: Mapping[str, Any]) -> bool:
    """Whether a model could see the tokens it had to predict in training, by its metrics."""
    training = metrics.get("training")
    return isinstance(training, dict) and training.get("causal") is False


def language_pair(name: str) -> tuple[str, str]:
    """The codes of source and target language in a name like en-de or en-de-small, or ("", "")."""
    match = _NAMED_PAIR.match(name)
    return (match[1], match[2]) if match else ("", "")


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


def _save_all_but_weights(
    directory: Path,
    model: Transformer | SingleStack,
    tokenizer: Tokenizer,
    metrics: dict[str, Any] | None,
) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    write_json(directory / CONFIG, model.config.to_dict())
    save_tokenizer(directory, tokenizer)
    write_json(directory / METRICS, metrics or {})
    for stale in [*directory.glob("model*.safetensors"), directory / INDEX]:
        stale.unlink(missing_ok=True)
    for step in snapshots(directory):
        snapshot_file(directory, step).unlink()


def _stored(model: Transformer | SingleStack, bits: Literal[8, 16, 32]) -> dict[str, Tensor]:
    state = {name: value.detach().cpu() for name, value in unique_state(model).items()}
    if bits == 8:
        return quantized(state)
    dtype = torch.float16 if bits == 16 else torch.float32
    return {name: value.to(dtype).contiguous() for name, value in state.items()}


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
        return _read_snapshot(directory, steps[snapshot])
    if not (directory / INDEX).exists():
        if steps and not (directory / WEIGHTS).exists():
            return _read_snapshot(directory, steps[-1])
        return read_tensors(own_file(directory, WEIGHTS))
    weight_map = read_json(own_file(directory, INDEX)).get("weight_map")
    files = list(weight_map.values()) if isinstance(weight_map, dict) else []
    # An index must name files of its own folder only, since anyone may have written it.
    if not files or any(not isinstance(file, str) or Path(file).name != file for file in files):
        raise CheckpointError(f"{directory / INDEX} is damaged: it names no weights files.")
    state: dict[str, Tensor] = {}
    for file in sorted(set(files)):
        state |= read_tensors(own_file(directory, file))
    return state


def _read_snapshot(directory: Path, step: int) -> dict[str, Tensor]:
    name = snapshot_file(directory, step).relative_to(directory)
    return read_tensors(own_file(directory, str(name)))


def _require_weights(state: dict[str, Tensor], origin: Path) -> None:
    for name, value in state.items():
        if not value.is_floating_point():
            kind = str(value.dtype).removeprefix("torch.")
            raise CheckpointError(
                f"The weights in {origin} are damaged: {name} contains {kind}, not weights."
            )
        if not value.isfinite().all():
            raise CheckpointError(
                f"The weights in {origin} are damaged: {name} contains NaN or infinity."
            )


def _least_parameters(config: TransformerConfig) -> int:
    """The parameters of the matrices in every such model, without the cross-attention."""
    heads = config.n_heads * (config.key_width + config.value_width)
    layer = 2 * config.d_model * (config.d_ff + heads)
    layers = config.n_encoder_layers + config.n_decoder_layers
    pieces = config.vocab_size + (config.target_vocab_size or 0)
    return pieces * config.d_model + layers * layer


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
