"""Causal tracing: how likely a word becomes with one token's hidden states of another run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.patching.results import CausalTrace
from model.record.patches import Side
from model.trace.attention_map import FloatArray, Tokens
from viz.draw import style, themes
from viz.draw.labels import axis_texts, escape_html, side_texts
from viz.links.request import Request
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture

_ROW, _GAP, _HEADING, _AXIS = 44, 110, 24, 74
_BETWEEN = 0.09

SIDES: Mapping[Side, tuple[str, str]] = {
    "encoder": ("Encoder", "Source token"),
    "decoder": ("Decoder", "Target token read"),
}


@dataclass(frozen=True, slots=True, eq=False)
class TracedWord(Picture):
    """What each patch of one token after one layer does to the probability of a word.

    Attributes:
        trace: of both sentences.
        token: the prediction, from 0; None for the one that differs most.
        marked: the cells whose patches are in place, as side, stage and token.
    """

    slug = "tracing"
    about = "a word's probability (--token) with one token's states of a second sentence (--other)"

    trace: CausalTrace
    token: int | None = None
    marked: tuple[tuple[Side, Any, int], ...] = ()

    name = "compare-tracing"

    @classmethod
    def of(cls, request: Request) -> TracedWord:
        trace = request.causal_trace
        return cls(trace, request.token_of(len(trace.predictions)))

    @property
    def place(self) -> int:
        """The prediction, from 0."""
        return self.trace.telling if self.token is None else self.token

    @property
    def word(self) -> str:
        """The predicted token as people read it."""
        return axis_texts(self.trace.predictions)[self.place]

    @property
    def ends(self) -> tuple[float, float]:
        """The word's probability for the first sentence, and for the second."""
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

    @property
    def more(self) -> str:
        return (
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
        theme, narrow = themes.page(layout.dark), layout.narrow
        maps = {side: self.trace.probabilities(side, self.place) for side in SIDES}
        rows = [len(each) for each in maps.values()]
        row = style.row_height(_ROW, max(rows))
        heights = [row * count for count in rows]
        full = sum(heights) + _GAP if narrow else max(heights)
        spec: dict[str, Any] = {
            **style.bar_layout(
                theme,
                title=escape_html(f"Probability of “{self.word}”" if narrow else self.title),
                height=full,
                top=_HEADING,
                lines=["Rows – after which layer, columns – token"] if narrow else [],
                axis=_AXIS,
            ),
            "plot_bgcolor": theme.forbidden,
            "coloraxis": {
                "cmin": 0,
                "cmax": 1,
                "colorscale": theme.colorscale,
                "colorbar": style.weight_bar(theme)
                | {"title": {**style.weight_bar(theme)["title"], "text": "probability"}},
            },
            "annotations": [],
            "shapes": [],
        }
        data: list[dict[str, Any]] = []
        texts: list[dict[str, Any]] = []
        width = (1 - _BETWEEN) / 2
        for number, (side, values) in enumerate(maps.items()):
            suffix = "" if number == 0 else "2"
            axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
            stages = list(self._stages(side))
            tokens = [escape_html(each) for each in side_texts(self._tokens(side), narrow)]
            named = [
                [
                    [
                        written_patch(side, stage, place),
                        f"{_stage_name(stage)} at <b>{tokens[place]}</b>",
                    ]
                    for place in range(len(tokens))
                ]
                for stage in stages
            ]
            data.append(
                {
                    "type": "heatmap",
                    "z": values,
                    "coloraxis": "coloraxis",
                    "xgap": 1,
                    "ygap": 1,
                    "hoverongaps": False,
                    "customdata": named,
                    "hovertemplate": "%{customdata[1]}<br>"
                    f"“{escape_html(self.word)}” <b>%{{z:.1%}}</b><extra></extra>",
                    "name": side,
                    **axes,
                }
            )
            if len(tokens) <= (8 if narrow else 14):
                texts.append(_percents(values, theme, axes))
            top = full - heights[0] - _GAP if narrow and number else full
            across = [0.0, 1.0] if narrow else [number * (width + _BETWEEN), 0.0]
            across[1] = 1.0 if narrow else min(1.0, across[0] + width)
            down = [max(0.0, (top - heights[number]) / full), top / full]
            spec[f"xaxis{suffix}"] = style.axis(
                "" if narrow else SIDES[side][1],
                tokens,
                style.label_step(len(tokens), 14 if narrow else 28),
                range=[-0.5, len(tokens) - 0.5],
                domain=across,
                anchor=f"y{suffix}",
            )
            spec[f"yaxis{suffix}"] = style.axis(
                "",
                [_stage_name(stage) for stage in stages],
                1,
                range=[-0.5, len(stages) - 0.5],
                domain=down,
                anchor=f"x{suffix}",
            )
            heading = f"{SIDES[side][0]}"
            spec["annotations"].append(style.heading(theme, heading, across[0], down[1]))
            spec["shapes"] += [
                {
                    "type": "rect",
                    "xref": f"x{suffix}",
                    "yref": f"y{suffix}",
                    "x0": token - 0.5,
                    "x1": token + 0.5,
                    "y0": stages.index(stage) - 0.5,
                    "y1": stages.index(stage) + 0.5,
                    "line": {"color": theme.beside, "width": 3},
                }
                for own, stage, token in self.marked
                if own == side and stage in stages and token < len(tokens)
            ]
        return go.Figure({"data": [*data, *texts], "layout": spec})

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


def _percents(values: FloatArray, theme: themes.Theme, axes: dict[str, str]) -> dict[str, Any]:
    """The probabilities of at least a hundredth, in their cells."""
    cells = [(x, y, float(values[y, x])) for y, x in zip(*np.nonzero(values >= 0.01), strict=True)]
    return style.cell_texts(
        [int(x) for x, *_ in cells],
        [int(y) for _, y, _ in cells],
        [style.percent(value) for *_, value in cells],
        [theme.ink(value) for *_, value in cells],
        style.DENSE_FONT_SIZE,
        **axes,
    )
