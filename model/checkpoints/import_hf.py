"""Hugging Face folders that hold our Transformer, read without the library transformers.

Marian (Junczys-Dowmunt et al. 2018), the class of the OPUS-MT models (Tiedemann and Thottingal
2020), and BART (Lewis et al. 2020) are the paper's model with the norm after each sub-layer;
Pegasus (Zhang et al. 2020), mBART (Liu et al. 2020) and M2M100 (Fan et al. 2021), which is also
NLLB's class, have it before. What else is in a folder, and all other classes, `difference` names.
"""

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

import torch
from torch import Tensor

from model.checkpoints.folder_files import (
    CONFIG,
    INDEX,
    WEIGHTS,
    own_file,
    read_json,
    read_weights,
)
from model.checkpoints.generation import barred_by, generation_settings, unfollowed
from model.checkpoints.import_vocabulary import unknown_id, unread_vocabulary
from model.checkpoints.layouts import from_hugging_face, pairs_first
from model.checkpoints.shipped import CheckpointError
from model.paper.config import ConfigError, TransformerConfig
from model.paper.encoding import sinusoidal_table

PICKLE = "pytorch_model.bin"

_BART = {
    "positions": "learned",
    "embedding_norm": True,
    "pad_token_id": 1,
    "eos_token_id": 2,
    "start": 2,
}
_CLASSES: Mapping[str, Mapping[str, Any]] = {
    "marian": {"norm": "post", "pad_token_id": 58100, "eos_token_id": 0, "start": 58100},
    "pegasus": {"norm": "pre", "pad_token_id": 0, "eos_token_id": 1, "start": 0},
    "bart": {"norm": "post", **_BART},
    "mbart": {"norm": "pre", **_BART, "start": None},
    "m2m_100": {
        **{"norm": "pre", "positions": "sinusoidal_fairseq"},
        **{"pad_token_id": 1, "eos_token_id": 2, "start": 2},
        **{"activation_function": "relu", "scale_embedding": True},
    },
}
"""By model_type, what the class is, and what its configurations leave out where it is usual."""
_EARLIER_ROWS = 2
"""Of a learned table, before that of a text's first token."""

_SIDES = ("encoder", "decoder")
_USUAL = {
    "d_model": 1024,
    "max_position_embeddings": 1024,
    "activation_function": "gelu",
    "scale_embedding": False,
    **{f"{side}_layers": 12 for side in _SIDES},
    **{f"{side}_ffn_dim": 4096 for side in _SIDES},
    **{f"{side}_attention_heads": 16 for side in _SIDES},
}
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}
_TOLERANCE = 2e-3
"""By which half precision may round a table of positions."""


def says_model_type(directory: Path) -> bool:
    """Whether a folder's configuration is a Hugging Face one."""
    return _of_unchanged(directory, _says_model_type)


def is_importable(directory: Path) -> bool:
    """Whether a folder is a Hugging Face one that `load_checkpoint` reads, complete or not."""
    return _of_unchanged(directory, _is_importable)


def _of_unchanged(directory: Path, ask: Callable[[Path, int, int], bool]) -> bool:
    try:
        stat = (directory / CONFIG).stat()
    except OSError:
        return False
    return ask(directory, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=256)
def _says_model_type(directory: Path, changed: int, size: int) -> bool:
    try:
        return "model_type" in read_json(own_file(directory, CONFIG))
    except CheckpointError:
        return False


@lru_cache(maxsize=256)
def _is_importable(directory: Path, changed: int, size: int) -> bool:
    if not _says_model_type(directory, changed, size):
        return False
    return not difference(read_json(own_file(directory, CONFIG)), directory)


def require_importable(directory: Path) -> None:
    """Raises CheckpointError for a Hugging Face folder that is not importable; says why."""
    if says_model_type(directory) and not is_importable(directory):
        config = read_json(own_file(directory, CONFIG))
        raise CheckpointError(
            f"{directory} holds a model that is not the paper's: {difference(config, directory)}. "
            "Open it with headscope.load_reader or in the app, where the library transformers runs "
            "it and its heads are recorded from outside."
        )


def difference(config: Mapping[str, Any], directory: Path) -> str:
    """What in a Hugging Face configuration our Transformer does not compute; empty if nothing."""
    kind = str(config.get("model_type"))
    if kind not in _CLASSES:
        return f"its class is {kind}, and only {', '.join(_CLASSES)} are the paper's model"
    listed = config.get("architectures")
    architecture = str(listed[0]) if isinstance(listed, list) and listed else ""
    if not architecture.endswith(("MTModel", "ForConditionalGeneration")):
        return f"{architecture or 'its class'} does not turn text into text"
    if unread := unread_vocabulary(directory):
        return unread
    for name in ("ffn_dim", "attention_heads"):
        sides = [_value(config, f"{side}_{name}") for side in _SIDES]
        if sides[0] != sides[1]:
            return f"encoder_{name} is {sides[0]} and decoder_{name} is {sides[1]}"
    activation = _value(config, "activation_function")
    if not isinstance(activation, str) or activation not in _ACTIVATIONS:
        return f"its activation_function is {activation}"
    return unfollowed(generation_settings(directory))


def imported_config(directory: Path) -> TransformerConfig:
    """The configuration of an importable folder; CheckpointError if it is damaged."""
    config = read_json(own_file(directory, CONFIG))
    usual = _CLASSES[config["model_type"]]
    shares = config.get("share_encoder_decoder_embeddings", True)
    target_size = None if shares else config.get("decoder_vocab_size") or config.get("vocab_size")
    pad, eos, start = (
        _token(config.get(name) if config.get(name) is not None else usual[default])
        for name, default in (
            ("pad_token_id", "pad_token_id"),
            ("eos_token_id", "eos_token_id"),
            ("decoder_start_token_id", "start"),
        )
    )
    for each in (pad, eos, start):
        if type(each) is not int:
            raise CheckpointError(
                f"{directory / CONFIG} is damaged: {shortened(each)} is not the id of a token."
            )
    barred = ({pad} | barred_by(generation_settings(directory))) - {eos}
    fields = {
        "vocab_size": config.get("vocab_size"),
        "target_vocab_size": target_size,
        "d_model": _value(config, "d_model"),
        "d_ff": _value(config, "encoder_ffn_dim"),
        "n_heads": _value(config, "encoder_attention_heads"),
        "n_encoder_layers": _value(config, "encoder_layers"),
        "n_decoder_layers": _value(config, "decoder_layers"),
        "max_positions": _value(config, "max_position_embeddings"),
        "norm": usual["norm"],
        "positions": usual.get("positions", "sinusoidal"),
        "embedding_norm": usual.get("embedding_norm", False),
        "activation": _ACTIVATIONS[_value(config, "activation_function")],
        "scale_embeddings": _value(config, "scale_embedding"),
        "tie_embeddings": config.get("tie_word_embeddings", True),
        "dropout": float(config.get("dropout", 0.1)),
        "output_bias": True,
        "unwritten": sorted(barred),
        "pad_id": pad,
        "unk_id": unknown_id(directory),
        "bos_id": start,
        "eos_id": eos,
    }
    try:
        return TransformerConfig.from_dict(fields)
    except ConfigError as error:
        raise CheckpointError(f"{directory / CONFIG} is damaged: {error}") from error


def _value(config: Mapping[str, Any], name: str) -> Any:
    return config.get(name, _CLASSES[config["model_type"]].get(name, _USUAL[name]))


def _token(token_id: Any) -> Any:
    # Some configurations list the one end token.
    return token_id[0] if isinstance(token_id, list) and len(token_id) == 1 else token_id


def require_plain(directory: Path) -> None:
    """Refuse a folder of other than weights in safetensors, with files of its own alone."""
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        raise CheckpointError(f"The folder {directory} cannot be read.") from error
    for name in names:
        if not (directory / name).is_dir():
            own_file(directory, name)
    if "quantization_config" in read_json(own_file(directory, CONFIG)):
        raise CheckpointError(
            f"The weights in {directory} are quantised, but Headscope opens only full precision; "
            "choose the model they were made from."
        )
    if "adapter_config.json" in names:
        raise CheckpointError(
            f"{directory} holds an adapter of another model; merge it into that model and save it."
        )
    if WEIGHTS in names or INDEX in names:
        return
    if any(name.endswith((".bin", ".pt", ".pth")) for name in names):
        raise CheckpointError(
            f"The weights in {directory} are a pickle (.bin), and opening one can run whatever its "
            "author wrote there; if you trust the author, the command unpickle of Headscope's "
            "command line writes them as safetensors."
        )
    raise CheckpointError(f"The folder {directory} lacks {WEIGHTS}.")


def imported_weights(directory: Path, config: TransformerConfig) -> dict[str, Tensor]:
    """The parameters of an importable folder under our names; errors as `read_weights`.

    Hidden states have their dimensions in the order of section 3.5, sines and cosines in pairs.
    """
    require_plain(directory)
    stored = read_weights(directory)
    for name in [f"model.{side}.embed_positions.weight" for side in _SIDES]:
        if config.positions == "learned" and name in stored:
            stored[name] = stored[name][_EARLIER_ROWS:]
        elif name in stored:
            _require_sinusoids(directory, stored.pop(name), config)
    bias = stored.pop("final_logits_bias", None)
    shared = stored.pop("model.shared.weight", None)
    embeddings = [stored.pop(f"model.{side}.embed_tokens.weight", shared) for side in _SIDES]
    output = stored.pop("lm_head.weight", None)
    is_shared = config.tie_embeddings and config.target_vocab_size is None
    every = {"source_embedding": embeddings[0]}
    if not is_shared:
        every["target_embedding"] = embeddings[1]
    if not config.tie_embeddings:
        every["output"] = output
    state = from_hugging_face(stored)
    for name, value in every.items():
        if value is None:
            raise CheckpointError(f"The weights in {directory} are incomplete: they lack {name}.")
        state[f"{name}.weight"] = pairs_first(value)
    size = config.output_size
    state["output.bias"] = torch.zeros(size) if bias is None else bias.reshape(-1)
    return state


def _require_sinusoids(directory: Path, rows: Tensor, config: TransformerConfig) -> None:
    table = sinusoidal_table(len(rows), config.d_model)
    found = pairs_first(rows.float())
    if found.shape != table.shape or (found - table).abs().max() > _TOLERANCE:
        raise CheckpointError(
            f"The weights in {directory} have positions other than the sinusoids of their class."
        )
