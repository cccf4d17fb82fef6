"""What a decoding is asked to do differently, as the address has it: masks, heads switched off."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from model.record.head_edits import Gate
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, Site
from viz.links.head_refs import Head, head_name, read_heads
from viz.links.mask_edits import Edit, intervention, parse

NAMED = 2
"""Up to so many heads that a decoding goes without are named in its name."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What the model is asked to do differently while it decodes.

    Attributes:
        mask: edited masks, as `viz.links.mask_edits.write` writes them; empty for its own.
        off: heads switched off, as kind.layer.head; empty for none.
    """

    mask: str = ""
    off: str = ""

    def __bool__(self) -> bool:
        return bool(self.mask or self.off)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The masks; raises ValueError if the text holds none."""
        return parse(self.mask)

    @property
    def removed(self) -> list[Head]:
        """The heads, each once."""
        return read_heads(self.off)

    @property
    def under(self) -> Intervention:
        """The same for the model, whose trace shows no more than it saw while it decoded.

        A decoding has nothing to look ahead to, whatever its mask allows, but the one pass that is
        recorded of it has: there, what a mask opens ahead is closed again.
        """
        edits = (
            replace(edit, allowed=np.tril(edit.allowed))
            if edit.kind is AttentionKind.DECODER
            else edit
            for edit in self.edits
        )
        return replace(intervention(edits), heads=dict.fromkeys(self.removed, Gate(0)))

    @property
    def looks_ahead(self) -> bool:
        """Whether a mask opens to the decoder what it has not written yet."""
        return any(
            edit.kind is AttentionKind.DECODER and bool(np.triu(edit.allowed, 1).any())
            for edit in self.edits
        )

    @property
    def name(self) -> str:
        """What is different, as the end of a decoding's name; empty where nothing is."""
        removed = self.removed
        if len(removed) > NAMED:
            heads = f", without {len(removed)} heads"
        else:
            named = " and ".join(head_name(site, head) for site, head in removed)
            heads = f", without {named}" if removed else ""
        return f"{heads}, under an edited mask" if self.mask else heads

    def require_fitting(self, n_source: int, sites: Iterable[Site]) -> None:
        """Check that its masks are for a sentence and a model.

        Args:
            n_source: tokens of the source.
            sites: those of the model.

        Raises:
            ValueError: if a mask cannot be read, or is for another number of source tokens or for
                a layer that there is not; the message is for the person whose address it is.
        """
        known = tuple(sites)
        for edit in self.edits:
            wanted = edit.kind.axes(n_source, None, None)
            for found, tokens in zip(edit.allowed.shape, wanted, strict=True):
                if tokens not in (None, found):
                    raise ValueError(
                        f"The edited mask is for a source of {found} tokens, and this sentence has "
                        f"{tokens}."
                    )
            edit.require_layers([site.layer for site in known if site.kind is edit.kind])


UNCHANGED = Changes()
"""The model as it is."""
