"""Sentences that show a model's strengths and weaknesses, selected by rule."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest

import sacrebleu

from model.checkpoints.checkpoint import language_pair
from model.survey.parallel_text import Pair
from model.training.tables import grouped
from model.translate.sentences import TextError
from model.translate.translator import Translator

GOOD_WORDS = range(4, 15)
BAD_WORDS = range(3, 10)
"""Words in the source of an example, few enough for one line and a quick judgment."""

WORD_FOR_WORD = "Word for word: both sides have as many words, and cross-attention can follow them."

GIVEN = (
    "The target is the right translation. Remove the decoder's causal mask, and the model copies "
    "each of its tokens."
)


@dataclass(frozen=True, slots=True)
class Feature:
    """A pattern in a pair of sentences that is worth a look, from tables/features.tsv.

    Source and target are regular expressions; an empty source matches all. The target's groups fill
    {0}, … in the sentence on what to look at.
    """

    source: str
    target: str
    shows: str


FEATURES = {
    language: [Feature(*columns) for columns in listed]
    for language, listed in grouped("features.tsv").items()
}
"""By target language; other languages have none."""


@dataclass(frozen=True, slots=True)
class Good:
    """A sentence that a model translates exactly like its reference; an entry of examples.json."""

    source: str
    translation: str
    shows: str


@dataclass(frozen=True, slots=True)
class Bad:
    """A sentence that a model gets wrong."""

    source: str
    translation: str
    reference: str


def shown(pair: Pair, feature: Feature) -> str | None:
    """A sentence on a feature of a pair; None if the pair lacks the feature."""
    match = re.search(feature.target, pair.target)
    if match is None or not re.search(feature.source, pair.source):
        return None
    return feature.shows.format(*match.groups())


def good_examples(
    translator: Translator,
    pairs: Sequence[Pair],
    translations: Sequence[str],
    *,
    count: int = 10,
) -> list[Good]:
    """Sentences that the model translates exactly like their references, the most telling first.

    Features take turns with translations word for word, so that the examples differ; then come any
    others. Since batches can differ by rounding, the model translates each example alone again, and
    it is kept only if the translation is the same.
    """
    exact = [
        pair
        for pair, translation in zip(pairs, translations, strict=True)
        if translation == pair.target and _words(pair.source) in GOOD_WORDS
    ]
    turns = [
        [Good(*pair, shows) for pair in exact if (shows := shown(pair, feature))]
        for feature in FEATURES.get(language_pair(translator.name)[1], ())
    ]
    alike = [pair for pair in exact if _words(pair.source) == _words(pair.target)]
    turns.append([Good(*pair, WORD_FOR_WORD) for pair in alike])
    in_turns = [each for row in zip_longest(*turns) for each in row if each is not None]
    rest = [Good(*pair, "Exactly the reference.") for pair in exact]
    examples: dict[str, Good] = {}
    for example in [*in_turns, *rest]:
        if len(examples) == count:
            break
        if example.source not in examples and _is_repeatable(translator, example):
            examples[example.source] = example
    return list(examples.values())


def given_examples(pairs: Sequence[Pair], *, count: int = 10) -> list[Good]:
    """At most `count` sentences with their references, for a model that copies its target."""
    fit = {pair.source: Good(*pair, GIVEN) for pair in pairs if _words(pair.source) in GOOD_WORDS}
    return list(fit.values())[:count]


def bad_examples(
    pairs: Sequence[Pair], translations: Sequence[str], *, count: int = 10
) -> list[Bad]:
    """The worst short translations, by sentence BLEU, then chrF, then order.

    Sentences with quotes are left out: wrong quotation marks lower the score for no good reason.
    """
    scored: dict[str, tuple[float, float, Bad]] = {}
    for pair, translation in zip(pairs, translations, strict=True):
        quoted = '"' in pair.source
        if not quoted and _words(pair.source) in BAD_WORDS and pair.source not in scored:
            bleu = sacrebleu.sentence_bleu(translation, [pair.target]).score
            chrf = sacrebleu.sentence_chrf(translation, [pair.target]).score
            scored[pair.source] = (bleu, chrf, Bad(pair.source, translation, pair.target))
    worst = sorted(scored.values(), key=lambda entry: entry[:2])
    return [example for _, _, example in worst[:count]]


def entries(examples: Sequence[Good]) -> list[dict[str, str]]:
    """Examples as examples.json holds them."""
    return [asdict(example) for example in examples]


def _is_repeatable(translator: Translator, example: Good) -> bool:
    try:
        return translator.translate(example.source).text == example.translation
    except TextError:
        return False


def _words(text: str) -> int:
    return len(text.split())
