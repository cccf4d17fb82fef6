"""A tiny model, what it did on a sentence, and what image files need."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from choreographer.browsers.chromium import Chromium

from model.trace.trace import Trace
from model.translate.translator import Translator, load
from tests.kit.tiny_checkpoint import (
    write_tiny_alignment,
    write_tiny_checkpoint,
    write_tiny_removal,
)
from viz.save import browser

SENTENCE = "The cat sat on the mat."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_tiny_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny")
    write_tiny_alignment(folder)
    write_tiny_removal(folder)
    return folder


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return load(folder, device="cpu")


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return translator.trace(SENTENCE)


@pytest.fixture(scope="module")
def chromium() -> Iterator[None]:
    """What image files need."""
    if Chromium.find_browser(skip_local=True) is None:
        message = "no Chromium found"
        if os.environ.get("HEADSCOPE_REQUIRE_BROWSER") == "1":
            pytest.fail(message)
        pytest.skip(message)
    yield
    browser.BROWSER.close()
