"""The pictures of the positions page: their Python makes them again, their numbers are exact."""

from pathlib import Path

import numpy as np
import pytest

from model.explain.position_measures import formula_table
from model.record.intervention import Intervention, PositionEdit
from model.translate.translator import Translator
from tests.kit.pictures import LAYOUTS, require_same, values
from viz.positions.circle import Circle
from viz.positions.embedding_sum import EmbeddingSum
from viz.positions.neighbours import NeighbourHeads, neighbour_heads
from viz.positions.score_terms import TermShares, term_shares
from viz.positions.shuffle import ShuffledDistances, reordered
from viz.positions.similarity import ByOffset, Similarity
from viz.positions.table import Formula, Positions
from viz.positions.waves import FormulaWaves, Waves
from viz.positions.word_sum import WordSum

SENTENCE = "The cat sat on the mat."
BASE = 10000.0


def test_every_picture_comes_back(folder: Path, translator: Translator) -> None:
    table = translator.position_table()
    tokens = translator.embedding_parts(SENTENCE).tokens
    short = translator.position_table(len(tokens))
    made_up = formula_table(8, 20, 50.0)
    shares = term_shares(translator.score_terms(SENTENCE).terms)
    first = Positions(short, BASE, None, SENTENCE, tokens)
    for picture in (
        first,
        Positions(table, BASE),
        Waves(table, (0, 3), BASE),
        Waves(table, (2, 3), BASE, 4),
        Circle(table, 1, 4, BASE),
        Similarity(table, True),
        Similarity(table, False),
        ByOffset(table, False),
        EmbeddingSum(translator.embedding_parts(SENTENCE), SENTENCE),
        WordSum(translator.embedding_parts(SENTENCE), SENTENCE, 1),
        TermShares(shares, SENTENCE),
        Formula(made_up, 50.0),
        FormulaWaves(made_up, (0, 4), 50.0),
    ):
        require_same(picture, folder, LAYOUTS[:2])
        assert picture.alt, picture.caption
    np.testing.assert_array_equal(values(first, "value"), short)


@pytest.mark.parametrize(
    "edit", [PositionEdit(), PositionEdit(scale=0.5, shift=-2, side="encoder")]
)
def test_heads_of_neighbours_come_back(
    folder: Path, translator: Translator, edit: PositionEdit
) -> None:
    translation = translator.translate(SENTENCE)
    after = translator.trace_of(translation, under=Intervention(positions=edit))
    heads = neighbour_heads(translator.trace_of(translation), after)
    picture = NeighbourHeads(heads, SENTENCE, edit)
    require_same(picture, folder, LAYOUTS[:2])
    assert values(picture, "share_after").tolist() == [each.after for each in heads]
    assert picture.texts["edit"] == ("none" if edit.at_rest else repr(edit))


def test_shuffled_words_come_back(folder: Path, translator: Translator) -> None:
    source = translator.translate(SENTENCE).source
    n_words = len(source) - 1
    order = (*range(1, n_words), 0)
    place = [*order, n_words]
    distances = {}
    for name, scale in (("with positions", 1), ("without positions", 0)):
        edit = PositionEdit(scale=scale)
        before = translator.encode(SENTENCE, under=Intervention(positions=edit))
        after = translator.encode(SENTENCE, under=Intervention(positions=edit, source_order=order))
        distances[name] = np.linalg.norm(after - before[place], axis=-1)
    picture = ShuffledDistances(reordered(source, place), distances, 1.0, SENTENCE, order)
    require_same(picture, folder, LAYOUTS[:2])
    assert values(picture, "distance_with_positions") is distances["with positions"]
