"""What adds up to the difference of two logits, as a waterfall."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.contrast.results import LogitTerms
from model.trace.head import Head
from viz.charts.axes import ALL, label_axis, number_axis
from viz.charts.chart import Layout, Plot, chart
from viz.charts.marks import Sheet, bars
from viz.draw import style
from viz.draw.labels import axis_texts, escape_html
from viz.effects.contrasted import Contrasted, quoted, times
from viz.effects.head_map import head_columns
from viz.save.notebook import Lines
from viz.save.numbers import Numbers

SHOWN = 9
"""How many terms have a bar of their own; the rest are one bar."""

MOSTLY = 0.5
"""From which share of a cross head's term on a source token is named beside the head."""

_ROW, _BELOW = 30, 46


class Term(NamedTuple):
    """One term of the sum: its name, its value, and the head that gives it, if one does."""

    name: str
    value: float
    head: Head | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LogitWaterfall(Contrasted):
    """The terms of a difference of two logits, largest first."""

    terms: LogitTerms

    name = "effects-contrast-sum"

    @property
    def title(self) -> str:
        word, other = self.words
        return f"What adds up to the lead of {word} over {other}"

    @property
    def named(self) -> list[Term]:
        terms, source = self.terms, axis_texts(self.contrast.source)
        listed = [Term("What was written last", terms.embedding), Term("Biases", terms.biases)]
        listed += [
            Term(f"Feed-forward {layer}", float(value))
            for layer, value in enumerate(terms.feed_forward)
        ]
        for site, values in terms.decoder.items():
            for number, value in enumerate(values):
                head = Head(site, number)
                listed.append(Term(head.short_name, float(value), head))
        for site, by_source in terms.cross.items():
            for number, each in enumerate(by_source):
                head = Head(site, number)
                total, most = float(each.sum()), int(np.abs(each).argmax())
                name = head.short_name
                if total * each[most] > 0 and abs(each[most]) >= MOSTLY * abs(total):
                    name = f"{name}, {quoted(source[most])}"
                listed.append(Term(name, total, head))
        return sorted(listed, key=lambda each: -abs(each.value))

    @property
    def bars(self) -> list[Term]:
        """The largest terms, then all others as one."""
        named = self.named
        shown, rest = named[:SHOWN], named[SHOWN:]
        if not rest:
            return shown
        return [*shown, Term(f"{len(rest)} others", sum(each.value for each in rest))]

    @property
    def sentence(self) -> str:
        """The sum in plain text."""
        word, other = self.words
        first = self.named[0]
        lead, behind = (word, other) if self.terms.difference > 0 else (other, word)
        verb = "for" if first.value > 0 else "against"
        return (
            f"{lead} is {times(self.terms.difference)} as likely as {behind}. Of the "
            f"{len(self.named)} terms, {first.name} has the largest: it speaks {verb} {word} by a "
            f"factor of {style.fixed(float(np.exp(min(abs(first.value), 25))), 1)}."
        )

    @property
    def alt(self) -> str:
        listed = "; ".join(f"{each.name} {style.number(each.value)}" for each in self.bars)
        return f"{self.title}. A waterfall of terms, largest first: {listed}. {self.sentence}"

    @property
    def caption(self) -> str:
        word, other = self.words
        return (
            f"Each bar starts where the last one ends. Orange speaks for {word}, blue for {other}."
        )

    more = (
        "Logits are the numbers before the softmax; the log-probabilities of two words differ "
        "as their logits do, and e to that difference is how many times likelier one is. The "
        "terms sum to it exactly for the scale that each norm had in this pass. They say what "
        "each part added, not what would happen without it: other parts read what it adds. A "
        "source token stands beside a cross-attention head where it gives at least half of "
        "the head’s term."
    )

    def figure(self, layout: Layout) -> go.Figure:
        """One bar a term from where the last ended; the last bar is the sum."""
        terms = [*self.bars, Term("All together", sum(each.value for each in self.bars))]
        values = np.array([each.value for each in terms])
        ends = np.cumsum(values[:-1])
        starts = [*(ends - values[:-1]).tolist(), 0.0]
        low, high = min(0.0, *ends.tolist()), max(0.0, *ends.tolist())
        room = (0.3 if layout.narrow else 0.14) * (high - low)
        names = [each.name for each in terms]
        colors = ["positive" if value > 0 else "negative" for value in values]
        bar = bars(
            values,
            base=starts,
            color=[*colors[:-1], "text"],
            texts=[*map(_signed, values)],
            customdata=[
                [[str(each.head.site.kind), each.head.site.layer, each.head.number]]
                if each.head
                else None
                for each in terms
            ],
            hovertext=[
                f"{escape_html(name)}<br><b>{_signed(value)}</b>, a factor of "
                f"{style.fixed(float(np.exp(np.clip(value, -25, 25))), 2)}"
                for name, value in zip(names, values, strict=True)
            ],
            hover="%{hovertext}",
        )
        plot = Plot(
            across=number_axis(
                "Difference of logits",
                range=[low - room, high + room],
                zeroline=True,
            ),
            up=label_axis("", names, room=ALL),
            marks=[bar, lambda sheet: _joints(sheet, ends)],
            height=_ROW * len(names),
        )
        return chart(
            layout,
            self.title,
            plot,
            short="What adds up",
            lines=[self.title, "Across – difference of logits"],
            below=_BELOW,
            bargap=0.3,
        )

    def numbers(self) -> Numbers:
        terms = self.terms
        decoder = np.concatenate(list(terms.decoder.values()))
        cross = np.concatenate(list(terms.cross.values()))
        columns = head_columns(terms.decoder)
        return Numbers(
            {
                "difference": str(terms.difference),
                "embedding": str(terms.embedding),
                "biases": str(terms.biases),
            },
            {
                "layer_head": range(len(decoder)),
                "source": self.contrast.source,
                "feed_forward_layer": range(len(terms.feed_forward)),
            },
            {
                "layer": (("layer_head",), columns["layer"]),
                "head": (("layer_head",), columns["head"]),
                "decoder": (("layer_head",), decoder),
                "cross": (("layer_head", "source"), cross),
                "feed_forward": (("feed_forward_layer",), terms.feed_forward),
            },
        )

    @property
    def setup(self) -> Lines:
        return [*self.contrasted, "terms = hs.figures.logit_terms(translator, trace, pair)"]


def _joints(sheet: Sheet, ends: NDArray[np.float64]) -> None:
    """A line from the end of each bar to the start of the next."""
    for row, end in enumerate(ends.tolist()):
        sheet.shape(
            **{"type": "line", "x0": end, "x1": end, "y0": row + 0.35, "y1": row + 0.65},
            line={"width": 1, "color": sheet.theme.muted},
        )


def _signed(value: float) -> str:
    written = style.fixed(value, 2)
    return f"+{written}" if value > 0 else written
