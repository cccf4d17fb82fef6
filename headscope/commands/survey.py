"""`headscope survey en-de --data PAIRS.tsv.xz`: what each head does over many sentences."""

import argparse
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import torch
from tqdm import tqdm

from headscope.commands.asked import Asked, add_processes, require_one_place, whole
from headscope.commands.outputs import add_output
from headscope.commands.translate import DEFAULT_CHECKPOINT
from model.checkpoints.shipped import CheckpointError, checkpoint_folder
from model.checkpoints.weights_digest import weights_digest
from model.explain.head_rules import HeadRules
from model.explain.labels import Sample
from model.explain.rules_file import HEAD_RULES, save_head_rules
from model.rules.weight_rules import Lexicon
from model.survey.engine import Engine
from model.survey.head_profile import summed_up
from model.survey.head_sentences import USED, head_rules, languages_of, shares_of
from model.survey.indexing import indexed
from model.survey.parallel_text import CorpusError, Pair, columns_of, key, read_pairs
from model.survey.part import SurveyError, is_readable, traced
from model.survey.probes import probed
from model.survey.rule_costs import JUDGED, RULED, TRANSLATED, rules_of_heads
from model.survey.running import asking, counts, rules_in_words
from model.survey.survey_file import SURVEY, read_survey, save_survey
from model.trace.attention_map import TraceError
from model.translate.sentences import TextError
from model.translate.text_models import is_reader, load_reader
from model.translate.translator import Translator, load

TOLD = 50
"""Sentences whose tokens tell the languages of a model."""

LEARNED = 4000
"""Sentences, at most, that a rule's lexicon is learned from."""

REFUSED = (CheckpointError, CorpusError, SurveyError, TraceError)
"""Whose message is one sentence for the person who asked."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument(
        "checkpoint",
        nargs="?",
        default=DEFAULT_CHECKPOINT,
        type=checkpoint_folder,
        metavar="MODEL",
        help="its name or its folder, which gets a survey.zip; en-de if not given",
    )
    parser.add_argument(
        "--data",
        nargs="+",
        type=Path,
        required=True,
        metavar="FILE",
        help=".tsv or .tsv.xz files that the model was not trained on; the column before the last "
        "has the sentences",
    )
    parser.add_argument(
        "--trained",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="files that it was trained on, for the sentences that --data lacks; these count for "
        "no label, effect or rule",
    )
    parser.add_argument(
        "--origin",
        default="",
        metavar="NAME",
        help="of --trained, take only lines whose first column begins like this",
    )
    parser.add_argument(
        "--reverse", action="store_true", help="take the sentences of the last column"
    )
    parser.add_argument(
        "--sentences",
        type=whole(1),
        default=20_000,
        metavar="N",
        help="how many; 20,000 if not given",
    )
    parser.add_argument(
        "--rules",
        type=whole(0),
        default=RULED,
        metavar="N",
        help=f"choose a rule for each head on N sentences; {RULED} if not given, 0 for no rules",
    )
    parser.add_argument(
        "--judged",
        type=whole(0),
        default=JUDGED,
        metavar="N",
        help=f"judge the rules on N other sentences; {JUDGED:,} if not given",
    )
    parser.add_argument(
        "--translated",
        type=whole(0),
        default=TRANSLATED,
        metavar="N",
        help=f"of these, translate N for BLEU; {TRANSLATED} if not given",
    )
    parser.add_argument(
        "--only-words",
        action="store_true",
        help=f"write only {HEAD_RULES}, each head's rule in words, with the lexicon of the survey "
        "that the model has, if any",
    )
    parser.add_argument("--name", help="name of the data; the names of the files if not given")
    parser.add_argument("--licence", default="not stated", help="of the data")
    add_output(
        parser,
        "--output",
        default=Path("runs/survey"),
        metavar="FOLDER",
        help="keeps what is counted, so that the survey can go on; runs/survey if not given",
    )
    add_processes(parser)


def run(arguments: Asked) -> None:
    """Count, and write the survey into the checkpoint's folder."""
    if arguments.only_words:
        arguments.forbid("--only-words", "rules", "judged", "translated", "trained", "origin")
    if not arguments.rules:
        arguments.forbid("a survey without rules", "judged", "translated")
    if not arguments.trained:
        arguments.forbid("a survey without --trained", "origin")
    require_one_place(arguments)
    if is_reader(arguments.checkpoint):
        arguments.forbid("a model that reads texts", "output", "workers", "scheduler", "reverse")
    pairs = _distinct(read_pairs(arguments.data, reverse=arguments.reverse))
    pairs = pairs[: arguments.sentences]
    held_out = len(pairs)
    known = {key(pair.source) for pair in pairs}
    trained = _distinct(_from(arguments.trained, arguments.origin, arguments.reverse))
    pairs += [pair for pair in trained if key(pair.source) not in known]
    pairs = pairs[: arguments.sentences]
    engine = Engine(arguments.workers, arguments.scheduler, progress=True)
    name = arguments.name or ", ".join(path.name for path in arguments.data + arguments.trained)
    # As in the counting, and quicker: several threads of one small product wait for each other.
    torch.set_num_threads(1)
    if is_reader(arguments.checkpoint):
        if not arguments.only_words:
            raise SurveyError(
                f"{arguments.checkpoint.name} is no whole Transformer of ours; add --only-words to "
                "write a rule in words for each of its heads."
            )
        _write_words_of_reader(arguments, [pair.source for pair in pairs[:held_out]], name)
        return
    translator = load(arguments.checkpoint, device="cpu")
    if arguments.only_words:
        found = read_survey(arguments.checkpoint)
        lexicon = None if found is None or found.rules is None else found.rules.lexicon
        sources = [pair.source for pair in pairs[:held_out] if is_readable(translator, pair.source)]
        sample = Sample(name, arguments.licence, len(sources))
        _write_words(arguments, engine, translator, sources, sample, lexicon)
        return
    part = counts(
        arguments.checkpoint,
        [pair.source for pair in pairs],
        arguments.output,
        engine,
        held_out=held_out,
    )
    targets = {pair.source: pair.target for pair in pairs[:held_out]}
    n_held_out = sum(source in targets for source, _ in part.texts)
    survey = summed_up(part, Sample(name, arguments.licence, len(part)), held_out=n_held_out)
    survey = replace(
        survey,
        probes=probed(translator, german=arguments.reverse),
        is_german=arguments.reverse,
    )
    if arguments.rules:
        # What is counted is worth reading before the rules are done, and without them.
        save_survey(arguments.checkpoint, survey)
        both = arguments.rules + arguments.judged
        if n_held_out <= both:
            print(f"No rules: they need more than {both} sentences of --data.")
        else:
            ruling = [(source, targets[source]) for source, _ in part.texts[:both]]
            learned = list(zip(part.sources, part.predictions, strict=True))[both:]
            rules = rules_of_heads(
                translator,
                ruling,
                learned[:LEARNED],
                [len(tokens) for tokens in part.predictions[arguments.rules : both]],
                translated=arguments.translated,
                ask=asking(arguments.checkpoint, arguments.output, engine),
            )
            survey = replace(survey, rules=rules)
            sources = [source for source, _ in ruling]
            _write_words(arguments, engine, translator, sources, survey.sample, rules.lexicon)
    index = indexed(part, None if survey.rules is None else survey.rules.lexicon)
    save_survey(arguments.checkpoint, survey, index)
    print(f"{arguments.checkpoint / SURVEY}: {len(part):,} sentences")


def _write_words(
    arguments: Asked,
    engine: Engine,
    translator: Translator,
    sources: Sequence[str],
    sample: Sample,
    lexicon: Lexicon | None,
) -> None:
    """Write the rules in words into the checkpoint's folder, if there are sentences enough."""
    if len(sources) < USED:
        print(f"No rules in words: they need {USED} sentences that nothing else has learned from.")
        return
    traces = [trace for _, trace in traced(translator, sources[:TOLD])]
    rules = rules_in_words(
        *(arguments.checkpoint, sources[:USED], languages_of(traces), sample, lexicon),
        *(arguments.output, engine),
    )
    save_head_rules(arguments.checkpoint, rules)
    print(f"{arguments.checkpoint / HEAD_RULES}: {len(rules.heads)} heads")


def _write_words_of_reader(arguments: Asked, texts: list[str], name: str) -> None:
    """Write rules.json for a Hugging Face model, or for an encoder or a decoder alone."""
    reader = load_reader(arguments.checkpoint, device="cpu")
    traces = []
    for text in tqdm(texts[:USED], desc="reading", unit="text"):
        with suppress(TextError):
            traces.append(reader.read(text).trace)
    found = head_rules(traces)
    fitted, chosen = shares_of(len(traces))
    rules = HeadRules(
        weights=weights_digest(arguments.checkpoint),
        data=name,
        licence=arguments.licence,
        fitted=fitted,
        chosen=chosen,
        judged=len(traces) - fitted - chosen,
        languages=languages_of(traces),
        heads=found,
    )
    save_head_rules(arguments.checkpoint, rules)
    print(f"{arguments.checkpoint / HEAD_RULES}: {len(found)} heads")


def _from(paths: Sequence[Path], origin: str, reverse: bool) -> list[Pair]:
    """The pairs of files whose first column begins with an origin."""
    return [
        Pair(*(columns[:-3:-1] if reverse else columns[-2:]))
        for columns in columns_of(paths)
        if columns[0].startswith(origin)
    ]


def _distinct(pairs: Sequence[Pair]) -> list[Pair]:
    """Each source once, in an order that only the pairs decide."""
    once = list({key(pair.source): pair for pair in pairs}.values())
    Random(0).shuffle(once)
    return once
