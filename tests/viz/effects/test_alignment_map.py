"""The map of alignment errors: what it holds, and what is said of it."""

from pathlib import Path

import numpy as np
import pytest

from model.explain.alignment_file import read_alignment
from model.explain.alignment_table import AlignmentTable, Read
from tests.kit.pictures import LAYOUTS, require_same, values
from viz.effects.alignment_map import AlignmentMap, alignment_sentences
from viz.save.picture import Layout


@pytest.fixture
def table(folder: Path) -> AlignmentTable:
    found = read_alignment(folder)
    assert found is not None
    return found


def test_every_head_and_all_together_stand_in_both_maps(table: AlignmentTable) -> None:
    for narrow in (False, True):
        figure = AlignmentMap(table, "").figure(Layout(narrow=narrow))
        for trace, later in zip(figure.data[:2], (False, True), strict=True):
            assert trace.z.shape == (3, 5)
            for layer in range(3):
                for column, head in enumerate((0, 1, 2, 3, None)):
                    rate = table.rates[Read(layer, head, later)]
                    assert trace.z[layer, column] == 100 * rate.error
                    written = f"[{100 * rate.low:.1f}, {100 * rate.high:.1f}]"
                    assert trace.customdata[layer, column] == written
        for numbers, trace in zip(figure.data[2:], figure.data[:2], strict=True):
            assert list(numbers.text) == [f"{error:.0f}" for error in trace.z.ravel()]


def test_the_picture_comes_back_with_its_numbers(folder: Path, table: AlignmentTable) -> None:
    picture = AlignmentMap(table, str(folder))
    require_same(picture, folder, LAYOUTS[:2])
    bare = AlignmentMap(table, str(folder), numbered=False)
    require_same(bare, folder, LAYOUTS[:1])
    assert len(bare.figure(LAYOUTS[0]).data) == 2
    rates = list(table.rates.values())
    np.testing.assert_array_equal(values(picture, "error"), [rate.error for rate in rates])
    assert values(picture, "head").tolist().count("all") == 6
    assert "7 sentence pairs of gold.tsv" in picture.full_caption


def test_the_nearest_are_named_with_their_numbers(table: AlignmentTable) -> None:
    head, combination, diagonal = alignment_sentences(table)
    # Head 0.0 has no errors in the output row.
    assert head.startswith(
        "Best single head by its weights: head 0.0, output row, with an error rate"
    )
    assert "0.0% [0.0, 50.0]" in head
    assert "head 0.0, output row with head 0.1, output row; by norms, row ∩ column" in combination
    assert "1.0% [0.0, 2.0]. The best of 66 combinations" in combination
    assert "80.0% [40.0, 90.0]" in diagonal
