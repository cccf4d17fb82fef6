"""Folders as the OPUS-MT models have them, of small models with random parameters."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch

from tests.kit.tiny_checkpoint import PAIRS, SPELLING

LANGUAGES = (">>ces<<", ">>slk<<")
SHAPE = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 256,
    "activation_function": "swish",
    "scale_embedding": True,
}


def pieces_of(texts: Sequence[str], kind: str = "unigram", **specials: int) -> bytes:
    """A SentencePiece model of some texts, as Marian's training makes them if no id is given."""
    written = io.BytesIO()
    ids: dict[str, Any] = {**specials} or {"bos_id": -1, "unk_id": 1, "eos_id": 0}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*texts, SPELLING]),
        model_writer=written,
        model_type=kind,
        vocab_size=120,
        hard_vocab_limit=False,
        **ids,
        minloglevel=2,
    )
    return written.getvalue()


def save_marian(
    folder: Path,
    *,
    languages: Sequence[str] = (),
    separate: bool = False,
    kind: str = "unigram",
    shard: str = "5GB",
    steps: int = 0,
    generation: dict[str, Any] | None = None,
    **changes: Any,
) -> tuple[Any, Any]:
    """Write a folder and give transformers' model and tokenizer that are in it.

    Args:
        folder: to be made.
        languages: tokens of target languages.
        separate: whether the target has its own vocabulary.
        kind: of the SentencePiece models, "unigram" or "bpe".
        steps: of training on PAIRS, so that a search has something to find.
        shard: the size of a weights file, as save_pretrained takes it.
        generation: changes of generation_config.json.
        changes: of the configuration.
    """
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    sides = [pieces_of([pair[side] for pair in PAIRS], kind) for side in (0, 1)]
    listed = []
    for name, model in zip(("source.spm", "target.spm"), sides, strict=True):
        (folder / name).write_bytes(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        listed.append([processor.id_to_piece(i) for i in range(2, len(processor))])
    # Marian's order is another than SentencePiece's, and some pieces are missing.
    together = [sorted({*listed[0], *listed[1]} - {"q"})]
    tables = [
        {each: i for i, each in enumerate(("</s>", "<unk>", *pieces, *languages, "<pad>"))}
        for pieces in (listed if separate else together)
    ]
    for name, table in zip(("vocab.json", "target_vocab.json"), tables, strict=False):
        (folder / name).write_text(json.dumps(table), encoding="utf-8")
    pad = tables[-1]["<pad>"]
    if separate:
        # A padding token has one id on both sides.
        tables[0]["<pad>"] = pad = max(map(len, tables))
        for table, name in zip(tables, ("vocab.json", "target_vocab.json"), strict=True):
            table["<pad>"] = pad
            (folder / name).write_text(json.dumps(table), encoding="utf-8")
    tokenizer = MarianTokenizer(
        *(str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")),
        target_vocab_file=str(folder / "target_vocab.json") if separate else None,
        separate_vocabs=separate,
        model_max_length=256,
    )
    tokenizer.save_pretrained(folder)
    specials = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0}
    config = MarianConfig(
        vocab_size=pad + 1,
        decoder_vocab_size=pad + 1,
        share_encoder_decoder_embeddings=not separate,
        forced_eos_token_id=None,
        **{**SHAPE, **specials, **changes},
    )
    torch.manual_seed(7)
    model = MarianMTModel(config).eval()
    stir(model)
    if steps:
        learn(model, tokenizer, steps)
    settings = {"bad_words_ids": [[pad]], "num_beams": 4, "max_length": 60, **specials}
    model.generation_config.update(**{**settings, **(generation or {})})
    model.save_pretrained(folder, max_shard_size=shard)
    return model, tokenizer


@torch.no_grad()
def stir(model: Any) -> None:
    """Draw what is alike in a freshly made model: heads look everywhere, biases are 0, norms 1."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.add_(model.config.d_model**-0.5 * torch.randn_like(parameter))
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias.normal_()


def learn(model: Any, tokenizer: Any, steps: int) -> None:
    """Train a model on PAIRS, so that a search has something to find."""
    sources, targets = (
        [tokenizer(**{name: pair[side]}).input_ids for pair in PAIRS]
        for side, name in enumerate(("text", "text_target"))
    )
    pad = model.config.pad_token_id
    source, label = (
        torch.nn.utils.rnn.pad_sequence(
            [torch.tensor(ids) for ids in each], batch_first=True, padding_value=pad
        )
        for each in (sources, targets)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        output = model(
            input_ids=source,
            attention_mask=(source != pad).long(),
            labels=label.masked_fill(label == pad, -100),
        )
        optimizer.zero_grad()
        output.loss.backward()
        optimizer.step()
    model.eval()
