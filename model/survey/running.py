"""A survey of a checkpoint's heads over many sentences, in parts: resumed, and shared by processes.

    survey = counts("checkpoints/en-de", sentences, Path("runs/survey"), workers=2)

Several processes, on this machine or on others, are run by Dask (https://www.dask.org), which
gives the part of a worker that was killed to another one. What is counted stays in the folder, so
that a survey goes on where it was stopped.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.checkpoints.weights_digest import weights_digest
from model.explain.head_rules import HeadRules, findings_from_json
from model.explain.labels import Sample
from model.files import write_whole
from model.rules.weight_rules import Lexicon
from model.survey.engine import (
    ONE_PROCESS,
    SAMPLED,
    SOURCED,
    Engine,
    Question,
    Task,
    Wording,
    loaded,
)
from model.survey.head_sentences import CHOSEN, FITTED, USED
from model.survey.part import SurveyError, SurveyPart, joined
from model.survey.rule_costs import Answers, Ask, Edits
from model.trace.attention_map import AttentionKind

SENTENCES, ANSWERED = 250, 25
"""Of one part of the counting, and of what is asked about rules."""


_PLAN = "survey.json"


def counts(
    checkpoint: Path,
    texts: Sequence[str],
    folder: Path,
    engine: Engine = ONE_PROCESS,
    *,
    held_out: int | None = None,
) -> SurveyPart:
    """The counts over all sentences.

    Args:
        checkpoint: the folder of the model; on other machines, it is at the same path.
        texts: the sentences.
        folder: keeps what is counted; one that was begun with the same model and sentences is
            continued.
        engine: runs it.
        held_out: so many of the sentences, the first ones, are not from the model's training; None
            for all.

    Raises:
        CheckpointError: if the checkpoint cannot be loaded.
        SurveyError: if Dask is needed and missing, the folder belongs to another survey, or no
            sentence can be read.
    """
    held_out = len(texts) if held_out is None else held_out
    tasks = [
        Task(str(checkpoint), tuple(texts[first : first + SENTENCES]), first, held_out)
        for first in range(0, len(texts), SENTENCES)
    ]
    _begin(folder, checkpoint, texts, held_out)
    done = engine.done(
        {folder / f"part-{task.first:06}.npz": task for task in tasks},
        [len(task.texts) for task in tasks],
        "counting",
    )
    whole = joined([SurveyPart.from_bytes(content) for content in done])
    if not len(whole):
        raise SurveyError("The model can read none of these sentences; give others.")
    return whole


def asking(checkpoint: Path, folder: Path, engine: Engine) -> Ask:
    """What `ruled` asks with, on some processes, and with answers kept in the folder."""

    def ask(doing: str, sources: Sequence[str], edits: Sequence[Edits], writes: bool) -> Answers:
        questions = [
            Question(
                str(checkpoint), tuple(sources[first : first + ANSWERED]), tuple(edits), writes
            )
            for first in range(0, len(sources), ANSWERED)
        ]
        done = engine.done(
            {folder / f"rules-{_digest(pickle.dumps(each))[:24]}.json": each for each in questions},
            [len(each.sources) for each in questions],
            doing,
        )
        return [each for content in done for each in json.loads(content)]

    return ask


def rules_in_words(
    checkpoint: Path,
    sources: Sequence[str],
    languages: tuple[str, str],
    sample: Sample,
    lexicon: Lexicon | None,
    folder: Path,
    engine: Engine,
) -> HeadRules:
    """A rule in words for each head; a kind of attention that is done is not fitted again.

    Args:
        checkpoint: the folder of the model.
        sources: USED sentences that the model can read.
        languages: of source and target; empty for an unknown one.
        sample: the name and the licence of the data.
        lexicon: learned from other sentences; None for none.
        folder: keeps what is found.
        engine: runs it.
    """
    kinds = dict.fromkeys(site.kind for site in loaded(str(checkpoint)).sites)
    tasks = [
        Wording(
            str(checkpoint),
            tuple(sources),
            kind,
            kind.axes(*languages, ""),
            lexicon if kind is AttentionKind.CROSS else None,
        )
        for kind in kinds
    ]
    done = engine.done(
        {folder / f"words-{_digest(pickle.dumps(each))[:24]}.json": each for each in tasks},
        [len(sources)] * len(tasks),
        "rules in words",
    )
    rules = HeadRules(
        weights_digest(checkpoint),
        sample.data,
        sample.licence,
        FITTED,
        CHOSEN,
        USED - FITTED - CHOSEN,
        languages,
        {head: each for kind in done for head, each in findings_from_json(json.loads(kind))},
    )
    return with_costs(
        rules, sources[FITTED + CHOSEN :], lexicon, asking(checkpoint, folder, engine)
    )


def with_costs(
    rules: HeadRules, sources: Sequence[str], lexicon: Lexicon | None, ask: Ask
) -> HeadRules:
    """Rules with what each costs alone.

    Args:
        rules: of a model's heads.
        sources: sentences that fitted and chose none of them.
        lexicon: as the rules were fitted with.
        ask: asks what edits do.
    """
    alone = [{head: edit} for head, edit in rules.edits(rules.heads, lexicon).items()]
    found = ask("what each rule costs", sources, [{}, *alone], False)
    totals: NDArray[np.float64] = np.array(found)
    costs = (totals[:, :1] - totals[:, 1:]).mean(axis=0).tolist()
    heads = {
        head: replace(finding, cost=cost)
        for (head, finding), cost in zip(rules.heads.items(), costs, strict=True)
    }
    return replace(rules, heads=heads)


def _begin(folder: Path, checkpoint: Path, texts: Sequence[str], held_out: int) -> None:
    """Write down what is counted in a folder, or make sure that it is the same."""
    plan: Mapping[str, Any] = {
        "weights": weights_digest(checkpoint),
        "texts": _digest("\n".join(texts).encode()),
        "held_out": held_out,
        "sentences": SENTENCES,
        "sampled": [SAMPLED, SOURCED],
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / _PLAN
    if file.exists() and json.loads(file.read_text(encoding="utf-8")) != plan:
        raise SurveyError(
            f"{folder} holds a survey of another model or other sentences; name another folder."
        )
    write_whole(file, json.dumps(plan).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
