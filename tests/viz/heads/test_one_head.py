import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from tests.kit.readings import attention_heatmap, head_of
from viz.draw import style, themes

SOURCE = Tokens(("▁The", "▁cat", "▁sat", "</s>"), (10, 11, 12, 3))
TARGET = Tokens(("<s>", "▁Katze", "▁sa", "ß", "▁<b>x</b>"), (2, 20, 21, 22, 23))
PREDICTIONS = TARGET[1:] + Tokens(("</s>",), (3,))


def softmax(scores: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    powers = np.where(allowed, np.exp(scores), 0)
    return (powers / np.maximum(powers.sum(axis=-1, keepdims=True), 1e-9)).astype(np.float32)


def a_map(
    kind: str = "cross",
    *,
    queries: Tokens = TARGET,
    keys: Tokens = SOURCE,
    n_heads: int = 3,
    allowed: np.ndarray | None = None,
) -> AttentionMap:
    if allowed is None:
        allowed = np.ones((len(queries), len(keys)), dtype=bool)
    scores = np.random.default_rng(7).normal(size=(n_heads, len(queries), len(keys)))
    return AttentionMap(
        Site(AttentionKind(kind), 3),
        weights=softmax(scores, allowed),
        allowed=allowed,
        queries=queries,
        keys=keys,
    )


def causal(tokens: Tokens = TARGET) -> AttentionMap:
    allowed = np.tril(np.ones((len(tokens), len(tokens)), dtype=bool))
    return a_map("decoder", queries=tokens, keys=tokens, allowed=allowed)


def many(count: int) -> Tokens:
    return Tokens(tuple(f"▁token{i}" for i in range(count)), tuple(range(count)))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("head", [0, 1, 2])
def test_the_picture_shows_exactly_the_recorded_weights(head: int, dark: bool) -> None:
    seen = a_map()
    figure = attention_heatmap(seen, head, dark=dark)
    assert np.array_equal(figure.data[0].z, seen.weights[head])


def test_every_head_has_the_same_colour_scale_from_0_to_1() -> None:
    seen = a_map()
    figures = [attention_heatmap(seen, head) for head in range(3)]
    for figure in figures:
        assert (figure.data[0].zmin, figure.data[0].zmax) == (0, 1)
        assert figure.data[0].colorscale == figures[0].data[0].colorscale
        assert figure.data[0].colorbar.title.text == "weight"
        assert figure.data[0].showscale is not False
    stops = [place for place, _ in figures[0].data[0].colorscale]
    assert (stops[0], stops[-1]) == (0, 1)


@pytest.mark.parametrize("theme", [themes.LIGHT, themes.DARK])
def test_the_colour_scale_rises_in_lightness_alone(theme: themes.Theme) -> None:
    luminances = [themes.luminance(color) for color in theme.weights]
    assert luminances in (sorted(luminances), sorted(luminances, reverse=True))
    assert len(set(luminances)) == len(luminances)


@pytest.mark.parametrize("theme", [themes.LIGHT, themes.DARK])
def test_signed_colours_run_from_the_middle_to_both_sides_alike(theme: themes.Theme) -> None:
    luminances = [themes.luminance(color) for color in theme.signed]
    half = len(luminances) // 2
    for side in (luminances[:half], luminances[half:]):
        assert side in (sorted(side), sorted(side, reverse=True))
    assert luminances[half] == pytest.approx(luminances[half - 1], abs=0.06)
    assert [place for place, _ in theme.signed_colorscale][:: len(theme.signed) - 1] == [0, 1]


@pytest.mark.parametrize(("theme", "page"), [("light", themes.LIGHT), ("dark", themes.DARK)])
def test_figures_have_the_colours_of_their_page(theme: str, page: themes.Theme) -> None:
    config = Path(__file__).parents[3] / ".streamlit" / "config.toml"
    colors = tomllib.loads(config.read_text(encoding="utf-8"))["theme"][theme]
    assert list(page.weights) == colors["chartSequentialColors"]
    assert list(page.signed) == colors["chartDivergingColors"]
    assert page.text == colors["textColor"]


@pytest.mark.parametrize("theme", [themes.LIGHT, themes.DARK])
@pytest.mark.parametrize("weight", np.linspace(0, 1, 41).tolist())
def test_a_number_stands_out_on_the_colour_of_its_cell(theme: themes.Theme, weight: float) -> None:
    color = themes.luminance(theme.weights[round(weight * (len(theme.weights) - 1))])
    ink = themes.luminance(theme.ink(weight))
    assert (max(color, ink) + 0.05) / (min(color, ink) + 0.05) >= 4.5


def test_tokens_stand_at_integers_so_that_equal_tokens_keep_their_own_cells() -> None:
    tokens = Tokens(("▁the", "▁the", "▁the"), (5, 5, 5))
    figure = attention_heatmap(a_map("encoder", queries=tokens, keys=tokens), 0)
    assert list(figure.layout.xaxis.tickvals) == [0, 1, 2]
    assert list(figure.layout.yaxis.tickvals) == [0, 1, 2]
    assert list(figure.layout.xaxis.ticktext) == ["the", "the", "the"]


def test_labels_are_escaped_on_every_axis_and_under_the_pointer() -> None:
    figure = attention_heatmap(a_map(), 0, beside=PREDICTIONS)
    assert list(figure.layout.yaxis.ticktext) == [
        "&lt;s&gt;",
        "Katze",
        "sa",
        "…ß",
        "&lt;b&gt;x&lt;/b&gt;",
    ]
    assert figure.layout.xaxis.ticktext[-1] == "&lt;/s&gt;"
    assert figure.layout.yaxis2.ticktext[-1] == "→ &lt;/s&gt;"
    assert figure.data[0].customdata[4][3].tolist() == [
        "&lt;b&gt;x&lt;/b&gt; (4)",
        "&lt;/s&gt; (3)",
    ]


def test_queries_run_downward_and_keys_to_the_right() -> None:
    figure = attention_heatmap(a_map(), 0)
    assert tuple(figure.layout.yaxis.range) == (4.5, -0.5)
    assert tuple(figure.layout.xaxis.range) == (-0.5, 3.5)
    assert figure.layout.yaxis.title.text == "Query: target token just read"
    assert figure.layout.xaxis.title.text == "Key: source token looked at"


def test_beside_each_decoder_row_stands_the_token_it_predicts() -> None:
    figure = attention_heatmap(a_map(), 0, beside=PREDICTIONS)
    right = figure.layout.yaxis2
    assert (right.side, right.overlaying) == ("right", "y")
    assert list(right.ticktext)[:3] == ["→ Katze", "→ sa", "→ …ß"]
    assert tuple(right.range) == tuple(figure.layout.yaxis.range)
    assert any(trace.yaxis == "y2" for trace in figure.data)


def test_rows_named_by_predictions_can_have_the_token_read_beside_them() -> None:
    figure = attention_heatmap(
        a_map(queries=PREDICTIONS),
        0,
        beside=TARGET,
        by_prediction=True,
    )
    assert figure.layout.yaxis.title.text == "Query: target token predicted"
    assert figure.layout.yaxis2.title.text == "Token just read"
    assert list(figure.layout.yaxis2.ticktext)[:2] == ["← &lt;s&gt;", "← Katze"]
    assert list(figure.layout.yaxis.ticktext)[:2] == ["Katze", "sa"]


def test_a_narrow_figure_keeps_its_width_for_the_cells() -> None:
    wide = attention_heatmap(a_map(), 0, beside=PREDICTIONS).layout
    narrow = attention_heatmap(a_map(), 0, beside=PREDICTIONS, narrow=True).layout
    for axis in (narrow.xaxis, narrow.yaxis, narrow.yaxis2):
        assert axis.title.text == ""
    assert narrow.title.text == wide.title.text
    for name in (wide.xaxis, wide.yaxis, wide.yaxis2):
        assert name.title.text in narrow.title.subtitle.text
    lines = narrow.title.subtitle.text.count("<br>") + 1
    assert narrow.margin.t >= style.TITLE_HEIGHT + lines * style.LINE_HEIGHT


def test_a_narrow_figure_says_nothing_of_a_right_side_that_is_empty() -> None:
    assert "Right" not in attention_heatmap(a_map(), 0, narrow=True).layout.title.subtitle.text


def test_a_narrow_figure_has_numbers_only_where_they_fit() -> None:
    def is_numbered(n_keys: int) -> bool:
        figure = attention_heatmap(a_map(keys=many(n_keys)), 0, narrow=True)
        return any(trace.name == "weight as a number" for trace in figure.data)

    assert is_numbered(style.NARROW_NUMBERED_COLUMNS)
    assert not is_numbered(style.NARROW_NUMBERED_COLUMNS + 1)


def test_a_narrow_figure_cuts_long_labels_and_keeps_them_safe() -> None:
    words = Tokens.unnamed(["short", "Donaudampfschiff", "<script>alert()", "שלום עולם וברכה"])
    figure = attention_heatmap(a_map("encoder", queries=words, keys=words), 0, narrow=True)
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        short, long, markup, leftward = axis.ticktext
        assert short == "short"
        assert long == "Donaudamp…"
        assert markup == "&lt;script&gt;a…"
        assert (leftward[0], leftward[-2:]) == ("\u2068", "…\u2069")
    assert "Donaudampfschiff (1)" in figure.data[0].customdata[1][1]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize(("n_queries", "n_keys"), [(0, 4), (5, 0), (0, 0)])
def test_a_head_whose_tokens_are_all_hidden_gives_a_figure_that_says_so(
    n_queries: int, n_keys: int, narrow: bool
) -> None:
    seen = a_map(queries=TARGET[:n_queries], keys=SOURCE[:n_keys])
    figure = attention_heatmap(seen, 2, beside=PREDICTIONS[:n_queries], narrow=narrow)
    assert figure.data[0].z.shape == (n_queries, n_keys)
    assert figure.data[0].showscale is False
    assert figure.layout.title.text == "Cross-attention, layer 3, head 2"
    assert "no cell" in figure.layout.annotations[0].text
    assert json.loads(figure.to_json())["layout"]["xaxis"]["visible"] is False
    assert head_of(seen, 2).alt == (
        f"Layer 3, head 2, cross-attention: {n_queries} target tokens by {n_keys} source tokens; "
        "there is no cell to show."
    )


def test_forbidden_cells_are_hatched_and_allowed_zeros_are_not() -> None:
    seen = causal()
    figure = attention_heatmap(seen, 1)
    ground, hatch = (trace for trace in figure.data if trace.name == "not allowed")
    assert np.array_equal(np.isfinite(ground.z), ~seen.allowed)
    assert hatch.fillpattern.shape == "/"
    assert hatch.showlegend
    assert "not allowed" in ground.hovertemplate
    # The outline of each row's forbidden run: from its first forbidden column to the last.
    corners = [
        (x, y) for x, y in zip(hatch.x, hatch.y, strict=True) if x is not None and y is not None
    ]
    assert min(corners) == (0.5, -0.5)
    assert max(corners) == (4.5, 3.5)


def test_heads_with_masks_of_their_own_show_their_own() -> None:
    allowed = np.ones((2, 5, 4), dtype=bool)
    allowed[1, :, 3] = False
    seen = a_map(n_heads=2, allowed=allowed)
    assert not any(trace.name == "not allowed" for trace in attention_heatmap(seen, 0).data)
    ground = next(trace for trace in attention_heatmap(seen, 1).data if trace.name == "not allowed")
    assert np.isfinite(ground.z).sum() == 5


def test_a_row_that_may_attend_to_nothing_is_hatched_throughout() -> None:
    allowed = np.ones((5, 4), dtype=bool)
    allowed[2] = False
    seen = a_map(allowed=allowed)
    ground = next(trace for trace in attention_heatmap(seen, 0).data if trace.name == "not allowed")
    assert np.isfinite(ground.z[2]).all()
    assert np.isnan(ground.z[[0, 1, 3, 4]]).all()


def test_small_pictures_carry_their_weights_as_numbers() -> None:
    seen = a_map()
    numbers = next(
        trace for trace in attention_heatmap(seen, 0).data if trace.name == "weight as a number"
    )
    for column, row, text in zip(numbers.x, numbers.y, numbers.text, strict=True):
        assert text == f"{seen.weights[0, row, column]:.2f}"


@pytest.mark.parametrize("count", [1, 2, 40, 70, 300])
def test_pictures_of_any_size_stay_of_a_size_to_be_looked_at(count: int) -> None:
    tokens = many(count)
    figure = attention_heatmap(causal(tokens), 0, beside=tokens)
    assert figure.data[0].z.shape == (count, count)
    assert 250 <= figure.layout.height <= style.MAX_PLOT_HEIGHT + 350
    plot = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    for axis in (figure.layout.yaxis, figure.layout.yaxis2):
        assert plot / len(axis.tickvals) >= style.MIN_ROW_HEIGHT - 1
        assert len(axis.tickvals) == len(axis.ticktext)
    assert len(figure.layout.xaxis.tickvals) <= style.LABELLED_COLUMNS


def test_a_long_sentence_stays_a_small_figure() -> None:
    assert len(attention_heatmap(causal(many(128)), 0).to_json()) < 400_000


@pytest.mark.parametrize("head", [-1, 3])
def test_a_head_that_is_not_there_is_refused(head: int) -> None:
    with pytest.raises(IndexError, match="heads 0 to 2"):
        attention_heatmap(a_map(), head)
    with pytest.raises(IndexError, match="heads 0 to 2"):
        assert head_of(a_map(), head).alt


def test_tokens_beside_the_rows_of_another_number_are_refused() -> None:
    with pytest.raises(ValueError, match="5 rows and 4 tokens"):
        attention_heatmap(a_map(), 0, beside=PREDICTIONS[:4])


def test_the_alternative_text_names_head_size_and_largest_weight() -> None:
    weights = np.zeros((3, 5, 4), dtype=np.float32)
    weights[2, 1, 1] = 0.934
    seen = AttentionMap(
        Site(AttentionKind.CROSS, 3),
        weights=weights,
        allowed=np.ones((5, 4), dtype=bool),
        queries=TARGET,
        keys=SOURCE,
    )
    assert head_of(seen, 2).alt == (
        "Layer 3, head 2, cross-attention: 5 target tokens by 4 source tokens; "
        "the largest weight is 0.93, from Katze to cat."
    )


def test_the_alternative_text_never_names_a_forbidden_cell() -> None:
    allowed = np.zeros((1, 4), dtype=bool)
    allowed[0, 3] = True
    weights = np.zeros((1, 1, 4), dtype=np.float32)
    one = AttentionMap(
        Site(AttentionKind.CROSS, 0),
        weights=weights,
        allowed=allowed,
        queries=TARGET[:1],
        keys=SOURCE,
    )
    assert head_of(one, 0).alt.endswith(
        "by 4 source tokens; the largest weight is 0.00, from <s> to </s>."
    )
    none = AttentionMap(
        Site(AttentionKind.CROSS, 0),
        weights=weights,
        allowed=allowed & False,
        queries=TARGET[:1],
        keys=SOURCE,
    )
    assert "1 target token by 4 source tokens" in head_of(none, 0).alt
    assert head_of(none, 0).alt.endswith("no query may attend to any key.")


@pytest.mark.parametrize("kind", list(AttentionKind))
def test_the_caption_is_one_line_that_says_how_counting_starts(kind: AttentionKind) -> None:
    seen = a_map(kind, queries=SOURCE, keys=SOURCE)
    line = head_of(seen, 0).caption
    assert "\n" not in line
    assert line.endswith(". Layers and heads count from 0.")
    assert "Hatched" not in line
    assert "Hatched: not allowed." in head_of(causal(), 0).caption


def test_long_labels_above_the_picture_get_room_below_its_title() -> None:
    short = attention_heatmap(a_map(), 0).layout
    long = attention_heatmap(a_map("encoder", queries=many(40), keys=many(40)), 0).layout
    assert short.margin.t == style.TOP + style.FONT_SIZE + 10
    # "token39" turned upright is 7 letters of about 7 pixels.
    assert long.margin.t >= style.TOP + 45
