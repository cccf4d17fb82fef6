"""`headscope translate` as a filter: a line in, a line out, in order."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from headscope.__main__ import main
from model.paper.decoding import EXTRA_LENGTH
from model.paper.search import Search
from model.translate import lines, searching
from model.translate.lines import read_lines, translated_lines
from model.translate.searching import TOGETHER
from model.translate.translator import Translator
from tests.kit.signals import heed_interrupts
from tests.kit.tiny_checkpoint import PAIRS

ROOT = Path(__file__).parents[3]
SOURCES, TARGETS = zip(*PAIRS, strict=True)
LONG = "word " * 200

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    checkpoint_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Runs the filter on some text; gives (status, stdout, stderr)."""

    def run_command(given: str | bytes, *arguments: str) -> tuple[int, str, str]:
        data = given if isinstance(given, bytes) else given.encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        status = main(["translate", "--checkpoint", str(checkpoint_folder), *arguments])
        output = capsys.readouterr()
        return status, output.out, output.err

    return run_command


@pytest.mark.parametrize("dash", [[], ["-"]])
def test_a_line_in_is_a_line_out_in_order_and_empty_lines_stay(run: Run, dash: list[str]) -> None:
    given = f"{SOURCES[0]}\n\n{SOURCES[1]}\r\n \t\n{SOURCES[2]}"
    expected = f"{TARGETS[0]}\n\n{TARGETS[1]}\n\n{TARGETS[2]}\n"
    assert run(given, *dash) == (0, expected, "")


@pytest.mark.parametrize("rows_apart", [True, False])
@pytest.mark.parametrize("beam", ["1", "4"])
def test_many_lines_are_translated_in_batches_as_one_at_a_time(
    run: Run, translator: Translator, monkeypatch: pytest.MonkeyPatch, beam: str, rows_apart: bool
) -> None:
    monkeypatch.setattr(searching, "multiplies_rows_apart", lambda _: rows_apart)
    sizes: list[int] = []
    together = Translator._translate_together
    monkeypatch.setattr(
        Translator,
        "_translate_together",
        lambda own, texts, search: sizes.append(len(texts)) or together(own, texts, search),
    )
    # More than one batch, of lines that are not equally long.
    texts = [*SOURCES, *(f"{one} {other}" for one in SOURCES for other in SOURCES[:4])]
    assert len(texts) > TOGETHER
    _, out, error = run("".join(f"{text}\n" for text in texts), "--beam", beam)
    assert error == ""
    assert out.splitlines() == [
        translator.translate(text, search=Search(beam=int(beam))).text for text in texts
    ]
    assert sizes == [TOGETHER, len(texts) - TOGETHER]


def test_long_lines_share_smaller_batches(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MOST_CHARACTERS", 3 * len(SOURCES[0]))
    sizes: list[int] = []
    batch = translator.translate_batch
    monkeypatch.setattr(
        translator,
        "translate_batch",
        lambda texts, **named: sizes.append(len(texts)) or batch(texts, **named),
    )
    found = list(translated_lines(translator, [[SOURCES[0].encode()] * 7]))
    assert sizes == [3, 3, 1]
    assert [line.number for line in found] == list(range(1, 8))


def test_a_bad_line_is_named_by_its_number_and_ends_it_after_the_lines_before(run: Run) -> None:
    status, out, error = run(f"{SOURCES[0]}\n\n{LONG}\n{SOURCES[1]}\n")
    assert (status, out) == (1, f"{TARGETS[0]}\n\n")
    assert error.startswith("Line 3: The text is too long: ")
    assert error.endswith(" With --keep-going, an empty line is written for it.\n")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (LONG.encode(), "too long"),
        ("猫猫".encode(), "lacks all of these characters"),
        (b"The \xff cat.", "half a character"),
        (b"The \xed\xa0\x80 cat.", "half a character"),
    ],
)
def test_going_on_a_bad_line_leaves_an_empty_one(run: Run, bad: bytes, reason: str) -> None:
    given = SOURCES[0].encode() + b"\n" + bad + b"\n" + SOURCES[1].encode() + b"\n" + bad
    status, out, error = run(given, "--keep-going")
    assert (status, out) == (1, f"{TARGETS[0]}\n\n{TARGETS[1]}\n\n")
    first, second, count = error.splitlines()
    assert first.startswith("Line 2: ")
    assert reason in first
    assert second.startswith("Line 4: ")
    assert count == "2 lines were not translated."
    _, out, _ = run(given, "--keep-going", "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert [each["translation"] for each in found] == [TARGETS[0], "", TARGETS[1], ""]
    assert reason in found[1]["error"]


def test_a_beginning_too_long_for_some_lines_is_said_of_these(
    run: Run, translator: Translator
) -> None:
    short, long = "The cat eats.", " ".join(SOURCES[:4])
    prefix = "Die"
    while len(translator.prefix(prefix)) <= len(translator.translate(short).source) + EXTRA_LENGTH:
        prefix += " Katze"
    status, out, error = run(f"{short}\n{long}\n", "--keep-going", "--prefix", prefix)
    assert status == 1
    first, second = out.splitlines()
    assert first == ""
    assert second.startswith(prefix)
    assert [line.partition(": ")[0] for line in error.splitlines()[:-1]] == ["Line 1"]


def test_characters_never_seen_are_named_with_their_line(run: Run) -> None:
    status, out, error = run(f"{SOURCES[0]}\nThe cat 猫 eats.\n")
    assert (status, out.count("\n")) == (0, 2)
    assert error == "Line 2: The model’s vocabulary lacks these characters: 猫\n"


def test_json_is_a_line_each(run: Run, translator: Translator) -> None:
    status, out, _ = run(f"{SOURCES[0]}\n\n{SOURCES[1]}\n", "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [each["line"] for each in found] == [1, 2, 3]
    assert found[1] == {"line": 2, "source": "", "translation": ""}
    expected = translator.translate(SOURCES[1])
    assert (found[2]["translation"], found[2]["tokens"]) == (expected.text, list(expected.tokens))
    assert found[2]["score"] == pytest.approx(expected.score)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_file_becomes_a_file_in_utf_8(run: Run, tmp_path: Path, mark: str) -> None:
    file, out = tmp_path / "in.txt", tmp_path / "out.txt"
    file.write_text(f"{mark}{SOURCES[-1]}\n{SOURCES[0]}\n", encoding="utf-8")
    assert run("", "--input", str(file), "--out", str(out)) == (0, "", "")
    assert out.read_bytes() == f"{TARGETS[-1]}\n{TARGETS[0]}\n".encode()


def test_a_file_with_bad_lines_is_written_if_asked_to_go_on_and_else_stays(
    run: Run, tmp_path: Path
) -> None:
    out = tmp_path / "out.txt"
    out.write_bytes(b"old")
    assert run(f"{SOURCES[0]}\n{LONG}\n", "--out", str(out))[0] == 1
    assert out.read_bytes() == b"old"
    assert run(f"{SOURCES[0]}\n{LONG}\n", "--out", str(out), "--keep-going")[0] == 1
    assert out.read_text(encoding="utf-8") == f"{TARGETS[0]}\n\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--input", "no/such/file"], "no/such/file cannot be read: No such file or directory."),
        (["--input", "."], ". cannot be read: Is a directory."),
        (["--out", "no/such/folder/file"], "cannot be written"),
    ],
)
def test_files_that_cannot_be_opened_are_one_sentence(
    run: Run, arguments: list[str], said: str
) -> None:
    status, out, error = run(SOURCES[0], *arguments)
    assert (status, out, error.count("\n")) == (1, "", 1)
    assert said in error


@pytest.mark.parametrize(
    "arguments",
    [
        ["The cat eats.", "--input", "in.txt"],
        ["--target", "Die Katze frisst."],
        ["--save-trace", "a.npz"],
        ["--samples", "2"],
    ],
)
def test_what_only_a_sentence_has_is_refused_for_lines(run: Run, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        run(SOURCES[0], *arguments)
    assert left.value.code == 2


def test_at_a_terminal_it_does_not_wait_for_lines_that_nobody_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    with pytest.raises(SystemExit) as left:
        main(["translate"])
    assert left.value.code == 2
    assert "give a sentence, or --input FILE" in capsys.readouterr().err


@pytest.mark.parametrize("cut", range(1, 9))
def test_lines_are_whole_however_they_arrive(cut: int) -> None:
    class Trickle(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            return super().read1(cut)

    given = "ä\n\nb\r\nc d e\n".encode()
    arrived = list(read_lines(Trickle(given)))
    assert [line for each in arrived for line in each] == given.split(b"\n")[:-1]
    assert list(read_lines(io.BytesIO(b"a\nb"))) == [[b"a"], [b"b"]]
    assert list(read_lines(io.BytesIO(b""))) == []


@pytest.fixture
def process(checkpoint_folder: Path) -> subprocess.Popen[bytes]:
    """The filter as a process of its own."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "headscope", "translate", "--device", "cpu"),
            *("--checkpoint", str(checkpoint_folder)),
        ],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_interrupts,
    )


def asked(process: subprocess.Popen[bytes], text: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{text}\n".encode())
    process.stdin.flush()
    return process.stdout.readline().decode().rstrip()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_line_is_answered_at_once_and_ctrl_c_ends_quietly(
    process: subprocess.Popen[bytes],
) -> None:
    assert [asked(process, text) for text in SOURCES[:2]] == list(TARGETS[:2])
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (130, b"", b"")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_closed_pipe_ends_it_quietly(process: subprocess.Popen[bytes]) -> None:
    assert asked(process, SOURCES[0]) == TARGETS[0]
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.write(f"{SOURCES[0]}\n".encode())
    process.stdin.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 1
