"""What happens inside a head, with the mask and without it."""

from dataclasses import dataclass

from model.trace.attention_map import AttentionMap, Tokens
from viz.draw.panels import Panel
from viz.masks.head_in_batch import CELLS, InBatch, Panels
from viz.masks.panels import number_panel
from viz.masks.steps import FillLesson, Steps
from viz.save.notebook import Lines
from viz.save.numbers import Arrays, Numbers, column_numbers, of_head


@dataclass(frozen=True, slots=True, eq=False)
class HeadSteps(Panels):
    """The steps inside a head: scores, scores after the mask, weights, and each key's contribution.

    Attributes:
        steps: those of the head, with its mask or with none.
        limit: scores run from -limit to limit.
        longest: the largest length of weight · v.
        hatched: whether the mask took anything out.
    """

    seen: AttentionMap
    steps: Steps
    limit: float
    longest: float
    hatched: bool

    @property
    def title(self) -> str:
        return f"{self.at.title}, {self._with} the mask"

    @property
    def name(self) -> str:
        return f"stages-{self.at.name}-{self._with}-mask"

    @property
    def _with(self) -> str:
        return "with" if self.hatched else "without"

    @property
    def caption(self) -> str:
        inside = (
            "Scores, scores after the mask, weights after the softmax"
            if self.hatched
            else "The same scores and their weights without a mask"
        )
        return f"{inside}, and the length of weight · v: what each key adds before W_O."

    @property
    def panels(self) -> list[Panel]:
        seen, steps, limit = self.seen, self.steps, self.limit
        shown = steps.allowed if self.hatched else None
        return [
            number_panel(seen, "Scores", steps.scores, limit=limit, unit="score"),
            number_panel(
                seen,
                "Scores after the mask" if self.hatched else "Without the mask",
                steps.masked,
                shown=shown,
                limit=limit,
                unit="score",
                sign="→",
            ),
            number_panel(seen, "Weights", steps.weights, shown=shown, sign="softmax →"),
            number_panel(
                seen,
                "Length of weight · v",
                steps.contributions,
                shown=shown,
                high=self.longest,
                unit="length",
                sign="× V →",
            ),
        ]

    def numbers(self) -> Numbers:
        """Scores of forbidden cells are missing."""
        steps = self.steps
        arrays: Arrays = {
            "allowed": (CELLS, steps.allowed),
            "score": (CELLS, steps.scores),
            "masked_score": (CELLS, steps.masked),
            "weight": (CELLS, steps.weights),
            "length_of_weight_times_v": (CELLS, steps.contributions),
            "length_of_output": (("query",), steps.outputs),
        }
        axes = {"query": self.seen.queries, "key": self.seen.keys}
        return Numbers(of_head(self.seen.site, self.at.head), axes, arrays)

    @property
    def setup(self) -> Lines:
        without = "steps = hs.figures.head_steps(seen, at.head, steps.allowed | True)"
        return [
            *self.at.setup,
            "seen = batch.padded[at.number].attention(at.kind, at.layer)",
            "steps = hs.figures.head_steps(seen, at.head)",
            *([] if self.hatched else [without]),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class RowLesson(InBatch):
    """Three softmaxes of one row, as a table."""

    lesson: FillLesson
    keys: Tokens

    title = "A row with nothing to look at"

    @property
    def name(self) -> str:
        return f"softmax-{self.at.name}"

    def numbers(self) -> Numbers:
        """NaN counts as missing."""
        rows = {
            "softmax_with_minus_infinity": self.lesson.minus_infinity,
            "softmax_with_large_negative": self.lesson.large_negative,
            "this_model": self.lesson.model,
        }
        return column_numbers({}, "key", self.keys, rows)
