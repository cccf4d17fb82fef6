"""How vocabularies mark words, and their tokens as SentencePiece would spell them.

Everything that draws or joins tokens knows one spelling: "▁" before a token that begins a word, and
<0xE7> for a byte that is no character by itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal, get_args

WORD_START = "▁"
"""SentencePiece's mark for a space before a token, and so for the start of a word."""

START, END, PADDING = "<s>", "</s>", "<pad>"
"""The special tokens, which are no part of the text."""

_SPECIAL = {START, END, PADDING, "[CLS]", "[SEP]", "[PAD]", "<bos>", "<eos>"}
# GPT-2's <|endoftext|>, Whisper's <|en|>.
_CONTROL = re.compile(r"<\|[^|]+\|>")
# [MASK], [UNK], <mask>, <unk>: part of the text, in no scheme's spelling.
_NAMED = re.compile(r"\[[A-Z]+\]|<[a-z_0-9]+>")

Scheme = Literal[
    "sentencepiece", "wordpiece", "byte-level", "end-of-word", "continued", "characters"
]
"""SentencePiece ("▁cat"), WordPiece ("##ing"), the byte-level BPE of GPT-2 ("Ġcat"), BPE with
"cat</w>", BPE with "contin@@", or single characters with a space between words."""


class SchemeError(ValueError):
    """No such scheme; the message names them."""


def special(token: str) -> bool:
    """Whether a token is no part of the text: <s>, </s>, <pad>, or another model's like these."""
    return token in _SPECIAL or _CONTROL.fullmatch(token) is not None


def scheme_of(pieces: Iterable[str]) -> Scheme | None:
    """The scheme of a vocabulary or of a text's tokens; None if they do not show it."""
    marks: Counter[Scheme] = Counter()
    letters, spaces, longer, framed = 0, 0, 0, False
    for piece in pieces:
        if special(piece):
            framed = framed or piece == "[CLS]"
            continue
        letters += len(piece) == 1
        spaces += piece == " "
        longer += len(piece) > 1 and not _NAMED.fullmatch(piece)
        marks["sentencepiece"] += piece.startswith(WORD_START)
        marks["wordpiece"] += len(piece) > 2 and piece.startswith("##")
        marks["byte-level"] += _is_byte_level(piece)
        marks["end-of-word"] += piece.endswith("</w>")
        marks["continued"] += len(piece) > 2 and piece.endswith("@@")
    best, count = max(marks.items(), key=lambda each: each[1], default=("sentencepiece", 0))
    if count:
        return best
    if framed:
        return "wordpiece"
    return "characters" if spaces and letters > spaces and not longer else None


def spelled(
    pieces: Sequence[str], scheme: Scheme | None, alone: Sequence[bool] | None = None
) -> tuple[str, ...]:
    """Tokens as SentencePiece would spell them.

    Args:
        pieces: of one text, from its beginning on.
        scheme: of their vocabulary; None recognises it, and leaves them alone where it cannot.
        alone: which pieces are special tokens of the vocabulary, besides those known everywhere.

    Raises:
        SchemeError: if there is no such scheme.
    """
    scheme = scheme or scheme_of(pieces)
    if scheme is not None and scheme not in get_args(Scheme):
        named = ", ".join(f'"{each}"' for each in get_args(Scheme))
        raise SchemeError(f"There is no scheme {scheme!r} of tokens; give one of {named}, or None.")
    if scheme is None or scheme == "sentencepiece":
        return tuple(pieces)
    apart = [
        special(piece) or bool(_NAMED.fullmatch(piece)) or bool(alone and alone[place])
        for place, piece in enumerate(pieces)
    ]
    found: list[str] = []
    for is_apart, group in groupby(zip(apart, pieces, strict=True), key=lambda each: each[0]):
        run = [piece for _, piece in group]
        if is_apart:
            found += [piece if special(piece) else WORD_START + piece for piece in run]
        else:
            found += _SPELLERS[scheme](run)
    return tuple(found)


def _wordpiece(pieces: list[str]) -> Iterator[str]:
    for piece in pieces:
        is_inner = len(piece) > 2 and piece.startswith("##")
        yield piece[2:] if is_inner else WORD_START + piece


def _byte_level(pieces: list[str]) -> Iterator[str]:
    opens = True
    for piece in pieces:
        text = _text_of(bytes(_BYTES[letter] for letter in piece) if _is_bytes(piece) else piece)
        opens = opens or text[:1].isspace()
        yield WORD_START + text.removeprefix(" ") if opens else text
        opens = text[-1:].isspace() and text != " "


def _end_of_word(pieces: list[str]) -> Iterator[str]:
    opens = True
    for piece in pieces:
        yield opens * WORD_START + piece.removesuffix("</w>")
        opens = piece.endswith("</w>")


def _continued(pieces: list[str]) -> Iterator[str]:
    opens = True
    for piece in pieces:
        is_inner = len(piece) > 2 and piece.endswith("@@")
        yield opens * WORD_START + (piece.removesuffix("@@") if is_inner else piece)
        opens = not is_inner


def _characters(pieces: list[str]) -> Iterator[str]:
    # ByT5 names each byte by the character of its number.
    latin = "".join(piece if "\x80" <= piece <= "\xff" else " " for piece in pieces)
    is_byte = [False] * len(pieces)
    for run in re.finditer(r"[\x80-\xff]+", latin):
        try:
            run[0].encode("latin-1").decode()
        except UnicodeDecodeError:
            continue
        is_byte[run.start() : run.end()] = [True] * len(run[0])
    for place, piece in enumerate(pieces):
        text = f"<0x{ord(piece):02X}>" if is_byte[place] else piece
        yield WORD_START if piece == " " else WORD_START + text if place == 0 else text


_SPELLERS: dict[Scheme, Callable[[list[str]], Iterator[str]]] = {
    "wordpiece": _wordpiece,
    "byte-level": _byte_level,
    "end-of-word": _end_of_word,
    "continued": _continued,
    "characters": _characters,
}


def _byte_letters() -> dict[str, int]:
    """The byte of each letter of GPT-2's alphabet: printable bytes are themselves, others move."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    return {
        **{chr(byte): byte for byte in printable},
        **{chr(0x100 + place): byte for place, byte in enumerate(others)},
    }


_BYTES = _byte_letters()


def _is_bytes(piece: str) -> bool:
    return all(letter in _BYTES for letter in piece)


def _is_byte_level(piece: str) -> bool:
    """Whether a piece spells a space, a line break or a character of several bytes."""
    if piece.isascii() or not _is_bytes(piece):
        return False
    if piece[0] in "ĠĊ":
        return True
    try:
        return len(piece) > 1 and not bytes(map(_BYTES.__getitem__, piece)).decode().isascii()
    except UnicodeDecodeError:
        return False


_UNDECODED = re.compile("[\udc80-\udcff]")
_BYTE_RUN = re.compile(r"((?:<0x[0-9A-F]{2}>)+)")
_VALUES = re.compile("0x(..)")


def _text_of(piece: bytes | str) -> str:
    """Bytes as text; those that are no character are <0xE7>."""
    if isinstance(piece, str):
        return piece
    return _with_strays(piece.decode("utf-8", "surrogateescape"))


def _with_strays(text: str) -> str:
    return _UNDECODED.sub(lambda byte: f"<0x{ord(byte[0]) - 0xDC00:02X}>", text)


def joined(tokens: Sequence[str]) -> str:
    """The text of neighbouring tokens, with "▁"; bytes of one character become that character."""
    return "".join(added(tokens))


def added(tokens: Sequence[str]) -> list[str]:
    """What each of neighbouring tokens adds to their text: a character is its last byte's."""
    # Within one token, so that "<0x41>" in a text, which is several tokens, stays.
    parts = [
        (place, part)
        for place, token in enumerate(tokens)
        for part in filter(None, _BYTE_RUN.split(token))
    ]
    texts = [""] * len(tokens)
    for is_bytes, group in groupby(parts, lambda each: bool(_BYTE_RUN.fullmatch(each[1]))):
        if not is_bytes:
            for place, part in group:
                texts[place] += part
            continue
        run = [(place, int(value, 16)) for place, part in group for value in _VALUES.findall(part)]
        end = 0
        for character in bytes(value for _, value in run).decode("utf-8", "surrogateescape"):
            end += len(character.encode("utf-8", "surrogateescape"))
            texts[run[end - 1][0]] += _with_strays(character)
    return texts
