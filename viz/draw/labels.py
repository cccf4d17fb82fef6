"""Tokens and texts made safe to show: nothing in them acts as markup or stays unseen."""

from __future__ import annotations

import html
import re
import unicodedata

from model.trace.attention_map import NO_ID, Tokens
from model.trace.word_grouping import WORD_START
from viz.draw import style

CONTINUED = "…"
"""Stands before a token that goes on with the word of the token before it."""

SPACE = "␣"
"""Stands for a space that would otherwise not be seen."""

NOTHING = "(nothing written)"
"""Stands for a translation without a word."""

MAX_LABEL = 24
"""Longer labels are cut, so that one foreign token cannot push a figure off its page."""

_SPECIAL = re.compile(r"</?s>|<pad>|<unk>|<0x[0-9A-F]{2}>")
# Format, private, unassigned and surrogate characters, line and paragraph separators.
_HIDDEN = {"Cf", "Co", "Cn", "Cs", "Zl", "Zp"}
# Letters and symbols by category, and yet they leave no ink.
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Streamlit looks for :shortcodes:, arrows such as ->, and addresses after Markdown has taken its
# backslashes away. A word joiner, which has no width, breaks their spelling.
_LATER = re.compile(r"(\\[-:@.<>=~])")
_WORD_JOINER = "\u2060"

_CLOSING = "\u2069"
"""Ends what `plain_text` keeps to itself because it runs to the left."""


def visible(text: str) -> str:
    """The text with every character seen: control and direction characters become symbols."""
    shown = "".join(map(_visible_character, text))
    # A combining mark with no letter before it would sit on whatever stands there by chance.
    return f"◌{shown}" if shown and unicodedata.combining(shown[0]) else shown


def token_text(token: str) -> str:
    """A token as a reader knows it, in plain text.

    The first token of a word is the bare word, "▁cat" → "cat"; one that goes on with a word says
    so, "ze" → "…ze"; punctuation, special tokens and bytes stay as they are; a space alone is "␣".
    """
    if _SPECIAL.fullmatch(token):
        return token
    if token.startswith(WORD_START):
        word = token.removeprefix(WORD_START) or SPACE
    else:
        word = CONTINUED + token if token and _is_word(token[0]) else token
    return plain_text(word)


def plain_text(label: str) -> str:
    """A label that is no token, such as a position, as short and visible plain text."""
    spaced = re.sub(rf"[{WORD_START}\s]", lambda match: _space(match[0]), label)
    shown = visible(spaced) or "∅"
    if len(shown) > MAX_LABEL:
        shown = shown[: MAX_LABEL - 1] + "…"
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in shown):
        # Kept to itself, or it would turn round the words and numbers beside it.
        return f"\u2068{shown}\u2069"
    return shown


def axis_texts(tokens: Tokens) -> list[str]:
    """One plain text a position; labels without an id are shown as they are."""
    return [
        plain_text(token) if token_id == NO_ID else token_text(token)
        for token, token_id in zip(tokens.tokens, tokens.ids, strict=True)
    ]


def axis_labels(tokens: Tokens) -> list[str]:
    """One label a position for Plotly, which reads its texts as HTML."""
    return [escape_html(text) for text in axis_texts(tokens)]


def token_label(token: str) -> str:
    """`token_text` for Plotly, which reads its texts as HTML."""
    return escape_html(token_text(token))


def escape_html(text: str) -> str:
    """The text as HTML content, for an element's body and not for an attribute."""
    # Quotes stay: they mean nothing in a body, and Plotly would show &quot; letter by letter.
    return html.escape(text, quote=False)


def escape_markdown(text: str) -> str:
    """One line that Streamlit's Markdown shows letter by letter.

    For labels and options of widgets, captions and messages. Neither emphasis, maths, links and
    HTML nor Streamlit's own shortcodes, colours and arrows come of it.
    """
    # Without outer spaces: four of them would begin a block of code.
    line = visible(text).strip()
    return _LATER.sub(rf"{_WORD_JOINER}\1", _PUNCTUATION.sub(r"\\\1", line))


def _visible_character(character: str) -> str:
    if character == "\x7f":
        return "\u2421"
    if character < " ":
        return chr(0x2400 + ord(character))
    category = unicodedata.category(character)
    if category == "Cc" or category in _HIDDEN or character in _BLANK:
        return f"⟨U+{ord(character):04X}⟩"
    return character


def _space(character: str) -> str:
    is_plain = character == WORD_START or unicodedata.category(character) == "Zs"
    return SPACE if is_plain else character


def _is_word(character: str) -> bool:
    return character.isalnum() or bool(unicodedata.combining(character))


def side_texts(tokens: Tokens, narrow: bool = False) -> list[str]:
    """One plain text a position, cut to what stands beside a plot on a phone."""
    texts = axis_texts(tokens)
    return [_cut(text) for text in texts] if narrow else texts


def _cut(text: str) -> str:
    if len(text) <= style.NARROW_LABEL:
        return text
    # A text that runs to the left is closed off from its surroundings, and has to stay so.
    closing = _CLOSING if text.endswith(_CLOSING) else ""
    return text[: style.NARROW_LABEL - 1] + "…" + closing
