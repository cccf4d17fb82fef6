"""The smallest set of heads that decides between two words, beside random sets."""

import math
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.contrast.results import HeadSet, decided, leads
from model.trace.attention_map import AttentionKind, FloatArray
from viz.charts.axes import label_axis, number_axis
from viz.charts.chart import Layout, Plot, chart
from viz.charts.marks import points, rule
from viz.draw import style
from viz.draw.labels import escape_html
from viz.effects.contrasted import Contrasted, example_means, moved, probability, times
from viz.save.notebook import Lines
from viz.save.numbers import Numbers

_HEIGHT, _BELOW = 210, 62
_TENFOLD = math.log(10)
_ROWS = ("Random sets", "Strongest singles", "This set", "All heads")
"""The rows of the plot, from below."""


@dataclass(frozen=True, slots=True, eq=False)
class DecidingHeads(Contrasted):
    """How far a word is ahead under the set found, under others as large, and with all heads.

    Attributes:
        random: log-probabilities under random sets as large, (set, 3), as in `HeadSet`.
        checkpoint: the model's folder, as a notebook finds it.
    """

    found: HeadSet
    random: FloatArray
    checkpoint: str = ""

    name = "effects-contrast-heads"

    @property
    def removes(self) -> bool:
        """Whether the set is removed; else all other heads are replaced."""
        return self.found.question == "remove"

    @property
    def _replaced(self) -> str:
        """What happens to all heads but the set."""
        return "replaced by its mean over the examples" if self.found.by_mean else "removed"

    @property
    def title(self) -> str:
        word, other = self.words
        if self.removes:
            return f"Heads without which {other} beats {word}"
        return f"Heads with which alone {word} is written"

    @property
    def n_random(self) -> int:
        """How many of the random sets decide as the set does."""
        return int(np.count_nonzero(decided(self.random, self.found.question)))

    @property
    def sentences(self) -> list[str]:
        """What was found, in plain text."""
        found, n_heads = self.found, sum(map(len, self.contrast.losses.values()))
        n, (word, other) = len(found.heads), self.words
        if not found.decides:
            what = f"lets {other} overtake {word}" if self.removes else f"suffices for {word}"
            return [f"None of the sets tried, of up to {found.most} heads, {what}."]
        if not n and self.removes:
            return [f"{other} is ahead of {word} with all {n_heads} heads."]
        if not n:
            return [
                f"{word} is the likeliest even with every head {self._replaced}: what the decoder "
                "has written is enough."
            ]
        if self.removes:
            wins = found.likeliest.ids[0] == self.contrast.pieces.ids[1]
            first = (
                f"Without {n} of {style.count_of(n_heads, 'head')}, {other} overtakes {word}"
                f"{' and is the likeliest' if wins else ''}: "
                f"{moved(self.contrast, found.log_probs[:2], found.likeliest)}."
            )
        else:
            first = (
                f"{n} of {style.count_of(n_heads, 'head')} suffice: with every other head "
                f"{self._replaced}, {word} is still the likeliest word, with a probability of "
                f"{probability(float(found.log_probs[0]))}."
            )
        heads = style.count_of(n, "head")
        return [
            first,
            f"{self.n_random or 'None'} of {len(self.random)} random sets of {heads} "
            f"{'does' if self.n_random <= 1 else 'do'} the same; the {heads} with the strongest "
            f"single effects {'do' if found.single_decides else 'do not'}.",
        ]

    @property
    def alt(self) -> str:
        return f"{self.title}. {' '.join(self.sentences)} {self.listed}"

    @property
    def listed(self) -> str:
        """The heads of the set, by kind, in plain text."""
        parts = []
        for kind in AttentionKind:
            own = [
                f"{head.site.layer}.{head.number}"
                for head in sorted(self.found.heads)
                if head.site.kind is kind
            ]
            if own:
                parts.append(f"{kind.full_name.lower()} {', '.join(own)}")
        return f"The set: {'; '.join(parts)}." if parts else ""

    @property
    def caption(self) -> str:
        word, other = self.words
        behind = other if self.removes else "another word"
        return f"Left of the line, {behind} is likelier; right of it, {word}."

    @property
    def more(self) -> str:
        what = (
            "A removed head gives nothing to W_O."
            if self.removes
            else "A replaced head gives its mean over the model’s examples."
            if self.found.by_mean
            else "Every other head gives nothing to W_O."
        )
        return (
            f"{what} The set was found by a search that takes the best head at each step and then "
            "drops those that turn out not to be needed; a smaller set may exist. Random sets are "
            "as large; so are the heads with the strongest effects one at a time."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """One row each for random sets, the strongest single heads, the set, and all heads."""
        found, narrow = self.found, layout.narrow
        at_random = leads(self.random, found.question)
        three = np.stack([found.single_log_probs, found.log_probs, found.every_log_probs])
        judged = leads(three, found.question)
        low = min(*at_random.tolist(), *judged.tolist(), -_TENFOLD)
        high = max(*at_random.tolist(), *judged.tolist(), _TENFOLD)
        room = 0.06 * (high - low)
        step = max(1, math.ceil((high - low) / _TENFOLD / (4 if narrow else 8)))
        powers = range(math.ceil(low / _TENFOLD / step) * step, int(high / _TENFOLD) + 1, step)
        word, other = self._compared
        plot = Plot(
            across=number_axis(
                f"How many times as likely {word} is as {other}",
                range=[low - room, high + room],
                tickvals=[power * _TENFOLD for power in powers],
                ticktext=[_power(power) for power in powers],
            ),
            up=label_axis("", _ROWS, range=[-0.6, 3.5]),
            marks=[
                rule(x=0, dash="dot", width=2),
                points(
                    at_random,
                    _spread(at_random, high - low),
                    size=6,
                    color="muted",
                    opacity=0.55,
                    customdata=[self._said(each) for each in at_random.tolist()],
                    hover="%{customdata}",
                ),
                points(
                    judged,
                    [1, 2, 3],
                    size=[12, 18, 12],
                    color=[1, 0, "text"],
                    symbol=["diamond", "circle", "square"],
                    customdata=[self._said(each) for each in judged.tolist()],
                    hover="%{customdata}",
                    cliponaxis=False,
                ),
            ],
            height=_HEIGHT,
        )
        return chart(
            layout,
            self.title,
            plot,
            short="Heads that decide",
            lines=[f"Across – how many times likelier {word} is"],
            below=_BELOW,
        )

    @property
    def _compared(self) -> tuple[str, str]:
        word, other = self.words
        return word, other if self.removes else "the likeliest other word"

    def _said(self, lead: float) -> str:
        word, other = map(escape_html, self._compared)
        first, second = (word, other) if lead > 0 else (other, word)
        return f"{first} is {times(lead)} as likely as {second}"

    def numbers(self) -> Numbers:
        heads = self.found.heads
        columns = {
            "attention": np.array([str(site.kind) for site, _ in heads], np.str_),
            "layer": np.array([site.layer for site, _ in heads], np.int64),
            "head": np.array([head for _, head in heads], np.int64),
        }
        return Numbers(
            {"question": self.found.question},
            {"place": range(len(heads)), "set": range(len(self.random)), "judged": range(3)},
            {
                **{name: (("place",), values) for name, values in columns.items()},
                "random_word_log_prob": (("set",), self.random[:, 0]),
                "random_other_log_prob": (("set",), self.random[:, 1]),
                "found_log_prob": (("judged",), self.found.log_probs),
                "strongest_log_prob": (("judged",), self.found.single_log_probs),
                "log_prob": (("judged",), self.found.every_log_probs),
            },
        )

    @property
    def setup(self) -> Lines:
        question = repr(self.found.question)
        means = "" if self.removes else ", means"
        lines = [] if self.removes else [example_means(self.checkpoint)]
        return [
            *self.contrasted,
            *lines,
            f"found = hs.figures.head_set(translator, trace, pair, {question}{means})",
            "random = hs.figures.random_sets(",
            f"    translator, trace, pair, len(found.heads), {question}{means}",
            ")",
        ]


def _power(power: int) -> str:
    if power < 0:
        return f"1/{10**-power:,}"
    return f"{10**power:,}"


def _spread(leads: NDArray[np.floating], width: float) -> NDArray[np.floating]:
    """A height for each point beside 0, so that points near each other do not hide each other."""
    heights = np.zeros(len(leads))
    bins = np.floor(leads / max(width / 60, 1e-9)).astype(int)
    for each in np.unique(bins):
        own = np.flatnonzero(bins == each)
        places = np.arange(len(own))
        heights[own] = np.where(places % 2, 1, -1) * ((places + 1) // 2)
    most = max(1.0, float(np.abs(heights).max()))
    spread: NDArray[np.floating] = 0.42 * heights / most
    return spread
