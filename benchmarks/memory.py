"""Measures the server's memory while people type one sentence after another.

    python -m benchmarks.memory

1,000 different sentences through the real app in headless Chromium, each until the whole page
stands, with a new browser session every 100. Prints the server's resident memory every 100; it has
to flatten, since every cache is bounded.
"""

import argparse
import statistics
import time
from pathlib import Path

import torch

from benchmarks._measure import write
from benchmarks.browser import (
    CHECKPOINT,
    CHECKPOINTS_VARIABLE,
    SENTENCE_TOKENS,
    ask,
    chromium,
    open_app,
    running,
    same_length,
    visitor,
)
from model.translate.devices import resolve_device

EVERY = 100
FLAT = 5.0
"""Megabytes every 100 sentences; memory that grows by less over the second half is flat."""


def resident(pid: int) -> float:
    """Megabytes of memory that a process holds.

    Raises:
        SystemExit: on a system without /proc.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        raise SystemExit(
            "Memory is read from /proc, which this system lacks; run this benchmark on Linux."
        ) from None
    (kilobytes,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return int(kilobytes) / 1024


def growth(megabytes: list[float]) -> float:
    """Megabytes per reading over the second half, by linear regression."""
    half = megabytes[len(megabytes) // 2 :]
    return statistics.linear_regression(range(len(half)), half).slope


def main(argv: list[str] | None = None) -> None:
    """Measure, print and write."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--sentences", type=int, default=1000, help="how many, in hundreds (default 1000)"
    )
    count = options.parse_args(argv).sentences
    if count % EVERY or count < 4 * EVERY:
        options.error(f"--sentences must be a multiple of {EVERY}, and {4 * EVERY} at least.")
    # As the app sets it; part of the result.
    torch.set_num_threads(1)
    device = resolve_device("auto")
    asked = same_length(count)
    environment = {CHECKPOINTS_VARIABLE: str(CHECKPOINT.parent)}
    with chromium() as browser, running("app.py", environment) as server:
        with visitor(browser) as page:
            open_app(page, server.url)
        readings = [resident(server.pid)]
        print(f"{'sentences':>9} {'MB':>8} {'added':>8} {'s a sentence':>13}")
        print(f"{0:9} {readings[0]:8.1f}")
        for start in range(0, count, EVERY):
            began = time.perf_counter()
            with visitor(browser) as page:
                open_app(page, server.url)
                for sentence in asked[start : start + EVERY]:
                    ask(page, sentence)
            readings.append(resident(server.pid))
            print(
                f"{start + EVERY:9} {readings[-1]:8.1f} {readings[-1] - readings[-2]:+8.1f} "
                f"{(time.perf_counter() - began) / EVERY:13.2f}",
                flush=True,
            )
    slope = growth(readings)
    verdict = "flat" if slope < FLAT else "NOT flat"
    print(
        f"Over the second half it grows by {slope:.1f} MB every {EVERY} sentences: {verdict} "
        f"(the limit is {FLAT:g})."
    )
    write(
        "memory",
        device,
        checkpoint=CHECKPOINT.name,
        source_tokens=SENTENCE_TOKENS,
        sentences_a_session=EVERY,
        growth_mb_every_100=round(slope, 2),
        flat=slope < FLAT,
        rows=[
            {"sentences": EVERY * place, "resident_mb": round(reading, 1)}
            for place, reading in enumerate(readings)
        ],
    )


if __name__ == "__main__":
    main()
