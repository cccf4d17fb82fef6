"""What adds up to the difference of two logits, term by term.

The residual stream of the last position is a sum of what each part of the decoder added, and a norm
with its scale as recorded is linear. So the difference of two logits is a sum of one term a part;
with post-norm, each part passes every later norm (Elhage et al. 2021, "A Mathematical Framework for
Transformer Circuits"; nostalgebraist 2020, "interpreting GPT: the logit lens").
"""

from collections.abc import Iterable
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from model.contrast.pairs import Pair
from model.contrast.results import LogitTerms
from model.explain.decomposition import Sublayer, decompose
from model.paper.layers import DecoderLayer
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.trace import Trace
from model.translate.translator import Translator

_Summand = Site | str
"""A part of the decoder: a site, a feed-forward layer as text, the embedding, or all biases."""

_EMBEDDING, _BIASES = "embedding", "biases"


@torch.inference_mode()
def logit_terms(translator: Translator, trace: Trace, pair: Pair) -> LogitTerms:
    """The terms of the difference between the logits of a pair, for a trace's translation.

    The log-probabilities of the two differ by the same number. Each term is exact for the scales
    that the norms had in this pass: it says what a part added, not what would happen without it.
    """
    model = translator.model
    source, target, _ = translator.trace_ids(trace)
    parts = decompose(model, source, target[:, : pair.step + 1])
    stream = _Stream(parts.sublayers[Site(AttentionKind.DECODER, 0)].x[0, -1].double())
    for number, layer in enumerate(cast("Iterable[DecoderLayer]", model.decoder.layers)):
        for kind, residual in (
            (AttentionKind.DECODER, layer.self_residual),
            (AttentionKind.CROSS, layer.cross_residual),
        ):
            site = Site(kind, number)
            sublayer = parts.sublayers[site]
            stream.add(site, _given(sublayer, by_key=kind is AttentionKind.CROSS))
            if sublayer.attention.w_o.bias is not None:
                stream.add(_BIASES, sublayer.attention.w_o.bias.double())
            if not residual.pre:
                stream.normalize(residual.norm)
        residual = layer.feed_forward_residual
        x = stream.total.to(sublayer.x.dtype)[None, None]
        update = layer.feed_forward(residual.norm(x) if residual.pre else x)
        stream.add(str(number), update[0, 0].double())
        if not residual.pre:
            stream.normalize(residual.norm)
    if translator.has_final_norm:
        stream.normalize(cast("nn.LayerNorm", model.decoder.final_norm))
    ids = list(pair.ids)
    one, other = model.output.weight[ids].double()
    given = 0.0
    if model.output.bias is not None:
        given = float(model.output.bias[ids[0]] - model.output.bias[ids[1]])
    terms = {name: (part @ (one - other)).cpu() for name, part in stream.parts.items()}
    logits = parts.logits[0, -1].double()
    return LogitTerms(
        difference=float(logits[pair.ids[0]] - logits[pair.ids[1]]),
        embedding=float(terms[_EMBEDDING]),
        decoder=_of_kind(terms, AttentionKind.DECODER),
        cross=_of_kind(terms, AttentionKind.CROSS),
        feed_forward=np.array([terms[str(n)] for n in range(len(model.decoder.layers))]),
        biases=float(terms[_BIASES]) + given,
        provenance=trace.provenance,
    )


class _Stream:
    """The residual stream of one position as the parts that sum to it, (…, d_model) each."""

    def __init__(self, embedded: Tensor) -> None:
        self.parts: dict[_Summand, Tensor] = {
            _EMBEDDING: embedded,
            _BIASES: torch.zeros_like(embedded),
        }

    @property
    def total(self) -> Tensor:
        """Their sum, (d_model,)."""
        return torch.cat([part.reshape(-1, part.shape[-1]) for part in self.parts.values()]).sum(0)

    def add(self, name: _Summand, part: Tensor) -> None:
        """Add a part, or add to one."""
        self.parts[name] = self.parts[name] + part if name in self.parts else part

    def normalize(self, norm: nn.LayerNorm) -> None:
        """Pass every part through a norm with the scale of their sum."""
        scale = (self.total.var(correction=0) + norm.eps).sqrt()
        gain = norm.weight.double() / scale
        for name, part in self.parts.items():
            self.parts[name] = (part - part.mean(dim=-1, keepdim=True)) * gain
        self.add(_BIASES, norm.bias.double())


def _given(sublayer: Sublayer, *, by_key: bool) -> Tensor:
    """What each head adds at the last position, (head, d_model); by key, (head, key, d_model)."""
    if not by_key:
        return sublayer.attention.head_parts(sublayer.heads[:, :, -1:])[0, :, 0].double()
    return sublayer.weights[0, :, -1, :, None].double() * sublayer.transformed_values()[0].double()


def _of_kind(terms: dict[_Summand, Tensor], kind: AttentionKind) -> dict[Site, FloatArray]:
    return {
        site: term.numpy()
        for site, term in terms.items()
        if isinstance(site, Site) and site.kind is kind
    }
