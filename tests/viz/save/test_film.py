"""Films: decoded again, and held to the pictures and the trace they came from."""

import io
from dataclasses import replace
from typing import Any, get_args

import av
import numpy as np
import plotly.graph_objects as go
import pytest

from model.explain.block_outputs import block_outputs
from model.explain.facts import facts_of
from model.explain.reading import read
from model.record.intervention import Intervention
from model.trace.attention_map import Site
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.readings import attention_heatmap
from viz.draw import themes
from viz.masks.window import OpeningWindow
from viz.model_page.payload import Figure
from viz.model_page.picture import PlayedSentence, WalkedModel, figure_of_model
from viz.save.film import (
    HEIGHT,
    LEAST_SECONDS,
    MOST_SECONDS,
    RATES,
    WIDTH,
    Series,
    Slide,
    Still,
    film,
)
from viz.save.formats import ExportError, Motion
from viz.save.picture import Layout, Picture
from viz.save.vector_cells import _color

MOST_BYTES = 10_000_000
HEAD = 2


class Moving(Picture):
    """Bars that grow."""

    title, name = "Bars that grow", "bars"

    def __init__(self, count: int) -> None:
        self.count = count

    @property
    def alt(self) -> str:
        return self.title

    @property
    def caption(self) -> str:
        return self.title

    def film(self) -> Series:
        def still(place: int) -> Still:
            return Still(
                lambda layout: go.Figure(
                    go.Bar(y=[place]),
                    {"yaxis": {"range": [0, self.count]}, "title": {"text": "Bars"}},
                ),
                self.title,
                f"{place + 1} of {self.count}",
            )

        return Series(self.count, still)


def frames_of(content: bytes) -> tuple[list[np.ndarray[Any, Any]], float]:
    """The frames of a film as pixels, and how many seconds it lasts."""
    with av.open(io.BytesIO(content)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        return frames, len(frames) / float(container.streams.video[0].average_rate)


@pytest.mark.parametrize(
    ("format", "count"), [*((each, 2) for each in get_args(Motion)), ("gif", 6)]
)
def test_a_film_can_be_played_and_fits_a_slide(chromium: None, format: Motion, count: int) -> None:
    shares: list[float] = []
    content = film(Moving(count), format, progress=shares.append)
    frames, seconds = frames_of(content)
    assert frames[0].shape == (HEIGHT, WIDTH, 3)
    assert LEAST_SECONDS <= seconds <= MOST_SECONDS
    assert len(frames) == round(seconds * RATES[format])
    assert np.abs(frames[0].astype(int) - frames[-1]).max() > 100
    assert len(content) <= MOST_BYTES
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(shares) == count


def channels(color: str) -> np.ndarray[Any, Any]:
    return np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)])


def plot_of(frame: np.ndarray[Any, Any], color: str) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a plot that is full of one colour."""
    there = (np.abs(frame.astype(int) - channels(color)) <= 12).all(axis=-1)
    rows = np.nonzero(there.mean(axis=1) > 0.3)[0]
    columns = np.nonzero(there[rows].mean(axis=0) > 0.3)[0]
    return columns[0], rows[0], columns[-1] + 1, rows[-1] + 1


def test_the_weights_in_a_frame_are_those_of_the_trace(
    chromium: None, translator: Translator, trace: Trace
) -> None:
    dark = True
    translation = translator.translate("The cat sat on the mat.")
    runs: list[Intervention] = []

    def run(under: Intervention) -> Trace:
        runs.append(under)
        return translator.trace_of(translation, under=under)

    own = trace.maps[Site("encoder", 1)]
    picture = OpeningWindow(own, HEAD, run)
    frames, _ = frames_of(film(picture, "mp4", dark=dark))
    # The widest window hides nothing, and the narrowest leaves each word itself.
    np.testing.assert_array_equal(run(runs[-1]).maps[own.site].weights, own.weights)
    np.testing.assert_array_equal(run(runs[0]).maps[own.site].weights[HEAD], np.eye(len(own.keys)))

    def full(layout: Layout) -> go.Figure:
        ones = replace(own, weights=np.ones_like(own.weights))
        return attention_heatmap(ones, HEAD, narrow=layout.narrow, dark=layout.dark)

    scale = themes.page(dark).colorscale
    still = replace(picture.film().at(0), figure=full)
    [block] = Series(1, lambda _: still).drawn([0], Slide(dark=dark))
    left, top, right, bottom = plot_of(np.asarray(block), _color(scale, 1))
    n_queries, n_keys = own.weights.shape[1:]
    for query in range(n_queries):
        for key in range(n_keys):
            # Beside the number in the middle of a cell.
            x = left + (key + 0.12) * (right - left) / n_keys
            y = top + (query + 0.2) * (bottom - top) / n_queries
            wanted = channels(_color(scale, own.weights[HEAD, query, key]))
            drawn = frames[-1][int(y), int(x)].astype(int)
            assert np.abs(drawn - wanted).max() <= 14, (query, key)


@pytest.fixture
def whole(translator: Translator, trace: Trace) -> Figure:
    """The whole model with the sentence in it."""
    seen = read(trace)
    blocks = block_outputs(translator, trace)
    return figure_of_model(
        translator, trace, seen, facts_of(seen.maps), table=None, blocks=blocks, labels={}
    )


def test_a_played_sentence_ends_with_every_word_written(chromium: None, whole: Figure) -> None:
    frames, seconds = frames_of(film(PlayedSentence(whole), "gif"))
    assert LEAST_SECONDS <= seconds <= MOST_SECONDS
    # The words of the translation are the upper tenth: written one by one, never taken back.
    ink = [float((255 - frame[: HEIGHT // 10]).mean()) for frame in frames]
    assert ink[-1] > 2 * ink[0] > 0
    assert max(ink[: len(ink) // 4]) < ink[-1]


def test_a_frame_of_the_walk_is_the_same_wherever_one_comes_from(
    chromium: None, whole: Figure
) -> None:
    walk = WalkedModel(whole).film()
    assert sum(frames for _, frames in walk.plan(10)) == pytest.approx(450, abs=2)
    # The palette of a GIF is taken from its end and its middle before it begins.
    shares = (1.0, 0.55, 0.07, 0.55, 0.07, 1.0)
    drawn = walk.drawn(shares, Slide(sentence="", model=""))
    frames = [np.asarray(shot) for shot in drawn]
    by_share = dict(zip(shares, frames, strict=True))
    for share, frame in zip(shares, frames, strict=True):
        assert (frame == by_share[share]).all(), share
    for one, other in ((1.0, 0.55), (0.55, 0.07), (0.07, 1.0)):
        assert (by_share[one] != by_share[other]).any()


class Resting(Picture):
    title, name = "A picture at rest", "rest"


def test_what_does_not_move_and_what_is_no_film_is_said(trace: Trace) -> None:
    with pytest.raises(ExportError, match="choose gif, webm or mp4"):
        film(Moving(2), "avi")  # type: ignore[arg-type]
    with pytest.raises(ExportError, match="does not move"):
        film(Resting(), "gif")


def test_a_film_is_cancelled_by_what_its_progress_raises_and_the_next_one_is_made(
    chromium: None,
) -> None:
    class Cancelled(Exception):
        pass

    def cancel(share: float) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        film(Moving(3), "gif", progress=cancel)
    assert film(Moving(2), "gif").startswith(b"GIF8")
