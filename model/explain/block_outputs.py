"""What the blocks beside attention do on a sentence: feed-forward layers, linear and softmax."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from model.paper.decoding import unsayable
from model.record.recording import recording
from model.trace.attention_map import AttentionKind
from model.trace.blocks import TEMPERATURES, Blocks
from model.trace.trace import Trace
from model.translate.translator import Translator

LIKELIEST = 5
"""How many next tokens are named at each step."""


def block_outputs(translator: Translator, trace: Trace) -> Blocks:
    """What the blocks did in the pass that a trace was recorded in, run again on its tokens."""
    return outputs_on(translator, trace.source.ids, trace.target.ids)


@torch.inference_mode()
def outputs_on(translator: Translator, read: Sequence[int], written: Sequence[int]) -> Blocks:
    """What the blocks do in one pass over the tokens that encoder and decoder read."""
    model = translator.model
    source, target = (
        torch.tensor([list(ids)], device=translator.device) for ids in (read, written)
    )
    stacks = {AttentionKind.ENCODER: model.encoder, AttentionKind.DECODER: model.decoder}
    # Recorded, so that attention is computed as it was for the trace.
    with recording(), _shares_added(stack.layers for stack in stacks.values()) as shares:
        logits = model(source, target)
    log_probs = logits[0].float().log_softmax(dim=-1)
    choosable = log_probs + unsayable(model.config, translator.device)
    best, ids = choosable.topk(min(LIKELIEST, choosable.shape[-1]), dim=-1)
    return Blocks(
        added={
            kind: np.stack([shares[layer.feed_forward] for layer in _layers(stack.layers)])
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


@contextmanager
def _shares_added(stacks: Iterable[Any]) -> Generator[dict[Any, Any]]:
    """The share that each feed-forward layer adds in a pass of this thread, by its module."""
    shares: dict[Any, Any] = {}
    entered: dict[Any, Tensor] = {}
    handles = []
    thread = threading.get_ident()

    def enters(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        if threading.get_ident() == thread:
            x, feed_forward = arguments
            entered[feed_forward] = x

    def leaves(module: nn.Module, _: tuple[Any, ...], update: Tensor) -> None:
        if threading.get_ident() == thread:
            share = update.norm(dim=-1) / entered[module].norm(dim=-1)
            shares[module] = share[0].float().cpu().numpy()

    for layer in (layer for layers in stacks for layer in _layers(layers)):
        handles.append(layer.feed_forward_residual.register_forward_pre_hook(enters))
        handles.append(layer.feed_forward.register_forward_hook(leaves))
    try:
        yield shares
    finally:
        for handle in handles:
            handle.remove()


def _layers(layers: Any) -> list[Any]:
    return list(layers)
