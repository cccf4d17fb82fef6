"""`headscope find en-de "work*" --head encoder.0.5 --looks two_after`: sentences, or heads.

Both come from the survey in the model's folder (`headscope survey`).
"""

import argparse

from headscope.commands.asked import Asked, heads, whole
from headscope.commands.translate import add_checkpoint
from model.arguments import UnknownNameError
from model.checkpoints.shipped import CheckpointError
from model.rules.weight_rules import RULES
from model.survey.corpus_survey import KEYS
from model.survey.part import SurveyError
from model.survey.survey_file import read_sentences, read_survey
from viz.links.head_refs import written_heads

REFUSED = (CheckpointError, SurveyError, UnknownNameError)
"""Whose message is one sentence for the person who asked."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument("words", nargs="?", default="", help="that sentences must have")
    add_checkpoint(parser)
    parser.add_argument(
        "--head", type=heads(1), help="whose sentences are found, with --looks; such as encoder.0.5"
    )
    parser.add_argument(
        "--looks", choices=[*RULES], help="where the head must look in the sentences"
    )
    parser.add_argument(
        "--by", choices=KEYS, help="find heads, not sentences: those with the largest mean of this"
    )
    parser.add_argument("--most", type=whole(1), default=10, metavar="N", help="how many; 10")


def run(arguments: Asked) -> None:
    """Print what is found, a line each."""
    survey = read_survey(arguments.checkpoint)
    if survey is None:
        raise SurveyError(f"{arguments.checkpoint} has no survey; headscope survey makes one.")
    if arguments.by is not None:
        arguments.allow("a search for heads with --by", "checkpoint", "by", "most")
        if arguments.by in survey.missing:
            raise SurveyError(
                f"The survey of {arguments.checkpoint} lacks {arguments.by}; make it anew with "
                "headscope survey."
            )
        for place in survey.ranked(arguments.by)[: arguments.most]:
            profile, label = survey.of(place), survey.label(place)
            said = label.text if label and label.says else ""
            mean, loss = profile.measures[arguments.by].mean, profile.effect.mean
            print(f"{written_heads([place])}\t{mean:.2f}\tloss without it {loss:.2f} nats\t{said}")
        return
    index = read_sentences(arguments.checkpoint)
    if index is None:
        raise SurveyError(f"The survey of {arguments.checkpoint} has no sentences; make it anew.")
    (head,) = arguments.head or [None]
    if (head is None) != (arguments.looks is None):
        arguments.wrong_usage("--head and --looks are used together: whose sentences, and where")
    found = index.found(arguments.words, head, arguments.looks)
    for number, level in found[: arguments.most]:
        print(
            f"{level.name.lower()}\t{index.sources[number]}"
            if arguments.looks
            else index.sources[number]
        )
    print(f"{len(found):,} of {len(index.sources):,} sentences")
