"""The words of the translation above a page, each with how sure the model was of it."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.trace.attention_map import Tokens
from model.trace.trace import Trace
from viz.browser.headline import HEADLINE, headline
from viz.decoding.certainty import HESITANT, percent
from viz.draw import themes
from viz.draw.labels import axis_texts, visible
from viz.model_page.arcs import words_of
from viz.shell import stage
from viz.shell.theme import is_dark

UNDERLINED = f"underlined: less than {percent(HESITANT)} likely"


@dataclass(frozen=True, slots=True)
class HeadlineWord:
    """A word of the translation.

    Attributes:
        joins: whether it goes on without a space.
        first: the position of its first token among those written.
        end: the position after its last.
        share: the model's probability for it, given the words before it; None if not known.
    """

    text: str
    joins: bool
    first: int
    end: int
    share: float | None

    @property
    def is_doubtful(self) -> bool:
        """Whether the model might well have written another word."""
        return self.share is not None and self.share < HESITANT

    @property
    def entry(self) -> dict[str, object]:
        """The word as the browser takes it."""
        said = "" if self.share is None else f"{percent(self.share)} likely"
        return {**asdict(self), "doubtful": self.is_doubtful, "said": said}


@dataclass(frozen=True, slots=True)
class Headline:
    """A translation as words.

    Attributes:
        words: that make up the text; none where the tokens do not.
        source: the tokens that were read, as axes name them.
        target: those that were written.
    """

    text: str
    words: tuple[HeadlineWord, ...]
    source: Sequence[str] = ()
    target: Sequence[str] = ()

    @property
    def is_doubtful(self) -> bool:
        """Whether any of the words is underlined."""
        return any(word.is_doubtful for word in self.words)

    @property
    def entries(self) -> list[dict[str, object]]:
        """The words as the browser takes them."""
        return [word.entry for word in self.words]

    def show(self) -> None:
        """Make words of the text that `.answer` shows first."""
        theme = themes.page(is_dark())
        colors = {"mark": theme.heads[1], "ground": theme.hover}
        with st.container(key=HEADLINE("words")):
            headline(
                {
                    "text": visible(self.text),
                    "words": self.entries,
                    "colors": colors,
                    "tokens": {"source": list(self.source), "target": list(self.target)},
                    "stage": stage.is_on(),
                }
            )


def headline_of_trace(text: str, trace: Trace) -> Headline:
    """A text as words, of the trace in which it was written."""
    words = headline_of(text, trace.predictions, trace.log_probs)
    return replace(words, source=axis_texts(trace.source), target=axis_texts(trace.predictions))


def headline_of(text: str, tokens: Tokens, log_probs: NDArray[np.floating] | None) -> Headline:
    """A text as words.

    Args:
        log_probs: the natural logarithm of each one's probability, or None.
    """
    words = tuple(
        HeadlineWord(
            word.text,
            word.joins,
            word.first,
            word.end,
            None if log_probs is None else math.exp(log_probs[word.first : word.end].sum()),
        )
        for word in words_of(tokens)
        if not word.special
    )
    spelled = "".join(f"{'' if word.joins else ' '}{word.text}" for word in words)
    return Headline(text, words if spelled.removeprefix(" ") == visible(text) else ())
