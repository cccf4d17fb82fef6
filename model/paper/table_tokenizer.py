"""A SentencePiece model whose pieces have the ids of a table, as Marian's folders keep them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from model.paper.config import TransformerConfig
from model.paper.tokenizer import Tokenizer, TokenizerError, normalize

UNKNOWN = "<unk>"

_LANGUAGE = re.compile(r">>[^<]*<<")
_CODE = re.compile(r"\A>>.*?<<", re.DOTALL)
"""What a text begins with to name the language to write (Tiedemann and Thottingal 2020)."""
_CODES = re.compile(r"\A(?:\s*>>([^<>]+)<<)?\s*>>([^<>]+)<<\s*")
"""What a text begins with where both sides have a language: the one it is in, the one to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The tokens that many-to-many models have around every text.

    Attributes:
        languages: the id of each language's token, by its code.
        reads: the code of the source's language where a text names none.
        writes: likewise for the translation; empty where the start token says it, so that a text
            names its own language alone.
        reads_last: whether the source's language stands after the end token, not first.
        first: the id that every translation begins with where there is no language to write.
    """

    languages: Mapping[str, int] = field(default_factory=dict)
    reads: str = ""
    writes: str = ""
    reads_last: bool = False
    first: int | None = None

    def codes(self, text: str) -> tuple[str, str, str]:
        """The languages of a text and of its translation, and the text without their codes."""
        named = _CODES.match(text) if self.languages else None
        if named is None:
            return self.reads, self.writes, text
        rest = text[named.end() :]
        if not self.writes:
            return named[2], "", rest
        return named[1] or self.reads, named[2], rest


class TableTokenizer(Tokenizer):
    """One side's SentencePiece model and the ids of its pieces.

    A text is cut as it is, without the normalization of our own corpora. A beginning such as
    ">>deu<<" is one token, or by the frame a token of its own on either side. Pieces that the table
    lacks are unknown.

    Args:
        model: as SentencePiece writes it.
        table: the id of each piece.
        config: of the model, whose special tokens these are.
        target: the target's vocabulary; None for this one.
        frame: what stands around every text; None for Marian, whose texts may begin with a code.

    Raises:
        TokenizerError: if the model is damaged, or the table does not fit the configuration.
    """

    has_table = True

    def __init__(
        self,
        model: bytes,
        table: Mapping[str, object],
        config: TransformerConfig,
        target: Tokenizer | None = None,
        *,
        side: Literal["source", "target"] = "source",
        frame: Frame | None = None,
    ) -> None:
        self.begins_with_code = frame is None
        self.frame = frame = frame or Frame()
        self.table: dict[str, int] = {}
        self._size = config.vocab_size if side == "source" else config.output_size
        for piece, token_id in table.items():
            if not (type(token_id) is int and 0 <= token_id < self._size):
                raise TokenizerError(
                    f"The vocabulary gives the piece {piece[:40]!r} no id below {self._size}."
                )
            self.table[piece] = token_id
        self._unk_id = config.unk_id
        self._named = {token_id: piece for piece, token_id in self.table.items()}
        # Marian's start token is its padding, which begins no text; mBART's is a language.
        is_language = config.bos_id in frame.languages.values()
        self._start = self._named[config.bos_id] if is_language else "<s>"
        self._named |= {config.bos_id: self._start, config.pad_id: "<pad>", config.eos_id: "</s>"}
        self._bos_id = config.bos_id
        self._hidden = {config.pad_id, config.bos_id, config.eos_id, *frame.languages.values()}
        if frame.first is not None:
            self._hidden.add(frame.first)
        super().__init__(model, target)

    def _require_ids(self) -> None:
        """The table's ids are not SentencePiece's own."""

    @property
    def languages(self) -> tuple[str, ...]:
        if self.frame.writes:
            others = sorted({*self.frame.languages} - {self.frame.writes})
            return tuple(f">>{code}<<" for code in (self.frame.writes, *others))
        return tuple(sorted(filter(_LANGUAGE.fullmatch, self.table)))

    def around(self, text: str) -> tuple[list[int], list[int]]:
        if self.frame.languages:
            own = [self.frame.languages[self.frame.codes(text)[0]]]
            return ([], own) if self.frame.reads_last else (own, [])
        languages = self.languages
        named = languages and text.startswith(languages)
        # The first token of every picture then says which.
        return ([self.table[languages[0]]] if languages and not named else []), []

    def opening(self, text: str) -> tuple[int, ...]:
        if self.frame.writes:
            return (self.frame.languages[self.frame.codes(text)[1]],)
        return () if self.frame.first is None else (self.frame.first,)

    def unknown_languages(self, text: str) -> tuple[str, ...]:
        codes = self.frame.codes(text)[:2] if self.frame.languages else ()
        return tuple(code for code in codes if code and code not in self.frame.languages)

    def __len__(self) -> int:
        return self._size

    def read_as(self, text: str) -> str:
        return self._cut(text)[1]

    def encode(self, text: str) -> list[int]:
        beginning, text = self._cut(text)
        pieces = self._processor.encode(text, out_type=str)
        named = [beginning] if beginning else []
        return [self.table.get(piece, self._unk_id) for piece in (*named, *pieces)]

    def _cut(self, text: str) -> tuple[str, str]:
        """A text in two parts: the language code it begins with, and the rest, which is cut."""
        if not self.begins_with_code:
            return "", self.frame.codes(text)[2]
        code = _CODE.match(text)
        end = code.end() if code else 0
        return text[:end], text[end:]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, token_ids: Sequence[int]) -> str:
        pieces = self.pieces([i for i in token_ids if i not in self._hidden])
        return str(self._processor.decode_pieces(list(pieces))).replace("▁", " ").strip()

    def pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        named = [self._named.get(i, f"<{i}>") for i in token_ids]
        if len(token_ids) and token_ids[0] == self._bos_id:
            named[0] = self._start
        return tuple(named)

    def spelling(self, piece: str) -> list[int]:
        known = self.table.get(piece)
        return self.encode(piece.replace("▁", " ")) if known is None else [known]

    def unseen_characters(self, text: str) -> tuple[str, ...]:
        return tuple(
            character
            for character in dict.fromkeys(normalize(self.read_as(text)))
            if self._unk_id in self.encode(character)
        )
