"""Quality while more and more heads follow rules, beside the same heads removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.survey.corpus_survey import Rules, Scores
from viz.corpus.sentences import rules_sentence
from viz.corpus.spread import OfSurvey
from viz.draw import style, themes
from viz.draw.style import count_of
from viz.draw.themes import pale
from viz.save.numbers import Arrays, Axes, Numbers
from viz.save.picture import Layout

SCORES = {"bleu": "BLEU", "log_prob": "Log-probability of a token"}

_HEIGHT, _BELOW = 320, 84
_HOVER = "%{x} heads<br><b>%{y:.3~g}</b><extra>%{fullData.name}</extra>"


@dataclass(frozen=True, slots=True, eq=False)
class RulesCurve(OfSurvey):
    """A score against the number of heads that follow rules.

    Attributes:
        score: a name in SCORES.
    """

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
        """The first trace is the rules, cheapest first; the second the same heads removed."""
        theme, lines, counts = themes.page(layout.dark), self.lines, list(self.rules.counts)
        rule, gone = theme.heads[0], theme.heads[1]

        def line(name: str, y: Any, color: str, **more: Any) -> dict[str, Any]:
            return {
                "type": "scatter",
                "mode": "lines+markers",
                "x": counts,
                "y": y,
                "name": name,
                "line": {"color": color, "width": 3},
                "marker": {"size": 7},
                "hovertemplate": _HOVER,
                "showlegend": True,
                **more,
            }

        data = [
            line("rules, cheapest first", lines.ruled, rule),
            line("the same heads removed", lines.removed, gone),
        ]
        for color, name, each in (
            (rule, "rules in random order", lines.ruled_at_random),
            (gone, "removed in random order", lines.removed_at_random),
        ):
            for number, one in enumerate(each):
                thin = {"line": {"color": color, "width": 1.2, "dash": "dot"}, "mode": "lines"}
                data.append(line(name, one, color, **thin, showlegend=not number))
        upper, lower = lines.ruled[0] - np.array([lines.low, lines.high])
        if self.score == "bleu":
            upper, lower = np.clip([upper, lower], 0, 100)
        edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        data += [
            line("", lower, rule, **edge, hovertemplate=None),
            line("", upper, rule, **edge, hovertemplate=None, fill="tonexty", fillcolor=pale(rule)),
        ]
        narrow = layout.narrow
        spec = {
            **style.plain_layout(
                theme,
                title="" if narrow else self.title,
                height=_HEIGHT,
                below=_BELOW + (1 if narrow else 0) * style.LEGEND_HEIGHT,
                lines=["Across – heads", f"Up – {SCORES[self.score]}"] if narrow else [],
            ),
            "xaxis": style.value_axis(theme, "" if narrow else "Heads", range=[0, counts[-1]]),
            "yaxis": style.value_axis(theme, "" if narrow else SCORES[self.score]),
        }
        return go.Figure({"data": data, "layout": spec})

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
