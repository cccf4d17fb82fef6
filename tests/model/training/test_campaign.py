"""A campaign's bookkeeping: what is done, what was cut, what failed, and what waits for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model.training.campaign import MAX_FAILURES, STATE, Step, main, plan, work
from model.training.settings import load_settings

APPEND = "import pathlib, sys; pathlib.Path(sys.argv[1]).open('a').write('x')"


def append(name: str, file: Path, *needs: str) -> Step:
    return Step(name, ("-c", APPEND, str(file)), needs)


def test_a_done_step_is_not_done_again_and_another_call_knows_it(tmp_path):
    marks = [tmp_path / "one", tmp_path / "two"]
    steps = [append("one", marks[0]), append("two", marks[1], "one")]
    for _ in range(2):
        assert all(each.done for each in work(steps, tmp_path, seconds=60).values())
    assert [mark.read_text() for mark in marks] == ["x", "x"]
    assert set(json.loads((tmp_path / STATE).read_text())) == {"one", "two"}


def test_what_time_cuts_is_no_failure_and_goes_on_in_the_next_call(tmp_path):
    mark = tmp_path / "began"
    code = (
        "import pathlib, sys, time; mark = pathlib.Path(sys.argv[1]); again = mark.exists(); "
        "mark.touch(); print('working', flush=True); time.sleep(0 if again else 3600)"
    )
    steps = [Step("long", ("-c", code, str(mark))), append("after", tmp_path / "after", "long")]
    seconds = 1.0
    while not mark.exists():
        # Even a slow machine starts it at last.
        cut = work(steps, tmp_path, seconds=seconds)
        seconds *= 2
    assert not cut["long"].done
    assert cut["long"].failures == 0
    assert not (tmp_path / "after").exists()
    ended = work(steps, tmp_path, seconds=3600)
    assert all(each.done for each in ended.values())
    assert ended["long"].seconds > cut["long"].seconds
    assert (tmp_path / "long.log").read_text().splitlines()[-1] == "working"


def test_what_keeps_failing_is_left_alone_and_so_is_what_needs_it_but_nothing_else(tmp_path):
    broken = Step("broken", ("-c", "raise SystemExit('out of memory')"))
    steps = [broken, append("needs", tmp_path / "needs", "broken"), append("other", tmp_path / "o")]
    for _ in range(MAX_FAILURES + 1):
        outcomes = work(steps, tmp_path, seconds=60)
    assert outcomes["broken"].failures == MAX_FAILURES
    assert outcomes["other"].done
    assert not (tmp_path / "needs").exists()
    log = (tmp_path / "broken.log").read_text()
    assert log.count("out of memory") == MAX_FAILURES


def test_a_call_without_time_starts_nothing(tmp_path):
    assert not work([append("one", tmp_path / "one")], tmp_path, seconds=0)["one"].done
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize("toy", [False, True])
def test_every_step_is_known_by_one_name_needs_earlier_ones_and_has_legal_settings(toy):
    steps = plan(Path("data"), Path("out"), device="cuda", toy=toy)
    names = [step.name for step in steps]
    assert len(set(names)) == len(names)
    for place, step in enumerate(steps):
        assert set(step.needs) <= set(names[:place])
        if "model.training.train" in step.command:
            config = step.command[step.command.index("--config") + 1]
            given = (
                step.command[step.command.index("--set") + 1 :] if "--set" in step.command else ()
            )
            load_settings(config, list(given))


def test_the_exit_status_says_whether_there_is_more_to_do(tmp_path, monkeypatch, capsys):
    steps = [append("one", tmp_path / "one")]
    monkeypatch.setattr("model.training.campaign.plan", lambda *_, **__: steps)
    command = ["--data", "data", "--output", str(tmp_path / "out"), "--minutes"]
    assert main([*command, "0"]) == 2
    assert main([*command, "9"]) == 0
    steps.append(Step("broken", ("-c", "raise SystemExit(1)")))
    steps.append(append("blocked", tmp_path / "blocked", "broken"))
    assert [main([*command, "9"]) for _ in range(MAX_FAILURES)] == [2, 1]
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main([*command, "9", "--only", "nothing"])
    assert "there is no step 'nothing'" in capsys.readouterr().err
