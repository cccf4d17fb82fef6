"""Passes of one sentence in which two tokens are judged, and sets of heads replaced."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.explain.passes import Own, Passes
from model.paper.log_probs import unsayable
from model.paper.transformer import Transformer
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.head import Head

Means = Mapping[Site, FloatArray]
"""What a replaced head gives, (head, d_v), by site; empty for nothing."""


class Judged(NamedTuple):
    """What passes say at the judged position.

    Attributes:
        log_probs: of the first compared token, of the second, and of whichever is likeliest besides
            the first of those the model can write, (row, 3).
        likeliest: the id of the likeliest token of all that the model can write, (row,).
    """

    log_probs: FloatArray
    likeliest: NDArray[np.int64]


class JudgedPasses(Passes):
    """Passes of a model over one source and the beginning of one target.

    Args:
        model: in eval mode.
        source: token ids, (1, source).
        target: the decoder's input up to the judged step, (1, target).
        judged: the ids of the two tokens that are compared at the last position.
    """

    def __init__(
        self, model: Transformer, source: Tensor, target: Tensor, judged: tuple[int, int]
    ) -> None:
        super().__init__(model, source, target)
        self.judged = list(judged)
        self._unsayable = unsayable(model.config, source.device)

    @torch.inference_mode()
    def judge(self, hidden: Tensor) -> Judged:
        """What the output of `run` says at the last position."""
        return self.judge_logits(self.model.output(hidden[:, -1]))

    def judge_logits(self, logits: Tensor) -> Judged:
        """What logits of the last position say, (row, vocab)."""
        log_probs = logits.float().log_softmax(dim=-1)
        both = log_probs[:, self.judged]
        log_probs = log_probs + self._unsayable
        likeliest = log_probs.argmax(dim=-1)
        log_probs[:, self.judged[0]] = -torch.inf
        judged = torch.cat([both, log_probs.amax(dim=-1, keepdim=True)], dim=1)
        return Judged(judged.cpu().numpy(), likeliest.cpu().numpy())


class SetPasses(JudgedPasses):
    """Passes in which sets of heads are replaced: by 0, or by means.

    Args:
        means: what a replaced head gives; None for nothing.
    """

    def __init__(
        self,
        model: Transformer,
        source: Tensor,
        target: Tensor,
        judged: tuple[int, int],
        sites: Sequence[Site],
        means: Means | None = None,
    ) -> None:
        super().__init__(model, source, target, judged)
        n_heads = model.config.n_heads
        self.heads = [Head(site, head) for site in sites for head in range(n_heads)]
        self._columns = {
            site: slice(place * n_heads, (place + 1) * n_heads) for place, site in enumerate(sites)
        }
        self._n_encoder = n_heads * sum(site.kind is AttentionKind.ENCODER for site in sites)
        self._means = {
            site: torch.from_numpy(each.copy()).to(source.device, torch.float32)[None, :, None]
            for site, each in (means or {}).items()
        }

    @property
    def by_mean(self) -> bool:
        """Whether a replaced head gives its mean; else it gives nothing."""
        return bool(self._means)

    def instead(self, head: Head) -> Tensor | float:
        """What a replaced head gives, (1, d_v), or 0."""
        site, number = head
        return self._means[site][0, number] if self._means else 0.0

    def judge_kept(self, kept: Tensor) -> Judged:
        """What `judge` gives where only some heads are kept.

        The sets are boolean, (row, head), in the order of `heads`.
        """
        parts = [self._judge_kept(each) for each in kept.split(self.together)]
        return Judged(*map(np.concatenate, zip(*parts, strict=True)))

    def _judge_kept(self, kept: Tensor) -> Judged:
        # Sites sort with the encoder's first; rows that agree there share its passes.
        below, spread = torch.unique(kept[:, : self._n_encoder], dim=0, return_inverse=True)

        def attend(site: Site, own: Own) -> Tensor:
            columns, given = self._columns[site], own()
            gates = (below if site.kind is AttentionKind.ENCODER else kept)[:, columns]
            if bool(gates.all()):
                return given
            gates = gates[:, :, None, None]
            if site not in self._means:
                return given * gates
            return torch.where(gates, given, self._means[site].to(given.dtype))

        return self.judge(self.run(attend, spread=spread).expand(len(kept), -1, -1))
