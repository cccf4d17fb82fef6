"""Compares two texts word by word."""

import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from model.trace.attention_map import FloatArray, Tokens
from model.trace.token_runs import PositionPair, places, runs
from viz.draw import css, themes
from viz.draw.labels import NOTHING, escape_html, visible

SHORT = 80
"""Translations of up to this many characters are set large."""

Change = tuple[Literal["same", "removed", "added"], str]
"""What happened to some words, and the words."""


def word_diff(before: str, after: str) -> list[Change]:
    """The changes from one text to another, word by word, with punctuation separate.

    Runs of words come with the space before them, so that all runs in a row read as a text, and
    those that are not "removed" give the text after, its spaces made single.
    """
    old, new = list(_words(before)), list(_words(after))
    changes: list[Change] = []
    for same, old_run, new_run in runs(
        [word.lstrip(" ") for word in old], [word.lstrip(" ") for word in new]
    ):
        removed, added = "".join(old[old_run]), "".join(new[new_run])
        if same:
            changes.append(("same", added))
            continue
        if removed:
            changes.append(("removed", removed))
        if added:
            changes.append(("added", added))
    if changes:
        # No space before the first word.
        changes[0] = (changes[0][0], changes[0][1].lstrip(" "))
    return changes


def diff_html(before: str, after: str, *, dark: bool = False) -> str:
    """`word_diff` as HTML without other markup: <del> struck through, <ins> underlined."""
    theme = themes.page(dark)
    removed, added = (css.change_css(theme, removed=removed) for removed in (True, False))
    tags = {"removed": ("del", removed), "added": ("ins", added)}
    parts = []
    for change, text in word_diff(before, after):
        words = text.lstrip(" ")
        shown = escape_html(visible(words))
        if change in tags:
            tag, look = tags[change]
            shown = f'<{tag} style="{look}">{shown}</{tag}>'
        parts.append(" " * (len(text) - len(words)) + shown)
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Typed:
    """A target that a person typed, under two runs.

    Attributes:
        text: of the target; any text.
        means: of the log-probabilities that each run gives its tokens.
    """

    text: str
    means: tuple[float, float]


def typed_in(text: str, before: FloatArray | None, after: FloatArray | None) -> Typed | None:
    """A typed target with the log-probabilities of its tokens in two runs; None without a text."""
    if not text or before is None or after is None:
        return None
    return Typed(text, (float(before.mean()), float(after.mean())))


def translations_html(
    before: str, after: str, names: tuple[str, str], *, dark: bool, typed: Typed | None = None
) -> str:
    """Two translations, side by side if they fit, with changes marked in the second.

    A typed target stands above them, because the pictures below are of that target.
    """
    written = [escape_html(visible(before)), diff_html(before, after, dark=dark)]
    labels = [*names]
    texts = [before, after] if typed is None else [typed.text]
    size = 1.5 if max(map(len, texts)) <= SHORT else 1.125
    head, look = "", f"font-size: {size}rem"
    if typed is not None:
        head = (
            f'<section style="grid-column: 1 / -1; {look}">'
            f"<div>{escape_html(visible(typed.text))}</div></section>"
        )
        look = "font-size: 1.125rem"
        means = [_probability(mean) for mean in typed.means]
        texts = [text or "nothing" for text in written]
        if before == after:
            # What is the same of both is said once.
            both = zip(means, names, strict=True)
            means = [" and ".join(f"{mean} {name.lower()}" for mean, name in both)]
            texts, labels = [f"{texts[0]}, both times"], [""]
            look += "; grid-column: 1 / -1"
        written = [
            f'<div style="font-weight: 400">Each typed token: probability {mean} '
            f"(geometric mean). Written freely: {text}</div>"
            for text, mean in zip(texts, means, strict=True)
        ]
    # Both texts begin at one place, so that words can be compared by eye.
    width = f"min-width: {0.5 * max(map(len, names))}em"
    sections = head + "".join(
        f'<section style="{look}"><span style="{width}">{escape_html(name)}</span>'
        f"<div>{text or NOTHING}</div></section>"
        for name, text in zip(labels, written, strict=True)
    )
    columns = "repeat(auto-fit, minmax(min(100%, 30rem), 1fr))"
    return (
        f"<style>{css.CHANGE_CSS}</style>"
        f'<div class="change" style="grid-template-columns: {columns}">{sections}</div>'
    )


def change_line(before: str, after: str, name: str, note: str = "", *, dark: bool) -> str:
    """What became of a translation as one line of HTML, with its changes marked.

    Args:
        before: the translation; any text, as the others.
    """
    said, noted = (f"<span>{escape_html(each)}</span>" if each else "" for each in (name, note))
    text = diff_html(before, after, dark=dark) or NOTHING
    line = f'<div class="change line">{said}<div>{text}</div>{noted}</div>'
    return f"<style>{css.CHANGE_CSS}</style>{line}"


def _probability(log_prob: float) -> str:
    share = math.exp(log_prob)
    if share > 0.999:
        return "more than 0.999"
    # Two digits would round smaller numbers to 1.
    return f"{share:.{3 if share >= 0.995 else 2}g}" if share >= 1e-4 else "less than 0.0001"


def _words(text: str) -> Iterator[str]:
    """Words and punctuation marks, each with the space before it, if there was one."""
    for chunk in text.split():
        space = " "
        for part in _split_punctuation(chunk):
            yield space + part
            space = ""


def _split_punctuation(chunk: str) -> Iterator[str]:
    """The parts of a run between spaces: marks before the word, the word, marks after it."""
    marks = [unicodedata.category(character)[0] == "P" for character in chunk]
    if all(marks):
        yield from chunk
        return
    start, end = marks.index(False), len(marks) - marks[::-1].index(False)
    yield from chunk[:start]
    yield chunk[start:end]
    yield from chunk[end:]


def aligned(one: tuple[Tokens, FloatArray], other: tuple[Tokens, FloatArray]) -> list[PositionPair]:
    """Both targets in order, with shared tokens at the same place; each has a number a token."""
    for tokens, log_probs in (one, other):
        if log_probs.shape != (len(tokens),):
            raise ValueError(
                f"Each token needs one log-probability: there are {len(tokens)} tokens and the "
                f"numbers have the shape {log_probs.shape}."
            )
    return places(one[0].tokens, other[0].tokens)
