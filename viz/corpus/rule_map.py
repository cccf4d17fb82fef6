"""A head's map of one sentence, and beside it what its rule says."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from model.survey.corpus_survey import HeadRule
from model.survey.fitting import seen_rows
from model.trace.attention_map import AttentionMap, BoolArray
from viz.charts.panel_figure import panels_figure
from viz.corpus.sentences import rule_text
from viz.draw import style
from viz.draw.panels import Panel, weights_panel
from viz.save.numbers import Numbers, panels_numbers
from viz.save.picture import Layout, Picture


@dataclass(frozen=True, slots=True, eq=False)
class RuleBesideHead(Picture):
    """A head's weights, and its rule's."""

    attention: AttentionMap
    head: int
    rule: HeadRule
    sentence: str

    @property
    def title(self) -> str:
        return f"{self.attention.site.head_name(self.head)}, and its rule"

    @property
    def name(self) -> str:
        site = self.attention.site
        return f"corpus-rule-{site.kind}-layer{site.layer}-head{self.head}"

    @property
    def texts(self) -> Mapping[str, str]:
        return {"sentence": self.sentence}

    @property
    def overlap(self) -> float:
        """How much weight head and rule put in the same places, over rows with a choice."""
        own, ruled = (panel.values for panel in self.panels)
        choice = np.count_nonzero(self._allowed, axis=-1) >= 2
        return float(np.minimum(own, ruled)[choice].sum(axis=-1).mean()) if choice.any() else 1.0

    @property
    def caption(self) -> str:
        return f"The rule: it looks {rule_text(self.rule)}. Overlap here: {self._overlap}."

    @property
    def alt(self) -> str:
        return f"{self.title}: two maps, whose overlap is {self._overlap}."

    @property
    def _overlap(self) -> str:
        return style.percent(self.overlap)

    @property
    def _allowed(self) -> BoolArray:
        return self.attention.head(self.head).allowed

    @property
    def panels(self) -> list[Panel]:
        attention = self.attention
        lexicon = self.rule.weights.lexicon
        rows, _ = seen_rows(attention, lexicon)
        one = attention.head(self.head)
        ruled = self.rule.weights.weights(rows).astype(np.float32)
        return [
            weights_panel("The head", one),
            weights_panel("Its rule", replace(one, weights=ruled)),
        ]

    def figure(self, layout: Layout) -> go.Figure:
        return panels_figure(self.panels, layout)

    def numbers(self) -> Numbers:
        return panels_numbers(self.panels)
