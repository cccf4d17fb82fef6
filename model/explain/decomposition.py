"""A teacher-forced pass split into its attention sub-layers, as tensors.

The sub-layers are the model's own modules, run in the model's order, and the logits are the
model's. With gradients enabled, everything is in one graph.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

import torch
from torch import Tensor

from model.brief import Brief
from model.paper.attention import NOTHING, Relative
from model.paper.layers import DecoderLayer, EncoderLayer, Residual
from model.paper.masks import decoder_allowed, padding_allowed
from model.paper.multi_head import MultiHead
from model.paper.transformer import Transformer
from model.record.recording import recording
from model.trace.attention_map import AttentionKind, Site

Gates = Mapping[AttentionKind, float]
"""What every weight of a kind of attention is multiplied by after the softmax; 1 where missing."""

OPEN: Gates = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sublayer(Brief):
    """One attention with its residual connection, and their tensors.

    Attributes:
        x: the input that the residual connection adds, (batch, query, d_model).
        weights: after the softmax and before any gate, (batch, head, query, key).
        v: projected values, (batch, head, key, d_v).
        heads: every head's output before W_O and after any gate, (batch, head, query, d_v).
        update: the output of attention, (batch, query, d_model).
        rest: the rest of the layer, from the sub-layer's output, (any batch, query, d_model).
    """

    attention: MultiHead
    residual: Residual
    x: Tensor
    weights: Tensor
    v: Tensor
    heads: Tensor
    update: Tensor
    rest: Callable[[Tensor], Tensor]

    def transformed_values(self) -> Tensor:
        """f(x) of each key: its value through W_O (Kobayashi et al. 2020).

        Returns:
            (batch, head, key, d_model); their weighted sum over heads and keys plus the bias of W_O
            is the output of attention.
        """
        return self.attention.head_parts(self.v)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decomposition(Brief):
    """A pass with its sub-layers by site, and its (batch, target, vocab) logits."""

    sublayers: dict[Site, Sublayer]
    logits: Tensor


def decompose(
    model: Transformer, source: Tensor, target: Tensor, gates: Gates = OPEN
) -> Decomposition:
    """A pass with its parts; the logits equal `model(source, target)` to float32 rounding.

    The model has taps; source and target are token ids, (batch, token). With gates of whole kinds
    of attention, the parts belong to another function, and `rest` must not be used.
    """
    sublayers: dict[Site, Sublayer] = {}

    def attend(
        site: Site,
        attention: MultiHead,
        residual: Residual,
        x: Tensor,
        keys: Tensor | None,
        allowed: Tensor,
        relative: Relative,
        rest: Callable[[Tensor], Tensor],
    ) -> Tensor:
        def sublayer(y: Tensor) -> Tensor:
            if keys is None:
                q, (k, v) = attention.project(y, relative.rotation)
            else:
                q, (k, v) = attention.project_query(y), attention.project_key_value(keys)
            heads, weights = attention.attend_heads(q, k, v, allowed, relative.bias)
            if site.kind in gates:
                heads = heads * gates[site.kind]
            update: Tensor = attention.w_o(heads.transpose(1, 2).flatten(2))
            sublayers[site] = Sublayer(
                attention=attention,
                residual=residual,
                x=x,
                weights=cast("Tensor", weights),
                v=v,
                heads=heads,
                update=update,
                rest=rest,
            )
            return update

        return residual(x, sublayer)

    source_allowed = padding_allowed(source, model.config.pad_id)
    target_allowed = decoder_allowed(target, model.config.pad_id)
    # If parameters need no gradient, the graph begins here.
    x, embedded = (
        model.embed(embedding, token_ids).requires_grad_(torch.is_grad_enabled())
        for embedding, token_ids in (
            (model.source_embedding, source),
            (model.target_embedding, target),
        )
    )
    x = model.encoder.positions.embed(x)
    relative = model.encoder.positions.relative(source.shape[1])
    # Attention gives weights to a recording.
    with recording():
        for number, below in enumerate(cast("Iterable[EncoderLayer]", model.encoder.layers)):
            rest, site = _feed_forward(below), Site(AttentionKind.ENCODER, number)
            module = below.self_attention, below.self_residual
            x = rest(attend(site, *module, x, None, source_allowed, relative, rest))
        memory = model.encoder.final_norm(x)
        x = model.decoder.positions.embed(embedded)
        relative = model.decoder.positions.relative(target.shape[1])
        for number, layer in enumerate(cast("Iterable[DecoderLayer]", model.decoder.layers)):
            rest, site = _feed_forward(layer), Site(AttentionKind.DECODER, number)
            both = _cross_attention(layer, memory, source_allowed, rest)
            module = layer.self_attention, layer.self_residual
            x = attend(site, *module, x, None, target_allowed, relative, both)
            site = Site(AttentionKind.CROSS, number)
            module = layer.cross_attention, layer.cross_residual
            x = rest(attend(site, *module, x, memory, source_allowed, NOTHING, rest))
        return Decomposition(sublayers=sublayers, logits=model.output(model.decoder.final_norm(x)))


def _feed_forward(layer: EncoderLayer | DecoderLayer) -> Callable[[Tensor], Tensor]:
    return lambda x: layer.feed_forward_residual(x, layer.feed_forward)


def _cross_attention(
    layer: DecoderLayer, memory: Tensor, allowed: Tensor, rest: Callable[[Tensor], Tensor]
) -> Callable[[Tensor], Tensor]:
    def both(x: Tensor) -> Tensor:
        keys = memory.expand(len(x), -1, -1)
        return rest(layer.cross_residual(x, lambda y: layer.cross_attention(y, keys, allowed)[0]))

    return both
