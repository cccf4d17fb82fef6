"""Two masks side by side, and what the model does under each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from model.trace.attention_map import AttentionKind, AttentionMap, FloatArray, Site, Tokens
from model.trace.head import Head
from model.trace.trace import Trace
from viz.draw import style
from viz.draw.panels import Panel
from viz.links.mask_edits import encode
from viz.masks.difference import Compared, mask_difference
from viz.masks.head_in_batch import MAPS, PASSES, ChangedWeights, HeadInBatch, Panels
from viz.masks.mask import Cell, Mask, mask_title, padding_row
from viz.masks.own_masks import masks_numbers
from viz.masks.panels import difference_panel, mask_panel
from viz.masks.preset_masks import both_masks
from viz.masks.steps import moved_weight
from viz.save.notebook import Lines
from viz.save.numbers import Numbers, panels_numbers

NOTICED = 0.01
"""A head that moved less of its weight counts as unchanged."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedMask:
    """A mask that can be compared.

    Attributes:
        name: in the address: "1.decoder" of the first sentence, "preset.window" or
            "edited.decoder".
        title: in a menu.
    """

    name: str
    title: str
    mask: Mask

    def setup(self, variable: str, at: HeadInBatch) -> Lines:
        """The lines of a notebook that make it, under the name of a variable."""
        start, _, rest = self.name.partition(".")
        number = int(start) - 1 if start.isdigit() else at.number
        kind = str(at.kind) if start == "preset" else rest
        of_sentence = f"hs.figures.batch_masks(batch.padded, {number})"
        lines = [f"mask = {of_sentence}[{kind!r}]"]
        if kind.endswith("padding"):
            lines.append(f"mask = hs.figures.repeated(mask, {of_sentence}[at.kind].queries)")
        if not start.isdigit():
            lines.append(f"allowed = hs.figures.decode_mask({encode(self.mask.allowed)!r})")
        if start == "edited":
            lines.append("mask = hs.figures.edited_mask(mask, allowed)")
        if start == "preset":
            causal = bool(np.isin(self.mask.cells, (Cell.FUTURE, Cell.BOTH)).any())
            lines += [
                f"preset = hs.PRESETS[{rest!r}]",
                f"how = {{'kind': mask.kind, 'reason': preset.reason, 'causal': {causal}}}",
                "tokens = mask.queries, mask.keys",
                "mask = hs.figures.preset_mask(preset.title, allowed, *tokens, **how)",
            ]
        return [*lines, f"{variable} = hs.figures.NamedMask({self.name!r}, {self.title!r}, mask)"]


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
        return f"A: {self.a.title}", f"B: {self.b.title}"

    @property
    def texts(self) -> dict[str, str]:
        """The names of both masks, for the metadata of files."""
        return dict(zip(("mask_a", "mask_b"), self.titles, strict=True))

    def setup(self, at: HeadInBatch) -> Lines:
        """The lines of a notebook that make it as `both`."""
        masks = [*self.a.setup("a", at), *self.b.setup("b", at)]
        return [*at.setup, *masks, "both = hs.figures.TwoMasks(a, b)"]

    def passes(self, at: HeadInBatch) -> Lines:
        """These lines, and those that make `passes`, one under A and one under B."""
        return [
            *self.setup(at),
            "under = both",
            "allowed = [{at.kind: mask.allowed} for mask in both.masks]",
            "interventions = [hs.Intervention(masks=masks) for masks in allowed]",
            *PASSES,
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _OfTwoMasks(Panels):
    both: TwoMasks

    @property
    def texts(self) -> Mapping[str, str]:
        return self.at.texts | self.both.texts


class ComparedMasks(_OfTwoMasks):
    """Two masks and, if they have the same size, what they hide together and their difference."""

    title = "Two masks compared"
    name = "masks-compared"

    @property
    def _is_alike(self) -> bool:
        a, b = self.both.masks
        return a.cells.shape == b.cells.shape

    @property
    def caption(self) -> str:
        if not self._is_alike:
            return "The two masks differ in size, so their cells do not correspond."
        return mask_difference(*self.both.masks).words

    @property
    def panels(self) -> list[Panel]:
        (a, b), titles = self.both.masks, self.both.titles
        if not self._is_alike:
            return [mask_panel(a, titles[0]), mask_panel(b, titles[1])]
        first, differs = mask_panel(a, titles[0], note=""), difference_panel(mask_difference(a, b))
        both = both_masks(a, b)
        # One that hides all that the other hides is what both make.
        if any(np.array_equal(both.allowed, mask.allowed) for mask in (a, b)):
            return [first, mask_panel(b, titles[1], note=""), differs]
        title = "A and B" if Cell.OTHER in both.cells else f"A and B: {mask_title(both)}"
        second = mask_panel(b, titles[1], sign="and", note="")
        return [first, second, mask_panel(both, title, sign="=", note=""), differs]

    @property
    def beside(self) -> list[Panel]:
        """Both masks and, if they have the same size, their difference."""
        a, b, *others = self.panels
        return [a, replace(b, sign=""), *others[-1:]]

    @property
    def together(self) -> list[Panel]:
        """What both hide, unless one of them hides it all."""
        return [replace(panel, sign="") for panel in self.panels[2:-1]]

    @property
    def example(self) -> tuple[int, int, int]:
        """A panel, a query and a key: a cell of a word that differs, if there is one."""
        if not self._is_alike:
            return 0, 0, 0
        is_word = padding_row(self.both.a.mask.queries).T == Cell.ALLOWED
        cells = mask_difference(*self.both.masks).cells
        differs = np.argwhere((cells >= Compared.ONLY_A_ALLOWS) & is_word)
        query, key = differs[len(differs) // 2].tolist() if len(differs) else (0, 0)
        return 0, query, key

    def numbers(self) -> Numbers:
        return masks_numbers({"a": self.both.a.mask, "b": self.both.b.mask})

    @property
    def setup(self) -> Lines:
        return self.both.setup(self.at)


@dataclass(frozen=True, slots=True, eq=False)
class ComparedWeights(_OfTwoMasks, ChangedWeights):
    """One head's weights under two masks, and their difference."""

    maps: tuple[AttentionMap, AttentionMap]

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
        return self.changed_panels(("Weights under A", "Weights under B"))

    def numbers(self) -> Numbers:
        return self.changed_numbers(("under_a", "under_b"))

    @property
    def setup(self) -> Lines:
        return [*self.both.passes(self.at), MAPS]


@dataclass(frozen=True, slots=True, eq=False)
class MovedHeads(_OfTwoMasks):
    """The share of every head's weight that moved between two masks.

    Attributes:
        moved: as `moved_heads` gives it.
    """

    moved: Mapping[Site, FloatArray]

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

    @property
    def setup(self) -> Lines:
        return [
            *self.both.passes(self.at),
            "lengths = batch.source_lengths[at.number], batch.target_lengths[at.number]",
            "moved = hs.figures.moved_heads(*passes, lengths)",
        ]


def moved_heads(before: Trace, after: Trace, lengths: tuple[int, int]) -> dict[Site, FloatArray]:
    """The share of every head's weight that moved between two passes, by site, (head,) each.

    `lengths` are the tokens of the source and of the decoder's input, without padding.
    """
    n_source, n_target = lengths
    return {
        site: moved_weight(
            seen, after.maps[site], n_source if site.kind is AttentionKind.ENCODER else n_target
        )
        for site, seen in before.maps.items()
    }


def moved_panel(moved: Mapping[Site, FloatArray]) -> Panel:
    """One cell per head: the share of its weight that moved; `moved` from `moved_heads`."""
    values = np.stack(list(moved.values()))
    return Panel(
        title="How much each head moved",
        values=values,
        # A label has no room for spaces, which it would mark.
        queries=Tokens.unnamed(f"{site.kind.short_name}·{site.layer}" for site in moved),
        keys=Tokens.unnamed(range(values.shape[1])),
        alt=f"How much each head moved: {style.count_of(len(moved), 'layer')} by "
        f"{style.count_of(values.shape[1], 'head')}. "
        f"{moved_words(moved)}",
        scale="weights",
        unit="weight that moved",
        pointed="{query}, head {key}",
        query_title="Attention and layer",
        key_title="Head",
    )


def moved_words(moved: Mapping[Site, FloatArray]) -> str:
    """The number of heads that moved, and the one that moved most; `moved` from `moved_heads`."""
    count = sum(np.size(heads) for heads in moved.values())
    some = sum(int(np.count_nonzero(heads >= NOTICED)) for heads in moved.values())
    if not some:
        return f"No head moved {style.percent(NOTICED)} of its weight or more."
    site, head = most_moved(moved)
    return (
        f"{some} of {style.count_of(count, 'head')} moved at least {style.percent(NOTICED)} of "
        "their weight; the most, "
        f"{style.percent(float(moved[site][head]))}, is that of {site.kind.full_name.lower()}, "
        f"layer {site.layer}, head {head}."
    )


def most_moved(moved: Mapping[Site, FloatArray]) -> Head:
    """The site and number of the head that moved most; the first of equals."""
    site = max(moved, key=lambda each: float(moved[each].max()))
    return Head(site, int(np.argmax(moved[site])))
