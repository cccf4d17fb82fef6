"""The pictures of the positions page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain import position_measures
from model.record.intervention import PositionEdit
from model.trace.attention_map import AttentionKind, FloatArray, Tokens
from model.trace.terms import EmbeddingParts
from viz.links.request import Request
from viz.positions import encoding, shuffle, word_and_position
from viz.positions.word_and_position import NeighbourHead
from viz.save.notebook import Lines
from viz.save.numbers import Numbers, array_name
from viz.save.picture import Layout, Picture

TRAINED_TABLE = "table = translator.position_table(translator.trained_positions())"
"""Without the rows of a learned table that training never reached, where that is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Positions(Picture):
    """The model's table of positions.

    Attributes:
        rows: (position, d_model).
        base: of the wavelengths; None for a table that was learned.
        trained: how many of its first rows training reached, where that is known.
        sentence: whose tokens name the rows; empty for none.
        tokens: those of the sentence.
        heading: of the figure.
    """

    slug: ClassVar[str] = "positions"
    about: ClassVar[str] = "the model's table of positions for this sentence"

    rows: FloatArray
    base: float | None
    trained: int | None = None
    sentence: str = ""
    tokens: Tokens | None = None
    heading: str = encoding.MODEL_TITLE

    title = "The model’s table of positions"
    name = "positions"

    @classmethod
    def of(cls, request: Request) -> Positions:
        model = request.translator
        return cls(
            request.sentence_table,
            model.positions.base,
            model.trained_positions(),
            request.text,
            request.trace.source,
        )

    @property
    def texts(self) -> Mapping[str, str]:
        return {} if self.trained is None else {"trained_positions": str(self.trained)}

    @property
    def alt(self) -> str:
        return encoding.encoding_alt_text(self.rows, title=self.heading, trained=self.trained)

    @property
    def caption(self) -> str:
        return encoding.encoding_caption(self.rows, base=self.base, trained=self.trained)

    def figure(self, layout: Layout) -> go.Figure:
        return encoding.encoding_heatmap(
            self.rows,
            title=self.heading,
            tokens=self.tokens,
            trained=self.trained,
            **layout.options,
        )

    def numbers(self) -> Numbers:
        return _table_numbers(self.rows)

    def python(self, layout: Layout) -> Lines:
        named = self.tokens is not None
        tokens = f"translator.embedding_parts({self.sentence!r}).tokens" if named else "None"
        return [
            f"tokens = {tokens}",
            f"table = translator.position_table({len(self.rows)})",
            "hs.figures.encoding_heatmap(table, tokens=tokens, "
            "trained=translator.trained_positions()"
            f"{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Waves(Picture):
    """Dimensions of a table over position.

    Attributes:
        rows: (position, d_model).
        dimensions: those drawn.
        base: of the wavelengths; None for a table that was learned.
        position: marked by an upright line; None marks none.
    """

    slug: ClassVar[str] = "waves"
    about: ClassVar[str] = "dimensions of that table over position: --dimensions"

    rows: FloatArray
    dimensions: Sequence[int]
    base: float | None
    position: int | None = None

    title = "Dimensions over position"

    @classmethod
    def of(cls, request: Request) -> Waves:
        return cls(request.table, request.dimensions, request.translator.positions.base)

    @property
    def name(self) -> str:
        return "waves" if self.position is None else f"waves-pair{self.dimensions[0] // 2}"

    @property
    def alt(self) -> str:
        return encoding.waves_alt_text(self.rows, self.dimensions, base=self.base)

    @property
    def caption(self) -> str:
        if self.position is not None:
            return "The same two numbers as waves: the upright line stands where the point is."
        return encoding.waves_caption(self.rows, self.dimensions, base=self.base)

    def figure(self, layout: Layout) -> go.Figure:
        return encoding.waves(
            self.rows, self.dimensions, base=self.base, position=self.position, **layout.options
        )

    def numbers(self) -> Numbers:
        return _table_numbers(self.rows, self.dimensions)

    def python(self, layout: Layout) -> Lines:
        marked = "" if self.position is None else f", position={self.position}"
        return [
            f"table = translator.position_table({len(self.rows)})",
            f"hs.figures.waves(table, {list(self.dimensions)}, "
            f"base={self.base!r}{marked}{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Circle(Picture):
    """A pair of dimensions as points; `rows` and `base` as in `Waves`."""

    slug: ClassVar[str] = "circle"
    about: ClassVar[str] = (
        "a pair of dimensions as points: --dimensions (its first names the pair), --position"
    )

    rows: FloatArray
    pair: int
    position: int
    base: float | None

    title = "A pair of dimensions as points"

    @classmethod
    def of(cls, request: Request) -> Circle:
        return cls(
            request.table,
            request.pair,
            request.arguments.position,
            request.translator.positions.base,
        )

    @property
    def name(self) -> str:
        return f"circle-pair{self.pair}"

    @property
    def alt(self) -> str:
        return encoding.circle_alt_text(self.rows, self.pair, self.position)

    @property
    def caption(self) -> str:
        return encoding.circle_caption(self.rows, self.pair)

    def figure(self, layout: Layout) -> go.Figure:
        return encoding.circle(
            self.rows, self.pair, self.position, base=self.base, **layout.options
        )

    def numbers(self) -> Numbers:
        return _table_numbers(self.rows, (2 * self.pair, 2 * self.pair + 1))

    def python(self, layout: Layout) -> Lines:
        return [
            TRAINED_TABLE,
            f"hs.figures.circle(table, {self.pair}, {self.position}, "
            f"base={self.base!r}{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Similarity(Picture):
    """How alike every two positions of a table are, (position, d_model)."""

    slug: ClassVar[str] = "likeness"
    about: ClassVar[str] = "how alike every two positions are"

    rows: FloatArray
    cosine: bool = True

    title = "How alike positions are"
    name = "likeness"

    @classmethod
    def of(cls, request: Request) -> Similarity:
        return cls(request.table)

    @property
    def alt(self) -> str:
        return encoding.likeness_alt_text(self.rows, cosine=self.cosine)

    @property
    def caption(self) -> str:
        return encoding.likeness_caption(self.rows, cosine=self.cosine)

    def figure(self, layout: Layout) -> go.Figure:
        return encoding.likeness_heatmap(self.rows, cosine=self.cosine, **layout.options)

    def numbers(self) -> Numbers:
        alike = position_measures.likeness(self.rows, cosine=self.cosine)
        cells = ("position", "other_position")
        places = range(len(alike))
        return Numbers({}, dict.fromkeys(cells, places), {_similarity(self.cosine): (cells, alike)})

    def python(self, layout: Layout) -> Lines:
        return [
            TRAINED_TABLE,
            f"hs.figures.likeness_heatmap(table, cosine={self.cosine}{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class ByOffset(Picture):
    """The same by how far apart two positions stand."""

    slug: ClassVar[str] = "offsets"
    about: ClassVar[str] = "the same by how far apart they stand"

    rows: FloatArray
    cosine: bool = True

    title = "How alike positions are, by offset"
    name = "likeness-by-offset"

    @classmethod
    def of(cls, request: Request) -> ByOffset:
        return cls(request.table)

    @property
    def alt(self) -> str:
        return encoding.by_offset_alt_text(self.rows, cosine=self.cosine)

    @property
    def caption(self) -> str:
        return encoding.by_offset_caption(self.rows, cosine=self.cosine)

    def figure(self, layout: Layout) -> go.Figure:
        return encoding.by_offset_figure(self.rows, cosine=self.cosine, **layout.options)

    def numbers(self) -> Numbers:
        found = position_measures.by_offset(self.rows, cosine=self.cosine)
        arrays = {"mean": found.mean, "least": found.low, "greatest": found.high}
        return Numbers(
            {},
            {"offset": found.offsets.tolist()},
            {
                f"{name}_{_similarity(self.cosine)}": (("offset",), values)
                for name, values in arrays.items()
            },
        )

    def python(self, layout: Layout) -> Lines:
        return [
            TRAINED_TABLE,
            f"hs.figures.by_offset_figure(table, cosine={self.cosine}{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingSum(Picture):
    """Word, scaled word, position and their sum."""

    slug: ClassVar[str] = "parts"
    about: ClassVar[str] = "word, scaling, position and their sum"

    parts: EmbeddingParts
    sentence: str

    title = "Word and position"
    name = "word-and-position"

    @classmethod
    def of(cls, request: Request) -> EmbeddingSum:
        return cls(request.translator.embedding_parts(request.text), request.text)

    @property
    def alt(self) -> str:
        return word_and_position.parts_alt_text(self.parts)

    @property
    def caption(self) -> str:
        return word_and_position.parts_caption(self.parts)

    def figure(self, layout: Layout) -> go.Figure:
        return word_and_position.parts_figure(self.parts, **layout.options)

    def numbers(self) -> Numbers:
        cells = ("token", "dimension")
        parts = self.parts
        arrays = {
            "word": parts.word,
            "scaled": parts.scaled,
            "position": parts.position,
            "sum": parts.sum,
        }
        return Numbers(
            {},
            {"token": parts.tokens, "dimension": range(parts.sum.shape[1])},
            {name: (cells, values) for name, values in arrays.items()},
        )

    def python(self, layout: Layout) -> Lines:
        return [
            f"hs.figures.parts_figure(translator.embedding_parts({self.sentence!r}){layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class TermShares(Picture):
    """What the scores of the encoder's first layer come from; shares of `terms.term_shares`."""

    slug: ClassVar[str] = "terms"
    about: ClassVar[str] = "what the first layer's scores come from"

    shares: Mapping[str, NDArray[np.float64]]
    sentence: str

    title = "What the scores come from"
    name = "score-terms"

    @classmethod
    def of(cls, request: Request) -> TermShares:
        found = request.translator.score_terms(request.text).terms
        return cls(word_and_position.term_shares(found), request.text)

    @property
    def alt(self) -> str:
        return word_and_position.terms_alt_text(self.shares)

    @property
    def caption(self) -> str:
        return word_and_position.terms_caption()

    def figure(self, layout: Layout) -> go.Figure:
        return word_and_position.terms_figure(self.shares, **layout.options)

    def numbers(self) -> Numbers:
        n_heads = len(next(iter(self.shares.values())))
        return Numbers(
            {"attention": str(AttentionKind.ENCODER), "layer": 0},
            {"head": range(n_heads)},
            {f"share_{name}": (("head",), share) for name, share in self.shares.items()},
        )

    def python(self, layout: Layout) -> Lines:
        return [
            f"hs.figures.terms_figure(hs.figures.term_shares(translator.score_terms({self.sentence!r}).terms)"
            f"{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourHeads(Picture):
    """Heads that look at neighbours, before and after an edit of positions.

    Attributes:
        heads: of `terms.neighbour_heads`.
        sentence: the source.
        edit: of positions.
    """

    heads: Sequence[NeighbourHead]
    sentence: str
    edit: PositionEdit

    title = "Heads that look at neighbours"
    name = "neighbour-heads"

    @property
    def texts(self) -> Mapping[str, str]:
        return {"edit": "none" if self.edit.at_rest else repr(self.edit)}

    @property
    def alt(self) -> str:
        return word_and_position.neighbours_alt_text(self.heads)

    @property
    def caption(self) -> str:
        return word_and_position.neighbours_caption(self.heads)

    def figure(self, layout: Layout) -> go.Figure:
        return word_and_position.neighbours_figure(self.heads, **layout.options)

    def numbers(self) -> Numbers:
        heads = self.heads
        columns: dict[str, NDArray[Any]] = {
            "attention": np.array([str(each.site.kind) for each in heads], dtype=np.str_),
            "layer": np.array([each.site.layer for each in heads], dtype=np.int64),
            "head": np.array([each.head for each in heads], dtype=np.int64),
            "neighbour": np.array([each.neighbour for each in heads], dtype=np.str_),
            "share_before": np.array([each.before for each in heads], dtype=np.float64),
            "share_after": np.array([each.after for each in heads], dtype=np.float64),
        }
        return Numbers(
            {},
            {"rank": range(1, len(heads) + 1)},
            {name: (("rank",), values) for name, values in columns.items()},
        )

    def python(self, layout: Layout) -> Lines:
        return [
            f"translation = translator.translate({self.sentence!r})",
            "before = translator.trace_of(translation)",
            "after = translator.trace_of(translation, "
            f"under=hs.Intervention(positions=hs.{self.edit!r}))",
            "hs.figures.neighbours_figure(hs.figures.neighbour_heads(before, "
            f"after){layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class ShuffledDistances(Picture):
    """How far the encoder's rows moved when the source's tokens were put in another order.

    Attributes:
        tokens: in their new order.
        distances: of each token's row, by what was done.
        length: of a row, on average.
        sentence: the source.
        order: the old place of each token but the last.
    """

    tokens: Tokens
    distances: Mapping[str, NDArray[Any]]
    length: float
    sentence: str
    order: Sequence[int]

    title = "How far the encoder’s rows moved"
    name = "shuffled-distances"

    @property
    def texts(self) -> Mapping[str, str]:
        return {"order": " ".join(map(str, self.order))}

    @property
    def alt(self) -> str:
        return shuffle.distances_alt_text(self.tokens, self.distances, self.length)

    @property
    def caption(self) -> str:
        return shuffle.distances_caption(self.distances, self.length)

    def figure(self, layout: Layout) -> go.Figure:
        return shuffle.distances_figure(self.tokens, self.distances, **layout.options)

    def numbers(self) -> Numbers:
        arrays = {
            f"distance_{array_name(name)}": (("token",), values)
            for name, values in self.distances.items()
        }
        return Numbers({}, {"token": self.tokens}, arrays)

    def python(self, layout: Layout) -> Lines:
        return [
            "from numpy.linalg import norm",
            f"sentence, order = {self.sentence!r}, {list(self.order)}",
            "place = [*order, len(order)]",
            "distances = {}",
            "for name, scale in {'with positions': 1, 'without positions': 0}.items():",
            "    edit = hs.PositionEdit(scale=scale)",
            "    before = translator.encode(sentence, under=hs.Intervention(positions=edit))",
            "    moved = hs.Intervention(positions=edit, source_order=order)",
            "    after = translator.encode(sentence, under=moved)",
            "    distances[name] = norm(after - before[place], axis=-1)",
            "tokens = hs.figures.reordered(translator.translate(sentence).source, place)",
            f"hs.figures.distances_figure(tokens, distances{layout.python})",
        ]


class _OfFormula(Picture):
    """A picture of the formula of section 3.5, whatever the model.

    Attributes:
        rows: of `measures.formula_table`, (position, d_model).
        base: of the wavelengths.
    """

    __slots__ = ()
    needs_model = False
    origin = ()

    rows: FloatArray
    base: float

    @property
    def texts(self) -> Mapping[str, str]:
        return {"made_by": f"the formula of section 3.5, base {self.base:g}"}

    @property
    def table_python(self) -> str:
        """The line that makes the table."""
        length, d_model = self.rows.shape
        return f"table = hs.figures.formula_table({d_model}, {length}, {self.base!r})"


@dataclass(frozen=True, slots=True, eq=False)
class Formula(_OfFormula):
    """The formula's table."""

    rows: FloatArray
    base: float

    title = encoding.FORMULA_TITLE
    name = "formula"

    @property
    def alt(self) -> str:
        return encoding.encoding_alt_text(self.rows, title=self.title)

    @property
    def caption(self) -> str:
        return encoding.encoding_caption(self.rows, base=self.base)

    def figure(self, layout: Layout) -> go.Figure:
        return encoding.encoding_heatmap(self.rows, title=self.title, **layout.options)

    def numbers(self) -> Numbers:
        return _table_numbers(self.rows)

    def python(self, layout: Layout) -> Lines:
        return [
            self.table_python,
            f"hs.figures.encoding_heatmap(table, title=hs.figures.FORMULA_TITLE{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class FormulaWaves(_OfFormula):
    """Dimensions of the formula's table over position."""

    rows: FloatArray
    dimensions: Sequence[int]
    base: float

    title = "Dimensions of the formula over position"
    name = "formula-waves"

    @property
    def alt(self) -> str:
        return encoding.waves_alt_text(self.rows, self.dimensions, base=self.base)

    @property
    def caption(self) -> str:
        return encoding.waves_caption(self.rows, self.dimensions, base=self.base)

    def figure(self, layout: Layout) -> go.Figure:
        return encoding.waves(self.rows, self.dimensions, base=self.base, **layout.options)

    def numbers(self) -> Numbers:
        return _table_numbers(self.rows, self.dimensions)

    def python(self, layout: Layout) -> Lines:
        return [
            self.table_python,
            f"hs.figures.waves(table, {list(self.dimensions)}, base={self.base!r}{layout.python})",
        ]


def _table_numbers(table: FloatArray, dimensions: Sequence[int] | None = None) -> Numbers:
    chosen = range(table.shape[1]) if dimensions is None else dimensions
    return Numbers(
        {},
        {"position": range(len(table)), "dimension": chosen},
        {"value": (("position", "dimension"), table[:, list(chosen)])},
    )


def _similarity(cosine: bool) -> str:
    return "cosine" if cosine else "dot_product"
