"""The model in the browser beside the model in Python: the same tokens, translations and effects.

    python -m benchmarks.engine --data dev.tsv
    python -m benchmarks.engine

Node runs the engine. For each checkpoint it counts sentences that are translated otherwise than in
Python, and lines that have other tokens, and gives the largest difference of an effect of a head.
On the first `--explained` sentences it compares what each layer would predict, what adds up to the
lead of one word over another, that lead without each source token, the heads that decide it, the
hypotheses of the search, and what becomes of a sentence in which one word is another as single
hidden states cross over. Then come the times of one
sentence, with and without WebAssembly. Without data, it measures the packed
page in Chromium: what a person waits for, each time with its limit, and memory.
"""

import argparse
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from benchmarks._live_page import measured
from benchmarks._measure import parser, report, write
from model.checkpoints.checkpoint import language_pair
from model.checkpoints.shipped import CHECKPOINTS
from model.contrast.contrast import contrast_of
from model.contrast.head_sets import darkened, head_set
from model.contrast.logit_terms import logit_terms
from model.contrast.pairs import least_certain, next_likeliest, pair_of
from model.explain.head_ablation import effects_of
from model.patching.causal_trace import causal_trace
from model.patching.patch import SentencePair
from model.translate.translator import Translator, load
from tests.kit.engine import ids_of, in_node, run, weights_of
from viz.acts.minds import RANDOM_ORDERS, strongest_first
from viz.acts.swap import neighbours

TOGETHER = 50
EFFECTS = 5
TIMED = {
    "en": "The old man walked slowly across the bridge with his dog.",
    "de": "Der alte Mann ging langsam mit seinem Hund über die Brücke.",
}


def lines_of(data: Path, column: int, count: int) -> list[str]:
    """The first different sentences of a column of a tab-separated file."""
    with data.open(encoding="utf-8") as opened:
        found = dict.fromkeys(line.rstrip("\n").split("\t")[column] for line in opened)
    return list(found)[:count]


def translated_otherwise(
    translator: Translator, folder: Path, lines: list[str]
) -> list[tuple[str, str, str]]:
    """Each sentence with its two translations, where they differ."""
    options = {"weights": weights_of(folder)}
    found = in_node("translate", folder=str(folder), options=options, lines=lines)["texts"]
    expected = [
        each.text
        for start in range(0, len(lines), TOGETHER)
        for each in translator.translate_batch(lines[start : start + TOGETHER])
    ]
    each = zip(lines, expected, found, strict=True)
    return [(line, one, other) for line, one, other in each if one != other]


def largest_difference(translator: Translator, folder: Path, lines: list[str]) -> float:
    """Of an effect of a head on a token, over some sentences."""
    traces = [translator.trace(line) for line in lines]
    found = run(folder, *(("effects", [ids_of(trace)]) for trace in traces))
    return max(
        float(np.abs(np.reshape(same["losses"], loss.shape) - loss).max())
        for trace, each in zip(traces, found, strict=True)
        for loss, same in zip(
            effects_of(translator, trace).losses.values(), each["sites"], strict=True
        )
    )


def explained(translator: Translator, folder: Path, lines: list[str]) -> dict[str, Any]:
    """What differs of layers' predictions, of one word against another, searches and crossings."""
    lens_apart = terms_apart = deleted_apart = decided_apart = crossed_apart = 0.0
    other_searches = other_heads = crossings = 0
    for line in tqdm(lines, desc=folder.name):
        decoding = translator.decode(line)
        trace = translator.trace_of(decoding.translation)
        place = least_certain(trace)
        pair = pair_of(translator, trace, place, next_likeliest(translator, trace, place))
        ids = [*trace.predictions.ids]
        asked = {"step": pair.step, "ids": ids, "other": pair.ids[1]}
        layers, found, tree, deleted, decided = run(
            folder,
            ("lens", [line, {"ids": ids}]),
            ("terms", [line, asked]),
            ("tree", [line, {"most": 0}]),
            ("deleted", [line, asked]),
            ("deciding", [line, {**asked, "orders": RANDOM_ORDERS}]),
        )
        lens, terms = translator.logit_lens(trace), logit_terms(translator, trace, pair)
        own = np.array([each["logProbs"] for each in layers])
        lens_apart = max(lens_apart, float(np.abs(own - lens.log_probs).max()))
        heads = zip(
            (*found["decoder"], *found["cross"]),
            (*terms.decoder.values(), *terms.cross.values()),
            strict=True,
        )
        parts = [np.abs(np.array(one) - other).max() for one, other in heads]
        parts += [
            abs(found[name] - getattr(terms, name))
            for name in ("difference", "embedding", "biases")
        ]
        parts.append(np.abs(np.array(found["feedForward"]) - terms.feed_forward).max())
        terms_apart = max(terms_apart, float(max(parts)))
        held = [(each["parent"], each["id"], each["fate"], each["rank"]) for each in tree["nodes"]]
        other_searches += held != [(n.parent, n.token_id, n.fate, n.rank) for n in decoding.nodes]
        contrast = contrast_of(translator, trace, pair)
        without = np.array([contrast.log_probs, *contrast.deleted])
        apart = np.abs(without[:, 0] - without[:, 1] - deleted).max()
        deleted_apart = max(deleted_apart, float(apart))
        chosen = head_set(translator, trace, pair)
        heads_of = strongest_first(chosen, contrast)
        named = [(str(each.site.kind), each.site.layer, each.number) for each in heads_of]
        same = named == [(each["kind"], each["layer"], each["head"]) for each in decided["heads"]]
        other_heads += not same
        if same and chosen.decides:
            judged = darkened(translator, trace, pair, heads_of, RANDOM_ORDERS)
            leads = (judged[:, :, 0] - judged[:, :, 1]).ravel()
            decided_apart = max(decided_apart, float(np.abs(leads - decided["leads"]).max()))
        for other in list(neighbours(line, "en"))[:1]:
            crossings += 1
            crossed_apart = max(crossed_apart, crossed(translator, folder, line, other))
    return {
        "explained": len(lines),
        "lens_difference": lens_apart,
        "terms_difference": terms_apart,
        "other_searches": other_searches,
        "deleted_difference": deleted_apart,
        "other_deciding_heads": other_heads,
        "deciding_difference": decided_apart,
        "crossings": crossings,
        "crossing_difference": crossed_apart,
    }


def crossed(translator: Translator, folder: Path, line: str, other: str) -> float:
    """The largest difference of a word's probability with any one hidden state of another run."""
    found = causal_trace(translator, line, other)
    runs = SentencePair(translator, line, other)
    labels, places = [*runs.given.predictions.ids], [list(each) for each in runs.pairs]
    asked = {"other": other, "written": runs.other_text, "ids": labels, "pairs": places}
    (got,) = run(folder, ("swapped", [line, asked]))
    shares = np.nan_to_num(found.probabilities("encoder", got["telling"]), nan=-1)
    return float(np.abs(shares - got["shares"]).max())


def compared(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """What differs between the two engines of a checkpoint."""
    folder, translator = CHECKPOINTS / name, load(name, device="cpu")
    column = 1 if language_pair(name)[0] == "de" else 0
    lines = lines_of(arguments.data, column, arguments.sentences)
    both = [lines_of(arguments.lines or arguments.data, each, 10**9) for each in (0, 1)]
    every = [line for side in both for line in side]
    encoded = in_node("encode", folder=str(folder), lines=every)["encoded"]
    expected = translator.tokenizer.encode_all(every)
    others = translated_otherwise(translator, folder, lines)
    for line, one, other in others:
        print(f"  {line}\n    Python {one}\n    engine {other}")
    return {
        "checkpoint": name,
        "lines": len(every),
        "other_tokens": sum(one != two for one, two in zip(encoded, expected, strict=True)),
        "sentences": len(lines),
        "other_translations": len(others),
        "effect_difference": largest_difference(translator, folder, lines[:EFFECTS]),
        **explained(translator, folder, lines[: arguments.explained]),
    }


def timed(name: str, runs: int, *, wasm: bool) -> list[dict[str, Any]]:
    """The times of one sentence, as rows."""
    folder = CHECKPOINTS / name
    found = in_node(
        "time",
        folder=str(folder),
        options={"weights": weights_of(folder), "wasm": wasm},
        line=TIMED[language_pair(name)[0]],
        runs=runs,
    )
    kind = "WebAssembly" if wasm else "JavaScript"
    print(f"{name}, {kind}: {found['tokens']} tokens, {found['megabytes']:.0f} MB")
    rows = []
    for what, times in found["times"].items():
        figures = {
            clock: round(statistics.median(each[clock] for each in times), 1)
            for clock in ("wall", "cpu")
        }
        print(f"  {what:30} {figures['wall']:9.1f} ms, {figures['cpu']:9.1f} ms of the processor")
        rows.append({"checkpoint": name, "by": kind, "what": what, **figures})
    return rows


def main() -> None:
    """Compare and time."""
    options = parser(__doc__ or "")
    options.add_argument("--data", type=Path, help="English, tab, German a line")
    options.add_argument("--lines", type=Path, help="lines for tokens (default: those of --data)")
    options.add_argument("--sentences", type=int, default=1000, help="to translate (default 1000)")
    options.add_argument("--explained", type=int, default=200, help="to explain (default 200)")
    trained = ["en-de", "en-de-learned", "en-de-childhood", "en-de-cheating", "en-fr", "de-en"]
    options.add_argument("--checkpoint", nargs="+", default=trained)
    arguments = options.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.data is None:
        name = arguments.checkpoint[0]
        rows, facts = measured(name, arguments.runs)
        print(facts)
        report("engine-page", rows, torch.device("cpu"), checkpoint=name, **facts)
        return
    comparisons = []
    for name in arguments.checkpoint:
        comparisons.append(compared(name, arguments))
        print(comparisons[-1])
    rows = [
        row
        for wasm in (True, False)
        for row in timed(arguments.checkpoint[0], arguments.runs, wasm=wasm)
    ]
    write("engine", torch.device("cpu"), comparisons=comparisons, rows=rows)


if __name__ == "__main__":
    main()
