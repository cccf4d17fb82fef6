"""What holds for every test: the same numbers on every run, and nothing fetched from anywhere."""

import functools
import os
from collections.abc import Iterator
from pathlib import Path

# Before transformers is first imported: a forgotten download fails here instead of passing by luck.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import hypothesis
import pytest
import torch
from streamlit.components.v2 import manifest_scanner

from tests.kit.fuzz import PROFILE
from tests.kit.tiny_checkpoint import write_tiny_checkpoint
from viz.service import session

# Sums split over threads round differently from run to run.
torch.set_num_threads(1)

# No deadline: the first call into torch is much slower than any later one. The examples are the
# same on every run, so a failure can be had again.
hypothesis.settings.register_profile("headscope", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("headscope")
# For `make quick`.
hypothesis.settings.register_profile(
    "few", hypothesis.settings.get_profile("headscope"), max_examples=10
)
# For `make fuzz`: other cases each time, and what failed once is tried again.
hypothesis.settings.register_profile(PROFILE, deadline=None, derandomize=False, print_blob=True)


@pytest.fixture(scope="session", autouse=True)
def _scan_packages_once() -> Iterator[None]:
    """Each `AppTest` reads what every installed package says of itself, looking for components."""
    once = functools.cache(manifest_scanner.scan_component_manifests)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """Programs of the training ask for more, which all tests after them would then have.

    Threads of one worker wait for those of another, and a test takes ten times as long.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "set_num_threads", lambda count: None)
        yield


@pytest.fixture(scope="module")
def no_process() -> Iterator[None]:
    """The model runs in this process, where a test can reach it.

    For whole modules: the first that opens the app may be a fixture of one.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(session.PROCESS_VARIABLE, "0")
        yield


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny checkpoint in it, which no test changes."""
    folder = tmp_path_factory.mktemp("checkpoints")
    write_tiny_checkpoint(folder / "en-de")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
