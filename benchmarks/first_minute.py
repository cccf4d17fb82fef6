"""A first visitor's minute, as a strip of screenshots at 0, 5, 15, 30, 45 and 60 seconds.

    python -m benchmarks.first_minute --out /tmp

The app starts anew, with a browser that was never there, on a laptop, in a hall and on a phone. The
visitor types a sentence, presses the button below the picture, and goes on at a reader's pace,
doing what stops ask for. It fails unless at 5 s something moves that the visitor typed, the screens
from 15 s on differ, and a head, a weight, a mask and a changed translation were seen.
"""

import argparse
import io
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw
from playwright.sync_api import Browser, Page, sync_playwright

from tests.kit.running_app import StartError, find_chromium, launch, serve

SENTENCE = "I have never seen such a big dog."
SIZES = {"laptop": (1280, 800), "hall": (1920, 1080), "phone": (390, 844)}
MARKS = (0, 5, 15, 30, 45, 60)
"""Seconds after the page was asked for."""

WALK, PACE = 13, 4.6
"""The second at which the visitor begins to walk, and the seconds that a stop takes to read."""

DIFFERENT = 0.02
"""The share of a screen's pixels that is not as on the one before, at least."""

WANTED = ("a head", "a weight", "a mask", "a changed translation")

TYPING = 45
"""Milliseconds a letter."""

LONGEST = 60_000
STRIP_HEIGHT, GAP, LABEL = 480, 12, 28


@dataclass
class Visit:
    """One visitor's minute.

    Attributes:
        page: of the browser.
        started: when the page was asked for.
        shots: a screenshot for each mark.
        notes: what was found, in words, with the second.
        moved: whether something of the visitor's moves at 5 s.
        seen: what of `WANTED` was on the screen.
    """

    page: Page
    is_phone: bool
    started: float = 0.0
    shots: list[Image.Image] = field(default_factory=list)
    notes: list[tuple[float, str]] = field(default_factory=list)
    moved: bool = False
    seen: set[str] = field(default_factory=set)

    @property
    def now(self) -> float:
        """Seconds since the page was asked for."""
        return time.perf_counter() - self.started

    def note(self, said: str) -> None:
        """Keep what happened now."""
        self.notes.append((self.now, said))

    def until(self, seconds: float) -> None:
        """Wait as a person does, who looks at the page meanwhile."""
        self.page.wait_for_timeout(max(0.0, 1000 * (seconds - self.now)))

    def shoot(self) -> None:
        """The next screenshot."""
        self.shots.append(Image.open(io.BytesIO(self.page.screenshot())).convert("RGB"))

    def types(self) -> None:
        """Type a sentence as soon as there is a field for it."""
        box = self.page.get_by_role("textbox").first
        box.wait_for(timeout=LONGEST)
        self.note("the field for a sentence stands")
        box.fill("")
        box.press_sequentially(SENTENCE, delay=TYPING)
        box.press("Enter")
        self.note("the visitor pressed Enter")

    def looks_at_the_model(self) -> None:
        """Whether the visitor's own sentence plays."""
        figure = self.page.locator(".model-view[data-state]")
        words = figure.locator(".read").text_content(timeout=2000) if figure.count() else ""
        own = SENTENCE.split()[-1].strip(".") in (words or "")
        self.moved = own and figure.get_attribute("data-state") == "playing"
        self.note(f"at 5 s, the sentence {'plays' if self.moved else 'does not play'}")

    def walks(self) -> None:
        """Walk from stop to stop until the minute is over, and take the screenshots meanwhile."""
        view = self.page.locator(".model-view[data-state]")
        self.page.locator(".walk-invitation").click(timeout=LONGEST)
        n_stops = self.page.locator(".walk-dot").count()
        for stop in range(1, n_stops + 1):
            self.until_and_shoot(WALK + (stop - 0.5) * PACE)
            kind = view.get_attribute("data-place") or ""
            title = self.page.locator(".walk-bubble").get_attribute("aria-label") or ""
            said = self.page.locator(".walk-says").inner_text()
            self.note(f"{title} ({kind}): {said}")
            if f"a {kind}" in WANTED:
                self.seen.add(f"a {kind}")
            if title == "The mask":
                self.seen.add("a mask")
            act = self.page.locator(".walk-act")
            if act.is_visible():
                self.page.locator(".walk-next").click()
                answer = self.page.locator(".walk-answer")
                answer.wait_for(timeout=LONGEST)
                self.note(answer.inner_text())
                if "writes: “" in answer.inner_text():
                    self.seen.add("a changed translation")
            self.until_and_shoot(WALK + stop * PACE)
            if stop < n_stops:
                # A phone has no arrow keys.
                self.page.locator(".walk-next").click()

    def until_and_shoot(self, seconds: float) -> None:
        """Wait, with a screenshot at each mark on the way."""
        while len(self.shots) < len(MARKS) and MARKS[len(self.shots)] <= seconds:
            self.until(MARKS[len(self.shots)])
            self.shoot()
        self.until(seconds)

    @property
    def differing(self) -> list[float]:
        """The share of each screen from 30 s on that was not on the one before."""
        walked = self.shots[2:]
        return [
            sum(
                ImageChops.difference(one, other)
                .convert("L")
                .point(lambda each: each > 8 and 255)
                .histogram()[255:]
            )
            / (one.width * one.height)
            for one, other in pairwise(walked)
        ]


def visit(browser: Browser, url: str, size: tuple[int, int]) -> Visit:
    """A visitor's minute in a window of a size."""
    is_phone = size[0] < 600
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, has_touch=is_phone, is_mobile=is_phone
    )
    try:
        made = Visit(context.new_page(), is_phone)
        # Between two pages there is nothing that Chromium could capture.
        made.shoot()
        made.started = time.perf_counter()
        made.page.goto(url, wait_until="commit", timeout=LONGEST)
        made.types()
        made.until(MARKS[1])
        made.looks_at_the_model()
        made.shoot()
        made.until(WALK)
        made.walks()
        made.until_and_shoot(MARKS[-1])
        return made
    finally:
        context.close()


def strip(shots: list[Image.Image]) -> Image.Image:
    """Screenshots side by side, each below its second."""
    scaled = [
        shot.resize((round(shot.width * STRIP_HEIGHT / shot.height), STRIP_HEIGHT))
        for shot in shots
    ]
    width = sum(shot.width + GAP for shot in scaled) + GAP
    made = Image.new("RGB", (width, STRIP_HEIGHT + LABEL + GAP), "white")
    draw, left = ImageDraw.Draw(made), GAP
    for mark, shot in zip(MARKS, scaled, strict=True):
        draw.text((left, GAP // 2), f"{mark} s", fill="black", font_size=16)
        made.paste(shot, (left, LABEL))
        left += shot.width + GAP
    return made


def visits(names: list[str]) -> Iterator[tuple[str, Visit]]:
    """A visit for each size, each to a server that was just started."""
    with sync_playwright() as playwright:
        browser = launch(playwright, find_chromium())
        for name in names:
            with serve("app.py") as server:
                yield name, visit(browser, server.url, SIZES[name])
        browser.close()


def main(say: Callable[[str], None] = print) -> int:
    """The command line; 1 where the minute is not what it should be."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the strips")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    failed = False
    try:
        for name, made in visits(arguments.sizes):
            path = arguments.out / f"first-minute-{name}.png"
            strip(made.shots).save(path)
            say(f"\n{name}: {path}")
            for seconds, said in made.notes:
                say(f"{seconds:5.1f} s  {said}")
            new = ", ".join(f"{share:.0%}" for share in made.differing)
            missed = [each for each in WANTED if each not in made.seen]
            say(f"        new on the screens at 30, 45 and 60 s: {new}")
            say(f"        not seen: {', '.join(missed) or 'nothing'}")
            failed |= not made.moved or bool(missed) or min(made.differing) < DIFFERENT
    except StartError as error:
        sys.exit(str(error))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
