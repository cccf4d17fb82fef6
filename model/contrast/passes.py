"""Teacher-forced passes of one sentence in which a function decides what every head gives.

The sub-layers are the model's own modules, run in the model's order. The rows of a pass share what
is the same in all of them: a pass begins with one row, and grows where heads first differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor

from model.contrast.results import Head
from model.paper.attention import KeyValue, MultiHead, Relative
from model.paper.masks import decoder_allowed, padding_allowed
from model.paper.transformer import DecoderLayer, EncoderLayer, Transformer
from model.trace.attention_map import AttentionKind, FloatArray, Site

Own = Callable[[], Tensor]
"""Computes what the heads of a site give in this pass, (row, head, query, d_v)."""

Attend = Callable[[Site, Own], Tensor]
"""Gives what the heads of a site pass on to W_O, (row or 1, head, query, d_v)."""

Means = Mapping[Site, FloatArray]
"""What a replaced head gives, (head, d_v), by site; empty for nothing."""

_TOGETHER = 8192
"""Tokens times rows of one batch; more would only take memory."""


class Passes:
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
        self.model = model
        self.source = source
        self.target = target
        self.judged = list(judged)
        self.together = max(1, _TOGETHER // max(source.shape[1], target.shape[1]))

    @torch.inference_mode()
    def run(
        self, attend: Attend, *, embedded: Tensor | None = None, spread: Tensor | None = None
    ) -> Tensor:
        """The decoder's output before the output projection, (row, target, d_model).

        Args:
            attend: decides for every head.
            embedded: the source's embeddings, (row, source, d_model); None for the model's own.
            spread: which row of the encoder each row of the decoder reads; None for its own.
        """
        model, encoder, decoder = self.model, self.model.encoder, self.model.decoder
        allowed = padding_allowed(self.source, model.config.pad_id)
        x = encoder.positions.embed(self.embedded() if embedded is None else embedded)
        relative = encoder.positions.relative(self.source.shape[1])
        for number, layer in enumerate(cast("Iterable[EncoderLayer]", encoder.layers)):
            site = Site(AttentionKind.ENCODER, number)
            x = _self_attended(attend, site, layer, x, allowed, relative)
            x = layer.feed_forward_residual(x, layer.feed_forward)
        memory = encoder.final_norm(x)
        causal = decoder_allowed(self.target, model.config.pad_id)
        x = decoder.positions.embed(model.embed(model.target_embedding, self.target))
        relative = decoder.positions.relative(self.target.shape[1])
        for number, each in enumerate(cast("Iterable[DecoderLayer]", decoder.layers)):
            own, cross = (
                Site(kind, number) for kind in (AttentionKind.DECODER, AttentionKind.CROSS)
            )
            x = _self_attended(attend, own, each, x, causal, relative)
            key_value = each.cross_attention.project_key_value(memory)
            if spread is not None and len(memory) > 1:
                key_value = key_value[0][spread], key_value[1][spread]
            x = _cross_attended(attend, cross, each, x, key_value, allowed)
            x = each.feed_forward_residual(x, each.feed_forward)
        hidden: Tensor = decoder.final_norm(x)
        return hidden

    def embedded(self) -> Tensor:
        """The source's embeddings, (1, source, d_model), before their positions."""
        return self.model.embed(self.model.source_embedding, self.source)

    @torch.inference_mode()
    def judge(self, hidden: Tensor) -> FloatArray:
        """Log-probabilities at the last position, (row, 3), by the output of `run`.

        They are of the first token, of the second, and of whichever is likeliest besides the first.
        """
        log_probs = self.model.output(hidden[:, -1]).float().log_softmax(dim=-1)
        both = log_probs[:, self.judged]
        log_probs[:, self.judged[0]] = -torch.inf
        judged = torch.cat([both, log_probs.amax(dim=-1, keepdim=True)], dim=1)
        values: FloatArray = judged.cpu().numpy()
        return values

    def heads_given(self) -> dict[Site, Tensor]:
        """What every head gives in an unchanged pass, by site, (1, head, query, d_v)."""
        given: dict[Site, Tensor] = {}

        def attend(site: Site, own: Own) -> Tensor:
            given[site] = own()
            return given[site]

        self.run(attend)
        return given


class SetPasses(Passes):
    """Passes in which sets of heads are replaced: by 0, or by means.

    Args:
        model: as for `Passes`, like the next three.
        source: token ids.
        target: the decoder's input.
        judged: the compared ids.
        sites: of the model.
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
        self.heads: list[Head] = [(site, head) for site in sites for head in range(n_heads)]
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

    def log_probs(self, kept: Tensor) -> FloatArray:
        """What `judge` gives, (row, 3), where only some heads are kept.

        The sets are boolean, (row, head), in the order of `heads`.
        """
        return np.concatenate([self._log_probs(each) for each in kept.split(self.together)])

    def _log_probs(self, kept: Tensor) -> FloatArray:
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


def _self_attended(
    attend: Attend,
    site: Site,
    layer: EncoderLayer | DecoderLayer,
    x: Tensor,
    allowed: Tensor,
    relative: Relative,
) -> Tensor:
    attention = layer.self_attention

    def sublayer(y: Tensor) -> Tensor:
        def own() -> Tensor:
            q, key_value = attention.project(y, relative.rotation)
            return attention.attend_heads(q, *key_value, allowed, relative.bias)[0]

        return _joined(attention, attend(site, own))

    return layer.self_residual(x, sublayer)


def _cross_attended(
    attend: Attend,
    site: Site,
    layer: DecoderLayer,
    x: Tensor,
    key_value: KeyValue,
    allowed: Tensor,
) -> Tensor:
    attention = layer.cross_attention

    def sublayer(y: Tensor) -> Tensor:
        def own() -> Tensor:
            q = attention.project_query(y)
            rows = max(len(q), len(key_value[0]))
            q, k, v = (each.expand(rows, -1, -1, -1) for each in (q, *key_value))
            return attention.attend_heads(q, k, v, allowed)[0]

        return _joined(attention, attend(site, own))

    return layer.cross_residual(x, sublayer)


def _joined(attention: MultiHead, heads: Tensor) -> Tensor:
    output: Tensor = attention.w_o(heads.transpose(1, 2).flatten(2))
    return output
