"""How a translation is looked for: plain values, without torch; model/decoding.py follows them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Draw each token instead of searching for the best sentence; fields as in decoding.sample."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How a translation is looked for.

    Attributes:
        beam: width of the beam search; 1 decodes greedily.
        length_penalty: its exponent, the α of section 6.1.
        sampling: draw instead of searching; beam then does nothing.
    """

    beam: int = 4
    length_penalty: float = 0.6
    sampling: Sampling | None = None


AS_IN_THE_PAPER = Search()
"""A beam of 4 and α = 0.6 (section 6.1)."""
