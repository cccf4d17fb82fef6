"""English sentences of other corpora, with translations that two models choose."""

import pytest

from model.checkpoints.checkpoint import load_checkpoint
from model.survey.parallel_text import Pair, key, read_pairs
from model.training.noisy_channel import (
    Candidate,
    agreed,
    main,
    mean_log_probs,
    new_sentences,
)
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


def test_both_ways_choose_a_translation_and_doubtful_pairs_are_left_out(
    folder, monkeypatch
) -> None:
    checkpoint = load_checkpoint(folder)
    choices = [
        [Candidate("Ein Hund.", -0.2, -0.9), Candidate("Es ist ein Hund.", -0.3, -0.1)],
        [Candidate("Eine Maus.", -0.9, -2.0)],
        [Candidate("A bird.", -0.1, -0.1)],
        [],
    ]
    monkeypatch.setattr("model.training.noisy_channel.candidates", lambda *_, **__: choices)
    sentences = ["It is a dog.", "It is a cat.", "A bird.", "Nothing here."]
    assert list(agreed(sentences, checkpoint, checkpoint)) == [
        Pair("It is a dog.", "Es ist ein Hund.")
    ]


def test_a_sentence_scores_the_same_alone_as_beside_a_longer_one(folder) -> None:
    checkpoint = load_checkpoint(folder)
    short, long = ((PAIRS[0][1], PAIRS[0][0]), (PAIRS[1][1] * 3, PAIRS[1][0] * 3))
    together = mean_log_probs([short, long], checkpoint)
    alone = [mean_log_probs([pair], checkpoint)[0] for pair in (short, long)]
    assert together == pytest.approx(alone, abs=1e-4)
    assert max(together) < 0
    assert mean_log_probs([], checkpoint) == []


def test_the_command_writes_pairs_that_are_not_held_out(folder, tmp_path, capsys) -> None:
    data, held, output = (tmp_path / name for name in ("data.tsv", "held.tsv", "out.tsv"))
    data.write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS), encoding="utf-8")
    held.write_text(f"{PAIRS[0][0]}\t{PAIRS[0][1]}\n", encoding="utf-8")
    command = ["--forward", folder, "--backward", folder, "--data", data, "--output", output]
    command += ["--held-out", held, "--least", "-1000", "--limit", "5"]
    assert main([str(word) for word in command]) == 0
    pairs = read_pairs([output])
    assert pairs
    assert PAIRS[0][0] not in [pair.source for pair in pairs]
    missing = [str(word) for word in command if word != data]
    assert main([*missing[:4], "--data", str(tmp_path / "none.tsv"), *missing[5:]]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) >= 1
