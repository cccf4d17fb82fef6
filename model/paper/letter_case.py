"""Truecasing: text in capitals, which vocabularies of edited text hardly know, in small letters."""

import re
from collections.abc import Callable

CAPITALS = 0.75
"""A text is in capitals if this share of its words is."""

# Of Western and Central European languages, whose case is the same in every version of Unicode.
_LETTERS = "A-Za-zÀ-ÖØ-öø-ž"
_WORD = re.compile(rf"[{_LETTERS}]+(?:['’][{_LETTERS}]+)*")
_START = re.compile(rf"((?:^|[.!?…]\s+)[^{_LETTERS}0-9]*)([{_LETTERS}])")


def is_in_capitals(text: str) -> bool:
    """Whether a text has two Latin words in capitals or more, and few others."""
    words = [each for each in _WORD.findall(text) if len(each) > 1]
    # tHE and THE, but neither The, the, McCoy nor one eBay.
    odd = [each for each in words if each[1:] != each[1:].lower() and not each[-1].islower()]
    return len(odd) > 1 and len(odd) >= CAPITALS * len(words)


def in_ordinary_case(text: str, pieces: Callable[[str], int]) -> str:
    """Spell each word as a vocabulary knows it best, and begin each sentence with a capital.

    Args:
        text: any text.
        pieces: how many tokens a word is; of all spellings in upper and lower case, the one of the
            fewest is known best.
    """

    def usual(found: re.Match[str]) -> str:
        word = found[0]
        capital = word[0].upper() + word[1:].lower()
        # The pronoun, alone or in "I'm"; no language read here has a word "i".
        if re.split("['’]", word.upper())[0] == "I":
            return capital
        # Of spellings that are as good, the first.
        return min((word.lower(), capital, word.upper()), key=pieces)

    return _START.sub(lambda found: found[1] + found[2].upper(), _WORD.sub(usual, text))
