"""A checkpoint as a folder that Hugging Face's transformers loads, without our code.

Their Pegasus (Zhang et al. 2020) is this Transformer with the norm before each sub-layer, their
Marian (Junczys-Dowmunt et al. 2018) the one with the norm after it, with one difference: their
tables of positions have all sines before all cosines. The order of a hidden state's dimensions does
not matter if all parameters share it, so the export reorders all parameters.
"""

import json
import re
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from model.checkpoints.checkpoint import CARD, language_pair, load_checkpoint, unique_state
from model.checkpoints.folder_files import MAX_JSON_BYTES, own_file
from model.checkpoints.layouts import batch_heads, sines_first, split_qkv, to_hugging_face
from model.files import write_folder
from model.paper.config import TransformerConfig
from model.paper.search import AS_IN_THE_PAPER
from model.paper.table_tokenizer import TableTokenizer
from model.paper.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from model.paper.transformer import Transformer

_CLASSES = {
    "pre": ("pegasus", "PegasusForConditionalGeneration"),
    "post": ("marian", "MarianMTModel"),
}
_LINK_BESIDE = re.compile(r"(?<!!)\[([^\[\]]*)\]\((?![a-z]+:|#)[^()\s]*\)")
"""A Markdown link to a file, with its text."""


class ExportError(ValueError):
    """A checkpoint that no Hugging Face model can compute; the message says what differs."""


def export(directory: Path, folder: Path, *, snapshot: int | None = None) -> None:
    """Write a checkpoint so that `AutoModelForSeq2SeqLM` and `AutoTokenizer` load it.

    Its card, if it has one, becomes the README.md that Hugging Face shows.

    Args:
        folder: new or empty; written whole or not at all.

    Raises:
        CheckpointError: as `load_checkpoint`.
        ExportError: if neither Marian nor Pegasus can compute this model.
        OSError: as `write_folder`.
    """
    checkpoint = load_checkpoint(directory, snapshot=snapshot)
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    if isinstance(tokenizer, TableTokenizer):
        raise ExportError(
            "This checkpoint cannot be exported: it came from a Hugging Face folder; use that "
            "folder."
        )
    vocabulary = {piece: i for i, piece in enumerate(tokenizer.pieces(range(len(tokenizer))))}
    # The configuration comes last, so that a folder with one is complete.
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

    The front matter names no licence: weights have the licences of all their data, which the card
    lists. Links to files of the checkpoint become plain text, since the files are missing here.
    Unknown languages are empty; the snapshot is None for the checkpoint itself.
    """
    front = ["library_name: transformers"]
    if all(languages):
        # In quotes, because YAML reads the code of Norwegian as false.
        front += ["pipeline_tag: translation", "language:", *(f'- "{each}"' for each in languages)]
    moved = (
        "This folder is the checkpoint described below, in the format of Hugging Face's "
        "transformers, with weights in float32. Commands below are for the checkpoint itself."
    )
    if snapshot is not None:
        moved += f" The weights are those of its snapshot {snapshot}; scores may differ."
    text = _LINK_BESIDE.sub(r"\1", card)
    return "\n".join(["---", *front, "---", "", moved, "", text])


def _read_card(directory: Path) -> str | None:
    path = own_file(directory, CARD)
    if not path.exists():
        return None
    with path.open("rb") as file:
        return file.read(MAX_JSON_BYTES).decode("utf-8", errors="replace")


def hugging_face_config(config: TransformerConfig) -> dict[str, Any]:
    """Their config.json for this configuration; `hugging_face_state` checks whether it fits."""
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
        # Otherwise a text cut at max_length would end with their token 0 or 1.
        "forced_eos_token_id": None,
    }


def hugging_face_state(model: Transformer) -> dict[str, Tensor]:
    """A model's parameters under their names, in their order of dimensions, float32 on the CPU.

    Tied matrices are here once, with tables of positions of max_positions rows. Raises ExportError
    if neither Marian nor Pegasus can compute this model.
    """
    config = model.config
    _require_fit(config)
    state = unique_state(model)
    bias = state.pop("output.bias", None)
    theirs = to_hugging_face(split_qkv(batch_heads(state, config), config))
    if bias is not None:
        theirs["final_logits_bias"] = bias[None]
    if not config.attention_bias:
        for name, value in list(theirs.items()):
            module, _, _ = name.rpartition(".")
            if module.endswith("_proj"):
                theirs[f"{module}.bias"] = value.new_zeros(len(value))
    for side in ("encoder", "decoder"):
        table = model.encoder.positions.extended(config.max_positions)[: config.max_positions]
        theirs[f"model.{side}.embed_positions.weight"] = sines_first(table)
    return {
        name: value.detach().to("cpu", torch.float32, copy=True).contiguous()
        for name, value in theirs.items()
    }


def _require_fit(config: TransformerConfig) -> None:
    if config.target_vocab_size is not None:
        raise ExportError(
            "This checkpoint cannot be exported: its source and target have their own "
            "vocabularies, but the export writes one for both."
        )
    values: dict[str, tuple[object, tuple[object, ...]]] = {
        "positions": (config.positions, ("sinusoidal",)),
        "scoring": (config.scoring, ("scaled_dot_product",)),
        "final_norm": (config.final_norm, (False,)),
        "embedding_norm": (config.embedding_norm, (False,)),
        "activation": (config.activation, ("relu", "gelu", "swish")),
        "tie_embeddings": (config.tie_embeddings, (True,)),
        "layer_norm_eps": (config.layer_norm_eps, (1e-5,)),
        "d_k times n_heads": (config.key_width * config.n_heads, (config.d_model,)),
        "d_v times n_heads": (config.value_width * config.n_heads, (config.d_model,)),
    }
    for name, (value, known) in values.items():
        if value not in known:
            raise ExportError(
                f"This checkpoint cannot be exported: it has {name} {value}, but the nearest "
                f"Hugging Face models have {' or '.join(map(str, known))}."
            )


def _generation_config(config: TransformerConfig) -> dict[str, Any]:
    return {
        "pad_token_id": config.pad_id,
        "bos_token_id": config.bos_id,
        "eos_token_id": config.eos_id,
        "decoder_start_token_id": config.bos_id,
        "suppress_tokens": list(config.barred),
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
