"""Activations of one run that stand in for those of another: checked values, without torch.

    Intervention(patches=[Patch(("cross", 2, 3), (0, 1), values)])

model/record/patching.py applies them to a model.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from model.brief import Brief
from model.trace.attention_map import AttentionKind, FloatArray, Site, TraceError
from model.trace.head import Head

Side = Literal["encoder", "decoder"]
Stage = int | Literal["embedding", "output"]


class PatchError(ValueError):
    """An impossible patch; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The hidden states of a side after one of its stages, (token, d_model).

    Attributes:
        side: "encoder" or "decoder".
        stage: "embedding", with the position where the model adds one; a number for the output of
            that layer, from 0; or "output", for the encoder alone: what cross-attention reads.

    Raises:
        PatchError: if there is no such side or stage.
    """

    side: Side
    stage: Stage

    def __post_init__(self) -> None:
        named = self.stage == "embedding" or (self.stage == "output" and self.side == "encoder")
        numbered = isinstance(self.stage, int) and self.stage >= 0
        if self.side not in get_args(Side) or not (named or numbered):
            raise PatchError(
                "Hidden states are those after a layer, from 0, or after the embedding of a side, "
                f'or the encoder\'s output, as in ("encoder", 2); {(self.side, self.stage)} are '
                "none of these."
            )

    def __str__(self) -> str:
        return f"{self.side}.{self.stage}"

    @property
    def name(self) -> str:
        """Its name for people, such as "Encoder layer 2"."""
        if isinstance(self.stage, int):
            return f"{self.side.capitalize()} layer {self.stage}"
        return f"{self.side.capitalize()} {self.stage}"


Activation = Head | Stream
"""The output of a head before W_O, or the hidden states after a stage."""


def side_of(part: Activation) -> Side:
    """The side whose tokens have the activations: for a head, the side of its queries."""
    if isinstance(part, Stream):
        return part.side
    return "encoder" if part.site.kind is AttentionKind.ENCODER else "decoder"


def activation_of(key: Any) -> Activation:
    """A head as (kind, layer, head) or (Site, head), or a Stream as (side, stage).

    Raises:
        PatchError: if it is neither.
    """
    try:
        if isinstance(key, Stream):
            return key
        if isinstance(key, str) and key.count(".") == 1:
            side, stage = key.split(".")
            key = side, int(stage) if stage.isdecimal() else stage
        if len(key) == 2 and not isinstance(key[0], Site):
            side, stage = key
            return Stream(side, stage if isinstance(stage, str) else operator.index(stage))  # type: ignore[arg-type]
        return Head.of(key)
    except (TypeError, TraceError):
        pass
    raise PatchError(
        'What is patched is a head, as ("cross", 2, 3), or hidden states, as ("encoder", 2) or '
        f'("encoder", "output"); {key!r} is neither.'
    )


@dataclass(frozen=True, slots=True, eq=False)
class Patch(Brief):
    """Activations that a run has at some positions in place of its own.

    Attributes:
        part: whose they are, as `activation_of` takes it.
        positions: of tokens in the run, from 0; each once.
        values: (position, width): d_v of a head, d_model of hidden states.

    Raises:
        PatchError: if the part is unknown, or positions and values do not fit together.
    """

    part: Any
    positions: Sequence[int]
    values: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "part", activation_of(self.part))
        object.__setattr__(self, "positions", tuple(map(operator.index, self.positions)))
        # A copy, or its owner could change what was hashed.
        values = np.array(self.values, dtype=np.float32)
        values.setflags(write=False)
        object.__setattr__(self, "values", values)
        distinct = len(set(self.positions)) == len(self.positions)
        if not distinct or min(self.positions, default=0) < 0:
            raise PatchError(f"Positions count from 0, each once; they are {self.positions}.")
        if values.ndim != 2 or len(values) != len(self.positions):
            raise PatchError(
                f"Each of the {len(self.positions)} positions needs its row of activations; their "
                f"shape is {values.shape}."
            )
        if not np.isfinite(values).all():
            raise PatchError("Activations must be finite numbers.")

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Patch) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.part, self.positions, self.values.shape, self.values.tobytes()

    def __reduce__(self) -> tuple[Any, ...]:
        return Patch, (self.part, self.positions, self.values)


def checked_patches(patches: Iterable[Patch]) -> tuple[Patch, ...]:
    """The patches of one run; PatchError if two of them share a part."""
    each = tuple(patches)
    if len({patch.part for patch in each}) < len(each):
        raise PatchError("Two patches are for the same part; join their positions.")
    return each
