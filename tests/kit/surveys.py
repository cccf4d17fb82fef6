"""A survey of a tiny model over the few sentences that it can read."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from model.explain.labels import Sample
from model.survey.corpus_survey import CorpusSurvey
from model.survey.head_profile import summed_up
from model.survey.indexing import indexed
from model.survey.part import counted
from model.survey.rule_costs import rules_of_heads
from model.survey.survey_file import SURVEY, save_survey
from model.translate.translator import Translator
from tests.kit.tiny_checkpoint import PAIRS


def tiny_corpus_survey(translator: Translator) -> CorpusSurvey:
    """The survey, with rules; too small for labels."""
    part = counted(translator, [source for source, _ in PAIRS], lambda place: place < 3)
    learned = list(zip(part.sources, part.predictions, strict=True))
    lengths = [len(tokens) for tokens in part.predictions[-4:]]
    rules = rules_of_heads(translator, PAIRS, learned, lengths, translated=2, steps=2, orders=1)
    return replace(summed_up(part, Sample("made up", "none", len(part))), rules=rules)


def write_tiny_survey(folder: Path, translator: Translator) -> CorpusSurvey:
    """The same, written beside a checkpoint with its sentences."""
    survey = tiny_corpus_survey(translator)
    part = counted(translator, [source for source, _ in PAIRS], lambda _: False)
    save_survey(folder, survey, indexed(part, survey.rules.lexicon if survey.rules else None))
    return survey


def damage_survey(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what the file of a survey says, in place."""
    file = folder / SURVEY
    with ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    content = json.loads(parts["survey.json"])
    change(content)
    parts["survey.json"] = json.dumps(content).encode()
    with ZipFile(file, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
