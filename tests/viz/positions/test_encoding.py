"""Position encodings as measures and pictures."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.explain.position_measures import (
    BASE,
    by_offset,
    formula_table,
    likeness,
    on_circle,
    rotation_angles,
    rotation_deviation,
    row_norms,
    wavelengths,
)
from model.paper.encoding import sinusoidal_table
from model.trace.attention_map import AttentionKind, AttentionMap, FloatArray, Site, Tokens
from model.trace.trace import Trace
from tests.kit.pictures import drawing
from viz.draw import style, themes
from viz.positions.circle import Circle
from viz.positions.embedding_sum import EmbeddingSum
from viz.positions.neighbours import MOST_HEADS, NeighbourHeads, neighbour_heads
from viz.positions.score_terms import TermShares, term_shares
from viz.positions.similarity import ByOffset, Similarity
from viz.positions.table import (
    FORMULA_TITLE,
    MODEL_TITLE,
    NAMED_POSITIONS,
    Formula,
    Positions,
    untrained_words,
)
from viz.positions.waves import NO_DIMENSION, Waves
from viz.save.picture import Layout

SINUSOIDS = formula_table(32, 60)
LEARNED = np.random.default_rng(3).normal(scale=0.2, size=(60, 32)).astype(np.float32)
TOKENS = Tokens(("▁The", "▁<b>cat</b>", "▁sat", "</s>"), (10, 11, 12, 3))
TERM_NAMES = ("word-word", "word-position", "position-word", "position-position", "bias")

encoding_heatmap = drawing(
    lambda table, title=MODEL_TITLE, **named: Positions(table, None, heading=title, **named)
)
waves = drawing(Waves)
circle = drawing(Circle)
likeness_heatmap = drawing(Similarity)
by_offset_figure = drawing(lambda table, cosine=False: ByOffset(table, cosine))
parts_figure = drawing(lambda parts: EmbeddingSum(parts, ""))
terms_figure = drawing(lambda shares: TermShares(shares, ""))
neighbours_figure = drawing(NeighbourHeads)

even_widths = st.integers(1, 24).map(lambda half: 2 * half)
bases = st.floats(2, 1e5)


@dataclass(frozen=True)
class Sentence:
    tokens: Tokens
    word: FloatArray
    scaled: FloatArray
    position: FloatArray
    sum: FloatArray


def deviation(table: FloatArray) -> float:
    """The largest difference of the products of rows that are equally far apart."""
    found = by_offset(table)
    return float((found.high - found.low).max())


def a_sentence(tokens: Tokens = TOKENS, d_model: int = 32, factor: float = 4.0) -> Sentence:
    rng = np.random.default_rng(5)
    word = rng.normal(size=(len(tokens), d_model)).astype(np.float32)
    scaled = (word * np.float32(factor)).astype(np.float32)
    position = formula_table(d_model, max(len(tokens), 1))[: len(tokens)]
    return Sentence(tokens, word, scaled, position, scaled + position)


def random_terms(n_heads: int = 3, n_tokens: int = 6) -> dict[str, FloatArray]:
    rng = np.random.default_rng(11)
    return {
        name: rng.normal(size=(n_heads, n_tokens, n_tokens)).astype(np.float32)
        for name in TERM_NAMES
    }


WORDS = Tokens(tuple(f"▁w{i}" for i in range(8)), tuple(range(10, 18)))


def a_trace(*heads: np.ndarray) -> Trace:
    """One encoder layer with these heads, (query, key) each."""
    site = Site(AttentionKind.ENCODER, 0)
    weights = np.stack(heads).astype(np.float32)
    allowed = np.ones(weights.shape[1:], dtype=bool)
    seen = AttentionMap(site, weights=weights, allowed=allowed, queries=WORDS, keys=WORDS)
    return Trace(
        source=WORDS,
        target=Tokens(),
        predictions=Tokens(),
        text="",
        source_text="",
        maps={site: seen},
    )


def looking(step: int) -> np.ndarray:
    """Each row looks at the token so many places on, and the end rows at themselves."""
    places = np.clip(np.arange(8) + step, 0, 7)
    return np.eye(8)[places]


EVENLY = np.full((8, 8), 1 / 8)
BEFORE = a_trace(EVENLY, looking(1), looking(-1))
AFTER = a_trace(EVENLY, 0.5 * looking(1) + 0.5 * looking(-1), EVENLY)

FIGURES: dict[str, Callable[..., go.Figure]] = {
    "encoding": lambda **look: encoding_heatmap(SINUSOIDS, **look),
    "encoding of a sentence": lambda **look: encoding_heatmap(SINUSOIDS[:4], tokens=TOKENS, **look),
    "waves": lambda **look: waves(SINUSOIDS, [0, 9, 31], **look),
    "learned waves": lambda **look: waves(LEARNED, [0, 9], base=None, **look),
    "circle": lambda **look: circle(SINUSOIDS, 3, 20, **look),
    "no circle": lambda **look: circle(LEARNED, 3, 20, base=None, **look),
    "dot product": lambda **look: likeness_heatmap(SINUSOIDS, cosine=False, **look),
    "cosine": lambda **look: likeness_heatmap(LEARNED, cosine=True, **look),
    "by offset": lambda **look: by_offset_figure(SINUSOIDS, **look),
    "parts": lambda **look: parts_figure(a_sentence(), **look),
    "terms": lambda **look: terms_figure(term_shares(random_terms()), **look),
    "neighbours": lambda **look: neighbours_figure(neighbour_heads(BEFORE, AFTER), **look),
}


# Measures.


@given(even_widths, st.integers(1, 60))
def test_the_formula_is_the_one_that_a_model_is_built_with(d_model: int, length: int) -> None:
    expected = sinusoidal_table(length, d_model).numpy()
    np.testing.assert_allclose(formula_table(d_model, length), expected, atol=1e-6)


def test_the_formula_follows_its_base() -> None:
    expected = sinusoidal_table(40, 16, base=50.0).numpy()
    np.testing.assert_allclose(formula_table(16, 40, 50.0), expected, atol=1e-6)


@given(even_widths, bases)
def test_a_wavelength_is_how_many_positions_one_turn_takes(d_model: int, base: float) -> None:
    found = wavelengths(d_model, base)
    assert found[0] == pytest.approx(2 * math.pi)
    expected = [2 * math.pi * base ** (2 * i / d_model) for i in range(d_model // 2)]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: formula_table(7, 4), "must be even and at least 2; it is 7."),
        (lambda: wavelengths(0), "must be even and at least 2; it is 0."),
        (lambda: formula_table(8, 0), "at least 1 position; 0 were asked for."),
        (lambda: wavelengths(8, 0), "a finite number above 0; it is 0."),
        (lambda: wavelengths(8, math.inf), "a finite number above 0; it is inf."),
        (lambda: wavelengths(8, math.nan), "a finite number above 0; it is nan."),
    ],
)
def test_a_formula_that_makes_no_table_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=r"; it is|were asked for") as refused:
        make()
    assert str(refused.value).endswith(message)


@given(even_widths, st.integers(1, 60))
def test_sinusoids_have_the_norm_root_of_half_d_model(d_model: int, length: int) -> None:
    norms = row_norms(formula_table(d_model, length))
    np.testing.assert_allclose(norms, math.sqrt(d_model / 2), atol=1e-5)


@given(even_widths, bases, st.integers(2, 60))
def test_the_likeness_of_sinusoids_depends_on_the_offset_alone(
    d_model: int, base: float, length: int
) -> None:
    table = formula_table(d_model, length, base)
    assert deviation(table) <= 1e-4
    for offset in (0, 1, length - 1):
        assert rotation_deviation(table, offset) <= 1e-5


def test_the_likeness_of_learned_rows_depends_on_where_they_stand() -> None:
    assert deviation(LEARNED) > 0.1
    assert rotation_deviation(LEARNED, 1) > 0.1


def test_likeness_is_the_dot_product_or_the_cosine() -> None:
    exact = LEARNED.astype(np.float64)
    np.testing.assert_allclose(likeness(LEARNED, cosine=False), exact @ exact.T)
    alike = likeness(LEARNED, cosine=True)
    np.testing.assert_allclose(np.diagonal(alike), 1)
    expected = exact[2] @ exact[7] / np.linalg.norm(exact[2]) / np.linalg.norm(exact[7])
    assert alike[2, 7] == pytest.approx(expected)


def test_positions_scaled_to_nothing_are_like_none() -> None:
    nothing = np.zeros((5, 4), dtype=np.float32)
    assert not likeness(nothing, cosine=True).any()
    assert deviation(nothing) == 0
    assert not on_circle(nothing, 0)
    colors = encoding_heatmap(nothing).layout.coloraxis
    assert (colors.cmin, colors.cmax) == (-1, 1)


def test_by_offset_gathers_every_pair_of_positions_once() -> None:
    found = by_offset(LEARNED)
    alike = likeness(LEARNED, cosine=False)
    pairs = [alike[p, p + 7] for p in range(len(LEARNED) - 7)]
    assert found.offsets.tolist() == list(range(60))
    assert found.mean[7] == pytest.approx(np.mean(pairs))
    assert (found.low[7], found.high[7]) == (min(pairs), max(pairs))


@given(even_widths, st.integers(1, 9))
def test_the_measured_rotation_is_the_angle_of_the_formula(d_model: int, offset: int) -> None:
    angles = rotation_angles(formula_table(d_model, 40), offset)
    expected = offset * 2 * math.pi / wavelengths(d_model)
    np.testing.assert_allclose(np.cos(angles), np.cos(expected), atol=1e-6)
    np.testing.assert_allclose(np.sin(angles), np.sin(expected), atol=1e-6)


def test_sinusoids_lie_on_circles_and_learned_rows_do_not() -> None:
    assert all(on_circle(SINUSOIDS, pair) for pair in range(16))
    assert on_circle(0.3 * SINUSOIDS, 2)
    assert not any(on_circle(LEARNED, pair) for pair in range(16))


def test_a_shift_needs_positions_so_far_apart_and_paired_dimensions() -> None:
    for offset in (60, -1):
        with pytest.raises(
            ValueError, match=rf"A shift within this table may be from 0 to 59; it is {offset}\.$"
        ):
            rotation_deviation(SINUSOIDS, offset)
    with pytest.raises(ValueError, match=r"an even number of them; the table has 5\.$"):
        rotation_deviation(LEARNED[:, :5], 1)


@pytest.mark.parametrize(
    "table", [np.zeros((0, 4)), np.zeros(4), np.zeros((2, 2, 2)), np.array([[1.0, np.nan]])]
)
def test_what_is_no_table_is_refused_by_every_measure(table: FloatArray) -> None:
    def caption(table: FloatArray) -> str:
        return Similarity(table).caption

    for measure in (row_norms, deviation, encoding_heatmap, caption):
        with pytest.raises(ValueError, match=r"shape \(position, d_model\)|NaN or infinity"):
            measure(table)


# Figures.


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_complete_in_both_themes_and_widths(
    name: str, narrow: bool, dark: bool
) -> None:
    figure = FIGURES[name](narrow=narrow, dark=dark)
    theme = themes.page(dark)
    assert figure.layout.font.color == theme.text
    assert figure.layout.title.text[0].isupper()
    assert figure.layout.height > 200
    titles = [figure.layout.xaxis.title.text, figure.layout.yaxis.title.text]
    if narrow:
        # On a phone a line below the title says what the axes are.
        assert not any(titles)
        assert figure.layout.title.subtitle.text
    else:
        assert all(title[0].isupper() for title in titles)


def test_the_heatmap_holds_the_table_exactly() -> None:
    for table in (SINUSOIDS, LEARNED):
        found = encoding_heatmap(table).data[0].z
        assert found.dtype == np.float32
        assert np.array_equal(found, table)


def test_tokens_stand_on_the_axis_escaped_and_further_positions_as_numbers() -> None:
    figure = encoding_heatmap(SINUSOIDS[:6], tokens=TOKENS)
    assert list(figure.layout.yaxis.ticktext) == [
        *("The", "&lt;b&gt;cat&lt;/b&gt;", "sat", "&lt;/s&gt;"),
        *("4", "5"),
    ]
    assert figure.layout.yaxis.title.text == "Token"
    assert tuple(figure.layout.yaxis.range) == (5.5, -0.5)


def test_a_long_table_has_numbers_on_its_axis() -> None:
    table = formula_table(8, NAMED_POSITIONS + 1)
    figure = encoding_heatmap(table, tokens=TOKENS)
    assert figure.layout.yaxis.ticktext is None
    assert figure.layout.yaxis.title.text == "Position"


def test_more_tokens_than_positions_are_refused() -> None:
    with pytest.raises(ValueError, match=r"there are 4 tokens and 3 positions\.$"):
        encoding_heatmap(SINUSOIDS[:3], tokens=TOKENS)


def test_waves_are_columns_of_the_table_named_by_their_wavelength() -> None:
    figure = waves(SINUSOIDS, [4, 31])
    assert [trace.name for trace in figure.data] == [
        f"dimension 4 (sin), wavelength {wavelengths(32)[2]:.2f}",
        f"dimension 31 (cos), wavelength {wavelengths(32)[15]:,.0f}",
    ]
    for trace, dimension in zip(figure.data, (4, 31), strict=True):
        assert np.array_equal(trace.y, SINUSOIDS[:, dimension])
        assert trace.showlegend
    assert len({trace.line.color for trace in figure.data}) == 2


def test_more_waves_than_colours_differ_in_their_dashes() -> None:
    figure = waves(SINUSOIDS, list(range(20)))
    assert len({(trace.line.color, trace.line.dash) for trace in figure.data}) == 20


def test_learned_waves_have_no_wavelength() -> None:
    assert [trace.name for trace in waves(LEARNED, [4], base=None).data] == ["dimension 4"]
    assert "need not be waves" in Waves(LEARNED, [4], base=None).full_caption


def test_a_dimension_a_pair_or_a_position_that_is_not_there_is_refused() -> None:
    with pytest.raises(IndexError, match=r"no dimension 32; choose one from 0 to 31\.$"):
        waves(SINUSOIDS, [0, 32])
    with pytest.raises(IndexError, match=r"no pair of dimensions 16; choose one from 0 to 15\.$"):
        circle(SINUSOIDS, 16, 0)
    with pytest.raises(IndexError, match=r"no position 60; choose one from 0 to 59\.$"):
        circle(SINUSOIDS, 0, 60)


def named(figure: go.Figure) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


@pytest.mark.parametrize("position", [0, 5, 59])
def test_the_point_stands_where_the_table_says_and_leaves_its_trail(position: int) -> None:
    figure = circle(SINUSOIDS, 3, position)
    traces = named(figure)
    point = traces["the position"]
    assert (point.x[0], point.y[0]) == pytest.approx(
        (SINUSOIDS[position, 7], SINUSOIDS[position, 6])
    )
    assert len(traces["earlier positions"].x) == position
    ring = traces["the circle that all positions lie on"]
    np.testing.assert_allclose(np.hypot(ring.x, ring.y), 1, atol=1e-6)
    assert figure.layout.xaxis.scaleanchor == "y"


def test_learned_positions_are_drawn_without_a_circle_and_the_caption_says_so() -> None:
    assert "the circle that all positions lie on" not in named(circle(LEARNED, 3, 5, base=None))
    assert "trace no circle" in Circle(LEARNED, 3, 5).full_caption
    assert "on no circle" in Circle(LEARNED, 3, 5).alt
    assert "Each step turns it by" in Circle(SINUSOIDS, 3, 5).full_caption


@pytest.mark.parametrize("cosine", [False, True])
def test_the_matrix_of_likeness_shows_what_was_measured(cosine: bool) -> None:
    figure = likeness_heatmap(LEARNED, cosine=cosine)
    np.testing.assert_allclose(
        figure.data[0].z, likeness(LEARNED, cosine=cosine), rtol=1e-5, atol=1e-7
    )
    if cosine:
        assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (-1, 1)


def test_the_curve_is_the_mean_between_the_least_and_the_greatest() -> None:
    found = by_offset(LEARNED)
    for trace, values in zip(
        by_offset_figure(LEARNED).data, (found.low, found.high, found.mean), strict=True
    ):
        assert np.array_equal(trace.y, values)


@pytest.mark.parametrize("cosine", [False, True])
def test_where_only_rounding_differs_no_band_is_drawn_or_named_and_no_number_is_printed(
    cosine: bool,
) -> None:
    figure = by_offset_figure(SINUSOIDS, cosine=cosine)
    assert [trace.name for trace in figure.data] == ["mean"]
    name = "cosine" if cosine else "dot product"
    said = [
        Similarity(SINUSOIDS, cosine).full_caption,
        ByOffset(SINUSOIDS, cosine).full_caption,
        ByOffset(SINUSOIDS, cosine).alt,
    ]
    assert f"all {name}s are equal up to rounding." in said[0]
    assert f"have the same {name}." in said[1]
    assert "wherever it starts, up to rounding." in said[1]
    assert "at one offset all are equal up to rounding." in said[2]
    assert not any("e−" in each for each in said)
    assert "the band runs" in ByOffset(LEARNED, cosine).full_caption


def test_captions_print_what_was_measured_of_the_table() -> None:
    for cosine, name in ((True, "cosine"), (False, "dot product")):
        assert f"have one colour: the {name}" in Similarity(SINUSOIDS, cosine).full_caption
        assert f"change their colour: the {name}" in Similarity(LEARNED, cosine).full_caption
        found = by_offset(LEARNED, cosine=cosine)
        most = style.number(float((found.high - found.low).max()))
        assert f"{name}s differ by at most {most}." in Similarity(LEARNED, cosine).full_caption
    assert style.number(deviation(LEARNED)) in Similarity(LEARNED, False).full_caption
    assert "rotation" not in ByOffset(LEARNED[:, :5]).full_caption
    assert "once in 6.28 positions" in Positions(SINUSOIDS, BASE).full_caption
    assert "dimension 30 turns once in" in Waves(SINUSOIDS, [30, 2]).full_caption
    assert Waves(SINUSOIDS, []).full_caption == NO_DIMENSION


def test_positions_of_one_direction_and_many_lengths_are_alike_in_cosine_alone() -> None:
    lengths = np.arange(1, 7, dtype=np.float32)[:, None] * np.ones((1, 4), dtype=np.float32)
    assert "have one colour: the cosine" in Similarity(lengths, True).full_caption
    assert "change their colour: the dot product" in Similarity(lengths, False).full_caption


@pytest.mark.parametrize("offset", [1, 4])
def test_a_shift_is_called_a_rotation_only_where_the_table_turns(offset: int) -> None:
    turned = ByOffset(SINUSOIDS).shift_words(offset)
    assert f"A shift by {offset} is one rotation" in turned
    learned = ByOffset(LEARNED).shift_words(offset)
    deviation = style.number(rotation_deviation(LEARNED, offset))
    largest = style.number(float(np.abs(LEARNED).max()))
    assert f"A shift by {offset} is no rotation" in learned
    assert f"is off by up to {deviation} in a number" in learned
    assert f"of the table is {largest}." in learned


def test_rows_that_training_never_reached_are_told_from_those_it_did() -> None:
    assert "were learned in training" in Positions(LEARNED, None, 60).full_caption
    some = Positions(LEARNED, None, 40).full_caption
    assert "Rows 0 to 39 were learned in training" in some
    assert "Below the line, rows 40 to 59 are random" in some
    assert "Below the line, row 59 is random" in Positions(LEARNED, None, 59).full_caption
    unknown = Positions(LEARNED, None).full_caption
    assert "learned in training" not in unknown
    assert "is not recorded" in unknown
    assert "trained" not in Positions(SINUSOIDS, BASE).full_caption
    assert "never reached rows 40 to 59." in Positions(LEARNED, None, 40).alt
    assert "reached" not in Positions(LEARNED, None, 60).alt
    assert untrained_words(60, 40).startswith(" Left out: rows 40 to 59")
    assert untrained_words(60, 60) == untrained_words(60, 80) == ""


@pytest.mark.parametrize(("trained", "anchor"), [(40, "top"), (58, "bottom")])
def test_a_line_parts_the_rows_that_training_reached_from_the_others(
    trained: int, anchor: str
) -> None:
    layout = encoding_heatmap(LEARNED, trained=trained).layout
    (line,), (text,) = layout.shapes, layout.annotations
    assert line.y0 == line.y1 == text.y == trained - 0.5
    assert "never trained" in text.text
    # Within the plot, wherever there is room for it.
    assert text.yanchor == anchor
    for none in (None, 60, 90):
        layout = encoding_heatmap(LEARNED, trained=none).layout
        assert not layout.shapes
        assert not layout.annotations


def test_alt_texts_hold_sizes_and_numbers() -> None:
    assert "60 positions by 32 dimensions" in Positions(SINUSOIDS, BASE).alt
    assert "the norm of a row is 4.00 throughout" in Positions(SINUSOIDS, BASE).alt
    assert Positions(SINUSOIDS, None, heading=FORMULA_TITLE).alt.startswith(FORMULA_TITLE)
    assert "dimension 4 (sin)" in Waves(SINUSOIDS, [4]).alt
    assert "position 0 stands at 1.00 across and 0 up" in Circle(SINUSOIDS, 3, 0).alt
    assert "itself has 16.00 on average" in Similarity(SINUSOIDS, False).alt
    assert "16.00 at offset 0" in ByOffset(SINUSOIDS, False).alt


def test_one_position_alone_makes_every_picture() -> None:
    one = SINUSOIDS[:1]
    for figure in (
        encoding_heatmap(one),
        waves(one, [0]),
        circle(one, 0, 0),
        likeness_heatmap(one, cosine=True),
        by_offset_figure(one),
    ):
        assert figure.data
    for words in (Similarity(one, True).alt, Circle(one, 0, 0).full_caption):
        assert words


# Word and position.


def test_the_four_parts_are_drawn_unchanged_over_the_same_tokens() -> None:
    parts = a_sentence()
    figure = parts_figure(parts)
    drawn = [trace for trace in figure.data if trace.type == "heatmap"]
    assert [trace.name for trace in drawn] == ["Word", "Scaled word", "Position", "Sum"]
    for trace, values in zip(
        drawn, (parts.word, parts.scaled, parts.position, parts.sum), strict=True
    ):
        assert np.array_equal(trace.z, values)
    # The word has a scale of its own.
    assert [trace.coloraxis for trace in drawn] == [None, *["coloraxis"] * 3]
    for place in (2, 3, 4):
        assert figure.layout[f"yaxis{place}"].matches == "y"
    assert list(figure.layout.yaxis.ticktext) == [
        *("The", "&lt;b&gt;cat&lt;/b&gt;", "sat", "&lt;/s&gt;")
    ]


def test_each_row_has_its_norm_beside_it() -> None:
    parts = a_sentence()
    written = named(parts_figure(parts))["norms: Position"].text
    assert [float(text) for text in written] == pytest.approx(
        np.linalg.norm(parts.position, axis=1), abs=0.05
    )


def test_a_long_sentence_keeps_norms_and_labels_in_step() -> None:
    tokens = Tokens(tuple(f"▁token{i}" for i in range(200)), tuple(range(200)))
    for narrow in (False, True):
        figure = parts_figure(a_sentence(tokens), narrow=narrow)
        assert list(named(figure)["norms: Sum"].y) == list(figure.layout.yaxis.tickvals)
        assert figure.layout.height < 1300


def test_the_caption_of_the_parts_says_how_the_words_were_scaled() -> None:
    assert "multiplied by 4.00" in EmbeddingSum(a_sentence(), "").full_caption
    assert "as it is" in EmbeddingSum(a_sentence(factor=1.0), "").full_caption
    assert "4 tokens from The on by 32 dimensions" in EmbeddingSum(a_sentence(), "").alt


def test_parts_that_do_not_fit_their_tokens_are_refused() -> None:
    parts = a_sentence()
    with pytest.raises(ValueError, match=r"Position must hold one finite row a token, \(4, 32\)"):
        parts_figure(
            Sentence(parts.tokens, parts.word, parts.scaled, parts.position[:2], parts.sum)
        )
    with pytest.raises(ValueError, match="no token to show"):
        parts_figure(a_sentence(Tokens()))


def test_the_shares_of_a_head_add_up_to_one() -> None:
    shares = term_shares(random_terms())
    np.testing.assert_allclose(sum(shares.values()), 1)


def test_a_term_that_alone_makes_the_differences_has_the_whole_share() -> None:
    terms = {name: np.zeros_like(values) for name, values in random_terms().items()}
    terms["position-position"] = random_terms()["position-position"]
    # The same for all keys of a row: no weight hears of it.
    terms["bias"] = np.repeat(random_terms()["bias"][:, :, :1], 6, axis=2)
    shares = term_shares(terms)
    np.testing.assert_allclose(shares["position-position"], 1)
    np.testing.assert_allclose(shares["bias"], 0, atol=1e-9)


def test_a_term_that_works_against_the_others_has_a_share_below_zero() -> None:
    values = random_terms()["bias"]
    shares = term_shares({"with": 3 * values, "against": -values})
    np.testing.assert_allclose(shares["with"], 1.5, rtol=1e-5)
    np.testing.assert_allclose(shares["against"], -0.5, rtol=1e-5)
    figure = terms_figure(shares)
    assert figure.layout.barmode == "relative"
    assert figure.layout.yaxis.range[0] < -50
    assert figure.layout.yaxis.range[1] > 150


def test_scores_that_do_not_differ_within_a_row_have_no_shares() -> None:
    flat = np.full((2, 5, 5), 1.7, dtype=np.float32)
    shares = term_shares({"a": flat, "b": -0.3 * flat})
    assert not any(share.any() for share in shares.values())


def test_terms_of_different_shapes_or_none_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Every term has one shape, \(head, query, key\)"):
        term_shares({"a": np.zeros((1, 2, 2)), "b": np.zeros((1, 2, 3))})
    with pytest.raises(ValueError, match="There is no term"):
        term_shares({})
    with pytest.raises(ValueError, match="a share for every head"):
        terms_figure({"a": np.zeros(2), "b": np.zeros(3)})


def test_the_bars_are_the_shares_in_per_cent_with_a_colour_a_term() -> None:
    shares = term_shares(random_terms())
    figure = terms_figure(shares)
    assert [trace.name for trace in figure.data] == [
        *("Word–word", "Word–position", "Position–word", "Position–position", "Bias")
    ]
    for trace, share in zip(figure.data, shares.values(), strict=True):
        np.testing.assert_allclose(trace.y, 100 * share)
    assert len({trace.marker.color for trace in figure.data}) == 5
    assert "position–position" in TermShares(shares, "").alt
    assert "Bias" in TermShares(shares, "").more


def test_heads_of_neighbours_come_first_with_their_shares_before_and_after() -> None:
    found = neighbour_heads(BEFORE, AFTER)
    assert [(each.head, each.neighbour) for each in found[:2]] == [(1, "next"), (2, "previous")]
    assert [each.before for each in found[:2]] == [1, 1]
    assert [each.after for each in found[:2]] == pytest.approx([0.5, 1 / 8])
    assert found[0].name == "Encoder, layer 0, head 1: next"
    assert len(neighbour_heads(BEFORE, AFTER, most=1)) == 1
    assert len(found) <= MOST_HEADS


def test_the_bars_of_neighbours_are_their_shares_in_per_cent() -> None:
    found = neighbour_heads(BEFORE, AFTER)
    figure = neighbours_figure(found)
    assert [trace.name for trace in figure.data] == [
        "the model’s own positions",
        "edited positions",
    ]
    assert list(figure.data[0].x) == [100 * each.before for each in found]
    assert list(figure.data[1].x) == [100 * each.after for each in found]
    assert "head 2: previous token 100%, then 12%" in NeighbourHeads(found).alt
    assert (
        "2 of these 3 heads lost at least half their weight" in NeighbourHeads(found).full_caption
    )


def test_positions_alone_tell_neighbours_in_an_encoder_and_not_in_a_decoder() -> None:
    encoder = neighbour_heads(BEFORE, AFTER)
    decoder = [replace(each, site=Site(AttentionKind.DECODER, 0)) for each in encoder]
    told = [
        [words in NeighbourHeads(heads).more for words in ("only positions", "the causal mask")]
        for heads in (encoder, decoder, [*encoder, *decoder])
    ]
    assert told == [[True, False], [False, True], [True, True]]


def test_no_head_of_neighbours_is_said_in_a_sentence() -> None:
    nobody = NeighbourHeads(())
    for show in (lambda: neighbours_figure(()), lambda: nobody.alt, lambda: nobody.caption):
        with pytest.raises(ValueError, match="no head of self-attention"):
            show()


@pytest.mark.parametrize("narrow", [False, True])
def test_a_table_wider_than_its_pixels_leaves_out_whole_pairs_and_says_so(narrow: bool) -> None:
    table = formula_table(1024, 12)
    figure = Formula(table, 10000.0).figure(Layout(narrow=narrow))
    drawn, step = figure.data[0], 6 if narrow else 2
    columns = drawn.customdata[0].tolist()
    assert columns == [each for each in range(1024) if each // 2 % step == 0]
    assert np.array_equal(drawn.z, table[:, columns])
    # In the first row, sines are 0 and cosines 1.
    assert drawn.z[0].tolist() == [0.0, 1.0] * math.ceil(512 / step)
    assert (drawn.x0, drawn.dx) == ((step - 1) / 2, step)
    assert f"one pair in {step}" in figure.to_json()
