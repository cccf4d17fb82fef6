"""Sentences on which an experiment shows something: experiments.json of a checkpoint folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from model.checkpoints.checkpoint import EXPERIMENTS
from model.checkpoints.folder_files import own_file, parse_json
from model.checkpoints.shipped import CheckpointError
from model.files import write_whole

Kind = Literal["head", "mask", "remove", "shuffle", "search", "words"]
"""Without one head, without the decoder's mask, without positions, with the words in another order,
by greedy decoding instead of the model's own search, and with another word beside its own."""

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Experiment:
    """A sentence for one kind of experiment.

    Attributes:
        shows: what to look at, in one sentence.
        effect: how much the natural logarithm of the probability of the model's own translation
            falls; by greedy decoding, how much less likely its result is; of two words, how much
            less likely the other is.
        setting: the head as kind.layer.head, the order of the tokens as 2.0.1, or the place of a
            target token from 1 and another word as 4.ihre; else empty.
    """

    source: str
    shows: str
    effect: float
    setting: str = ""


def save_experiments(directory: Path, found: Mapping[Kind, Sequence[Experiment]]) -> None:
    """Write experiments.json of a checkpoint folder."""
    content = {kind: [asdict(each) for each in found[kind]] for kind in KINDS if found.get(kind)}
    text = json.dumps(content, indent=2, ensure_ascii=False)
    write_whole(directory / EXPERIMENTS, f"{text}\n".encode())


def read_experiments(directory: Path) -> Mapping[Kind, tuple[Experiment, ...]]:
    """The experiments in a checkpoint folder; none where the file is missing or malformed."""
    try:
        content = parse_json(own_file(directory, EXPERIMENTS))
        found = {
            kind: tuple(
                Experiment(
                    str(each["source"]),
                    str(each["shows"]),
                    float(each["effect"]),
                    str(each.get("setting", "")),
                )
                for each in content.get(kind, ())
            )
            for kind in KINDS
        }
    except (AttributeError, CheckpointError, KeyError, TypeError, ValueError):
        return {}
    return {kind: listed for kind, listed in found.items() if listed}
