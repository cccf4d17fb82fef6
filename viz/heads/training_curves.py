"""How the heads of a model came to do what they do, while it was trained: measures as curves.

The curves are computed once, over the model's examples, for more steps of training than the
checkpoint keeps weights of, and lie beside them as growth.json; model.training.growth writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.explain.growth import GROWN, Growth
from model.explain.label_rules import Rule
from model.explain.measures import MEASURES
from model.explain.source_measures import ON_SOURCE
from model.trace.attention_map import FloatArray, Site
from viz.charts.axes import number_axis
from viz.charts.chart import Plot, chart, title_lines
from viz.charts.marks import Mark, in_legend, line
from viz.charts.marks import rule as horizontal
from viz.draw import style
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture

NAMES = {measure.key: measure.name for measure in (*MEASURES, *ON_SOURCE)}

_HEIGHT, _MOST_TICKS = 340, 9
_BELOW = (style.BOTTOM + 46, style.BOTTOM + 46 + 3 * style.LEGEND_HEIGHT)

_EDGE = 0.01
"""Of the axis's length, left free at both ends for the width of a line."""

_CHOSEN, _LABELLED = "the head that is shown", "heads with the label at some step"
_OTHER, _NEEDED = "other heads", "needed for the label"
"""The legend's names for the lines."""

_STROKES: Mapping[str, dict[str, Any]] = {
    _CHOSEN: {"color": 0, "width": 4},
    _LABELLED: {"color": 1},
    _OTHER: {"color": "muted", "width": 1},
}


@dataclass(frozen=True, slots=True, eq=False)
class HeadGrowth(Picture):
    """One measure of every head of a kind over the steps of training.

    The axis of steps is logarithmic and begins where the measure does. Step 0, which has no
    logarithm, stands at half of the step after it.

    Attributes:
        grown: of the model.
        measure: the key of one that the kind has.
        site: of the head that stands out.
        head: its number; None for none.
        checkpoint: the model's folder, as a notebook finds it.
    """

    grown: Growth
    measure: str
    site: Site
    head: int | None
    checkpoint: str

    needs_model = False
    origin = ("model",)

    @property
    def title(self) -> str:
        return f"{NAMES[self.measure]}, over training"

    @property
    def name(self) -> str:
        return f"training-{self.measure.replace('_', '-')}-{self.site.kind}"

    @property
    def alt(self) -> str:
        curves = np.concatenate(list(self._curves.values()))
        first, last = (
            curves[:, place][np.isfinite(curves[:, place])] for place in (self._first, -1)
        )

        def among(values: FloatArray) -> str:
            if not len(values):
                return "no value"
            return f"{style.percent(values.min())} to {style.percent(values.max())}"

        steps = self.grown.steps[self._first :]
        return (
            f"{NAMES[self.measure]}: {style.count_of(len(curves), 'head')} of {self._of} at "
            f"{style.count_of(len(steps), 'step')} of training: {among(first)} at step "
            f"{steps[0]:,}, {among(last)} at step {steps[-1]:,}. {self._labelled}"
        )

    @property
    def caption(self) -> str:
        first = self.grown.steps[self._first]
        start = f"step {first:,}" if first else "the untrained model"
        return (
            f"Each line is one head’s mean over the example sentences, from {start} to step "
            f"{self.grown.steps[-1]:,}."
        )

    @property
    def more(self) -> str:
        before = "" if self._first == 0 else "Before that, it cannot be measured. "
        return f"{before}The label needs {GROWN[self.measure].needs}. {self._labelled}"

    def figure(self, layout: Layout) -> go.Figure:
        rule, first = GROWN[self.measure], self._first
        steps = self.grown.steps[first:]
        across = _on_log_axis(steps)
        marks: list[Mark] = []
        used: set[str] = set()
        for site, curves in self._curves.items():
            for head, curve in enumerate(curves):
                is_chosen = (site, head) == (self.site, self.head)
                has_label = rule.text in self.grown.labels[site][head]
                drawn_as = _CHOSEN if is_chosen else _LABELLED if has_label else _OTHER
                used.add(drawn_as)
                marks.append(
                    line(
                        f"layer {site.layer}, head {head}",
                        curve[first:],
                        **_STROKES[drawn_as],
                        customdata=steps,
                        hover="step %{customdata:,}<br><b>%{y:.0%}</b>",
                        legend=False,
                        zorder=2 * is_chosen + has_label,
                    )
                )
        needed: dict[str, Any] = {"color": "text", "width": 2, "dash": "dash"}
        named = [(name, look) for name, look in _STROKES.items() if name in used]
        marks += [in_legend(line(name, [], **look)) for name, look in (*named, (_NEEDED, needed))]
        marks.append(horizontal(y=rule.least, layer="above", **needed))
        least = min(float(np.nanmin(each)) for each in self._curves.values())
        ticks = _ticks(steps, across)
        ends = np.log10([across[0], across[-1]])
        edge = _EDGE * (ends[1] - ends[0]) or 0.5
        title = f"{NAMES[self.measure]}: {self._of}"
        return chart(
            layout,
            title,
            Plot(
                across=number_axis(
                    "Steps of training (log scale)",
                    across,
                    type="log",
                    range=[ends[0] - edge, ends[1] + edge],
                    tickvals=list(ticks.values()),
                    ticktext=[f"{step:,}" for step in ticks],
                ),
                up=number_axis(_share(rule), range=[min(0.0, least), 1], tickformat=".0%"),
                marks=marks,
                height=_HEIGHT,
            ),
            short="Over training",
            lines=title_lines(title, "Across – steps of training (log scale)"),
            below=_BELOW,
        )

    def numbers(self) -> Numbers:
        layers = [site.layer for site in self._curves]
        values = np.stack(list(self._curves.values()))
        return Numbers(
            {"attention": str(self.site.kind)},
            {"layer": layers, "head": range(values.shape[1]), "step": self.grown.steps},
            {self.measure: (("layer", "head", "step"), values)},
        )

    @property
    def setup(self) -> Lines:
        return [
            f"checkpoint = {self.checkpoint!r}",
            "grown = hs.figures.read_growth(hs.checkpoint_folder(checkpoint))",
        ]

    @property
    def _curves(self) -> Mapping[Site, FloatArray]:
        return self.grown.of_kind(self.measure, self.site.kind)

    @property
    def _first(self) -> int:
        """The first of the steps at which the measure is defined."""
        return self.grown.measured_from(self.measure, self.site.kind)

    @property
    def _of(self) -> str:
        name = self.site.kind.full_name
        return name[:1].lower() + name[1:]

    @property
    def _labelled(self) -> str:
        """Which heads end with the label of the measure, and from which step on."""
        text = GROWN[self.measure].text
        kept = [
            f"layer {site.layer}, head {head}, from step {since:,} on"
            for site, head, label, since in self.grown.lasting_labels()
            if site.kind is self.site.kind and label == text
        ]
        if not kept:
            return f"No head ends up with the label “{text}”."
        heads = "One head ends" if len(kept) == 1 else f"{len(kept)} heads end"
        return f"{heads} up with the label “{text}”: {'; '.join(kept)}."


def _on_log_axis(steps: Sequence[int]) -> list[float]:
    """Where steps stand on an axis of logarithms."""
    zero = next((step for step in steps if step), 1) / 2
    return [step or zero for step in steps]


def _ticks(steps: Sequence[int], across: Sequence[float]) -> dict[int, float]:
    """Round steps between the first and the last, each with its place; 0 where it is among them."""
    powers = [10**power for power in range(len(str(steps[-1])))]
    for factors in ((1, 2, 5), (1,)):
        round_steps = [factor * power for power in powers for factor in factors]
        shown = [step for step in round_steps if across[0] <= step <= steps[-1]]
        if len(shown) <= _MOST_TICKS:
            break
    zero = {} if steps[0] else {0: across[0]}
    return {**zero, **{step: float(step) for step in shown}}


def _share(rule: Rule) -> str:
    return "Share of the most" if rule.measure == "entropy_share" else "Share of the weight"
