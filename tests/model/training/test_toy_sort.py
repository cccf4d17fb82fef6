"""What is said of the toys that sort, measured on texts by chance."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from model.training.toy_tasks import TASKS
from model.translate.translator import load

FOLDERS = sorted((Path(__file__).parents[3] / "checkpoints").glob("toy-sort-*"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_head_gives_most_of_its_weight_to_the_next_letter_and_those_after_it(
    folder: Path,
) -> None:
    said = "each head gives more than half of its weight to the next letter and those after it"
    assert said in TASKS["sort"].look
    assert TASKS["sort"].look in " ".join((folder / "card.md").read_text("utf-8").split())
    translator, random = load(folder, device="cpu"), Random(3)
    shares = []
    for _ in range(40):
        trace = translator.trace(TASKS["sort"].draw(random))
        weights = trace.attention("cross", 0).weights
        letters = [token.strip("▁") for token in trace.source.tokens[:-1]]
        for row, token in enumerate(trace.predictions.tokens[:-1]):
            to_come = [place for place, each in enumerate(letters) if each >= token.strip("▁")]
            shares.append(weights[:, row, to_come].sum(axis=1))
    assert (np.mean(shares, axis=0) > 0.5).all(), np.mean(shares, axis=0)
