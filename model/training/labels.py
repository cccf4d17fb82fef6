r"""Label the heads of a model on sentences that are none of its examples.

    python -m model.training.labels --checkpoint checkpoints/en-de --data dev.tsv \
        --name "Tatoeba, dev.tsv" --licence "CC BY 2.0 FR"

Writes labels.json into the checkpoint folder, and a part of its card; the export does so too. A toy
needs no data: its task draws its sentences. model.explain.labels says what earns a label.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from model.checkpoints.checkpoint import (
    CARD,
    is_single_stack,
    trained_without_causal_mask,
)
from model.explain.examples import read_examples
from model.explain.label_rules import CONFIDENCE, MIN_PASSING, MIN_SENTENCES, RULE
from model.explain.labels import Finding, Sample, Survey
from model.explain.labels import survey as surveyed
from model.explain.labels_file import read_labels, save_labels
from model.explain.source_rows import token_sources
from model.files import write_whole
from model.survey.parallel_text import CorpusError, Pair, key
from model.survey.survey_file import read_survey
from model.trace.attention_map import Site
from model.trace.trace import Trace
from model.training.card import DATA_HEADING, table, with_section
from model.training.command import Program, command
from model.training.toy_recipes import TOY_DATA, TOY_LICENCE, UNSEEN, unseen_pairs
from model.translate.sentences import TextError
from model.translate.text_models import StackReader
from model.translate.translator import Translator, load

HEADING = "## What its heads do"


class SampleError(CorpusError):
    """Too few sentences to label heads by; the message says how many there are."""


def fresh(pairs: Sequence[Pair], known: Sequence[str], seed: int = 0) -> list[Pair]:
    """The pairs in random order, each source once, without the known ones.

    Sources are equal if their letters and digits are, whatever their case.
    """
    excluded = set(map(key, known))
    by_key: dict[str, Pair] = {}
    for pair in pairs:
        if (letters := key(pair.source)) and letters not in excluded:
            by_key.setdefault(letters, pair)
    shuffled = list(by_key.values())
    Random(seed).shuffle(shuffled)
    return shuffled


def label_heads(
    model: Translator | StackReader,
    pairs: Sequence[Pair],
    *,
    data: str,
    licence: str,
    progress: bool = False,
) -> Survey:
    """A survey of what heads do on sentences, in order, with the model's own translations.

    A model that learned to copy its target reads the references instead. Raises SampleError if the
    model can read fewer than MIN_SENTENCES.
    """
    bar = tqdm(pairs, unit="sentence", disable=not progress)
    recorded = _recorded(model, bar)
    read = 0

    def counted() -> Iterator[tuple[Trace, Mapping[int, int]]]:
        nonlocal read
        for each in recorded:
            read += 1
            yield each

    values = surveyed(counted(), enough=MIN_SENTENCES)
    bar.close()
    if read < MIN_SENTENCES:
        raise SampleError(
            f"The data contain {read} sentences that this model can read and that are not among "
            f"its examples; labels need {MIN_SENTENCES}."
        )
    return Survey(
        Sample(data, licence, read),
        {site: tuple(Finding.of(head) for head in heads) for site, heads in values.items()},
    )


def write_labels(
    directory: Path,
    pairs: Sequence[Pair],
    *,
    data: str,
    licence: str,
    without: Sequence[str] = (),
    progress: bool = False,
) -> Survey:
    """The survey written into a checkpoint folder: labels.json, and its part of card.md.

    The folder's own examples are left out, like the sentences `without`. Raises SampleError if too
    few sentences are left.
    """
    model = loaded(directory)
    unseen = fresh(pairs, [*(each.source for each in read_examples(directory)), *without])
    survey = label_heads(model, unseen, data=data, licence=licence, progress=progress)
    save_labels(directory, survey)
    card = directory / CARD
    if card.exists():
        write_whole(card, card_with_labels(card.read_text(encoding="utf-8"), survey).encode())
    return survey


class LabelHeld(NamedTuple):
    """How often the rule of a label holds on new sentences."""

    site: Site
    head: int
    label: str
    passing: int
    sentences: int

    @property
    def holds(self) -> bool:
        """Whether it does in as large a share of the sentences as a label needs."""
        return self.passing >= MIN_PASSING * max(self.sentences, 1)


def labels_shown(directory: Path) -> list[tuple[Site, int, str]]:
    """Site, head and measure of every label of a checkpoint: of labels.json and of survey.zip.

    A head to which the two give different labels is there twice.
    """
    labels, survey = read_labels(directory), read_survey(directory)
    own = {(site, head, finding.label) for site, head, finding in labels.earned} if labels else ()
    more = {(*place, survey.of(place).label) for place in survey.places} if survey else ()
    return sorted((site, head, label) for site, head, label in {*own, *more} if label is not None)


def labels_on(directory: Path, pairs: Sequence[Pair]) -> list[LabelHeld]:
    """Every label of a checkpoint on sentences that did not earn it.

    Args:
        pairs: the sentences, in order; each label counts the first MIN_SENTENCES that can tell.
    """
    values = surveyed(_recorded(loaded(directory), pairs), enough=MIN_SENTENCES)
    found = []
    for site, head, label in labels_shown(directory):
        own = values[site][head][label]
        passing = int(np.count_nonzero(own >= RULE[label].least))
        found.append(LabelHeld(site, head, label, passing, len(own)))
    return found


def loaded(directory: Path) -> Translator | StackReader:
    """The model of a folder, whichever it is, on the CPU."""
    if is_single_stack(directory):
        return StackReader.load(directory, device="cpu")
    return load(directory, device="cpu")


def card_with_labels(card: str, survey: Survey) -> str:
    """A card with the labels of its heads before its section on data."""
    rows = [
        (
            site.head_name(head),
            RULE[finding.label].text,
            f"{finding.means[finding.label]:.0%}",
            finding.share,
        )
        for site, head, finding in survey.earned
        if finding.label is not None
    ]
    count = f"{len(rows)} of its {survey.n_heads} heads {'earns' if len(rows) == 1 else 'earn'}"
    text = (
        f"{HEADING}\n\n{count if rows else f'None of its {survey.n_heads} heads earns'} a label. "
        f"Measured on {survey.sample.sentences:,} sentences ({survey.sample.data}; licence: "
        f"{survey.sample.licence}), none of them an example. A label counts the first "
        f"{MIN_SENTENCES} sentences that can tell, and is earned if the lower end of the "
        f"{CONFIDENCE:.0%} Wilson interval reaches {MIN_PASSING:.0%}; `labels.json` holds the "
        "numbers."
    )
    if rows:
        text += f"\n\n{table(('head', 'label', 'mean', 'holds in'), rows)}"
    return with_section(card, text, before=DATA_HEADING)


def _recorded(
    model: Translator | StackReader, pairs: Sequence[Pair]
) -> Iterator[tuple[Trace, Mapping[int, int]]]:
    copies = isinstance(model, Translator) and trained_without_causal_mask(model.metrics)
    for pair in pairs:
        try:
            if isinstance(model, StackReader):
                yield model.read(pair.source).trace, {}
            else:
                trace = model.trace(pair.source, pair.target if copies else None)
                yield trace, token_sources(model, trace)
        except TextError:
            continue


def _lines(paths: Sequence[Path]) -> list[str]:
    try:
        texts = [path.read_text(encoding="utf-8") for path in paths]
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"A file of --without cannot be read: {error}.") from error
    return [cell for text in texts for line in text.splitlines() for cell in line.split("\t")]


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    parser = Program(__spec__, __doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help="gets a labels.json")
    parser.files("--data", UNSEEN)
    parser.add_argument("--name", help="name of the data (default: the names of the files)")
    parser.add_argument("--licence", default="not stated", help="of the data")
    parser.files(
        "--without",
        "text files of sentences to leave out besides the examples, by lines and columns",
    )
    arguments = parser.parse(argv)
    pairs, toy = unseen_pairs(parser, arguments)
    name, licence = TOY_DATA, TOY_LICENCE
    if not toy:
        name = arguments.name or ", ".join(path.name for path in arguments.data)
        licence = arguments.licence
    survey = write_labels(
        arguments.checkpoint,
        pairs,
        data=name,
        licence=licence,
        without=_lines(arguments.without),
        progress=True,
    )
    print(f"{len(survey.earned)} of {survey.n_heads} heads earn a label")


if __name__ == "__main__":
    raise SystemExit(main())
