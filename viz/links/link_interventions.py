"""Masks and switched-off heads that an address applies to a decoding."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from model.record.head_edits import Gate
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, Site
from model.trace.head import Head
from viz.links.mask_edits import Edit, intervention, parse

NAMED = 2
"""The most removed heads that a decoding's name lists."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Masks and heads that differ from the model's own while it decodes.

    Attributes:
        mask: edited masks, as `viz.links.mask_edits.write` writes them; empty for its own.
        off: heads switched off, without duplicates.
    """

    mask: str = ""
    off: tuple[Head, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.mask or self.off)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The masks; raises ValueError if the text holds none."""
        return parse(self.mask)

    @property
    def under(self) -> Intervention:
        """The changes as an intervention.

        While decoding, no later word exists yet, whatever the mask allows. The recorded pass reads
        the whole translation at once, so its mask closes later words again.
        """
        edits = (
            replace(edit, allowed=np.tril(edit.allowed))
            if edit.kind is AttentionKind.DECODER
            else edit
            for edit in self.edits
        )
        return replace(intervention(edits), heads=dict.fromkeys(self.off, Gate(0)))

    @property
    def looks_ahead(self) -> bool:
        """Whether a mask opens words to the decoder that it has not written yet."""
        return any(
            edit.kind is AttentionKind.DECODER and bool(np.triu(edit.allowed, 1).any())
            for edit in self.edits
        )

    @property
    def name(self) -> str:
        """The changes as a suffix of a decoding's name; empty for none."""
        heads = ""
        if len(self.off) > NAMED:
            heads = f", without {len(self.off)} heads"
        elif self.off:
            heads = f", without {' and '.join(Head(*each).short_name for each in self.off)}"
        return f"{heads}, under an edited mask" if self.mask else heads

    def require_fitting(self, n_source: int, sites: Iterable[Site]) -> None:
        """Check that its masks are for a sentence and a model.

        Raises:
            ValueError: if a mask cannot be read, or is for another number of source tokens or for
                a missing layer; the message is for the person who opened the address.
        """
        known = tuple(sites)
        for edit in self.edits:
            wanted = edit.kind.axes(n_source, None, None)
            for length, tokens in zip(edit.allowed.shape, wanted, strict=True):
                if tokens not in (None, length):
                    raise ValueError(
                        f"The edited mask is for a source of {length} tokens, and this sentence "
                        f"has {tokens}."
                    )
            edit.require_layers([site.layer for site in known if site.kind is edit.kind])


UNCHANGED = Changes()
"""The model as it is."""
