"""One head in two runs, and what all pictures of two runs share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.trace.head import Head
from viz.charts.chart import Layout
from viz.charts.panel_figure import panels_figure
from viz.compare.paired import PairedTraces
from viz.draw import style
from viz.draw.panels import Panel, weights_panel
from viz.save.notebook import Lines
from viz.save.numbers import Numbers, panels_numbers
from viz.save.picture import Picture


@dataclass(frozen=True, slots=True, eq=False)
class OfPair(Picture):
    """What differs between two runs.

    Attributes:
        other_model: the second model as `hs.figures.trace_by` takes it; empty for one model.
    """

    pair: PairedTraces
    other_model: str = ""

    @property
    def texts(self) -> Mapping[str, str]:
        if self.pair.versus == "sentence":
            return {"second_sentence": self.pair.second.source_text}
        if self.pair.versus == "search":
            return {"first_target": self.pair.first.text, "second_target": self.pair.second.text}
        known = self.pair.second.provenance.texts
        second = {f"second_{name}": text for name, text in known.items()}
        return second | {"second_model": self.other_model}

    @property
    def setup(self) -> Lines:
        return pair_setup(self.pair, self.other_model)

    @property
    def _second(self) -> str:
        return f"the second {self.pair.versus}"


def pair_setup(pair: PairedTraces, other_model: str) -> Lines:
    """The lines of a notebook that make `pair`."""
    first = f"translator.trace({pair.first.source_text!r})"
    if pair.versus == "sentence":
        second = f"translator.trace({pair.second.source_text!r})"
        return [f"pair = hs.figures.PairedTraces({first}, {second})"]
    if pair.versus == "search":
        return [
            f"sentence = {pair.first.source_text!r}",
            f"first = translator.trace(sentence, {pair.first.text!r})",
            f"second = translator.trace(sentence, {pair.second.text!r})",
            "pair = hs.figures.PairedTraces(first, second, 'search')",
        ]
    return [
        f"first = {first}",
        f"second = hs.figures.trace_by({other_model!r}, {pair.second.source_text!r})",
        f"partners = hs.figures.matched_by_surveys{pair.surveyed!r}"
        if pair.surveyed
        else "partners = hs.figures.matched(first, second)",
        f"pair = hs.figures.PairedTraces(first, second, 'model', partners, {pair.surveyed!r})",
    ]


@dataclass(frozen=True, slots=True, eq=False)
class HeadPair(OfPair):
    """One head's weights in both runs, and their difference on aligned tokens.

    Attributes:
        chosen: the head; None for the one that differs most.
    """

    chosen: Head | None = None

    @property
    def head(self) -> Head:
        """The head of the first run."""
        return Head(*(self.chosen or self.pair.most_moved))

    @property
    def title(self) -> str:
        site, number = self.head
        if self.pair.versus != "model":
            both = {"sentence": "on both sentences", "search": "in both searches"}
            return f"{site.head_name(number)}, {both[self.pair.versus]}"
        other, place = self.pair.heads[self.head]
        return (
            f"{site.head_name(number)}, and layer {other.layer}, head {place} of the second model"
        )

    @property
    def name(self) -> str:
        site, number = self.head
        return f"compare-{site.kind}-{site.layer}-{number}"

    @property
    def caption(self) -> str:
        share = style.percent(self.pair.moved[self.head])
        return f"{share} of its weight between aligned tokens differs, averaged over the rows."

    @property
    def more(self) -> str:
        return self.pair.note

    @property
    def alt(self) -> str:
        return " ".join([f"{self.title}.", *(panel.alt for panel in self.panels)])

    @property
    def panels(self) -> list[Panel]:
        """The first weights, the second, and the second less the first."""
        kind = self.head.site.kind
        titles: Any = {
            "query_title": kind.query_noun.capitalize(),
            "key_title": kind.key_noun.capitalize(),
        }
        panels = [
            weights_panel(f"{name} {self.pair.versus}", one, **titles)
            for name, one in zip(("First", "Second"), self.pair.in_both(self.head), strict=True)
        ]
        difference = self.pair.difference(self.head)
        queries, keys = self.pair.labels(kind)
        limit = max(float(np.abs(difference).max(initial=0)), 1e-6)
        panels.append(
            Panel(
                title="Second − first",
                values=difference,
                queries=queries,
                keys=keys,
                alt="Their difference on aligned tokens, "
                f"{style.count_of(len(queries), 'query', 'queries')} by "
                f"{style.count_of(len(keys), 'key')}, at most {style.number(limit)}.",
                scale="signed",
                low=-limit,
                high=limit,
                unit="difference",
                **titles,
            )
        )
        return panels

    def figure(self, layout: Layout) -> go.Figure:
        return panels_figure(self.panels, layout, title=self.title)

    def numbers(self) -> Numbers:
        made = panels_numbers(self.panels)
        return Numbers({"head": f"{self.head}"}, made.axes, made.arrays)
