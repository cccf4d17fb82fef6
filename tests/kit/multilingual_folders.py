"""Folders of Pegasus, BART, mBART, M2M100 and NLLB, of small models with random parameters."""

import json
from pathlib import Path
from typing import Any

import sentencepiece
import torch

from tests.kit.marian_folders import SHAPE, learn, pieces_of, stir
from tests.kit.tiny_checkpoint import PAIRS

FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "pegasus": ("Pegasus", "PegasusTokenizer", {"activation_function": "relu"}),
    "bart": ("Bart", "MBart50Tokenizer", {"scale_embedding": False}),
    "mbart": ("MBart", "MBartTokenizer", {"activation_function": "gelu"}),
    "mbart-50": ("MBart", "MBart50Tokenizer", {"activation_function": "relu"}),
    "m2m": ("M2M100", "M2M100Tokenizer", {"activation_function": "relu"}),
    "nllb": ("M2M100", "NllbTokenizer", {"activation_function": "relu"}),
    "nllb, first": ("M2M100", "NllbTokenizer", {"activation_function": "relu"}),
}
"""By a name, the model's class, its tokenizer's, and part of its configuration."""
LANGUAGES: dict[str, tuple[str, str]] = {
    "MBartTokenizer": ("en_XX", "de_DE"),
    "MBart50Tokenizer": ("en_XX", "de_DE"),
    "M2M100Tokenizer": ("en", "de"),
    "NllbTokenizer": ("eng_Latn", "deu_Latn"),
}
"""By a tokenizer's class, English and German."""
ROOM = 220
"""Ids beyond the pieces, for every language."""


def save_family(
    folder: Path,
    family: str,
    *,
    steps: int = 0,
    generation: dict[str, Any] | None = None,
    **changes: Any,
) -> tuple[Any, Any]:
    """Write a folder as published ones are, and give transformers' model and tokenizer.

    Args:
        folder: to be made.
        family: a key of FAMILIES. The first NLLB names a text's language after it.
        steps: of training on PAIRS.
        generation: changes of generation_config.json.
        changes: of the configuration.
    """
    import transformers

    name, kind, options = FAMILIES[family]
    folder.mkdir(parents=True, exist_ok=True)
    is_pegasus = name == "Pegasus"
    specials = (
        {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1} if is_pegasus else {"unk_id": 0}
    )
    file = folder / ("spiece.model" if is_pegasus else "sentencepiece.bpe.model")
    texts = [text for pair in PAIRS for text in pair]
    file.write_bytes(pieces_of(texts, "bpe" if name == "M2M100" else "unigram", **specials))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(file))
    pieces = [processor.id_to_piece(i) for i in range(len(processor))]
    table = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    if family == "m2m":
        # Its order is another than SentencePiece's, and a piece is missing.
        table |= {each: i + 4 for i, each in enumerate(sorted({*pieces[3:]} - {"q"}))}
        (folder / "vocab.json").write_text(json.dumps(table), encoding="utf-8")
    said: dict[str, Any] = {"tokenizer_class": kind, "legacy_behaviour": family == "nllb, first"}
    (folder / "tokenizer_config.json").write_text(json.dumps(said), encoding="utf-8")
    tokenizer = _tokenizer(folder, kind, pieces)
    ids = {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    if is_pegasus:
        ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    german = None if is_pegasus else tokenizer.convert_tokens_to_ids(written(kind))
    if family == "mbart":
        ids["decoder_start_token_id"] = german
    config = getattr(transformers, f"{name}Config")(
        vocab_size=len(pieces) + ROOM,
        forced_eos_token_id=None,
        **{**SHAPE, **ids, **options, **changes},
    )
    torch.manual_seed(7)
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config).eval()
    stir(model)
    if steps:
        learn(model, tokenizer, steps)
    settings: dict[str, Any] = {"bad_words_ids": [[ids["pad_token_id"]]], "num_beams": 4, **ids}
    if family not in ("pegasus", "mbart"):
        settings["forced_bos_token_id"] = german
    model.generation_config.update(**{**settings, "max_length": 60, **(generation or {})})
    model.save_pretrained(folder)
    return model, tokenizer


def written(kind: str) -> str:
    """The token of German in a tokenizer's vocabulary."""
    code = LANGUAGES[kind][1]
    return f"__{code}__" if kind == "M2M100Tokenizer" else code


def _tokenizer(folder: Path, kind: str, pieces: list[str]) -> Any:
    import transformers
    from transformers.convert_slow_tokenizer import SentencePieceExtractor
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

    reads, writes = LANGUAGES.get(kind, (None, None))
    if kind != "NllbTokenizer":
        return getattr(transformers, kind).from_pretrained(folder, src_lang=reads, tgt_lang=writes)
    # From SentencePiece's file alone, transformers 5.23 gives this class no languages.
    named = ["<s>", "<pad>", "</s>", "<unk>", *pieces[3:], *FAIRSEQ_LANGUAGE_CODES, "<mask>"]
    extracted = SentencePieceExtractor(str(folder / "sentencepiece.bpe.model")).extract(None)
    said = json.loads((folder / "tokenizer_config.json").read_bytes())
    return transformers.NllbTokenizer(
        {piece: i for i, piece in enumerate(named)},
        extracted["merges"],
        _spm_precompiled_charsmap=extracted["_spm_precompiled_charsmap"],
        src_lang=reads,
        tgt_lang=writes,
        legacy_behaviour=said["legacy_behaviour"],
    )
