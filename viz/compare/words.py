"""The probabilities of the second sentence's words in both runs, and with a patch in place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.patching.results import Patched
from model.record.patches import Stream
from viz.charts.axes import label_axis, number_axis
from viz.charts.chart import Layout, Plot, chart
from viz.charts.marks import line, points
from viz.compare.tracing import chance
from viz.compare.view import by_part, listed, part_name, read_patches
from viz.draw import style, themes
from viz.draw.labels import axis_texts, side_texts
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Picture

_HEIGHT, _BELOW = 230, style.BOTTOM + 58


@dataclass(frozen=True, slots=True, eq=False)
class PatchedWords(Picture):
    """How likely each word of the second translation is, before and after patching.

    Attributes:
        parts: what was put in, as the address writes it.
    """

    patched: Patched
    parts: str

    title = "How likely each word of the second translation is"
    name = "compare-words"

    @property
    def _names(self) -> str:
        runs = self.patched
        source, target = axis_texts(runs.source), ["<s>", *axis_texts(runs.predictions)]
        return listed(part_name(*each, source, target) for each in read_patches(self.parts))

    @property
    def texts(self) -> Mapping[str, str]:
        return {"second_sentence": self.patched.other, "patched": self._names}

    @property
    def caption(self) -> str:
        return (
            "Three probabilities a word: in the first sentence, in the second, and in the first "
            f"with {self._names} from the second."
        )

    more = (
        "All three runs read the second sentence’s translation up to each word. A patch "
        "replaces these activations and lets everything after them run on."
    )

    @property
    def alt(self) -> str:
        rows = self._probabilities
        texts = side_texts(self.patched.predictions)
        moved = int(np.abs(rows[2] - rows[0]).argmax())
        return (
            f"{self.title}. Dots for each of {style.count_of(len(texts), 'word')}. Most changed: "
            f"“{texts[moved]}”, from {chance(float(rows[0, moved]))} to "
            f"{chance(float(rows[2, moved]))}."
        )

    @property
    def _probabilities(self) -> Any:
        """In the first run, in the second and in the patched one, (3, target)."""
        runs = self.patched
        return np.exp(np.stack([runs.log_probs, runs.other_log_probs, runs.patched_log_probs]))

    def figure(self, layout: Layout) -> go.Figure:
        """Three dots a word, and a line from the first run to the patched one."""
        rows, tokens = self._probabilities, self.patched.predictions
        places = range(len(tokens))
        theme = themes.page(layout.dark)
        looks = (
            ("First sentence", "accent", "circle-open", 13),
            ("Second sentence", theme.compared[3], "circle-open", 19),
            ("First, patched", "text", "circle", 9),
        )
        plot = Plot(
            across=label_axis("", tokens, room=(40, 12), range=[-0.6, len(tokens) - 0.4]),
            up=number_axis(range=[-0.04, 1.04], tickformat=".0%"),
            marks=[
                line(
                    "",
                    [y for place in places for y in (rows[0, place], rows[2, place], None)],
                    x=[x for place in places for x in (place, place, None)],
                    color="muted",
                    legend=False,
                ),
                *(
                    points(
                        [*places],
                        values,
                        name=name,
                        color=color,
                        symbol=symbol,
                        size=size,
                        edge=2,
                        hover=f"<b>%{{x}}</b><br>{name} <b>%{{y:.1%}}</b>",
                    )
                    for (name, color, symbol, size), values in zip(looks, rows, strict=True)
                ),
            ],
            height=_HEIGHT,
        )
        short = "Probability of each word"
        return chart(layout, self.title, plot, short=short, lines=[], below=_BELOW)

    @property
    def setup(self) -> Lines:
        parts = {
            (part.side, part.stage)
            if isinstance(part, Stream)
            else (str(part[0].kind), part[0].layer, part[1]): tokens
            for part, tokens in by_part(read_patches(self.parts)).items()
        }
        return [
            f"first, second = {self.patched.sentence!r}, {self.patched.other!r}",
            f"patched = hs.patch(translator, first, second, {parts!r})",
        ]

    def numbers(self) -> Numbers:
        axis = ("target",)
        runs = self.patched
        return Numbers(
            {},
            {"target": runs.predictions},
            {
                "log_prob_first": (axis, runs.log_probs),
                "log_prob_second": (axis, runs.other_log_probs),
                "log_prob_patched": (axis, runs.patched_log_probs),
            },
        )
