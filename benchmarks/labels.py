"""Whether the labels of heads hold on sentences that did not earn them, for every shipped model.

    python -m benchmarks.labels --data test-tatoeba.tsv --without dev.tsv train.tsv.xz

These are the labels of labels.json and of survey.zip. A label holds where its rule does in at least
80% of 500 sentences that can tell, as many as it needs. A toy draws its sentences, none of which it
was trained or labelled on; other models read --data, from the side that they translate, without the
sentences of their survey and those of --without: files that they were trained or labelled on. The
result keeps what it says of models that this run leaves out.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from benchmarks._measure import RESULTS, write
from model.checkpoints.shipped import CHECKPOINTS
from model.explain.label_rules import MIN_SENTENCES
from model.explain.labels_file import read_labels
from model.survey.parallel_text import columns_of, read_pairs
from model.survey.survey_file import read_sentences
from model.training.evaluate import reversed_columns
from model.training.labels import LabelHeld, fresh, labels_on, labels_shown
from model.training.toy_recipes import TOYS, toy_pairs

DRAWN = 8000
"""Inputs of a toy, enough for 500 that can tell beside those that earned its labels."""


def of_model(folder: Path, data: list[Path], without: list[Path]) -> list[LabelHeld]:
    """Every label of a checkpoint on other sentences."""
    if not labels_shown(folder):
        return []
    if (toy := TOYS.get(folder.name)) is None:
        index = read_sentences(folder)
        known = [column for columns in columns_of(without) for column in columns[-2:]]
        known += index.sources if index else ()
        return labels_on(folder, fresh(read_pairs(data, reverse=reversed_columns(folder)), known))
    labels = read_labels(folder)
    assert labels is not None, "its labels are from there"
    # Labels read the first of these, in this order.
    earning = fresh(toy_pairs(folder, toy), ())[: labels.sample.sentences]
    sources = [pair.source for pair in earning]
    return labels_on(folder, fresh(toy_pairs(folder, toy, DRAWN), sources, seed=1))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", type=Path, required=True)
    parser.add_argument("--without", nargs="+", type=Path, default=[])
    parser.add_argument("--models", nargs="+", help="names; all shipped ones if not given")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    file = RESULTS / "labels-cpu.json"
    results: dict[str, dict[str, Any]] = (
        json.loads(file.read_text(encoding="utf-8"))["models"] if file.exists() else {}
    )
    for folder in sorted(each for each in CHECKPOINTS.iterdir() if each.is_dir()):
        if arguments.models and folder.name not in arguments.models:
            continue
        results.pop(folder.name, None)
        found = of_model(folder, arguments.data, arguments.without)
        if not found:
            continue
        shares = [each.passing / max(each.sentences, 1) for each in found]
        holding = sum(each.holds for each in found)
        fewest = min(each.sentences for each in found)
        note = "" if fewest >= MIN_SENTENCES else f"; one is told by {fewest} sentences only"
        print(
            f"{folder.name}: {holding} of {len(found)} hold; least {min(shares):.1%}{note}",
            flush=True,
        )
        results[folder.name] = {
            "labels": len(found),
            "hold": holding,
            "heads": [
                [f"{each.site}.{each.head}", each.label, each.passing, each.sentences]
                for each in found
            ],
        }
    every = sum(each["labels"] for each in results.values())
    print(f"{sum(each['hold'] for each in results.values())} of {every} labels hold")
    write("labels", torch.device("cpu"), models=results)


if __name__ == "__main__":
    main()
