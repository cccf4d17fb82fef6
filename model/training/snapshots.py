"""Snapshots of a training run, with their loss, scores and the entropy of their heads."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from model.checkpoints.shipped import CheckpointError
from model.explain.facts import facts_of
from model.explain.head_rows import Values
from model.paper.tokenizer import PAD
from model.survey.parallel_text import Pair
from model.trace.attention_map import Site
from model.trace.trace import Trace
from model.training.batches import Batches
from model.training.epochs import encoded
from model.training.evaluate import translate_all, translation_scores
from model.training.loss import smoothed_cross_entropy
from model.translate.translator import Translator

SENTENCES = 500
"""Sentences to translate and record; the loss is over all."""

LOSS_TOKENS = 2048
"""Tokens of the longer side in one batch of the loss; it affects only the speed."""


def kept_snapshots(run: Path) -> dict[int, Path]:
    """The weights files of a run's snapshots by step, ascending; CheckpointError without any."""
    files = {
        int(match[1]): file
        for file in (run / "snapshots").glob("*")
        if (match := re.fullmatch(r"step-([0-9]+)\.safetensors", file.name))
    }
    if not files:
        raise CheckpointError(
            f"The run {run} kept no snapshots; train with training.snapshots of 2 or more."
        )
    return dict(sorted(files.items()))


def snapshot_scores(
    translator: Translator, pairs: Sequence[Pair], *, sentences: int = SENTENCES
) -> dict[str, Any]:
    """Loss, scores and entropies of a model on a validation set, for metrics.json.

    That is "loss" in nats a target token, "bleu" and "chrf" from 0 to 100, and "entropy" as
    `mean_entropies` gives it; the latter three on the first `sentences` pairs, the same for every
    model, decoded greedily or recorded with their references. Raises TextError if one is too long.
    """
    sample = pairs[:sentences]
    # First, to refuse too long sentences before the rest takes its time.
    entropy = mean_entropies(translator.trace(*pair) for pair in sample)
    translations = translate_all(
        translator.model, translator.tokenizer, [pair.source for pair in sample]
    )
    scores = translation_scores(translations, [pair.target for pair in sample])
    return {
        "loss": round(validation_loss(translator, pairs), 4),
        "bleu": scores["bleu"],
        "chrf": scores["chrf"],
        "entropy": entropy,
    }


@torch.inference_mode()
def validation_loss(translator: Translator, pairs: Sequence[Pair]) -> float:
    """Mean cross-entropy of a target token given those before it, in nats, without smoothing.

    Pairs too long for training are left out, as in its own validation.
    """
    batches = Batches(*encoded(pairs, translator.tokenizer), tokens=LOSS_TOKENS)
    total, tokens = 0.0, 0
    for shape, indices in batches.epoch(0, 0):
        batch = batches.build(shape, indices).to(translator.device)
        logits = translator.model(batch.source, batch.inputs)
        loss = smoothed_cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), 0.0, PAD)
        total += loss.item()
        tokens += batch.target_tokens
    return total / tokens


def mean_entropies(traces: Iterable[Trace]) -> dict[str, list[list[float]]]:
    """The mean entropy of every head's rows over several sentences of one model, in bits.

    For "encoder", "decoder" and "cross" a list of layers of lists of heads. A head without weight
    on a sentence counts as 0 there.
    """
    by_site: dict[Site, list[Values]] = {}
    for trace in traces:
        for site, facts in facts_of(trace.maps).items():
            by_site.setdefault(site, []).append(np.nan_to_num(facts["entropy"]))
    entropies: dict[str, list[list[float]]] = {}
    for site, sentences in sorted(by_site.items()):
        mean = np.mean(sentences, axis=0).round(4).tolist()
        entropies.setdefault(site.kind.value, []).append(mean)
    return entropies
