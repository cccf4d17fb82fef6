"""A sentence with its words in another order: moved words, and changes of the encoder's rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.trace.attention_map import Tokens
from viz.charts.axes import number_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import bars, points
from viz.charts.token_map import key_axis, keys_height
from viz.draw import style
from viz.draw.word_diff import word_diff
from viz.save.notebook import Lines
from viz.save.numbers import Numbers, array_name, column_numbers
from viz.save.picture import Layout, Picture

Distances = Mapping[str, NDArray[np.floating]]
"""The distance each row moved, (token,), with and without positions."""

_HOVER = "<b>%{x}</b><br>distance <b>%{y:.3~g}</b><extra>%{fullData.name}</extra>"
_HEIGHT, _BELOW = 280, style.LEGEND_HEIGHT + 12
_BAR_WIDTH, _POINT = 0.5, 11
"""The width of a bar as a share of its token's space, and of a point in pixels."""

_SAME = 1e-3
"""A row that moved by less than this share of its length counts as unchanged."""


@dataclass(frozen=True, slots=True, eq=False)
class ShuffledDistances(Picture):
    """The distances that the encoder's rows moved when the source's tokens were reordered.

    Attributes:
        tokens: in their new order.
        distances: the distance each token's row moved, (token,), with and without positions.
        order: the old place of each token except the last.

    Raises:
        ValueError: if there is not one distance a token.
    """

    tokens: Tokens
    distances: Distances
    length: float = 1.0
    sentence: str = ""
    order: Sequence[int] = ()

    title = "How far the encoder’s rows moved"
    name = "shuffled-distances"

    @property
    def texts(self) -> Mapping[str, str]:
        return {"order": " ".join(map(str, self.order))}

    @property
    def alt(self) -> str:
        most = {
            name: "0 up to rounding" if self._is_still(values) else f"at most {_largest(values)}"
            for name, values in self.distances.items()
        }
        return (
            f"Distance of each of {style.count_of(len(self.tokens), 'row')} from its row in the "
            f"original order: {'; '.join(f'{name}, {words}' for name, words in most.items())}."
        )

    @property
    def caption(self) -> str:
        sentences = [
            f"{name.capitalize()}, "
            + (
                "every row stays the same, up to rounding"
                if self._is_still(values)
                else f"rows move by up to {_largest(values)}, "
                f"{style.percent(values.max() / self.length)} of their mean length"
            )
            for name, values in self.distances.items()
        ]
        return f"{'. '.join(sentences)}."

    more = "The Euclidean distance between a token’s encoder rows in the two orders."

    def _is_still(self, values: NDArray[np.floating]) -> bool:
        return not len(values) or float(values.max()) < _SAME * self.length

    def figure(self, layout: Layout) -> go.Figure:
        """A bar and a point per token: its row's distance from that in the original order."""
        tokens, distances = self.tokens, self.distances
        if any(len(values) != len(tokens) for values in distances.values()):
            raise ValueError(f"Each of the {len(tokens)} tokens needs one distance.")
        # The first as bars, the others as points on them: a point is visible even at 0.
        (first, lengths), *others = distances.items()
        marks = [bars(lengths, down=False, name=first, color=0, hover=_HOVER, width=_BAR_WIDTH)]
        look: dict[str, Any] = {
            "size": _POINT,
            "symbol": "diamond",
            "hover": _HOVER,
            "cliponaxis": False,
        }
        marks += [
            points(np.arange(len(tokens)), values, name=name, color=place, **look)
            for place, (name, values) in enumerate(others, start=1)
        ]
        return chart(
            layout,
            self.title,
            Plot(
                across=key_axis("Token, in the new order", tokens, layout).with_(range=None),
                up=number_axis("Distance", rangemode="tozero", zeroline=True),
                marks=marks,
                height=_HEIGHT,
            ),
            short="How far each row moved",
            lines=["Distance by token, in the new order"],
            top=keys_height(tokens, layout),
            below=_BELOW,
        )

    def numbers(self) -> Numbers:
        columns = {f"distance_{array_name(name)}": each for name, each in self.distances.items()}
        return column_numbers({}, "token", self.tokens, columns)

    @property
    def setup(self) -> Lines:
        return [
            "from numpy.linalg import norm",
            f"sentence, order = {self.sentence!r}, {list(self.order)}",
            "place = [*order, len(order)]",
            "distances = {}",
            "for name, scale in {'with positions': 1, 'without positions': 0}.items():",
            "    edit = hs.PositionEdit(scale=scale)",
            "    before = translator.encode(sentence, under=hs.Intervention(positions=edit))",
            "    moved = hs.Intervention(positions=edit, source_order=order)",
            "    after = translator.encode(sentence, under=moved)",
            "    distances[name] = norm(after - before[place], axis=-1)",
            "tokens = hs.figures.reordered(translator.translate(sentence).source, place)",
        ]


def reordered(tokens: Tokens, places: list[int]) -> Tokens:
    """Tokens in another order: for each of its places, where its token stood."""
    return Tokens(
        tuple(tokens.tokens[place] for place in places),
        tuple(tokens.ids[place] for place in places),
    )


def moved_words(before: str, after: str) -> tuple[str, ...]:
    """Words of both texts whose place differs in the second, in its order."""
    left: Counter[str] = Counter()
    came: list[str] = []
    for change, text in word_diff(before, after):
        words = text.split()
        if change == "removed":
            left.update(words)
        elif change == "added":
            came += words
    moved = []
    for word in came:
        if left[word] > 0 and any(map(str.isalnum, word)):
            left[word] -= 1
            moved.append(word)
    return tuple(moved)


def _largest(values: NDArray[np.floating]) -> str:
    return style.number(values.max())
