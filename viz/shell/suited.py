"""Text that people read with ease and a model may not: what is wrong, and the text without that."""

import re
import unicodedata
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser

from model.paper.tokenizer import without_invisible
from viz.draw.constants import CONSTANTS
from viz.draw.labels import character_name

LONGEST: dict[str, int] = CONSTANTS["LONGEST_WORD"]
"""The letters of the longest word that counts as one, where it is not `USUAL_LONGEST`."""

USUAL_LONGEST: int = CONSTANTS["LONGEST_USUALLY"]

_LINK = re.compile(r"(?:https?://|www\.)\S*[^\s.,;:!?)\]}”\"']|\S+@\w+(?:\.\w+)+", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][^<>]*>|&(?:[a-z]+|#\d+|#x[\da-f]+);", re.IGNORECASE)
_MARKDOWN = re.compile(r"(\*\*|__|`)(?=\S)(.+?)(?<=\S)\1|\[([^\]]+)\]\([^)]+\)")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SENTENCE_END = re.compile(CONSTANTS["SENTENCE_END"])
_EMOJI_FROM, _EMOJI = 0x2600, {"So", "Sk"}
_KEYCAP = "\u20e3"


@dataclass(frozen=True, slots=True)
class Unsuited:
    """What is wrong with a text.

    Attributes:
        text: the text without them; empty where nothing is left that a model could read.
    """

    says: tuple[str, ...]
    text: str


def unsuited(text: str, language: str) -> Unsuited | None:
    """What a model of sentences may misread in a text; None for nothing.

    Args:
        text: any text.
        language: the code of the language that the model reads.
    """
    says: list[str] = []
    text = without_invisible(text)
    if hidden := dict.fromkeys(filter(_is_hidden, text)):
        says.append(f"The text contains characters of no language: {_named(hidden)}.")
        text = "".join(each for each in text if each not in hidden)
    if emoji := set(filter(_is_emoji, text)):
        says.append("The text contains emoji, which the model may garble.")
        text = "".join(" " if each in emoji else each for each in text if each != _KEYCAP)
    if _LINK.search(text):
        says.append("The text contains a web or e-mail address, which the model may garble.")
        text = _LINK.sub(" ", text)
    if _TAG.search(text) or _MARKDOWN.search(text):
        says.append("The text contains markup, which the model may garble.")
        text = _without_markup(text)
    words = _WORD.findall(text)
    if len(words) == 1 and len(words[0]) > LONGEST.get(language, USUAL_LONGEST):
        says.append("The model reads sentences; this is one very long word.")
        words = []
    if not says:
        return None
    return Unsuited(tuple(says), _tidy(text) if words else "")


def beginnings(text: str) -> list[str]:
    """The first sentence of a text, the first two, and so on, but not all of them."""
    return [text[: end.end()].rstrip() for end in _SENTENCE_END.finditer(text)]


def _is_hidden(character: str) -> bool:
    """Whether nobody sees it, or each font shows something else."""
    return unicodedata.category(character) in ("Co", "Cn")


def _is_emoji(character: str) -> bool:
    return ord(character) >= _EMOJI_FROM and unicodedata.category(character) in _EMOJI


def _named(characters: dict[str, None]) -> str:
    names = list(map(character_name, characters))
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


class _Text(HTMLParser):
    """The text between tags, without scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is None:
            self.found.append(data)


def _without_markup(text: str) -> str:
    # Entities may spell tags: &lt;b&gt;.
    reader = _Text()
    reader.feed(unescape(text))
    reader.close()
    text = "".join(reader.found)
    return _MARKDOWN.sub(lambda found: found[2] or found[3], text)


def _tidy(text: str) -> str:
    """Text without the gaps that something left."""
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"\s+([.,;:!?…)\]])", r"\1", text)
