"""A map that estimates which source tokens matter, beside the truth: their deletion."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from model.explain.attribution import METHODS, TELLING, Attributions, Method
from model.trace.attention_map import FloatArray, Site
from viz.charts.chart import Layout
from viz.charts.token_map import TokenMap, greatest, spots, token_maps
from viz.draw import style
from viz.draw.labels import axis_texts, lower_first
from viz.effects.self_maps import GREATEST, part_name
from viz.save.notebook import Lines, traced
from viz.save.numbers import Numbers
from viz.save.picture import Picture

COSTLIEST = "costs most when deleted"
"""The meaning of a ring on a source token."""


@dataclass(frozen=True, slots=True, eq=False)
class CrossMaps(Picture):
    """Maps of cross-attention for one sentence, beside the truth.

    Attributes:
        target: a person's own translation; empty for the model's.
        site: of cross-attention; None for the whole model.
        head: None for all heads together.
        later: whether the layer is read one row later.
        token: a target token, from 0; None for all.
    """

    attributions: Attributions
    sentence: str
    target: str = ""
    site: Site | None = None
    head: int | None = None
    later: bool = False
    token: int | None = None

    @property
    def part(self) -> str:
        """The part of the model that the maps show, for use inside a sentence."""
        return part_name(self.site, self.head)

    @property
    def attributed(self) -> Lines:
        """The lines of a notebook that make the maps."""
        return [
            *traced(self.sentence, self.target),
            "attributions = hs.figures.cross_attributions(translator, trace)",
        ]

    @property
    def setup(self) -> Lines:
        return self.attributed


@dataclass(frozen=True, slots=True, eq=False)
class MapBesideTruth(CrossMaps):
    """The truth, and beside it one method's estimate.

    Attributes:
        method: a name in `model.explain.attribution.METHODS`.
        alone: whether only the estimate is drawn, with the rings of the truth.
    """

    method: str = "weights"
    alone: bool = False

    name = "effects-maps"

    @property
    def about_method(self) -> Method:
        """The method's description."""
        return METHODS[self.method]

    @property
    def estimate(self) -> FloatArray:
        """The method's map, (target, source)."""
        return self.attributions.estimate(self.method, self.site, self.head, later=self.later)

    @property
    def _costliest(self) -> list[tuple[int, int]]:
        # The largest cells of the rows of the truth that tell anything.
        losses = enumerate(self.attributions.deletion_losses)
        return [(row, int(each.argmax())) for row, each in losses if each.max() >= TELLING]

    @property
    def title(self) -> str:
        beside = "" if self.alone else ", beside the truth"
        return f"{self.about_method.title} of {self.part}{beside}"

    @property
    def alt(self) -> str:
        losses = self.attributions.deletion_losses
        n_target, n_source = losses.shape
        rings, dots = self._costliest, set(greatest(self.estimate))
        row, column = np.unravel_index(losses.argmax(), losses.shape)
        target, source = map(axis_texts, (self.attributions.predictions, self.attributions.source))
        return (
            f"{self.title}. Two heatmaps of {style.count_of(n_target, 'target token')} by "
            f"{style.count_of(n_source, 'source token')}. Deleting “{source[column]}” costs "
            f"“{target[row]}” most, {style.number(float(losses[row, column]))}. In "
            f"{len(dots & set(rings))} of {style.count_of(len(rings), 'row')}, both maps are "
            "greatest at the same source token, counting only target tokens that lose at least "
            f"{TELLING} when some source token is deleted."
        )

    caption = "Where dot and ring meet, truth and estimate agree on the most important token."

    @property
    def more(self) -> str:
        method = self.about_method
        whole = (
            ""
            if self.site is None
            else " The truth is measured on the whole model, not on this part."
        )
        row = (
            " This layer is read one row later, in the row that has read the token; the last token "
            "has no such row."
            if self.later and self.site is not None and not method.by_prediction
            else ""
        )
        return (
            "Truth: each source token in turn is deleted from attention; a cell shows how much "
            "log-probability a target token then loses. The estimate deletes nothing."
            f"{whole}{row} {method.title}: {method.paper}. It leaves out: "
            f"{lower_first(method.leaves_out)}"
        )

    @property
    def token_sentence(self) -> str:
        """Both maps' top source tokens for the target token, in plain text; "" without one."""
        if self.token is None:
            return ""
        source = axis_texts(self.attributions.source)
        losses = self.attributions.deletion_losses[self.token]
        name = axis_texts(self.attributions.predictions)[self.token]
        costliest = int(losses.argmax())
        columns = [column for row, column in greatest(self.estimate) if row == self.token]
        tops = " and ".join(f"“{source[column]}”" for column in columns)
        return (
            f"“{name}” loses most without “{source[costliest]}”: "
            f"{style.number(float(losses[costliest]))}. {self.about_method.title} of {self.part}: "
            f"{f'greatest at {tops}' if tops else 'no token stands out'}."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """The truth and the estimate, or the estimate alone; the first traces are their values.

        A ring marks in both maps the source token whose deletion costs a target token most, if it
        costs at least TELLING; a dot marks the greatest value of the estimate.
        """
        truth, estimate, method = (
            self.attributions.deletion_losses,
            self.estimate,
            self.about_method,
        )
        maps = [
            TokenMap(
                name="Truth",
                short_name="truth",
                unit="loss without the source token",
                values=truth,
                marks=[spots(COSTLIEST, self._costliest, truth, ring=True)],
            ),
            TokenMap(
                name=method.title,
                short_name=lower_first(method.title) if self.alone else "estimate",
                unit=method.unit,
                values=estimate,
                marks=[
                    spots(COSTLIEST, self._costliest, estimate, ring=True),
                    spots(GREATEST, greatest(estimate), estimate),
                ],
            ),
        ]
        return token_maps(
            layout,
            self.title,
            maps[1:] if self.alone else maps,
            ("Target token predicted", self.attributions.predictions),
            ("Source token", self.attributions.source),
            short="" if self.alone else "Beside the truth",
            framed=self.token,
        )

    def numbers(self) -> Numbers:
        maps, cells = self.attributions, ("target", "source")
        return Numbers(
            {"method": self.method, "part": self.part},
            {"target": maps.predictions, "source": maps.source},
            {"deletion_loss": (cells, maps.deletion_losses), "estimate": (cells, self.estimate)},
        )
