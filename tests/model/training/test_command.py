"""Programs of the training refuse in one sentence, with status 1."""

import errno

import pytest
import torch

from model.checkpoints.shipped import CheckpointError
from model.training.command import Program, command


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (CheckpointError("There is no folder; name one."), "There is no folder; name one."),
        (
            OSError(errno.ENOSPC, "No space left on device", "out.tsv"),
            "'out.tsv' cannot be written: No space left on device.",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "The output cannot be written: No space left on device.",
        ),
    ],
)
def test_an_error_is_one_sentence(
    error: Exception, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @command
    def main(argv: list[str] | None) -> None:
        raise error

    assert main() == 1
    assert capsys.readouterr().err == f"{sentence}\n"


def test_an_unexpected_error_keeps_its_traceback() -> None:
    @command
    def main(argv: list[str] | None) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        main()


def test_a_program_names_itself_and_sets_the_threads_of_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    program = Program(__spec__, "Do it: `python -m it`.\n\nMore.", threads=2)
    program.parse([])
    program.parse(["--threads", "3"])
    assert asked == [2, 3]
    assert program.description == "Do it"
    assert "threads" not in Program(__spec__, "", threads=0).parse([])
