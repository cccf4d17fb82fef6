"""Times what many simultaneous users wait for: real sessions over Streamlit's WebSocket protocol.

    python -m benchmarks.load

Starts the app and lets 1, 10, 20, 50 and 100 people type a sentence every so often; then 50 who
open the link within ten seconds, and twice as many questions as the app can answer; and a hall of
500 phones that follow a talk beside 50 people in the app. People and app share this machine's
cores, so the people's own work (they read every message) is in the figures.
"""

import argparse
import asyncio
import gzip
import http.client
import importlib.metadata
import itertools
import json
import multiprocessing
import os
import random
import re
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

import torch
from playwright.sync_api import expect, sync_playwright

from benchmarks._inputs import sentences
from benchmarks._measure import write
from benchmarks.memory import resident
from model.checkpoints.checkpoint import TOKENIZER
from model.paper.tokenizer import Tokenizer
from model.translate.devices import resolve_device
from tests.kit.person import GIVEN_UP, Answer, Lost, person
from tests.kit.running_app import ROOT, AppServer, find_chromium, launch, serve
from viz.browser.files import ADDRESS, code
from viz.shell import share_panel

CHECKPOINT = ROOT / "checkpoints" / "en-de"
CHECKPOINTS_VARIABLE = "HEADSCOPE_CHECKPOINTS"
SENTENCE_TOKENS = 20

CROWDS = ("1x10", "10x10", "20x10", "50x10", "100x10", "20x2")
"""Numbers of people, and the seconds between each person's sentences."""

MOST_P95 = {"50x10": 1.5, "20x2": 2.0}
"""The most seconds that 95 of 100 answers may take."""

OPENING, OPENING_SECONDS, MOST_OPENING = 50, 10.0, 8.0
"""Visitors of a link, the seconds within which they come, and until the last page is complete."""

PHONES, PHONES_BESIDE, SHOWN_SECONDS = 500, "50x10", 5.0
"""Phones in a hall, the people in the app beside them, and how long the speaker stays with a
sentence."""

MOST_BESIDE, MOST_CHANGE, MOST_KB, MOST_MB = 0.5, 1.5, 400, 1000
"""The most seconds for 95 of 100 answers beside the phones, and until a change of the stage has
reached 95 of 100 of them; what a phone loads before its first picture; the server's memory."""

RECOVERY_SECONDS = 10.0
"""Seconds after an overload until one person must be answered as fast as when alone."""


@dataclass
class Crowd:
    """The measurements of many people.

    Attributes:
        first: seconds for every first page.
        answers: seconds of each person's answers, in order.
        lost: the reason for each lost question.
        seconds: from the first question to the last answer.
        cpu: seconds of the server's processor time in between.
    """

    first: list[float] = field(default_factory=list)
    answers: list[list[Answer]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0

    def row(self, what: str, **more: Any) -> dict[str, Any]:
        """One line of the table."""
        every = [answer for answers in self.answers for answer in answers]
        taken = sorted(answer.seconds for answer in every)
        medians = [median(each.seconds for each in answers) for answers in self.answers if answers]
        return {
            "what": what,
            "answers": len(every),
            "lost": len(self.lost),
            "per_second": round(len(every) / self.seconds, 2),
            **{f"p{share}_s": round(quantile(taken, share), 3) for share in (50, 95, 99)},
            "slowest_person_p50_s": round(max(medians, default=0.0), 3),
            "first_page_p95_s": round(quantile(sorted(self.first), 95), 3),
            "cpu_s_an_answer": round(self.cpu / max(1, len(every) or len(self.first)), 3),
            "kb_an_answer": round(sum(each.nbytes for each in every) / max(1, len(every)) / 1000),
            **more,
        }


def quantile(ordered: list[float], share: int) -> float:
    """A percentile of the values; 0 without values."""
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)] if ordered else 0.0


def tree(pid: int) -> list[int]:
    """A process and its living descendants."""
    found = [pid]
    for each in found:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                found.extend(map(int, children.read_text().split()))
            except OSError:
                continue
    return found


def cpu(pid: int) -> float:
    """The processor time of a process and its descendants, in seconds."""
    ticks = 0
    for each in tree(pid):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def crowd(
    server: AppServer,
    asked: Iterator[str],
    people: int,
    every: float,
    seconds: float,
    page: str,
    beside: Callable[[], Awaitable[None]] | None = None,
) -> Crowd:
    """People who type a sentence at intervals, each after their last answer.

    All have their first page before the first sentence, when what is `beside` them begins.
    """
    lived = Crowd(answers=[[] for _ in range(people)])
    chance = random.Random(people)
    standing = asyncio.Barrier(people + 1)

    async def live(number: int) -> None:
        # The barrier waits for everyone, even for those whose first page never arrived.
        async with person(server.url, page) as one:
            try:
                lived.first.append((await one.open()).seconds)
            except Lost as loss:
                lived.lost.append(str(loss))
            await standing.wait()
            end = time.perf_counter() + seconds
            await asyncio.sleep(chance.random() * every)
            while time.perf_counter() < end:
                try:
                    lived.answers[number].append(await one.ask(next(asked)))
                except Lost as loss:
                    lived.lost.append(str(loss))
                    return
                idle = chance.expovariate(1 / every) if every else 0
                await asyncio.sleep(min(idle, max(0, end - time.perf_counter())))

    lives = asyncio.gather(*(live(number) for number in range(people)))
    await standing.wait()
    began, used = time.perf_counter(), cpu(server.pid)
    await asyncio.gather(lives, *([beside()] if beside else []))
    lived.seconds, lived.cpu = time.perf_counter() - began, cpu(server.pid) - used
    return lived


async def opening(server: AppServer, people: int, within: float, page: str) -> Crowd:
    """People who open the link at different moments and load the page's code."""
    lived = Crowd()
    chance = random.Random(people)

    async def come() -> None:
        await asyncio.sleep(chance.random() * within)
        began = time.perf_counter()
        await asyncio.to_thread(fetch_code, server.url)
        try:
            async with person(server.url, page) as one:
                await one.open()
        except Lost as loss:
            lived.lost.append(str(loss))
            return
        lived.first.append(time.perf_counter() - began)

    began, used = time.perf_counter(), cpu(server.pid)
    await asyncio.gather(*(come() for _ in range(people)))
    lived.seconds, lived.cpu = time.perf_counter() - began, cpu(server.pid) - used
    return lived


def fetch_code(url: str) -> None:
    """Load the page, its code and the code of its heads, like a browser."""
    # Directly: a proxy from the environment does not know the server.
    direct = build_opener(ProxyHandler({}))

    def load(path: str) -> bytes:
        request = Request(f"{url}/{path}", headers={"Accept-Encoding": "gzip"})
        with direct.open(request, timeout=GIVEN_UP) as response:
            return bytes(response.read())

    for path in re.findall(r'(?:src|href)="\./(static/[^"]+)"', load("").decode()):
        load(path)
    name, _ = code("model_view/component.js")
    load(f"{ADDRESS}/{name}")


@dataclass
class Followed:
    """What one phone of a hall saw.

    Attributes:
        first: seconds until it had all of its first picture.
        nbytes: what had come by then.
        seen: when each of the speaker's sentences had come whole, by the clock of `time.monotonic`.
        used: seconds of processor time of all phones together, the same for each.
    """

    first: float
    nbytes: int
    seen: dict[str, float]
    used: float = 0.0


def phones(url: str, code: str, within: float, seconds: float) -> list[Followed]:
    """Phones that open the code of a talk and follow it, in a process of its own, as phones do."""
    chance = random.Random(PHONES)
    end, used = time.monotonic() + seconds, time.process_time()

    def live(late: float) -> Followed:
        time.sleep(late)
        phone = Phone(url)
        began = time.monotonic()
        phone.fetch_page()
        phone.follow(code)
        lived = Followed(time.monotonic() - began, phone.nbytes, {})
        while time.monotonic() < end:
            sentence = phone.follow(code, end - time.monotonic())
            if sentence:
                lived.seen[sentence] = time.monotonic()
        return lived

    threading.stack_size(256 << 10)
    with ThreadPoolExecutor(PHONES) as pool:
        lives = list(pool.map(live, [chance.random() * within for _ in range(PHONES)]))
    return [replace(each, used=time.process_time() - used) for each in lives]


def speak(url: str, began: Future[str], stop: threading.Event) -> dict[str, float]:
    """A speaker's browser, which shows one sentence after another to the phones that follow it.

    Args:
        began: gets the code under which it is followed.
        stop: ends it.

    Returns:
        When each sentence was asked for, by the clock of `time.monotonic`.
    """
    asked: dict[str, float] = {}
    with sync_playwright() as playwright:
        browser = launch(playwright, find_chromium())
        page = browser.new_page(locale="en-US", viewport={"width": 1280, "height": 800})
        page.goto(f"{url}/heads")
        page.locator(".heads-view[data-painted]").wait_for(timeout=60_000)
        page.get_by_test_id("stPopover").filter(has_text="Share").locator("button").click()
        for name in (share_panel.ON_PHONE, share_panel.FOLLOW):
            page.get_by_test_id("stPopoverBody").get_by_text(name).click()
        link = page.get_by_role("textbox", name="Link to this view")
        expect(link).to_have_value(re.compile("[?&]follow="), timeout=30_000)
        began.set_result(re.findall("follow=([0-9a-f]+)", link.input_value())[0])
        page.keyboard.press("Escape")
        typed = page.locator(":is(.st-key-sentence, .st-key-bar-fields) :is(textarea, input)").first
        for number in itertools.count(1):
            if stop.wait(SHOWN_SECONDS):
                return asked
            sentence = f"She has {number} old books in her house."
            typed.fill(sentence)
            asked[sentence] = time.monotonic()
            typed.press("Enter")
    return asked


class Phone:
    """A browser's requests over one connection.

    Attributes:
        nbytes: how much has come.
    """

    def __init__(self, url: str) -> None:
        self.nbytes = 0
        self._seen = self._found = ""
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=GIVEN_UP)

    def fetch_page(self) -> None:
        """Everything that a page of the site needs, without its model."""
        page = self._load("", reads=True).decode()
        known = json.loads(re.findall(r'id="site">(.*?)</script>', page)[0])
        linked = re.findall(r'(?:src|href)="\./([^"]+)"', page)
        code = [known["code"][name] for name in ("site", "model_view")]
        for path in {*linked, *code, known["models"][0]["card"]} - {"manifest.webmanifest"}:
            self._load(path)

    def follow(self, code: str, seconds: float = GIVEN_UP) -> str:
        """The sentence of the speaker's next view, once what belongs to it has come.

        Empty if there was no other view before the server, or these seconds, ended the question.
        """
        self._connection.timeout = max(0.1, seconds)
        if self._connection.sock is not None:
            self._connection.sock.settimeout(max(0.1, seconds))
        path = f"speaker/{code}.json?seen={self._seen}&found={self._found}"
        try:
            text = self._load(path, reads=True, status=(200, 204))
        except TimeoutError:
            self._connection.close()
            return ""
        if not text:
            return ""
        view = json.loads(text)
        self._seen, self._found = view["mark"], view["found"]
        return str(view["query"]["sentence"])

    def _load(self, path: str, *, reads: bool = False, status: tuple[int, ...] = (200,)) -> bytes:
        self._connection.request("GET", f"/site/{path}", headers={"Accept-Encoding": "gzip"})
        answer = self._connection.getresponse()
        assert answer.status in status, path
        content = b""
        if reads:
            content = answer.read()
            self.nbytes += len(content)
            if answer.getheader("Content-Encoding") == "gzip":
                content = gzip.decompress(content)
        else:
            while n := answer.readinto(_UNREAD):
                self.nbytes += n
        return content


_UNREAD = bytearray(1 << 20)


async def recovery(server: AppServer, asked: Iterator[str], alone: float, page: str) -> float:
    """Seconds until a new visitor's answer takes at most twice as long as when alone."""
    began = time.perf_counter()
    async with person(server.url, page) as one:
        await one.open()
        while time.perf_counter() - began < GIVEN_UP:
            if (await one.ask(next(asked))).seconds <= 2 * alone:
                break
    return time.perf_counter() - began


def questions(data: Path | None) -> Iterator[str]:
    """An endless series of different sentences: from a file, or made up with equal lengths."""
    if data is None:
        return sentences(Tokenizer.load(CHECKPOINT / TOKENIZER), SENTENCE_TOKENS)
    lines = [line.partition("\t")[0] for line in data.read_text(encoding="utf-8").splitlines()]
    random.Random(0).shuffle(lines)
    return itertools.cycle(lines)


def met(row: dict[str, Any], name: str, most: float) -> dict[str, Any]:
    """A line with its target."""
    return {**row, "target": f"{name} <= {most:g}", "met": row[name] <= most and not row["lost"]}


def show(row: dict[str, Any]) -> dict[str, Any]:
    """Print a line and return it."""
    values = {name: value for name, value in row.items() if name != "what"}
    listed = "  ".join(f"{name} {value}" for name, value in values.items())
    print(f"{row['what']}\n    {listed}", flush=True)
    return row


async def measure(
    server: AppServer, asked: Iterator[str], chosen: argparse.Namespace
) -> list[dict[str, Any]]:
    """Run every selected part in turn."""
    rows: list[dict[str, Any]] = []

    async def add(
        what: str, lives: Coroutine[Any, Any, Crowd], goal: tuple[str, float] | None = None
    ) -> dict[str, Any]:
        lived = await lives
        row = lived.row(what, server_mb=round(sum(map(resident, tree(server.pid)))))
        for reason in dict.fromkeys(lived.lost):
            print(f"    lost: {reason}")
        rows.append(show(met(row, *goal) if goal else row))
        return row

    page, seconds = chosen.page, chosen.seconds
    # The very first visitor; later ones find everything loaded.
    await add("the first page", opening(server, 1, 0, page), ("first_page_p95_s", 3.0))
    if "crowds" in chosen.parts:
        for each in chosen.crowds:
            people, every = map(int, each.split("x"))
            await add(
                f"{people} people, a sentence every {every} s",
                crowd(server, asked, people, every, seconds, page),
                ("p95_s", MOST_P95[each]) if each in MOST_P95 else None,
            )
    if "opening" in chosen.parts:
        await add(
            f"{OPENING} people open the link within {OPENING_SECONDS:g} s",
            opening(server, OPENING, OPENING_SECONDS, page),
            ("first_page_p95_s", MOST_OPENING),
        )
    if "hall" in chosen.parts:
        # Whoever comes first has the site made.
        await asyncio.to_thread(Phone(server.url).fetch_page)
        people, every = map(int, PHONES_BESIDE.split("x"))
        await add(
            f"{people} people, a sentence every {every} s, before the phones come",
            crowd(server, asked, people, every, seconds, page),
        )
        lives: list[Followed] = []
        began: Future[str] = Future()
        stop = threading.Event()
        speaking = asyncio.create_task(asyncio.to_thread(speak, server.url, began, stop))
        code = await asyncio.wrap_future(began)

        async def beside() -> None:
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as apart:
                given = (server.url, code, OPENING_SECONDS, seconds)
                loop = asyncio.get_running_loop()
                lives.extend(await loop.run_in_executor(apart, phones, *given))

        row = await add(
            f"{people} people, beside {PHONES} phones that follow a talk",
            crowd(server, asked, people, every, seconds, page, beside),
            ("p95_s", MOST_BESIDE),
        )
        stop.set()
        shown = await speaking
        late = sorted(
            when - shown[sentence]
            for life in lives
            for sentence, when in life.seen.items()
            if sentence in shown
        )
        whole = {"what": f"{PHONES} phones open the code within {OPENING_SECONDS:g} s", "lost": 0}
        first = sorted(each.first for each in lives)
        whole |= {f"first_p{share}_s": round(quantile(first, share), 2) for share in (50, 95, 100)}
        whole |= {"kb_a_phone": round(max(each.nbytes for each in lives) / 1e3)}
        whole |= {"phones_cpu_s": round(lives[0].used, 1)}
        rows.append(show(met(whole, "kb_a_phone", MOST_KB)))
        heard = {"what": "a change on stage reaches them", "lost": 0, "changes": len(shown)}
        heard |= {f"p{share}_s": round(quantile(late, share), 2) for share in (50, 95, 100)}
        rows.append(show(met(heard, "p95_s", MOST_CHANGE)))
        memory = {"what": "memory of the server", "lost": 0, "server_mb": row["server_mb"]}
        rows.append(show(met(memory, "server_mb", MOST_MB)))
    if "overload" in chosen.parts:
        alone = await add("one person alone", crowd(server, asked, 1, 1, seconds / 2, page))
        most = await add("as much as it can", crowd(server, asked, 8, 0, seconds / 2, page))
        # Those who are answered at once would ask again after a second.
        people = max(2, round(2 * most["per_second"]))
        await add(
            f"twice that: {people} people, a sentence every second",
            crowd(server, asked, people, 1, seconds / 2, page),
        )
        recovered = round(await recovery(server, asked, alone["p50_s"], page), 1)
        row = {"what": "answered as alone again", "recovered_s": recovered, "lost": 0}
        rows.append(show(met(row, "recovered_s", RECOVERY_SECONDS)))
    return rows


def main(argv: list[str] | None = None) -> None:
    """Measure, print and write."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ("crowds", "opening", "hall", "overload")
    options.add_argument(
        "--parts", nargs="+", choices=parts, default=parts, help="what to measure (default all)"
    )
    options.add_argument(
        "--crowds", nargs="+", default=CROWDS, help="people x seconds between sentences, as 20x2"
    )
    options.add_argument(
        "--seconds", type=float, default=60.0, help="how long each asks (default 60)"
    )
    options.add_argument("--page", default="heads", help="of the app (default heads)")
    options.add_argument(
        "--data", type=Path, help="a TSV with sentences in its first column (default made-up ones)"
    )
    chosen = options.parse_args(argv)
    # As the app sets it; part of the result.
    torch.set_num_threads(1)
    with serve("app.py", {CHECKPOINTS_VARIABLE: str(CHECKPOINT.parent)}) as server:
        rows = asyncio.run(measure(server, questions(chosen.data), chosen))
    write(
        "load" if {*chosen.parts} == {*parts} else f"load-{'-'.join(chosen.parts)}",
        resolve_device("auto"),
        streamlit=importlib.metadata.version("streamlit"),
        cores=os.cpu_count(),
        checkpoint=CHECKPOINT.name,
        source_tokens=None if chosen.data else SENTENCE_TOKENS,
        rows=rows,
    )


if __name__ == "__main__":
    main()
