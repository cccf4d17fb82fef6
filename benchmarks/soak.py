"""Checks that memory, threads and files of the server stay constant during an hour of mixed use.

    python -m benchmarks.soak

A few people go from page to page, each with views of its own, ask some sentences on each, and leave
as browsers do. Once a minute the server and the model's process are looked at. After the warm-up
memory has to stay within 5% of what it was, and threads and open files must not become more.
"""

import argparse
import asyncio
import itertools
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks._measure import write
from benchmarks.load import CHECKPOINT, CHECKPOINTS_VARIABLE, questions, tree
from benchmarks.memory import resident
from model.translate.devices import resolve_device
from tests.kit.person import Lost, person
from tests.kit.running_app import serve

VIEWS = (
    ("", ""),
    ("", "view=lines&order=entropy"),
    ("", "attention=encoder&words=1&specials=0&below=query-key"),
    ("", "below=numbers"),
    ("masks", ""),
    ("masks", "part=compare"),
    ("masks", "part=change"),
    ("positions", "topic=likeness"),
    ("positions", "topic=words&scale=50"),
    ("decoding", ""),
    ("decoding", "section=beams&beam=8"),
    ("decoding", "section=layers&off=cross.3.5"),
    ("effects", ""),
    ("effects", "show=maps&method=all"),
    ("effects", "show=removal"),
)
"""Pages, with views of each."""

SENTENCES = 4
"""The number of sentences that a person asks before going to another page."""

PAUSE = 8.0
"""The mean number of seconds from an answer to the next question."""

EDGE = 5
"""The minutes at the start and at the end whose medians are compared."""

STEADY = 0.05
"""The share of its memory by which a server may differ at the end."""


async def use(url: str, asked: Iterator[str], end: float, chance: random.Random) -> list[str]:
    """One person until the end; returns lost questions."""
    lost = []
    while time.monotonic() < end:
        page, query = chance.choice(VIEWS)
        async with person(url, page) as one:
            one.query = query
            try:
                await one.open()
                for _ in range(SENTENCES):
                    await asyncio.sleep(chance.expovariate(1 / PAUSE))
                    await one.ask(next(asked))
            except Lost as loss:
                lost.append(f"{page}?{query}: {loss}")
    return lost


def reading(pid: int) -> dict[str, float]:
    """The current resources of a server and all its processes."""
    every = tree(pid)
    return {
        "resident_mb": round(sum(map(resident, every)), 1),
        "threads": sum(len(list(Path(f"/proc/{each}/task").iterdir())) for each in every),
        "files": sum(len(list(Path(f"/proc/{each}/fd").iterdir())) for each in every),
    }


async def soak(pid: int, url: str, people: int, minutes: int) -> tuple[list[dict[str, float]], int]:
    """One reading per minute, and the number of lost questions."""
    asked, end = questions(None), time.monotonic() + 60 * minutes
    lives = [use(url, asked, end, random.Random(number)) for number in range(people)]
    rows = []

    async def watch() -> None:
        for minute in itertools.count(1):
            await asyncio.sleep(max(0, end - 60 * (minutes - minute) - time.monotonic()))
            rows.append({"minute": minute, **reading(pid)})
            print("  ".join(f"{name} {value:g}" for name, value in rows[-1].items()), flush=True)
            if minute == minutes:
                return

    *lost, _ = await asyncio.gather(*lives, watch())
    every = [loss for one in lost for loss in one or ()]
    for loss in every:
        print(f"lost: {loss}")
    return rows, len(every)


def main(argv: list[str] | None = None) -> None:
    """Measure, print and write."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--minutes", type=int, default=60, help="in all (default 60)")
    options.add_argument("--warm-up", type=int, default=15, help="minutes before (default 15)")
    options.add_argument("--people", type=int, default=3, help="at once (default 3)")
    chosen = options.parse_args(argv)
    if chosen.minutes < chosen.warm_up + 2 * EDGE:
        options.error(f"--minutes must be {2 * EDGE} more than --warm-up, and more.")
    torch.set_num_threads(1)
    with serve("app.py", {CHECKPOINTS_VARIABLE: str(CHECKPOINT.parent)}) as server:
        rows, lost = asyncio.run(soak(server.pid, server.url, chosen.people, chosen.minutes))
    measured = rows[chosen.warm_up :]
    changes = {}
    for name in ("resident_mb", "threads", "files"):
        first, last = (
            statistics.median(row[name] for row in edge)
            for edge in (measured[:EDGE], measured[-EDGE:])
        )
        changes[name] = round(last / first - 1, 3)
    steady = abs(changes["resident_mb"]) <= STEADY and not lost
    print(f"From beginning to end: {changes}, {lost} lost: {'steady' if steady else 'NOT steady'}")
    write(
        "soak",
        resolve_device("auto"),
        checkpoint=CHECKPOINT.name,
        people=chosen.people,
        warm_up_minutes=chosen.warm_up,
        lost=lost,
        changes=changes,
        steady=steady,
        rows=rows,
    )


if __name__ == "__main__":
    main()
