"""Measures `headscope translate` as a filter, beside translating one line at a time.

    python -m benchmarks.lines --data dev.tsv

Both translate the lines in turn, 100 by 100, so that drift affects both alike. The model is loaded
already. Prints lines a second and how many translations differ.
"""

import itertools
import time
from pathlib import Path

import torch

from benchmarks._measure import parser, write
from model.checkpoints.shipped import checkpoint_folder
from model.translate.lines import translated_lines
from model.translate.translator import load

TURN = 100


def main(argv: list[str] | None = None) -> None:
    """Measure, print and write."""
    options = parser(__doc__ or "")
    options.add_argument("--checkpoint", type=checkpoint_folder, default="en-de")
    options.add_argument("--data", type=Path, required=True, help="a .tsv; sentences come first")
    options.add_argument("--lines", type=int, default=2000, help="how many (default 2000)")
    arguments = options.parse_args(argv)
    torch.set_num_threads(arguments.threads)
    translator = load(checkpoint_folder(arguments.checkpoint), device=arguments.device)
    with arguments.data.open(encoding="utf-8") as file:
        texts = [
            line.rstrip("\n").split("\t")[0] for line in itertools.islice(file, arguments.lines)
        ]
    seconds = {"batches": 0.0, "one": 0.0}
    differing = 0
    # Once, so that neither pays for what is only done at first.
    list(translated_lines(translator, [[text.encode() for text in texts[:TURN]]]))
    for start in range(0, len(texts), TURN):
        turn = texts[start : start + TURN]
        began = time.perf_counter()
        lines = list(translated_lines(translator, [[text.encode() for text in turn]]))
        between = time.perf_counter()
        alone = [translator.translate(text) for text in turn]
        ended = time.perf_counter()
        seconds["batches"] += between - began
        seconds["one"] += ended - between
        differing += sum(
            line.translation is None or line.translation.text != one.text
            for line, one in zip(lines, alone, strict=True)
        )
    rates = {name: round(len(texts) / each, 1) for name, each in seconds.items()}
    print(
        f"{len(texts):,} lines, a second: {rates['batches']} in batches, {rates['one']} one by one"
    )
    print(f"{differing:,} translations differ.")
    write(
        "lines",
        translator.device,
        checkpoint=translator.name,
        lines=len(texts),
        lines_a_second=rates,
        differing=differing,
    )


if __name__ == "__main__":
    main()
