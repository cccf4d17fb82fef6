"""The edits of one site of another program's model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from model.brief import Brief
from model.paper.attention import masked_softmax
from model.record.head_editing import weights_in_place
from model.record.head_edits import Gate, HeadEdit, HeadError, MeanAblation, ReplacedWeights
from model.record.mask_edits import MaskOrRule, allowed_array
from model.record.mask_rules import MaskError
from model.record.recording import CaptureError
from model.trace.attention_map import AttentionKind, Site
from model.watch.keys import as_made, text_first
from model.watch.masks import FORBIDDEN, row_shift

_LARGEST = torch.finfo(torch.float16).max
"""No score lies so far below 0 without a mask, in any type of number."""


NO_GRADIENTS = (
    "What is edited while watching has no gradients, or wrong ones; run the model inside "
    "torch.no_grad(), and outside of torch.func.grad, jvp and the like."
)


@dataclass(slots=True, eq=False)
class SiteEdit(Brief):
    """The edits at one place, which is a site or one of its heads.

    Attributes:
        site: where.
        first: the number of its first head among the site's.
        n_heads: how many heads the site has.
        heads: what is done to heads, by their numbers here.
        mask: in place of the model's own.
        weights: in place of all that the softmax made, before dropout.
        once: whether the site ran once, over all its queries, when it was watched.
        extra: how many keys the model adds by itself, before the text's and behind them.
        met: whether it was done.
    """

    site: Site
    first: int
    n_heads: int
    heads: Mapping[int, HeadEdit]
    mask: MaskOrRule | None
    weights: Tensor | None
    once: bool
    extra: tuple[int, int]
    met: bool = field(default=False)

    @property
    def of_weights(self) -> bool:
        """Whether other weights replace the model's own."""
        replaced = any(isinstance(each, ReplacedWeights) for each in self.heads.values())
        return replaced or self.mask is not None or self.weights is not None

    @property
    def of_output(self) -> bool:
        """Whether the product of weights and values is edited."""
        return any(not isinstance(each, ReplacedWeights) for each in self.heads.values())

    def new_weights(
        self, weights: Tensor, scores: Tensor, unmasked: Tensor | None, allowed: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Weights in place of a softmax's output, and the mask under which they were made.

        Args:
            weights: its output, (batch, head, query, key).
            scores: its input.
            unmasked: the scores before any mask; None if they are not known.
            allowed: the model's own mask, broadcastable to weights; None for "all".

        Raises:
            MaskError: if the mask has another shape, or allows what the model's own hides for good.
            HeadError: if weights to be set have another shape, or a pattern needs positions that
                cannot be told.
            CaptureError: where gradients are wanted.
        """
        self._begin()
        shape = (*weights.shape[:3], weights.shape[3] - sum(self.extra))
        weights, scores = (text_first(each, *self.extra) for each in (weights, scores))
        unmasked, allowed = (
            None if each is None else text_first(each, *self.extra) for each in (unmasked, allowed)
        )
        if self.mask is not None:
            mask = self._allowed(self.mask, shape, weights.device)
            weights = self._masked(mask, scores, unmasked, allowed)
            allowed = mask
        if self.weights is not None:
            weights = self._set(weights)
        if any(isinstance(each, ReplacedWeights) for each in self.heads.values()):
            weights = weights.clone()
        for head, edit in self.heads.items():
            if isinstance(edit, ReplacedWeights):
                visible = torch.ones((), dtype=torch.bool, device=weights.device)
                visible = (visible if allowed is None else allowed).expand(weights.shape)[:, head]
                weights[:, head] = weights_in_place(
                    edit,
                    self.site,
                    self.first + head,
                    weights[:, head].clone,
                    visible,
                    self._positions(edit, shape),
                    weights.dtype,
                )
        allowed = None if allowed is None else as_made(allowed, *self.extra)
        return as_made(weights, *self.extra), allowed

    def change_output(self, output: Tensor) -> None:
        """Change what heads give, (batch, head, query, d_v), in place.

        Raises:
            HeadError: if a mean has another length.
            CaptureError: where gradients are wanted.
        """
        self._begin()
        for head, edit in self.heads.items():
            match edit:
                case Gate(factor=0):
                    # Not by multiplication, which would leave signed zeros.
                    output[:, head] = 0.0
                case Gate(factor=factor):
                    output[:, head] *= factor
                case MeanAblation(mean=mean):
                    if len(mean) != output.shape[-1]:
                        raise HeadError(
                            f"The mean for {self.site.head_name(self.first + head)} has "
                            f"{len(mean)} numbers, but the head gives {output.shape[-1]}; give it "
                            "as many."
                        )
                    output[:, head] = torch.tensor(mean, dtype=output.dtype, device=output.device)

    def hidden(self, by: str, instead: str) -> CaptureError:
        """The error for an edit at a place that hides its weights or values."""
        return CaptureError(f"{self.site} runs in {by}, which cannot be edited; {instead}.")

    def _begin(self) -> None:
        if torch.is_grad_enabled():
            raise CaptureError(NO_GRADIENTS)
        self.met = True

    def _allowed(self, mask: MaskOrRule, shape: tuple[int, ...], device: torch.device) -> Tensor:
        """The mask as (1, head or 1, query, key), with the keys that the model adds."""
        _, heads, n_queries, n_keys = shape
        array: Any = mask
        if callable(mask):
            step = self.site.kind is AttentionKind.DECODER and n_queries < n_keys
            if not (step or self.once):
                raise MaskError(
                    f"{self.site} ran several times, so that a rule cannot tell which queries are "
                    "meant; give masks to one pass over the whole text."
                )
            # A step's queries are the last of the tokens read so far.
            array = mask(n_keys if step else n_queries, n_keys)[..., -n_queries:, :]
        allowed = torch.tensor(allowed_array(self.site, array), device=device)
        if allowed.shape[-2:] != (n_queries, n_keys) or (
            allowed.dim() == 3 and len(allowed) not in (1, self.n_heads)
        ):
            raise MaskError(
                f"The mask for {self.site} has the shape {tuple(allowed.shape)}, but this pass has "
                f"{n_queries} queries and {n_keys} keys; give it the shape {(n_queries, n_keys)} "
                f"or {(self.n_heads, n_queries, n_keys)}."
            )
        allowed = allowed if allowed.dim() == 3 else allowed[None]
        if len(allowed) > 1:
            allowed = allowed[self.first : self.first + heads]
        return torch.nn.functional.pad(allowed, (0, sum(self.extra)), value=True)[None]

    def _masked(
        self, mask: Tensor, scores: Tensor, unmasked: Tensor | None, allowed: Tensor | None
    ) -> Tensor:
        own = torch.ones_like(mask) if allowed is None else allowed
        own = own.expand(scores.shape)
        lifted = mask & ~own
        if bool(lifted.any()):
            # The model's mask may contain a bias, which is lost in cells that it forbids.
            shift = None if unmasked is None else row_shift(scores, unmasked, own)
            if unmasked is None or shift is None:
                raise MaskError(
                    f"The model adds a bias to the scores of {self.site} together with its mask, "
                    "so that scores of keys which that forbids are unknown; allow no more than it "
                    "does."
                )
            scores = scores.where(own, (unmasked + shift).to(scores.dtype))
        weights = masked_softmax(scores, mask)
        # What another mask or a filled score still hides.
        hidden = mask & (weights == 0) & (scores < torch.where(lifted, FORBIDDEN, -_LARGEST))
        if bool(hidden.any()):
            _, head, query, key = hidden.nonzero()[0].tolist()
            raise MaskError(
                f"The mask for {self.site} cannot be carried out: head {self.first + head} would "
                f"still give query {query} no weight on key {key}, because the model hides it in a "
                "way that was not seen; allow no more than the model does."
            )
        return weights

    def _set(self, weights: Tensor) -> Tensor:
        assert self.weights is not None
        own = self.weights.to(weights.device, weights.dtype)
        if own.dim() == 4 and own.shape[1] == self.n_heads:
            own = own[:, self.first : self.first + weights.shape[1]]
        try:
            return own.expand(weights.shape)
        except RuntimeError:
            raise HeadError(
                f"Weights for {self.site} have the shape {tuple(self.weights.shape)}, but this "
                f"pass has {(len(weights), self.n_heads, *weights.shape[2:])}; give them as many."
            ) from None

    def _positions(self, edit: ReplacedWeights, shape: tuple[int, ...]) -> range:
        _, _, n_queries, n_keys = shape
        if self.site.kind is AttentionKind.DECODER and n_queries < n_keys:
            return range(n_keys - n_queries, n_keys)
        if not self.once and edit.pattern in ("diagonal", "shuffled"):
            raise HeadError(
                f"{self.site} ran several times, so that {edit.pattern} weights cannot tell where "
                "their queries stand; give them to one pass over the whole text."
            )
        return range(n_queries)
