"""A picture that moves, as a film for slides: GIF, WebM or MP4.

The browser of viz.save.browser draws the frames, and PyAV encodes them.
"""

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import plotly.graph_objects as go
from PIL import Image as Raster

from viz.draw import themes
from viz.save.browser import BROWSER
from viz.save.formats import ExportError, Motion
from viz.save.image import image
from viz.save.metadata import About
from viz.save.picture import Layout, Picture

WIDTH, HEIGHT = 1280, 720
"""The pixels of a frame: a wide slide."""

RATES: dict[Motion, int] = {"gif": 10, "webm": 20, "mp4": 20}
"""Frames a second."""

LEAST_SECONDS, MOST_SECONDS = 5.0, 20.0
"""How long a film lasts, unless there is more to read in it."""

_FIRST, _LAST = 0.6, 2.0
"""Seconds for which the first and the last frame stand."""

_STILL = 1.3
"""Seconds for which a picture of a series stands, if there are not too many or too few."""

_CODECS: dict[Motion, tuple[str, dict[str, str]]] = {
    "gif": ("gif", {}),
    "mp4": ("libx264", {"crf": "18", "preset": "fast", "tune": "animation"}),
    "webm": ("libvpx-vp9", {"crf": "24", "b": "0", "deadline": "realtime", "cpu-used": "6"}),
}

_KEYS = (0.0, 0.5, 1.0)
"""The places of a film whose colours are those of a GIF, which has 256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slide:
    """What every frame has in common."""

    dark: bool = False
    sentence: str = ""
    model: str = ""

    @property
    def ground(self) -> str:
        """The colour around the picture."""
        return themes.BLACK if self.dark else themes.WHITE


class Film(ABC):
    """Frames in order."""

    @abstractmethod
    def plan(self, rate: int) -> list[tuple[Any, int]]:
        """What `drawn` is asked for, in order, and for how many frames each picture stands."""

    @abstractmethod
    def drawn(self, places: Iterable[Any], slide: Slide) -> Iterator[Raster.Image]:
        """The pictures at some places of the plan, each `WIDTH` × `HEIGHT`."""


@dataclass(frozen=True, slots=True, eq=False)
class Still:
    """One picture of a series.

    Attributes:
        caption: below it, in plain text.
        place: after its title, such as "step 3 of 8"; empty for nothing.
    """

    figure: Callable[[Layout], go.Figure]
    caption: str
    place: str = ""

    def drawn(self, slide: Slide) -> bytes:
        """The picture as a PNG."""
        figure = go.Figure(self.figure(Layout(slide=True, dark=slide.dark)))
        if self.place:
            figure.layout.title.text = f"{figure.layout.title.text} · {self.place}"
        return image(
            figure,
            *("png", "slide", 1),
            caption=self.caption,
            sentence=slide.sentence,
            model=slide.model,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Series(Film):
    """Pictures one after another, each of which stands for a while.

    Attributes:
        at: the picture at a place, counted from 0; computed when it is drawn.
    """

    count: int
    at: Callable[[int], Still]

    def plan(self, rate: int) -> list[tuple[int, int]]:
        seconds = min(max(_STILL * self.count + _LAST, LEAST_SECONDS), MOST_SECONDS)
        ends = np.linspace(_FIRST, seconds - _LAST, self.count + 1)[1:]
        ends[-1] = seconds
        frames = np.diff(np.round(rate * ends), prepend=0).astype(int).tolist()
        return list(enumerate(frames))

    def drawn(self, places: Iterable[int], slide: Slide) -> Iterator[Raster.Image]:
        for place in places:
            yield _on_slide(self.at(place).drawn(slide), slide)


@dataclass(frozen=True, slots=True, eq=False)
class Played(Film):
    """A document that plays.

    Attributes:
        page: the document, dark or not; its `filmed(share)` shows one moment, from 0 to 1.
        seconds: for which it plays by itself.
        most: seconds that the film may last.
    """

    page: Callable[[bool], str]
    seconds: float
    most: float = MOST_SECONDS

    def plan(self, rate: int) -> list[tuple[float, int]]:
        still = _FIRST + _LAST
        moving = min(max(self.seconds, LEAST_SECONDS - still), self.most - still)
        count = round(rate * moving)
        frames = [round(rate * _FIRST), *[1] * (count - 1), round(rate * _LAST)]
        return [(place / count, number) for place, number in enumerate(frames)]

    def drawn(self, places: Iterable[float], slide: Slide) -> Iterator[Raster.Image]:
        moments = (f"filmed({place})" for place in places)
        for png in BROWSER.shots(self.page(slide.dark), moments, WIDTH, HEIGHT):
            yield _on_slide(png, slide)


def _on_slide(png: bytes, slide: Slide) -> Raster.Image:
    """An image in the middle of a frame; one that is too high is made smaller."""
    drawn = Raster.open(io.BytesIO(png)).convert("RGB")
    drawn.thumbnail((WIDTH, HEIGHT))
    whole = Raster.new("RGB", (WIDTH, HEIGHT), slide.ground)
    whole.paste(drawn, ((WIDTH - drawn.width) // 2, (HEIGHT - drawn.height) // 2))
    return whole


def film(
    picture: Picture,
    format: Motion,
    *,
    dark: bool = False,
    sentence: str = "",
    model: str = "",
    progress: Callable[[float], object] = lambda share: None,
) -> bytes:
    """A picture that moves as a file of 5 to 20 seconds, or 45 for the walk, 1280 × 720.

    Args:
        picture: whose class has a film.
        format: "gif", "webm" or "mp4".
        sentence: below the picture, where it names none itself.
        progress: called with the share that is done; what it raises ends the work.

    Raises:
        ExportError: if the picture has no film, there is no such format, or this machine has no
            Chromium or Chrome, or if that fails.
    """
    slide = Slide(dark=dark, sentence=sentence, model=model)
    making = filming(picture, format, slide)
    while True:
        try:
            progress(next(making))
        except StopIteration as end:
            made: bytes = end.value
            return made


def filming(picture: Picture, format: Motion, slide: Slide) -> Generator[float, None, bytes]:
    """As `film`, in steps: yields the share that is done and returns the file."""
    if format not in get_args(Motion):
        raise ExportError(f"There is no film format {format!r}; choose gif, webm or mp4.")
    if not picture.has("film"):
        raise ExportError(f"“{picture.title}” does not move; save it as an image.")
    shown: Film = picture.film()
    plan = shown.plan(RATES[format])
    about = About.of(picture.title, slide.sentence, slide.model)
    writer = _Writer(format, about, _key_shots(shown, plan, slide) if format == "gif" else ())
    drawn = shown.drawn((place for place, _ in plan), slide)
    for number, ((_, frames), shot) in enumerate(zip(plan, drawn, strict=True), 1):
        writer.write(shot, frames)
        yield number / len(plan)
    return writer.finish()


def _key_shots(
    shown: Film, plan: Sequence[tuple[Any, int]], slide: Slide
) -> Sequence[Raster.Image]:
    places = [plan[round(share * (len(plan) - 1))][0] for share in _KEYS]
    return list(shown.drawn(dict.fromkeys(places), slide))


class _Writer:
    """A file that grows frame by frame.

    Args:
        about: what the film is of, for the file's metadata.
    """

    def __init__(self, format: Motion, about: About, keys: Sequence[Raster.Image]) -> None:
        # Slow to import, and most files need no encoder.
        import av

        self._av = av
        self._file = io.BytesIO()
        rate = RATES[format]
        muxing = {"loop": "0"} if format == "gif" else {}
        self._container = av.open(self._file, "w", format=format, options=muxing)
        said = {"title": about.title, "artist": about.author, "comment": about.sentence}
        self._container.metadata.update({name: text for name, text in said.items() if text})
        name, options = _CODECS[format]
        stream: Any = self._container.add_stream(name, rate=rate, options=options)
        stream.width, stream.height = WIDTH, HEIGHT
        stream.pix_fmt = "pal8" if format == "gif" else "yuv420p"
        stream.thread_count = 1
        self._stream = stream
        self._time_base, self._count = Fraction(1, rate), 0
        self._palette = _palette(keys) if keys else None

    def write(self, shot: Raster.Image, frames: int) -> None:
        for _ in range(frames):
            frame = self._frame(shot)
            frame.pts, frame.time_base = self._count, self._time_base
            self._count += 1
            self._container.mux(self._stream.encode(frame))

    def _frame(self, shot: Raster.Image) -> Any:
        frames: Any = self._av.VideoFrame
        if self._palette is None:
            return frames.from_image(shot)
        indices = shot.quantize(palette=self._palette, dither=Raster.Dither.NONE)
        colors = np.zeros((256, 4), dtype=np.uint8)
        colors[:, 0] = 255
        colors[:, 1:] = np.resize(np.array(self._palette.getpalette(), dtype=np.uint8), (256, 3))
        return frames.from_ndarray((np.asarray(indices), colors), format="pal8")

    def finish(self) -> bytes:
        self._container.mux(self._stream.encode(None))
        self._container.close()
        return self._file.getvalue()


def _palette(keys: Sequence[Raster.Image]) -> Raster.Image:
    """256 colours for all of these images."""
    together = Raster.new("RGB", (WIDTH, HEIGHT * len(keys)))
    for place, each in enumerate(keys):
        together.paste(each, (0, HEIGHT * place))
    return together.quantize(256, method=Raster.Quantize.MAXCOVERAGE)
