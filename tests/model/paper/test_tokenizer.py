"""Text to token ids and back."""

import functools
import math
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from model.paper.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, TokenizerError, normalize

TEXT = [
    "The cat sat on the mat.",
    "Die Katze saß auf der Matte.",
    "She said: 'Good morning, how are you?'",
    "Sie sagte: 'Guten Morgen, wie geht es dir?'",
    '1 2 3 4 5 6 7 8 9 0 - ! "',
]


ROOT = Path(__file__).parents[3]
CHECKPOINTS = ROOT / "checkpoints"


@functools.cache
def bpe() -> Tokenizer:
    return Tokenizer.train(TEXT * 20, vocab_size=310, model_type="bpe")


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


@pytest.mark.parametrize(
    "character",
    "\x00\x07\x7f\xad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u202e\u2060\ufe0f\ufeff\U000e0101",
)
def test_what_nobody_sees_is_not_read(tokenizer, character):
    assert normalize(f"{character}The m{character}at{character}.") == "The mat."
    assert tokenizer.unseen_characters(f"The m{character}at.") == ()
    # Between a letter and its accent it would keep them apart.
    assert normalize(f"e{character}\u0301") == "é"


def test_joiners_stay_where_they_spell_words():
    for word in ("می\u200cخواهم", "क्\u200dष"):
        assert normalize(f"{word} o\u200dr") == f"{word} or"


CAPITALS = {
    "THE CAT SAT ON THE MAT.": "The cat sat on the mat.",
    "I AM NOT TIRED. “DON’T WAIT!”": 'I am not tired. "Don\'t wait!"',
    "HE LIVES IN LONDON AND I'M THERE.": "He lives in London and I'm there.",
    "tHE cAT sAT oN tHE mAT.": "The cat sat on the mat.",
    "THE CAT sat. THE DOG TOO!": "The cat sat. The dog too!",
}


@pytest.mark.parametrize(("text", "ordinary"), CAPITALS.items())
def test_a_text_in_capitals_is_read_in_ordinary_letters(text, ordinary):
    tokenizer = Tokenizer.load(CHECKPOINTS / "en-de" / "tokenizer.model")
    assert tokenizer.read_as(text) == ordinary
    assert tokenizer.encode_all([text]) == [tokenizer.encode(ordinary)]
    assert tokenizer.read_as(ordinary) == ordinary


def test_words_keep_the_capitals_that_their_language_has():
    tokenizer = Tokenizer.load(CHECKPOINTS / "de-en" / "tokenizer.model")
    assert tokenizer.read_as("DIE KATZE SITZT AUF DEM TISCH.") == "Die Katze sitzt auf dem Tisch."


@pytest.mark.parametrize(
    "text",
    [
        *("OK", "USA", "I said NO!", "The NASA and ESA launched a rocket.", "H E L L O"),
        *("My iPhone and his eBay account", "Tom McCoy lives in New York."),
    ],
)
def test_a_few_capitals_stay(tokenizer, text):
    assert tokenizer.read_as(text) == text


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


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
@pytest.mark.slow
def test_sampling_draws_the_same_in_every_process_and_spells_any_text(model_type, tmp_path):
    tokenizer = Tokenizer.train(TEXT * 20, vocab_size=310, model_type=model_type)
    tokenizer.save(tmp_path / "tokenizer.model")
    texts = [*TEXT, "猫 <s> ½  two", ""]
    drawn = tokenizer.sample_all(texts, alpha=0.1, seed=7)
    assert [tokenizer.decode(ids) for ids in drawn] == [
        tokenizer.decode(tokenizer.encode(text)) for text in texts
    ]
    code = (
        "import sys; from pathlib import Path; from model.paper.tokenizer import Tokenizer\n"
        "tokenizer = Tokenizer.load(Path(sys.argv[1]))\n"
        "print(tokenizer.sample_all(sys.argv[2:], alpha=0.1, seed=7))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "tokenizer.model"), *texts]
    assert subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout == (
        f"{drawn}\n"
    )


@given(st.text(alphabet="abcdeht '.ßü猫", max_size=40))
def test_bpe_without_dropped_merges_is_sentencepieces(text):
    tokenizer = bpe()
    assert tokenizer.sample_all([text], alpha=0.0, seed=1) == [tokenizer.encode(text)]


def test_unigram_segmentations_come_as_often_as_they_are_likely(tokenizer):
    (ids,) = {tuple(tokenizer.encode("cat"))}
    drawn = Counter(map(tuple, tokenizer.sample_all(["cat"] * 4000, alpha=0.5, seed=3)))
    score = SentencePieceProcessor(model_proto=tokenizer.serialized).get_score
    weights = {each: math.exp(0.5 * sum(map(score, each))) for each in drawn}
    assert len(drawn) > 1
    assert drawn.most_common(1)[0][0] == ids
    for each, count in drawn.items():
        share = weights[each] / sum(weights.values())
        assert count / 4000 == pytest.approx(share, abs=0.03)


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


def test_another_vocabularys_piece_is_spelled_in_this_one(tokenizer):
    for token_id, piece in enumerate(tokenizer.pieces(range(len(tokenizer)))):
        assert tokenizer.spelling(piece) == [token_id]
    for word in ("unheard", "Katzenmatte"):
        assert tokenizer.spelling(f"▁{word}") == tokenizer.encode(word)
        inside = tokenizer.pieces(tokenizer.spelling(word))
        assert "".join(inside) == word
    assert tokenizer.spelling("字") == [UNK]
