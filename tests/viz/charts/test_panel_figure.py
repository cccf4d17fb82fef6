"""Several panels in one figure: what they hold, where they stand, what explains their colours."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.trace.attention_map import Tokens
from viz.charts.chart import Layout
from viz.charts.panel_figure import panels_figure as drawn_panels
from viz.draw import themes
from viz.draw.panels import Panel
from viz.save import image


def panels_figure(panels: list[Panel], title: str = "", **look: bool) -> Any:
    return drawn_panels(panels, Layout(**look), title=title)


def tokens(count: int, start: str = "t") -> Tokens:
    return Tokens.unnamed([f"{start}{place}" for place in range(count)])


def weights(queries: int = 4, keys: int = 5, **options: Any) -> Panel:
    values = np.random.default_rng(queries).random((queries, keys), dtype=np.float32)
    return Panel(
        **{
            "title": "Weights",
            "values": values,
            "queries": tokens(queries),
            "keys": tokens(keys),
            "alt": "",
            "scale": "weights",
            **options,
        }
    )


def mask(queries: int = 4, keys: int = 4, **options: Any) -> Panel:
    cells = np.triu(np.ones((queries, keys), dtype=np.uint8), k=1)
    return weights(
        queries,
        keys,
        **{
            "title": "Mask",
            "values": cells,
            "scale": "category",
            "names": ["allowed", "<b>future</b>", "never"],
            "colors": {"light": themes.LIGHT.cells[:3], "dark": themes.DARK.cells[:3]},
            **options,
        },
    )


def heatmaps(figure: Any) -> list[Any]:
    return [each for each in figure.data if each.type == "heatmap"]


def written(figure: Any) -> list[Any]:
    return [each for each in figure.data if each.type == "scatter" and each.mode == "text"]


def places(figure: Any) -> list[tuple[float, float, float, float]]:
    """Left, right, bottom and top of each panel, as shares of the plot."""
    count = sum(1 for name in figure.layout if str(name).startswith("xaxis"))
    suffixes = ["", *map(str, range(2, count + 1))]
    return [
        (*figure.layout[f"xaxis{each}"].domain, *figure.layout[f"yaxis{each}"].domain)
        for each in suffixes
    ]


def test_every_panel_keeps_its_values_its_tokens_and_its_title() -> None:
    panels = [mask(title="Mask"), weights(4, 6, title="Weights", sign="=")]
    figure = panels_figure(panels, title="Both")
    for panel, drawn in zip(panels, heatmaps(figure), strict=True):
        np.testing.assert_array_equal(drawn.z, panel.values)
    assert figure.layout.title.text == "Both"
    assert [note.text for note in figure.layout.annotations] == ["Mask", "= Weights"]
    assert figure.layout.xaxis2.ticktext == tuple(panels[1].keys)
    assert figure.layout.yaxis.ticktext == tuple(panels[0].queries)


def test_rows_are_named_once_for_neighbours_of_the_same_tokens() -> None:
    same = panels_figure([weights(), weights(), weights(queries=3)])
    shown = [same.layout[name].showticklabels for name in ("yaxis", "yaxis2", "yaxis3")]
    assert shown == [True, False, True]


def test_texts_are_shown_letter_by_letter() -> None:
    hostile = Tokens(("<b>x</b>", "▁&amp;"), (5, 6))
    panel = replace(mask(2, 2, title="<i>T</i>"), queries=hostile, keys=hostile)
    figure = panels_figure([panel], title="<script>")
    assert figure.layout.xaxis.ticktext == ("&lt;b&gt;x&lt;/b&gt;", "&amp;amp;")
    assert figure.layout.annotations[0].text == "&lt;i&gt;T&lt;/i&gt;"
    assert figure.layout.title.text == "&lt;script&gt;"
    assert "&lt;b&gt;future&lt;/b&gt;" in [each.name for each in figure.data]


def test_one_legend_explains_the_categories_that_occur_in_any_panel() -> None:
    open_panel = mask(values=np.zeros((4, 4), dtype=np.uint8))
    figure = panels_figure([open_panel, mask(), weights(shown=np.eye(4, 5, dtype=np.bool_))])
    entries = {each.name: each.marker.color for each in figure.data if each.showlegend}
    assert entries == {
        "allowed": themes.LIGHT.cells[0],
        "&lt;b&gt;future&lt;/b&gt;": themes.LIGHT.cells[1],
        "not allowed": themes.LIGHT.forbidden,
    }


def test_one_colour_bar_explains_every_scale_of_numbers() -> None:
    panels = [
        weights(scale="signed", low=-2, high=2, unit="score"),
        weights(scale="signed", low=-2, high=2, unit="score"),
        weights(),
        weights(high=3.5, unit="length"),
    ]
    bars = [each.colorbar for each in heatmaps(panels_figure(panels)) if each.showscale]
    assert [bar.title.text for bar in bars] == ["score", "weight", "length"]
    assert [bar.ticktext[-1] for bar in bars] == ["2.00", "1.00", "3.50"]
    assert len({(bar.x, bar.y) for bar in bars}) == 3


def test_hidden_cells_lie_grey_above_their_panel() -> None:
    shown = np.tril(np.ones((4, 4), dtype=np.bool_))
    figure = panels_figure([mask(), weights(4, 4, shown=shown)])
    [hidden] = [each for each in heatmaps(figure) if each.name == "not allowed"]
    assert (hidden.xaxis, hidden.yaxis) == ("x2", "y2")
    np.testing.assert_array_equal(hidden.z == 1, ~shown)


def test_numbers_stand_in_cells_that_have_room() -> None:
    panel = weights(3, 3, values=np.array([[0.5, 0, 1]] * 3, dtype=np.float32))
    [numbers] = written(panels_figure([panel]))
    assert list(numbers.text) == ["0.50", "1.00"] * 3
    assert not written(panels_figure([weights(40, 40)]))


def test_rows_and_columns_are_named_as_closely_as_all_panels_allow() -> None:
    said = weights(query_title="Query: target token")
    plain, other = weights(), weights(queries=3)
    assert "Rows – Query: target token" in panels_figure([said, plain]).layout.title.subtitle.text
    assert "Rows – Query<br>" in panels_figure([said, other]).layout.title.subtitle.text


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=8),
    st.sampled_from([{}, {"narrow": True}, {"slide": True}]),
)
def test_no_panel_lies_on_another_or_outside(
    sizes: list[tuple[int, int]], look: dict[str, bool]
) -> None:
    figure = panels_figure([weights(*size) for size in sizes], **look)
    found = places(figure)
    assert len(found) == len(sizes)
    for left, right, bottom, top in found:
        assert 0 <= left < right <= 1
        assert 0 <= bottom < top <= 1
    for number, (left, right, bottom, top) in enumerate(found):
        for other_left, other_right, other_bottom, other_top in found[number + 1 :]:
            assert (
                right <= other_left
                or other_right <= left
                or top <= other_bottom + 1e-9
                or other_top <= bottom + 1e-9
            )


@pytest.mark.parametrize("width", image.WIDTHS)
def test_cells_are_squares_of_a_size_that_labels_fit(width: image.Width) -> None:
    panels = [weights(12, 12) for _ in range(4)]
    figure = panels_figure(panels, narrow=width == "column", slide=width == "slide")
    printed = image.sized(figure, width)
    margin = printed.layout.margin
    plot = printed.layout.width - margin.l - margin.r
    for left, right, _, _ in places(figure):
        # 12 pixels are 7 points, and no label of a column may touch the next one's.
        assert (right - left) * plot / 12 >= 12
    assert printed.layout.yaxis.scaleanchor == "x"


def test_four_panels_stand_side_by_side_on_a_slide_and_by_twos_on_paper() -> None:
    panels = [weights(14, 14) for _ in range(4)]
    rows = {
        name: len({top for *_, top in places(panels_figure(panels, **look))})
        for name, look in (("slide", {"slide": True}), ("paper", {}), ("column", {"narrow": True}))
    }
    assert rows == {"slide": 1, "paper": 2, "column": 4}


def test_a_slide_keeps_the_width_that_its_panels_need() -> None:
    figure = panels_figure([weights(14, 14) for _ in range(4)], slide=True)
    assert figure.layout.width > 780
    assert image.sized(figure, "slide").layout.width == pytest.approx(figure.layout.width)


@pytest.mark.parametrize("panels", [[], [weights(0, 3)]])
def test_nothing_to_draw_is_refused_in_a_sentence(panels: list[Panel]) -> None:
    with pytest.raises(ValueError, match="no cell to draw"):
        panels_figure(panels)
