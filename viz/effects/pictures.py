"""The pictures of the effects page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.head_effects import Effects, Removal
from model.trace import FloatArray, Site
from viz.draw.word_diff import word_diff
from viz.effects import effect_map, removal_curve
from viz.heads.request import Request
from viz.save.formats import ExportError
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture

Heads = Sequence[tuple[Site, int]]


@dataclass(frozen=True, slots=True, eq=False)
class EffectMap(Picture):
    """What a translation, or one of its tokens, loses without each head.

    Attributes:
        effects: of the translation.
        token: the target token, from 0; None for the whole translation.
        target: a translation of one's own; empty for the model's.
        numbered: whether cells hold their numbers.
        off: heads that bear a cross.
    """

    slug: ClassVar[str] = "effects"
    about: ClassVar[str] = (
        "what the translation loses without each head, or one of its tokens: --token"
    )

    effects: Effects
    token: int | None = None
    target: str = ""
    numbered: bool = True
    off: Heads = ()

    name = "effects"

    @classmethod
    def of(cls, request: Request) -> EffectMap:
        token, count = request.arguments.token, len(request.effects.predictions)
        if token is None:
            return cls(request.effects, None, request.target)
        if not 1 <= token <= count:
            raise ExportError(
                f"There are the target tokens 1 to {count}; there is no target token {token}."
            )
        return cls(request.effects, token - 1, request.target)

    @property
    def title(self) -> str:
        return effect_map.effect_title(self.effects, self.token)

    @property
    def alt(self) -> str:
        return effect_map.effect_alt_text(self.effects.of(self.token), self.title)

    @property
    def caption(self) -> str:
        return effect_map.effect_caption(self.token, self.off)

    def figure(self, layout: Layout) -> go.Figure:
        return effect_map.effect_figure(
            self.effects.of(self.token),
            self.title,
            off=self.off,
            numbered=self.numbered,
            **layout.options,
        )

    def numbers(self) -> Numbers:
        columns, losses = _by_head(self.effects.losses)
        return Numbers(
            {},
            {"site_head": range(len(losses)), "target": self.effects.predictions},
            {
                **{name: (("site_head",), values) for name, values in columns.items()},
                "loss": (("site_head", "target"), losses),
                "log_prob": (("target",), self.effects.log_probs),
            },
        )

    def python(self, layout: Layout) -> Lines:
        given = f", {self.target!r}" if self.target else ""
        options = "" if self.numbered else ", numbered=False"
        crossed, off = _off_python(self.off)
        return [
            "from model.effects import effects",
            *crossed,
            "from viz.effects.effect_map import effect_figure, effect_title",
            f"found = effects(translator, {self.effects.source_text!r}{given})",
            f"token = {self.token!r}",
            "title = effect_title(found, token)",
            f"effect_figure(found.of(token), title{off}{options}{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class WordMap(Picture):
    """How many words of the model's own translation each head changes when it is removed.

    Attributes:
        sentence: the source.
        before: its translation with all heads.
        after: without each head, by site.
        off: heads that bear a cross.
    """

    sentence: str
    before: str
    after: Mapping[Site, tuple[str, ...]]
    off: Heads = ()

    title = "How many words each head changes"
    name = "effects-words"

    @property
    def changed(self) -> dict[Site, NDArray[np.float64]]:
        """How many words, by site, (head,)."""
        return {
            site: np.array([changed_words(self.before, text) for text in texts], np.float64)
            for site, texts in self.after.items()
        }

    @property
    def alt(self) -> str:
        return effect_map.effect_alt_text(self.changed, self.title, effect_map.CHANGED)

    @property
    def caption(self) -> str:
        return effect_map.changed_caption(self.off)

    def figure(self, layout: Layout) -> go.Figure:
        return effect_map.effect_figure(
            self.changed, self.title, effect_map.CHANGED, off=self.off, **layout.options
        )

    def numbers(self) -> Numbers:
        columns, changed = _by_head(self.changed)
        texts = np.array([text for each in self.after.values() for text in each], np.str_)
        arrays = {**columns, "words_changed": changed, "translation": texts}
        return Numbers(
            {},
            {"site_head": range(len(changed))},
            {name: (("site_head",), values) for name, values in arrays.items()},
        )

    def python(self, layout: Layout) -> Lines:
        crossed, off = _off_python(self.off)
        return [
            "from model.effects import rewritten",
            *crossed,
            "from viz.effects.effect_map import effect_figure",
            "from viz.effects.pictures import WordMap",
            f"sentence = {self.sentence!r}",
            "after = {",
            "    site: tuple(each.text for each in rewritten(translator, sentence, site))",
            "    for site in translator.sites",
            "}",
            "picture = WordMap(sentence, translator.translate(sentence).text, after)",
            "changed, title = picture.changed, picture.title",
            f"effect_figure(changed, title, {effect_map.CHANGED!r}{off}{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class RemovalCurve(Picture):
    """What is left of a translation while heads are removed one after another.

    Attributes:
        removal: of the translation.
        sentence: the source.
        target: a translation of one's own; empty for the model's.
    """

    removal: Removal
    sentence: str
    target: str = ""

    title = removal_curve.TITLE
    name = "effects-removal"

    @property
    def alt(self) -> str:
        return removal_curve.removal_alt_text(self.removal)

    @property
    def caption(self) -> str:
        return removal_curve.removal_caption(self.removal)

    def figure(self, layout: Layout) -> go.Figure:
        return removal_curve.removal_figure(self.removal, **layout.options)

    def numbers(self) -> Numbers:
        removal = self.removal
        return Numbers(
            {},
            {"heads_removed": removal.removed, "order": range(len(removal.at_random))},
            {
                "least_important_first": (("heads_removed",), removal.least_first),
                "at_random": (("order", "heads_removed"), removal.at_random),
            },
        )

    def python(self, layout: Layout) -> Lines:
        given = f", {self.target!r}" if self.target else ""
        return [
            "from model.effects import effects_of, removal",
            "from viz.effects.removal_curve import removal_figure",
            f"trace = translator.trace({self.sentence!r}{given})",
            "removed = removal(translator, trace, effects_of(translator, trace))",
            f"removal_figure(removed{layout.python})",
        ]


def changed_words(before: str, after: str) -> int:
    """How many words of a text are not in another, or the other way round, whichever is more."""
    counts = {"removed": 0, "added": 0, "same": 0}
    for change, text in word_diff(before, after):
        counts[change] += len(text.split())
    return max(counts["removed"], counts["added"])


def _off_python(off: Heads) -> tuple[Lines, str]:
    """What is imported for heads that bear a cross, and the end of a call that names them."""
    if not off:
        return [], ""
    listed = ", ".join(
        f"(Site(AttentionKind.{site.kind.name}, {site.layer}), {head})" for site, head in off
    )
    return ["from model.trace import AttentionKind, Site"], f", off=[{listed}]"


def _by_head(
    values: Mapping[Site, FloatArray] | Mapping[Site, NDArray[np.float64]],
) -> tuple[dict[str, NDArray[np.str_] | NDArray[np.int64]], NDArray[np.floating]]:
    """Kind, layer and number of every head, one below the other, and their values."""
    heads = [(site, head) for site, each in values.items() for head in range(len(each))]
    return {
        "attention": np.array([str(site.kind) for site, _ in heads], np.str_),
        "layer": np.array([site.layer for site, _ in heads], np.int64),
        "head": np.array([head for _, head in heads], np.int64),
    }, np.concatenate(list(values.values()))
