"""The lists of first sentences are well formed and their patterns tell right from wrong."""

from collections import Counter

import pytest

from benchmarks.first_sentences.__main__ import main, report
from benchmarks.first_sentences.sentences import CHOOSING, FINAL, list_names, read_list

SIZES = {"en-de": 300, "en-de-typed": 840, "de-en": 60, "en-fr": 60}


@pytest.mark.parametrize("name", sorted(SIZES))
def test_a_list_is_long_enough_and_repeats_nothing(name: str) -> None:
    sources = [sentence.source.casefold() for sentence in read_list(name)]
    assert len(set(sources)) == len(sources) >= SIZES[name]


@pytest.mark.parametrize("name", list_names())
def test_patterns_accept_the_reference_and_reject_a_typical_error(name: str) -> None:
    for sentence in read_list(name):
        assert sentence.accepts(sentence.reference), sentence
        assert not sentence.accepts(sentence.wrong), sentence


@pytest.mark.parametrize("name", list_names())
def test_each_kind_is_split_in_two_halves(name: str) -> None:
    kinds: dict[str, Counter[int]] = {}
    for sentence in read_list(name):
        kinds.setdefault(sentence.kind, Counter())[sentence.part] += 1
    for kind, parts in kinds.items():
        assert set(parts) == {CHOOSING, FINAL}, kind
        assert abs(parts[CHOOSING] - parts[FINAL]) <= 1, kind


def test_the_opposite_of_a_sentence_is_a_failure() -> None:
    sentences = [s for s in read_list("en-de") if s.kind == "negation"][:2]
    text = report(sentences, [sentences[0].reference, sentences[1].wrong])
    assert "1 of   2" in text
    assert sentences[1].wrong in text
    assert sentences[0].source not in text


def test_a_missing_checkpoint_is_one_sentence(tmp_path, capsys) -> None:
    assert main(["--checkpoint", str(tmp_path / "nothing")]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
