"""Charts: what replaces axis titles on a phone, and texts that are never markup."""

import numpy as np
import pytest

from model.trace.attention_map import Tokens
from viz.charts.axes import label_axis, number_axis
from viz.charts.chart import Layout, Plot, chart, empty_chart
from viz.charts.marks import bars, cell_texts, cells, in_legend, line, points
from viz.charts.scale import Scale, around_zero
from viz.draw import themes

LAYOUTS = [Layout(narrow=narrow, dark=dark) for narrow in (False, True) for dark in (False, True)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lines_below_a_narrow_title_take_the_place_of_axis_titles(layout: Layout) -> None:
    plot = Plot(across=number_axis("Heads"), up=number_axis("BLEU"), marks=[line("a", [1, 2])])
    drawn = chart(layout, "Title", plot, short="Short").layout
    titles = [drawn.xaxis.title.text, drawn.yaxis.title.text]
    assert titles == (["", ""] if layout.narrow else ["Heads", "BLEU"])
    lines = "Across – heads<br>Up – BLEU" if layout.narrow else ""
    assert drawn.title.subtitle.text == lines
    assert drawn.title.text == ("Short" if layout.narrow else "Title")


def test_no_text_is_markup_and_every_colour_is_the_theme_s() -> None:
    hostile = "<b>"
    marks = [
        bars([1], name=hostile, texts=[hostile], color="accent"),
        points([1], name=hostile, color=1),
    ]
    plot = Plot(across=number_axis(hostile), up=label_axis(hostile, [hostile]), marks=marks)
    for layout in LAYOUTS:
        figure = chart(layout, hostile, plot, lines=[hostile])
        theme = themes.page(layout.dark)
        assert [each.marker.color for each in figure.data] == [theme.accent, theme.heads[1]]
        assert hostile not in figure.to_json()
        assert hostile not in empty_chart(layout, hostile, hostile, height=100).to_json()


def test_plots_share_one_scale_and_say_once_what_a_mark_means() -> None:
    values = np.array([[-2.0, 2.0]])
    plots = [
        Plot(
            across=label_axis("", ["a", "b"]),
            up=label_axis("", Tokens.unnamed(["row"]), shared=True),
            marks=[
                cells(values),
                cell_texts(values, ["-2", "2"]),
                in_legend(points([], name="ring")),
            ],
        )
        for _ in range(2)
    ]
    figure = chart(Layout(), "", plots, scale=around_zero("loss", 2))
    first, second, *texts, legend = figure.data
    assert [each.type for each in (first, second)] == ["heatmap"] * 2
    assert first.coloraxis == second.coloraxis == "coloraxis"
    assert [each.xaxis for each in (first, second, *texts)] == ["x", "x2"] * 2
    assert legend.name == "ring"
    assert figure.layout.yaxis2.showticklabels is False


@pytest.mark.parametrize("reverse", [False, True])
def test_the_ink_of_a_cell_suits_its_colour(reverse: bool) -> None:
    scale = Scale(title="", high=100, reverse=reverse)
    strong, weak = (0, 100) if reverse else (100, 0)
    inks = [scale.ink(themes.LIGHT, value) for value in (weak, strong)]
    assert inks == [themes.BLACK, themes.WHITE]
