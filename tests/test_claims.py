"""What the documents say of measurements is what benchmarks/results/ holds."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
RESULTS = ROOT / "benchmarks" / "results"


def test_the_comparison_with_marian_is_the_one_that_was_measured() -> None:
    peers = json.loads((RESULTS / "peers-cpu.json").read_text())
    for row in peers["rows"][:2]:
        faster = f"{row['ours_is_faster']:.2f} times as fast"
        assert f"| {row['median_ms']:.0f} ms | {faster} |" in PAGE
    assert f"`translator.trace(text)` | {peers['our_median_ms']:.0f} ms |" in PAGE
