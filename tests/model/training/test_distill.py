"""A teacher's translations as training data."""

import pytest
import sacrebleu

from model.console import INTERRUPTED
from model.paper.decoding import Hypothesis
from model.survey.parallel_text import Pair, read_pairs
from model.training.distill import Search, _fault, distilled, main
from model.translate.translator import load
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint

CAT = ("The cat sat on the mat.", "Die Katze saß auf der Matte.")
KNOWN = [Pair(*pair) for pair in PAIRS]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    return write_tiny_checkpoint(tmp_path_factory.mktemp("teacher") / "tiny")


@pytest.fixture
def corpus(tmp_path):
    file = tmp_path / "train.tsv"
    lines = [f"{source}\t{target}\n" for source, target in KNOWN]
    file.write_text("".join(lines), encoding="utf-8")
    return file


def command(teacher, corpus, output, *more):
    files = ("--teacher", teacher, "--data", corpus, "--output", output, "--device", "cpu")
    return [str(argument) for argument in (*files, *more)]


def test_every_source_comes_with_what_the_teacher_makes_of_it(teacher, corpus, tmp_path, capsys):
    output = tmp_path / "distilled.tsv"
    assert main(command(teacher, corpus, output)) == 0
    translator = load(teacher, device="cpu")
    found = read_pairs([output])
    assert sorted(pair.source for pair in found) == sorted(pair.source for pair in KNOWN)
    assert all(pair.target == translator.translate(pair.source).text for pair in found)
    assert f"{len(PAIRS)} of {len(PAIRS)} pairs kept" in capsys.readouterr().out


def test_parts_share_the_work_without_overlap(teacher, corpus, tmp_path):
    for part in (1, 2, 3):
        output = tmp_path / f"{part}.tsv"
        assert main(command(teacher, corpus, output, "--part", f"{part}/3")) == 0
    sources = [pair.source for part in (1, 2, 3) for pair in read_pairs([tmp_path / f"{part}.tsv"])]
    assert sorted(sources) == sorted(pair.source for pair in KNOWN)


def test_a_killed_run_goes_on_and_ends_with_the_same_file(teacher, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("model.training.distill.CHUNK", 3)
    whole, killed = tmp_path / "whole.tsv", tmp_path / "killed.tsv"
    assert main(command(teacher, corpus, whole)) == 0
    calls = []

    def dies(*arguments, **named):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        yield from distilled(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr("model.training.distill.distilled", dies)
        assert main(command(teacher, corpus, killed)) == INTERRUPTED
    with killed.open("a", encoding="utf-8") as file:
        file.write("half a li")
    assert main(command(teacher, corpus, killed)) == 0
    assert killed.read_bytes() == whole.read_bytes()


def test_another_command_does_not_go_on_where_one_left(teacher, corpus, tmp_path, capsys):
    output = tmp_path / "distilled.tsv"
    assert main(command(teacher, corpus, output)) == 0
    assert main(command(teacher, corpus, output, "--beam", "2")) == 1
    assert "begun by another command" in capsys.readouterr().err
    other = tmp_path / "mine.tsv"
    other.write_text("precious", encoding="utf-8")
    assert main(command(teacher, corpus, other)) == 1
    assert "exists already" in capsys.readouterr().err
    assert other.read_text(encoding="utf-8") == "precious"


def test_the_nearest_of_the_beam_is_at_least_as_near_to_the_reference(teacher):
    translator = load(teacher, device="cpu")
    # References that the best hypothesis is not: the beam may hold something nearer.
    pairs = [Pair(source, PAIRS[place - 1][1]) for place, (source, _) in enumerate(PAIRS)]
    likely, near = (
        {
            pair.source: pair.target
            for pair, _ in distilled(
                translator.model, translator.tokenizer, pairs, Search(nearest=nearest)
            )
        }
        for nearest in (False, True)
    )

    def score(found, pair):
        return sacrebleu.sentence_chrf(found[pair.source], [pair.target]).score

    assert all(score(near, pair) >= score(likely, pair) for pair in pairs)
    assert near != likely


@pytest.mark.parametrize(
    ("text", "finished", "fault"),
    [
        ("Die Katze saß auf der Matte.", True, ""),
        ("Die Katze saß auf der Matte.", False, "cut at the length limit"),
        ("  ", True, "empty"),
        ("The cat sat on the mat.", True, "copied"),
        ("Die Katze saß auf der Matte. " * 4, True, "of another length"),
        ("Hunde bellen laut nachts.", True, "far from the reference"),
        ("Die Katze\tsaß auf der Matte.", True, "more than one line"),
    ],
)
def test_translations_that_nobody_should_learn_are_left_out(text, finished, fault):
    hypothesis = Hypothesis((5, 2), (-0.1, -0.1), -0.2, finished)
    assert _fault(hypothesis, text, Pair(*CAT), 20.0) == fault


def test_a_part_that_is_none_is_refused(teacher, corpus, tmp_path, capsys):
    for part in ("0/2", "3/2", "1", "a/b"):
        with pytest.raises(SystemExit):
            main(command(teacher, corpus, tmp_path / "o.tsv", "--part", part))
        assert "no part such as 1/2" in capsys.readouterr().err
