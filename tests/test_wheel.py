"""The wheel, installed and used from a folder whose files have the names of ours."""

import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from tests.kit.running_app import free_port, is_healthy
from tests.kit.signals import end_group, heed_interrupts

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="finds bin/python")]

ROOT = Path(__file__).parents[1]
SECONDS = 240
SENTENCE = "The cat sat."


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    # As `make wheel`; nothing is downloaded.
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)),
        ],
        check=True,
        timeout=SECONDS,
    )
    (file,) = folder.glob("headscope-*.whl")
    return file


@pytest.fixture(scope="module")
def binaries(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an environment that holds the wheel, and sees what Headscope depends on."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    binaries = folder / "bin"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"),
            *("--python", str(binaries / "python"), "install", "--no-deps", str(wheel)),
        ],
        check=True,
        timeout=SECONDS,
    )
    (packages,) = folder.glob("lib/python*/site-packages")
    ready = sysconfig.get_path("purelib")
    (packages / "ready.pth").write_text(f"{ready}\n", encoding="utf-8")
    return binaries


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder whose modules nobody may import."""
    for name in ("model", "viz", "app"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported!')\n", encoding="utf-8")
    return tmp_path


def run(*command: str | Path, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_small_and_holds_one_package_with_en_de_and_the_toys(wheel: Path) -> None:
    assert wheel.stat().st_size <= 18e6
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        code = "\n".join(archive.read(name).decode() for name in names if name.endswith(".py"))
        metadata = next(name for name in names if name.endswith("METADATA"))
        needs = re.findall(r"^Requires-Dist: ([\w-]+)", archive.read(metadata).decode(), re.M)
    assert {name.split("/")[0].removesuffix(".dist-info") for name in names} == {
        "headscope",
        "-".join(wheel.name.split("-")[:2]),
    }
    models = {name.split("/")[2] for name in names if name.startswith("headscope/checkpoints/")}
    toys = {each.name for each in (ROOT / "checkpoints").glob("toy-*")}
    assert models == {"en-de", *toys}
    assert not re.search(r"^\s*(from|import) (model|viz)\b", code, re.MULTILINE)
    assert not [name for name in names if "model/training" in name]
    assert {"headscope/py.typed", "headscope/.streamlit/config.toml"} <= set(names)
    listed = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert set(re.findall(r"^([\w-]+)==", listed, re.M)) <= set(needs)


def test_python_of_the_save_menu_and_the_public_names_work(binaries: Path, hostile: Path) -> None:
    code = f"""
import sys
import headscope as hs
assert not {{"torch", "numpy", "pandas", "plotly", "streamlit"}} & set(sys.modules)
for name in hs.__all__:
    assert getattr(hs, name) is not None
trace = hs.load("en-de").trace({SENTENCE!r})
assert "<iframe" in hs.show(trace)._repr_html_()
import torch
attention = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
x = torch.ones(1, 3, 8)
with hs.watching() as seen:
    attention(x, x, x)
assert len(seen.sites) == 1
assert not {{"model", "viz", "app"}} & set(sys.modules)
assert hs.load_reader("toy-reverse-decoder").read("c a b").trace.text == "b a c"
trace.save("mine.npz")
from headscope.__main__ import main
assert main(["export", {SENTENCE!r}, "--out", "cell.py"]) == 0
assert main(["open", "mine.npz", "--out", "page.html"]) == 0
exec(open("cell.py", encoding="utf-8").read())
"""
    # One process: each would import everything anew.
    run(binaries / "python", "-c", code, folder=hostile)
    cell = (hostile / "cell.py").read_text(encoding="utf-8")
    assert cell.startswith("import headscope as hs\n")
    assert "hs.load('en-de')" in cell
    assert "<html" in (hostile / "page.html").read_text(encoding="utf-8")


def test_the_command_has_two_spellings(binaries: Path, hostile: Path) -> None:
    module = [binaries / "python", "-m", "headscope"]
    assert "export-hf" in run(*module, "--help", folder=hostile)
    assert "Katze" in run(binaries / "headscope", "translate", SENTENCE, folder=hostile)


CHECK = """
import sys, threading
from playwright.sync_api import sync_playwright
from tests.kit.running_app import find_chromium, launch
with sync_playwright() as playwright:
    page = launch(playwright, find_chromium()).new_page()
    page.goto(sys.argv[1])
    page.locator("canvas").first.wait_for(timeout=120_000)
    assert page.get_by_text("imported!").count() == 0
    print(page.evaluate("getComputedStyle(document.body).fontFamily"))
"""


@pytest.mark.browser
def test_the_app_answers_and_its_page_is_drawn_by_its_worker(binaries: Path, hostile: Path) -> None:
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"BROWSER": "true", "STREAMLIT_SERVER_HEADLESS": "true"}
    with (
        (hostile / "said").open("w") as said,
        subprocess.Popen(
            [binaries / "headscope", "--port", str(port)],
            cwd=hostile,
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=heed_interrupts,
        ) as process,
    ):
        try:
            pattern = r"Headscope is ready: (\S+)"
            deadline = time.monotonic() + SECONDS
            while not (found := re.search(pattern, (hostile / "said").read_text())):
                assert process.poll() is None, (hostile / "said").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.1)
            assert is_healthy(f"http://localhost:{port}")
            with urllib.request.urlopen(found[1]) as answer:
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
            subprocess.run(
                [sys.executable, "-c", CHECK, found[1]], cwd=ROOT, check=True, timeout=SECONDS
            )
            assert "Traceback" not in (hostile / "said").read_text()
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            finally:
                end_group(process.pid)
    assert "imported!" not in (hostile / "said").read_text()
