"""The heads view with its interaction as a file, and the measures of every head as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from model.explain.measures import MEASURES, Facts
from model.explain.reading import ReadTrace
from model.trace.attention_map import FloatArray, Site
from model.trace.trace import Trace
from viz.browser.trace_payload import Labels
from viz.heads.one_head import TraceQuestion
from viz.save.numbers import Arrays, Axes, Numbers
from viz.save.picture import Picture


@dataclass(frozen=True, slots=True, eq=False)
class HeadMeasures(TraceQuestion):
    """The measures of every head, which are a table.

    Attributes:
        facts: of the heads shown.
    """

    facts: Facts

    title = "The measures of every head"
    name = "head-facts"

    def numbers(self) -> Numbers:
        axes: Axes = {}
        arrays: Arrays = {}
        kinds = list(dict.fromkeys(site.kind for site in sorted(self.facts)))
        for kind in kinds:
            sites = [site for site in sorted(self.facts) if site.kind is kind]
            before = f"{kind}_" if len(kinds) > 1 else ""
            axes[f"{before}layer"] = [site.layer for site in sites]
            for measure in MEASURES:
                if kind in measure.kinds and all(measure.key in self.facts[site] for site in sites):
                    values = np.stack([self.facts[site][measure.key] for site in sites])
                    axes.setdefault("head", range(values.shape[1]))
                    arrays[f"{before}{measure.key}"] = ((f"{before}layer", "head"), values)
        return Numbers({"attention": str(kinds[0])} if len(kinds) == 1 else {}, axes, arrays)


@dataclass(frozen=True, slots=True, eq=False)
class WholeView(Picture):
    """The heads view with its interaction.

    Attributes:
        trace: that is shown.
        seen: the trace as it is read.
        facts: of every head.
        labels: what heads do over new sentences.
        heading: of the document.
        selection: what is selected at first, as an address spells it.
        effects: the loss without each head, by site, (head,), where heads can be ordered by it.
    """

    trace: Trace
    seen: ReadTrace
    facts: Facts
    labels: Labels
    heading: str
    selection: Mapping[str, str]
    effects: Mapping[Site, FloatArray] | None = None

    title = "The whole view, to open offline"
    name = "heads"

    def page(self, dark: bool) -> str:
        # Slow to load, as it brings Streamlit along, and no other picture needs it.
        from viz.heads.standalone import heads_page

        settled = {"words", "specials", "renormalise", "predicted"}
        return heads_page(
            self.trace,
            self.seen,
            self.facts,
            self.labels,
            effects=self.effects,
            title=self.heading,
            selection={
                name: value for name, value in self.selection.items() if name not in settled
            },
            dark=dark or None,
        )
