"""Teacher-forced passes of one sentence in which a function decides what every head gives.

The sub-layers are the model's own modules, run in the model's order. The rows of a pass share what
is the same in all of them: a pass begins with one row, and grows where heads first differ.
"""

from collections.abc import Callable, Iterable
from typing import cast

import torch
from torch import Tensor

from model.paper.attention import Relative
from model.paper.layers import DecoderLayer, EncoderLayer
from model.paper.masks import decoder_allowed, padding_allowed
from model.paper.multi_head import KeyValue, MultiHead
from model.paper.transformer import Transformer
from model.trace.attention_map import AttentionKind, Site

Own = Callable[[], Tensor]
"""Computes what the heads of a site give in this pass, (row, head, query, d_v)."""

Attend = Callable[[Site, Own], Tensor]
"""Gives what the heads of a site pass on to W_O, (row, head, query, d_v).

Of a pass with one row it may give more. One with several gets only the rows that `grows` announces.
"""

_TOGETHER = 8192
"""Tokens times rows of one batch; more would only take memory."""


def rows_together(source: Tensor, target: Tensor) -> int:
    """How many rows of a source and a target, (1, length) each, make one batch."""
    return max(1, _TOGETHER // max(source.shape[1], target.shape[1]))


class Passes:
    """Passes of a model over one source and one target, or its beginning.

    Args:
        model: in eval mode.
        source: token ids, (1, source).
        target: the decoder's input, (1, target).
    """

    def __init__(self, model: Transformer, source: Tensor, target: Tensor) -> None:
        self.model = model
        self.source = source
        self.target = target
        self.together = rows_together(source, target)

    @torch.inference_mode()
    def run(
        self,
        attend: Attend,
        *,
        embedded: Tensor | None = None,
        spread: Tensor | None = None,
        grows: Callable[[Site], int] | None = None,
    ) -> Tensor:
        """The decoder's output before the output projection, (row, target, d_model).

        Args:
            embedded: the source's embeddings, (row, source, d_model); None for the model's own.
            spread: which row of the encoder each row of the decoder reads; None for its own, or the
                first for rows that the decoder added.
            grows: how many rows a site adds, which until there are as the first one.
        """
        model, encoder, decoder = self.model, self.model.encoder, self.model.decoder
        room = grows or (lambda site: 0)
        allowed = padding_allowed(self.source, model.config.pad_id)
        x = encoder.positions.embed(self.embedded() if embedded is None else embedded)
        relative = encoder.positions.relative(self.source.shape[1])
        for number, layer in enumerate(cast("Iterable[EncoderLayer]", encoder.layers)):
            site = Site(AttentionKind.ENCODER, number)
            x = _self_attended(attend, site, layer, x, room(site), allowed, relative)
            x = layer.feed_forward_residual(x, layer.feed_forward)
        memory = encoder.final_norm(x)
        causal = decoder_allowed(self.target, model.config.pad_id)
        x = decoder.positions.embed(model.embed(model.target_embedding, self.target))
        if grows is not None:
            x = x.expand(len(memory), -1, -1)
        relative = decoder.positions.relative(self.target.shape[1])
        for number, each in enumerate(cast("Iterable[DecoderLayer]", decoder.layers)):
            own, cross = (
                Site(kind, number) for kind in (AttentionKind.DECODER, AttentionKind.CROSS)
            )
            x = _self_attended(attend, own, each, x, room(own), causal, relative)
            key_value = each.cross_attention.project_key_value(memory)
            if spread is not None and len(memory) > 1:
                key_value = key_value[0][spread], key_value[1][spread]
            elif len(x) > len(memory) > 1:
                key_value = _grown(key_value[0], len(x)), _grown(key_value[1], len(x))
            x = _cross_attended(attend, cross, each, x, room(cross), key_value, allowed)
            x = each.feed_forward_residual(x, each.feed_forward)
        hidden: Tensor = decoder.final_norm(x)
        return hidden

    def embedded(self) -> Tensor:
        """The source's embeddings, (1, source, d_model), before their positions."""
        return self.model.embed(self.model.source_embedding, self.source)

    def heads_given(self) -> dict[Site, Tensor]:
        """What every head gives in an unchanged pass, by site, (1, head, query, d_v)."""
        given: dict[Site, Tensor] = {}

        def attend(site: Site, own: Own) -> Tensor:
            given[site] = own()
            return given[site]

        self.run(attend)
        return given


def _self_attended(
    attend: Attend,
    site: Site,
    layer: EncoderLayer | DecoderLayer,
    x: Tensor,
    room: int,
    allowed: Tensor,
    relative: Relative,
) -> Tensor:
    attention, rows = layer.self_attention, len(x)

    def sublayer(y: Tensor) -> Tensor:
        def own() -> Tensor:
            q, key_value = attention.project(y[:rows], relative.rotation)
            return attention.attend_heads(q, *key_value, allowed, relative.bias)[0]

        return _joined(attention, attend(site, own))

    return layer.self_residual(_grown(x, rows + room), sublayer)


def _cross_attended(
    attend: Attend,
    site: Site,
    layer: DecoderLayer,
    x: Tensor,
    room: int,
    key_value: KeyValue,
    allowed: Tensor,
) -> Tensor:
    attention, rows = layer.cross_attention, len(x)

    def sublayer(y: Tensor) -> Tensor:
        def own() -> Tensor:
            q = attention.project_query(y[:rows])
            both = max(len(q), len(key_value[0]))
            q, k, v = (each.expand(both, -1, -1, -1) for each in (q, *key_value))
            return attention.attend_heads(q, k, v, allowed)[0]

        return _joined(attention, attend(site, own))

    return layer.cross_residual(_grown(x, rows + room), sublayer)


def _joined(attention: MultiHead, heads: Tensor) -> Tensor:
    output: Tensor = attention.w_o(heads.transpose(1, 2).flatten(2))
    return output


def _grown(x: Tensor, rows: int) -> Tensor:
    """A batch with copies of its first row at the end."""
    if rows == len(x):
        return x
    return torch.cat([x, x[:1].expand(rows - len(x), *x.shape[1:])])
