"""What is said of the toys that sort, measured on texts by chance."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from model import load
from model.toys import TASKS

FOLDERS = sorted((Path(__file__).parents[2] / "checkpoints").glob("toy-sort-*"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_head_gives_the_letter_written_next_more_weight_than_the_letter_just_read(
    folder: Path,
) -> None:
    assert "gives it more weight, on average, than the letter just read" in " ".join(
        (folder / "card.md").read_text("utf-8").split()
    )
    translator, random = load(folder, device="cpu"), Random(3)
    shares = []
    for _ in range(40):
        trace = translator.trace(TASKS["sort"].draw(random))
        weights = trace.attention("cross", 0).weights
        source = np.array(trace.source.ids)
        # Without the end, and without rows that write again the letter just read.
        for row, (read, written) in enumerate(
            zip(trace.target.ids, trace.predictions.ids[:-1], strict=False)
        ):
            if row and read != written:
                shares.append([weights[:, row, source == each].sum(1) for each in (written, read)])
    following, before = np.mean(shares, axis=0)
    assert (following > before + 0.05).all(), (following, before)
