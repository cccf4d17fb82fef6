"""Any arguments to the command line."""

import contextlib
import io
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.__main__ import main
from headscope.commands.pictures import PICTURES
from tests.kit.fuzz import cases, limits, numbers, require_sentence, texts
from viz.save.formats import FORMATS, IMAGES

VALUES = st.one_of(numbers().map(str), texts(2), st.sampled_from(["cpu", "cross", "auto", "0"]))
SENTENCES = st.sampled_from(["The cat eats.", "The dog sleeps."]) | texts()

SEARCH = (
    *("--beam", "--length-penalty", "--prefix"),
    *("--samples", "--temperature", "--top-k", "--top-p", "--seed"),
)


def options(*names: str) -> st.SearchStrategy[list[str]]:
    each = st.tuples(st.sampled_from(names), st.none() | VALUES)
    return st.lists(each, max_size=4).map(
        lambda pairs: [part for pair in pairs for part in pair if part is not None]
    )


def require_answer(arguments: list[str]) -> None:
    """Runs the command line, which ends well, with argparse's usage, or with one sentence."""
    output, errors = io.StringIO(), io.StringIO()
    with (
        limits(seconds=20, megabytes=256),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        try:
            status, usage = main(arguments), None
        except SystemExit as left:
            status, usage = 0, left.code
    assert usage in (None, 0, 2)
    output.getvalue().encode()
    said = errors.getvalue().encode(errors="backslashreplace").decode()
    if status != 0:
        assert output.getvalue() == ""
        require_sentence(said.removesuffix("\n"))


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that a case names, and an empty standard input."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))


@cases(400)
@given(
    text=SENTENCES,
    more=options(
        *SEARCH,
        *("--target", "--json", "--save-trace", "--snapshot", "--device", "--checkpoint", "--help"),
        *("--input", "--out", "--keep-going"),
    ),
)
def test_any_arguments_translate_or_are_refused_in_a_sentence(
    checkpoint_folder: Path, text: str, more: list[str]
) -> None:
    require_answer(
        ["translate", "--checkpoint", str(checkpoint_folder), *more, "--", text],
    )


def is_argument(text: str) -> bool:
    """Whether a shell can hand it over."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


@cases(100)
@given(name=texts(2).filter(is_argument), more=options("--snapshot", "--help"))
def test_any_folder_is_exported_to_or_refused_in_a_sentence(
    checkpoint_folder: Path, name: str, more: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # Some names lead upwards.
        inner = os.path.join(folder, "a", "b", "c")
        os.makedirs(inner)
        require_answer(
            ["export-hf", *more, "--", str(checkpoint_folder), f"{inner}/{name}"],
        )


@cases(300)
@given(
    text=SENTENCES,
    figure=st.sampled_from([*PICTURES]),
    suffix=st.sampled_from([*(each for each in FORMATS if each not in IMAGES), "docx", ""]),
    more=options(
        *("--attention", "--layer", "--head", "--query", "--key", "--dimensions", "--position"),
        *("--target", "--device", "--words", "--no-specials", "--renormalise", "--by-prediction"),
        *("--width", "--scale", "--dark", "--checkpoint", "--figure", "--help"),
        *SEARCH,
    ),
)
def test_any_arguments_export_or_are_refused_in_a_sentence(
    checkpoint_folder: Path, text: str, figure: str, suffix: str, more: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, f"out.{suffix}")
        require_answer(
            [
                *("export", "--checkpoint", str(checkpoint_folder), "--figure", figure),
                *("--out", out, *more, "--", text),
            ],
        )
