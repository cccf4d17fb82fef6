"""Causal tracing: how likely a word becomes with one token's hidden states of another run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.patching.results import CausalTrace
from model.record.patches import Side
from model.trace.attention_map import FloatArray, Tokens
from viz.charts.axes import ALL, label_axis
from viz.charts.chart import Layout, Plot, chart
from viz.charts.head_grid import ROW
from viz.charts.marks import cell_texts, cells, frames
from viz.charts.scale import weights
from viz.draw import style
from viz.draw.labels import axis_texts, escape_html
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Picture

_BELOW = style.BOTTOM + 74

SIDES: Mapping[Side, tuple[str, str]] = {
    "encoder": ("Encoder", "Source token"),
    "decoder": ("Decoder", "Target token read"),
}


@dataclass(frozen=True, slots=True, eq=False)
class TracedWord(Picture):
    """What each patch of one token after one layer does to the probability of a word.

    Attributes:
        token: the prediction, from 0; None for the one that differs most.
        marked: the cells whose patches are in place, as side, stage and token.
    """

    trace: CausalTrace
    token: int | None = None
    marked: tuple[tuple[Side, Any, int], ...] = ()

    name = "compare-tracing"

    @property
    def place(self) -> int:
        return self.trace.telling if self.token is None else self.token

    @property
    def word(self) -> str:
        """The predicted token as people read it."""
        return axis_texts(self.trace.predictions)[self.place]

    @property
    def ends(self) -> tuple[float, float]:
        one, other = self.trace.log_probs, self.trace.other_log_probs
        return float(np.exp(one[self.place])), float(np.exp(other[self.place]))

    @property
    def brief(self) -> str:
        """Both sentences' part in it, for the foot of a stage."""
        before, after = map(chance, self.ends)
        return f"“{self.word}”: {before} in the first sentence, {after} in “{self.trace.other}”"

    @property
    def title(self) -> str:
        return f"Where the second sentence’s “{self.word}” can be put into the first"

    @property
    def texts(self) -> Mapping[str, str]:
        return {"second_sentence": self.trace.other}

    @property
    def caption(self) -> str:
        before, after = map(chance, self.ends)
        return (
            f"“{self.word}” has {before} in the first sentence’s run and {after} in the second’s. "
            "Each cell puts in one token’s hidden states after one layer."
        )

    more = (
        "The colour is the probability of this word with that one patch; all later layers run "
        "on. Both runs read the second sentence’s translation. Hatched cells have no "
        "counterpart in the second sentence. Meng et al. 2022 call this causal tracing. It "
        "says what is enough to bring the word back in this pair, not where a fact is stored."
    )

    @property
    def alt(self) -> str:
        side, stage, token, value = self.best
        name = axis_texts(self._tokens(side))[token]
        return (
            f"{self.title}. Two heatmaps of stage by token, for encoder and decoder. The largest "
            f"probability, {chance(value)}, comes of {side} {_stage_name(stage).lower()} at "
            f"“{name}”."
        )

    @property
    def best(self) -> tuple[Side, Any, int, float]:
        """The patch with the largest probability: side, stage, token and the probability."""
        found: list[tuple[Side, Any, int, float]] = []
        for side in SIDES:
            values = self.trace.probabilities(side, self.place)
            row, column = np.unravel_index(np.nanargmax(values), values.shape)
            stage = list(self._stages(side))[row]
            found.append((side, stage, int(column), float(values[row, column])))
        return max(found, key=lambda each: each[3])

    def _stages(self, side: Side) -> Mapping[Any, FloatArray]:
        return self.trace.encoder if side == "encoder" else self.trace.decoder

    def _tokens(self, side: Side) -> Tokens:
        return self.trace.source if side == "encoder" else self.trace.target

    def figure(self, layout: Layout) -> go.Figure:
        """One heatmap a side, the last stage on top; customdata begins with the patch."""
        row = style.row_height(ROW, max(len(self._stages(side)) for side in SIDES))
        return chart(
            layout,
            self.title,
            [self._plot(side, row, layout.narrow) for side in SIDES],
            short=f"Probability of “{self.word}”",
            lines=["Rows – after which layer, columns – token"],
            scale=weights("probability"),
            top=24,
            below=_BELOW,
            between=0.09,
            gap=110,
            ground="forbidden",
        )

    def _plot(self, side: Side, row: int, narrow: bool) -> Plot:
        values = self.trace.probabilities(side, self.place)
        stages, tokens = list(self._stages(side)), self._tokens(side)
        across = label_axis(SIDES[side][1], tokens, room=(28, 14))
        named = [
            [
                [
                    written_patch(side, stage, place),
                    f"{_stage_name(stage)} at <b>{escape_html(token)}</b>",
                ]
                for place, token in enumerate(across.plain(narrow))
            ]
            for stage in stages
        ]
        hover = f"%{{customdata[1]}}<br>“{escape_html(self.word)}” <b>%{{z:.1%}}</b>"
        marked = [
            (stages.index(stage), token)
            for own, stage, token in self.marked
            if own == side and stage in stages and token < len(tokens)
        ]
        marks = [
            cells(values, name=side, hoverongaps=False, customdata=named, hover=hover),
            frames(marked, color="beside"),
        ]
        if len(tokens) <= (8 if narrow else 14):
            likely = values >= 0.01
            texts = [*map(style.percent, values[likely].tolist())]
            marks.append(cell_texts(values, texts, where=likely, size=style.DENSE_FONT_SIZE))
        return Plot(
            across=across,
            up=label_axis(
                "", [*map(_stage_name, stages)], room=ALL, range=[-0.5, len(stages) - 0.5]
            ),
            marks=marks,
            heading=SIDES[side][0],
            height=row * len(stages),
        )

    def numbers(self) -> Numbers:
        axes: dict[str, Any] = {"target": self.trace.predictions}
        arrays: dict[str, Any] = {
            "log_prob_first": (("target",), self.trace.log_probs),
            "log_prob_second": (("target",), self.trace.other_log_probs),
        }
        for side in SIDES:
            stages = self._stages(side)
            axes |= {f"{side}_stage": range(len(stages)), f"{side}_token": self._tokens(side)}
            stacked = np.stack(list(stages.values()))
            arrays[f"{side}_log_prob"] = ((f"{side}_stage", f"{side}_token", "target"), stacked)
        return Numbers({"word": self.word}, axes, arrays)

    @property
    def setup(self) -> Lines:
        return [
            f"first, second = {self.trace.sentence!r}, {self.trace.other!r}",
            "trace = hs.causal_trace(translator, first, second)",
        ]


def written_patch(side: Side, stage: Any, token: int) -> str:
    """A token's hidden states after a stage, as the address writes them."""
    return f"{side}.{stage}.at{token}"


def chance(probability: float) -> str:
    """A probability in a sentence."""
    return style.percent(probability) if probability >= 0.01 else "less than 1%"


def _stage_name(stage: Any) -> str:
    return f"Layer {stage}" if isinstance(stage, int) else "Embedding"
