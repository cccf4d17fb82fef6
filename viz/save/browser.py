"""The Chromium on this machine that draws files, driven by kaleido; nothing is fetched."""

import asyncio
import atexit
import base64
import contextlib
import io
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from PIL import Image as Raster

from viz.draw import themes
from viz.save.formats import ExportError, Image

NEEDS_BROWSER = (
    "PNG, SVG, PDF and film files need Chromium or Chrome on the machine that runs Headscope, and "
    "none was found; install one, or save HTML, CSV, JSON, NPZ or Python, which need none."
)

_POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "style-src 'unsafe-inline'; img-src data:\">"
)
"""A printed page requests nothing and runs nothing."""

_READY = "Promise.all(Array.from(document.querySelectorAll('image'), (image) => image.decode()))"
"""Resolves when all bitmaps of the page are decoded."""

_SECONDS = 60
"""The largest figure takes less on a busy machine; a browser that takes longer hangs."""


def has_browser() -> bool:
    """Whether this machine has a browser that can draw PNG, SVG and PDF files; starts none."""
    # Slow to import, and many exports do not need it.
    from choreographer.browsers.chromium import Chromium

    found = Chromium.find_browser(skip_local=False)
    return found is not None and Path(found).is_file()


class Browser:
    """A Chromium that draws one thing at a time; starts when first needed, closes at exit."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._kaleido: Any = None

    def draw(
        self,
        figure: go.Figure,
        format: Image,
        width: float,
        height: float,
        scale: float,
        below: go.Figure | None = None,
    ) -> bytes:
        """The file of a figure, with a second one of the same width below it.

        Raises:
            ExportError: if there is no browser, or it fails.
        """
        options = {"format": "svg" if format == "pdf" else format, "width": width, "scale": scale}
        parts = [(figure, height)] + ([] if below is None else [(below, below.layout.height)])
        what = f"{format.upper()} files"
        with self._guard:
            kaleido = self._started()
            files: list[bytes] = [
                self._attempt(what, kaleido.calc_fig, part, {**options, "height": room})
                for part, room in parts
            ]
            drawn = files[0]
            if below is not None:
                heights = [scale * room for _, room in parts]
                drawn = _stacked(files, format, width * scale, heights)
            if format == "pdf":
                page = width * scale, sum(scale * room for _, room in parts)
                drawn = self._attempt(what, _printed_page, kaleido, drawn.decode(), *page)
        return drawn

    def shots(self, page: str, moments: Iterable[str], width: int, height: int) -> Iterator[bytes]:
        """Screenshots of a page as PNG, each taken when a line of JavaScript has run.

        Args:
            page: a complete HTML document that requests nothing.
            moments: lines of JavaScript; a promise is awaited.
            width: of the window, in pixels.
            height: of the window, in pixels.

        Raises:
            ExportError: if there is no browser, or it fails.
        """
        with self._guard:
            tab = self._attempt("films", _opened_page, self._started(), page, width, height)
        try:
            for moment in moments:
                # Between two shots others may draw.
                with self._guard:
                    shot: bytes = self._attempt("films", _shot, tab, moment)
                yield shot
        finally:
            with self._guard, contextlib.suppress(ExportError):
                self._attempt("films", _closed_page, self._started(), tab)

    def _attempt(self, what: str, work: Callable[..., Any], *given: Any) -> Any:
        """What a coroutine in the browser's loop gives.

        Raises:
            ExportError: if it fails; the next call starts a new browser.
        """
        try:
            return self._wait_for(work(*given))
        except Exception as error:
            self._stop()
            raise ExportError(
                f"The browser that draws {what} failed ({type(error).__name__}); try again, or "
                "save HTML, which needs none."
            ) from error

    def close(self) -> None:
        """Stop the browser if it runs."""
        with self._guard:
            self._stop()

    def _started(self) -> Any:
        if self._kaleido is not None:
            return self._kaleido
        # Slow to import, and many exports do not need it.
        from choreographer.errors import ChromeNotFoundError
        from kaleido import Kaleido  # type: ignore[import-untyped]

        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="export", daemon=True).start()
        try:
            # Without MathJax, which kaleido would fetch from the internet.
            self._kaleido = self._wait_for(_opened(Kaleido, mathjax=False, timeout=_SECONDS))
        except ChromeNotFoundError:
            self._stop()
            raise ExportError(NEEDS_BROWSER) from None
        except Exception as error:
            self._stop()
            raise ExportError(
                f"The browser that draws image files did not start ({type(error).__name__}); save "
                "HTML, CSV, JSON or NPZ, which need none."
            ) from error
        atexit.register(self.close)
        return self._kaleido

    def _wait_for(self, coroutine: Any) -> Any:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(2 * _SECONDS)

    def _stop(self) -> None:
        kaleido, loop = self._kaleido, self._loop
        self._kaleido = self._loop = None
        atexit.unregister(self.close)
        if loop is None:
            return
        if kaleido is not None:
            closing = asyncio.run_coroutine_threadsafe(kaleido.close(), loop)
            try:
                closing.result(_SECONDS)
            except Exception:
                # Abandoned in any case; its resources end with the process.
                closing.cancel()
        loop.call_soon_threadsafe(loop.stop)


async def _opened(make: Any, **options: Any) -> Any:
    """A browser, opened in its own event loop."""
    browser = make(**options)
    await browser.open()
    return browser


async def _ask(tab: Any, command: str, **given: Any) -> Any:
    answer = await tab.send_command(command, params=given)
    if "error" in answer:
        raise RuntimeError(answer["error"]["message"])
    return answer["result"]


async def _set(tab: Any, page: str) -> None:
    """Show a document in a tab."""
    frame = (await _ask(tab, "Page.getFrameTree"))["frameTree"]["frame"]["id"]
    await _ask(tab, "Page.setDocumentContent", frameId=frame, html=page)


async def _printed_page(browser: Any, svg: str, width: float, height: float) -> bytes:
    """An SVG as a page of exactly its size, in CSS pixels.

    Kaleido's own pages have a margin, and it shrinks and crops the figure.
    """
    tab = await browser.create_tab()
    try:
        sheet = (
            f"@page {{ size: {width}px {height}px; margin: 0 }} body {{ margin: 0 }} "
            "svg { display: block }"
        )
        await _set(tab, f"<!doctype html>{_POLICY}<style>{sheet}</style>{svg}")
        await _ask(tab, "Runtime.evaluate", expression=_READY, awaitPromise=True)
        printed = await _ask(
            tab, "Page.printToPDF", printBackground=True, preferCSSPageSize=True, pageRanges="1"
        )
        return base64.b64decode(printed["data"])
    finally:
        await browser.close_tab(tab)


async def _opened_page(browser: Any, page: str, width: int, height: int) -> Any:
    """A tab of that size that shows a document."""
    tab = await browser.create_tab()
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    await _ask(tab, "Emulation.setDeviceMetricsOverride", **size)
    await _set(tab, page)
    return tab


async def _shot(tab: Any, moment: str) -> bytes:
    """A tab's picture after a line of JavaScript."""
    ran = await _ask(tab, "Runtime.evaluate", expression=moment, awaitPromise=True)
    if "exceptionDetails" in ran:
        raise RuntimeError(ran["exceptionDetails"]["text"])
    taken = await _ask(tab, "Page.captureScreenshot", format="png", optimizeForSpeed=True)
    return base64.b64decode(taken["data"])


async def _closed_page(browser: Any, tab: Any) -> None:
    await browser.close_tab(tab)


BROWSER = Browser()


def _stacked(
    files: Sequence[bytes], format: Image, width: float, heights: Sequence[float]
) -> bytes:
    """Images below each other in one: a PNG, or an SVG that holds SVGs."""
    if format == "png":
        pictures = [Raster.open(io.BytesIO(file)).convert("RGB") for file in files]
        whole = Raster.new(
            "RGB", (pictures[0].width, sum(picture.height for picture in pictures)), themes.WHITE
        )
        top = 0
        for picture in pictures:
            whole.paste(picture, (0, top))
            top += picture.height
        written = io.BytesIO()
        whole.save(written, "PNG")
        return written.getvalue()
    inner = [
        file.decode().replace("<svg ", f'<svg y="{sum(heights[:place])}" ', 1)
        for place, file in enumerate(files)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{sum(heights)}">'
        f"{''.join(inner)}</svg>"
    ).encode()
