"""The vocabularies of Hugging Face folders: SentencePiece models, and the ids of their pieces."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from model.checkpoints.folder_files import CONFIG, own_file, read_json, write_json
from model.checkpoints.generation import generation_settings
from model.checkpoints.shipped import CheckpointError
from model.paper.config import TransformerConfig
from model.paper.table_tokenizer import UNKNOWN, Frame, TableTokenizer
from model.paper.tokenizer import Tokenizer, TokenizerError, pieces_in

SOURCE_MODEL, TARGET_MODEL = "source.spm", "target.spm"
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
FRAME = "frame.json"
"""In our own checkpoints with one SentencePiece model: the tokens placed around each text."""

_ONE_MODEL = "sentencepiece.bpe.model"
_FILES: Mapping[str, tuple[str, ...]] = {
    "MarianTokenizer": (SOURCE_MODEL, TARGET_MODEL, VOCABULARY),
    "PegasusTokenizer": ("spiece.model",),
    "MBartTokenizer": (_ONE_MODEL,),
    "MBart50Tokenizer": (_ONE_MODEL,),
    "NllbTokenizer": (_ONE_MODEL,),
    "M2M100Tokenizer": (_ONE_MODEL, VOCABULARY),
}
"""By the class of a tokenizer, its files."""
_USUAL = {
    "marian": "MarianTokenizer",
    "pegasus": "PegasusTokenizer",
    "bart": "BartTokenizer",
    "mbart": "MBartTokenizer",
    "m2m_100": "M2M100Tokenizer",
}
"""By the model_type, the class where a folder names none."""
_READS = {"M2M100Tokenizer": "en", "NllbTokenizer": "eng_Latn"}
_PEGASUS_OFFSET = 103
"""Ids before those of Pegasus's SentencePiece model, for masks of its training."""


def _setting(directory: Path, name: str, default: Any) -> Any:
    path = own_file(directory, "tokenizer_config.json")
    value = read_json(path).get(name) if path.exists() else None
    if value is None:
        return default
    if type(value) is not type(default):
        raise CheckpointError(f"{path} is damaged: {name} is {shortened(value)}.")
    return value


def tokenizer_class(directory: Path) -> str:
    """The class of a folder's tokenizer; that of a fast one without its ending Fast."""
    config = read_json(own_file(directory, CONFIG))
    usual = str(config.get("tokenizer_class") or _USUAL.get(config["model_type"], ""))
    return str(_setting(directory, "tokenizer_class", usual)).removesuffix("Fast")


def unread_vocabulary(directory: Path) -> str:
    """What in a folder's vocabulary is not read here, in words; empty if nothing."""
    kind = tokenizer_class(directory)
    if kind not in _FILES:
        return f"its tokenizer is {kind}, which has no SentencePiece model"
    if not (directory / _FILES[kind][0]).exists():
        return f"it has no {_FILES[kind][0]}, the SentencePiece model of {kind}"
    if kind == "MarianTokenizer" and _first(directory) is not None:
        return f"it writes with forced_bos_token_id {_first(directory)}"
    return ""


def _first(directory: Path) -> int | None:
    first = generation_settings(directory).get("forced_bos_token_id")
    return first if type(first) is int else None


def unknown_id(directory: Path) -> Any:
    """The id of <unk> in an importable folder; CheckpointError if a file is damaged."""
    kind = tokenizer_class(directory)
    if VOCABULARY in _FILES[kind]:
        return read_json(own_file(directory, VOCABULARY)).get(UNKNOWN)
    return 2 + _setting(directory, "offset", _PEGASUS_OFFSET) if kind == "PegasusTokenizer" else 3


def imported_tokenizer(directory: Path, config: TransformerConfig) -> TableTokenizer:
    """The vocabulary of an importable folder.

    Raises:
        CheckpointError: if a file is a link out of the folder, or tokenizer_config.json is damaged.
        TokenizerError: if another file is missing or damaged.
    """
    kind = tokenizer_class(directory)
    if kind == "MarianTokenizer":
        return read_table_tokenizer(directory, config, SOURCE_MODEL, TARGET_MODEL)
    model = _read_model(directory, _FILES[kind][0])
    table, languages = _table(directory, kind, pieces_in(model))
    frame = _frame(directory, kind, {code: table[token] for code, token in languages.items()})
    return TableTokenizer(model, table, config, frame=frame)


def _table(directory: Path, kind: str, pieces: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The id of each piece, and the piece of each language."""
    if kind == "PegasusTokenizer":
        offset = _setting(directory, "offset", _PEGASUS_OFFSET)
        table = {piece: i + offset for i, piece in enumerate(pieces) if i > 1}
        return {"<pad>": 0, "</s>": 1} | table, {}
    if kind == "M2M100Tokenizer":
        table = read_json(own_file(directory, VOCABULARY))
        free = len(table)
    else:
        # As fairseq numbers them, whose dictionary has a <pad>.
        table = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
        table |= {piece: i + 1 for i, piece in enumerate(pieces) if i > 2}
        free = len(pieces) + 1
    mark = "__" if kind == "M2M100Tokenizer" else ""
    listed = read_json(Path(__file__).with_name("languages.json"))[kind].split()
    languages = {code: f"{mark}{code}{mark}" for code in listed}
    table |= {token: free + i for i, token in enumerate(languages.values())}
    # A model that was trained further may have languages of its own.
    for token_id, token in _setting(directory, "added_tokens_decoder", {}).items():
        content = token.get("content") if isinstance(token, dict) else None
        if token_id.isdecimal() and isinstance(content, str) and not content.startswith("<"):
            table[content] = int(token_id)
            languages[content.strip("_")] = content
    return table, languages


def _frame(directory: Path, kind: str, languages: dict[str, int]) -> Frame:
    first = _first(directory)
    if not languages:
        return Frame(first=first)
    # mBART's translations start with their language, those of others are given it then.
    by_start = kind == "MBartTokenizer"
    reads = _setting(directory, "src_lang", _READS.get(kind, "en_XX"))
    written = _setting(directory, "tgt_lang", min({*languages} - {reads}))
    writes = next((code for code, token_id in languages.items() if token_id == first), written)
    for code in (reads, writes):
        if code not in languages:
            raise CheckpointError(f"{directory} is damaged: it has no language {code}.")
    return Frame(
        languages=languages,
        reads=reads,
        writes="" if by_start else writes,
        reads_last=by_start or _setting(directory, "legacy_behaviour", False),
    )


def read_table_tokenizer(
    directory: Path, config: TransformerConfig, source: str, target: str
) -> TableTokenizer:
    """The vocabularies of SentencePiece files over one table or a table each; errors as above.

    The names are those of the two files. With a frame there is one file for both sides.
    """
    table = read_json(own_file(directory, VOCABULARY))
    if (directory / FRAME).exists():
        try:
            frame = Frame(**read_json(own_file(directory, FRAME)))
            codes = {frame.reads, frame.writes or frame.reads} <= {*(frame.languages or [""])}
            ids = {*frame.languages.values(), frame.first} <= {*table.values(), None}
        except (TypeError, AttributeError):
            codes = ids = False
        if not (codes and ids):
            raise CheckpointError(f"{directory / FRAME} is damaged: it names unknown languages.")
        return TableTokenizer(_read_model(directory, source), table, config, frame=frame)
    separate = config.target_vocab_size is not None
    other = read_json(own_file(directory, TARGET_VOCABULARY)) if separate else table
    models = [_read_model(directory, name) for name in (source, target)]
    written = TableTokenizer(models[1], other, config, side="target")
    return TableTokenizer(models[0], table, config, written)


def save_tables(directory: Path, tokenizer: Tokenizer) -> None:
    """Write the tables of a vocabulary, and its frame if one model cuts both sides."""
    for name, side in ((VOCABULARY, tokenizer), (TARGET_VOCABULARY, tokenizer.target)):
        (directory / name).unlink(missing_ok=True)
        if isinstance(side, TableTokenizer):
            write_json(directory / name, dict(side.table))
    (directory / FRAME).unlink(missing_ok=True)
    if isinstance(tokenizer, TableTokenizer) and tokenizer.target is tokenizer:
        write_json(directory / FRAME, asdict(tokenizer.frame))


def _read_model(directory: Path, name: str) -> bytes:
    try:
        return own_file(directory, name).read_bytes()
    except OSError as error:
        raise TokenizerError(f"There is no readable tokenizer at {directory / name}.") from error
