"""Folders as transformers saves them, of tiny models with random parameters."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sentencepiece
import torch

TEXT = "the cat sat on the mat . a dog saw the cat and the bird sat on a tree ."
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
}
PAIR = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
    "forced_eos_token_id": None,
}
T5 = {
    "d_model": 16,
    "d_kv": 8,
    "d_ff": 24,
    "num_layers": 2,
    "num_heads": 2,
    "pad_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
}
GPT2 = {
    "n_embd": 16,
    "n_layer": 2,
    "n_head": 2,
    "n_positions": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LLAMA = {**SIZES, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4}
FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "marian": ("MarianMTModel", "MarianConfig", PAIR),
    "t5": ("T5ForConditionalGeneration", "T5Config", T5),
    "bart": ("BartForConditionalGeneration", "BartConfig", PAIR),
    "pegasus": ("PegasusForConditionalGeneration", "PegasusConfig", PAIR),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2),
    "llama": ("LlamaForCausalLM", "LlamaConfig", {**LLAMA, "bos_token_id": 1, "eos_token_id": 2}),
    "bert": ("BertForMaskedLM", "BertConfig", {**SIZES, "pad_token_id": 0}),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", {**SIZES, "pad_token_id": 0}),
    "bert-body": ("BertModel", "BertConfig", {**SIZES, "pad_token_id": 0}),
}


def save_foreign(folder: Path, family: str, *, shard: str = "5GB", **changes: Any) -> Any:
    """Write a folder of a family and give the model that is in it.

    Args:
        folder: to be made.
        family: a key of FAMILIES.
        shard: the size of a weights file, as save_pretrained takes it.
        changes: of the configuration.
    """
    import transformers

    model_name, config_name, options = FAMILIES[family]
    folder.mkdir(parents=True, exist_ok=True)
    size = {"vocab_size": _TOKENIZERS.get(family, _bytes)(folder)}
    config = getattr(transformers, config_name)(**copy.deepcopy(options) | size | changes)
    torch.manual_seed(7)
    model = getattr(transformers, model_name)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1 and parameter.requires_grad:
                # Freshly made, heads look everywhere alike.
                parameter.normal_(std=0.3)
    model.save_pretrained(folder, max_shard_size=shard)
    return model


def _saved(folder: Path, tokenizer: Any, **specials: str) -> int:
    from transformers import PreTrainedTokenizerFast

    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **specials)
    wrapped.save_pretrained(folder)
    return len(wrapped)


def _wordpiece(folder: Path) -> int:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(
        [TEXT], trainers.WordPieceTrainer(vocab_size=60, special_tokens=specials)
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = ("pad", "unk", "cls", "sep", "mask")
    return _saved(folder, made, **{f"{n}_token": s for n, s in zip(names, specials, strict=True)})


def _bytes(folder: Path, *, framed: bool = False) -> int:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    specials = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
    made.train_from_iterator([TEXT], trainers.BpeTrainer(vocab_size=60, special_tokens=specials))
    if framed:
        made.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
        )
    names = ("pad", "bos", "eos", "unk", "mask")
    return _saved(folder, made, **{f"{n}_token": s for n, s in zip(names, specials, strict=True)})


def _framed_bytes(folder: Path) -> int:
    return _bytes(folder, framed=True)


def _marian(folder: Path) -> int:
    import json

    from transformers import MarianTokenizer

    model = folder / "source.spm"
    with model.open("wb") as written:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([TEXT] * 4),
            model_writer=written,
            vocab_size=50,
            hard_vocab_limit=False,
            pad_id=0,
            bos_id=1,
            eos_id=2,
            unk_id=3,
            minloglevel=2,
        )
    (folder / "target.spm").write_bytes(model.read_bytes())
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    vocabulary = {pieces.id_to_piece(i): i for i in range(len(pieces))}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    MarianTokenizer(
        source_spm=str(model),
        target_spm=str(folder / "target.spm"),
        vocab=str(folder / "vocab.json"),
        model_max_length=64,
    ).save_pretrained(folder)
    return len(vocabulary)


_TOKENIZERS: dict[str, Callable[[Path], int]] = {
    "marian": _marian,
    "bert": _wordpiece,
    "bert-body": _wordpiece,
    **dict.fromkeys(("t5", "bart", "pegasus", "roberta"), _framed_bytes),
}
