import numpy as np
import plotly.graph_objects as go

from viz.draw.clicks import clickable


def test_every_cell_of_every_heatmap_has_a_point_that_says_the_same() -> None:
    first, second = np.array([[0.5, -1], [2, 3]]), np.array([[4.0]])
    figure = go.Figure(
        [
            go.Heatmap(z=first, meta="one", hovertemplate="row %{y}, <b>%{z:.2f}</b>"),
            go.Heatmap(z=second, meta="two", hovertemplate="%{z}", xaxis="x2", yaxis="y2"),
            go.Scatter(x=[0], y=[0]),
        ]
    )
    one, other = clickable(figure).data[3:]
    assert [tuple(each) for each in one.customdata] == [
        ("one", row, column, first[row, column]) for row in (0, 1) for column in (0, 1)
    ]
    assert list(zip(one.y, one.x, strict=True)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert one.hovertemplate == "row %{y}, <b>%{customdata[3]:.2f}</b>"
    assert [tuple(each) for each in other.customdata] == [("two", 0, 0, 4)]
    assert (other.xaxis, other.yaxis, other.marker.opacity) == ("x2", "y2", 0)
    assert len(figure.data) == 3
