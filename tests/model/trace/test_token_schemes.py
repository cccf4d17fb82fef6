"""Tokens of other vocabularies: where their words begin, against tokenizers of the field."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from model.trace.attention_map import NO_ID, Tokens, TraceError
from model.trace.token_schemes import WORD_START, joined, scheme_of, special
from model.trace.word_grouping import words
from viz.draw.labels import axis_texts

CORPUS = [
    "The cat played with the players in the playground.",
    "Unrelated plays were replayed, and the cats slept on the mat.",
    "Ein Café für die Größten: 猫 und 😀 spielen.",
]
TEXTS = [*CORPUS, "The playful cat", "cat", "replaying 猫猫 😀!", "Café"]


def byte_level() -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=290, initial_alphabet=alphabet))
    return made


def wordpiece() -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special_tokens = ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(
        TEXTS, trainers.WordPieceTrainer(vocab_size=120, special_tokens=special_tokens)
    )
    return made


def end_of_word() -> Tokenizer:
    made = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=120, end_of_word_suffix="</w>"))
    return made


def sentencepiece() -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=120))
    return made


def characters() -> Tokenizer:
    made = Tokenizer(models.WordLevel({each: n for n, each in enumerate(set("".join(TEXTS)))}, ""))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return made


SCHEMES: dict[str, Callable[[], Tokenizer]] = {
    "sentencepiece": sentencepiece,
    "wordpiece": wordpiece,
    "byte-level": byte_level,
    "end-of-word": end_of_word,
    "characters": characters,
}


@pytest.fixture(scope="module", params=SCHEMES)
def vocabulary(request: pytest.FixtureRequest) -> tuple[str, Tokenizer]:
    return request.param, SCHEMES[request.param]()


def written(tokens: Tokens) -> str:
    return joined(tokens.tokens).replace(WORD_START, " ").removeprefix(" ")


@pytest.mark.parametrize("text", TEXTS)
def test_words_begin_where_spaces_are_and_the_text_comes_back(
    vocabulary: tuple[str, Tokenizer], text: str
) -> None:
    scheme, tokenizer = vocabulary
    encoded = tokenizer.encode(text)
    tokens = Tokens(encoded.tokens, encoded.ids, scheme)
    # A mark where it does not belong would be a space too many.
    assert written(tokens) == text
    # Unless a text of one word has no mark in it.
    if scheme_of(encoded.tokens):
        assert Tokens(encoded.tokens, encoded.ids) == tokens
        assert scheme_of(encoded.tokens) == scheme


def test_the_scheme_of_a_whole_vocabulary_is_recognised(vocabulary) -> None:
    scheme, tokenizer = vocabulary
    assert scheme_of(tokenizer.get_vocab()) == scheme


def labels(*pieces: str, scheme: str | None = None) -> list[str]:
    return axis_texts(Tokens(pieces, tuple(range(4, 4 + len(pieces))), scheme))


def test_labels_show_which_tokens_begin_and_which_continue() -> None:
    bert = labels("[CLS]", "The", "cat", "play", "##ing", ".", "[MASK]", "[SEP]")
    assert bert == ["[CLS]", "The", "cat", "play", "…ing", ".", "[MASK]", "[SEP]"]
    assert labels("The", "Ġcat", "Ċ", "Then", "Ċ") == ["The", "cat", "␊", "Then", "␊"]
    whisper = labels("<|startoftranscript|>", "<|en|>", "ĠIt", "'s", "Ġp", "latter")
    assert whisper == ["<|startoftranscript|>", "<|en|>", "It", "'s", "p", "…latter"]
    assert labels("the</w>", "c", "at</w>") == ["the", "c", "…at"]
    assert labels("un@@", "related", "word") == ["un", "…related", "word"]
    assert labels("Ċ", "Ã¡") == ["␊", "á"]


def test_tokens_without_any_mark_are_shown_as_they_are_unless_their_scheme_is_given() -> None:
    assert labels("two", "words") == ["two", "words"]
    assert labels("the", "cats", scheme="wordpiece") == ["the", "cats"]
    assert labels("ca", "ts", scheme="sentencepiece") == ["…ca", "…ts"]
    unmarked = Tokens(("two", "words"), (4, 5))
    assert [word.start for word in words(unmarked)] == [0, 1]
    assert axis_texts(unmarked[1:]) == ["words"]


def test_bytes_of_one_character_are_joined_in_a_word_and_shown_as_bytes_alone() -> None:
    # 猫 in three bytes, of which GPT-2's vocabulary has the first two as one token.
    tokens = Tokens(("Ġ", "çĮ", "«", "Ġis"), (4, 5, 6, 7))
    assert axis_texts(tokens) == ["␣", "<0xE7><0x8C>", "<0xAB>", "is"]
    assert [joined(tokens[word].tokens) for word in words(tokens)] == ["▁猫", "▁is"]
    # ByT5 has one token a byte, named by the character of its number; "é" alone is a character.
    tokens = Tokens(("c", "Ã", "©", " ", "b", " ", "é"), tuple(range(4, 11)))
    assert [joined(tokens[word].tokens) for word in words(tokens)] == ["▁cé", "▁b", "▁é"]


def test_letters_that_look_like_a_byte_stay_letters() -> None:
    assert joined(["▁<", "0x", "41", ">"]) == "▁<0x41>"
    assert joined(["<0xC3>", "<0xA9>", "a", "<0xC3>"]) == "éa<0xC3>"
    assert joined(["<0xC3>a", "<0xC3>", "<0xA9>b"]) == "<0xC3>aéb"


def test_labels_that_are_no_tokens_and_texts_of_our_own_vocabulary_stay() -> None:
    assert Tokens(("##a", "Ġb"), (NO_ID, NO_ID)).tokens == ("##a", "Ġb")
    own = Tokens(("▁The", "##a", "x</w>", "Ã¡"), (4, 5, 6, 7))
    assert own.tokens == ("▁The", "##a", "x</w>", "Ã¡")
    # A slice is spelled already.
    assert own[1:2].tokens == ("##a",)
    assert own.at([3, 1]).tokens == ("Ã¡", "##a")


def test_control_tokens_are_special() -> None:
    assert special("<|endoftext|>")
    assert not special("[MASK]")


def test_an_unknown_scheme_is_refused_with_a_sentence() -> None:
    with pytest.raises(TraceError, match=r'scheme .* give one of "sentencepiece", .*\.'):
        Tokens(("a",), (4,), "bpe")  # type: ignore[arg-type]
