"""`headscope effects --input en.txt --metric bleu`: what many translations lose without a head."""

import argparse
from pathlib import Path

from headscope.commands.asked import Asked, heads
from headscope.commands.over_texts import REFUSED as REFUSED
from headscope.commands.over_texts import add_options, lines_of, running, search_of, write
from headscope.commands.translate import add_checkpoint
from model.record.intervention import Intervention
from model.survey.over_texts import METRICS, effects
from model.translate.translator import load


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    add_checkpoint(parser)
    parser.add_argument(
        "--metric",
        choices=METRICS,
        default=METRICS[0],
        help="what is lost: the log-probability of the translation (the default), or the score of "
        "what is written without the head",
    )
    parser.add_argument(
        "--references",
        type=Path,
        metavar="FILE",
        help="a translation of each text, a line each, for bleu and chrf; the model's own if not "
        "given",
    )
    parser.add_argument(
        "--off",
        type=heads(),
        default=[],
        metavar="HEADS",
        help="heads that are switched off in all runs, such as cross.3.5-encoder.0.1",
    )
    add_options(parser)


def run(arguments: Asked) -> None:
    """Print or write the loss without each head."""
    if arguments.metric == METRICS[0]:
        arguments.forbid(f"the metric {METRICS[0]}", "references")
    translator = load(arguments.checkpoint, device=arguments.device)
    found = effects(
        translator,
        lines_of(arguments.input),
        search=search_of(arguments, translator),
        under=Intervention(heads=dict.fromkeys(arguments.off, 0)),
        metric=arguments.metric,
        references=lines_of(arguments.references) if arguments.references else None,
        **running(arguments),
    )
    write(arguments, found)
