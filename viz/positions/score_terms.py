"""Splits the scores of the encoder's first layer into words, positions, and both."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.position_measures import Values
from model.trace.attention_map import AttentionKind
from viz.charts.axes import label_axis, number_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import bars
from viz.draw import style
from viz.save.notebook import Lines
from viz.save.numbers import Numbers, column_numbers
from viz.save.picture import Layout, Picture

_HOVER = "head <b>%{x}</b><br>share <b>%{y:.1f}%</b><extra>%{fullData.name}</extra>"


@dataclass(frozen=True, slots=True, eq=False)
class TermShares(Picture):
    """The origin of the scores in the encoder's first layer: a bar per head, a colour per term.

    Attributes:
        shares: by term, (head,), from `term_shares`.

    Raises:
        ValueError: if there is no term, or terms have different numbers of heads.
    """

    shares: Mapping[str, NDArray[np.float64]]
    sentence: str

    title = "What the scores come from"
    name = "score-terms"

    @property
    def _n_heads(self) -> int:
        counts = {len(share) for share in self.shares.values()}
        if len(counts) != 1:
            raise ValueError(
                "Each term needs a share for every head; give at least one term, and as many "
                "shares for each."
            )
        return counts.pop()

    @property
    def alt(self) -> str:
        n_heads, largest = self._n_heads, []
        for name, share in self.shares.items():
            head = int(np.argmax(share))
            largest.append(f"{_title(name).lower()} {style.percent(share[head])} in head {head}")
        return (
            f"Shares of the score differences of {style.count_of(n_heads, 'head')} of encoder "
            f"layer 0. The largest of each term: {'; '.join(largest)}."
        )

    caption = "How much of a head’s score differences comes from words and from positions."

    more = (
        "The input is a word plus a position, so a score is a sum: the query’s word or "
        "position times the key’s word or position. Only differences within a row count, "
        "because what all keys of a row share changes no weight. The parts of a head add up to "
        "100%; a part below 0 works against the others. Bias is every product with a bias of "
        "the projections or of the norm before them."
    )

    def figure(self, layout: Layout) -> go.Figure:
        n_heads = self._n_heads
        percents = {name: 100 * np.asarray(share) for name, share in self.shares.items()}
        every = np.stack(list(percents.values()))
        ends = [
            min(0.0, float(np.minimum(every, 0).sum(axis=0).min()) * 1.05),
            max(100.0, float(np.maximum(every, 0).sum(axis=0).max()) * 1.02),
        ]
        wide, narrow = (-(-len(every) // entries) for entries in (5, 2))
        return chart(
            layout,
            self.title,
            Plot(
                across=label_axis(
                    "Head of encoder layer 0",
                    [str(head) for head in range(n_heads)],
                    room=(48, 12),
                    autotickangles=[0],
                ),
                up=number_axis(
                    "Share of the scores’ variance",
                    range=ends,
                    ticksuffix="%",
                    nticks=7,
                    zeroline=True,
                ),
                marks=[
                    bars(share, down=False, name=_title(name), color=place, hover=_HOVER)
                    for place, (name, share) in enumerate(percents.items())
                ],
            ),
            lines=["Encoder layer 0, share by head"],
            below=(54 + style.LEGEND_HEIGHT * wide, 30 + style.LEGEND_HEIGHT * narrow),
            # Terms that work against the others hang below 0.
            barmode="relative",
            bargap=0.25,
        )

    def numbers(self) -> Numbers:
        columns = {f"share_{name}": share for name, share in self.shares.items()}
        about: dict[str, str | int] = {"attention": str(AttentionKind.ENCODER), "layer": 0}
        return column_numbers(about, "head", range(self._n_heads), columns)

    @property
    def setup(self) -> Lines:
        return [
            f"sentence = {self.sentence!r}",
            "shares = hs.figures.term_shares(translator.score_terms(sentence).terms)",
        ]


def term_shares(terms: Mapping[str, NDArray[np.floating[Any]]]) -> dict[str, Values]:
    """The share of each term in the differences between a head's scores.

    Only differences within a row count: a constant added to a whole row changes no weight
    (softmax(x + c) = softmax(x)). So every row is centred first. A term's share is then its
    covariance with the sum of all terms over the variance of that sum. These shares add up to 1, as
    the variance of a sum is the sum of the covariances with it; unlike variances alone, they count
    what two terms have in common once. A share below 0 means that a term works against the others,
    one above 1 that others work against it.

    Args:
        terms: by name, (head, query, key) each; they add up to the scores.

    Returns:
        by name, (head,); zeros for a head whose scores do not differ within any row.

    Raises:
        ValueError: if there is no term, or two have different shapes.
    """
    if not terms:
        raise ValueError("There is no term to share the scores among; give at least one.")
    shapes = {np.shape(values) for values in terms.values()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 3:
        raise ValueError(
            "Every term has one shape, (head, query, key); these have "
            f"{', '.join(map(str, sorted(shapes)))}."
        )
    centred = {name: _centred(values) for name, values in terms.items()}
    total = np.sum(list(centred.values()), axis=0)
    variance = np.square(total).sum(axis=(1, 2))
    # Equal scores differ only by rounding, so shares make no sense.
    size = sum(np.square(np.float64(values)).sum(axis=(1, 2)) for values in terms.values())
    differs = variance > 1e-12 * size
    return {
        name: np.divide(
            (values * total).sum(axis=(1, 2)),
            variance,
            out=np.zeros(len(variance)),
            where=differs,
        )
        for name, values in centred.items()
    }


def _centred(values: NDArray[Any]) -> Values:
    exact = np.asarray(values, dtype=np.float64)
    centred: Values = exact - exact.mean(axis=-1, keepdims=True)
    return centred


def _title(term: str) -> str:
    return term.replace("-", "–").capitalize()
