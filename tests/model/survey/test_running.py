"""Surveys in parts: stopped and continued, by several processes, one of them killed."""

from __future__ import annotations

import logging
import os
import random
import shutil
import signal
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from headscope.commands import survey as command
from headscope.commands.asked import Asked
from model.checkpoints.checkpoint import LABELS, snapshot_file
from model.checkpoints.folder_files import WEIGHTS
from model.checkpoints.weights_digest import weights_digest
from model.explain.head_rules import RuleFinding
from model.explain.labels import Sample, labels_by_rules
from model.explain.rules_file import read_head_rules
from model.record.head_edits import Gate, RuleWeights
from model.rules.phrases import Terms
from model.rules.weight_rules import Lexicon
from model.survey import engine, running
from model.survey.engine import Engine, Task
from model.survey.part import SurveyError
from model.survey.rule_costs import Edits, answers
from model.survey.running import asking, counts, rules_in_words
from model.survey.survey_file import SURVEY
from model.trace.attention_map import AttentionKind, Site
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.translator import load
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
TEXTS = [source for source, _ in PAIRS]


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "SENTENCES", 2)


def test_a_survey_goes_on_where_it_was_stopped(
    checkpoint_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = counts(checkpoint_folder, TEXTS, tmp_path / "whole")
    done: list[int] = []
    work = Task.__call__

    def stopped(task: Task) -> bytes:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(task.first)
        return work(task)

    monkeypatch.setattr(Task, "__call__", stopped)
    with pytest.raises(KeyboardInterrupt):
        counts(checkpoint_folder, TEXTS, tmp_path / "halves")
    done.clear()
    monkeypatch.setattr(Task, "__call__", lambda task: (done.append(task.first), work(task))[1])
    continued = counts(checkpoint_folder, TEXTS, tmp_path / "halves")
    assert done == [4, 6, 8]
    assert continued.to_bytes() == whole.to_bytes()


def test_a_folder_is_of_one_model_and_its_sentences(
    checkpoint_folder: Path, tmp_path: Path
) -> None:
    counts(checkpoint_folder, TEXTS[:2], tmp_path / "survey")
    other = write_tiny_checkpoint(tmp_path / "other", steps=0)
    for checkpoint, texts in ((checkpoint_folder, TEXTS[:3]), (other, TEXTS[:2])):
        with pytest.raises(SurveyError, match="another model or other sentences"):
            counts(checkpoint, texts, tmp_path / "survey")


def test_a_folder_is_of_one_last_snapshot(checkpoint_folder: Path, tmp_path: Path) -> None:
    learning = tmp_path / "learning"
    shutil.copytree(checkpoint_folder, learning)
    snapshot = snapshot_file(learning, 9)
    snapshot.parent.mkdir()
    (learning / WEIGHTS).rename(snapshot)
    counts(learning, TEXTS[:2], tmp_path / "survey")
    other = write_tiny_checkpoint(tmp_path / "other", steps=0)
    (other / WEIGHTS).replace(snapshot)
    with pytest.raises(SurveyError, match="another model or other sentences"):
        counts(learning, TEXTS[:2], tmp_path / "survey")


def test_sentences_that_cannot_be_read_make_no_survey(
    checkpoint_folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(SurveyError, match="none of these sentences"):
        counts(checkpoint_folder, ["", " "], tmp_path / "survey")


def test_without_dask_there_is_one_process(
    checkpoint_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dask.distributed", None)
    with pytest.raises(SurveyError, match="pip install distributed"):
        counts(checkpoint_folder, TEXTS, tmp_path, Engine(workers=2))


def test_answers_about_rules_are_asked_for_once(checkpoint_folder: Path, tmp_path: Path) -> None:
    place = Site(AttentionKind.ENCODER, 0), 1
    ask = asking(checkpoint_folder, tmp_path, Engine())
    translator = load(checkpoint_folder, device="cpu")
    for writes in (False, True):
        edits: list[Edits] = [{}, {place: Gate(0)}, {place: RuleWeights(("previous",))}]
        found = ask("", TEXTS[:3], edits, writes)
        assert found == answers(translator, TEXTS[:3], edits, writes)
    files = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert len(files) == 2
    assert ask("", TEXTS[:3], edits, True) == found
    assert {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == files


Fitted = tuple[int, AttentionKind, tuple[str, str], bool]

FIRST = Terms(("first",), (2.0,))
RULE = RuleFinding(FIRST, 0.8, 0.7, 0.9, 0.8, 0.7, FIRST, 0.7, 0.1, 0.9)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Fitted]:
    """What fits rules is asked for; each kind's first head gets RULE."""
    asked: list[Fitted] = []

    def fitted(
        traces: Sequence[Trace],
        kind: AttentionKind,
        languages: tuple[str, str],
        lexicon: Lexicon | None,
    ) -> dict[Head, RuleFinding]:
        asked.append((len(traces), kind, languages, lexicon is not None))
        return {Head(Site(kind, 0), 0): RULE}

    monkeypatch.setattr(engine, "head_sentences", fitted)
    monkeypatch.setattr(running, "FITTED", 1)
    monkeypatch.setattr(running, "CHOSEN", 1)
    return asked


def test_rules_in_words_are_fitted_once(
    checkpoint_folder: Path, tmp_path: Path, asked: list[Fitted]
) -> None:
    made_up, lexicon = Sample("made up", "none", 3), Lexicon({"▁Hund": {"▁dog": 1.0}})
    asking_for = checkpoint_folder, TEXTS[:3], ("en", "de"), made_up, lexicon, tmp_path, Engine()
    found = rules_in_words(*asking_for)
    assert {replace(rule, cost=None) for rule in found.heads.values()} == {RULE}
    edits = [{}, *({head: edit} for head, edit in found.edits(found.heads, lexicon).items())]
    ((own, *ruled),) = answers(load(checkpoint_folder), TEXTS[2:3], edits, False)
    costs = [rule.cost for rule in found.heads.values()]
    assert costs == pytest.approx([own - each for each in ruled], abs=1e-4)
    assert any(costs)
    assert found.weights == weights_digest(checkpoint_folder)
    assert asked == [
        (3, AttentionKind.ENCODER, ("en", "en"), False),
        (3, AttentionKind.DECODER, ("de", "de"), False),
        (3, AttentionKind.CROSS, ("de", "en"), True),
    ]
    assert rules_in_words(*asking_for) == found
    assert len(asked) == 3


def test_rules_in_words_are_written_without_a_survey(
    checkpoint_folder: Path,
    tmp_path: Path,
    asked: list[Fitted],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model, data = tmp_path / "model", tmp_path / "data.tsv"
    shutil.copytree(checkpoint_folder, model)
    data.write_text("".join(f"{text}\t-\n" for text in TEXTS[:4]), encoding="utf-8")
    arguments = [str(model), "--data", str(data), "--only-words"]
    arguments += ["--output", str(tmp_path / "new" / "run")]
    run_command(arguments)
    assert "they need 600 sentences" in capsys.readouterr().out
    assert not asked
    monkeypatch.setattr(command, "USED", 3)
    run_command(arguments)
    assert [(count, has_lexicon) for count, _, _, has_lexicon in asked] == [(3, False)] * 3
    rules = read_head_rules(model)
    assert rules is not None
    assert {replace(rule, cost=None) for rule in rules.heads.values()} == {RULE}
    assert rules.has_costs
    assert (rules.data, rules.licence) == ("data.tsv", "not stated")
    assert not (model / SURVEY).exists()


def test_an_encoder_alone_gets_the_sentences_that_its_heads_are_known_by(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, data = tmp_path / "model", tmp_path / "data.tsv"
    shutil.copytree(CHECKPOINTS / "toy-reverse-encoder", model)
    (model / LABELS).unlink()
    letters = random.Random(0)
    texts = [" ".join(letters.choices("abcdefghijkl", k=letters.randint(3, 8))) for _ in range(60)]
    data.write_text("".join(f"{text}\t-\n" for text in texts), encoding="utf-8")
    asked = [str(model), "--data", str(data)]
    with pytest.raises(SurveyError, match="add --only-words"):
        run_command(asked)
    run_command([*asked, "--only-words"])
    assert "rules.json: 8 heads" in capsys.readouterr().out
    rules = read_head_rules(model)
    assert rules is not None
    assert (rules.fitted, rules.chosen, rules.judged) == (20, 10, 30)
    site = Site(AttentionKind.ENCODER, 1)
    (label,) = (labels[3] for each, labels in labels_by_rules(rules).items() if each == site)
    assert label is not None
    assert label.text == rules.heads[Head(site, 3)].text
    assert label.text.startswith("looks at the position mirrored in its text")
    assert not label.earned


def run_command(arguments: list[str]) -> None:
    parser = ArgumentParser()
    command.fill(parser)
    command.run(Asked(parser.parse_args(arguments), {}))


class FatalOnce(Task):
    """A task that kills its process the first time it runs.

    It logs what Dask does in a worker that is closed while its heartbeat is under way.
    """

    def __call__(self) -> bytes:
        from distributed.comm import CommClosedError

        try:
            raise CommClosedError("Stream is closed")
        except OSError:
            logging.getLogger("distributed.worker").exception("Failed … during heartbeat.")
        mark = Path(self.checkpoint).parent / "killed"
        if self.first == 4 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__()


@pytest.mark.slow
def test_the_part_of_a_killed_process_is_counted_by_another(
    checkpoint_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("distributed")
    alone = counts(checkpoint_folder, TEXTS, tmp_path / "alone")
    copy = write_tiny_checkpoint(tmp_path / "model")
    monkeypatch.setattr(running, "Task", FatalOnce)
    together = counts(copy, TEXTS, tmp_path / "together", Engine(workers=2))
    assert (tmp_path / "killed").exists()
    assert together.to_bytes() == alone.to_bytes()
    assert "Traceback" not in capfd.readouterr().err
