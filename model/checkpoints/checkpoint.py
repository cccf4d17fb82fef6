"""A checkpoint on disk: config.json, *.safetensors, tokenizer.model, metrics.json and card.md.

If the target has its own vocabulary, there is a target_tokenizer.model. The app also shows
examples.json, removal.json and labels.json.

A checkpoint with snapshots has weights at several steps of the training, as
snapshots/STEP.safetensors; without a model.safetensors, the last one is the model.

Weights are safetensors, and everything else is JSON or SentencePiece's own format, so loading a
checkpoint runs no code of its author.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from model.checkpoints.eight_bits import QuantizationError, dequantized, quantized
from model.checkpoints.folder_files import (
    CONFIG,
    INDEX,
    WEIGHTS,
    own_file,
    read_json,
    read_tensors,
    read_weights,
    write_json,
)
from model.checkpoints.generation import GENERATION, own_search
from model.checkpoints.import_hf import (
    imported_config,
    imported_weights,
    is_importable,
    require_importable,
    says_model_type,
)
from model.checkpoints.import_vocabulary import (
    VOCABULARY,
    imported_tokenizer,
    read_table_tokenizer,
    save_tables,
)
from model.checkpoints.shipped import CheckpointError, no_folder
from model.files import write_folder, write_whole
from model.paper.config import ConfigError, TransformerConfig
from model.paper.search import Search
from model.paper.single_stack import SingleStack, single_stack
from model.paper.tokenizer import Tokenizer, TokenizerError
from model.paper.transformer import Transformer

CARD = "card.md"
TOKENIZER, METRICS = "tokenizer.model", "metrics.json"
TARGET_TOKENIZER = "target_tokenizer.model"
EXAMPLES, REMOVAL, LABELS = "examples.json", "removal.json", "labels.json"
EXPERIMENTS = "experiments.json"
SNAPSHOTS = "snapshots"
SHARD_BYTES = 45_000_000
"""Larger weights files are split, because code hosts warn above 50 MB."""

_NAMED_PAIR = re.compile(r"(?:opus-mt-(?:tc-\w+-)?)?([a-z]{2,3})-([a-z]{2,3})(?![a-z])")
_SNAPSHOT = re.compile(r"(0|[1-9][0-9]{0,8})\.safetensors")
"""The name of a snapshot's file, its step without leading zeros."""


class _Undrawn(TorchFunctionMode):
    """Leaves out the random draws of weights that are about to be replaced: half of the time."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        of_init = getattr(func, "__module__", "") == nn.init.__name__
        if of_init or func in (Tensor.uniform_, Tensor.normal_):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


_Model = TypeVar("_Model", Transformer, SingleStack)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded checkpoint."""

    model: Transformer
    tokenizer: Tokenizer
    metrics: dict[str, Any]
    search: Search
    """How it writes unless asked for another search."""


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


def import_checkpoint(source: Path, directory: Path) -> None:
    """Write an importable Hugging Face folder as one of ours, with weights bit for bit.

    Args:
        directory: new or empty; written whole or not at all.

    Raises:
        CheckpointError: as `load_checkpoint`, or if the source is no Hugging Face folder.
        OSError: as `write_folder`.
    """
    if not says_model_type(source):
        raise CheckpointError(
            f"{source} is no Hugging Face folder: its {CONFIG} has no model_type. Name a folder "
            "with a model such as OPUS-MT."
        )
    loaded = load_checkpoint(source)
    write_folder(directory, {})
    try:
        exact = all(
            torch.equal(value, value.half().float()) for value in loaded.model.state_dict().values()
        )
        save_checkpoint(directory, loaded.model, loaded.tokenizer, bits=16 if exact else 32)
        if (source / GENERATION).exists():
            write_json(directory / GENERATION, read_json(own_file(source, GENERATION)))
    except BaseException:
        for file in directory.iterdir():
            file.unlink()
        raise


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
    return Checkpoint(*_load(directory, Transformer, snapshot), own_search(directory))


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
    """The configuration in a folder, ours or a Hugging Face one of our Transformer.

    Raises CheckpointError if it is missing, damaged or of another class.
    """
    if not directory.is_dir():
        raise CheckpointError(no_folder(directory))
    if is_importable(directory):
        return imported_config(directory)
    require_importable(directory)
    try:
        return TransformerConfig.from_dict(read_json(own_file(directory, CONFIG)))
    except ConfigError as error:
        raise CheckpointError(f"The checkpoint {directory} is damaged: {error}") from error


def _load(
    directory: Path, make: Callable[[TransformerConfig], _Model], snapshot: int | None
) -> tuple[_Model, Tokenizer, dict[str, Any]]:
    config = read_config(directory)
    try:
        tokenizer = _read_vocabulary(directory, config)
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
        state = dequantized(_read_weights(directory, snapshot, config))
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
    with _Undrawn():
        model = make(config)
    load_weights(model, state, directory)
    has_metrics = (directory / METRICS).exists()
    metrics = read_json(own_file(directory, METRICS)) if has_metrics else {}
    return model.eval(), tokenizer, metrics


def _read_vocabulary(directory: Path, config: TransformerConfig) -> Tokenizer:
    if is_importable(directory):
        return imported_tokenizer(directory, config)
    if (directory / VOCABULARY).exists():
        return read_table_tokenizer(directory, config, TOKENIZER, TARGET_TOKENIZER)
    return read_tokenizer(directory, separate=config.target_vocab_size is not None)


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
    save_tables(directory, tokenizer)
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


def well_read_tokens(metrics: Mapping[str, Any]) -> int | None:
    """The source tokens, with end token, up to which a model reads texts of several sentences well.

    Up to there its BLEU stays within a tenth of that of single sentences. None if the metrics of
    its checkpoint, by any author, do not say.
    """
    texts = metrics.get("texts")
    tokens = texts.get("well_read") if isinstance(texts, dict) else None
    return tokens if type(tokens) is int and tokens > 0 else None


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
    """The languages in a name like en-de, en-de-small or opus-mt-en-de, as codes, or ("", "")."""
    match = _NAMED_PAIR.match(name)
    return (match[1], match[2]) if match else ("", "")


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


def _read_weights(
    directory: Path, snapshot: int | None, config: TransformerConfig
) -> dict[str, Tensor]:
    if snapshot is None and is_importable(directory):
        return imported_weights(directory, config)
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
    if steps and not any((directory / name).exists() for name in (WEIGHTS, INDEX)):
        return _read_snapshot(directory, steps[-1])
    return read_weights(directory)


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
