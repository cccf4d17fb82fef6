"""What a handler of operations gets: the recorder, the operation and its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from model.watch.call_log import CallLog
from model.watch.call_sites import Places, Spot
from model.watch.editing import Edits
from model.watch.lineage import Lineage
from model.watch.masks import Masks

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Recorder(Protocol):
    """A running recording, as handlers see it.

    Attributes:
        lineage: the ancestry of tensors.
        masks: those in additive tensors.
        places: module names.
        log: calls of attention and other softmaxes.
        edits: the edits to apply.
    """

    lineage: Lineage
    masks: Masks
    places: Places
    log: CallLog
    edits: Edits

    def n_heads(self, spot: Spot) -> int | None:
        """The number of a module's heads according to the caller."""

    def parts_of(self, func: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
        """Run a composed operation so that its parts are seen one by one."""


Handler = Callable[[Recorder, Any, Args, Kwargs], Any]
"""Runs its operation and hands its result on untouched."""
