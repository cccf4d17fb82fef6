"""What can be saved of masks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import (
    AttentionKind,
    AttentionMap,
    BoolArray,
    FloatArray,
    Site,
    Tokens,
)
from model.trace.trace import Trace
from viz.draw.panel_figure import panels_figure
from viz.draw.panels import Panel
from viz.links.mask_edits import Edit, encode, write
from viz.links.request import Request
from viz.masks.log_probs import log_prob_alt_text, log_prob_bars, log_prob_more
from viz.masks.mask import Mask, batch_masks, mask_alt_text, mask_difference, token_grid
from viz.masks.panels import (
    changed_panels,
    compared_panels,
    difference_words,
    editor_panel,
    factor_panels,
    mask_figure,
    moved_panel,
    moved_words,
    other_panels,
    sentence_name,
    step_panels,
)
from viz.masks.steps import FillLesson, Steps
from viz.save.notebook import Lines, recorded
from viz.save.numbers import (
    Arrays,
    Axes,
    Numbers,
    axis_name,
    cell_axes,
    of_head,
    panels_numbers,
)
from viz.save.picture import Layout, Picture

_CELLS = ("query", "key")


@dataclass(frozen=True, slots=True)
class HeadInBatch:
    """One head in one sentence of a batch.

    Attributes:
        sentences: the batch.
        number: which of them, from 0.
        target: a translation of one's own for the first; empty for the model's.
        kind: which attention.
        layer: from 0.
        head: from 0.
    """

    sentences: tuple[str, ...]
    number: int
    target: str
    kind: AttentionKind
    layer: int
    head: int

    @property
    def title(self) -> str:
        """The head's name."""
        return Site(self.kind, self.layer).head_name(self.head)

    @property
    def name(self) -> str:
        """The head in a file name."""
        return f"{self.kind}-layer{self.layer}-head{self.head}"

    @property
    def sentence(self) -> str:
        """The sentence by number and first words."""
        return sentence_name(self.number, self.sentences[self.number])

    @property
    def is_typed(self) -> bool:
        """Whether the sentence has a target typed by the reader."""
        return self.number == 0 and bool(self.target)

    @property
    def texts(self) -> dict[str, str]:
        """The batch and the selected sentence, for the metadata of files."""
        return {
            "sentence": self.sentences[self.number],
            "target": self.target if self.is_typed else "",
            "batch": "\n".join(self.sentences),
            "number_in_batch": str(self.number + 1),
        }

    @property
    def lines(self) -> Lines:
        """Those that record the batch."""
        lines = [
            f"sentences = {list(self.sentences)!r}",
            "targets = [translator.translate(sentence) for sentence in sentences]",
        ]
        if self.target:
            lines.append(f"targets[0] = {self.target!r}")
        return [*lines, "padded = translator.trace_batch(sentences, targets).padded"]

    @property
    def site(self) -> str:
        """The expression for the head's site."""
        return f"attention({str(self.kind)!r}, {self.layer})"

    def passes(self, under: str) -> Lines:
        """One pass over the batch per intervention, each applied to the selected sentence."""
        return [
            "passes = []",
            f"for under in ({under}):",
            "    each = [hs.Intervention()] * len(sentences)",
            f"    each[{self.number}] = under",
            "    passes.append(translator.trace_batch(sentences, targets, under=each)"
            f".padded[{self.number}])",
        ]

    def changed_weights(self, titles: tuple[str, str], *, begin: str = "", sign: str = "") -> Lines:
        """Those that make `panels` of this head's weights in two `passes`.

        Args:
            titles: of the two.
            begin: an expression of panels to stand before them.
            sign: stands before the second title.
        """
        before = f"{begin} + " if begin else ""
        signed = f", sign={sign!r}" if sign else ""
        return [
            f"maps = [each.{self.site} for each in passes]",
            f"panels = {before}hs.figures.changed_panels(*maps, {self.head}, {titles!r}{signed})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class NamedMask:
    """A mask that can be compared.

    Attributes:
        name: in the address: "1.decoder" of the first sentence, "preset.window" or
            "edited.decoder".
        title: in a menu.
        mask: the mask itself.
    """

    name: str
    title: str
    mask: Mask

    def expression(self, at: HeadInBatch) -> str:
        """The mask as Python, where `own` gives those of a sentence by its number."""
        start, _, rest = self.name.partition(".")
        allowed = f"hs.figures.decode_mask({encode(self.mask.allowed)!r})"
        if start == "preset":
            base = f"own({at.number})[{str(at.kind)!r}]"
            return f"preset(hs.PRESETS[{rest!r}], {allowed}, {base})"
        if start == "edited":
            base = f"own({at.number})[{rest!r}]"
            return f"hs.figures.edited_mask({base}, {allowed})"
        return f"own({int(start) - 1})[{rest!r}]"


@dataclass(frozen=True, slots=True, eq=False)
class TwoMasks:
    """The masks A and B, in all layers of one attention."""

    a: NamedMask
    b: NamedMask

    names: ClassVar[tuple[str, str]] = ("A", "B")

    @property
    def masks(self) -> tuple[Mask, Mask]:
        """Both, without their names."""
        return self.a.mask, self.b.mask

    @property
    def titles(self) -> tuple[str, str]:
        """Of both."""
        return f"A: {self.a.title}", f"B: {self.b.title}"

    @property
    def texts(self) -> dict[str, str]:
        """The names of both masks, for the metadata of files."""
        return dict(zip(("mask_a", "mask_b"), self.titles, strict=True))

    def lines(self, at: HeadInBatch) -> Lines:
        """Those that make `a` and `b`."""
        return [
            *at.lines,
            "def own(number):",
            "    return hs.figures.batch_masks(padded, number)",
            "def preset(rule, allowed, base):",
            "    how = {'kind': base.kind, 'reason': rule.reason, 'causal': rule.causal}",
            "    return hs.figures.preset_mask(rule.title, allowed, base.queries, "
            "base.keys, **how)",
            f"a, b = {self.a.expression(at)}, {self.b.expression(at)}",
        ]

    def passes(self, at: HeadInBatch) -> Lines:
        """Those that make `passes`, one under A and one under B."""
        kind = str(at.kind)
        return [
            *self.lines(at),
            *at.passes(f"hs.Intervention(masks={{{kind!r}: mask.allowed}}) for mask in (a, b)"),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Edits:
    """Edited masks, compared with the model's own."""

    edits: tuple[Edit, ...]

    names: ClassVar[tuple[str, str]] = ("Before", "After")

    @property
    def texts(self) -> dict[str, str]:
        """The edits, for the metadata of files."""
        return {"edited": "; ".join(map(str, self.edits)) or "none", "edit": write(self.edits)}

    @property
    def both(self) -> str:
        """The interventions of both passes, as Python."""
        edits = f"hs.figures.parse_masks({write(self.edits)!r})"
        return f"hs.Intervention(), hs.figures.masks_intervention({edits})"

    def passes(self, at: HeadInBatch) -> Lines:
        """Those that make `passes`, one before and one after the edits."""
        return [
            *at.lines,
            *at.passes(self.both),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _InBatch(Picture):
    at: HeadInBatch

    @property
    def texts(self) -> Mapping[str, str]:
        return self.at.texts


class _Panels(_InBatch):
    """Matrices side by side, as a page shows them."""

    @property
    @abstractmethod
    def panels(self) -> list[Panel]:
        """The matrices."""

    @property
    def alt(self) -> str:
        return " ".join(panel.alt for panel in self.panels)

    def figure(self, layout: Layout) -> go.Figure:
        return panels_figure(self.panels, title=self.title, **layout.panel_options)

    def _drawn(self, panels: str, layout: Layout) -> Lines:
        """The lines that draw an expression of panels."""
        return [
            f"hs.figures.panels_figure({panels}, title={self.title!r}{layout.panel_python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class BatchTokens(_InBatch):
    """The tokens of a batch, with padding marked, as a table."""

    padded: Sequence[Trace]

    title = "The tokens of the batch"
    name = "masks-batch"

    def numbers(self) -> Numbers:
        arrays: Arrays = {}
        axes: Axes = {"in_batch": range(1, len(self.padded) + 1)}
        for side in ("source", "target"):
            texts, is_padding = token_grid(self.padded, side)
            axes[f"{side}_position"] = range(len(texts[0]))
            cells = ("in_batch", f"{side}_position")
            arrays[f"{side}_token"] = (cells, np.array(texts, np.str_))
            arrays[f"{side}_is_padding"] = (cells, is_padding)
        return Numbers({}, axes, arrays)


@dataclass(frozen=True, slots=True, eq=False)
class _OwnMasks(_Panels):
    """Some of the model's own masks; `masks` from `batch_masks`."""

    masks: dict[str, Mask]

    shown: ClassVar[tuple[str, ...]]
    make: ClassVar[staticmethod[[dict[str, Mask]], list[Panel]]]

    @property
    def panels(self) -> list[Panel]:
        return self.make(self.masks)

    def numbers(self) -> Numbers:
        return _masks_numbers({name.replace("-", "_"): self.masks[name] for name in self.shown})

    def python(self, layout: Layout) -> Lines:
        panels = self.make.__name__
        return [
            *self.at.lines,
            f"panels = hs.figures.{panels}(hs.figures.batch_masks(padded, {self.at.number}))",
            *self._drawn("panels", layout),
        ]


class DecoderFactors(_OwnMasks):
    """The decoder's mask and its factors."""

    shown = ("causal", "target-padding", "decoder")
    make = staticmethod(factor_panels)
    caption = "A query (row) may look at a key (column) where both factors allow it."

    @property
    def title(self) -> str:
        return f"How the decoder’s mask of sentence {self.at.number + 1} is made"

    @property
    def name(self) -> str:
        return f"masks-sentence{self.at.number + 1}-decoder"


class OtherMasks(_OwnMasks):
    """Every mask but the decoder's."""

    shown = ("encoder", "cross", "source-padding", "target-padding")
    make = staticmethod(other_panels)
    caption = (
        "A padding mask is one row, the same for every query; the model broadcasts it to the "
        "matrices."
    )

    @property
    def title(self) -> str:
        return f"The other masks of sentence {self.at.number + 1}"

    @property
    def name(self) -> str:
        return f"masks-sentence{self.at.number + 1}-others"


@dataclass(frozen=True, slots=True, eq=False)
class HeadSteps(_Panels):
    """The steps inside a head.

    Attributes:
        seen: the site.
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
        return step_panels(
            self.seen, self.steps, limit=self.limit, longest=self.longest, hatched=self.hatched
        )

    def numbers(self) -> Numbers:
        """Scores of forbidden cells are missing."""
        steps = self.steps
        arrays: Arrays = {
            "allowed": (_CELLS, steps.allowed),
            "score": (_CELLS, steps.scores),
            "masked_score": (_CELLS, steps.masked),
            "weight": (_CELLS, steps.weights),
            "length_of_weight_times_v": (_CELLS, steps.contributions),
            "length_of_output": (("query",), steps.outputs),
        }
        axes = {"query": self.seen.queries, "key": self.seen.keys}
        return Numbers(of_head(self.seen.site, self.at.head), axes, arrays)

    def python(self, layout: Layout) -> Lines:
        with_mask = f"hs.figures.head_steps(seen, {self.at.head})"
        return [
            *([] if self.hatched else ["from numpy import ones_like"]),
            *self.at.lines,
            f"seen = padded[{self.at.number}].{self.at.site}",
            f"steps = {with_mask}"
            if self.hatched
            else f"steps = hs.figures.head_steps(seen, {self.at.head}, ones_like("
            f"{with_mask}.allowed))",
            f"panels = hs.figures.step_panels(seen, steps, limit={self.limit!r}, "
            f"longest={self.longest!r}, "
            f"hatched={self.hatched})",
            *self._drawn("panels", layout),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class RowLesson(_InBatch):
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
        return Numbers(
            {}, {"key": self.keys}, {name: (("key",), row) for name, row in rows.items()}
        )


@dataclass(frozen=True, slots=True, eq=False)
class _OfTwoMasks(_Panels):
    both: TwoMasks

    @property
    def texts(self) -> Mapping[str, str]:
        return self.at.texts | self.both.texts


class ComparedMasks(_OfTwoMasks):
    """Two masks and, if they have the same size, their difference."""

    title = "Two masks compared"
    name = "masks-compared"

    @property
    def caption(self) -> str:
        a, b = self.both.masks
        if a.cells.shape != b.cells.shape:
            return "The two masks differ in size, so their cells do not correspond."
        return difference_words(mask_difference(a, b))

    @property
    def panels(self) -> list[Panel]:
        return compared_panels(*self.both.masks, self.both.titles)

    def numbers(self) -> Numbers:
        return _masks_numbers({"a": self.both.a.mask, "b": self.both.b.mask})

    def python(self, layout: Layout) -> Lines:
        return [
            *self.both.lines(self.at),
            *self._drawn(f"hs.figures.compared_masks(a, b, {self.both.titles!r})", layout),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class ComparedWeights(_OfTwoMasks):
    """One head's weights under two masks, and their difference; `maps` hold its site under both."""

    maps: tuple[AttentionMap, AttentionMap]

    headings = ("Weights under A", "Weights under B")

    @property
    def title(self) -> str:
        return f"{self.at.title}, under A and B"

    @property
    def name(self) -> str:
        return f"masks-compared-weights-{self.at.name}"

    @property
    def caption(self) -> str:
        return (
            f"Teacher forcing, with mask A or B in every layer of {self.at.kind.full_name.lower()}."
        )

    @property
    def panels(self) -> list[Panel]:
        return changed_panels(*self.maps, self.at.head, self.headings)

    def numbers(self) -> Numbers:
        return _changes_numbers(("under_a", "under_b"), self.maps, self.at.head)

    def python(self, layout: Layout) -> Lines:
        return [
            *self.both.passes(self.at),
            *self.at.changed_weights(self.headings),
            *self._drawn("panels", layout),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class MovedHeads(_OfTwoMasks):
    """The share of every head's weight that moved between two masks.

    Attributes:
        moved: as `moved_heads` gives it.
        lengths: as `moved_heads` takes them.
    """

    moved: Mapping[Site, FloatArray]
    lengths: tuple[int, int]

    title = "How much each head moved, from A to B"
    name = "masks-compared-heads"

    @property
    def caption(self) -> str:
        return (
            "Each cell is a head: the share of its weight that moved to other keys, averaged over "
            f"its rows. {moved_words(self.moved)}"
        )

    @property
    def panels(self) -> list[Panel]:
        return [moved_panel(self.moved)]

    def numbers(self) -> Numbers:
        return panels_numbers(self.panels)

    def python(self, layout: Layout) -> Lines:
        return [
            *self.both.passes(self.at),
            f"panel = hs.figures.moved_panel(hs.figures.moved_heads(*passes, {self.lengths!r}))",
            *self._drawn("[panel]", layout),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class EditedWeights(_Panels):
    """A painted mask and its effect on a head.

    Attributes:
        edits: all that hold.
        own: the model's own mask.
        allowed: the painted one, True = may attend, (query, key).
        maps: the head's site before and after the edits.
    """

    edits: Edits
    own: Mask
    allowed: BoolArray
    maps: tuple[AttentionMap, AttentionMap]

    headings = ("Weights before", "Weights after")

    @property
    def title(self) -> str:
        return f"{self.at.title}, before and after"

    @property
    def name(self) -> str:
        return f"mask-edit-{self.at.name}"

    @property
    def texts(self) -> Mapping[str, str]:
        return self.at.texts | self.edits.texts

    @property
    def caption(self) -> str:
        if not self.edits.edits:
            return "No mask is edited. Teacher forcing."
        return f"Teacher forcing, before and after the edit of {self.edits.texts['edited']}."

    @property
    def panels(self) -> list[Panel]:
        return [
            editor_panel(self.own, self.allowed, "The mask"),
            *changed_panels(*self.maps, self.at.head, self.headings, sign="→"),
        ]

    def numbers(self) -> Numbers:
        return _changes_numbers(("before", "after"), self.maps, self.at.head)

    def python(self, layout: Layout) -> Lines:
        return [
            *self.at.lines,
            f"own = hs.figures.batch_masks(padded, {self.at.number})[{str(self.at.kind)!r}]",
            "painted = hs.figures.editor_panel(own, hs.figures.decode_mask("
            f"{encode(self.allowed)!r}), 'The mask')",
            *self.at.passes(self.edits.both),
            *self.at.changed_weights(self.headings, begin="[painted]", sign="→"),
            *self._drawn("panels", layout),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class LogProbs(_InBatch):
    """The probability of each target token in two passes.

    Attributes:
        under: what the passes differ in.
        sides: the predicted tokens of each pass and their log-probabilities, without padding.
    """

    under: TwoMasks | Edits
    sides: tuple[tuple[Tokens, FloatArray], tuple[Tokens, FloatArray]]

    title = "How probable each target token is"
    name = "log-probabilities"

    @property
    def texts(self) -> Mapping[str, str]:
        return self.at.texts | self.under.texts

    @property
    def alt(self) -> str:
        return log_prob_alt_text(*self.sides[0], *self.sides[1], self.under.names)

    @property
    def caption(self) -> str:
        given = "the target you typed" if self.at.is_typed else "the model's own translation"
        return (
            f"{self.at.sentence}: the decoder reads {given}; the longer a bar, the less probable "
            "its next token."
        )

    @property
    def more(self) -> str:
        (tokens_a, _), (tokens_b, _) = self.sides
        return log_prob_more(tokens_a, tokens_b)

    def figure(self, layout: Layout) -> go.Figure:
        (tokens_a, log_probs_a), (tokens_b, log_probs_b) = self.sides
        return log_prob_bars(
            tokens_a, log_probs_a, tokens_b, log_probs_b, self.under.names, **layout.options
        )

    def numbers(self) -> Numbers:
        axes: Axes = {}
        arrays: Arrays = {}
        for name, (tokens, log_probs) in zip(self.under.names, self.sides, strict=True):
            axis = axis_name(axes, "token", tokens, name.lower())
            arrays[f"log_probability_{name.lower()}"] = ((axis,), log_probs)
        return Numbers({}, axes, arrays)

    def python(self, layout: Layout) -> Lines:
        return [
            *self.under.passes(self.at),
            f"n = {len(self.sides[0][0])}",
            "sides = [(each.predictions[:n], each.log_probs[:n]) for each in passes]",
            f"hs.figures.log_prob_bars(*sides[0], *sides[1], {self.under.names!r}{layout.python})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class OneMask(Picture):
    """The mask of one layer's attention.

    Attributes:
        mask: of one kind of attention.
        layer: from 0.
        sentence: the source.
        target: a translation of one's own; empty for the model's.
    """

    slug: ClassVar[str] = "mask"
    about: ClassVar[str] = (
        "what the mask lets attention look at, and why not elsewhere: --attention, --layer"
    )

    mask: Mask
    layer: int
    sentence: str
    target: str = ""

    @classmethod
    def of(cls, request: Request) -> OneMask:
        # Also refuses a missing layer, which has no recorded mask.
        site = request.attention_map.site
        mask = batch_masks([request.trace], 0, layer=site.layer)[str(site.kind)]
        return cls(mask, site.layer, request.text, request.target)

    @property
    def title(self) -> str:
        return self.mask.name

    @property
    def name(self) -> str:
        return f"mask-{self.mask.kind}-layer{self.layer}"

    @property
    def alt(self) -> str:
        return mask_alt_text(self.mask)

    @property
    def caption(self) -> str:
        return self.mask.meaning

    def figure(self, layout: Layout) -> go.Figure:
        return mask_figure(self.mask, **layout.options)

    def numbers(self) -> Numbers:
        """The allowed cells, and the reasons for forbidden ones."""
        mask = self.mask
        return Numbers(
            {"mask": mask.name},
            {"query": mask.queries, "key": mask.keys},
            {"allowed": (_CELLS, mask.allowed), "reason": (_CELLS, mask.names)},
        )

    def python(self, layout: Layout) -> Lines:
        return [
            recorded(self.sentence, self.target),
            "mask = hs.figures.batch_masks([trace], 0, "
            f"layer={self.layer})[{str(self.mask.kind)!r}]",
            f"hs.figures.mask_figure(mask{layout.python})",
        ]


def _masks_numbers(masks: Mapping[str, Mask]) -> Numbers:
    """Each mask's allowed cells, and the reasons for forbidden ones, by name."""
    axes: Axes = {}
    arrays: Arrays = {}
    for name, mask in masks.items():
        cells = cell_axes(axes, mask.queries, mask.keys, name)
        arrays[f"{name}_allowed"] = (cells, mask.allowed)
        arrays[f"{name}_reason"] = (cells, mask.names)
    return Numbers({}, axes, arrays)


def _changes_numbers(
    names: tuple[str, str], maps: tuple[AttentionMap, AttentionMap], head: int
) -> Numbers:
    """One head's weights in two passes of the same tokens, and how they differ."""
    first, second = maps
    arrays: Arrays = {}
    for name, seen in zip(names, maps, strict=True):
        arrays[f"weight_{name}"] = (_CELLS, seen.head(head).weights)
        arrays[f"allowed_{name}"] = (_CELLS, seen.head(head).allowed)
    arrays["difference"] = (_CELLS, second.head(head).weights - first.head(head).weights)
    return Numbers(of_head(first.site, head), {"query": first.queries, "key": first.keys}, arrays)
