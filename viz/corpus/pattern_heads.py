"""A drawn pattern beside the heads that look there most."""

from dataclasses import dataclass, field, replace

import plotly.graph_objects as go

from model.trace.attention_map import AttentionKind, AttentionMap, BoolArray
from model.trace.trace import Trace
from viz.charts.panel_figure import panels_figure
from viz.corpus.pattern_search import Match, drawing_panel, drawn_sentence, matches
from viz.draw import style
from viz.draw.panels import Panel, weights_panel
from viz.links.mask_edits import decode
from viz.save.notebook import Lines, traced
from viz.save.numbers import Numbers, panels_numbers
from viz.save.picture import Layout, Picture

SHOWN = 2
"""Heads beside the pattern."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnHeads(Picture):
    """A pattern, and those heads of one kind of attention that look there most.

    Attributes:
        pattern: the drawn cells, as the address has them (`viz.links.mask_edits.encode`).
        target: the translation that was recorded if it is a person's; empty for the model's.

    Raises:
        ValueError: if the pattern is of another size than the maps.
    """

    trace: Trace
    kind: AttentionKind
    pattern: str
    target: str = field(default="", kw_only=True)

    title = "A drawn pattern and the heads that look there most"

    @property
    def name(self) -> str:
        return f"corpus-drawn-{self.kind}"

    @property
    def caption(self) -> str:
        return drawn_sentence(self._found)

    @property
    def alt(self) -> str:
        return " ".join([f"{self.title}.", self.caption, *(panel.alt for panel in self.panels)])

    @property
    def _maps(self) -> list[AttentionMap]:
        return [each for site, each in self.trace.maps.items() if site.kind == self.kind]

    @property
    def _drawn(self) -> BoolArray:
        first = self._maps[0]
        return decode(self.pattern, (len(first.queries), len(first.keys)))

    @property
    def _found(self) -> list[Match]:
        return matches(self.trace.maps, self._drawn, AttentionKind(self.kind))

    @property
    def panels(self) -> list[Panel]:
        painted = drawing_panel(self._maps[0], self._drawn)
        return [
            replace(painted, title="Drawn", base=None, start=None),
            *map(self._of_head, self._found[:SHOWN]),
        ]

    def _of_head(self, match: Match) -> Panel:
        title = match.site.head_name(match.head)
        share = f"{style.percent(match.share)} of its weight there"
        one = self.trace.maps[match.site].head(match.head)
        return weights_panel(title, one, note=share, alt=f"{title}: {share}.")

    def figure(self, layout: Layout) -> go.Figure:
        return panels_figure(self.panels, layout)

    def numbers(self) -> Numbers:
        return panels_numbers(self.panels)

    @property
    def setup(self) -> Lines:
        return traced(self.trace.source_text, self.target)
