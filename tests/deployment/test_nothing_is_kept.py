"""What a person types stays in memory: no file and no log of the server holds it."""

import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser

from tests.deployment.test_replicas import open_page
from tests.kit.running_app import ROOT, serve
from tests.kit.tiny_checkpoint import write_tiny_checkpoint

MARKER = "zebedee"
"""Letters that the tiny vocabulary has, and that nothing else here is called."""

LEFT_OUT = {".venv", ".git", ".hypothesis", ".pytest_cache", ".ruff_cache", ".mypy_cache"}


def files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in LEFT_OUT or path.is_symlink():
            continue
        if path.is_dir():
            yield from files(path)
        elif path.is_file():
            yield path


def test_what_is_typed_reaches_no_file_and_no_log(browser: Browser, tmp_path: Path) -> None:
    began = time.time()
    for name in ("checkpoints", "home", "temporary"):
        (tmp_path / name).mkdir()
    write_tiny_checkpoint(tmp_path / "checkpoints" / "en-de")
    environment = {
        "HEADSCOPE_CHECKPOINTS": str(tmp_path / "checkpoints"),
        **{"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary")},
    }
    with serve("app.py", environment) as server:
        reader = open_page(browser, server.url)
        reader.ask(f"The cat {MARKER} eats.")
        reader.ask(f"{MARKER} <b>the man</b>")
        reader.type("target", f"Die Katze {MARKER}")
        reader.page.wait_for_function(
            "marker => location.search.includes('target') && location.search.includes(marker)",
            arg=MARKER,
        )
        reader.settle()
        # Refused, which is when programs like to quote.
        reader.page.goto(f"{server.url}/masks?edit={MARKER}&number={MARKER}")
        reader.page.get_by_test_id("stAlert").first.wait_for()
        reader.page.context.close()
        log = server.log()
    written = [
        *files(tmp_path),
        *(path for path in files(ROOT) if path.stat().st_mtime >= began and path.suffix != ".py"),
    ]
    assert log
    assert written
    for path in written:
        assert MARKER.encode() not in path.read_bytes(), path
    assert MARKER not in log
