"""Setting Headscope up: what `make run` does about torch, and the two commands that need no make.

Make runs with a Python that only tells what it was asked, so nothing is downloaded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
INDEX = "https://download.pytorch.org/whl/cpu"
HINT = "TORCH=cpu"

needs_make = pytest.mark.skipif(
    os.name == "nt" or not shutil.which("make"), reason="make is not here"
)

MakeRun = Callable[..., list[str]]


@pytest.fixture
def make(tmp_path: Path) -> MakeRun:
    """Runs make on a Linux machine of a kind; gives the lines it printed, without what make says.

    `card` is whether there is one, `torch` whether the environment has one, `index` whether torch's
    own index answers.
    """
    commands, environment = tmp_path / "commands", tmp_path / "environment"

    def write(path: Path, script: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def run(
        *goals: str, card: bool = False, torch: bool = False, index: bool = True, good: bool = True
    ) -> list[str]:
        write(commands / "uname", "echo Linux")
        write(commands / "nvidia-smi", f"exit {int(not card)}")
        write(
            environment / "bin" / "python",
            f'case "$*" in -c*) exit {int(not torch)};; esac\n'
            f'echo "python $*"\ncase "$*" in *--index-url*) exit {int(not index)};; esac',
        )
        packages = environment / "lib" / "python3" / "site-packages"
        write(packages / "playwright" / "driver" / "node", "exit 0")
        # Not those of the make that may run the tests.
        kept = {name: value for name, value in os.environ.items() if "MAKE" not in name}
        done = subprocess.run(
            ["make", "-s", "--no-print-directory", *goals, f"VENV={environment}"],
            cwd=ROOT,
            env=kept | {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode == 0) == good, done.stdout
        return done.stdout.splitlines()

    return run


def first(lines: list[str], part: str) -> int:
    return next(place for place, line in enumerate(lines) if part in line)


@needs_make
@pytest.mark.parametrize("goal", ["run", "desktop", "check"])
def test_without_a_card_the_cpu_build_is_named_before_the_download(
    make: MakeRun, goal: str
) -> None:
    lines = make(goal)
    assert f"make {goal} TORCH=cpu" in lines[first(lines, HINT)]
    assert first(lines, HINT) < first(lines, "pip install")
    assert INDEX not in "\n".join(lines)


@needs_make
@pytest.mark.parametrize("there", [{"card": True}, {"torch": True}])
def test_with_a_card_or_with_torch_nothing_is_said(make: MakeRun, there: dict[str, bool]) -> None:
    lines = make("run", **there)
    assert HINT not in "\n".join(lines)
    assert "-m headscope" in lines[-1]


@needs_make
def test_the_cpu_build_comes_first_alone_and_in_the_pinned_version(make: MakeRun) -> None:
    lines = make("run", "TORCH=cpu")
    requirements = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    (pin,) = (line.split()[0] for line in requirements if line.startswith("torch=="))
    assert f"--index-url {INDEX} {pin}" in lines[0]
    assert "--no-deps" in lines[0]
    assert lines[1].endswith("-r requirements.txt")
    assert "-m headscope" in lines[2]


@needs_make
def test_where_torchs_index_does_not_answer_the_usual_build_comes(make: MakeRun) -> None:
    lines = make("run", "TORCH=cpu", index=False)
    assert INDEX in lines[1]
    assert "usual build follows" in lines[1]
    assert lines[2].endswith("-r requirements.txt")
    assert "-m headscope" in lines[3]


@needs_make
def test_set_up_once_nothing_is_asked_again(make: MakeRun) -> None:
    make("run")
    (only,) = make("run")
    assert "-m headscope" in only


@needs_make
def test_another_build_than_cpu_is_refused(make: MakeRun) -> None:
    assert "TORCH is cpu or nothing" in make("run", "TORCH=gpu", good=False)[0]


def test_the_readme_names_the_two_commands_that_need_no_make() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "```sh\npip install -r requirements.txt\npython -m headscope\n```" in readme
    assert f"--extra-index-url {INDEX}" in readme
