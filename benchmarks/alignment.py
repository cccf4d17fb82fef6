"""Compares cross-attention with word alignments made by hand.

    python -m benchmarks.alignment

Every head and layer of a checkpoint reads the pairs of benchmarks/gold, their target forced on the
decoder, and links words by its weights or by the norms of what it adds. Runs on one CPU core in
about three minutes. With --store, the checkpoint keeps the table that the effects page shows. With
--back and a model of the way back, the best heads of both are taken together as well.
"""

import argparse
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks._measure import write
from model.checkpoints.folder_files import write_json
from model.explain.alignment_error import (
    AlignedPair,
    ErrorRate,
    Link,
    alignment_error_rate,
    read_aligned,
    turned,
)
from model.explain.alignment_file import ALIGNMENT
from model.explain.alignment_table import AlignmentTable, Combination, Read
from model.explain.attributing import attributions
from model.explain.word_alignment import Weights, diagonal, mutual_argmax, row_argmax, word_map
from model.trace.attention_map import AttentionKind
from model.training.evaluate import reversed_columns
from model.translate.devices import resolve_device
from model.translate.translator import Translator, load

GOLD = Path(__file__).parent / "gold" / "en-de.tsv"

METHODS = ("weights", "norms")
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
) -> tuple[Mapping[Read, Maps], Mapping[Read, Maps]]:
    """The maps of every layer (all heads together) and of every head."""
    layers: dict[Read, list[Weights]] = {}
    heads: dict[Read, list[Weights]] = {}
    sites = [site for site in translator.sites if site.kind is AttentionKind.CROSS]
    for pair in gold:
        trace = translator.trace(pair.source, pair.target)
        for found in attributions(translator, trace, methods=[method], sites=sites).maps:
            if found.site is None:
                continue
            layer = found.site.layer
            for later in (False, True):
                (together,) = word_map(trace, found.together[None], later=later)
                if together.shape != (len(pair.target_words), len(pair.source_words)):
                    raise SystemExit(
                        f"The tokens of line {pair.line} make other words than the file names; "
                        "this checkpoint cannot be held against it."
                    )
                layers.setdefault(Read(layer, None, later), []).append(together)
                for head, each in enumerate(word_map(trace, found.heads, later=later)):
                    heads.setdefault(Read(layer, head, later), []).append(each)
    return layers, heads


def linked(maps: Maps) -> dict[str, Links]:
    """The links that each rule makes from the maps."""
    return {name: [rule(each) for each in maps] for name, rule in RULES.items()}


def of_each(maps: Mapping[str, Maps]) -> dict[str, dict[str, Links]]:
    """The links of every map, by rule and name."""
    found: dict[str, dict[str, Links]] = {rule: {} for rule in RULES}
    for name, each in maps.items():
        for rule, links in linked(each).items():
            found[rule][name] = links
    return found


def pairs_of_heads(heads: Mapping[Read, Maps], gold: Sequence[AlignedPair]) -> dict[str, Maps]:
    """Every pair of heads: the mean of their maps, each read at its better row."""
    better: dict[tuple[int, int | None], tuple[float, Read]] = {}
    for read, maps in heads.items():
        error = alignment_error_rate([row_argmax(each) for each in maps], gold).error
        head = read.layer, read.head
        better[head] = min(better.get(head, (2.0, read)), (error, read))
    return {
        f"{one.name} + {other.name}": [
            (a + b) / 2 for a, b in zip(heads[one], heads[other], strict=True)
        ]
        for one, other in itertools.combinations([read for _, read in better.values()], 2)
    }


def named(maps: Mapping[Read, Maps]) -> dict[str, Maps]:
    """The maps by name."""
    return {read.name: each for read, each in maps.items()}


def chosen_by_the_other_half(candidates: Mapping[str, Links], gold: Sequence[AlignedPair]) -> Links:
    """The links of each half of the pairs by the candidate that does best on the other half.

    The best of many candidates is thus never measured on the pairs that selected it.
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


def best_of(candidates: Mapping[str, Links], gold: Sequence[AlignedPair]) -> tuple[str, ErrorRate]:
    """The best candidate, by name."""
    rates = {name: alignment_error_rate(each, gold) for name, each in candidates.items()}
    best = min(rates, key=lambda name: rates[name].error)
    return best, rates[best]


def both_ways(
    links: Links, back: Links, gold: Sequence[AlignedPair]
) -> list[tuple[str, ErrorRate]]:
    """Links of one direction with those of the other (Och and Ney 2003, section 3.2).

    Args:
        links: of each pair.
        back: of the same pairs with source and target exchanged.
        gold: the pairs.
    """
    pairs = [(each, turned(other)) for each, other in zip(links, back, strict=True)]
    return [
        ("intersection", alignment_error_rate([one & other for one, other in pairs], gold)),
        ("union", alignment_error_rate([one | other for one, other in pairs], gold)),
    ]


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table."""
    print(f"{'':78} {'error':>6}  {'95%':12} {'prec.':>6} {'recall':>6}   %")
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
    options.add_argument("--back", type=Path, help="a checkpoint that translates the other way")
    options.add_argument("--device", default="cpu", help="auto, cpu or cuda")
    options.add_argument(
        "--store", action="store_true", help="keep the table with the checkpoint, for the app"
    )
    arguments = options.parse_args(argv)
    torch.set_num_threads(1)
    device = resolve_device(arguments.device)
    written = read_aligned(arguments.gold)
    # A model of the opposite direction reads the file's target.
    is_back = reversed_columns(arguments.checkpoint)
    gold = [pair.turned() if is_back else pair for pair in written]
    translator = load(arguments.checkpoint, device=str(device))
    floor = [diagonal(len(pair.source_words), len(pair.target_words)) for pair in gold]
    order = alignment_error_rate(floor, gold)
    rows, best_rows = [measured("", "diagonal", "", order)], []
    best, rates = [], {}
    by_weights: Mapping[Read, Maps] = {}
    for method in METHODS:
        layers, heads = word_maps(translator, gold, method)
        if method == "weights":
            by_weights = heads
            rates = {
                read: alignment_error_rate([row_argmax(each) for each in maps], gold)
                for read, maps in {**layers, **heads}.items()
            }
        one, two = of_each(named(heads)), of_each(pairs_of_heads(heads, gold))
        for rule, candidates in of_each(named(layers)).items():
            rows += [
                measured(method, name, rule, alignment_error_rate(links, gold))
                for name, links in (candidates | one[rule]).items()
            ]
            for title, links_of in (("head", one[rule]), ("two heads", two[rule])):
                name, rate = best_of(links_of, gold)
                best.append(Combination(name, method, rule, len(links_of), rate))
                elsewhere = alignment_error_rate(chosen_by_the_other_half(links_of, gold), gold)
                best_rows += [
                    measured(
                        *(method, f"best {title}: {name}", rule, rate), candidates=len(links_of)
                    ),
                    measured(method, f"{title}, chosen by the other half", rule, elsewhere),
                ]
    if arguments.back:
        back_gold = [pair.turned() for pair in gold]
        _, other = word_maps(load(arguments.back, device=str(device)), back_gold, "weights")
        forth, back = [
            chosen_by_the_other_half(of_each(named(heads))["row argmax"], pairs)
            for heads, pairs in ((by_weights, gold), (other, back_gold))
        ]
        best_rows += [
            measured("weights", f"a head of each direction: {how}", "row argmax", rate)
            for how, rate in both_ways(forth, back, gold)
        ]
    show(rows + best_rows)
    write(
        f"alignment-{arguments.checkpoint.name}",
        device,
        checkpoint=arguments.checkpoint.name,
        gold=arguments.gold.name,
        pairs=len(gold),
        sure=sum(len(pair.sure) for pair in gold),
        possible=sum(len(pair.possible) for pair in gold),
        rows=rows + best_rows,
    )
    if arguments.store:
        table = AlignmentTable(
            gold=arguments.gold.name,
            n_pairs=len(gold),
            diagonal=order,
            rates=rates,
            best=tuple(best),
        )
        write_json(arguments.checkpoint / ALIGNMENT, table.to_json())


if __name__ == "__main__":
    main()
