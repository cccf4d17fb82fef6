"""Activations recorded in one run and put into another, as contexts that the taps read.

    with recording_activations() as activations:
        model(source, target)
    with patching([[activations.patch(("cross", 2, 3), {0: 0, 1: 1})]]):
        model(other_source, other_target)

Recording asks no attention for its weights, so that a patch with a run's own activations changes
not one bit of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from model.paper.decoding_cache import decoding_position
from model.record.patches import Patch, PatchError, Stream, activation_of, side_of
from model.record.recording import CaptureError
from model.record.scopes import Scope
from model.trace.attention_map import FloatArray, Site


class ActivationHandler(ABC):
    """Whatever sees activations while a model runs, and may replace them."""

    @abstractmethod
    def heads(self, site: Site, part: int, parts: int, outputs: Tensor) -> Tensor:
        """The outputs of some heads of a site, (batch, head, query, d_v).

        Args:
            site: of the heads.
            part: the number of their function among those that share the site's heads.
            parts: the number of these functions.
            outputs: before W_O.
        """

    @abstractmethod
    def states(self, stream: Stream, states: Tensor) -> Tensor:
        """The hidden states after a stage, (batch, token, d_model)."""


class Activations(ActivationHandler):
    """The activations of one pass, by the part that has them."""

    def __init__(self) -> None:
        self._heads: dict[Site, list[Tensor]] = {}
        self._states: dict[Stream, Tensor] = {}

    def heads(self, site: Site, part: int, parts: int, outputs: Tensor) -> Tensor:
        """Keep the outputs, which stay as they are."""
        if part == 0:
            self._heads[site] = []
        self._heads[site].append(outputs.detach())
        return outputs

    def states(self, stream: Stream, states: Tensor) -> Tensor:
        """Keep the states, which stay as they are."""
        self._states[stream] = states.detach()
        return states

    def __getitem__(self, key: Any) -> Tensor:
        """A part's activations, (batch, token, width), as they were last recorded.

        Raises PatchError if the model has no such part.
        """
        part = activation_of(key)
        if isinstance(part, Stream):
            if part in self._states:
                return self._states[part]
        elif part[0] in self._heads:
            site, head = part
            outputs = torch.cat(self._heads[site], dim=1)
            if head < outputs.shape[1]:
                return outputs[:, head]
        raise PatchError(f"Nothing was recorded of {_named(part)}; the model has no such part.")

    def patch(self, key: Any, positions: Mapping[int, int]) -> Patch:
        """The first sentence's activations of a part, for another run.

        Args:
            key: the part, as `model.record.patches.activation_of` takes it.
            positions: for each position in the other run, the one here.
        """
        rows = self[key][0]
        missing = [place for place in positions.values() if not 0 <= place < len(rows)]
        if missing:
            raise PatchError(
                f"{_named(activation_of(key))} has {len(rows)} tokens, from 0; there is no token "
                f"{missing[0]}."
            )
        taken: FloatArray = rows[list(positions.values())].float().cpu().numpy()
        return Patch(key, tuple(positions), taken)


class Patching(ActivationHandler):
    """The activations that runs of one thread get in place of their own."""

    def __init__(self, sentences: Sequence[Sequence[Patch]]) -> None:
        self._sentences = [{patch.part: patch for patch in each} for each in sentences]
        self._sites = {
            part[0] for each in self._sentences for part in each if not isinstance(part, Stream)
        }
        self._met: set[Any] = set()

    def heads(self, site: Site, part: int, parts: int, outputs: Tensor) -> Tensor:
        """The outputs with the patches of these heads."""
        if site not in self._sites:
            return outputs
        n_heads, first = outputs.shape[1], part * outputs.shape[1]
        patched = outputs.clone()
        for rows, patches in self._rows(len(outputs)):
            for head in range(n_heads):
                patch = patches.get((site, first + head))
                if patch is not None:
                    self._put(patch, patched[rows, head])
        return patched

    def states(self, stream: Stream, states: Tensor) -> Tensor:
        """The states with the patches of this stage."""
        concerned = [
            (rows, each[stream]) for rows, each in self._rows(len(states)) if stream in each
        ]
        if not concerned:
            return states
        patched = states.clone()
        for rows, patch in concerned:
            self._put(patch, patched[rows])
        return patched

    def require_met(self) -> None:
        """Raises CaptureError if a part did not run."""
        for part in {part for each in self._sentences for part in each} - self._met:
            raise CaptureError(
                f"{_named(part)} did not run, so nothing was put there; call install_taps(model) "
                "once, and patch parts that the model has and runs."
            )

    def _rows(self, batch: int) -> list[tuple[slice, dict[Any, Patch]]]:
        if len(self._sentences) == 1:
            return [(slice(None), self._sentences[0])]
        if decoding_position.get() is not None:
            raise CaptureError(
                "Sentences leave a batch while it is decoded; decode patched sentences one at a "
                "time."
            )
        if len(self._sentences) != batch:
            raise PatchError(
                f"Each sentence of the batch needs its own patches; there are {batch} sentences "
                f"and {len(self._sentences)} sets of patches."
            )
        return [(slice(row, row + 1), each) for row, each in enumerate(self._sentences)]

    def _put(self, patch: Patch, rows: Tensor) -> None:
        """Write a patch into activations (batch, token, width), in place."""
        self._met.add(patch.part)
        if rows.shape[-1] != patch.values.shape[1]:
            raise PatchError(
                f"{_named(patch.part)} has {rows.shape[-1]} numbers a token, and the patch "
                f"{patch.values.shape[1]}; record it with the same model."
            )
        step = decoding_position.get()
        values = torch.tensor(patch.values, dtype=rows.dtype, device=rows.device)
        if step is not None and side_of(patch.part) == "decoder":
            # All rows of a decoding step are hypotheses at one position.
            if step in patch.positions:
                rows[:] = values[patch.positions.index(step)]
            return
        if max(patch.positions, default=0) >= rows.shape[1]:
            raise PatchError(
                f"{_named(patch.part)} has {rows.shape[1]} tokens in this run, from 0; there is "
                f"no token {max(patch.positions)}."
            )
        rows[:, list(patch.positions)] = values


def _named(part: Any) -> str:
    if isinstance(part, Stream):
        return part.name
    site, head = part
    return str(site.head_name(head))


active_activations: Scope[ActivationHandler] = Scope("patching() or recording_activations()")
"""What sees activations in this thread, which the taps read."""


@contextmanager
def recording_activations() -> Generator[Activations, None, None]:
    """Record the activations of every tapped model that runs in this thread, until the block ends.

    Of several passes the last one stays. Patches around the block do not apply within it.
    """
    activations = Activations()
    with active_activations.holding(activations):
        yield activations


@contextmanager
def patching(sentences: Sequence[Sequence[Patch]]) -> Generator[None, None, None]:
    """Put activations into every tapped model that runs in this thread, until the block ends.

    While decoding, the encoder's patches apply as in a teacher-forced pass, and the decoder's at
    the step that writes at their position. Positions beyond the patches stay as they are. In nested
    blocks, only the inner one applies.

    Args:
        sentences: the patches for every sentence, or one set for each sentence of a batch.

    Raises:
        PatchError: if a patch does not fit the run.
        CaptureError: when the block ends, if a part did not run.
    """
    patched = Patching(sentences)
    with active_activations.holding(patched):
        yield
    patched.require_met()
