"""Where a translation stands in its source, told from the tokens read so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from model.rules.weight_rules import Cells, SeenRows

JUMPS: Mapping[int, float] = MappingProxyType(
    {-3: 0.02, -2: 0.04, -1: 0.06, 0: 0.14, 1: 0.46, 2: 0.14, 3: 0.06, 4: 0.04, 5: 0.02}
)
"""How likely the source of the next token is so far from the source of this one."""

FAR = 0.004
"""The same for each farther source."""

UNLIKELY = 0.01
"""The probability of a source that the lexicon does not know for a token."""

AGAIN, AT_END = 0.1, 0.2
"""What is left of the probability of a source that was translated, and of the sentence end."""


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """For each row, the probabilities of each source token, (query, key).

    Attributes:
        current: that it is the source of the token just read; zero before the first one.
        upcoming: that it is the source of the next token.
        done: that it was translated.
    """

    current: Cells
    upcoming: Cells
    done: Cells

    @classmethod
    def of(cls, seen: SeenRows) -> Progress:
        """The progress at some rows of cross-attention.

        A hidden Markov model whose states are source tokens (Vogel et al. 1996, "HMM-Based Word
        Alignment in Statistical Translation") reads forward only, so that a row knows no later
        token.
        """
        # Padding behind the sentence end is no source.
        n_rows, n_keys = int(seen.positions.max(initial=-1)) + 1, seen.last + 1
        jumps = np.array(
            [[JUMPS.get(key - place, FAR) for key in range(n_keys)] for place in range(-1, n_keys)]
        )
        likely = np.full((n_rows, n_keys), UNLIKELY)
        if seen.lexicon is not None:
            likely += seen.lexicon.aligned(seen.queries[:n_rows], seen.keys[:n_keys])
        is_end = np.arange(n_keys) == seen.last
        current, upcoming, done = (np.zeros((n_rows, n_keys)) for _ in range(3))
        for row in range(n_rows):
            reached = jumps[0]
            if row:
                now = upcoming[row - 1] * likely[row]
                current[row] = now / now.sum()
                done[row] = np.minimum(done[row - 1] + current[row], 1)
                reached = current[row] @ jumps[1:]
            ahead = reached * np.where(is_end, AT_END, 1 - (1 - AGAIN) * done[row])
            upcoming[row] = ahead / ahead.sum()
        padded = ((0, 0), (0, len(seen.keys) - n_keys))
        return cls(*(np.pad(each[seen.positions], padded) for each in (current, upcoming, done)))
