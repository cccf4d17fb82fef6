"""The lines of a text, translated in batches and given back in their order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from model.brief import Brief
from model.paper.search import DecodingError, Search
from model.paper.tokenizer import normalize
from model.trace.translation import Translation
from model.translate.searching import TOGETHER, TranslatingModel
from model.translate.sentences import TextError

MOST_CHARACTERS = 8_000
"""Of a batch of long lines, so that its keys and values fit in memory."""

_READ = 1 << 14


@dataclass(frozen=True, slots=True)
class Line(Brief):
    """One line of a text.

    Attributes:
        number: from 1.
        text: without its end.
        translation: None for an empty line and for one that is refused.
        refused: why the line cannot be translated; empty otherwise.
    """

    number: int
    text: str
    translation: Translation | None = None
    refused: str = ""


def read_lines(stream: BinaryIO) -> Iterator[list[bytes]]:
    """The lines of a UTF-8 stream without their ends, as many at a time as have arrived.

    A program that writes a line and waits for its translation gets it at once.
    """
    begun: list[bytes] = []
    while arrived := stream.read1(_READ):  # type: ignore[attr-defined]
        first, *others = arrived.split(b"\n")
        begun.append(first)
        if others:
            yield [b"".join(begun), *others[:-1]]
            begun = [others[-1]]
    if last := b"".join(begun):
        yield [last]


def translated_lines(
    model: TranslatingModel,
    arriving: Iterable[Sequence[bytes]],
    *,
    search: Search | None = None,
) -> Iterator[Line]:
    """Every line in its order, translated with others that have arrived.

    A line without a letter stays empty. A line that the model refuses names the reason.
    """
    number = 0
    for lines in arriving:
        for batch in _batches(lines):
            texts = [_text(line) for line in batch]
            yield from _translated(model, texts, number + 1, search)
            number += len(batch)


def _batches(lines: Sequence[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for line in lines:
        if batch and (len(batch) == TOGETHER or size + len(line) > MOST_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    yield batch


def _text(line: bytes) -> str:
    # Bytes that are no UTF-8 become halves of characters, which the model refuses by that name.
    return line.removesuffix(b"\r").decode(errors="surrogateescape")


def _translated(
    model: TranslatingModel, texts: Sequence[str], number: int, search: Search | None
) -> Iterator[Line]:
    refused: dict[int, str] = {}
    wanted = [place for place, text in enumerate(texts) if normalize(text)]
    for place in wanted:
        try:
            model.require_readable(texts[place])
        except TextError as error:
            refused[place] = str(error)
    readable = [place for place in wanted if place not in refused]
    translations: dict[int, Translation] = {}
    try:
        found = model.translate_batch(
            [texts[place] for place in readable], search=search, exact=False
        )
        translations = dict(zip(readable, found, strict=True))
    except DecodingError:
        # A beginning that is too long for some of them.
        for place in readable:
            try:
                translations[place] = model.translate(texts[place], search=search)
            except DecodingError as error:
                refused[place] = str(error)
    for place, text in enumerate(texts):
        yield Line(number + place, text, translations.get(place), refused.get(place, ""))
