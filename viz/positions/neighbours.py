"""Heads that look at the previous or the next token, before and after an edit of positions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from model.explain.facts import head_facts
from model.explain.measures import SELF
from model.record.intervention import PositionEdit
from model.trace.attention_map import AttentionKind, Site
from model.trace.head import Head
from model.trace.trace import Trace
from viz.charts.axes import label_axis, number_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import bars
from viz.draw import style
from viz.save.notebook import Lines, public
from viz.save.numbers import Numbers, column_numbers
from viz.save.picture import Layout, Picture

NEIGHBOURS = ("previous", "next")
"""The measures of heads that look at the token before or after their own."""

AT_REST = PositionEdit()

MOST_HEADS = 8
"""The largest number of heads shown."""

_HOVER = "%{y}<br>share <b>%{x:.1f}%</b><extra>%{fullData.name}</extra>"


@dataclass(frozen=True, slots=True)
class NeighbourHead:
    """A head that looks at a neighbour, before and after an edit.

    Attributes:
        head: counted from 0.
        neighbour: "previous" or "next".
        before: the share of its weight on that token, 0 to 1, by `model.explain.measures`.
        after: the share after the edit; NaN if it no longer applies.
    """

    site: Site
    head: int
    neighbour: str
    before: float
    after: float

    @property
    def name(self) -> str:
        """The head and its neighbour, in plain text."""
        return (
            f"{self.site.kind.short_name}, layer {self.site.layer}, head {self.head}: "
            f"{self.neighbour}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourHeads(Picture):
    """Heads that look at neighbours, before and after an edit of positions.

    Raises:
        ValueError: if there is no head.
    """

    heads: Sequence[NeighbourHead]
    sentence: str = ""
    edit: PositionEdit = AT_REST

    title = "Heads that look at neighbours"
    name = "neighbour-heads"

    @property
    def texts(self) -> Mapping[str, str]:
        return {"edit": "none" if self.edit.at_rest else repr(self.edit)}

    @property
    def _shown(self) -> Sequence[NeighbourHead]:
        if not self.heads:
            raise ValueError("There is no head of self-attention to show; type a longer sentence.")
        return self.heads

    @property
    def alt(self) -> str:
        listed = "; ".join(
            f"{each.name} token {_percent(each.before)}, then {_percent(each.after)}"
            for each in self._shown
        )
        return f"Share of the weight on a neighbour before and after the edit: {listed}."

    @property
    def caption(self) -> str:
        count = len(self._shown)
        halved = sum(each.after <= each.before / 2 for each in self.heads)
        if count == 1:
            lost = "lost at least half its weight" if halved else "kept more than half its weight"
            return f"With the edited positions, this head {lost} on the neighbour."
        which = {0: "none", count: "all"}.get(halved, str(halved))
        return (
            f"With the edited positions, {which} of these {count} heads lost at least half their "
            "weight on the neighbour."
        )

    @property
    def more(self) -> str:
        kinds = {each.site.kind for each in self.heads}
        sources = {
            AttentionKind.ENCODER: " In the encoder, only positions tell a head which token that "
            "is.",
            AttentionKind.DECODER: " In the decoder, the causal mask also reveals some of it "
            "(Haviv et al. 2022).",
        }
        return (
            "These heads look most at the token before or after their own."
            f"{''.join(words for kind, words in sources.items() if kind in kinds)} Layers and "
            "heads count from 0."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """Two bars per head: its share before and after."""
        heads = self._shown
        share = number_axis(
            "Share of the weight on that token",
            # A little more, or the last label would be left out.
            range=[0, 101],
            ticksuffix="%",
            nticks=6,
            zeroline=True,
        )
        names = [_short(each) if layout.narrow else each.name for each in heads]
        before, after = (
            [100 * share for share in shares]
            for shares in zip(*((each.before, each.after) for each in heads), strict=True)
        )
        own, edited = "the model’s own positions", "edited positions"
        return chart(
            layout,
            self.title,
            Plot(
                across=share,
                up=label_axis(
                    "Head and neighbour", names, tickfont={"size": style.SMALL_FONT_SIZE}
                ),
                marks=[
                    bars(before, name=own, hover=_HOVER),
                    bars(after, name=edited, color="positive", hover=_HOVER),
                ],
                height=style.plot_height(len(heads)),
            ),
            lines=[share.title],
            below=(54 + style.LEGEND_HEIGHT, 30 + 2 * style.LEGEND_HEIGHT),
            barmode="group",
            bargap=0.3,
        )

    def numbers(self) -> Numbers:
        heads = self.heads
        columns: dict[str, list[Any]] = {
            "attention": [str(each.site.kind) for each in heads],
            "layer": [each.site.layer for each in heads],
            "head": [each.head for each in heads],
            "neighbour": [each.neighbour for each in heads],
            "share_before": [each.before for each in heads],
            "share_after": [each.after for each in heads],
        }
        return column_numbers({}, "rank", range(1, len(heads) + 1), columns)

    @property
    def setup(self) -> Lines:
        return [
            f"sentence = {self.sentence!r}",
            f"edit = {public(self.edit)}",
            "translation = translator.translate(sentence)",
            "before = translator.trace_of(translation)",
            "after = translator.trace_of(translation, under=hs.Intervention(positions=edit))",
            "heads = hs.figures.neighbour_heads(before, after)",
        ]


def neighbour_heads(
    before: Trace, after: Trace, *, most: int = MOST_HEADS
) -> tuple[NeighbourHead, ...]:
    """The self-attention heads that look most at the previous or next token.

    Args:
        before: a sentence with the model's positions.
        after: the same sentence with other positions; its translation may differ.

    Returns:
        those with the largest shares before, largest first; each head once, with the neighbour
        that it looks at more.
    """
    heads = []
    for site, attention in before.maps.items():
        if site.kind not in SELF or site not in after.maps:
            continue
        old, new = head_facts(attention), head_facts(after.maps[site])
        for head in range(attention.n_heads):
            shares = {name: float(old[name][head]) for name in NEIGHBOURS}
            known = {name: share for name, share in shares.items() if not math.isnan(share)}
            if known:
                name = max(known, key=lambda each: known[each])
                heads.append(NeighbourHead(site, head, name, known[name], float(new[name][head])))
    heads.sort(key=lambda each: (-each.before, each.site, each.head))
    return tuple(heads[:most])


def _short(head: NeighbourHead) -> str:
    return f"{Head(head.site, head.head).short_name} {head.neighbour}"


def _percent(share: float) -> str:
    if math.isnan(share):
        return "unknown"
    return style.percent(share)
