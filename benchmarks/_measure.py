"""Comparable timing: interleaved runs, medians, one table and one JSON file."""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

RESULTS = Path(__file__).parent / "results"


def parser(description: str) -> argparse.ArgumentParser:
    """Options shared by all benchmarks."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--device", default="auto", help="auto, cpu or cuda")
    options.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    options.add_argument("--runs", type=int, default=30, help="runs of each (default 30)")
    return options


def interleaved(
    candidates: dict[str, Callable[[], Any]], runs: int, device: torch.device
) -> dict[str, list[float]]:
    """Seconds of every run of every candidate, in turn, so that drift affects all alike."""

    def once(candidate: Callable[[], Any]) -> float:
        _wait(device)
        began = time.perf_counter()
        candidate()
        _wait(device)
        return time.perf_counter() - began

    for candidate in candidates.values():
        for _ in range(3):
            once(candidate)
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(runs):
        for name, candidate in candidates.items():
            seconds[name].append(once(candidate))
    return seconds


def ratio(seconds: dict[str, list[float]], ours: str, other: str) -> float:
    """Median over the pairs of interleaved runs of ours / other."""
    return statistics.median(
        mine / theirs for mine, theirs in zip(seconds[ours], seconds[other], strict=True)
    )


def row(name: str, seconds: list[float], **more: Any) -> dict[str, Any]:
    """One line of a table."""
    return {
        "what": name,
        "median_ms": round(1000 * statistics.median(seconds), 2),
        "min_ms": round(1000 * min(seconds), 2),
        "max_ms": round(1000 * max(seconds), 2),
        "runs": len(seconds),
        **more,
    }


def report(name: str, rows: list[dict[str, Any]], device: torch.device, **facts: Any) -> None:
    """Print a table and write benchmarks/results/NAME-DEVICE.json."""
    print(f"{'':58} {'median':>9} {'min':>9} {'max':>9}   ms")
    for each in rows:
        extra = f"   {each['note']}" if "note" in each else ""
        print(
            f"{each['what']:58} {each['median_ms']:9.2f} {each['min_ms']:9.2f} "
            f"{each['max_ms']:9.2f}{extra}"
        )
    write(name, device, **facts, rows=rows)


def write(name: str, device: torch.device, **content: Any) -> None:
    """Write benchmarks/results/NAME-DEVICE.json, with a description of the machine."""
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{name}-{device.type}.json"
    whole = {
        "machine": _machine(device),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        **content,
    }
    file.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _machine(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    for line in Path("/proc/cpuinfo").read_text().splitlines() if _has_cpuinfo() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _has_cpuinfo() -> bool:
    return Path("/proc/cpuinfo").exists()


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
