"""What a GPU computes, and how fast, beside the CPU: `python -m model.training.device_checks`.

The same sentences are translated, traced and searched for the effects of heads on both. Products
of a GPU round differently, so traces are compared within bounds, and a translation may differ where
two words are almost equally likely.
"""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from model.checkpoints.folder_files import write_json
from model.explain.examples import read_examples
from model.explain.head_ablation import effects_of
from model.training.command import Program, command
from model.translate.translator import Translator, load

MOST_APART = {"weights": 1e-3, "log_probs": 5e-3, "effects": 1e-2}
"""The most by which an attention weight, the log-probability of a token of a translation, and its
change without a head may differ, the last two in nats."""


def compared(one: Translator, other: Translator, sentences: Sequence[str]) -> dict[str, Any]:
    """The largest differences between two devices' traces, and how many translations are equal.

    "passed" says whether all differences are within the bounds.
    """
    equal = 0
    apart = {"weights": 0.0, "log_probs": 0.0, "effects": 0.0}

    def compare(name: str, found: ArrayLike, expected: ArrayLike) -> None:
        gap = np.abs(np.asarray(found) - np.asarray(expected)).max()
        apart[name] = max(apart[name], float(gap))

    for sentence in sentences:
        text = one.translate(sentence).text
        equal += other.translate(sentence).text == text
        expected, found = (each.trace(sentence, text) for each in (one, other))
        effects, found_effects = effects_of(one, expected), effects_of(other, found)
        compare("log_probs", found_effects.log_probs, effects.log_probs)
        for site, attention in expected.maps.items():
            compare("weights", found.maps[site].weights, attention.weights)
            compare("effects", found_effects.losses[site], effects.losses[site])
    return {
        "sentences": len(sentences),
        "equal_translations": equal,
        "apart": apart,
        "passed": all(apart[name] <= most for name, most in MOST_APART.items()),
    }


def timed(translator: Translator, sentences: Sequence[str]) -> dict[str, float]:
    """Median milliseconds of a sentence: to translate it, to trace it, to remove each head."""

    def milliseconds(work: Callable[[str], Any]) -> float:
        work(sentences[0])
        taken = []
        for sentence in sentences:
            began = time.perf_counter()
            work(sentence)
            taken.append(1000 * (time.perf_counter() - began))
        return round(median(taken), 1)

    traces = {sentence: translator.trace(sentence) for sentence in sentences}
    return {
        "translate": milliseconds(translator.translate),
        "trace": milliseconds(translator.trace),
        "effects": milliseconds(lambda sentence: effects_of(translator, traces[sentence])),
    }


@command
def main(argv: list[str] | None) -> int:
    """The command line; status 1 if the devices differ by more than the bounds."""
    parser = Program(__spec__, __doc__, threads=4)
    parser.add_argument("--checkpoint", type=Path, required=True, help="with examples")
    parser.add_argument("--device", default="cuda", help="to compare with the CPU")
    parser.add_argument("--sentences", type=int, default=10, help="at most (default 10)")
    parser.add_argument("--output", type=Path, help="a .json file to write")
    arguments = parser.parse(argv)
    examples = read_examples(arguments.checkpoint)[: arguments.sentences]
    sentences = [example.source for example in examples]
    cpu, device = (load(arguments.checkpoint, device=name) for name in ("cpu", arguments.device))
    found = compared(cpu, device, sentences)
    found["milliseconds"] = {
        "cpu": timed(cpu, sentences), arguments.device: timed(device, sentences)
    }  # fmt: skip
    if arguments.output:
        write_json(arguments.output, found)
    print(json.dumps(found, indent=2))
    return 0 if found["passed"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
