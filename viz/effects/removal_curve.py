"""Curves of a translation's quality while heads are removed one after another."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from model.explain.ablation_results import ExamplesRemoval, Removal
from viz.charts.axes import number_axis
from viz.charts.chart import Layout, Plot, chart
from viz.charts.marks import band, line
from viz.draw import style
from viz.draw.labels import escape_html, lower_first
from viz.save.notebook import Lines, traced
from viz.save.numbers import Numbers
from viz.save.picture import Picture

TITLE = "Heads removed one after another"
LOG_PROB = "Log-probability of the translation"

Measure = Literal["log_prob", "chrf"]
MEASURES: dict[Measure, str] = {"log_prob": "Log-probability", "chrf": "chrF"}
"""The measures of curves over examples."""

NO_CURVES = (
    "This model has no removal curves over its examples; python -m model.training.removal computes "
    "them."
)

_BELOW = (style.BOTTOM + 46, style.BOTTOM + 46 + 2 * style.LEGEND_HEIGHT)


class Curve(Picture):
    """What is left, over the number of removed heads."""

    __slots__ = ()

    removal: Removal

    @property
    @abstractmethod
    def value(self) -> str:
        """The measured quality, in sentence case."""

    @property
    def alt(self) -> str:
        removal = self.removal
        half = len(removal.removed) // 2
        return (
            f"{self.title}: {lower_first(self.value)} from "
            f"{style.number(float(removal.least_first[0]))} with all heads to "
            f"{style.number(float(removal.least_first[-1]))} without any. With "
            f"{style.count_of(removal.removed[half], 'head')} removed it is "
            f"{style.number(float(removal.least_first[half]))} if the least important go first, "
            f"and {style.number(float(removal.at_random[:, half].mean()))} on average over "
            f"{len(removal.at_random)} random orders."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """The first trace removes the least important heads first; the second is the mean."""
        removal, orders = self.removal, self.removal.at_random
        removed = list(removal.removed)
        value = escape_html(lower_first(self.value))
        hover = f"heads removed: %{{x}}<br>{value} <b>%{{y:.4~g}}</b>"
        plot = Plot(
            across=number_axis("Heads removed", removed, range=[0, removed[-1]]),
            up=number_axis(self.value),
            marks=[
                line("least important first", removal.least_first, width=3, hover=hover),
                line("random order, mean", orders.mean(axis=0), color=1, dash="dash", hover=hover),
                band("random orders, all", orders.min(axis=0), orders.max(axis=0), color=1),
            ],
        )
        return chart(layout, self.title, plot, below=_BELOW)

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


@dataclass(frozen=True, slots=True, eq=False)
class RemovalCurve(Curve):
    """What is left of a translation while heads are removed one after another.

    Attributes:
        target: a person's own translation; empty for the model's.
    """

    removal: Removal
    sentence: str
    target: str = ""

    title = TITLE
    name = "effects-removal"
    value = LOG_PROB

    caption = (
        "Where the solid line stays up, the model can do without the removed heads for this "
        "sentence."
    )

    @property
    def more(self) -> str:
        return (
            "The same translation is scored while more and more heads are removed. Solid: first "
            "those that cost least when removed alone. Dashed: the mean of "
            f"{len(self.removal.at_random)} random orders; the band holds all of them (Michel et "
            "al. 2019)."
        )

    @property
    def setup(self) -> Lines:
        return [
            *traced(self.sentence, self.target),
            "effects = hs.figures.effects_of(translator, trace)",
            "removal = hs.figures.removal(translator, trace, effects)",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class ExamplesCurve(Curve):
    """What is left of the translations of a model's examples while heads are removed.

    Attributes:
        measure: "log_prob" or "chrf".
        checkpoint: the model's folder, as a notebook finds it.
    """

    examples: ExamplesRemoval
    measure: Measure
    checkpoint: str

    needs_model = False
    origin = ("model",)

    @property
    def removal(self) -> Removal:  # type: ignore[override]
        """The curves of this measure."""
        return self.examples.chrf if self.measure == "chrf" else self.examples.log_prob

    @property
    def value(self) -> str:
        return MEASURES[self.measure]

    @property
    def title(self) -> str:
        return f"Examples: {lower_first(self.value)}"

    @property
    def name(self) -> str:
        return f"effects-examples-{self.measure.replace('_', '-')}"

    @property
    def caption(self) -> str:
        count = self.examples.sentences
        if self.measure == "chrf":
            return f"chrF of the model’s greedy translations of its {count} examples."
        return (
            "Mean log-probability of a token in the given translations of the model’s "
            f"{count} examples."
        )

    @property
    def more(self) -> str:
        scale = (
            "chrF compares what the model writes with the given translations; 100 is the same "
            "text. "
            if self.measure == "chrf"
            else "Logarithms are natural. "
        )
        return (
            f"{scale}Solid: heads go in the order of the total loss of these translations without "
            f"each alone. Dashed: the mean of {len(self.removal.at_random)} random orders; the "
            "band holds all of them. Computed once for this model, after Michel et al. 2019 and "
            "Voita et al. 2019."
        )

    @property
    def setup(self) -> Lines:
        return [
            f"checkpoint = {self.checkpoint!r}",
            "examples = hs.figures.read_removal(hs.checkpoint_folder(checkpoint), "
            f"{self.removal.removed[-1]})",
            "assert examples is not None",
        ]
