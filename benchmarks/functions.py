"""Times single functions of the interface at the largest input they are meant for.

    python -m benchmarks.functions

Without a browser and without a model: drawing a table of 512 positions and dimensions, telling two
texts of 512 words that repeat themselves apart, and listing 512 by 512 weights as a table.
"""

import numpy as np
import torch

from benchmarks._measure import interleaved, parser, report, row
from model.explain.position_measures import formula_table
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from viz.draw.word_diff import word_diff
from viz.heads.tables import weights_table
from viz.positions.table import Positions
from viz.save.picture import Layout

MOST = 512
TARGETS = {"table drawn": 30, "repeated words compared": 1000, "weights listed": 500}
"""Milliseconds."""


def main() -> None:
    options = parser(__doc__).parse_args()
    torch.set_num_threads(options.threads)
    table = formula_table(MOST, MOST)
    names = Tokens.unnamed([f"token{place}" for place in range(MOST)])
    weights = np.full((1, MOST, MOST), 1 / MOST, dtype=np.float32)
    seen = AttentionMap(
        site=Site(AttentionKind.CROSS, 0),
        weights=weights,
        allowed=np.ones((MOST, MOST), dtype=np.bool_),
        queries=names,
        keys=names,
    )
    seconds = interleaved(
        {
            "table drawn": lambda: Positions(table, None).figure(Layout()),
            "repeated words compared": lambda: word_diff("a " * MOST, "b a " * (MOST // 2)),
            "weights listed": lambda: weights_table(seen, 0),
        },
        options.runs,
        torch.device("cpu"),
    )
    rows = [row(name, each, target_ms=TARGETS[name]) for name, each in seconds.items()]
    report("functions", rows, torch.device("cpu"))


if __name__ == "__main__":
    main()
