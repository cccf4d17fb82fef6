"""A checkpoint as a folder that Hugging Face's transformers loads, without our code.

Their Pegasus (Zhang et al. 2020) is this Transformer with the norm before each sub-layer, and their
Marian (Junczys-Dowmunt et al. 2018) the one with the norm after it, but for one thing: their tables
of positions have all sines before all cosines. Nothing depends on the order of a hidden state's
dimensions if every parameter agrees on it, so all parameters are brought into theirs.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from model.checkpoints.checkpoint import (
    CARD,
    MAX_JSON_BYTES,
    language_pair,
    load_checkpoint,
    own_file,
    unique_state,
)
from model.checkpoints.layouts import batch_heads, split_qkv
from model.files import write_folder
from model.paper.config import TransformerConfig
from model.paper.search import AS_IN_THE_PAPER
from model.paper.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from model.paper.transformer import Transformer

_CLASSES = {
    "pre": ("pegasus", "PegasusForConditionalGeneration"),
    "post": ("marian", "MarianMTModel"),
}
_NAMES = (
    ("source_embedding", "model.shared"),
    ("encoder.layers", "model.encoder.layers"),
    ("decoder.layers", "model.decoder.layers"),
    ("encoder.final_norm", "model.encoder.layer_norm"),
    ("decoder.final_norm", "model.decoder.layer_norm"),
    ("self_attention", "self_attn"),
    ("cross_attention", "encoder_attn"),
    ("self_residual.norm", "self_attn_layer_norm"),
    ("cross_residual.norm", "encoder_attn_layer_norm"),
    ("feed_forward_residual.norm", "final_layer_norm"),
    ("feed_forward.w_1", "fc1"),
    ("feed_forward.w_2", "fc2"),
    *((f"w_{each}.", f"{each}_proj.") for each in "qkv"),
    ("w_o.", "out_proj."),
)
_READ_HIDDEN = ("shared", "q_proj", "k_proj", "v_proj", "fc1")
"""Their modules whose weights have the dimensions of a hidden state as columns."""
_WRITE_HIDDEN = ("out_proj", "fc2", "layer_norm")
"""Those whose weights and biases have them as rows; the name of each norm ends so."""


_LINK_BESIDE = re.compile(r"(?<!!)\[([^\[\]]*)\]\((?![a-z]+:|#)[^()\s]*\)")
"""A link of Markdown that leads to a file, with its text."""


class ExportError(ValueError):
    """A checkpoint that no model of Hugging Face's computes; the message says what differs."""


def export(directory: Path, folder: Path, *, snapshot: int | None = None) -> None:
    """Write a checkpoint so that `AutoModelForSeq2SeqLM` and `AutoTokenizer` load it.

    Its card comes along, where it has one, as the README.md that Hugging Face shows.

    Args:
        directory: of the checkpoint.
        folder: a new or an empty one; filled whole or not at all.
        snapshot: which one, as `load_checkpoint` takes it.

    Raises:
        CheckpointError: as `load_checkpoint`.
        ExportError: if neither Marian nor Pegasus is this model.
        OSError: as `write_folder`.
    """
    checkpoint = load_checkpoint(directory, snapshot=snapshot)
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    vocabulary = {piece: i for i, piece in enumerate(tokenizer.pieces(range(len(tokenizer))))}
    # Whoever finds a configuration finds the rest as well: it is written last.
    files = {
        "model.safetensors": save(hugging_face_state(model), metadata={"format": "pt"}),
        "source.spm": tokenizer.serialized,
        "target.spm": tokenizer.serialized,
        "vocab.json": _json(vocabulary),
        "tokenizer_config.json": _json(_tokenizer_config(tokenizer, model.config)),
        "generation_config.json": _json(_generation_config(model.config)),
        "config.json": _json(hugging_face_config(model.config)),
    }
    card = _read_card(directory)
    if card is not None:
        described = model_card(card, language_pair(directory.resolve().name), snapshot=snapshot)
        files = {"README.md": described.encode()} | files
    write_folder(folder, files)


def model_card(card: str, languages: tuple[str, str], *, snapshot: int | None = None) -> str:
    """A checkpoint's card as a README.md, with the front matter that Hugging Face reads.

    It says what is known: no licence, as weights have those of all their data, which the card
    names. Links to files beside the checkpoint lead nowhere from here, and become their texts.

    Args:
        card: card.md.
        languages: codes of source and target; empty where not known.
        snapshot: which one was exported; None for the checkpoint itself.
    """
    front = ["library_name: transformers"]
    if all(languages):
        # In quotes, as YAML takes the code of Norwegian for a no.
        front += ["pipeline_tag: translation", "language:", *(f'- "{each}"' for each in languages)]
    moved = (
        "This folder holds the checkpoint that is described below, in the format of Hugging Face's "
        "transformers, with weights in float32. Commands below are for the checkpoint itself."
    )
    if snapshot is not None:
        moved += f" The weights are those of its snapshot {snapshot}; scores may be of others."
    text = _LINK_BESIDE.sub(r"\1", card)
    return "\n".join(["---", *front, "---", "", moved, "", text])


def _read_card(directory: Path) -> str | None:
    path = own_file(directory, CARD)
    if not path.exists():
        return None
    with path.open("rb") as file:
        return file.read(MAX_JSON_BYTES).decode("utf-8", errors="replace")


def hugging_face_config(config: TransformerConfig) -> dict[str, Any]:
    """Their config.json for a model of this shape; whether it fits, `hugging_face_state` says."""
    model_type, architecture = _CLASSES[config.norm]
    return {
        "architectures": [architecture],
        "model_type": model_type,
        "dtype": "float32",
        "is_encoder_decoder": True,
        "vocab_size": config.vocab_size,
        "d_model": config.d_model,
        "encoder_layers": config.n_encoder_layers,
        "decoder_layers": config.n_decoder_layers,
        "encoder_attention_heads": config.n_heads,
        "decoder_attention_heads": config.n_heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "max_position_embeddings": config.max_positions,
        "activation_function": config.activation,
        "scale_embedding": config.scale_embeddings,
        "dropout": config.dropout,
        "tie_word_embeddings": True,
        "pad_token_id": config.pad_id,
        "bos_token_id": config.bos_id,
        "eos_token_id": config.eos_id,
        "decoder_start_token_id": config.bos_id,
        # Otherwise a text cut off at max_length would end with their token 0 or 1.
        "forced_eos_token_id": None,
    }


def hugging_face_state(model: Transformer) -> dict[str, Tensor]:
    """A model's parameters by their names, in their order of dimensions, float32 on the CPU.

    Their tied matrices stand here once. The tables of positions are theirs as well, of
    max_positions rows.

    Raises:
        ExportError: if neither Marian nor Pegasus is this model.
    """
    config = model.config
    _require_fit(config)
    order = torch.cat([torch.arange(0, config.d_model, 2), torch.arange(1, config.d_model, 2)])
    state = split_qkv(batch_heads(unique_state(model), config), config)
    theirs = {}
    for name, value in state.items():
        for mine, other in _NAMES:
            name = name.replace(mine, other)
        module, _, leaf = name.rpartition(".")
        if module.endswith(_WRITE_HIDDEN):
            value = value[order]
        elif module.endswith(_READ_HIDDEN) and leaf == "weight":
            value = value[:, order]
        theirs[name] = value
        if not config.attention_bias and module.endswith(("_attn", "_proj")):
            theirs[f"{module}.bias"] = value.new_zeros(len(value))
    for side in ("encoder", "decoder"):
        table = model.encoder.positions.extended(config.max_positions)[: config.max_positions]
        theirs[f"model.{side}.embed_positions.weight"] = table[:, order]
    return {
        name: value.detach().to("cpu", torch.float32, copy=True).contiguous()
        for name, value in theirs.items()
    }


def _require_fit(config: TransformerConfig) -> None:
    if config.target_vocab_size is not None:
        raise ExportError(
            "This checkpoint cannot be exported: its source and target have a vocabulary each, and "
            "the export writes one for both."
        )
    found_and_known: dict[str, tuple[object, tuple[object, ...]]] = {
        "positions": (config.positions, ("sinusoidal",)),
        "scoring": (config.scoring, ("scaled_dot_product",)),
        "final_norm": (config.final_norm, (False,)),
        "activation": (config.activation, ("relu", "gelu")),
        "tie_embeddings": (config.tie_embeddings, (True,)),
        "layer_norm_eps": (config.layer_norm_eps, (1e-5,)),
        "d_k times n_heads": (config.key_width * config.n_heads, (config.d_model,)),
        "d_v times n_heads": (config.value_width * config.n_heads, (config.d_model,)),
    }
    for name, (found, known) in found_and_known.items():
        if found not in known:
            raise ExportError(
                f"This checkpoint cannot be exported: it has {name} {found}, and the models of "
                f"Hugging Face's that come nearest have {' or '.join(map(str, known))}."
            )


def _generation_config(config: TransformerConfig) -> dict[str, Any]:
    return {
        "pad_token_id": config.pad_id,
        "bos_token_id": config.bos_id,
        "eos_token_id": config.eos_id,
        "decoder_start_token_id": config.bos_id,
        "suppress_tokens": [config.pad_id, config.unk_id, config.bos_id],
        "max_length": config.max_positions,
        "num_beams": AS_IN_THE_PAPER.beam,
        "length_penalty": AS_IN_THE_PAPER.length_penalty,
        "early_stopping": True,
    }


def _tokenizer_config(tokenizer: Tokenizer, config: TransformerConfig) -> dict[str, Any]:
    pad, unk, bos, eos = tokenizer.pieces([PAD, UNK, BOS, EOS])
    return {
        "tokenizer_class": "MarianTokenizer",
        "pad_token": pad,
        "unk_token": unk,
        "bos_token": bos,
        "eos_token": eos,
        "model_max_length": config.max_positions,
        # "</s>" in a text is four letters.
        "split_special_tokens": True,
        "clean_up_tokenization_spaces": False,
    }


def _json(content: dict[str, Any]) -> bytes:
    return f"{json.dumps(content, indent=2, ensure_ascii=False)}\n".encode()
