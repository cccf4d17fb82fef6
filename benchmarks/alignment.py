"""Cross-attention held against word alignments made by hand.

    python -m benchmarks.alignment

Every head and layer of a checkpoint reads the pairs of benchmarks/gold, their target forced on the
decoder, and links words by its weights or by the norms of what it adds. Runs on one CPU core in
about three minutes.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks._measure import write
from model import load
from model.alignment_error import AlignedPair, ErrorRate, Link, alignment_error_rate, read_aligned
from model.attribution_methods import attributions
from model.trace import AttentionKind
from model.translator import Translator, resolve_device
from model.word_alignment import Weights, diagonal, mutual_argmax, row_argmax, word_map

GOLD = Path(__file__).parent / "gold" / "en-de.tsv"

METHODS = ("weights", "norms")
ROWS = {"output row": False, "one row later": True}
RULES: Mapping[str, Callable[[Weights], frozenset[Link]]] = {
    "row argmax": row_argmax,
    "row ∩ column": mutual_argmax,
}

Maps = Sequence[Weights]
"""A map (target word, source word) for each pair."""
Links = Sequence[frozenset[Link]]
"""The links of each pair."""


def word_maps(
    translator: Translator, gold: Sequence[AlignedPair], method: str
) -> tuple[Mapping[str, Maps], Mapping[str, Maps]]:
    """By name the maps of every layer, all its heads together, and those of every head."""
    layers: dict[str, list[Weights]] = {}
    heads: dict[str, list[Weights]] = {}
    sites = [site for site in translator.sites if site.kind is AttentionKind.CROSS]
    for pair in gold:
        trace = translator.trace(pair.source, pair.target)
        for found in attributions(translator, trace, methods=[method], sites=sites).maps:
            if found.site is None:
                continue
            for row, later in ROWS.items():
                (together,) = word_map(trace, found.together[None], later=later)
                if together.shape != (len(pair.target_words), len(pair.source_words)):
                    raise SystemExit(
                        f"The tokens of line {pair.line} make other words than the file names; "
                        "this checkpoint cannot be held against it."
                    )
                layers.setdefault(f"layer {found.site.layer}, {row}", []).append(together)
                for head, each in enumerate(word_map(trace, found.heads, later=later)):
                    name = f"head {found.site.layer}.{head}, {row}"
                    heads.setdefault(name, []).append(each)
    return layers, heads


def linked(maps: Maps) -> dict[str, Links]:
    """What each rule makes of the maps."""
    return {name: [rule(each) for each in maps] for name, rule in RULES.items()}


def of_each(maps: Mapping[str, Maps]) -> dict[str, dict[str, Links]]:
    """The links of every map, by rule and name."""
    found: dict[str, dict[str, Links]] = {rule: {} for rule in RULES}
    for name, each in maps.items():
        for rule, links in linked(each).items():
            found[rule][name] = links
    return found


def pairs_of_heads(heads: Mapping[str, Maps], gold: Sequence[AlignedPair]) -> dict[str, Maps]:
    """Every two heads together: the mean of their maps, each at its better row."""
    better: dict[str, tuple[float, str]] = {}
    for name, maps in heads.items():
        error = alignment_error_rate([row_argmax(each) for each in maps], gold).error
        head = name.partition(",")[0]
        better[head] = min(better.get(head, (2.0, "")), (error, name))
    return {
        f"{one} + {other}": [(a + b) / 2 for a, b in zip(heads[one], heads[other], strict=True)]
        for one, other in itertools.combinations([name for _, name in better.values()], 2)
    }


def chosen_by_the_other_half(candidates: Mapping[str, Links], gold: Sequence[AlignedPair]) -> Links:
    """The links of each half of the pairs by the candidate that does best on the other half.

    So that what is chosen among many is not measured on the pairs that it was chosen by.
    """
    picked: list[frozenset[Link]] = [frozenset()] * len(gold)
    for half in (0, 1):
        others = gold[1 - half :: 2]

        def error(links: Links, half: int = half, others: Any = others) -> float:
            return alignment_error_rate(links[1 - half :: 2], others).error

        picked[half::2] = min(candidates.values(), key=error)[half::2]
    return picked


def measured(method: str, what: str, rule: str, rate: ErrorRate, **more: Any) -> dict[str, Any]:
    """One row of the results; shares as percentages with one decimal."""
    shares = {name: round(100 * value, 1) for name, value in asdict(rate).items()}
    return {"map": method, "what": what, "rule": rule, **shares, **more}


def best_rows(
    method: str, title: str, candidates: Mapping[str, Links], rule: str, gold: Sequence[AlignedPair]
) -> list[dict[str, Any]]:
    """The best of many, and how good it is where it was not chosen."""
    rates = {name: alignment_error_rate(each, gold) for name, each in candidates.items()}
    best = min(rates, key=lambda name: rates[name].error)
    elsewhere = alignment_error_rate(chosen_by_the_other_half(candidates, gold), gold)
    return [
        measured(method, f"best {title}: {best}", rule, rates[best], candidates=len(rates)),
        measured(method, f"{title}, chosen by the other half", rule, elsewhere),
    ]


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table."""
    print(f"{'':78} {'error':>6}  {'95 %':12} {'prec.':>6} {'recall':>6}   %")
    for row in rows:
        interval = f"[{row['low']:.1f}, {row['high']:.1f}]"
        print(
            f"{row['map']:8} {row['what']:56} {row['rule']:12} {row['error']:6.1f}  "
            f"{interval:12} {row['precision']:6.1f} {row['recall']:6.1f}"
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
    translator = load(arguments.checkpoint, device=str(device))
    floor = [diagonal(len(pair.source_words), len(pair.target_words)) for pair in gold]
    rows = [measured("", "diagonal", "", alignment_error_rate(floor, gold))]
    best = []
    for method in METHODS:
        layers, heads = word_maps(translator, gold, method)
        one, two = of_each(heads), of_each(pairs_of_heads(heads, gold))
        for rule, candidates in of_each(layers).items():
            rows += [
                measured(method, name, rule, alignment_error_rate(links, gold))
                for name, links in (candidates | one[rule]).items()
            ]
            best += best_rows(method, "head", one[rule], rule, gold)
            best += best_rows(method, "two heads", two[rule], rule, gold)
    show(rows + best)
    write(
        "alignment",
        device,
        checkpoint=arguments.checkpoint.name,
        gold=arguments.gold.name,
        pairs=len(gold),
        sure=sum(len(pair.sure) for pair in gold),
        possible=sum(len(pair.possible) for pair in gold),
        rows=rows + best,
    )


if __name__ == "__main__":
    main()
