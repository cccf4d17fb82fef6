"""A SentencePiece model whose pieces have the ids of a table, as Marian's folders keep them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from model.paper.config import TransformerConfig
from model.paper.tokenizer import Tokenizer, TokenizerError, normalize

UNKNOWN = "<unk>"

_LANGUAGE = re.compile(r">>[^<]*<<")
_CODE = re.compile(r"\A>>.*?<<", re.DOTALL)
"""What a text begins with to name the language to write (Tiedemann and Thottingal 2020)."""


class TableTokenizer(Tokenizer):
    """One side's SentencePiece model and the ids of its pieces.

    A text is cut as it is, without the normalization of our own corpora. A beginning such as
    ">>deu<<" is one token. Pieces that the table lacks are unknown.

    Args:
        model: as SentencePiece writes it.
        table: the id of each piece.
        config: of the model, whose special tokens these are.
        target: the target's vocabulary; None for this one.

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
    ) -> None:
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
        self._named |= {config.bos_id: "<s>", config.pad_id: "<pad>", config.eos_id: "</s>"}
        self._bos_id = config.bos_id
        self._hidden = {config.pad_id, config.bos_id, config.eos_id}
        super().__init__(model, target)

    def _require_ids(self) -> None:
        """The table's ids are not SentencePiece's own."""

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(sorted(filter(_LANGUAGE.fullmatch, self.table)))

    def __len__(self) -> int:
        return self._size

    def encode(self, text: str) -> list[int]:
        code = _CODE.match(text)
        beginning = code[0] if code else ""
        pieces = self._processor.encode(text[len(beginning) :], out_type=str)
        named = [beginning] if beginning else []
        return [self.table.get(piece, self._unk_id) for piece in (*named, *pieces)]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, token_ids: Sequence[int]) -> str:
        pieces = self.pieces([i for i in token_ids if i not in self._hidden])
        return str(self._processor.decode_pieces(list(pieces))).replace("▁", " ").strip()

    def pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        named = [self._named.get(i, f"<{i}>") for i in token_ids]
        if len(token_ids) and token_ids[0] == self._bos_id:
            # Marian's start token is its padding, which begins no text.
            named[0] = "<s>"
        return tuple(named)

    def spelling(self, piece: str) -> list[int]:
        known = self.table.get(piece)
        return self.encode(piece.replace("▁", " ")) if known is None else [known]

    def unseen_characters(self, text: str) -> tuple[str, ...]:
        return tuple(
            character
            for character in dict.fromkeys(normalize(_CODE.sub("", text, count=1)))
            if self._unk_id in self.encode(character)
        )
