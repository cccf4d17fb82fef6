"""What a translation loses where a source token is deleted from attention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from model.record.intervention import UNCHANGED, Intervention
from model.record.mask_editing import SentenceLengths, intervening
from model.trace.attention_map import FloatArray
from model.trace.trace import Trace
from model.translate.translator import Translator

_BATCH = 32
"""Deletions computed together: enough for speed, and a long sentence still fits into memory."""


@torch.inference_mode()
def deletion_losses(
    translator: Translator, trace: Trace, columns: Sequence[int] | None = None
) -> FloatArray:
    """How much less likely each target token is without each source token.

    One after the other is hidden from every layer of the encoder and of cross-attention; the
    target stays as it is (Li et al. 2019, "On the Word Alignment from Neural Machine Translation",
    where it is called prediction difference). No attention weight takes part in that,
    so weights can be held against it.

    Args:
        translator: the model.
        trace: of it, of a run in which nothing was changed.
        columns: the source tokens to delete, from 0; None for all, each alone.

    Returns:
        what the log-probability of the token that a row predicts loses, (target, source);
        below 0 where the token is likelier without.
    """
    n_source, n_target = len(trace.source), len(trace.target)
    # The whole sentence goes through the same batches, so that rounding is alike on both sides.
    positions = range(n_source) if columns is None else columns
    runs = [UNCHANGED, *(_without(position, n_source, n_target) for position in positions)]
    source, target, predictions = (
        torch.tensor(tokens.ids, device=translator.device)
        for tokens in (trace.source, trace.target, trace.predictions)
    )
    log_probs = []
    for start in range(0, len(runs), _BATCH):
        batch = runs[start : start + _BATCH]
        lengths = [SentenceLengths(n_source, n_target)] * len(batch)
        with intervening(batch, lengths=lengths, sites=translator.sites):
            logits = translator.model(source.expand(len(batch), -1), target.expand(len(batch), -1))
        chosen = predictions.expand(len(batch), -1)[:, :, None]
        log_probs.append(logits.log_softmax(dim=-1).gather(2, chosen)[:, :, 0])
    whole, *without = torch.cat(log_probs)
    losses: FloatArray = (whole - torch.stack(without)).T.float().cpu().numpy()
    return losses


def _without(position: int, n_source: int, n_target: int) -> Intervention:
    encoder = np.ones((n_source, n_source), dtype=np.bool_)
    encoder[:, position] = False
    # A row must look at something, and this one is looked at by nobody.
    encoder[position, position] = True
    cross = np.ones((n_target, n_source), dtype=np.bool_)
    cross[:, position] = False
    return Intervention(masks={"encoder": encoder, "cross": cross})
