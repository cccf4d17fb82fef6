"""What can be saved of the positions page."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from model.intervention import PositionEdit
from model.terms import EmbeddingParts
from model.trace import FloatArray, Tokens
from viz.positions import encoding as figures
from viz.positions import terms
from viz.positions.shuffle import distances_figure
from viz.positions.terms import NeighbourHead
from viz.save import cells, export, picture_numbers
from viz.shell.save_menu import Picture


def table(
    rows: FloatArray,
    sentence: str = "",
    tokens: Tokens | None = None,
    *,
    trained: int | None = None,
) -> Picture:
    """The model's table; `tokens` are those of the sentence, which name its rows.

    `trained` is how many of its first rows training reached, where that is known.
    """
    return Picture(
        "The model’s table of positions",
        "positions",
        figure=lambda look: figures.encoding_heatmap(
            rows, tokens=tokens, trained=trained, **look.options
        ),
        numbers=lambda: export.table_numbers(rows),
        cell=lambda look: cells.table(
            len(rows), look.python, sentence=sentence if tokens is not None else ""
        ),
        texts={} if trained is None else {"trained_positions": str(trained)},
    )


def waves(
    rows: FloatArray, dimensions: Sequence[int], base: float | None, position: int | None = None
) -> Picture:
    """Dimensions over position."""
    return Picture(
        "Dimensions over position",
        "waves" if position is None else f"waves-pair{dimensions[0] // 2}",
        figure=lambda look: figures.waves(
            rows, dimensions, base=base, position=position, **look.options
        ),
        numbers=lambda: export.table_numbers(rows, dimensions),
        cell=lambda look: cells.waves(len(rows), dimensions, base, look.python, position=position),
    )


def circle(rows: FloatArray, pair: int, position: int, base: float | None) -> Picture:
    """A pair of dimensions as points."""
    return Picture(
        "A pair of dimensions as points",
        f"circle-pair{pair}",
        figure=lambda look: figures.circle(rows, pair, position, base=base, **look.options),
        numbers=lambda: export.table_numbers(rows, (2 * pair, 2 * pair + 1)),
        cell=lambda look: cells.circle(pair, position, base, look.python),
    )


def likeness(rows: FloatArray, cosine: bool) -> Picture:
    """How alike every two positions are."""
    return Picture(
        "How alike positions are",
        "likeness",
        figure=lambda look: figures.likeness_heatmap(rows, cosine=cosine, **look.options),
        numbers=lambda: picture_numbers.likeness_numbers(rows, cosine=cosine),
        cell=lambda look: cells.likeness(cosine, look.python),
    )


def offsets(rows: FloatArray, cosine: bool) -> Picture:
    """The same by how far apart they stand."""
    return Picture(
        "How alike positions are, by offset",
        "likeness-by-offset",
        figure=lambda look: figures.by_offset_figure(rows, cosine=cosine, **look.options),
        numbers=lambda: picture_numbers.offsets_numbers(rows, cosine=cosine),
        cell=lambda look: cells.offsets(cosine, look.python),
    )


def parts(found: EmbeddingParts, sentence: str) -> Picture:
    """Word, scaled word, position and their sum."""
    return Picture(
        "Word and position",
        "word-and-position",
        figure=lambda look: terms.parts_figure(found, **look.options),
        numbers=lambda: picture_numbers.parts_numbers(found),
        cell=lambda look: cells.parts(sentence, look.python),
    )


def shares(found: Mapping[str, NDArray[Any]], sentence: str) -> Picture:
    """What the scores of the first layer come from."""
    return Picture(
        "What the scores come from",
        "score-terms",
        figure=lambda look: terms.terms_figure(found, **look.options),
        numbers=lambda: picture_numbers.terms_numbers(found),
        cell=lambda look: cells.terms(sentence, look.python),
    )


def neighbours(heads: Sequence[NeighbourHead], sentence: str, edit: PositionEdit) -> Picture:
    """Heads that look at neighbours, before and after an edit."""
    return Picture(
        "Heads that look at neighbours",
        "neighbour-heads",
        figure=lambda look: terms.neighbours_figure(heads, **look.options),
        numbers=lambda: picture_numbers.neighbours_numbers(heads),
        cell=lambda look: cells.neighbours(sentence, repr(edit), look.python),
        texts={"edit": "none" if edit.at_rest else repr(edit)},
    )


def distances(
    tokens: Tokens, found: Mapping[str, NDArray[Any]], sentence: str, order: Sequence[int]
) -> Picture:
    """How far the encoder's rows moved."""
    return Picture(
        "How far the encoder’s rows moved",
        "shuffled-distances",
        figure=lambda look: distances_figure(tokens, found, **look.options),
        numbers=lambda: picture_numbers.distances_numbers(tokens, found),
        cell=lambda look: cells.distances(sentence, order, look.python),
        texts={"order": " ".join(map(str, order))},
    )


def formula(rows: FloatArray, base: float) -> Picture:
    """The formula's table."""
    length, d_model = rows.shape
    return Picture(
        figures.FORMULA_TITLE,
        "formula",
        figure=lambda look: figures.encoding_heatmap(
            rows, title=figures.FORMULA_TITLE, **look.options
        ),
        numbers=lambda: export.table_numbers(rows),
        cell=lambda look: cells.formula(d_model, length, base, look.python),
        needs_model=False,
        texts={"made_by": f"the formula of section 3.5, base {base:g}"},
    )


def formula_waves(rows: FloatArray, dimensions: Sequence[int], base: float) -> Picture:
    """Dimensions of the formula's table over position."""
    length, d_model = rows.shape
    return Picture(
        "Dimensions of the formula over position",
        "formula-waves",
        figure=lambda look: figures.waves(rows, dimensions, base=base, **look.options),
        numbers=lambda: export.table_numbers(rows, dimensions),
        cell=lambda look: cells.formula_waves(d_model, length, dimensions, base, look.python),
        needs_model=False,
        texts={"made_by": f"the formula of section 3.5, base {base:g}"},
    )
