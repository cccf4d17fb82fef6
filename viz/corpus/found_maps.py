"""A head's maps of several sentences, such as those that were found by what it does there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from model.trace.attention_map import Site
from model.trace.trace import Trace
from viz.charts.panel_figure import panels_figure
from viz.draw.panels import Panel, weights_panel
from viz.save.notebook import Lines
from viz.save.numbers import Numbers, panels_numbers
from viz.save.picture import Layout, Picture


@dataclass(frozen=True, slots=True, eq=False)
class FoundMaps(Picture):
    """One head in several sentences.

    Attributes:
        found: how many sentences were found, and by what.
    """

    origin = ("model",)

    traces: Sequence[Trace]
    site: Site
    head: int
    found: str

    @property
    def title(self) -> str:
        return f"{self.site.head_name(self.head)} in sentences that were found"

    @property
    def name(self) -> str:
        return f"corpus-found-{self.site.kind}-layer{self.site.layer}-head{self.head}"

    @property
    def texts(self) -> Mapping[str, str]:
        return dict(zip(self._numbered, self._sentences, strict=True))

    @property
    def caption(self) -> str:
        return f"Each map is the head’s attention in one sentence. {self.found}"

    @property
    def alt(self) -> str:
        return f"{self.title}: {'; '.join(self._sentences)}. {self.found}"

    @property
    def _sentences(self) -> list[str]:
        return [trace.source_text for trace in self.traces]

    @property
    def _numbered(self) -> list[str]:
        return [f"Sentence {number}" for number in range(1, len(self.traces) + 1)]

    def _panels(self, titles: Sequence[str]) -> list[Panel]:
        return [
            weights_panel(title, trace.maps[self.site].head(self.head))
            for title, trace in zip(titles, self.traces, strict=True)
        ]

    def figure(self, layout: Layout) -> go.Figure:
        """The maps on one scale, each below its sentence."""
        return panels_figure(self._panels(self._sentences), layout)

    def numbers(self) -> Numbers:
        return panels_numbers(self._panels(self._numbered))

    @property
    def setup(self) -> Lines:
        return [f"traces = [translator.trace(text) for text in {self._sentences!r}]"]
