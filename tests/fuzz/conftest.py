"""A tiny checkpoint that no case changes. `make fuzz` runs what is here at full length."""

from __future__ import annotations

import sys
from pathlib import Path

import hypothesis
import pytest

from model.translator import Translator, load
from tests.kit.fuzz import PROFILE

# Limits of memory and of processor time are those of Linux.
collect_ignore_glob = [] if sys.platform == "linux" else ["*"]


@pytest.fixture(scope="session")
def checkpoint_folder(checkpoints: Path) -> Path:
    return checkpoints / "en-de"


@pytest.fixture(scope="session")
def translator(checkpoint_folder: Path) -> Translator:
    return load(checkpoint_folder, device="cpu")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if hypothesis.settings.get_current_profile_name() == PROFILE:
        for item in items:
            # What waits for ever ends here.
            item.add_marker(pytest.mark.timeout(3600))
