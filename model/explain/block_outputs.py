"""What the blocks beside attention do on a sentence: feed-forward layers, linear and softmax.

`read` and `written` are the ids that encoder and decoder read in the pass.
"""

import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.brief import Brief
from model.paper.log_probs import unsayable
from model.record.recording import recording
from model.trace.array_values import Sized
from model.trace.attention_map import AttentionKind, FloatArray, Tokens
from model.trace.blocks import TEMPERATURES, Blocks
from model.trace.trace import Trace
from model.translate.translator import Translator

LIKELIEST = 5
"""How many next tokens are named at each step."""

OFFERED = 10
"""How many next tokens are named with what their logits are made of."""


@dataclass(frozen=True, slots=True, eq=False)
class Stream(Sized, Brief):
    """The residual stream of a stack at its feed-forward layers, (layer, token, d_model).

    Attributes:
        into: the vector of each token before the layer.
        gains: what the layer adds to it, before a norm that follows.
    """

    into: FloatArray
    gains: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Offer(Brief):
    """How the decoder's last row becomes the next token (section 3.4).

    Attributes:
        hidden: the decoder's output after the last token, (d_model,), followed by a 1 where logits
            have a bias, which then ends each row.
        tokens: the likeliest tokens that may be written, likeliest first.
        rows: theirs of the output matrix, (token, d_model).
        logits: the products of the two, (token,).
        shares: the probability of each, (token,).
        vocabulary: how many tokens share the probability.
    """

    hidden: FloatArray
    tokens: Tokens
    rows: FloatArray
    logits: FloatArray
    shares: FloatArray
    vocabulary: int


def block_outputs(translator: Translator, trace: Trace) -> Blocks:
    """What the blocks did in the pass that a trace was recorded in, run again on its tokens."""
    return outputs_on(translator, trace.source.ids, trace.target.ids)


@torch.inference_mode()
def outputs_on(translator: Translator, read: Sequence[int], written: Sequence[int]) -> Blocks:
    """What the blocks do in one pass over the tokens that encoder and decoder read."""
    model = translator.model
    stacks = {AttentionKind.ENCODER: model.encoder, AttentionKind.DECODER: model.decoder}
    every = [layer for stack in stacks.values() for layer in _layers(stack.layers)]
    with _fed_forward(every) as fed:
        logits = model.output(_hidden(translator, read, written))
    log_probs = logits[0].float().log_softmax(dim=-1)
    choosable = log_probs + unsayable(model.config, translator.device)
    best, ids = choosable.topk(min(LIKELIEST, choosable.shape[-1]), dim=-1)
    return Blocks(
        added={
            kind: np.stack([_share(*fed[layer.feed_forward]) for layer in _layers(stack.layers)])
            for kind, stack in stacks.items()
        },
        likeliest=tuple(translator.target_tokens(row) for row in ids.tolist()),
        probabilities=best.exp().cpu().numpy(),
        normalizers=torch.stack(
            [(log_probs / temperature).logsumexp(dim=-1) for temperature in TEMPERATURES], dim=-1
        )
        .cpu()
        .numpy(),
    )


@torch.inference_mode()
def stream_on(
    translator: Translator, read: Sequence[int], written: Sequence[int], kind: AttentionKind
) -> Stream:
    """The stream of a stack, encoder or decoder, at its feed-forward layers."""
    model = translator.model
    layers = _layers((model.encoder if kind is AttentionKind.ENCODER else model.decoder).layers)
    with _fed_forward(layers) as fed:
        _hidden(translator, read, written)
    into, gains = (
        torch.cat([fed[layer.feed_forward][part] for layer in layers]).float().cpu().numpy()
        for part in (0, 1)
    )
    return Stream(into, gains)


@torch.inference_mode()
def offer_on(translator: Translator, read: Sequence[int], written: Sequence[int]) -> Offer:
    """What comes after the last token that the decoder has read."""
    model = translator.model
    hidden = _hidden(translator, read, written)[0, -1]
    logits = model.output(hidden[None])[0].float()
    choosable = logits + unsayable(model.config, translator.device)
    n_choosable = int(choosable.isfinite().sum())
    best, ids = choosable.topk(min(OFFERED, n_choosable))
    shares = logits.softmax(dim=-1)[ids]
    own = model.output.weight[ids]
    if (bias := model.output.bias) is not None:
        hidden, own = F.pad(hidden, (0, 1), value=1), torch.cat([own, bias[ids, None]], dim=1)
    numbers = (hidden, own, best, shares)
    vector, rows, top, likely = (each.float().cpu().numpy() for each in numbers)
    tokens = translator.target_tokens(ids.tolist())
    return Offer(vector, tokens, rows, top, likely, len(logits))


def _hidden(translator: Translator, read: Sequence[int], written: Sequence[int]) -> Tensor:
    """The decoder's output, (1, written, d_model)."""
    source, target = (
        torch.tensor([list(ids)], device=translator.device) for ids in (read, written)
    )
    # Recorded, so that attention is computed as it was for the trace.
    with recording():
        return translator.model.hidden(source, target)


def _share(into: Tensor, gains: Tensor) -> FloatArray:
    """The length of what is added to each token, as a share of its own."""
    share: FloatArray = (gains.norm(dim=-1) / into.norm(dim=-1))[0].float().cpu().numpy()
    return share


@contextmanager
def _fed_forward(layers: Iterable[Any]) -> Generator[dict[Any, tuple[Tensor, Tensor]]]:
    """The stream into each feed-forward module in a pass of this thread, and what that adds."""
    fed: dict[Any, tuple[Tensor, Tensor]] = {}
    entered: dict[Any, Tensor] = {}
    handles = []
    thread = threading.get_ident()

    def enters(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        if threading.get_ident() == thread:
            x, feed_forward = arguments
            entered[feed_forward] = x

    def leaves(module: nn.Module, _: tuple[Any, ...], update: Tensor) -> None:
        if threading.get_ident() == thread:
            fed[module] = entered[module], update

    for layer in layers:
        handles.append(layer.feed_forward_residual.register_forward_pre_hook(enters))
        handles.append(layer.feed_forward.register_forward_hook(leaves))
    try:
        yield fed
    finally:
        for handle in handles:
            handle.remove()


def _layers(layers: Any) -> list[Any]:
    return list(layers)
