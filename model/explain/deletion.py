"""Deletion of source tokens from attention, and what it costs the translation."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from model.paper.log_probs import token_log_probs
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
    """The drop in each target token's log-probability without each source token, (target, source).

    Each source token in turn is hidden from every layer of the encoder and of cross-attention; the
    target stays (Li et al. 2019, "On the Word Alignment from Neural Machine Translation", who call
    it prediction difference). It uses no attention weights, so weights can be compared with it.
    Below 0, the token is likelier without. With columns, only these source tokens are deleted; the
    trace is one without an intervention.
    """
    # The whole sentence runs in the same batches, so that rounding is equal on both sides.
    positions = range(len(trace.source)) if columns is None else columns
    source, target, predictions = translator.trace_ids(trace)
    log_probs = [
        token_log_probs(logits, predictions.expand(len(logits), -1))
        for logits in without_tokens(translator, source, target, positions)
    ]
    whole, *without = torch.cat(log_probs)
    losses: FloatArray = (whole - torch.stack(without)).T.float().cpu().numpy()
    return losses


def without_tokens(
    translator: Translator, source: torch.Tensor, target: torch.Tensor, positions: Sequence[int]
) -> Iterator[torch.Tensor]:
    """Logits with every source token, then without each of some, in batches.

    The token ids are (1, source) and (1, target), the logits (batch, target, vocab).
    """
    n_source, n_target = source.shape[1], target.shape[1]
    runs = [UNCHANGED, *(_without(position, n_source, n_target) for position in positions)]
    for start in range(0, len(runs), _BATCH):
        batch = runs[start : start + _BATCH]
        lengths = [SentenceLengths(n_source, n_target)] * len(batch)
        with intervening(batch, lengths=lengths, sites=translator.sites):
            logits = translator.model(source.expand(len(batch), -1), target.expand(len(batch), -1))
        yield logits


def _without(position: int, n_source: int, n_target: int) -> Intervention:
    encoder = np.ones((n_source, n_source), dtype=np.bool_)
    encoder[:, position] = False
    # A row needs a key, and no other row looks at this one.
    encoder[position, position] = True
    cross = np.ones((n_target, n_source), dtype=np.bool_)
    cross[:, position] = False
    return Intervention(masks={"encoder": encoder, "cross": cross})
