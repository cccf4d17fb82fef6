"""Quality while more and more heads follow rules, beside the same heads removed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.survey.corpus_survey import Rules, Scores
from viz.charts.axes import number_axis
from viz.charts.chart import Layout, Plot, chart
from viz.charts.marks import band, line
from viz.corpus.sentences import rules_sentence
from viz.corpus.spread import OfSurvey
from viz.draw import style
from viz.draw.style import count_of
from viz.save.numbers import Arrays, Axes, Numbers

SCORES = {"bleu": "BLEU", "log_prob": "Log-probability of a token"}

_BELOW = (84, 84 + style.LEGEND_HEIGHT)
_HOVER = "%{x} heads<br><b>%{y:.3~g}</b>"


@dataclass(frozen=True, slots=True, eq=False)
class RulesCurve(OfSurvey):
    """A score against the number of heads that follow rules."""

    score: str

    @property
    def rules(self) -> Rules:
        """Of the survey."""
        assert self.survey.rules is not None, "a survey without rules has no curve"
        return self.survey.rules

    @property
    def lines(self) -> Scores:
        """The score at each count."""
        lines: Scores = getattr(self.rules, self.score)
        return lines

    @property
    def title(self) -> str:
        return f"{SCORES[self.score]}, with rules in place of heads"

    @property
    def name(self) -> str:
        return f"corpus-rules-{self.score}".replace("_", "-")

    @property
    def caption(self) -> str:
        if self.score == "bleu":
            return (
                f"{count_of(self.rules.translated, 'sentence')} translated greedily, against human "
                "translations. Band: 95% interval of the loss."
            )
        return f"The model’s own translations of {count_of(self.rules.judged, 'sentence')}, scored."

    @property
    def more(self) -> str:
        n_random = len(self.lines.ruled_at_random)
        at_random = f" Thin lines: {count_of(n_random, 'random order')}." if n_random else ""
        return (
            f"Each head’s rule was chosen on {count_of(self.rules.fitted, 'sentence')} and judged "
            "on others. Cheapest first: in the order of what each rule costs alone, measured on "
            f"the sentences scored here.{at_random}"
        )

    @property
    def alt(self) -> str:
        return f"{self.title}. {rules_sentence(self.survey)}"

    def figure(self, layout: Layout) -> go.Figure:
        lines, counts = self.lines, list(self.rules.counts)
        bold: dict[str, Any] = {"width": 3, "dots": 7, "hover": _HOVER}
        upper, lower = lines.ruled[0] - np.array([lines.low, lines.high])
        if self.score == "bleu":
            upper, lower = np.clip([upper, lower], 0, 100)
        marks = [
            line("rules, cheapest first", lines.ruled, **bold),
            line("the same heads removed", lines.removed, color=1, **bold),
            *(
                line(name, one, color=color, width=1.2, dash="dot", hover=_HOVER, legend=not number)
                for color, name, each in (
                    (0, "rules in random order", lines.ruled_at_random),
                    (1, "removed in random order", lines.removed_at_random),
                )
                for number, one in enumerate(each)
            ),
            band("", lower, upper, legend=False),
        ]
        plot = Plot(
            across=number_axis("Heads", counts, range=[0, counts[-1]]),
            up=number_axis(SCORES[self.score]),
            marks=marks,
        )
        lines_below = ["Across – heads", f"Up – {SCORES[self.score]}"]
        return chart(layout, self.title, plot, short="", lines=lines_below, below=_BELOW)

    def numbers(self) -> Numbers:
        lines = self.lines
        arrays: Arrays = {
            "rules_cheapest_first": (("heads",), np.array(lines.ruled)),
            "lost_low": (("heads",), np.array(lines.low)),
            "lost_high": (("heads",), np.array(lines.high)),
            "removed": (("heads",), np.array(lines.removed)),
        }
        axes: Axes = {"heads": self.rules.counts}
        if lines.ruled_at_random:
            axes["order"] = range(len(lines.ruled_at_random))
            both = ("order", "heads")
            arrays["rules_at_random"] = (both, np.array(lines.ruled_at_random))
            arrays["removed_at_random"] = (both, np.array(lines.removed_at_random))
        return Numbers({}, axes, arrays)
