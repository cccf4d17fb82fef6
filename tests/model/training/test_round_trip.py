"""English sentences of other corpora, translated there and back."""

from __future__ import annotations

import pytest

from model.checkpoints.checkpoint import load_checkpoint
from model.training.corpus import Pair, key, read_pairs
from model.training.round_trip import agreeing, main, new_sentences
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tiny_checkpoint(tmp_path_factory.mktemp("model") / "tiny")


def test_known_short_and_repeated_sentences_are_left_out() -> None:
    pairs = [
        Pair("It is a dog.", "C'est un chien."),
        Pair("it is a dog", "C'est un chien."),
        Pair("Hello!", "Salut !"),
        Pair("It is a cat.", "C'est un chat."),
    ]
    assert new_sentences(pairs, {key("It is a cat!")}) == ["It is a dog."]


def test_a_pair_stays_only_where_the_way_back_comes_near(folder, monkeypatch) -> None:
    checkpoint = load_checkpoint(folder)
    there = ["Ein Hund.", "Eine Katze.", "", "A bird."]
    back = ["It is a dog.", "There you are, sir.", "Nothing here.", "A bird."]
    answers = iter([there, back])
    monkeypatch.setattr("model.training.round_trip.translate_all", lambda *_, **__: next(answers))
    sentences = ["It is a dog.", "It is a cat.", "Nothing here.", "A bird."]
    assert list(agreeing(sentences, checkpoint, checkpoint)) == [Pair("It is a dog.", "Ein Hund.")]


def test_the_command_writes_pairs_that_are_not_held_out(folder, tmp_path, capsys) -> None:
    data, held, output = (tmp_path / name for name in ("data.tsv", "held.tsv", "out.tsv"))
    data.write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS), encoding="utf-8")
    held.write_text(f"{PAIRS[0][0]}\t{PAIRS[0][1]}\n", encoding="utf-8")
    command = ["--forward", folder, "--backward", folder, "--data", data, "--output", output]
    command += ["--held-out", held, "--least-chrf", "0", "--limit", "5"]
    assert main([str(word) for word in command]) == 0
    pairs = read_pairs([output])
    assert pairs
    assert PAIRS[0][0] not in [pair.source for pair in pairs]
    missing = [str(word) for word in command if word != data]
    assert main([*missing[:4], "--data", str(tmp_path / "none.tsv"), *missing[5:]]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) >= 1
