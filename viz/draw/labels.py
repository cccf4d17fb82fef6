"""Tokens and texts made safe to show: no markup takes effect, and no character is invisible."""

import html
import re
import unicodedata

from model.trace.attention_map import NO_ID, Tokens
from model.trace.token_schemes import WORD_START
from viz.draw import style
from viz.draw.constants import CONSTANTS

CONTINUED = "…"
"""Precedes a token that continues the previous token's word."""

SPACE = "␣"
"""Replaces a space that would be invisible."""

NOTHING = "(nothing written)"
"""Replaces an empty translation."""

MAX_LABEL: int = CONSTANTS["LONGEST_LABEL"]
"""Longer labels are cut: a single foreign token must not push a figure off its page."""

# The last are languages, de_DE of mBART and deu_Latn of NLLB.
_SPECIAL = re.compile(r"</?s>|<pad>|<unk>|(?:<0x[0-9A-F]{2}>)+|[a-z]{2,3}_[A-Z](?:[A-Z]|[a-z]{3})")
# Format, private, unassigned and surrogate characters, line and paragraph separators.
_HIDDEN = {"Cf", "Co", "Cn", "Cs", "Zl", "Zp"}
# Letters and symbols by category, but invisible.
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Streamlit replaces :shortcodes:, arrows such as -> and addresses after Markdown has removed its
# backslashes. A word joiner, which has no width, interrupts them.
_LATER = re.compile(r"(\\[-:@.<>=~])")
_WORD_JOINER = "\u2060"

_CLOSING = "\u2069"
"""Ends the isolate that `plain_text` puts around right-to-left text."""


def visible(text: str) -> str:
    """The text with control and direction characters replaced by visible symbols."""
    shown = "".join(map(_visible_character, text))
    # A combining mark without a letter would attach to whatever precedes it.
    return f"◌{shown}" if shown and unicodedata.combining(shown[0]) else shown


def token_text(token: str) -> str:
    """A token as a reader knows it, in plain text.

    The first token of a word loses its mark, "▁cat" → "cat"; a token that continues a word gets
    one, "ze" → "…ze"; punctuation, special tokens, languages and bytes are unchanged; a
    single space is "␣".
    """
    if _SPECIAL.fullmatch(token):
        return token
    if token.startswith(WORD_START):
        word = token.removeprefix(WORD_START) or SPACE
    else:
        word = CONTINUED + token if token and _is_word(token[0]) else token
    return plain_text(word)


def plain_text(label: str) -> str:
    """A label other than a token, such as a position, as short, visible plain text."""
    spaced = re.sub(rf"[{WORD_START}\s]", lambda match: _space(match[0]), label)
    shown = visible(spaced) or "∅"
    if len(shown) > MAX_LABEL:
        shown = shown[: MAX_LABEL - 1] + "…"
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in shown):
        # Isolated, or right-to-left text would reorder the words and numbers next to it.
        return f"\u2068{shown}\u2069"
    return shown


def axis_texts(tokens: Tokens) -> list[str]:
    """One plain text per position.

    Labels without an id are shown as they are, and so are tokens that do not mark words.
    """
    return [
        plain_text(token) if token_id == NO_ID or not tokens.marked else token_text(token)
        for token, token_id in zip(tokens.tokens, tokens.ids, strict=True)
    ]


def axis_labels(tokens: Tokens) -> list[str]:
    """One label per position for Plotly, which reads its texts as HTML."""
    return [escape_html(text) for text in axis_texts(tokens)]


def escape_html(text: str) -> str:
    """The text as HTML content, for an element's body and not for an attribute."""
    # Quotes stay: they are harmless in a body, and Plotly would show &quot; literally.
    return html.escape(text, quote=False)


def escape_markdown(text: str) -> str:
    """One line that Streamlit's Markdown shows letter by letter.

    For labels of widgets, options of segments and buttons, captions and messages; options of menus
    are no Markdown. Neither emphasis, maths, links and HTML nor Streamlit's own shortcodes, colours
    and arrows come of it.
    """
    # Without outer spaces: four of them would begin a block of code.
    line = visible(text).strip()
    return _LATER.sub(rf"{_WORD_JOINER}\1", _PUNCTUATION.sub(r"\\\1", line))


def character_name(character: str) -> str:
    """A character, or its number and name where it cannot be seen: "U+00AD soft hyphen"."""
    if _visible_character(character) == character:
        return character
    return f"U+{ord(character):04X} {unicodedata.name(character, '').lower()}".strip()


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
    """One plain text per position, cut to fit beside a plot on a phone."""
    texts = axis_texts(tokens)
    return [short_text(text) for text in texts] if narrow else texts


def short_text(text: str) -> str:
    """A label cut to fit beside a plot on a phone."""
    if len(text) <= style.NARROW_LABEL:
        return text
    # Right-to-left text is isolated and must stay isolated when cut.
    closing = _CLOSING if text.endswith(_CLOSING) else ""
    return text[: style.NARROW_LABEL - 1] + "…" + closing


def upper_first(text: str) -> str:
    """A text as a sentence begins."""
    return f"{text[:1].upper()}{text[1:]}"


def lower_first(name: str) -> str:
    """A name in sentence case for use inside a sentence; one such as "BLEU" stays."""
    return name if name[1:2].isupper() else f"{name[:1].lower()}{name[1:]}"
