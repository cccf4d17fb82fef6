"""How sure the model was of each token, as a figure and as the coloured sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from model.paper.search import Search
from model.trace.attention_map import Tokens
from model.trace.token_schemes import WORD_START, special
from model.trace.translation import Decoding, DecodingStep
from viz.charts.axes import label_axis, number_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import bars, legend_square
from viz.decoding.picture import DecodingPicture
from viz.draw import css, style, themes
from viz.draw.constants import CONSTANTS
from viz.draw.labels import CONTINUED, axis_labels, axis_texts, escape_html
from viz.links.link_interventions import UNCHANGED, Changes
from viz.save.numbers import Numbers, column_numbers
from viz.save.picture import Layout

TITLE = "Certainty of every token"

HESITANT: float = CONSTANTS["HESITANT"]
"""Below this probability, the model might well have written another token."""

_HEIGHT, _GAP = 142.8, 54.4
"""Pixels of each plot, and between them."""

_RANKED, _NARROW_RANKED = 20, 6
"""With more tokens, bars have no room for ranks."""


@dataclass(frozen=True, slots=True, eq=False)
class Certainty(DecodingPicture):
    """Probability, rank and entropy of every token of a decoding."""

    decoding: Decoding
    search: Search
    changes: Changes = UNCHANGED

    name = "certainty"

    @property
    def title(self) -> str:
        return TITLE + self.changes.name

    @property
    def tokens(self) -> Tokens:
        translation = self.decoding.translation
        return Tokens(translation.tokens, translation.token_ids, "sentencepiece")

    @property
    def alt(self) -> str:
        named = [
            f"{text} {percent(step.probability)}, rank {step.rank}, {step.entropy:.1f} bits"
            for text, step in zip(axis_texts(self.tokens), self.decoding.steps, strict=True)
        ]
        return f"{self.title}. Probability, rank and entropy: {'; '.join(named)}."

    caption = (
        "Above, the probability of each token written; orange where another token that the "
        "model may write was likelier."
    )

    more = (
        "An orange bar shows the token’s rank among all tokens that the model may write. "
        "Below, the entropy of the whole distribution: 0 bits if one token is certain, 1 bit "
        "for two equally likely ones."
    )

    def figure(self, layout: Layout) -> go.Figure:
        labels, steps = axis_labels(self.tokens), self.decoding.steps
        marked = [step.rank > 1 for step in steps]
        ranked = len(labels) <= (_NARROW_RANKED if layout.narrow else _RANKED)
        across = label_axis("", axis_texts(self.tokens), room=(32, 12))
        probability = bars(
            [step.probability for step in steps],
            down=False,
            color=[1 if other else "accent" for other in marked],
            texts=[
                f"rank {step.rank}" if other and ranked else ""
                for step, other in zip(steps, marked, strict=True)
            ],
            customdata=[[label, step.rank] for label, step in zip(labels, steps, strict=True)],
            hover="<b>%{customdata[0]}</b><br>probability <b>%{y:.2%}</b><br>"
            "rank <b>%{customdata[1]}</b>",
        )
        entropy = bars(
            [step.entropy for step in steps],
            down=False,
            customdata=labels,
            hover="<b>%{customdata}</b><br>entropy <b>%{y:.2f} bits</b>",
        )
        shares = {share: percent(share) for share in (0, 0.5, 1)}
        below = style.BOTTOM + style.labels_height(labels)
        return chart(
            layout,
            self.title,
            [
                Plot(
                    across=across.with_(showticklabels=False),
                    up=number_axis(
                        "Probability",
                        range=[0, 1],
                        tickvals=list(shares),
                        ticktext=list(shares.values()),
                    ),
                    marks=[
                        probability,
                        legend_square("the likeliest token it may write", "accent"),
                        legend_square("one that it may write was likelier", 1),
                    ],
                    height=_HEIGHT,
                ),
                Plot(
                    across=across.with_(matches="x"),
                    up=number_axis("Entropy, bits", rangemode="tozero", nticks=4),
                    marks=[entropy],
                    height=_HEIGHT,
                ),
            ],
            lines=["Above – probability, below – entropy in bits"],
            below=(below, below + 2 * style.LEGEND_HEIGHT),
            abreast=1,
            gap=_GAP,
        )

    def numbers(self) -> Numbers:
        columns = {
            name: [getattr(step, name) for step in self.decoding.steps]
            for name in ("probability", "rank", "entropy", "forced")
        }
        return column_numbers({}, "target", self.tokens, columns)


def certainty_html(tokens: Tokens, steps: Sequence[DecodingStep], *, dark: bool) -> str:
    """The sentence; the less probable a token, the stronger its colour."""
    theme, most = themes.page(dark), 32 if dark else 45
    parts = []
    for place, (text, token, step) in enumerate(
        zip(axis_texts(tokens), tokens.tokens, steps, strict=True)
    ):
        opens = place == 0 or token.startswith(WORD_START) or special(token)
        parts.append(
            f'{" " if opens and place else ""}<span style="background: color-mix(in srgb, '
            f'{theme.heads[1]} {most * (1 - step.probability):.1f}%, transparent)">'
            f"<b>{escape_html(text.removeprefix(CONTINUED))}</b>"
            f"<small>{escape_html(percent(step.probability))}</small></span>"
        )
    return f'<style>{css.CERTAINTY_CSS}</style><p class="certainty">{"".join(parts)}</p>'


def percent(share: float) -> str:
    """A probability in whole percent."""
    return "<\u00a01%" if 0 < share < 0.005 else style.percent(share)


def hesitant(steps: Sequence[DecodingStep]) -> list[int]:
    """The steps at which the model might well have written another token, least certain first."""
    places = [
        place
        for place, step in enumerate(steps)
        if not step.forced and (step.probability < HESITANT or step.rank > 1)
    ]
    return sorted(places, key=lambda place: steps[place].probability)
