"""Every option of a command changes what it answers, or is refused; the parser lists them."""

import argparse
import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headscope import __main__ as command_line
from headscope.commands import request, survey
from headscope.commands.pictures import PICTURES
from model.trace.attention_map import AttentionKind
from model.translate.translator import Translator, load
from tests.kit.surveys import write_tiny_survey
from viz.links.mask_edits import Edit, write

pytestmark = pytest.mark.slow

SENTENCE = "The cat sat on the mat."

VALUES = {
    "against": "search-2-60-100-0-100-1-4",
    "device": "cpu",
    "length_penalty": "0",
    "mask": write([Edit(AttentionKind.DECODER, None, np.eye(9, dtype=np.bool_))]),
    "off": "cross.0.1",
    "other": "The cat eats.",
    "token": "3",
    "other_model": "FOLDER",
    "patched": "cross.0.1",
    "temperature": "0.5",
    "top_p": "0.1",
    "width": "column",
    "beam": "2",
    "prefix": "Der Hund",
    "instead": "Hund",
    "target": "Der Hund schläft.",
    "dimensions": "4",
}
"""Of options, where the parser does not say one; 1 where it takes a number."""


def options(command: str, *, every: bool = False) -> list[argparse.Action]:
    """The optional arguments of a command; those without a name as well if `every`."""
    (commands,) = (
        each
        for each in command_line._parser([command])._actions
        if isinstance(each, argparse._SubParsersAction)
    )
    return [
        each
        for each in commands.choices[command]._actions
        if (each.option_strings or every)
        and not each.required
        and each.dest != "help"
        # What one function reads together is used or refused together.
        and each.dest not in {"length_penalty", "temperature", "top_k", "top_p", "samples"}
    ]


def written(option: argparse.Action, folder: Path) -> list[str]:
    """An option with a value other than its default."""
    name = max(option.option_strings, key=len)
    if option.nargs == 0:
        return [name]
    if option.choices:
        return [name, str(next(each for each in option.choices if each != option.default))]
    return [name, VALUES.get(option.dest, "1").replace("FOLDER", str(folder))]


@pytest.fixture
def answer(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> Callable[..., tuple[int | str | None, str]]:
    """Runs a command in this process; gives its status, and what it wrote or why it did not."""
    monkeypatch.setattr(request, "load", lambda *_, **__: loaded(folder))

    def run(*arguments: str) -> tuple[int | str | None, str]:
        out = tmp_path / "out.py"
        out.unlink(missing_ok=True)
        try:
            status: int | str | None = command_line.main(
                [each.replace("OUT", str(out)) for each in arguments]
            )
        except SystemExit as ended:
            status = ended.code
        said = capsys.readouterr()
        if status:
            return status, said.err.splitlines()[-1]
        return status, out.read_text(encoding="utf-8") if out.exists() else said.out

    return run


@functools.cache
def loaded(folder: Path) -> Translator:
    return load(folder, device="cpu")


FIGURES = ("heads", "matrices", "mask", "differences", "step", "likeness")
"""One of each way to make a picture, of those that take no long computation."""


@pytest.mark.parametrize("name", FIGURES)
def test_every_option_of_a_figure_is_in_its_python_or_refused(
    name: str,
    folder: Path,
    answer: Callable[..., tuple[int | str | None, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Other tests draw it.
    monkeypatch.setattr(PICTURES[name].kind, "figure", lambda *_: None)
    base = ["export", SENTENCE, "--checkpoint", str(folder), "--out", "OUT", "--figure", name]
    needed = ["--other", "The dog sleeps."] if name == "differences" else []
    status, usual = answer(*base, *needed)
    assert status == 0, usual
    for option in options("export"):
        if option.dest in {"figure", "checkpoint", "device"}:
            continue
        # Alone, it says nothing.
        more = ["--no-specials"] if option.dest == "renormalise" else needed
        more = [] if option.dest == "other_model" else more
        status, found = answer(*base, *more, *written(option, folder))
        if status == 0:
            assert found != (answer(*base, *more)[1] if more != needed else usual), (
                name,
                option.dest,
            )
        elif status == 2:
            assert "does not use" in found
            assert max(option.option_strings, key=len) in found


def test_every_pair_of_options_of_find_changes_its_answer_or_is_refused(
    folder: Path, translator: Translator, answer: Callable[..., tuple[int | str | None, str]]
) -> None:
    write_tiny_survey(folder, translator)
    own = {
        "words": ["the"],
        "head": ["--head", "encoder.0.1"],
        "looks": ["--looks", "previous"],
        "by": ["--by", "previous"],
        "most": ["--most", "1"],
    }
    (words,) = (each.dest for each in options("find", every=True) if not each.option_strings)
    assert {words, *(each.dest for each in options("find"))} - {"checkpoint"} == own.keys()
    for count in range(1, len(own) + 1):
        for names in itertools.combinations(own, count):
            asked = [part for name in names for part in own[name]]
            status, found = answer("find", *asked, "--model", str(folder))
            assert status in (0, 2), found
            if status == 2:
                assert "does not use" in found or "are used together" in found
                continue
            for name in names:
                others = [part for each in names if each != name for part in own[each]]
                assert answer("find", *others, "--model", str(folder))[1] != found, (names, name)


def test_an_option_of_the_app_is_refused_beside_a_command(
    answer: Callable[..., tuple[int | str | None, str]],
) -> None:
    status, said = answer("--port", "1", "find", "the")
    assert (status, said.split("error: ")[1]) == (2, "a command does not use --port; leave it out")


def test_options_of_translate_that_do_nothing_are_refused(
    folder: Path, answer: Callable[..., tuple[int | str | None, str]]
) -> None:
    for asked in (["--keep-going"], ["--target", "a"], ["--seed", "1", "--beam", "2"]):
        status, said = answer("translate", SENTENCE, "--checkpoint", str(folder), *asked)
        assert (status, asked[-2 if len(asked) > 1 else 0] in said) == (2, True), said


@dataclass(frozen=True)
class Counted:
    """What stands for the counts of a survey."""

    texts: Any
    sources: Any
    predictions: Any

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Surveyed:
    """What stands for a survey."""

    sample: Any
    probes: Any = None
    is_german: bool = False
    rules: Any = None


@pytest.mark.parametrize("more", [[], ["--rules", "3", "--judged", "4"], ["--only-words"]])
def test_every_pair_of_options_of_survey_changes_what_is_counted_or_is_refused(
    more: list[str],
    folder: Path,
    tmp_path: Path,
    answer: Callable[..., tuple[int | str | None, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def noted(name: str, found: Callable[..., Any]) -> None:
        def call(*given: Any, **named: Any) -> Any:
            asked.append(f"{name} {given} {named}")
            return found(*given)

        monkeypatch.setattr(survey, name, call)

    def part(_: Path, texts: list[str], *__: Any) -> Any:
        pairs = [(text, text.upper()) for text in texts]
        tokens = [text.split() for text in texts]
        return Counted(pairs, tokens, tokens)

    monkeypatch.setattr(survey, "load", lambda *_, **__: "model")
    noted("counts", part)
    noted("summed_up", lambda _, sample: Surveyed(sample))
    noted("probed", lambda *_: {})
    noted("rules_of_heads", lambda *_: SimpleNamespace(lexicon=None))
    noted("asking", lambda *_: None)
    noted("save_survey", lambda *_: None)
    noted("indexed", lambda *_: None)
    noted("_write_words", lambda *_: None)
    monkeypatch.setattr(survey, "is_readable", lambda *_: True)
    monkeypatch.setattr(survey, "read_survey", lambda _: None)
    data = {}
    for name, count in (("data", 20), ("trained", 30)):
        data[name] = tmp_path / f"{name}.tsv"
        lines = [f"web{n % 2}\t{name} {n}\tsatz {name} {n}\n" for n in range(count)]
        data[name].write_text("".join(lines), encoding="utf-8")
    own = {
        "trained": ["--trained", str(data["trained"])],
        "origin": ["--origin", "web1"],
        "reverse": ["--reverse"],
        "sentences": ["--sentences", "12"],
        "rules": ["--rules", "2"],
        "judged": ["--judged", "5"],
        "translated": ["--translated", "1"],
        "only_words": ["--only-words"],
        "name": ["--name", "corpus"],
        "licence": ["--licence", "CC0"],
        "output": ["--output", str(tmp_path / "kept")],
        "workers": ["--workers", "2"],
        "scheduler": ["--scheduler", "tcp://x:1"],
    }
    assert {each.dest for each in options("survey")} == own.keys()
    base = ["survey", str(folder), "--data", str(data["data"])]

    def found(names: tuple[str, ...]) -> tuple[Any, str, str]:
        asked.clear()
        parts = [part for name in names for part in own[name]]
        given = [*more, *parts] if not {*parts} & {*more[::2]} else parts
        status, said = answer(*base, *given)
        return status, said, "\n".join([said, *asked])

    for count in (1, 2):
        for names in itertools.combinations(own, count):
            status, said, whole = found(names)
            assert status in (0, 2), (names, said)
            if status == 2:
                assert "does not use" in said
                continue
            if "No rules: they need more than" in said:
                # Which the answer says.
                continue
            for name in names:
                others = tuple(each for each in names if each != name)
                if name.replace("_", "-") in str(more):
                    continue
                assert found(others)[2] != whole, (names, name)
