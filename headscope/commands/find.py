"""`headscope find en-de "work*" --head encoder.0.5 --looks two_after`: sentences, or heads.

Both come from the survey in the model's folder (`headscope survey`).
"""

import argparse

from headscope.commands.asked import Asked, whole
from headscope.commands.translate import DEFAULT_CHECKPOINT
from model.arguments import UnknownNameError
from model.checkpoints.shipped import CheckpointError, checkpoint_folder
from model.rules.weight_rules import RULES
from model.survey.corpus_survey import KEYS
from model.survey.part import SurveyError
from model.survey.survey_file import read_sentences, read_survey
from model.trace.head import Head
from viz.links.head_refs import read_heads, written_heads

REFUSED = (CheckpointError, SurveyError, UnknownNameError)
"""Whose message is one sentence for the person who asked."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument("words", nargs="?", default="", help="that sentences must have")
    parser.add_argument(
        "--model",
        default=DEFAULT_CHECKPOINT,
        type=checkpoint_folder,
        help="its name or its folder; en-de if not given",
    )
    parser.add_argument(
        "--head", type=_head, help="whose sentences are found, with --looks; such as encoder.0.5"
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
    survey = read_survey(arguments.model)
    if survey is None:
        raise SurveyError(f"{arguments.model} has no survey; headscope survey makes one.")
    if arguments.by is not None:
        arguments.allow("a search for heads with --by", "model", "by", "most")
        if arguments.by in survey.missing:
            raise SurveyError(
                f"The survey of {arguments.model} lacks {arguments.by}; make it anew with "
                "headscope survey."
            )
        for place in survey.ranked(arguments.by)[: arguments.most]:
            profile, label = survey.of(place), survey.label(place)
            said = label.text if label and label.says else ""
            mean, loss = profile.measures[arguments.by].mean, profile.effect.mean
            print(f"{written_heads([place])}\t{mean:.2f}\tloss without it {loss:.2f} nats\t{said}")
        return
    index = read_sentences(arguments.model)
    if index is None:
        raise SurveyError(f"The survey of {arguments.model} has no sentences; make it anew.")
    head = arguments.head
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


def _head(name: str) -> Head:
    try:
        (head,) = read_heads(name)
        return head
    except ValueError:
        raise argparse.ArgumentTypeError("give a head such as encoder.0.5") from None
