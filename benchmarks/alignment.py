"""Cross-attention held against word alignments that a person made.

    python -m benchmarks.alignment

Every head and layer of a checkpoint reads the pairs of benchmarks/gold, their target forced on the
decoder, and links words by its weights. Runs on one CPU core in about a minute.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks._measure import write
from model import load
from model.alignment_error import AlignedPair, ErrorRate, Link, alignment_error_rate, read_aligned
from model.trace import AttentionKind
from model.translator import Translator, resolve_device
from model.word_alignment import Weights, diagonal, mutual_argmax, row_argmax, word_map

GOLD = Path(__file__).parent / "gold" / "en-de.tsv"

ROWS = {"output row": False, "one row later": True}
RULES: Mapping[str, Callable[[Weights], frozenset[Link]]] = {
    "row argmax": row_argmax,
    "row ∩ column": mutual_argmax,
}

Maps = Sequence[Weights]
"""A map (target word, source word) for each pair."""
Links = Sequence[frozenset[Link]]
"""The links of each pair."""


def head_maps(
    translator: Translator, gold: Sequence[AlignedPair]
) -> Mapping[tuple[int, str], Maps]:
    """By layer and row, for each pair (head, target word, source word)."""
    found: dict[tuple[int, str], list[Weights]] = {}
    for pair in gold:
        trace = translator.trace(pair.source, pair.target)
        for site, seen in trace.maps.items():
            if site.kind is AttentionKind.CROSS:
                for row, later in ROWS.items():
                    maps = word_map(trace, seen.weights, later=later)
                    if maps.shape[1:] != (len(pair.target_words), len(pair.source_words)):
                        raise SystemExit(
                            f"The tokens of line {pair.line} make other words than the file names; "
                            "this checkpoint cannot be held against it."
                        )
                    found.setdefault((site.layer, row), []).append(maps)
    return found


def linked(maps: Maps) -> dict[str, Links]:
    """What each rule makes of the maps."""
    return {name: [rule(each) for each in maps] for name, rule in RULES.items()}


def chosen_by_the_other_half(candidates: Mapping[str, Links], gold: Sequence[AlignedPair]) -> Links:
    """The links of each half of the pairs by the candidate that does best on the other half.

    So that what is chosen among many is not measured on the pairs that it was chosen by.
    """
    picked: list[frozenset[Link]] = [frozenset()] * len(gold)
    for half in (0, 1):
        others = gold[1 - half :: 2]
        best = min(
            candidates.values(),
            key=lambda links: alignment_error_rate(links[1 - half :: 2], others).error,
        )
        picked[half::2] = best[half::2]
    return picked


def pairs_of_heads(
    heads: Mapping[str, Maps], gold: Sequence[AlignedPair]
) -> dict[str, dict[str, Links]]:
    """Every two heads together, by rule: the mean of their maps, each at its better row."""
    better: dict[str, tuple[float, str]] = {}
    for name, maps in heads.items():
        error = alignment_error_rate([row_argmax(each) for each in maps], gold).error
        head = name.partition(",")[0]
        better[head] = min(better.get(head, (2.0, "")), (error, name))
    found: dict[str, dict[str, Links]] = {rule: {} for rule in RULES}
    for one, other in itertools.combinations([name for _, name in better.values()], 2):
        both = [(a + b) / 2 for a, b in zip(heads[one], heads[other], strict=True)]
        for rule, links in linked(both).items():
            found[rule][f"{one} + {other}"] = links
    return found


def measured(what: str, rule: str, rate: ErrorRate, **more: Any) -> dict[str, Any]:
    """One row of the results; shares as percentages, one decimal."""
    shares = {name: round(100 * value, 1) for name, value in asdict(rate).items()}
    return {"what": what, "rule": rule, **shares, **more}


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table."""
    for row in rows:
        interval = f"[{row['low']:.1f}, {row['high']:.1f}]"
        print(
            f"{row['what']:52} {row['rule']:13} {row['error']:6.1f}  {interval:14} "
            f"{row['precision']:6.1f} {row['recall']:6.1f}"
        )


def main(argv: list[str] | None = None) -> None:
    """Measure, print and write."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.alignment", description=(__doc__ or "").partition("\n")[0]
    )
    options.add_argument("--checkpoint", type=Path, default=Path("checkpoints/en-de"))
    options.add_argument("--gold", type=Path, default=GOLD, help="hand-made alignments, a .tsv")
    options.add_argument("--device", default="cpu", help="auto, cpu or cuda")
    arguments = options.parse_args(argv)
    torch.set_num_threads(1)
    device = resolve_device(arguments.device)
    gold = read_aligned(arguments.gold)
    layers = head_maps(load(arguments.checkpoint, device=str(device)), gold)
    heads: dict[str, Maps] = {
        f"head {layer}.{head}, {row}": [each[head] for each in maps]
        for (layer, row), maps in layers.items()
        for head in range(len(maps[0]))
    }
    means: dict[str, Maps] = {
        f"layer {layer}, {row}": [np.mean(each, axis=0) for each in maps]
        for (layer, row), maps in layers.items()
    }
    floor = [diagonal(len(pair.source_words), len(pair.target_words)) for pair in gold]
    rows = [measured("diagonal", "", alignment_error_rate(floor, gold))]
    for name, maps in (means | heads).items():
        rows += [
            measured(name, rule, alignment_error_rate(links, gold))
            for rule, links in linked(maps).items()
        ]
    of_one: dict[str, dict[str, Links]] = {
        rule: {name: linked(maps)[rule] for name, maps in heads.items()} for rule in RULES
    }
    for title, candidates in (("one head", of_one), ("two heads", pairs_of_heads(heads, gold))):
        for rule, links in candidates.items():
            rates = {name: alignment_error_rate(each, gold) for name, each in links.items()}
            best = min(rates, key=lambda name: rates[name].error)
            held_out = alignment_error_rate(chosen_by_the_other_half(links, gold), gold)
            rows += [
                measured(f"best {title}: {best}", rule, rates[best], candidates=len(links)),
                measured(f"{title}, chosen by the other half", rule, held_out),
            ]
    print(f"{'':52} {'':13} {'error':>6}  {'95 %':14} {'prec.':>6} {'recall':>6}   %")
    show(rows)
    write(
        "alignment",
        device,
        checkpoint=arguments.checkpoint.name,
        gold=arguments.gold.name,
        pairs=len(gold),
        sure=sum(len(pair.sure) for pair in gold),
        possible=sum(len(pair.possible) for pair in gold),
        rows=rows,
    )


if __name__ == "__main__":
    main()
