"""A tiny checkpoint that no case changes. `make fuzz` runs what is here at full length."""

import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from streamlit.testing.v1 import AppTest

from model.translate.translator import Translator, load
from tests.kit.apptest import go_to
from tests.kit.fuzz import PROFILE
from viz.links.parameters import View
from viz.registry import pages
from viz.service import session

ROOT = Path(__file__).parents[2]

# Limits of memory and of processor time are those of Linux.
collect_ignore_glob = [] if sys.platform == "linux" else ["*"]


@pytest.fixture(scope="session")
def checkpoint_folder(checkpoints: Path) -> Path:
    return checkpoints / "en-de"


@pytest.fixture(scope="session")
def translator(checkpoint_folder: Path) -> Translator:
    return load(checkpoint_folder, device="cpu")


@pytest.fixture
def open_page(checkpoints: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    def open_at(view: View, query: dict[str, str], folder: Path = checkpoints) -> AppTest:
        monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(folder))
        # The limits are those of this process.
        monkeypatch.setenv(session.PROCESS_VARIABLE, "0")
        app = AppTest.from_file(ROOT / "app.py", default_timeout=120)
        if view.name != pages.HOME:
            # Its pages are known after a run.
            go_to(app.run(), view.name)
        app.query_params = dict(query)
        app.run()
        assert app.session_state["address-visit.kept"].page == (
            "" if view.name == pages.HOME else view.name
        )
        return app

    return open_at


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if hypothesis.settings.get_current_profile_name() == PROFILE:
        for item in items:
            # What waits for ever ends here.
            item.add_marker(pytest.mark.timeout(3600))
