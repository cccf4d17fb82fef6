"""Text to token ids and back: a SentencePiece vocabulary for source and target (section 5.1)."""

from __future__ import annotations

import functools
import io
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import sentencepiece

from model.files import write_whole
from model.paper.letter_case import in_ordinary_case, is_in_capitals

PAD, UNK, BOS, EOS = 0, 1, 2, 3
"""Ids of the special tokens in every vocabulary trained here."""

_TO_ASCII = str.maketrans(
    {
        **dict.fromkeys("„“”«»‟″", '"'),
        **dict.fromkeys("‚‘’‛‹›′`´", "'"),
        **dict.fromkeys("–—―−‐‑", "-"),
        "…": "...",
    }
)
# Controls that are no space, soft hyphens, zero-width characters, marks of order and direction,
# variation selectors and tags. Joiners are letters of a word's spelling in scripts from Arabic to
# Mongolian, and noise elsewhere.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]|(?<![\u0600-\u1cff])[\u200c\u200d]"
)
_BYTE_PIECE = re.compile(r"<0x[0-9A-F]{2}>")
_LINE_LIMIT = 4096
_NBEST = 64
_SPACED = re.compile("▁[^▁]*")
# A word with the apostrophes inside it, or one character that is no letter; a space belongs to what
# follows it.
_PARTS = re.compile(r"\s?(?:[^\W\d_]+(?:'[^\W\d_]+)*|\S)")
# It separates parts of the text on which a vocabulary is trained; no corpus contains it.
_CUT = "\x1f"


class TokenizerError(ValueError):
    """A tokenizer file that is missing, damaged or of another kind; the message says which."""


def normalize(text: str) -> str:
    """Text in the form of the corpora: NFC, plain quotes and dashes, single spaces.

    Characters that nobody sees are left out: a soft hyphen in a word would spell another word.
    """
    composed = unicodedata.normalize("NFC", without_invisible(text))
    return " ".join(composed.translate(_TO_ASCII).split())


def without_invisible(text: str) -> str:
    """Text without the characters that take no room, such as a soft hyphen or a byte order mark."""
    return _INVISIBLE.sub("", text)


def _processor_of(model: bytes) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.load_from_serialized_proto(model)
    except RuntimeError as error:
        raise TokenizerError("The tokenizer is not a SentencePiece model.") from error
    return processor


def pieces_in(model: bytes) -> list[str]:
    """The pieces of a SentencePiece model in their order; TokenizerError if it is damaged."""
    processor = _processor_of(model)
    return [processor.id_to_piece(i) for i in range(len(processor))]


class Tokenizer:
    """A trained SentencePiece vocabulary.

    Args:
        target: the target's vocabulary, if it has its own.
    """

    def __init__(self, model: bytes, target: Tokenizer | None = None) -> None:
        self.serialized = model
        """The model as SentencePiece writes it."""
        self.target = target or self
        """The vocabulary the model writes with: this one, unless the target has its own."""
        self._processor = _processor_of(model)
        self._require_ids()

    def _require_ids(self) -> None:
        ids = tuple(
            getattr(self._processor, name)() for name in ("pad_id", "unk_id", "bos_id", "eos_id")
        )
        if ids != (PAD, UNK, BOS, EOS):
            raise TokenizerError(
                f"The tokenizer's pad, unk, bos and eos must have ids 0 to 3; they have {ids}."
            )

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """The vocabulary in a file; TokenizerError if it is missing or damaged."""
        try:
            return cls(path.read_bytes())
        except OSError as error:
            raise TokenizerError(f"There is no readable tokenizer at {path}.") from error

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        vocab_size: int,
        *,
        model_type: str = "unigram",
        apostrophes: bool = False,
        rules: str = "",
    ) -> Tokenizer:
        """A new vocabulary with byte fallback, which can spell any text.

        Args:
            vocab_size: number of pieces, special tokens and bytes included.
            model_type: "unigram" or "bpe".
            apostrophes: whether a piece may contain the apostrophe inside a word, so that "don't"
                can be one piece; otherwise an apostrophe is a piece by itself. For alphabets with
                one character a letter, like the Latin one in NFC.
            rules: the path of normalization rules as SentencePiece's trainer reads them; empty for
                NFKC, whose rules take 240 KB of every vocabulary.

        Raises:
            TokenizerError: if there is too little text for so many pieces.
        """
        model = io.BytesIO()
        cuts: dict[str, Any] = {}
        if apostrophes:
            sentences = (_CUT.join(_PARTS.findall(normalize(text))) for text in sentences)
            cuts = {"split_by_unicode_script": False, "pretokenization_delimiter": _CUT}
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(sentences),
                model_writer=model,
                vocab_size=vocab_size,
                model_type=model_type,
                byte_fallback=True,
                character_coverage=0.9998,
                normalization_rule_name="nfkc",
                normalization_rule_tsv=rules,
                max_sentence_length=_LINE_LIMIT,
                split_digits=True,
                pad_id=PAD,
                unk_id=UNK,
                bos_id=BOS,
                eos_id=EOS,
                num_threads=2,
                minloglevel=2,
                **cuts,
            )
        except RuntimeError as error:
            raise TokenizerError(
                f"No vocabulary of {vocab_size} pieces can be trained on this text; "
                "choose a smaller one or give more text."
            ) from error
        return cls(model.getvalue())

    def save(self, path: Path) -> None:
        """Write the tokenizer file."""
        write_whole(path, self.serialized)

    has_table = False
    """Whether its ids are those of a table, and what it lacks is <unk>; else it spells bytes."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Tokens such as ">>deu<<", one of which begins a text; empty where one is written."""
        return ()

    def around(self, text: str) -> tuple[list[int], list[int]]:
        """Ids that name a text's language: before its tokens, and after its end token."""
        return [], []

    def opening(self, text: str) -> tuple[int, ...]:
        """Ids that a model is given as the beginning of a text's translation."""
        return ()

    def unknown_languages(self, text: str) -> tuple[str, ...]:
        """The languages a text names for which the vocabulary has no token."""
        return ()

    def __len__(self) -> int:
        return int(self._processor.vocab_size())

    def read_as(self, text: str) -> str:
        """What is cut into tokens: the text normalized, and in ordinary case if in capitals."""
        plain = normalize(text)
        return in_ordinary_case(plain, self.count) if is_in_capitals(plain) else plain

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, without start and end token; "<s>" in a text is three letters."""
        return list(self._processor.encode(self.read_as(text)))

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        return len(self.encode(text))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, as `encode` gives them."""
        return [list(ids) for ids in self._processor.encode([*map(self.read_as, texts)])]

    def sample_all(self, texts: Sequence[str], *, alpha: float, seed: int) -> list[list[int]]:
        """A random segmentation of each text, as token ids (subword regularization).

        A unigram vocabulary draws each word's from its likeliest 64 (Kudo 2018, section 3.2); a BPE
        vocabulary drops merges at random (BPE-dropout, Provilkov et al. 2020, algorithm 1).
        SentencePiece's own draws differ between processes; these do not.

        Args:
            alpha: for a unigram vocabulary, lower is more varied, usually 0.1 to 0.5; for BPE, the
                share of merges dropped, usually 0.1 or less.
            seed: equal seeds draw equal segmentations, in any process.
        """
        random = Random(seed)
        # The score of a merge is its rank, below zero.
        bpe = all(self._processor.get_score(i).is_integer() for i in self._ranks.values())
        draw = self._merged_ids if bpe else self._likely_ids
        return [
            [
                token_id
                for word in _SPACED.findall(self._processor.normalize(self.read_as(text)))
                for token_id in draw(word, alpha, random)
            ]
            for text in texts
        ]

    @functools.cached_property
    def _ranks(self) -> dict[str, int]:
        """Ids of all pieces that are text; in BPE, earlier merges have lower ids."""
        vocabulary = self._processor
        return {
            vocabulary.id_to_piece(i): i
            for i in range(len(self))
            if not (vocabulary.is_control(i) or vocabulary.is_unknown(i) or vocabulary.is_byte(i))
        }

    @functools.cached_property
    def _likeliest(self) -> Callable[[str], list[tuple[list[int], float]]]:
        """The likeliest segmentations of a word, each with its log-probability."""
        score = self._processor.get_score

        @functools.cache
        def likeliest(word: str) -> list[tuple[list[int], float]]:
            segmentations = self._processor.nbest_encode(word.removeprefix("▁"), nbest_size=_NBEST)
            return [(ids, sum(map(score, ids))) for ids in segmentations]

        return likeliest

    def _likely_ids(self, word: str, alpha: float, random: Random) -> list[int]:
        segmentations, scores = zip(*self._likeliest(word), strict=True)
        return list(random.choices(segmentations, [math.exp(alpha * each) for each in scores])[0])

    def _merged_ids(self, word: str, dropout: float, random: Random) -> list[int]:
        pieces = list(word)
        while merges := [
            (rank, place)
            for place, pair in enumerate(pairwise(pieces))
            if (rank := self._ranks.get("".join(pair))) and random.random() >= dropout
        ]:
            _, place = min(merges)
            pieces[place : place + 2] = ["".join(pieces[place : place + 2])]
        ids: list[int] = []
        for piece in pieces:
            known = self._ranks.get(piece)
            spelled = (f"<0x{byte:02X}>" for byte in piece.encode())
            ids += [known] if known else map(self._processor.piece_to_id, spelled)
        return ids

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of token ids; special tokens vanish."""
        return str(self._processor.decode([i for i in token_ids if i not in (PAD, BOS, EOS)]))

    def pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        """Each token as SentencePiece spells it; "▁" marks the start of a word."""
        return tuple(self._processor.id_to_piece(i) for i in token_ids)

    def spelling(self, piece: str) -> list[int]:
        """Ids that spell a piece of another vocabulary, as `pieces` gives it, in this one."""
        if (known := self._processor.piece_to_id(piece)) != UNK:
            return [known]
        if piece.startswith("▁"):
            return self.encode(piece.replace("▁", " "))
        # SentencePiece cannot cut inside a word: take the longest known beginning, then the rest.
        end = next((i for i in range(len(piece), 0, -1) if piece[:i] in self._ranks), 0)
        return [self._ranks[piece[:end]], *self.spelling(piece[end:])] if end else [UNK]

    def unseen_characters(self, text: str) -> tuple[str, ...]:
        """Characters of the text that the vocabulary can spell only as bytes, in order."""
        unseen = []
        for character in dict.fromkeys(self.read_as(text)):
            pieces = self._processor.encode(character, out_type=str)
            if any(_BYTE_PIECE.fullmatch(piece) or piece == "<unk>" for piece in pieces):
                unseen.append(character)
        return tuple(unseen)
