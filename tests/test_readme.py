"""What the README shows of Python, run as a reader would, one piece after another."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headscope.__main__ import main
from viz.save import image

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Drawing needs a browser, which the tests of images have.
    monkeypatch.setattr(image, "image", lambda figure, format, width: b"")
    for name in ("checkpoints", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    assert main(["export-hf", "en-de", "en-de-hf"]) == 0
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pieces = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len(pieces) > 3
    # What the README leaves to its reader: a mask, and a model of one's own.
    space: dict[str, Any] = {
        "my_model": torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval(),
        "source": torch.randn(1, 4, 8),
        "target": torch.randn(1, 3, 8),
    }
    for piece in pieces:
        exec(piece, space)
        n_target = len(space["trace"].target)
        space["allowed"] = np.tri(n_target, dtype=np.bool_)
    assert {str(site) for site in space["seen"].sites} == {"encoder.0", "decoder.0", "cross.0"}
    assert (tmp_path / "cat.npz").is_file()
