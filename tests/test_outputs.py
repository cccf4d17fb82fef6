"""What commands write: never over what they read, nor over another kind of file."""

import argparse
import importlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from headscope.__main__ import COMMANDS, main
from headscope.commands.outputs import require_outputs
from headscope.in_app import open as open_in_app
from model.checkpoints.shipped import CheckpointError
from model.training.average import main as average
from tests.kit.traces import DECODER
from viz.talk.scenes import Scene, Talk, write

ROOT = Path(__file__).resolve().parents[1]

SENTENCE = "The cat sat on the mat."

WRITERS = {
    "open": ["open", "t.npz", "--out", "OUT"],
    "translate": ["translate", "--checkpoint", "model", "--input", "t.txt", "--out", "OUT"],
    "translate --json": [
        *("translate", "--checkpoint", "model", "--input", "t.txt", "--json", "--out", "OUT")
    ],
    "translate --save-trace": [
        *("translate", SENTENCE, "--checkpoint", "model", "--save-trace", "OUT")
    ],
    "export": ["export", SENTENCE, "--checkpoint", "model", "--out", "OUT"],
    "export --other-model": [
        *("export", SENTENCE, "--figure", "pair", "--other-model", "./model@0", "--out", "OUT")
    ],
    "export-hf": ["export-hf", "./model", "OUT"],
    "import-hf": ["import-hf", "./model", "--out", "OUT"],
    "pack": ["pack", "talk.json", "--model", "./model", "--out", "OUT"],
    "site": ["site", "--model", "./model", "--out", "OUT"],
    "survey": ["survey", "./model", "--data", "t.tsv", "--output", "OUT"],
    "effects": ["effects", "--checkpoint", "model", "--input", "t.txt", "--out", "OUT"],
    "effects --keep": ["effects", "--checkpoint", "model", "--input", "t.txt", "--keep", "OUT"],
    "compare": ["compare", "./model", "./model", "--input", "t.txt", "--out", "OUT"],
    "compare --keep": ["compare", "./model", "./model", "--input", "t.txt", "--keep", "OUT"],
}
"""Every command that writes what it is told to, with its inputs; OUT is what it writes."""

READ = {
    "open": ["t.npz"],
    "translate": ["t.txt", "model/config.json"],
    "translate --json": ["t.txt", "model/config.json"],
    "translate --save-trace": ["model/config.json", "model/model.safetensors"],
    "export": ["model/config.json", "model/model.safetensors"],
    "export --other-model": ["model/config.json"],
    "export-hf": ["model"],
    "import-hf": ["model"],
    "pack": ["talk.json", "model/config.json"],
    "site": ["model"],
    "survey": ["model", "t.tsv"],
    "effects": ["t.txt", "model/config.json"],
    "effects --keep": ["t.txt", "model/config.json"],
    "compare": ["t.txt", "model/config.json"],
    "compare --keep": ["t.txt", "model/config.json"],
}
"""What each of them reads."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoints: Path) -> Path:
    """The current folder, with an input of every kind."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.npz").write_bytes(DECODER)
    (tmp_path / "t.txt").write_text(f"{SENTENCE}\n", encoding="utf-8")
    (tmp_path / "t.tsv").write_text(f"{SENTENCE}\tDie Katze.\n", encoding="utf-8")
    talk = Talk("A talk", (Scene("One", "", "heads", {}),))
    (tmp_path / "talk.json").write_text(write(talk), encoding="utf-8")
    (tmp_path / "model").mkdir()
    for file in (checkpoints / "en-de").iterdir():
        os.link(file, tmp_path / "model" / file.name)
    return tmp_path


def everything_in(place: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in place.rglob("*") if file.is_file()}


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The sentence with which a command refuses its arguments."""
    try:
        status = main(arguments)
    except SystemExit as left:
        status = int(left.code or 0)
    assert status, arguments
    sentence = capsys.readouterr().err
    assert sentence.strip().endswith((".", ".txt", "another folder"))
    assert "None" not in sentence
    return sentence


def test_every_command_with_an_output_is_tried_here() -> None:
    for name, (module, _) in COMMANDS.items():
        parser = argparse.ArgumentParser()
        importlib.import_module(f"headscope.commands.{module}").fill(parser)
        for output in parser.get_default("outputs") or {}:
            option = f"--{output.replace('_', '-')}"
            tried = [line for line in WRITERS.values() if line[0] == name and line[-1] == "OUT"]
            assert any(option in line or output == "folder" for line in tried), (name, output)


@pytest.mark.parametrize("writer", WRITERS)
def test_no_command_writes_over_what_it_reads(
    place: Path, writer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    suffix = {"open": ".html", "pack": ".html", "export": ".json"}.get(WRITERS[writer][0], "")
    for number, read in enumerate(READ[writer]):
        names = [read, f"./{read}", str(place / read)]
        link = place / f"link-{number}{suffix}"
        link.symlink_to(place / read)
        names.append(link.name)
        # The name of a file in the model's folder leads to the file alone.
        if (place / read).is_file() and "/" not in read:
            os.link(place / read, place / f"hard-{number}{suffix}")
            names.append(f"hard-{number}{suffix}")
        before = everything_in(place)
        for name in names:
            line = [name if each == "OUT" else each for each in WRITERS[writer]]
            assert re.search("would replace|end it in", refused(line, capsys))
            assert everything_in(place) == before, name


@pytest.mark.parametrize(
    ("writer", "out"),
    [
        ("open", "x.pdf"),
        ("open", "T.NPZ"),
        ("open", "x"),
        ("pack", "p.npz"),
        ("pack", "Talk.JSON"),
        ("translate", "Model.NPZ"),
        ("translate", "x.json"),
        ("translate", "x.html"),
        ("translate", "weights.safetensors"),
        ("translate --save-trace", "t.pdf"),
        ("translate --save-trace", "t"),
        ("export", "x.docx"),
        ("export", "model/model.safetensors"),
    ],
)
def test_another_kind_of_file_is_refused_by_its_name(
    place: Path, writer: str, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = refused([out if each == "OUT" else each for each in WRITERS[writer]], capsys)
    assert "end" in sentence
    # A link to such a file is such a file.
    other = place / "other.safetensors"
    other.write_bytes(b"weights")
    suffix = {"translate --save-trace": ".npz", "export": ".csv"}.get(writer, ".html")
    link = place / f"link{suffix}"
    link.symlink_to(other)
    refused([str(link) if each == "OUT" else each for each in WRITERS[writer]], capsys)
    assert other.read_bytes() == b"weights"


def test_a_name_of_its_own_kind_is_written(place: Path) -> None:
    for writer, out in (("open", "x.html"), ("translate", "x.de"), ("translate --json", "x.json")):
        line = [out if each == "OUT" else each for each in WRITERS[writer]]
        # Once more over its own kind.
        assert main(line) == main(line) == 0
        assert (place / out).stat().st_size


@pytest.mark.slow
def test_what_standard_input_is_redirected_from_is_read_too(place: Path) -> None:
    line = [sys.executable, "-m", "headscope", "translate", "--checkpoint", "model"]
    with (place / "t.txt").open() as redirected:
        done = subprocess.run(
            [*line, "--out", "t.txt"],
            stdin=redirected,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert done.returncode == 1
    assert "would replace what this command reads" in done.stderr
    assert (place / "t.txt").read_text(encoding="utf-8") == f"{SENTENCE}\n"


def test_what_a_terminal_reads_and_writes_is_no_file() -> None:
    device = Path("/dev/null")
    arguments = argparse.Namespace(outputs={"out": ("html",)}, out=device, place=device)
    require_outputs(arguments)


def test_a_training_command_keeps_the_checkpoint_that_it_reads(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = everything_in(place)
    with pytest.raises(SystemExit):
        average(["--checkpoint", "model", "--weights", "model/x", "--output", "./model"])
    assert "which is read" in capsys.readouterr().err
    assert everything_in(place) == before


@pytest.fixture
def pipe(tmp_path: Path) -> Callable[[bytes], Path]:
    """A pipe with some content, as `<(cat FILE)` names it."""

    def filled(content: bytes) -> Path:
        path = tmp_path / f"pipe-{len(list(tmp_path.iterdir()))}"
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=[content], daemon=True).start()
        return path

    return filled


def test_a_pipe_is_read_like_a_file(
    place: Path, pipe: Callable[[bytes], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["open", "t.npz", "--out", "file.html"]) == 0
    assert main(["open", str(pipe(DECODER)), "--out", "pipe.html"]) == 0
    assert (place / "pipe.html").read_bytes() == (place / "file.html").read_bytes()
    talk = (place / "talk.json").read_bytes()
    line = ["pack", str(pipe(talk)), "--model", "./model", "--sentence", SENTENCE]
    assert main([*line, "--out", "talk.html"]) == 0
    for content in (b"", b"Ein Mann.", DECODER[:900]):
        line = ["open", str(pipe(content)), "--out", "x.html"]
        assert "is no saved trace" in refused(line, capsys)


def test_a_device_without_an_end_is_refused_in_a_sentence(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for device in ("/dev/zero", "/dev/null"):
        assert "no saved trace" in refused(["open", device, "--out", "x.html"], capsys)
        assert refused(["pack", device, "--model", "./model", "--out", "x.html"], capsys)
    assert "cannot be read" in refused(["pack", "none.json", "--out", "x.html"], capsys)
    assert "cannot be read: " in refused(["open", "none.npz", "--out", "x.html"], capsys)


def test_a_pipe_is_opened_in_the_app_from_a_copy(
    pipe: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[dict[str, str]] = []

    class Started(Exception):
        pass

    def start(environment: dict[str, str]) -> None:
        started.append(environment)
        raise Started

    monkeypatch.setattr("headscope.in_app.Server", start)
    with pytest.raises(Started):
        open_in_app(pipe(DECODER), browser=False)
    (environment,) = started
    assert environment["HEADSCOPE_TRACES"].endswith("trace.npz")
    with pytest.raises(CheckpointError):
        open_in_app(pipe(b"").parent, browser=False)
