"""The model's own masks: those that a sentence of a batch meets, and that of one layer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import plotly.graph_objects as go

from model.trace.trace import Trace
from viz.charts.panel_figure import panel_figure
from viz.draw.panels import Panel
from viz.masks.batch_masks import factors, token_grid
from viz.masks.head_in_batch import CELLS, InBatch, Panels
from viz.masks.mask import Cell, Mask
from viz.masks.panels import mask_panel
from viz.save.notebook import Lines, traced
from viz.save.numbers import Arrays, Axes, Numbers, cell_axes
from viz.save.picture import Layout, Picture


@dataclass(frozen=True, slots=True, eq=False)
class BatchTokens(InBatch):
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
class _OwnMasks(Panels):
    """Some of the model's own masks; `masks` from `batch_masks`."""

    masks: dict[str, Mask]

    shown: ClassVar[dict[str, str]]
    """The titles of those shown, by their names."""

    @property
    def panels(self) -> list[Panel]:
        return [mask_panel(self.masks[name], title) for name, title in self.shown.items()]

    def numbers(self) -> Numbers:
        return masks_numbers({name.replace("-", "_"): self.masks[name] for name in self.shown})

    @property
    def example(self) -> tuple[int, int, int]:
        """A panel, a query and a key: a cell that the decoder may not look at, if there is one."""
        names = list(self.shown)
        for reason in (Cell.FUTURE, Cell.PADDING):
            for name in ("decoder", *names):
                found = np.argwhere(self.masks[name].cells == reason)
                if len(found):
                    query, key = found[len(found) // 2].tolist()
                    return names.index(name), query, key
        return 0, 0, 0

    @property
    def setup(self) -> Lines:
        return [*self.at.setup, "masks = hs.figures.batch_masks(batch.padded, at.number)"]


class DecoderFactors(_OwnMasks):
    """The decoder's mask and its factors."""

    shown: ClassVar = {
        "causal": "Causal",
        "target-padding": "Target padding",
        "decoder": "Decoder self-attention",
    }
    caption = "A query (row) may look at a key (column) where both factors allow it."

    @property
    def title(self) -> str:
        return f"How the decoder’s mask of sentence {self.at.number + 1} is made"

    @property
    def name(self) -> str:
        return f"masks-sentence{self.at.number + 1}-decoder"

    @property
    def panels(self) -> list[Panel]:
        parts = zip(factors(self.masks), self.shown.values(), ("", "and", "="), strict=True)
        return [mask_panel(mask, title, sign=sign) for mask, title, sign in parts]


class AttentionMasks(_OwnMasks):
    """The masks of the three attentions: encoder, decoder and cross-attention."""

    shown: ClassVar = {
        "encoder": "Encoder",
        "decoder": "Decoder",
        "cross": "Cross-attention",
    }
    caption = "Each row is a word; blue cells are words it may look at."

    @property
    def title(self) -> str:
        return f"What may look at what in sentence {self.at.number + 1}"

    @property
    def name(self) -> str:
        return f"masks-sentence{self.at.number + 1}"

    @property
    def panels(self) -> list[Panel]:
        """One for each attention; below its title stands what a word may look at."""
        named = ((self.masks[name], title) for name, title in self.shown.items())
        return [
            replace(mask_panel(mask, title, note=mask.scope), reads=mask.sentences)
            for mask, title in named
        ]


class PaddingRows(_OwnMasks):
    """The padding masks as the model holds them, a row each."""

    shown: ClassVar = {"source-padding": "Source padding", "target-padding": "Target padding"}
    caption = (
        "A padding mask is one row, the same for every query; the model broadcasts it to the "
        "matrices."
    )

    @property
    def title(self) -> str:
        return f"The padding masks of sentence {self.at.number + 1}"

    @property
    def name(self) -> str:
        return f"masks-sentence{self.at.number + 1}-padding"


@dataclass(frozen=True, slots=True, eq=False)
class OneMask(Picture):
    """The mask of one layer's attention.

    Attributes:
        layer: from 0.
        target: a translation of one's own; empty for the model's.
    """

    mask: Mask
    layer: int
    sentence: str
    target: str = ""

    @property
    def title(self) -> str:
        return self.mask.name

    @property
    def name(self) -> str:
        return f"mask-{self.mask.kind}-layer{self.layer}"

    @property
    def alt(self) -> str:
        return self.mask.alt

    @property
    def caption(self) -> str:
        return self.mask.meaning

    def figure(self, layout: Layout) -> go.Figure:
        """The cells, coloured by the reason why they are forbidden."""
        # A narrow figure has no room for the whole name.
        title = f"{self.mask.short} mask" if layout.narrow else self.mask.name
        return panel_figure(mask_panel(self.mask, title), layout)

    def numbers(self) -> Numbers:
        """The allowed cells, and the reasons for forbidden ones."""
        mask = self.mask
        return Numbers(
            {"mask": mask.name},
            {"query": mask.queries, "key": mask.keys},
            {"allowed": (CELLS, mask.allowed), "reason": (CELLS, mask.names)},
        )

    @property
    def setup(self) -> Lines:
        return [
            *traced(self.sentence, self.target),
            f"layer, kind = {self.layer}, {str(self.mask.kind)!r}",
            "mask = hs.figures.batch_masks([trace], 0, layer=layer)[kind]",
        ]


def masks_numbers(masks: Mapping[str, Mask]) -> Numbers:
    """Each mask's allowed cells, and the reasons for forbidden ones, by name."""
    axes: Axes = {}
    arrays: Arrays = {}
    for name, mask in masks.items():
        cells = cell_axes(axes, mask.queries, mask.keys, name)
        arrays[f"{name}_allowed"] = (cells, mask.allowed)
        arrays[f"{name}_reason"] = (cells, mask.names)
    return Numbers({}, axes, arrays)
