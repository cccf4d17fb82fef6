"""The Python of the README and of the documentation, run as a reader would, piece by piece."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headscope.__main__ import main
from viz.save import image

ROOT = Path(__file__).parents[1]


PAGES = ("README.md", "docs/python.md", "docs/figures.md", "docs/models.md")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Drawing needs a browser, which the tests of images have.
    monkeypatch.setattr(image, "image", lambda *_, **__: b"")
    for name in ("checkpoints", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text(encoding="utf-8")
    if "headscope export-hf en-de en-de-hf\n" in text:
        assert main(["export-hf", "en-de", "en-de-hf"]) == 0
    pieces = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert pieces
    # What a page leaves to its reader: a mask, and a model of one's own.
    space: dict[str, Any] = {
        "my_model": torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval(),
        "source": torch.randn(1, 4, 8),
        "target": torch.randn(1, 3, 8),
    }
    for piece in pieces:
        exec(piece, space)
        if "trace" in space:
            n_target = len(space["trace"].target)
            space["allowed"] = np.tri(n_target, dtype=np.bool_)
    if "seen" in space:
        assert {str(site) for site in space["seen"].sites} == {"encoder.0", "decoder.0", "cross.0"}
    for saved in re.findall(r'\.save\("(\w+\.npz)"\)', "".join(pieces)):
        assert (tmp_path / saved).is_file()
