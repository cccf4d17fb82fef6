"""A head's map of one sentence, and beside it what its rule says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.record.head_edits import RuleWeights, TermWeights
from model.survey.fitting import seen_rows
from model.trace.attention_map import AttentionMap, FloatArray
from viz.charts.token_map import TokenMap, spots, token_maps
from viz.draw import style
from viz.draw.axis_names import nouns, row_noun
from viz.save.numbers import Numbers, of_head
from viz.save.picture import Layout, Picture

ALIKE = 1e-6
"""A rule that gives two keys weights closer than this names neither."""

SAME, OTHER = "same strongest key", "strongest key where they differ"


@dataclass(frozen=True, slots=True, eq=False)
class RuleBesideHead(Picture):
    """A head's weights, and its rule's.

    Attributes:
        rule: to be put in place of the head's weights.
        says: what the head does by its rule, such as "looks at the previous token".
    """

    attention: AttentionMap
    head: int
    rule: RuleWeights | TermWeights
    says: str
    sentence: str

    @property
    def title(self) -> str:
        return f"{self.attention.site.head_name(self.head)}, and its rule"

    @property
    def name(self) -> str:
        site = self.attention.site
        return f"rule-{site.kind}-layer{site.layer}-head{self.head}"

    @property
    def texts(self) -> Mapping[str, str]:
        return {"sentence": self.sentence, "rule": self.says}

    @cached_property
    def weights(self) -> tuple[FloatArray, FloatArray]:
        """The head's and the rule's, (query, key)."""
        rows, _ = seen_rows(self.attention, self.rule.lexicon)
        ruled = self.rule.weights(rows).astype(np.float32)
        return self.attention.weights[self.head], ruled

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The rows with a choice."""
        _, choice = seen_rows(self.attention, None)
        return np.flatnonzero(choice)

    @property
    def overlap(self) -> float:
        """How much weight head and rule put in the same places, over rows with a choice."""
        own, ruled = self.weights
        if not len(self.rows):
            return 1.0
        return float(np.minimum(own, ruled)[self.rows].sum(axis=-1).mean())

    @cached_property
    def strongest(self) -> tuple[list[tuple[int, int]], ...]:
        """The cells (row, key) where both are strongest, where the head alone is, and the rule."""
        same, by_head, by_rule = [], [], []
        for row, own, ruled in zip(self.rows.tolist(), *self._chosen, strict=True):
            if own == ruled:
                same.append((row, own))
                continue
            by_head.append((row, own))
            if ruled >= 0:
                by_rule.append((row, ruled))
        return same, by_head, by_rule

    @property
    def _chosen(self) -> Sequence[list[int]]:
        """The strongest key of each row with a choice, by the head and by the rule; -1 for none."""
        own, ruled = (each[self.rows] for each in self.weights)
        second, first = np.sort(ruled, axis=-1)[:, -2:].T if len(self.rows) else np.empty((2, 0))
        named = np.where(first - second > ALIKE, ruled.argmax(axis=-1), -1)
        return own.argmax(axis=-1).tolist(), named.tolist()

    @property
    def caption(self) -> str:
        return (
            f"The rule names the strongest key in {self.score}. Dots: head and rule agree. Rings: "
            "each one's own, where they do not."
        )

    @property
    def score(self) -> str:
        """In how many rows of this sentence the rule is right."""
        same, *_ = self.strongest
        return f"{len(same)} of {style.count_of(len(self.rows), 'row')}"

    @property
    def more(self) -> str:
        return (
            f"The rule: it {self.says}. It knows the tokens, their order and what the mask hides, "
            f"but none of the model's numbers. Overlap of the weights here: {self._overlap}. Rows "
            "with a single key to look at do not count; where the rule gives two keys the same, it "
            "names neither."
        )

    @property
    def alt(self) -> str:
        return (
            f"{self.title}: two maps with the same strongest key in {self.score}; their overlap is "
            f"{self._overlap}."
        )

    @property
    def _overlap(self) -> str:
        return style.percent(self.overlap)

    def figure(self, layout: Layout) -> go.Figure:
        """The head and the rule, their weights on one scale; the first traces are the weights."""
        same, *own = self.strongest
        one, kind = self.attention.head(self.head), self.attention.site.kind
        maps = [
            TokenMap(
                name=name,
                short_name=name,
                unit="weight",
                values=weights,
                marks=[spots(SAME, same, weights), spots(OTHER, rings, weights, ring=True)],
                allowed=one.allowed,
                high=1.0,
            )
            for name, weights, rings in zip(
                ("The head", "Its rule"), self.weights, own, strict=True
            )
        ]
        rows, columns = f"Query: {row_noun(kind)}", f"Key: {nouns(kind)[1]} looked at"
        return token_maps(
            *(layout, self.title, maps, (rows, one.queries), (columns, one.keys)),
            short="Head and rule",
        )

    def numbers(self) -> Numbers:
        one, cells = self.attention.head(self.head), ("query", "key")
        own, ruled = self.weights
        return Numbers(
            of_head(self.attention.site, self.head),
            {"query": one.queries, "key": one.keys},
            {"weight": (cells, own), "rule": (cells, ruled), "allowed": (cells, one.allowed)},
        )
