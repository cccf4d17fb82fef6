"""Text to token ids and back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, TokenizerError, normalize

TEXT = [
    "The cat sat on the mat.",
    "Die Katze saß auf der Matte.",
    "She said: 'Good morning, how are you?'",
    "Sie sagte: 'Guten Morgen, wie geht es dir?'",
    '1 2 3 4 5 6 7 8 9 0 - ! "',
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXT * 20, vocab_size=310)


def test_known_text_comes_back_unchanged(tokenizer):
    for text in TEXT:
        assert tokenizer.decode(tokenizer.encode(text)) == text


@given(st.text(max_size=60))
def test_any_text_is_spelled_out_without_an_unknown_or_special_token(tokenizer, text):
    ids = tokenizer.encode(text)
    assert not {PAD, UNK, BOS, EOS} & set(ids)
    assert len(tokenizer.pieces(ids)) == len(ids)
    assert isinstance(tokenizer.decode(ids), str)


@pytest.mark.parametrize("text", ["<s>", "</s>", "<pad>", "<unk>", "<0x41>", "a <s> b"])
def test_a_special_tokens_name_in_a_text_is_only_letters(tokenizer, text):
    ids = tokenizer.encode(text)
    assert not {PAD, UNK, BOS, EOS} & set(ids)
    assert tokenizer.decode(ids) == text


def test_a_character_beyond_the_vocabulary_survives_as_bytes_and_is_named(tokenizer):
    assert tokenizer.decode(tokenizer.encode("cat 猫")) == "cat 猫"
    assert tokenizer.unseen_characters("cat 猫 sat 猫 λ") == ("猫", "λ")
    assert tokenizer.unseen_characters("The cat sat on the mat.") == ()


def test_typographic_quotes_dashes_and_spaces_become_the_corpora_s():
    assert normalize("„Ja“ – ‘so’…\u00a0 gut\n") == "\"Ja\" - 'so'... gut"
    assert normalize("e\u0301") == "é"


@given(st.text(max_size=60))
def test_normalizing_twice_changes_nothing_more(text):
    assert normalize(normalize(text)) == normalize(text)


def test_a_piece_may_hold_an_apostrophe_inside_a_word_and_no_other_punctuation():
    text = [
        "I don't know.",
        "We don't (yet) see 'em.",
        "Wie geht's?",
        "geht's 2nd-hand_don't",
        "'don't'",
        '"don\'t"',
    ] * 20
    plain, joined = (
        Tokenizer.train(text, vocab_size=315, model_type="bpe", apostrophes=apostrophes)
        for apostrophes in (False, True)
    )
    assert plain.pieces(plain.encode("I don't")) == ("▁I", "▁don", "'", "t")
    assert joined.pieces(joined.encode("I don't")) == ("▁I", "▁don't")
    assert joined.pieces(joined.encode("'don't'."))[-2:] == ("'", ".")
    assert joined.decode(joined.encode("'don't'.")) == "'don't'."
    for piece in joined.pieces(range(4, len(joined))):
        bare = piece.removeprefix("▁").replace("'", "")
        assert len(bare) < 2 or bare.isalpha() or piece.startswith("<0x"), piece


def test_special_tokens_leave_no_trace_in_decoded_text(tokenizer):
    ids = tokenizer.encode("The cat")
    assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == "The cat"


def test_sampled_segmentations_differ_and_all_spell_the_text(tokenizer):
    texts = ["The cat sat on the mat."] * 20
    drawn = {tuple(ids) for ids in tokenizer.sample_all(texts, alpha=0.1, seed=1)}
    assert len(drawn) > 1
    assert {tokenizer.decode(ids) for ids in drawn} == {"The cat sat on the mat."}


def test_a_seed_repeats_the_segmentations_it_drew(tokenizer):
    first, again, other = (
        tokenizer.sample_all(TEXT * 5, alpha=0.1, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_a_saved_tokenizer_is_the_same_tokenizer(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer.model")
    loaded = Tokenizer.load(tmp_path / "tokenizer.model")
    assert len(loaded) == len(tokenizer) == 310
    assert loaded.encode(TEXT[1]) == tokenizer.encode(TEXT[1])


def test_a_missing_a_damaged_and_a_too_large_tokenizer_are_refused_with_a_sentence(tmp_path):
    with pytest.raises(TokenizerError, match=r"no readable tokenizer.*\."):
        Tokenizer.load(tmp_path / "none.model")
    damaged = tmp_path / "damaged.model"
    damaged.write_bytes(b"not a model")
    with pytest.raises(TokenizerError, match=r"not a SentencePiece model\."):
        Tokenizer.load(damaged)
    with pytest.raises(TokenizerError, match=r"choose a smaller one"):
        Tokenizer.train(["one two"], vocab_size=8000)
    assert not Path("m.model").exists()
