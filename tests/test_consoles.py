"""Every command on a console that lacks letters: it writes what the console can take."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from headscope.__main__ import COMMANDS, main
from headscope.commands import open as opening
from model.checkpoints.folder_files import WEIGHTS
from model.console import INTERRUPTED
from model.training.command import command
from model.translate.translator import load
from tests.kit.surveys import write_tiny_survey
from tests.kit.tiny_checkpoint import PAIRS
from viz.desktop import desktop

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
NAME = "Maß → 猫"
"""In the names of files and folders, and in what is printed: neither console has all of it."""


Run = Callable[..., tuple[int, str]]


@pytest.fixture(params=["ascii", "cp1252"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a command on a console; gives its status and what is shown there."""

    def run_command(*arguments: str) -> tuple[int, str]:
        console = io.BytesIO()
        stream = io.TextIOWrapper(console, encoding=request.param, errors="strict", newline="\n")
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            try:
                status = main(arguments)
            except SystemExit as left:
                status = int(left.code or 0)
        stream.flush()
        return status, console.getvalue().decode(request.param)

    return run_command


def does_its_work(command: str, model: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Arguments under which a command does its work on a model; what they need is written."""
    sentence, out, trace = PAIRS[-1][0], model / "out", model / "trace.npz"
    out.mkdir()
    data = out / "data.tsv"
    data.write_text("".join("\t".join(pair) + "\n" for pair in PAIRS), encoding="utf-8")
    texts = out / "texts.txt"
    texts.write_text(f"{sentence}\n", encoding="utf-8")
    if command == "open":
        load(model, device="cpu").trace(sentence).save(trace)
    if command == "find":
        write_tiny_survey(model, load(model, device="cpu"))
    if command == "import-hf":
        assert main(["export-hf", str(model), str(out / "hf")]) == 0
    if command == "unpickle":
        torch.save(load_file(model / WEIGHTS), model / "pytorch_model.bin")
        (model / WEIGHTS).unlink()
    # The two that serve until Ctrl+C say where, and end.
    monkeypatch.setattr(desktop, "run", lambda **_: print(NAME))
    monkeypatch.setattr(opening, "open_in_app", lambda *_, **__: contextlib.nullcontext(_OPENED))
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    return {
        "open": [str(trace)],
        "desktop": [],
        "translate": [sentence, "--checkpoint", str(model)],
        "export": [sentence, "--checkpoint", str(model), "--out", str(out / "a.csv")],
        "export-hf": [str(model), str(out / "hf")],
        "import-hf": [str(out / "hf"), "--out", str(out / "imported")],
        "pack": ["--model", "toy-reverse", "--out", str(out / "a.html")],
        "site": ["--model", "toy-reverse", "--out", str(out / "site")],
        "find": ["--model", str(model), "--head", "encoder.0.0", "--looks", "previous"],
        "survey": [str(model), "--data", str(data), "--rules", "0", "--output", str(out / "s")],
        "unpickle": [str(model), "--trust-author"],
        "effects": ["--checkpoint", str(model), "--input", str(texts)],
        "compare": [str(model), str(model), "--input", str(texts)],
    }[command]


_OPENED = SimpleNamespace(url=f"http://localhost/{NAME}", wait=lambda: None)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_does_its_work_on_a_console_without_the_letters(
    command: str, run: Run, checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Path(shutil.copytree(checkpoints / "en-de", tmp_path / NAME))
    status, shown = run(command, *does_its_work(command, model, monkeypatch))
    assert status == 0, shown
    if command in {"open", "desktop", "translate", "survey", "unpickle"}:
        assert "\\u732b" in shown or "\\xdf" in shown or "ß" in shown


@pytest.mark.parametrize("command", [*COMMANDS, None])
def test_help_and_wrong_usage_show_on_every_console(command: str | None, run: Run) -> None:
    named = [command] if command else []
    status, shown = run(*named, "--help")
    assert status == 0
    assert f"usage: headscope {command or ''}" in shown
    status, shown = run(*named, "--猫=1")
    assert status == 2
    assert shown.startswith("usage: headscope")


def test_json_stays_json_and_a_file_is_utf_8(run: Run, checkpoints: Path, tmp_path: Path) -> None:
    sentence, translation = PAIRS[-1]
    given = ["translate", sentence, "--checkpoint", str(checkpoints / "en-de"), "--json"]
    status, shown = run(*given)
    assert (status, json.loads(shown)["translation"]) == (0, translation)
    file = tmp_path / NAME
    assert run(*given, "--out", str(file)) == (0, "")
    assert f'"{translation}"' in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "console", [{"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "cp1252"}, {"LC_ALL": "C"}]
)
def test_a_process_of_its_own_ends_well_too(console: dict[str, str], checkpoints: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "headscope", "translate", PAIRS[-1][0]),
            *("--checkpoint", str(checkpoints / "en-de")),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", **console},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    said = done.stdout.rstrip()
    assert said in {PAIRS[-1][1].encode("cp1252"), PAIRS[-1][1].encode("ascii", "backslashreplace")}


def test_training_programs_do_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    console = io.BytesIO()
    stream = io.TextIOWrapper(console, encoding="ascii", errors="strict", newline="\n")

    def interrupted(_: list[str] | None) -> None:
        print(NAME)
        raise KeyboardInterrupt

    with contextlib.redirect_stdout(stream):
        assert command(interrupted)([]) == INTERRUPTED
    stream.flush()
    assert console.getvalue() == NAME.encode("ascii", "backslashreplace") + b"\n"


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 1, ""),
        (OSError(28, "No space left on device"), 1, "The output cannot be written: No space"),
    ],
)
def test_no_command_ends_in_a_traceback_where_its_output_does(
    error: BaseException, status: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(**_: object) -> None:
        raise error

    monkeypatch.setattr(desktop, "run", ended)
    shown, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(errors):
        assert main(["desktop"]) == status
    assert errors.getvalue().startswith(said)
    assert bool(errors.getvalue()) == bool(said)
