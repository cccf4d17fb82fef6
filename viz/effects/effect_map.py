"""The effect of each head on a translation: the loss, or the changed words, without it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.explain.ablation_results import Effects
from model.trace.attention_map import FloatArray, Site
from model.trace.head import Head
from viz.draw import style
from viz.draw.labels import axis_texts, lower_first, visible
from viz.draw.word_diff import word_diff
from viz.effects.head_map import CHANGED, LOSS, HeadMap, head_columns
from viz.save.notebook import Lines
from viz.save.numbers import Numbers

LISTED = 5
"""How many heads are named in words."""


@dataclass(frozen=True, slots=True, eq=False)
class EffectMap(HeadMap):
    """The loss of a translation, or of one of its tokens, without each head.

    Attributes:
        token: the target token, from 0; None for the whole translation.
        target: a person's own translation; empty for the model's.
    """

    unit = LOSS

    effects: Effects
    token: int | None = None
    target: str = ""
    numbered: bool = True
    off: Sequence[Head] = ()

    name = "effects"

    @property
    def title(self) -> str:
        token = self.token
        tokens = axis_texts(self.effects.predictions)
        what = "the translation" if token is None else f"“{tokens[token]}”"
        return f"What {what} loses without each head"

    @property
    def values(self) -> Mapping[Site, FloatArray]:
        return self.effects.of(self.token)

    @property
    def caption(self) -> str:
        what = "the translation" if self.token is None else "this target token"
        return (
            f"Orange heads matter: without one, {what} becomes less likely; without a blue one, "
            "likelier."
        )

    @property
    def more(self) -> str:
        return (
            "The number is the drop in log-probability: 0.7 halves the probability, 2.3 cuts it to "
            "a tenth. Small numbers are not printed. Each head is removed alone, before W_O, while "
            "the decoder reads the same translation. Heads that can replace each other all look "
            f"unimportant. {self.cross_words}"
        ).rstrip()

    def said(self, site: Site, head: int) -> str:
        losses, token = self.effects.losses[site][head], self.token
        most = int(np.abs(losses).argmax()) if token is None else token
        return _of_token(self.effects, most, float(losses[most]))

    def numbers(self) -> Numbers:
        losses = np.concatenate(list(self.effects.losses.values()))
        columns = head_columns(self.effects.losses)
        return Numbers(
            {},
            {"site_head": range(len(losses)), "target": self.effects.predictions},
            {
                **{name: (("site_head",), values) for name, values in columns.items()},
                "loss": (("site_head", "target"), losses),
                "log_prob": (("target",), self.effects.log_probs),
            },
        )

    @property
    def setup(self) -> Lines:
        texts = ("sentence", "target")[: 2 if self.target else 1]
        values = (self.effects.source_text, self.target)[: len(texts)]
        return [
            f"{', '.join(texts)} = {', '.join(map(repr, values))}",
            f"effects = hs.effects(translator, {', '.join(texts)})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class WordMap(HeadMap):
    """How many words of the model's own translation change without each head.

    Attributes:
        before: its translation with all heads.
        after: its translations without each head, by site.
    """

    unit = CHANGED

    sentence: str
    before: str
    after: Mapping[Site, tuple[str, ...]]
    off: Sequence[Head] = ()
    numbered: bool = True

    title = "How many words each head changes"
    name = "effects-words"

    @property
    def values(self) -> dict[Site, NDArray[np.float64]]:
        return {
            site: np.array([changed_words(self.before, text) for text in texts], np.float64)
            for site, texts in self.after.items()
        }

    @property
    def caption(self) -> str:
        return f"{self.changing} The number counts the words that change."

    @property
    def changing(self) -> str:
        """How many heads change the translation alone, in plain text."""
        count = sum(int(np.count_nonzero(each)) for each in self.values.values())
        total = sum(map(len, self.after.values()))
        return f"Removing a single head changes the translation for {count} of the {total} heads."

    def said(self, site: Site, head: int) -> str:
        return visible(self.after[site][head])

    def numbers(self) -> Numbers:
        arrays = {
            **head_columns(self.after),
            "words_changed": np.concatenate(list(self.values.values())),
            "translation": np.array([text for each in self.after.values() for text in each]),
        }
        return Numbers(
            {},
            {"site_head": range(len(arrays["layer"]))},
            {name: (("site_head",), values) for name, values in arrays.items()},
        )

    @property
    def setup(self) -> Lines:
        return [
            f"sentence = {self.sentence!r}",
            "before = translator.translate(sentence).text",
            "after = {",
            "    site: tuple(each.text for each in hs.figures.rewritten(translator, "
            "sentence, site))",
            "    for site in translator.sites",
            "}",
        ]


def changed_words(before: str, after: str) -> int:
    """How many words differ between two texts.

    Words that only the first has, or words that only the second has, whichever are more.
    """
    counts = {"removed": 0, "added": 0, "same": 0}
    for change, text in word_diff(before, after):
        counts[change] += len(text.split())
    return max(counts["removed"], counts["added"])


def effect_sentences(effects: Effects, token: int | None, count: int = LISTED) -> list[str]:
    """The heads whose removal changes the translation or one of its tokens most, in plain text."""
    return [
        f"Without {lower_first(site.head_name(head))}, "
        + (
            _of_translation(effects, effects.losses[site][head], loss)
            if token is None
            else _of_token(effects, token, loss)
        )
        + "."
        for site, head, loss in effects.ranked(token)[:count]
    ]


def _of_translation(effects: Effects, losses: FloatArray, loss: float) -> str:
    before = float(effects.log_probs.sum())
    most = int(np.abs(losses).argmax())
    return (
        f"the translation’s log-probability {'falls' if loss > 0 else 'rises'} from "
        f"{style.number(before)} to {style.number(before - loss)}; most of all, "
        f"{_of_token(effects, most, float(losses[most]))}"
    )


def _of_token(effects: Effects, token: int, loss: float) -> str:
    name = axis_texts(effects.predictions)[token]
    return f"“{name}” {change_words(float(effects.log_probs[token]), loss)}"


def change_words(log_prob: float, loss: float) -> str:
    """How a token's probability changes, such as "falls from 0.93 to 0.12"."""
    return style.number_change(float(np.exp(log_prob)), float(np.exp(log_prob - loss)))
