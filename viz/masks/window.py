"""One head while a window over its attention opens, as a film."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from model.record.intervention import Intervention
from model.trace.attention_map import AttentionMap
from model.trace.trace import Trace
from viz.charts.panel_figure import panel_figure
from viz.draw.style import count_of
from viz.masks.panels import weights_panel
from viz.save.film import Series, Still
from viz.save.picture import Picture


@dataclass(frozen=True, slots=True, eq=False)
class OpeningWindow(Picture):
    """One head's weights under windows from the narrowest to the one that hides nothing.

    Attributes:
        own: the head's layer without a window.
        head: counted from 0.
        run: the trace of the same translation under an intervention.
    """

    own: AttentionMap
    head: int
    run: Callable[[Intervention], Trace]

    @property
    def title(self) -> str:
        return f"{self.own.site.head_name(self.head)}, while a window opens"

    @property
    def name(self) -> str:
        return f"{self.own.site.kind}-layer{self.own.site.layer}-head{self.head}-window"

    def film(self) -> Series:
        return Series(max(self.own.allowed.shape[-2:]), self._at)

    def _at(self, width: int) -> Still:
        site = self.own.site
        n_queries, n_keys = self.own.allowed.shape[-2:]
        inside = np.abs(np.arange(n_queries)[:, None] - np.arange(n_keys)) <= width
        under = Intervention(masks={site.kind: self.own.allowed & inside})
        return Still(
            lambda layout: panel_figure(
                weights_panel(self.run(under).maps[site], self.head, site.head_name(self.head)),
                layout,
            ),
            "Every layer of this attention looks no further; the model reads one translation.",
            f"at most {count_of(width, 'position')} away",
        )
